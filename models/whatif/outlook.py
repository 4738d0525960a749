"""Rebalances avoided or changed by another configuration, and the time saved.

The history of each group is replayed as arrivals and departures of members. Rules of the coordinator and the client
decide whether an absence would have caused a rebalance, and how long the others would have waited; `RULES` names their
sources. Everything else stays unchanged.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import median

from models.downtime import is_cooperative, stopped_seconds
from models.rows import Rebalance, RebalanceMember
from models.units import US_PER_SECOND
from models.whatif.absences import Absence, Act, absences_of, acts_of
from models.whatif.rules import COOPERATIVE_CAUSES, DEFAULT_SESSION_MS, RULES, Configuration, Rule

TOGETHER_SECONDS = 1.0
"""Maximum distance of arrivals that share one rebalance."""


@dataclass(slots=True)
class Change:
    """One rebalance under the other configuration.

    Saved seconds are negative if it would take longer.
    """

    row: Rebalance
    effect: str = "same"  # avoided, perhaps_avoided, shorter, longer, later, same
    rule: str | None = None
    saved_seconds: float = 0.0
    saved_member_seconds: float = 0.0
    added: int = 0
    waits_seconds: float | None = None
    """Expected initial delay if it differs."""

    @property
    def stopped_seconds(self) -> float:
        """Actual downtime of the group in this rebalance."""
        return stopped_seconds(self.row)


@dataclass(slots=True)
class Outlook:
    """One group under the other configuration."""

    cluster: str
    group: str
    changes: list[Change] = field(default_factory=list)

    def count(self, effect: str) -> int:
        """Number of rebalances with an effect."""
        return sum(change.effect == effect for change in self.changes)

    @property
    def added(self) -> int:
        """Number of additional rebalances."""
        return sum(change.added for change in self.changes)

    @property
    def stopped_seconds(self) -> float:
        """Actual downtime of the group, in seconds."""
        return round(sum(change.stopped_seconds for change in self.changes), 6)

    @property
    def saved_seconds(self) -> float:
        """Downtime saved, in seconds."""
        return round(sum(change.saved_seconds for change in self.changes), 6)

    @property
    def member_seconds_stopped(self) -> float:
        """Actual downtime of its members, in member-seconds."""
        return round(sum(change.row.member_seconds_stopped or 0.0 for change in self.changes), 6)

    @property
    def saved_member_seconds(self) -> float:
        """Members' downtime saved, in member-seconds."""
        return round(sum(change.saved_member_seconds for change in self.changes), 6)

    def rules(self) -> list[Rule]:
        """Rules that were applied, in the order of `RULES`."""
        used = {change.rule for change in self.changes}
        return [rule for rule in RULES if rule.id in used]


def outlooks(rows: Iterable[Rebalance], members: Iterable[RebalanceMember], configuration: Configuration) -> list[Outlook]:
    """All Kafka groups of a history under another configuration."""
    by_group: defaultdict[tuple[str, str], list[Rebalance]] = defaultdict(list)
    parts: defaultdict[str, list[RebalanceMember]] = defaultdict(list)
    for row in rows:
        if row.system == "kafka":
            by_group[row.cluster, row.group].append(row)
    for member in members:
        parts[member.rebalance_id].append(member)
    return [outlook(cluster, group, by_group[cluster, group], parts, configuration) for cluster, group in sorted(by_group)]


def outlook(
    cluster: str, group: str, rows: list[Rebalance], parts: dict[str, list[RebalanceMember]], configuration: Configuration
) -> Outlook:
    """One group under another configuration.

    `parts` are the known members of each rebalance, by its id.
    """
    ordered = sorted(rows, key=lambda row: (row.began, row.generation_before or 0))
    acts = [act for index, row in enumerate(ordered) for act in acts_of(index, row, parts.get(row.rebalance_id, ()))]
    verdicts: dict[int, tuple[str, Rule]] = {}
    absences = list(absences_of(acts))
    for absence in absences:
        found = _absence(absence, ordered, configuration)
        if found is not None:
            verdicts |= {id(act): found for act in (absence.gone, absence.came)}
    changes = [Change(row) for row in ordered]
    _avoid(changes, acts, verdicts)
    if configuration.static_membership:
        _miss_later(changes, acts, {id(act) for absence in absences for act in (absence.gone, absence.came)})
    if configuration.initial_delay_ms is not None:
        _delay(changes, acts, parts, configuration.initial_delay_ms)
    for change in changes:
        if change.effect in {"same", "later"}:
            _shorten(change, configuration)
    _follow(changes)
    if not (configuration.cooperative or configuration.consumer_protocol):  # with these, members continue during a rebalance
        _charge_added(changes)
    return Outlook(cluster, group, changes)


