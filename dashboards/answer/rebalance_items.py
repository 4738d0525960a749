"""A rebalance of the answer, made of its row."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any

from conf.causes import RecommendedAction
from conf.causes import cause as cause_entry
from dashboards.answer.applicable_advice import applicable_advice
from dashboards.answer.totals import heaviest
from dashboards.view import answer as data
from dashboards.view.row_access import AnyRow, Columns, column, lines_of
from models.downtime import NAMELESS, PROTOCOLS_WITHOUT_STOP, is_cooperative

_SAME = (
    "cluster", "system", "group", "topic", "protocol", "assignor", "generation_before", "generation_after", "started_at", "joined_at",
    "ended_at", "initial_delay_seconds", "join_seconds", "sync_seconds", "reconcile_seconds", "duration_seconds", "at_least_seconds",
    "outcome", "cause", "root_cause", "confidence", "settled_by", "members_before", "members_after", "member_seconds_stopped",
    "partition_seconds_stopped", "duplicate_window", "coordinator", "trigger_text", "pause_seconds", "backlog_seconds",
)  # fmt: skip
"""Columns that an answer has as they are."""
TALLIED = (*_SAME, "rebalance_id", "advice_id", "alternatives", "offenders", "blockers", "conformance", "measurements_ms")
"""Columns of a rebalance but its evidence, which totals do without."""
_TALLIED = Columns(*TALLIED)
_CONFORMANCE = Columns("inferred_steps", "unexplained_lines")
_PERSON = Columns("client_id", "instance_id", "member_id", "host", "reason", "first")


def rebalance(row: AnyRow) -> data.Rebalance:
    """Convert one row of `rebalances`."""
    return rebalance_of(_TALLIED(row), column(row, "evidence") or ())


def rebalance_of(values: Sequence[Any], evidence: Iterable[AnyRow] = ()) -> data.Rebalance:
    """Convert the values of the columns `TALLIED`."""
    same = dict(zip(_SAME, values, strict=False))
    rebalance_id, advice_id, alternatives, offenders, blockers, conformance, measurements = values[len(_SAME) :]
    system, cause_id, root, protocol, assignor = (same[name] for name in ("system", "cause", "root_cause", "protocol", "assignor"))
    entry = cause_entry(system, cause_id)
    inferred_steps, unexplained_lines = _CONFORMANCE(conformance)
    return data.Rebalance(
        **same,
        id=rebalance_id,
        stopped_seconds=_stopped_seconds(same),
        cause_title=entry.title,
        family=entry.family,
        expected=entry.expected or (root is not None and cause_entry(system, root).expected),
        alternatives=heaviest(alternatives or {}, without=cause_id),
        offenders=tuple(map(who, offenders or ())),
        blockers=tuple(map(who, blockers or ())),
        inferred_steps=inferred_steps or 0,
        unexplained_lines=unexplained_lines or 0,
        evidence=lines_of(evidence),
        advice=_advice(system, advice_id or root or cause_id, protocol, assignor),
        measurements_ms=dict(measurements or {}),
    )


def _stopped_seconds(row: dict[str, Any]) -> float:
    if row["pause_seconds"] is not None:
        return float(row["pause_seconds"])  # RocketMQ: most queues are still consumed during a reallocation
    # A group that became empty has no member left that could wait, and clients of RocketMQ never wait for each other: only a queue
    # without an owner stops.
    if row["outcome"] == "empty" or row["system"] == "rocketmq" or _goes_on(row["protocol"], row["assignor"]):
        return 0.0
    length = row["duration_seconds"]
    lasted = length if length is not None else row["at_least_seconds"] or 0.0
    # The initial delay stops nobody, unless the members were at work until their coordinator paused.
    delay = 0.0 if row["root_cause"] == "coordinator_pause" else row["initial_delay_seconds"] or 0.0
    return max(0.0, lasted - delay)


def _goes_on(protocol: str, assignor: str | None) -> bool:
    """Whether members keep working while partitions move.

    This holds for the newer protocols and for cooperative assignors.
    """
    return protocol in PROTOCOLS_WITHOUT_STOP or is_cooperative(assignor)


@lru_cache(maxsize=4096)
def _advice(system: str, advice_id: str | None, protocol: str, assignor: str | None) -> tuple[RecommendedAction, ...]:
    """Advice on a rebalance that its group can follow."""
    advice = cause_entry(system, advice_id).advice
    return applicable_advice(advice, [(protocol, assignor)], None) if system == "kafka" else advice


def who(person: AnyRow) -> data.Person:
    """A member under its best known name.

    The name is the client id, else the instance id, else the member id.
    """
    client_id, instance_id, member_id, host, reason, first = _PERSON(person)
    return data.Person(
        name=client_id or instance_id or member_id or NAMELESS,
        member_id=member_id,
        client_id=client_id,
        instance_id=instance_id,
        host=host.removeprefix("/") if host else None,
        reason=reason or "",
        first=bool(first),
    )
