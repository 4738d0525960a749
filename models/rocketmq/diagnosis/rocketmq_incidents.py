"""Incidents of RocketMQ groups: related episodes with their severity.

Clients never wait for each other. Harm is the time in which queues had no owner or two.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from models.clear_names import clear
from models.ids import make_id
from models.incidents.headline_facts import ClientAction, FrequentCause, QueueFacts, QueueHarm, QueueStory, StandingQuarrel
from models.incidents.incidents import Limits, is_routine
from models.rocketmq.diagnosis.ownership import OwnershipWindow
from models.rocketmq.diagnosis.standing_faults import StandingFault, is_of_group
from models.rocketmq.object_text import RETRY
from models.rocketmq.time_ranges import Spans
from models.rows import Incident, Person, Rebalance
from models.tolerances import float_tolerance
from models.units import SECONDS_PER_HOUR, US_PER_SECOND

PLANNED = frozenset(
    {
        "consumer_start",
        "consumer_stop",
        "topic_route_appeared",
        "queue_count_change",
        "subscription_change",
        "offset_reset",
        "message_request_mode",
    }
)
"""Causes of routine operation."""

_FAILURES = frozenset({"consumer_crash", "channel_expired", "connection_lost", "pull_expired"})

BROKERS = frozenset({"broker_down", "broker_up", "consumer_list_partial"})

_ENDINGS = frozenset({"broker_up", "consumer_resume"})
"""Causes that end a trouble, and are not one themselves."""

GUESSED = float_tolerance("rocketmq.incidents.guessed")
"""Minimum confidence of a window that affects an incident's severity."""


def incidents_of(
    episodes: Iterable[Rebalance], windows: Iterable[OwnershipWindow], faults: Sequence[StandingFault], end: int, limits: Limits
) -> list[Incident[QueueFacts]]:
    """Incidents of one group by time.

    Retry topics count only if there is nothing else.
    """
    rows = sorted(episodes, key=lambda row: (row.started_at or 0, row.topic or ""))
    counted = [row for row in rows if not (row.topic or "").startswith(RETRY)] or rows
    wrong = [window for window in windows if window.kind != "owned" and not window.topic.startswith(RETRY) and window.confidence >= GUESSED]
    wrong.sort(key=lambda window: window.started_at)
    return [_incident(part, wrong, faults, end, limits) for part in _parts(counted, end, limits.episode_gap_seconds)]


def _over(row: Rebalance, end: int) -> int:
    return row.ended_at if row.ended_at is not None else end


def _parts(rows: Sequence[Rebalance], end: int, gap_seconds: float) -> Iterable[list[Rebalance]]:
    part: list[Rebalance] = []
    reached = 0
    for row in rows:
        if part and (row.started_at or 0) - reached > gap_seconds * US_PER_SECOND:
            yield part
            part = []
        part.append(row)
        reached = max(reached, _over(row, end))
    if part:
        yield part


def _incident(
    rows: list[Rebalance], wrong: Sequence[OwnershipWindow], faults: Sequence[StandingFault], end: int, limits: Limits
) -> Incident[QueueFacts]:
    first = rows[0]
    begin, over = first.started_at or 0, max(_over(row, end) for row in rows)
    harms = [window for window in wrong if window.started_at <= over and (window.ended_at or end) >= begin]
    standing = [fault for fault in faults if is_of_group(fault) and fault.started_at <= over and (fault.ended_at or end) >= begin]
    stopped = Spans((window.started_at, window.ended_at or end) for window in harms if window.kind == "no_owner").seconds(begin, over)
    longest = max(((window.ended_at or end) - window.started_at for window in harms), default=0) / US_PER_SECOND
    kind = _kind(rows, longest, limits)
    telling = _telling(rows, is_harmful=bool(harms))
    return Incident(
        cluster=first.cluster,
        system=first.system,
        incident_id=make_id("incident", first.rebalance_id),
        kind=kind,
        severity=_severity(rows, kind, longest, stopped, (over - begin) / US_PER_SECOND, limits, has_quarrel=bool(standing)),
        groups=[first.group],
        started_at=begin or None,
        ended_at=None if any(row.ended_at is None for row in rows) else over or None,
        rebalance_count=len(rows),
        stopped_seconds=round(stopped, 6),
        root_cause="rolling_restart" if kind == "rolling_restart" else None,
        worst_offender=_worst(telling),
        headline=QueueFacts(first.group, len(rows), tuple(_harms(harms, end)), _story(telling, standing), rows[-1].outcome == "empty"),
        rebalance_ids=[row.rebalance_id for row in rows],
        outage_ids=[],
    )


