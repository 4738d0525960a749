"""The coordinator: requests and the passing of time go in, answers, fired timers and changes come out.

It follows GroupCoordinator.scala (until 3.9) and GroupMetadataManager.java with GroupCoordinatorShard.java (since 4.0) step by
step, by the policy of a version. It does no I/O and reads no clock; where Kafka's own choice depends on the order of a hash
table it asks `Choices`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from models.kafka.coordinator.changes import Fired, Outcome
from models.kafka.coordinator.choices import Choices, FirstChoice
from models.kafka.coordinator.commits import clean_up, commit, delete
from models.kafka.coordinator.errors import Error, Fault
from models.kafka.coordinator.group import Group
from models.kafka.coordinator.joining import join
from models.kafka.coordinator.membership import leave
from models.kafka.coordinator.phases import end_join_step, end_sync_wait, expire_session
from models.kafka.coordinator.policy import Policy, Settings, default_settings
from models.kafka.coordinator.requests import Commit, Delete, Heartbeat, Join, Leave, Request, Sync
from models.kafka.coordinator.responses import JoinResponse, LeaveResponse, Response, SyncResponse
from models.kafka.coordinator.shard import Shard, numbered_ids
from models.kafka.coordinator.syncing import heartbeat, sync
from models.kafka.coordinator.timers import Timer, TimerKind, Timers

Handler = Callable[[Shard, Any], None]
HANDLERS: Mapping[type[Request], tuple[Handler, Callable[[Error], Response]]] = {
    Heartbeat: (heartbeat, Response),
    Join: (join, JoinResponse),
    Sync: (sync, SyncResponse),
    Leave: (leave, LeaveResponse),
    Commit: (commit, Response),
    Delete: (delete, Response),
}
"""Who handles a request, and what answers it if it is refused as a whole."""

NEED_GROUP_ID = (Join, Sync, Heartbeat, Leave)
"""Requests that can't be for the group without a name (isValidGroupId)."""


class Coordinator:
    """A coordinator of one version, with its groups.

    `make_member_id` is called with the prefix of a new id; `order` puts members' timers of one deadline in order.
    """

    def __init__(
        self,
        policy: Policy,
        settings: Settings | None = None,
        *,
        choices: Choices | None = None,
        make_member_id: Callable[[str], str] | None = None,
        order: Callable[[str], Any] = str,
    ) -> None:
        self._shard = Shard(
            policy,
            settings or default_settings(policy),
            choices or FirstChoice(),
            make_member_id or numbered_ids(),
            Timers(order),
        )
        self._schedule_clean_up()

    @property
    def now_ms(self) -> int:
        """The virtual time."""
        return self._shard.now_ms

    @property
    def groups(self) -> Mapping[str, Group]:
        """The groups as they are now; to be looked at only."""
        return self._shard.groups

    @property
    def timers(self) -> Timers:
        """The timers that wait; to be looked at only."""
        return self._shard.timers

    def handle(self, request: Request) -> Outcome:
        """Handle a request at the present time, and timers that are due at once because of it."""
        shard = self._shard
        handler, refusal = HANDLERS[type(request)]
        if not request.group and isinstance(request, NEED_GROUP_ID):
            shard.answer(request.request_id, refusal(Error.INVALID_GROUP_ID))
        else:
            try:
                handler(shard, request)
            except Fault:
                shard.answer(request.request_id, refusal(Error.UNKNOWN_SERVER_ERROR))
        self._fire_until(shard.now_ms)
        return shard.outcome()

    def advance(self, by_ms: int) -> Outcome:
        """Let time pass; each timer fires at its own deadline, and what it starts can fire within the same wait."""
        target_ms = self._shard.now_ms + by_ms
        self._fire_until(target_ms)
        self._shard.now_ms = target_ms
        return self._shard.outcome()

    def _fire_until(self, target_ms: int) -> None:
        shard = self._shard
        while (timer := shard.timers.take(target_ms)) is not None:
            shard.now_ms = timer.at_ms
            tied = shard.timers.next_ms() == timer.at_ms
            self._fire(timer)
            shard.fired.append(Fired(timer.at_ms, timer.kind, timer.group or None, timer.member or None, tied))

    def _fire(self, timer: Timer) -> None:
        shard = self._shard
        if timer.kind is TimerKind.CLEANUP:
            clean_up(shard)
            self._schedule_clean_up()
            return
        group = shard.groups.get(timer.group)
        if group is None:
            return
        if timer.kind is TimerKind.HEARTBEAT:
            expire_session(shard, group, timer.member)
        elif timer.kind is TimerKind.JOIN:
            end_join_step(shard, group, timer.detail)
        elif timer.kind is TimerKind.SYNC:
            end_sync_wait(shard, group, timer.detail)

    def _schedule_clean_up(self) -> None:
        shard = self._shard
        shard.timers.schedule(TimerKind.CLEANUP, "", "", shard.now_ms + shard.settings.retention_check_interval_ms)
