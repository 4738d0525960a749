"""Write rows of rebalances from windows and ranked causes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from models.causes import Cause, RootCause
from models.downtime import expected_delay
from models.events import Event, when
from models.evidence import evidence
from models.ids import make_id
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.epochs import judge_epoch
from models.kafka.hypotheses.hypothesis import Judgement, Settles
from models.kafka.hypotheses.ranking import judge, trigger_text
from models.kafka.hypotheses.window import Case, evidence_events
from models.kafka.observations.actions import Act, Deed
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.roster import Member, Roster
from models.kafka.reconstruction.epoch_log import EpochDraft, ModernReplay
from models.kafka.verdicts.blockers import blockers
from models.kafka.verdicts.damaged_logs import weigh_damage
from models.kafka.verdicts.history import GroupHistory
from models.kafka.verdicts.impact import Impact
from models.kafka.verdicts.measurements import numbers_of
from models.kafka.verdicts.missing_evidence import settled_by
from models.kafka.verdicts.root_causes import behind_the_wait, in_burst, root_cause
from models.rows import (
    KAFKA,
    Conformance,
    Divergence,
    MemberSession,
    Person,
    Rebalance,
    RebalanceMember,
)
from models.times import in_order, seconds
from models.units import SURE, US_PER_SECOND

DEED_REASONS = {
    Deed.JOIN: "joined",
    Deed.REJOIN: "rejoined",
    Deed.LEAVE: "left",
    Deed.EXPIRE: "session expired",
    Deed.EVICT: "did not rejoin in time",
    Deed.SYNC_MISSED: "never sent SyncGroup",
    Deed.REPLACE: "came back under a new member id",
    Deed.WANTS_REJOIN: "rejoined",
}

NO_OFFENDER = frozenset({Cause.COORDINATOR_FAILOVER, Cause.ASSIGNMENT_STORE_FAILED, Cause.GROUP_DELETED})


@dataclass(slots=True)
class HistoryWriter:
    """Writes the rows of one group."""

    cluster: str
    group: str
    facts: ClusterFacts
    roster: Roster
    impact: Impact = field(default_factory=Impact)
    logs_end: int = 0
    _gone_at: dict[str, int] = field(default_factory=dict)  # actor -> time of its latest leave or expiry
    _caused: dict[str, list[float]] = field(default_factory=dict)  # member id -> member-seconds of each rebalance it caused

    # -- classic rebalances ------------------------------------------------------------------------------------

    def rebalance(self, case: Case, history: GroupHistory) -> None:
        """Rank the causes of one rebalance, and add its row and its members' rows."""
        judgement = judge(case)
        best = judgement.best
        offenders = self._offenders(case, judgement)
        row = self._row(case, judgement, offenders)
        weigh_damage(row, self.facts, case.start)
        history.rebalances.append(row)
        history.rebalance_members.extend(self._members(case, row, best.acts))
        history.divergences.extend(self._set_back(row, case.draft.started, case.draft.joined, case.draft.ended))
        stopped = row.member_seconds_stopped or 0.0
        for person in offenders:
            if person.member_id:
                self._caused.setdefault(person.member_id, []).append(stopped / len(offenders))

    def _offenders(self, case: Case, judgement: Judgement) -> list[Person]:
        best = judgement.best
        if best.cause in NO_OFFENDER:
            return []
        acts = best.acts or ([judgement.trigger] if judgement.trigger else [])
        if case.draft.outcome == "empty" and best.cause not in {Cause.NEW_GROUP, Cause.UNKNOWN}:
            gone = sorted([*case.gone.values(), *case.vanished], key=lambda act: act.at)
            acts = _unique(case, [*acts, *gone])
        elif best.cause is Cause.MEMBER_RESTART:
            acts = _unique(case, acts)
        return [self._person(case, act, _reason(best.cause, act), first=index == 0) for index, act in enumerate(acts)]

    def _person(self, case: Case, act: Act, reason: str, *, first: bool) -> Person:
        """The member that acted.

        If the line has no member id, it is looked up in the generation.
        """
        actor = case.actor(act)
        generation = case.members_after if act.deed is Deed.JOIN else case.members_before
        member_id = act.member_id or (generation.get(actor) if actor else None)
        return self.roster.person(member_id, act.client_id, act.instance_id, reason, first=first)

    def _row(self, case: Case, judgement: Judgement, offenders: list[Person]) -> Rebalance:
        draft, best = case.draft, judgement.best
        started, joined, ended = in_order(draft.started_at, draft.joined_at, draft.ended_at)
        join_seconds = None if _goes_back(draft.started, draft.joined) else seconds(started, joined)
        sync_seconds = None if _goes_back(draft.joined, draft.ended) else seconds(draft.joined_at, draft.ended_at)
        duration = None if _goes_back(draft.started, draft.joined, draft.ended) else seconds(started, ended)
        delay = self._initial_delay(case, join_seconds)
        acts = [*best.acts, *best.told_by]
        if judgement.trigger is not None:
            acts.append(judgement.trigger)
        members_after = draft.members_after if draft.members_after is not None else (len(case.members_after) or None)
        members_before = draft.members_before if draft.members_before is not None else (len(case.members_before) or None)
        confidence, alternatives = judgement.shares()
        waited_for = blockers(case)
        root = root_cause(case, best.cause, best.acts, waited_for)
        stopped = self.impact.of(case, _stopped(members_before, members_after, duration, expected_delay(delay, root)))
        return Rebalance(
            cluster=self.cluster,
            system=KAFKA,
            rebalance_id=make_id("rebalance", self.cluster, self.group, None, draft.generation_before, draft.ordinal),
            group=self.group,
            topic=None,
            protocol="classic",
            protocol_type=draft.protocol_type,
            assignor=case.known.assignors.get(draft.generation_after) if draft.generation_after is not None else None,
            generation_before=draft.generation_before,
            generation_after=draft.generation_after,
            started_at=started,
            joined_at=joined,
            ended_at=ended,
            initial_delay_seconds=delay,
            join_seconds=join_seconds,
            sync_seconds=sync_seconds if draft.outcome == "stable" else None,
            reconcile_seconds=None,
            duration_seconds=duration,
            at_least_seconds=seconds(started, max(self.logs_end, case.start)) if draft.outcome == "open" else None,
            outcome=draft.outcome,
            cause=best.cause.value,
            root_cause=root,
            confidence=confidence,
            alternatives=alternatives,
            settled_by=self._settled_by(case, judgement) if best.probability < SURE else None,
            offenders=offenders,
            blockers=waited_for,
            members_before=members_before,
            members_after=members_after,
            member_seconds_stopped=stopped.member_seconds,
            partition_seconds_stopped=stopped.partition_seconds,
            duplicate_window=stopped.duplicate_window,
            conformance=Conformance(draft.inferred_steps, draft.unexplained_lines),
            coordinator=draft.node,
            trigger_text=trigger_text(case, judgement),
            evidence=evidence(evidence_events(case, acts), inferred=draft.is_inferred),
            advice_id=(root if root in _ADVISED_ROOTS else behind_the_wait(case, waited_for)) or best.cause.value,
            numbers=self._numbers(case, best.cause, best.acts or acts),
        )

    def _settled_by(self, case: Case, judgement: Judgement) -> str:
        """The file that would confirm the best hypothesis."""
        what = next((o.settled_by for o in judgement.opinions if o.settled_by), Settles.REQUEST_LOG)
        acts = [act for opinion in judgement.opinions for act in opinion.acts]
        act = judgement.trigger or next(iter(acts), None)
        return settled_by(what, case.draft.node, case.actor(act) if act else None, case.start or None, case.draft.open_until)

    def _settled_epoch(self, draft: EpochDraft, what: Settles | None) -> str | None:
        event = draft.started
        client = event.client_id or self.roster.client_of(event.member_id) or event.member_id
        return settled_by(what, event.node, client, event.time_us, draft.reached_at) if what is not None else None

    def _numbers(self, case: Case, cause: Cause, acts: list[Act]) -> dict[str, float]:
        found = numbers_of(case, cause, acts, self._gone_at)
        for act in (*case.gone.values(), *acts):
            actor = case.actor(act)
            if actor is not None and act.deed in {Deed.LEAVE, Deed.EXPIRE}:
                self._gone_at[actor] = act.at
        for actor in case.members_after:
            self._gone_at.pop(actor, None)
        return found

    def _initial_delay(self, case: Case, join_seconds: float | None) -> float | None:
        """Seconds explained by group.initial.rebalance.delay.ms.

        Whole steps of it, and only for an empty group (KIP-134).
        """
        step = self.facts.initial_delay_ms / 1000
        if join_seconds is None or not case.was_empty or step <= 0:
            return 0.0 if join_seconds is not None else None
        return min(join_seconds, max(step, join_seconds // step * step))

    def _members(self, case: Case, row: Rebalance, acts: list[Act]) -> Iterable[RebalanceMember]:
        """All members affected by the rebalance, with their roles."""
        triggers = {case.actor(act) for act in acts}
        joiners, gone = case.joiners, case.gone | case.by_actor(Deed.EVICT)
        blocking = {person.member_id or person.client_id for person in row.blockers}
        before, after = case.members_before, case.members_after
        arrivals = self._arrivals(case)
        actors = dict.fromkeys([*before, *after, *joiners, *gone, *(actor for actor in triggers if actor)])
        for actor in actors:
            act = joiners.get(actor) or gone.get(actor)
            old, new = before.get(actor), after.get(actor) or (act.member_id if act and actor in joiners else None)
            member_id = new or old or (act.member_id if act else None)
            who = self.roster.person(member_id, act.client_id if act else None, act.instance_id if act else None, "")
            role = _role(actor, triggers, blocking, who, joiners, gone)
            yield RebalanceMember(
                cluster=self.cluster,
                system=KAFKA,
                rebalance_member_id=make_id("member", row.rebalance_id, actor),
                rebalance_id=row.rebalance_id,
                group=self.group,
                member_id=who.member_id,
                client_id=who.client_id,
                instance_id=who.instance_id,
                host=who.host,
                role=role,
                first=bool(row.offenders) and row.offenders[0].member_id == who.member_id and role == "trigger",
                join_delay_seconds=seconds(row.started_at, arrivals.get(actor)),
                session_before=old,
                session_after=new,
            )

    def _arrivals(self, case: Case) -> dict[str, int]:
        """Arrival of each member's JoinGroup in this join phase."""
        found: dict[str, int] = {}
        for act in case.deeds(Deed.JOIN, Deed.REJOIN, end=case.draft.open_until):
            actor = case.actor(act)
            if actor is not None:
                found.setdefault(actor, act.at)
        return found

    # -- everything else ---------------------------------------------------------------------------------------

    def still_open(self, rebalances: Iterable[Rebalance]) -> None:
        """Set the minimum duration of rebalances still open at the end of the logs.

        Epochs have none, because it is unknown whether they last.
        """
        for row in rebalances:
            if row.outcome == "open" and row.protocol == "classic":
                row.at_least_seconds = seconds(row.started_at, self.logs_end)

    def epoch(self, modern: ModernReplay, known: GroupKnowledge, history: GroupHistory) -> None:
        """Add the row of the epoch that is waiting for it."""
        modern.settle()
        draft = modern.drafts[modern.settled]
        row = self._epoch_row(modern, draft, known)
        weigh_damage(row, self.facts, draft.began)
        history.rebalances.append(row)
        history.divergences.extend(self._set_back(row, draft.started, draft.targeted))
        modern.told()

    def _set_back(self, row: Rebalance, *steps: Event | None) -> Iterator[Divergence]:
        """Report steps of the coordinator's clock back within a rebalance.

        The row's own times are put in order, and the length of what they interrupt is unknown.
        """
        for before, after in pairwise(event for event in steps if event is not None):
            back = before.time_us - after.time_us
            if not _goes_back(before, after):
                continue
            yield Divergence(
                self.cluster,
                KAFKA,
                make_id("set back", row.rebalance_id, after.name),
                self.group,
                after.time_us,
                "a clock that never goes back",
                f"it went back by {back / US_PER_SECOND:.3f} s within a rebalance, whose times were put in order",
                evidence([before, after]),
            )

    def sessions(self, members: Iterable[Member]) -> Iterable[MemberSession]:
        """Rows of these members, from their first line to their last."""
        for member in sorted(members, key=lambda m: (m.first_seen_at or 0, m.member_id)):
            caused = self._caused.get(member.member_id, [])
            yield MemberSession(
                self.cluster,
                KAFKA,
                make_id("session", self.cluster, self.group, member.member_id, member.first_seen_at),
                self.group,
                member.member_id,
                self.roster.person(member.member_id, None, None, "").client_id,
                member.host,
                member.instance_id,
                member.first_seen_at,
                member.last_seen_at,
                member.ended_how,
                len(caused),
                sum(caused),
            )

    def forget(self, members: Iterable[Member]) -> None:
        """Discard members that need no more rows."""
        for member in members:
            self._caused.pop(member.member_id, None)

    def _epoch_row(self, modern: ModernReplay, draft: EpochDraft, known: GroupKnowledge) -> Rebalance:
        verdict = judge_epoch(modern, draft, known, self.facts)
        started, targeted, reached = in_order(draft.began, when(draft.targeted), draft.reached_at)
        set_back = _goes_back(draft.started, draft.targeted)
        until = modern.following.began if modern.following else None
        is_burst = verdict.cause is Cause.SESSION_TIMEOUT and in_burst(self.facts, self.group, draft.began)
        root = RootCause.COORDINATOR_PAUSE.value if is_burst else None
        stopped = self.impact.of_epoch(draft.began, until, witnessed=modern.reconciliations.witnessed.issuperset(draft.members))
        return Rebalance(
            cluster=self.cluster,
            system=KAFKA,
            rebalance_id=make_id("epoch", self.cluster, self.group, draft.protocol, draft.epoch_before, modern.ordinal),
            group=self.group,
            topic=None,
            protocol=draft.protocol,
            protocol_type=None,
            assignor=draft.assignor,
            generation_before=draft.epoch_before,
            generation_after=draft.epoch,
            started_at=started,
            joined_at=targeted,
            ended_at=reached,
            initial_delay_seconds=0.0,
            join_seconds=None if set_back else seconds(started, targeted),
            sync_seconds=None,
            reconcile_seconds=seconds(targeted, reached),
            duration_seconds=None if set_back else seconds(started, reached),
            at_least_seconds=None,
            outcome=draft.outcome,
            cause=verdict.cause.value,
            root_cause=root,
            confidence=verdict.confidence,
            alternatives=verdict.alternatives,
            settled_by=self._settled_epoch(draft, verdict.settled_by),
            offenders=modern.offenders(draft, verdict.cause),
            blockers=draft.blockers,
            members_before=draft.members_before,
            members_after=draft.members_after,
            member_seconds_stopped=stopped.member_seconds,
            partition_seconds_stopped=stopped.partition_seconds,
            duplicate_window=stopped.duplicate_window,
            conformance=Conformance(),
            coordinator=draft.started.node,
            trigger_text=draft.started.text[:300] or None,
            evidence=evidence(draft.events),
            advice_id=root or verdict.cause.value,
        )


_ADVISED_ROOTS = frozenset({RootCause.SLOW_PROCESSING, RootCause.COORDINATOR_PAUSE})
"""Root causes whose advice helps, whatever started the rebalance."""


def _goes_back(*steps: Event | None) -> bool:
    """Return True if one clock is set back between two of these lines."""
    told = pairwise(event for event in steps if event is not None)
    return any(before.node == after.node and after.time_us < before.time_us for before, after in told)


def _unique(case: Case, acts: Iterable[Act]) -> list[Act]:
    """One action per actor, in order."""
    found: dict[str | None, Act] = {}
    for act in acts:
        found.setdefault(case.actor(act), act)
    return list(found.values())


def _reason(cause: Cause, act: Act) -> str:
    if cause is Cause.POLL_TIMEOUT:
        return "exceeded its poll interval"
    if cause is Cause.ADMIN_REMOVAL:
        return "was removed by an administrator"
    return DEED_REASONS.get(act.deed, act.deed.value)


def _role(
    actor: str,
    triggers: set[str | None],
    blocking: set[str | None],
    who: Person,
    joiners: dict[str, Act],
    gone: dict[str, Act],
) -> str:
    if actor in triggers:
        return "trigger"
    if blocking & {who.member_id, who.client_id} - {None}:
        return "blocker"
    if actor in joiners:
        return "joined"
    if actor in gone:
        return "left"
    return "bystander"


def _stopped(before: int | None, after: int | None, duration: float | None, delay: float | None) -> float | None:
    """Member-seconds without consumption under the eager protocol.

    All members wait. The initial delay is expected and does not count.
    """
    if duration is None:
        return None
    members = max(before or 0, after or 0)
    return round(members * max(0.0, duration - (delay or 0.0)), 6) if members else 0.0
