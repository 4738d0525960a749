"""Group incidents that recur, so that many of one kind read as one problem."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from conf.causes import causes
from dashboards.view.answer import SEVERITIES_WORST_FIRST, SHOWN_AS_LIKELY, Incident
from dashboards.view.recurrence import Recurrence
from dashboards.wording.durations import duration
from dashboards.wording.units import counted, listed, share
from models.downtime import NAMELESS

HELD_UP_SHARE = 0.5
"""Minimum share of the stopped time for waiting to be what happened."""


def recurrences(incidents: Iterable[Incident]) -> list[Recurrence]:
    """Group incidents by cluster, groups, cause and member; worst first."""
    grouped: defaultdict[tuple[object, ...], list[Incident]] = defaultdict(list)
    for item in incidents:
        grouped[_key(item)].append(item)
    return sorted(map(_recurrence, grouped.values()), key=_worst_first)


def _key(item: Incident) -> tuple[object, ...]:
    holder = _holder(item)
    calm = item.severity == "info"
    if holder:
        return item.cluster, item.groups, "held up", holder, calm
    return item.cluster, item.groups, item.cause_title, _member(item), calm


def _holder(item: Incident) -> str:
    """The member that the others mostly waited for, if any."""
    if not item.held_up or not (item.root_cause is None or item.kind == "slow_member"):
        return ""
    longest = item.held_up[0]
    is_told = item.worst_offender is not None and item.worst_offender.name == longest.name
    return longest.name if is_told and 0 < longest.seconds >= HELD_UP_SHARE * item.stopped_seconds else ""


def _member(item: Incident) -> str:
    """Who did it; nobody in particular where every instance takes its turn."""
    return "" if item.worst_offender is None or item.root_cause is not None else item.worst_offender.name


def _recurrence(incidents: Sequence[Incident]) -> Recurrence:
    worst = incidents[0]
    member = _holder(worst) or _member(worst)
    waits = [wait for item in incidents for wait in item.held_up if wait.name == member]
    count, seconds = sum(wait.count for wait in waits), sum(wait.seconds for wait in waits)
    headline = worst.headline
    if len(incidents) > 1:
        sentence = f"{member} held the others up {count} times, {duration(seconds)}" if _holder(worst) else _action(worst, member)
        whose = f"{listed(list(worst.groups))}: " if worst.groups else ""
        headline = f"{whose}{sentence}; {_sums(incidents)}"
    return Recurrence(incidents, member, count, seconds, headline)


def _sums(incidents: Sequence[Incident]) -> str:
    """Number of incidents, with their rebalances and stopped time if any is known."""
    rebalances = sum(item.rebalance_count for item in incidents)
    stopped = sum(item.stopped_seconds for item in incidents)
    is_of_groups = bool(incidents[0].groups)
    return ", ".join(
        [
            f"{len(incidents)} incidents",
            *([counted(rebalances, "rebalance")] if rebalances or is_of_groups else []),
            *([f"{duration(stopped)} {'stopped' if is_of_groups else 'without leader'}"] if stopped else []),
        ]
    )


def _action(item: Incident, member: str) -> str:
    """The recurring action, as a clause."""
    entry = causes().get((item.system, item.trigger or ""))
    if item.confidence is not None and item.confidence < SHOWN_AS_LIKELY:
        return f"perhaps {(entry.title if entry is not None else item.cause_title).lower()} ({share(item.confidence)})"
    if item.root_cause is not None or entry is None or entry.title != item.cause_title:
        return item.cause_title.lower() + (f", {member} most of all" if member else "")
    return entry.clause(member or NAMELESS)


def _worst_first(item: Recurrence) -> tuple[object, ...]:
    severity = item.worst.severity
    rank = SEVERITIES_WORST_FIRST.index(severity) if severity in SEVERITIES_WORST_FIRST else len(SEVERITIES_WORST_FIRST)
    return rank, -item.stopped_seconds, item.worst.number
