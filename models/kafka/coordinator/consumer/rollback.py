"""Rollback of operations whose writes fail.

Groups return to the last written state and clients get an error. Logged lines, timers and responses to parked requests
are not undone; a timer whose operation failed fires again soon. Source: 4.0.0, CoordinatorRuntime.java (append,
failCurrentBatch), EventBasedCoordinatorTimer.schedule.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from dataclasses import dataclass, fields, replace
from typing import Any

from models.kafka.coordinator.consumer.group import ConsumerGroup, SimpleGroup
from models.kafka.coordinator.consumer.shard import Shard
from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.coordinator.runtime.offsets_log import JAVA_ERRORS

NOT_WRITTEN = frozenset({"refresh_requested"})
"""Fields of a group that are never written."""


@dataclass(slots=True)
class Operation:
    """An operation whose write fails or stays unconfirmed.

    `before` has its groups in their previous state.
    """

    shard: Shard
    error: Error
    before: Mapping[str, tuple[ConsumerGroup | SimpleGroup, Mapping[str, Any]] | None]
    take_back: Iterable[Callable[[], None]]
    actions_before: int

    def fails(self) -> bool:
        """End the operation; True if its write failed and was undone.

        Writes that replicas have not confirmed are kept.
        """
        if not any(self._is_changed(group_id) for group_id in self.before):
            return False
        if self.error is NO_ERROR:
            self.shard.writes.is_unconfirmed = True
            return False
        shard = self.shard
        for group_id, state in self.before.items():
            if state is None:
                shard.groups.pop(group_id, None)
            else:
                shard.groups[group_id] = _restored(*state)
        for take_back in self.take_back:
            take_back()
        shard.actions[self.actions_before :] = [replace(change, is_undone=True) for change in shard.actions[self.actions_before :]]
        shard.note("write_failed", next(iter(self.before), ""), detail=self.error.value)
        return True

    @property
    def client_error(self) -> Error:
        """Error code sent to clients."""
        return JAVA_ERRORS.offsets.get(self.error, self.error)

    def _is_changed(self, group_id: str) -> bool:
        group, state = self.shard.groups.get(group_id), self.before[group_id]
        if group is None or state is None:
            return (group is None) is not (state is None)
        return group is not state[0] or any(getattr(group, name) != value for name, value in state[1].items() if name not in NOT_WRITTEN)


class DurableWrites:
    """An operation whose writes succeed, so that nothing is kept."""

    client_error = NO_ERROR

    def fails(self) -> bool:
        """Always False."""
        return False


_WRITTEN = DurableWrites()


def begin(shard: Shard, group_ids: Iterable[str]) -> Operation | DurableWrites:
    """Begin an operation on these groups."""
    writes = shard.writes
    if writes.error is NO_ERROR and not writes.is_held:
        return _WRITTEN
    before = {group_id: _kept(shard.groups.get(group_id)) for group_id in group_ids}
    take_back = [] if shard.neighbour is None else [shard.neighbour.checkpoint(group_id) for group_id in before]
    return Operation(shard, NO_ERROR if writes.is_held else writes.error, before, take_back, len(shard.actions))


def _kept(group: ConsumerGroup | SimpleGroup | None) -> tuple[ConsumerGroup | SimpleGroup, Mapping[str, Any]] | None:
    if group is None:
        return None
    return group, {field.name: deepcopy(getattr(group, field.name)) for field in fields(group)}


def _restored(group: ConsumerGroup | SimpleGroup, state: Mapping[str, Any]) -> ConsumerGroup | SimpleGroup:
    for name, value in state.items():
        setattr(group, name, value)
    return group
