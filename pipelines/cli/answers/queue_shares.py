"""Shares of a RocketMQ topic at a time, from analysed rows.

This is where `groupscope allocate` starts from for a history.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dashboards.view.row_access import column
from models.rocketmq.object_text import RETRY
from pipelines.errors import UsageError


@dataclass(frozen=True, slots=True)
class QueueShares:
    """One topic of a group: queues by broker, clients and strategy."""

    group: str
    topic: str
    reads: dict[str, int]
    clients: list[str]
    strategy: str
    unnamed: int = 0  # clients counted by others but without queues, so no row names them


def shared_at(rows: Any, group: str | None, topic: str | None, at: int | None) -> QueueShares:
    """Shares of the topic at `at`, in microseconds; None means the end.

    Raises UsageError if the rows have several groups or topics and none was chosen, or none at all.
    """
    covering = [row for row in rows.ownership if _covers(row, at)]
    if not covering:
        raise UsageError("no RocketMQ queue had an owner then; it takes rocketmq_client.log of the consumers to see one")
    name = _only(covering, "group", group, "--group")
    covering = [row for row in covering if column(row, "group") == name]
    chosen = _only([row for row in covering if topic or not column(row, "topic").startswith(RETRY)], "topic", topic, "--topic")
    rows_of_queue = [row for row in covering if column(row, "topic") == chosen]
    changes = [
        row for row in rows.allocation_changes if column(row, "group") == name and (at is None or (column(row, "changed_at") or 0) <= at)
    ]
    changes = sorted((row for row in changes if column(row, "topic") == chosen), key=lambda row: column(row, "changed_at") or 0)
    strategies = Counter(column(row, "strategy") for row in changes if column(row, "strategy"))
    clients = sorted({who for row in covering for who in column(row, "owners") or ()} | _idle(rows.conditions, name, at))
    counted = column(changes[-1], "clients") if changes else None
    return QueueShares(
        name,
        chosen,
        _reads(column(row, "queue") for row in rows_of_queue),
        clients,
        strategies.most_common(1)[0][0] if strategies else "AVG",
        max((counted or 0) - len(clients), 0),
    )


def _covers(row: Any, at: int | None) -> bool:
    begun, over = column(row, "started_at"), column(row, "ended_at")
    return over is None if at is None else (begun is None or begun <= at) and (over is None or over > at)


def _only(rows: Sequence[Any], name: str, chosen: str | None, option: str) -> str:
    """The chosen value, or the only one; raises UsageError otherwise."""
    names = sorted({column(row, name) for row in rows})
    if chosen is not None and chosen not in names:
        raise UsageError(f"{option} {chosen!r}: there are {', '.join(names[:8])}")
    if chosen is None and len(names) != 1:
        raise UsageError(f"say which {name} with {option}: there are {', '.join(names[:8])}")
    return chosen if chosen is not None else names[0]


def _idle(conditions: Iterable[Any], group: str, at: int | None) -> set[str]:
    """Clients without a queue because there are more clients than queues."""
    return {
        who
        for row in conditions
        if (column(row, "kind"), column(row, "group")) == ("more_consumers_than_queues", group) and _covers(row, at)
        for who in column(row, "members")
    }


def _reads(queues: Iterable[str]) -> dict[str, int]:
    """Number of queues by broker, from queue names."""
    reads: dict[str, int] = {}
    for queue in queues:
        broker, _, number = queue.rpartition(":")
        reads[broker] = max(reads.get(broker, 0), int(number) + 1)
    return reads
