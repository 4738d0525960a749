"""Incident stage: groups related rebalances into incidents.

An incident is an episode of one group in which rebalances follow each other closely. A single rebalance is an incident
of kind `single`; a group that never settles has several (`kafka.groups.bounds.EPISODE_MAX`). Episodes caused by a
broker's departure or by a deployment have that as root cause. `kafka.groups.rows.coordinator_pauses` lowers the severity of
what a pause of the coordinator explains.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from models.clear_names import clear
from models.downtime import SHORTEST_SECONDS, Waits, goes_on, is_assignment_awaited, stopped_seconds, waited_seconds
from models.ids import make_id
from models.incidents.absences import act_of
from models.incidents.episodes import (
    EPISODE_GAP_SECONDS,
    FAILURES,
    WENT,
    brief_members,
    episodes,
    is_flapping,
    joined_episodes,
    was_scaled_in_turn,
)
from models.incidents.headline_facts import (
    ActionsTogether,
    BriefMembers,
    EndlessWait,
    EpisodeFacts,
    EpisodeStory,
    FrequentCause,
    HeadlineFacts,
    HeldUp,
    MemberActions,
    Migration,
    NamedMember,
    RejoinRequest,
    TurnRestarts,
)
from models.incidents.roll_outs import display_name, missing_members, restarted_members
from models.incidents.static_returns import avoided_seconds
from models.rows import KAFKA, Incident, Person, Rebalance, RebalanceMember
from models.tolerances import TOGETHER_MIN, float_tolerance, int_tolerance
from models.units import SECONDS_PER_HOUR, US_PER_SECOND


@dataclass(frozen=True, slots=True)
class Limits:
    """Thresholds of incidents, in seconds, and what is kept of groups.

    Runs take them from the settings. Models read no settings, so the defaults are repeated in `models.tolerances`, each with its source.
    """

    episode_gap_seconds: float = EPISODE_GAP_SECONDS
    storm_count: int = int_tolerance("incidents.storm_count")
    flapping_count: int = int_tolerance("incidents.flapping_count")
    slow_join_seconds: float = float_tolerance("incidents.slow_join_seconds")
    stuck_seconds: float = float_tolerance("incidents.stuck_seconds")
    critical_stopped_seconds: float = float_tolerance("incidents.critical_stopped_seconds")
    critical_share_of_hour: float = float_tolerance("incidents.critical_share_of_hour")
    critical_ownership_seconds: float = float_tolerance("incidents.critical_ownership_seconds")  # RocketMQ: a queue with two owners or none
    handover_seconds: float = float_tolerance("incidents.handover_seconds")  # RocketMQ
    routine_share_min: float = float_tolerance("incidents.routine_share_min")
    group_states: bool = False
    """Whether each change of a group in its coordinator's model is kept."""


EXPECTED_CAUSES = frozenset(
    {
        *("new_group", "member_join", "member_leave", "member_restart", "cooperative_followup"),
        *("connector_config_change", "scheduled_rebalance", "admin_removal", "group_deleted"),
    }
)
"""Causes of routine operation: deployment, scaling, shutdown."""

LIKELY = float_tolerance("incidents.likely")
"""Minimum confidence of a cause that is named without reserve."""

MIGRATION = "protocol_migration"
"""Kind of an episode, and what is behind it."""

GROUP_FULL = "group_full"
"""Advice for a group that was loaded with too many members."""

COORDINATOR_TROUBLE = {"coordinator_failover": "coordinator_move", "assignment_store_failed": "assignment_store"}


def find_incidents(
    rebalances: Iterable[Rebalance], limits: Limits | None = None, members: Iterable[RebalanceMember] = ()
) -> list[Incident[EpisodeFacts]]:
    """Group rebalances into incidents, worst first.

    The rebalances may come in any order; `members` are those in them.
    """
    limits = limits or Limits()
    by_group: dict[tuple[str, str, str], list[Rebalance]] = {}
    for row in rebalances:
        by_group.setdefault((row.cluster, row.system, row.group), []).append(row)
    parts: defaultdict[str, list[RebalanceMember]] = defaultdict(list)
    for member in members:
        parts[member.rebalance_id].append(member)
    incidents = []
    for key in sorted(by_group):
        static = avoided_seconds(by_group[key], parts) if key[1] == KAFKA else {}
        for episode in joined_episodes(by_group[key], limits.episode_gap_seconds, limits.flapping_count):
            incidents.append(_incident(episode, limits))
            _without_restarts(incidents[-1], episode, static)
    return sorted(incidents, key=badness)