def _kind(rows: Sequence[Rebalance], longest: float, limits: Limits) -> str:
    if longest > limits.critical_ownership_seconds:
        return "queue_ownership"
    causes = {row.cause for row in rows}
    failed = Counter(person.client_id for row in rows if row.cause in _FAILURES for person in row.offenders)
    if causes & BROKERS:
        return "broker_outage"
    if failed and max(failed.values()) >= limits.flapping_count:
        return "flapping_member"
    if _were_restarted(rows) and not causes & _FAILURES:
        return "rolling_restart"
    if len(rows) > 1 and (causes <= {"consumer_start", "topic_route_appeared"} or causes == {"consumer_stop"}):
        return "autoscaling"
    return "storm" if len(rows) >= limits.storm_count and not causes <= PLANNED else "single"


def _were_restarted(rows: Sequence[Rebalance]) -> bool:
    """Whether at least two clients stopped and at least two started."""
    went = {person.client_id for row in rows if row.cause == "consumer_stop" for person in row.offenders}
    came = [person.client_id for row in rows if row.cause == "consumer_start" for person in row.offenders]
    return len(went) > 1 and len(came) > 1


def _severity(
    rows: Sequence[Rebalance], kind: str, longest: float, stopped: float, span: float, limits: Limits, *, has_quarrel: bool
) -> str:
    long_stopped = stopped >= limits.critical_stopped_seconds or stopped / max(span, SECONDS_PER_HOUR) > limits.critical_share_of_hour
    if long_stopped or longest > limits.critical_ownership_seconds:
        return "critical"
    planned = longest <= limits.handover_seconds and is_routine(rows, PLANNED, limits)
    return "info" if planned and not has_quarrel and kind in {"single", "autoscaling", "rolling_restart"} else "warning"


def _telling(rows: Sequence[Rebalance], *, is_harmful: bool) -> Sequence[Rebalance]:
    """The rebalances that tell what an incident is.

    Failures of clients come before all else that nobody plans, and that before what is routine. Of routine that did harm, what
    left queues without one owner for longest counts.
    """
    for unplanned in (_FAILURES, {row.cause for row in rows} - PLANNED - _ENDINGS):
        if chosen := [row for row in rows if row.cause in unplanned]:
            return chosen
    longest = max((row.pause_seconds or 0.0 for row in rows), default=0.0) if is_harmful else 0.0
    return [row for row in rows if row.pause_seconds == longest] if longest else rows


def _worst(rows: Sequence[Rebalance]) -> Person | None:
    """Client behind most of these changes."""
    people = [person for row in rows for person in row.offenders if person.client_id]
    counts = Counter(person.client_id for person in people)
    return min(people, key=lambda person: (-counts[person.client_id], clear(person.client_id or "")), default=None)


def _harms(wrong: Sequence[OwnershipWindow], end: int) -> Iterator[QueueHarm]:
    """What was wrong with queues, by kind."""
    for kind in ("no_owner", "two_owners"):
        harms = [window for window in wrong if window.kind == kind]
        if harms:
            longest = max((window.ended_at or end) - window.started_at for window in harms) / US_PER_SECOND
            queues = {(window.topic, window.queue) for window in harms}
            yield QueueHarm(kind, len(queues), tuple(sorted({window.topic for window in harms})), longest)


def _story(telling: Sequence[Rebalance], faults: Sequence[StandingFault]) -> QueueStory:
    if faults:
        return StandingQuarrel(faults[0].facts)
    worst = _worst(telling)
    if worst is None or worst.client_id is None:
        return FrequentCause(Counter(row.cause for row in telling).most_common(1)[0][0])
    causes = [row.cause for row in telling if any(person.client_id == worst.client_id for person in row.offenders)]
    cause, times = Counter(causes).most_common(1)[0]
    return ClientAction(worst.client_id, cause, times if cause in _FAILURES else 1)