def _charge_added(changes: Sequence[Change]) -> None:
    """Charge additional rebalances with the group's typical downtime."""
    usual = [each.stopped_seconds - each.saved_seconds for each in changes if each.effect != "avoided" and not each.row.blockers]
    typical = median([each for each in usual if each > 0] or [0.0])
    for change in changes:
        if change.added:
            change.saved_seconds = round(change.saved_seconds - change.added * typical, 6)


# -- absences without a rebalance ----------------------------------------------------------------------------------


def _absence(absence: Absence, rows: Sequence[Rebalance], configuration: Configuration) -> tuple[str, Rule] | None:
    """Effect and rule if an absence would have caused no rebalance.

    None if the group would have rebalanced anyway.
    """
    row = rows[absence.gone.index]
    session_ms = configuration.session_timeout_ms or absence.session_ms or DEFAULT_SESSION_MS
    away_ms = absence.away_ms(DEFAULT_SESSION_MS)
    if configuration.max_poll_interval_ms is not None and absence.gone.how == "poll":
        polled_ms = row.numbers.get("polled_after_ms") or absence.polled_after_ms
        if polled_ms is not None and polled_ms < configuration.max_poll_interval_ms:
            return "avoided", _RULE["poll_in_time"]
    if configuration.static_membership and absence.gone.how != "removed" and away_ms < session_ms:
        return "avoided", _RULE["static_return"]
    if configuration.session_timeout_ms is not None and absence.gone.how == "expiry" and away_ms < session_ms:
        if row.root_cause == "client_pause":
            return "avoided", _RULE["pause_outlived"]
        if row.root_cause is None and not absence.new_process:
            return "perhaps_avoided", _RULE["pause_outlived"]
    return None


def _avoid(changes: list[Change], acts: Sequence[Act], verdicts: dict[int, tuple[str, Rule]]) -> None:
    """Mark rebalances as avoided if all their actions are.

    One member that really arrived or left is enough to cause a rebalance.
    """
    by_row: defaultdict[int, list[Act]] = defaultdict(list)
    for act in acts:
        by_row[act.index].append(act)
    for index, own in by_row.items():
        found = [verdicts.get(id(act)) for act in own]
        if any(verdict is None for verdict in found):
            continue
        effects = {verdict[0] for verdict in found if verdict}
        rule = next(verdict[1] for verdict in found if verdict)
        _drop(changes[index], "avoided" if effects == {"avoided"} else "perhaps_avoided", rule.id)


def _miss_later(changes: list[Change], acts: Iterable[Act], returned: set[int]) -> None:
    """Mark final departures of static members as later.

    Static members don't leave the group, so their session must expire first.
    """
    for act in acts:
        if act.kind == "gone" and act.how in {"leave", "poll"} and id(act) not in returned and changes[act.index].effect == "same":
            changes[act.index].effect, changes[act.index].rule = "later", "static_return"


def _drop(change: Change, effect: str, rule: str) -> None:
    change.effect, change.rule = effect, rule
    if effect == "avoided":
        change.saved_seconds = change.stopped_seconds
        change.saved_member_seconds = change.row.member_seconds_stopped or 0.0


def _follow(changes: list[Change]) -> None:
    """Apply the effect on a cooperative rebalance to its second step.

    KIP-848 has no second step.
    """
    for before, change in pairwise(changes):
        if change.row.cause == "cooperative_followup" and before.effect in {"avoided", "perhaps_avoided"} and change.effect == "same":
            _drop(change, before.effect, before.rule or "static_return")


# -- the initial delay ---------------------------------------------------------------------------------------------