def _without_restarts(incident: Incident[EpisodeFacts], rows: Sequence[Rebalance], static: Mapping[str, float]) -> None:
    """Set the restarted members, and the effect of static membership."""
    incident.restarted_members = sorted(restarted_members(rows), key=clear)
    avoided = [static[row.rebalance_id] for row in rows if row.rebalance_id in static]
    if avoided or incident.kind == "rolling_restart":
        incident.static_membership_effect = {"static_avoided": float(len(avoided)), "static_saved_seconds": round(sum(avoided), 6)}


def _incident(rows: list[Rebalance], limits: Limits) -> Incident[EpisodeFacts]:
    first = rows[0]
    kind = _kind(rows, limits)
    stopped = round(sum(map(stopped_seconds, rows)), 6)
    lasting = [row for row in rows if row.outcome != "empty" or row.cause in FAILURES] or rows
    worst = _held_up_by(rows, stopped, limits) or _worst_offender(lasting, WENT if kind == "flapping_member" else FAILURES)
    together = _failed_together(rows, worst)
    worst = worst if together is None and not _is_store_to_blame(rows, kind) else None
    is_open = rows[-1].outcome == "open"
    return Incident(
        cluster=first.cluster,
        system=first.system,
        incident_id=make_id("incident", first.rebalance_id),
        kind=kind,
        severity=_severity(rows, kind, stopped, limits),
        groups=[first.group],
        started_at=first.began or None,
        ended_at=None if is_open else max(row.over_at for row in rows) or None,
        rebalance_count=len(rows),
        stopped_seconds=stopped,
        root_cause=MIGRATION if kind == MIGRATION else _most_common([row.root_cause for row in rows if row.root_cause]),
        worst_offender=worst,
        headline=_facts(rows, kind, stopped, together or _story(rows, kind, worst)),
        rebalance_ids=[row.rebalance_id for row in rows],
        outage_ids=[],
    )


def _most_common(values: Sequence[str]) -> str | None:
    return min(Counter(values).items(), key=lambda item: (-item[1], item[0]))[0] if values else None


def _worst_offender(rows: Sequence[Rebalance], unplanned: frozenset[str]) -> Person | None:
    """Member behind most unplanned rebalances; if there are none, of all."""
    for causes in (unplanned, None):
        counted: dict[str, int] = defaultdict(int)
        seconds: dict[str, float] = defaultdict(float)
        people: dict[str, Person] = {}
        for row in rows:
            acted = row.offenders if causes is None or act_of(row) in causes else []
            for person in [*acted, *(row.blockers if causes is not None else [])]:
                people.setdefault(display_name(person), person)
                counted[display_name(person)] += 1
                seconds[display_name(person)] += row.duration_seconds or row.at_least_seconds or 0.0
        if people:
            return people[min(people, key=lambda name: (-counted[name], -seconds[name]))]  # the first of equals is the first of its row
    return None


def _held_up_by(rows: Sequence[Rebalance], stopped: float, limits: Limits) -> Person | None:
    """Member that the others waited for longest, if that was most of the downtime."""
    people = {display_name(person): person for row in reversed(rows) for person in reversed(row.blockers)}
    waits: Waits[str] = Waits()
    for row in rows:
        waits.add(row, display_name)
    seconds = waits.seconds()
    worst = min(people, key=lambda name: (-seconds[name], clear(name)), default=None)
    waited = sum(waited_seconds(row) for row in rows if worst is not None and worst in map(display_name, row.blockers))
    return people[worst] if worst is not None and waited >= max(limits.slow_join_seconds, stopped / 2) else None


def _kind(rows: Sequence[Rebalance], limits: Limits) -> str:
    """Kind of an episode: the first rule of `_KINDS` that holds."""
    return next((kind for kind, holds in _KINDS if holds(rows, limits)), "single")


def _is_stuck(rows: Sequence[Rebalance], limits: Limits) -> bool:
    """Whether its present phase lasts long, as the logs end.

    A join phase that is over holds nobody any more.
    """
    last = rows[-1]
    over = (last.join_seconds or 0.0) if last.joined_at is not None else 0.0
    return last.protocol == "classic" and last.outcome == "open" and (last.at_least_seconds or 0.0) - over >= limits.stuck_seconds


