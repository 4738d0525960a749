"""Fold runs of equal requests into one event.

Most lines in request logs of busy clusters and in logs of RocketMQ clients are heartbeats and commits. Those of one
member are equal until something happens in its group, so a run of them becomes one event with `count` and `last_at_us`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

FOLDED_EVENTS = frozenset(
    {
        "HeartbeatCompleted",
        "OffsetCommitCompleted",
        "ConsumerGroupHeartbeatCompleted",
        "ShareGroupHeartbeatCompleted",
        "StreamsGroupHeartbeatCompleted",
        "RocketOffsetSent",
    }
)
# A run never crosses a multiple of this offset, so it does not depend on how a file is split.
FOLD_BLOCK_BYTES = 8 << 20
# A longer silence may be relevant: sessions time out after 6 s or more by old defaults, 45 s by new ones.
MAX_SILENCE_US = 10_000_000
# Fields that differ between requests without any meaning for the group.
_VARYING = frozenset(
    {
        "correlation_id",
        "total_ms",
        "request_queue_ms",
        "local_ms",
        "remote_ms",
        "throttle_ms",
        "response_queue_ms",
        "send_ms",
    }
)
_VARYING_OF: dict[str, frozenset[str]] = {"OffsetCommitCompleted": _VARYING | {"topics"}, "RocketOffsetSent": frozenset({"offset"})}


@dataclass(slots=True)
class _Run:
    row: int
    count: int
    last_at: int


class Folder:
    """Finds runs in a sequence of events.

    The caller numbers the rows.
    """

    def __init__(self) -> None:
        self._open: dict[str | None, dict[Any, _Run]] = {}
        self._all: list[_Run] = []

    def swallow(self, row: int, at: int | None, offset: int, event: str | None, columns: dict[str, Any], fields: dict[str, Any]) -> bool:
        """Process an event; return True if it was added to an existing run."""
        group = columns.get("group")
        if event not in FOLDED_EVENTS:
            if group is not None:
                self._open.pop(group, None)
            return False
        if at is None or fields.get("error_code", 0) != 0:
            self._open.pop(group, None)
            return False
        varying = _VARYING_OF.get(event, _VARYING)
        key = (
            offset // FOLD_BLOCK_BYTES,
            event,
            *(columns.get(name) for name in ("member_id", "generation", "client_id", "instance_id", "topic", "partition")),
            *_stable(fields, varying),
        )
        runs = self._open.setdefault(group, {})
        run = runs.get(key)
        if run is not None and 0 <= at - run.last_at <= MAX_SILENCE_US:
            run.count += 1
            run.last_at = at
            return True
        runs[key] = run = _Run(row, 1, at)
        self._all.append(run)
        return False

    def end_group(self, group: str | None) -> None:
        """End the runs of a group after another event in it."""
        if group is not None:
            self._open.pop(group, None)

    def end_all(self) -> None:
        """End all runs, so that no later event is added to them."""
        self._open.clear()

    def runs(self) -> Iterable[tuple[int, int, int]]:
        """(row, count, time of the last) of each run of two or more."""
        return ((run.row, run.count, run.last_at) for run in self._all if run.count > 1)


def _stable(fields: dict[str, Any], varying: frozenset[str]) -> list[tuple[str, str]]:
    return [(name, repr(value)) for name, value in sorted(fields.items()) if name not in varying]