def _delay(changes: list[Change], acts: Sequence[Act], parts: dict[str, list[RebalanceMember]], delay_ms: int) -> None:
    """Merge members that join during an empty group's initial delay.

    Source: InitialDelayedJoin.
    """
    kinds: defaultdict[int, set[str]] = defaultdict(set)
    for act in acts:
        kinds[act.index].add(act.kind)
    for index, change in enumerate(changes):
        row = change.row
        if row.cause != "new_group" or row.started_at is None or change.effect != "same":
            continue
        arrivals = sorted(part.join_delay_seconds for part in parts.get(row.rebalance_id, ()) if part.join_delay_seconds is not None)
        until = _open_until(arrivals, delay_ms / 1000)
        change.added = _clusters(until, [each for each in arrivals if each > until])
        for later in range(index + 1, len(changes)):
            begins = (changes[later].row.began - row.started_at) / US_PER_SECOND
            if begins > until or changes[later].row.cause != "member_join" or kinds[later] != {"came"}:
                break
            _drop(changes[later], "avoided", "delay_gathers")
            until = begins + delay_ms / 1000
        change.waits_seconds = until
        before = row.initial_delay_seconds or 0.0
        if change.added or abs(until - before) > TOGETHER_SECONDS / 2:
            change.effect, change.rule = "shorter" if until < before else "longer", "delay_gathers"


def _open_until(arrivals: list[float], delay: float) -> float:
    """End of an empty group's join phase: one delay without arrivals."""
    until = delay
    for arrival in arrivals:
        if arrival > until:
            break
        until = max(until, -(-arrival // delay) * delay if delay else 0.0)
    return until


def _clusters(begun: float, times: list[float]) -> int:
    """Number of rebalances for sorted arrivals after one at `begun`."""
    return sum(1 for before, time in pairwise([begun, *times]) if time - before > TOGETHER_SECONDS)


# -- changed duration ----------------------------------------------------------------------------------------------


def _shorten(change: Change, configuration: Configuration) -> None:
    row = change.row
    if configuration.consumer_protocol and row.cause == "cooperative_followup" and row.protocol == "classic":
        _drop(change, "avoided", "members_go_on")
        return
    saved, rule, added = _waiting(row, configuration) if row.blockers and row.join_seconds is not None else (0.0, None, 0)
    share = saved / change.stopped_seconds if change.stopped_seconds else 0.0
    kept = _kept_running(row, configuration)
    if kept is not None:  # the group continues; only members with moved partitions stop
        saved, share, rule, added = change.stopped_seconds, kept[0], kept[1], added + kept[2]
    if saved or added:
        change.rule, change.added = rule, added
        change.effect = change.effect if not saved else "shorter" if saved > 0 else "longer"
        change.saved_seconds = round(saved, 6)
        change.saved_member_seconds = round((row.member_seconds_stopped or 0.0) * share, 6)


def _waiting(row: Rebalance, configuration: Configuration) -> tuple[float, str | None, int]:
    """Seconds saved while waiting for blockers, the rule, and added rebalances."""
    waited = row.join_seconds or 0.0
    reasons = {person.reason for person in row.blockers}
    new_s, old_s = configuration.session_timeout_ms, row.numbers.get("session_timeout_ms")
    if new_s is not None and old_s is not None and reasons & {"expired while the others waited", "was given a member id and never used it"}:
        return min(waited, (old_s - new_s) / 1000), "wait_for_expiry", 0
    poll = configuration.max_poll_interval_ms
    if poll is None:
        return 0.0, None, 0
    if "evicted" in reasons and abs(waited - poll / 1000) > TOGETHER_SECONDS:
        return waited - poll / 1000, "wait_for_poll", 0
    if "rejoined last" in reasons and waited > poll / 1000:
        return waited - poll / 1000, "wait_for_poll", 1
    return 0.0, None, 0


def _kept_running(row: Rebalance, configuration: Configuration) -> tuple[float, str, int] | None:
    """Share of members that would continue, the rule, and added rebalances.

    None if the configuration makes no difference for this group.
    """
    if row.protocol != "classic" or is_cooperative(row.assignor) or row.protocol_type not in {None, "consumer"}:
        return None
    members = max(row.members_before or 0, row.members_after or 0, 1)
    moved = min(1.0, max(1, len(row.offenders)) / members) if row.cause != "new_group" else 1.0
    if configuration.consumer_protocol:
        return 1.0 - moved, "members_go_on", max(0, len(row.offenders) - 1) if row.outcome != "empty" else 0
    if configuration.cooperative:
        second = row.cause in COOPERATIVE_CAUSES and row.outcome == "stable" and (row.members_before or 0) > 0
        return 1.0 - moved, "moves_only_some", int(second)
    return None


_RULE = {rule.id: rule for rule in RULES}