def _first_trouble_is(cause: str) -> Callable[[Sequence[Rebalance], Limits], bool]:
    """Rule: the earliest coordinator problem has this cause."""

    def holds(rows: Sequence[Rebalance], _limits: Limits) -> bool:
        troubles = (trouble for row in rows for trouble in (row.cause, row.root_cause) if trouble in COORDINATOR_TROUBLE)
        return next(troubles, None) == cause

    return holds


def _was_migrated(rows: Sequence[Rebalance], _limits: Limits) -> bool:
    return any(row.cause == MIGRATION for row in rows)


def _was_held_up_once(rows: Sequence[Rebalance], limits: Limits) -> bool:
    return len(rows) == 1 and bool(rows[0].blockers) and not _is_brief(rows[0], limits)


def _is_alone(rows: Sequence[Rebalance], _limits: Limits) -> bool:
    return len(rows) == 1


def _has_never_settled(rows: Sequence[Rebalance], limits: Limits) -> bool:
    classic = [row for row in rows if row.protocol == "classic"]
    return len(classic) >= limits.storm_count and not any(row.outcome in {"stable", "empty"} for row in classic)


def _has_repeated_failures(rows: Sequence[Rebalance], limits: Limits) -> bool:
    return is_flapping(rows, limits.flapping_count, FAILURES)


def _has_repeated_departures(rows: Sequence[Rebalance], limits: Limits) -> bool:
    return is_flapping(rows, limits.flapping_count, WENT)


def _was_restarted_in_turn(rows: Sequence[Rebalance], _limits: Limits) -> bool:
    """Whether at least two members restarted and nobody failed."""
    if any(act_of(row) in FAILURES for row in rows):
        return False
    return len(restarted_members(rows)) >= 2


def _was_held_up(rows: Sequence[Rebalance], limits: Limits) -> bool:
    return any(row.blockers and _wait(row) >= limits.slow_join_seconds and not _is_brief(row, limits) for row in rows)


def _is_brief(row: Rebalance, limits: Limits) -> bool:
    """Whether nobody is named for a join phase that distant heartbeats may explain."""
    is_named = any(person.client_id or person.member_id for person in row.blockers)
    return not is_named and row.joined_at is not None and _wait(row) < 2 * limits.slow_join_seconds


def _wait(row: Rebalance) -> float:
    """Seconds of the phase in which somebody was awaited."""
    joining, syncing = row.join_seconds or 0.0, row.sync_seconds or 0.0
    return syncing if is_assignment_awaited(joining, syncing) else joining


def _was_scaled(rows: Sequence[Rebalance], _limits: Limits) -> bool:
    causes = {row.cause for row in rows}
    return causes <= {"member_join", "new_group"} or causes == {"member_leave"}


def _was_scaled_in_turn(rows: Sequence[Rebalance], limits: Limits) -> bool:
    return was_scaled_in_turn(rows, limits.flapping_count)


def _is_storm(rows: Sequence[Rebalance], limits: Limits) -> bool:
    return len(rows) >= limits.storm_count and rows[0].began > 0 and any(act_of(row) not in EXPECTED_CAUSES for row in rows)


_KINDS: tuple[tuple[str, Callable[[Sequence[Rebalance], Limits], bool]], ...] = (
    ("stuck", _is_stuck),
    *((kind, _first_trouble_is(cause)) for cause, kind in COORDINATOR_TROUBLE.items()),
    (MIGRATION, _was_migrated),
    ("slow_member", _was_held_up_once),
    ("single", _is_alone),
    ("never_settles", _has_never_settled),
    ("flapping_member", _has_repeated_failures),
    ("autoscaling", _was_scaled_in_turn),
    ("rolling_restart", _was_restarted_in_turn),
    ("flapping_member", _has_repeated_departures),
    ("slow_member", _was_held_up),
    ("autoscaling", _was_scaled),
    ("storm", _is_storm),
)
"""Rules for kinds of incidents; the first that holds counts.

"single" is also the kind of an episode without a matching rule.
"""


def mark_rolling_restarts(rows: list[Rebalance]) -> None:
    """Set the root cause of rebalances in a rolling restart.

    Each instance leaves and comes back in turn. Settings shape incidents, but no root cause may depend on them, so the
    gap between episodes is always the default.
    """
    for episode in episodes(rows, EPISODE_GAP_SECONDS):
        if len(episode) > 1 and _was_restarted_in_turn(episode, Limits()):
            for row in episode:
                if row.root_cause is None and row.cause in _RESTART_CAUSES and row.outcome != "empty":
                    row.root_cause = "rolling_restart"


_RESTART_CAUSES = frozenset({"member_leave", "member_join", "member_restart"})


def _severity(rows: Sequence[Rebalance], kind: str, stopped: float, limits: Limits) -> str:
    span = max(1.0, (rows[-1].over_at - rows[0].began) / US_PER_SECOND)
    per_hour = stopped / max(span, SECONDS_PER_HOUR)
    if stopped >= limits.critical_stopped_seconds or per_hour > limits.critical_share_of_hour or kind in {"stuck", "never_settles"}:
        return "critical"
    harmless = stopped < limits.stuck_seconds and not any(row.blockers and not _is_brief(row, limits) for row in rows)
    harmless = harmless and not (kind == "rolling_restart" and missing_members(rows))
    harmless = harmless and not _was_scaled_in_turn(rows, limits)
    planned = harmless and (is_routine(rows, EXPECTED_CAUSES, limits) or _began_before(rows))
    return "info" if planned and kind in {"single", "autoscaling", "rolling_restart"} else "warning"


def _began_before(rows: Sequence[Rebalance]) -> bool:
    """Whether one rebalance ended well whose start no log shows.

    It has no start, or nobody who may have begun it, and the usual causes as alternatives.
    """
    row = rows[0]
    is_unseen = row.started_at is None or (bool(row.alternatives) and not row.offenders)
    return len(rows) == 1 and row.cause == "unknown" and row.outcome == "stable" and is_unseen


def is_routine(rows: Iterable[Rebalance], routine: frozenset[str], limits: Limits) -> bool:
    """Whether each rebalance is routine, and surely enough."""
    return all(act_of(row) in routine and _share(row, routine) >= limits.routine_share_min for row in rows)


def _share(row: Rebalance, causes: frozenset[str]) -> float:
    """Probability that one of `causes` is the cause."""
    return row.confidence + sum(share for cause, share in row.alternatives.items() if cause in causes and cause != row.cause)


def _facts(rows: Sequence[Rebalance], kind: str, stopped: float, story: EpisodeStory) -> EpisodeFacts:
    """Facts of the headline: count, time, downtime, and offender."""
    has_stopped = stopped >= SHORTEST_SECONDS
    is_timed = any(row.began > 0 for row in rows)
    return EpisodeFacts(
        group=rows[0].group,
        rebalance_count=len(rows),
        span_seconds=(rows[-1].over_at - rows[0].began) / US_PER_SECOND if is_timed else None,
        stopped_seconds=stopped if has_stopped else None,
        moving_seconds=_moved(rows) if goes_on(rows[-1]) and not has_stopped else None,
        story=story,
        has_new_coordinator=kind == "coordinator_move",
        is_open=rows[-1].outcome == "open" and rows[-1].at_least_seconds is not None and not goes_on(rows[-1]),
        is_untimed=(not has_stopped and not all(map(_may_not_stop, rows))) or not (is_timed or all(row.outcome == "empty" for row in rows)),
        emptied_by=act_of(rows[-1]) if rows[-1].outcome == "empty" and act_of(rows[-1]) in FAILURES else None,
    )


def _may_not_stop(row: Rebalance) -> bool:
    """Whether a rebalance stopped nobody, or its length is known."""
    lasted = row.duration_seconds if row.duration_seconds is not None else row.at_least_seconds
    return lasted is not None or row.outcome in {"empty", "dead"} or goes_on(row)


def _is_store_to_blame(rows: Sequence[Rebalance], kind: str) -> bool:
    """Whether failed stores began most rebalances, and no member failed."""
    store = "assignment_store_failed"
    is_members = any(act_of(row) not in EXPECTED_CAUSES and row.offenders for row in rows) or any(row.blockers for row in rows)
    return kind == COORDINATOR_TROUBLE[store] and _most_common([row.cause for row in rows]) == store and not is_members


def _failed_together(rows: Sequence[Rebalance], worst: Person | None) -> ActionsTogether | None:
    """The one failure of many members at once, if an episode has no other."""
    failed = [row for row in rows if act_of(row) in FAILURES]
    if len(failed) != 1 or worst is None or len(failed[0].offenders) < TOGETHER_MIN:
        return None
    acted = {display_name(person) for person in failed[0].offenders}
    held_up = any(row.blockers for row in rows)
    return ActionsTogether(len(failed[0].offenders), act_of(failed[0])) if display_name(worst) in acted and not held_up else None


def _moved(rows: Iterable[Rebalance]) -> float | None:
    """Time in which partitions moved, None where no line tells of any."""
    known = [row.duration_seconds for row in rows if row.duration_seconds is not None]
    return sum(known) if known else None


def _story(rows: Sequence[Rebalance], kind: str, worst: Person | None) -> EpisodeStory:
    """Story of the episode."""
    if kind == "rolling_restart":
        missing = missing_members(rows)
        restarted = {
            display_name(row.offenders[0]) for row in rows if row.root_cause == kind or row.cause == "member_restart" if row.offenders
        }
        return TurnRestarts(len(restarted.difference(missing)), tuple(sorted(missing, key=clear)))
    if kind == MIGRATION and not any(row.blockers for row in rows):
        before, after = rows[0].protocol, rows[-1].protocol
        return Migration(after if after != before else None)
    if kind == "autoscaling" and (brief_count := brief_members(rows)) and not any(row.blockers for row in rows):
        return BriefMembers(brief_count)
    if kind == "stuck" and not rows[-1].blockers:
        return EndlessWait((), has_joined=rows[-1].joined_at is not None)
    if worst is None:
        return _request(rows, _most_common([row.cause for row in rows]) or "unknown", None) or _frequent_cause(rows)
    name = display_name(worst)
    member = NamedMember(name, worst.host)
    causes = [act_of(row) for row in rows if any(display_name(person) == name for person in row.offenders)]
    waited = [row for row in rows if any(display_name(person) == name for person in row.blockers)]
    if kind == "stuck" and waited and waited[-1] is rows[-1]:
        return EndlessWait(tuple(map(display_name, rows[-1].blockers)), has_joined=rows[-1].joined_at is not None)
    if waited and (worst is waited[0].blockers[0] or not FAILURES.intersection(causes)):
        return HeldUp(member, sum(map(waited_seconds, waited)))
    if kind == "flapping_member":
        causes = [act_of(row) for row in rows if row.offenders and row.outcome != "empty" and display_name(row.offenders[0]) == name]
        departures = Counter(cause for cause in causes if cause in WENT)
        return MemberActions(member, tuple(departures.most_common(2)))
    cause = _most_common([c for c in causes if c in FAILURES] or causes) or "unknown"
    return _request(rows, cause, member) or _actions(rows, cause, member, causes.count(cause))


def _actions(rows: Sequence[Rebalance], cause: str, member: NamedMember, times: int) -> MemberActions:
    """What a member did, how surely, and how many failed like it."""
    acted = [row for row in rows if act_of(row) == cause and any(display_name(person) == member.name for person in row.offenders)]
    failed = {display_name(person) for row in rows if act_of(row) == cause and cause in FAILURES for person in row.offenders}
    return MemberActions(member, ((cause, times),), _doubt(acted), len(failed - {member.name}))


_CLIENT_REASON = "client reason: "


def _request(rows: Sequence[Rebalance], cause: str, member: NamedMember | None) -> RejoinRequest | None:
    """Most frequent reason that members gave for rebalances."""
    texts = [row.trigger_text or "" for row in rows if row.cause == cause]
    reason_text = _most_common([text.partition(_CLIENT_REASON)[2] for text in texts if _CLIENT_REASON in text])
    if reason_text is None or cause not in _TOLD_BY_CLIENTS or "need to revoke" in reason_text or reason_text == "not provided":
        return None
    return RejoinRequest(member, is_planned=cause != "unknown", text=reason_text)


_TOLD_BY_CLIENTS = frozenset({"unknown", "cooperative_followup", "scheduled_rebalance"})


def _frequent_cause(rows: Sequence[Rebalance]) -> FrequentCause:
    """The most frequent cause, with its mean confidence if that is low."""
    cause = _most_common([row.cause for row in rows]) or "unknown"
    if any(row.advice_id == GROUP_FULL for row in rows):
        return FrequentCause("over_capacity", None)
    return FrequentCause(cause, None if cause == "unknown" else _doubt([row for row in rows if row.cause == cause]))


def _doubt(rows: Sequence[Rebalance]) -> float | None:
    """Mean confidence of a cause, None if it is sure enough."""
    mean = sum(row.confidence for row in rows) / len(rows) if rows else 0.0
    return None if mean >= LIKELY else mean


SEVERITY_RANKS = {"critical": 0, "warning": 1, "info": 2}


def badness(incident: Incident[HeadlineFacts]) -> tuple[int, float, int, str]:
    """Sort key: severity, then downtime, worst first."""
    return SEVERITY_RANKS[incident.severity], -incident.stopped_seconds, incident.started_at or 0, incident.incident_id
