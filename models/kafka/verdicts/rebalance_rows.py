"""Write rows of rebalances from windows and ranked causes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import pairwise

from models.causes import Cause, RootCause
from models.downtime import expected_delay
from models.events import BEFORE_ANY_TIME_US, Event, logged_at, when
from models.evidence import evidence
from models.ids import make_id
from models.incidents.incidents import GROUP_FULL
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext, evidence_events
from models.kafka.hypotheses.context.stated_reasons import reason_id_in
from models.kafka.hypotheses.epochs import judge_epoch
from models.kafka.hypotheses.hypothesis import DecidingEvidence
from models.kafka.hypotheses.measurements import numbers_of
from models.kafka.hypotheses.ranking import Ranking, rank, trigger_text
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.libraries import known_library
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.observations.session_timeouts import session_timeout_ms
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.kafka.reconstruction.epochs.windows import EpochWindow
from models.kafka.verdicts.blockers import blockers
from models.kafka.verdicts.history import GroupHistory
from models.kafka.verdicts.impact import Impact, RebalanceCost, stopped_if_eager
from models.kafka.verdicts.member_roles import reason_of, role_of
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
from models.times import raised_in_order, seconds
from models.units import SURE, US_PER_SECOND
from models.weights import UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE

NO_OFFENDER = frozenset(
    {
        *(Cause.COORDINATOR_FAILOVER, Cause.ASSIGNMENT_STORE_FAILED, Cause.GROUP_DELETED),
        *(Cause.CONNECTOR_CONFIG_CHANGE, Cause.SCHEDULED_REBALANCE),
    }
)


@dataclass(slots=True)
class VerdictWriter:
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

    def add_rebalance(self, context: RebalanceContext, history: GroupHistory) -> None:
        """Rank the causes of one rebalance, and add its row and its members' rows."""
        judgement = rank(context)
        best = judgement.best
        offenders = self._offenders(context, judgement)
        row = self._row(context, judgement, offenders)
        self._note_departures(context, best.actions or _actions_behind(judgement))
        self._weigh_damage(row, context.phase.start)
        history.rebalances.append(row)
        history.rebalance_members.extend(self._members(context, row, best.actions))
        history.divergences.extend(self._clock_regressions(row, context.window.started, context.window.joined, context.window.ended))
        stopped = row.member_seconds_stopped or 0.0
        for person in offenders:
            if person.member_id:
                self._caused.setdefault(person.member_id, []).append(stopped / len(offenders))

    def _offenders(self, context: RebalanceContext, judgement: Ranking) -> list[Person]:
        best = judgement.best
        if best.cause in NO_OFFENDER:
            return []
        actions = best.actions or ([judgement.trigger] if judgement.trigger else [])
        if context.window.outcome == "empty" and best.cause not in {Cause.NEW_GROUP, Cause.UNKNOWN}:
            gone = sorted([*context.departures.by_actor.values(), *context.departures.inferred], key=lambda action: action.at)
            actions = _unique(context.phase, [*actions, *gone])
        elif best.cause is Cause.MEMBER_RESTART:
            actions = _unique(context.phase, actions)
        return [self._person(context, action, reason_of(best.cause, action), is_first=index == 0) for index, action in enumerate(actions)]

    def _person(self, context: RebalanceContext, action: MemberAction, reason: str, *, is_first: bool) -> Person:
        """The member that acted.

        If the line has no member id, it is looked up in the generation.
        """
        actor = context.phase.actor(action)
        generation = context.members.after if action.kind is ActionKind.JOIN else context.members.before
        member_id = action.member_id or (generation.get(actor) if actor else None)
        return self.roster.person(member_id, action.client_id, action.instance_id, reason, is_first=is_first)

    def _row(self, context: RebalanceContext, judgement: Ranking, offenders: list[Person]) -> Rebalance:
        phase, window, best = context.phase, context.window, judgement.best
        ended_line = None if window.has_unseen_end else window.ended
        started, joined, ended = raised_in_order(logged_at(window.started), logged_at(window.joined), logged_at(ended_line))
        join_seconds = None if _goes_back(window.started, window.joined) else seconds(started, joined)
        sync_seconds = None if _goes_back(window.joined, window.ended) else seconds(logged_at(window.joined), logged_at(window.ended))
        duration = None if _goes_back(window.started, window.joined, ended_line) else seconds(started, ended)
        delay = self._initial_delay(context, join_seconds)
        actions = _actions_behind(judgement)
        members_after = window.members_after if window.members_after is not None else (len(context.members.after) or None)
        members_before = window.members_before if window.members_before is not None else (len(context.members.before) or None)
        confidence, alternatives = judgement.shares()
        waited_for = blockers(context)
        root = root_cause(context, best.cause, best.actions, waited_for)
        stopped = self._cost(context, stopped_if_eager(members_before, members_after, duration, expected_delay(delay, root)))
        return Rebalance(
            cluster=self.cluster,
            system=KAFKA,
            rebalance_id=make_id("rebalance", self.cluster, self.group, None, window.generation_before, window.ordinal),
            group=self.group,
            topic=None,
            protocol="classic",
            protocol_type=window.protocol_type or context.known.protocol_type,
            assignor=self._assignor(context),
            generation_before=window.generation_before,
            generation_after=window.generation_after,
            started_at=started,
            joined_at=joined,
            ended_at=ended,
            initial_delay_seconds=delay,
            join_seconds=join_seconds,
            sync_seconds=sync_seconds if window.outcome == "stable" else None,
            reconcile_seconds=None,
            duration_seconds=duration,
            at_least_seconds=None,
            outcome=window.outcome,
            cause=best.cause.value,
            root_cause=root,
            confidence=confidence,
            alternatives=alternatives,
            settled_by=self._settled_by(context, judgement) if best.probability < SURE else None,
            offenders=offenders,
            blockers=waited_for,
            members_before=members_before,
            members_after=members_after,
            member_seconds_stopped=stopped.member_seconds,
            partition_seconds_stopped=stopped.partition_seconds,
            duplicate_window=stopped.duplicate_window,
            conformance=Conformance(window.inferred_steps, window.unexplained_lines),
            coordinator=window.node,
            trigger_text=trigger_text(phase, judgement),
            evidence=evidence(evidence_events(window, actions), inferred=window.is_inferred),
            advice_id=_ADVISED_REASONS.get(reason_id_in(window.started) or "")
            or (root if root in _ADVISED_ROOTS else behind_the_wait(phase, waited_for))
            or best.cause.value,
            measurements_ms=numbers_of(phase, context.timeouts, context.deadline, best.cause, best.actions or actions, self._gone_at),
        )

    def _cost(self, context: RebalanceContext, by_all: float | None) -> RebalanceCost:
        """Cost of the rebalance; `by_all` if all its members waited."""
        window, after, following = context.window, context.members.after, context.phase.following
        if window.started_at is None:
            return RebalanceCost(by_all, None, None)
        return self.impact.of_classic(
            window.started_at,
            following.started_at if following else None,
            by_all,
            after if window.members_after is None or context.members.are_all_known_after else (),
            is_stable=window.outcome == "stable",
            assignor=self._assignor(context),
        )

    def _assignor(self, context: RebalanceContext) -> str | None:
        generation = context.window.generation_after
        return context.known.assignors.get(generation) if generation is not None else None

    def _settled_by(self, context: RebalanceContext, judgement: Ranking) -> str:
        """The file that would confirm the best hypothesis."""
        settles = next((o.settled_by for o in judgement.hypotheses if o.settled_by), DecidingEvidence.REQUEST_LOG)
        actions = [action for hypothesis in judgement.hypotheses for action in hypothesis.actions]
        action = judgement.trigger or next(iter(actions), None)
        began = context.phase.start if context.phase.start >= BEFORE_ANY_TIME_US else None
        logs = context.roster.logs.values()
        if logs and not any(known_library(log.library).has_coordinator for log in logs):
            return settled_by(DecidingEvidence.CLIENT_LOG, None, None, began, context.window.open_until)
        return settled_by(settles, context.window.node, context.phase.actor(action) if action else None, began, context.window.open_until)

    def _settled_epoch(self, window: EpochWindow, settles: DecidingEvidence | None) -> str | None:
        event = window.started
        client = event.client_id or self.roster.client_of(event.member_id) or event.member_id
        return settled_by(settles, event.node, client, event.time_us, window.reached_at) if settles is not None else None

    def _note_departures(self, context: RebalanceContext, actions: Iterable[MemberAction]) -> None:
        """Note when members left or expired, and which are back.

        The next rebalances are measured from there.
        """
        for action in (*context.departures.by_actor.values(), *actions):
            actor = context.phase.actor(action)
            if actor is not None and action.kind in {ActionKind.LEAVE, ActionKind.EXPIRE}:
                self._gone_at[actor] = action.at
        for actor in context.members.after:
            self._gone_at.pop(actor, None)

    def _initial_delay(self, context: RebalanceContext, join_seconds: float | None) -> float | None:
        """Seconds explained by group.initial.rebalance.delay.ms.

        Whole steps of it, and only for an empty group (KIP-134).
        """
        step = self.facts.initial_delay_ms / 1000
        if join_seconds is None or not context.phase.was_empty or step <= 0:
            return 0.0 if join_seconds is not None else None
        return min(join_seconds, max(step, join_seconds // step * step))

    def _members(self, context: RebalanceContext, row: Rebalance, actions: list[MemberAction]) -> Iterable[RebalanceMember]:
        """All members affected by the rebalance, with their roles."""
        triggers = {context.phase.actor(action) for action in actions}
        joiners, gone = context.arrivals.by_actor, context.departures.by_actor | context.phase.first_by_actor(ActionKind.EVICT)
        blocking = {person.member_id or person.client_id for person in row.blockers}
        before, after = context.members.before, context.members.after
        arrivals = self._arrivals(context)
        actors = dict.fromkeys([*before, *after, *joiners, *gone, *(actor for actor in triggers if actor)])
        for actor in actors:
            action = joiners.get(actor) or gone.get(actor)
            old, new = before.get(actor), after.get(actor) or (action.member_id if action and actor in joiners else None)
            member_id = new or old or (action.member_id if action else None)
            who = self.roster.person(member_id, action.client_id if action else None, action.instance_id if action else None, "")
            role = role_of(actor, triggers, blocking, who, joiners, gone)
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
                is_first_of_role=bool(row.offenders) and row.offenders[0].member_id == who.member_id and role == "trigger",
                join_delay_seconds=seconds(row.started_at, arrivals.get(actor)),
                session_before=old,
                session_after=new,
            )

    def _arrivals(self, context: RebalanceContext) -> dict[str, int]:
        """Arrival of each member's JoinGroup in this join phase."""
        arrivals: dict[str, int] = {}
        for action in context.phase.actions_of(ActionKind.JOIN, ActionKind.REJOIN, end=context.window.open_until):
            actor = context.phase.actor(action)
            if actor is not None:
                arrivals.setdefault(actor, action.at)
        return arrivals

    # -- everything else ---------------------------------------------------------------------------------------

    def extend_open(self, rebalances: Iterable[Rebalance], joining_until: Callable[[int], int]) -> None:
        """Set the minimum duration of rebalances still open at the end of the logs.

        `joining_until` returns the end of the logs of clients that have asked to join since a time, which would tell of its end.
        Epochs have none, because it is unknown whether they last, nor have those of clients whose logs tell of late polls and no
        generation: such a log would not show the end.
        """
        for row in rebalances:
            if row.outcome == "open" and row.protocol == "classic" and not _is_untold(row):
                row.at_least_seconds = seconds(row.started_at, max(self.logs_end, joining_until(row.began)))

    def add_epoch(self, modern: ModernReplay, known: GroupKnowledge, history: GroupHistory) -> None:
        """Add the row of the epoch that is waiting for it."""
        modern.progress.complete()
        window = modern.progress.windows[modern.progress.reported]
        row = self._epoch_row(modern, window, known)
        self._weigh_damage(row, window.began)
        history.rebalances.append(row)
        history.divergences.extend(self._clock_regressions(row, window.started, window.targeted))
        modern.progress.note_reported()

    def _weigh_damage(self, row: Rebalance, at: int) -> None:
        """Lower the confidence of a verdict on lines that may be changed.

        Others may be missing.
        """
        if not self.facts.damaged:
            return
        began = at if row.started_at is None else row.started_at
        ended = next((time for time in (row.ended_at, row.joined_at) if time is not None), began)
        damage = self.facts.damaged_between({line.file for line in row.evidence}, began, max(began, ended))
        if damage is None:
            return
        row.confidence = round(row.confidence * UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE, 6)
        row.alternatives = {cause: round(share * UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE, 6) for cause, share in row.alternatives.items()}
        row.settled_by = f"an undamaged copy of {damage.file}"

    def _clock_regressions(self, row: Rebalance, *steps: Event | None) -> Iterator[Divergence]:
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

    def sessions(
        self, members: Iterable[RosterMember], settings: Mapping[str, Mapping[str, int]], protocol: str | None = None
    ) -> Iterable[MemberSession]:
        """Rows of these members, from their first line to their last.

        `settings` are those that clients' own logs tell, by client id; brokers set the session timeouts of a newer `protocol`.
        """
        of_brokers = self.facts.session_ms_of(self.group, protocol) if protocol is not None else None
        for member in sorted(members, key=lambda m: (m.first_seen_at or 0, m.member_id)):
            caused = self._caused.get(member.member_id, [])
            client_id = self.roster.person(member.member_id, None, None, "").client_id
            log, client_settings = self.roster.logs.get(client_id or ""), settings.get(client_id or "", {})
            yield MemberSession(
                self.cluster,
                KAFKA,
                make_id("session", self.cluster, self.group, member.member_id, member.first_seen_at),
                self.group,
                member.member_id,
                client_id,
                member.host,
                member.instance_id,
                member.first_seen_at,
                member.last_seen_at,
                member.ended_how,
                len(caused),
                sum(caused, 0.0),
                log.library if log is not None else None,
                self.facts.versions.get(log.file) if log is not None else None,
                session_timeout_ms([member], [client_settings], protocol_ms=of_brokers),
                member.rebalance_timeout_ms or client_settings.get("max_poll_interval_ms"),
            )

    def forget(self, members: Iterable[RosterMember]) -> None:
        """Discard members that need no more rows."""
        for member in members:
            self._caused.pop(member.member_id, None)

    def _epoch_row(self, modern: ModernReplay, window: EpochWindow, known: GroupKnowledge) -> Rebalance:
        verdict = judge_epoch(modern, window, known, self.facts)
        started, targeted, reached = raised_in_order(window.began, when(window.targeted), window.reached_at)
        set_back = _goes_back(window.started, window.targeted)
        progress = modern.progress
        until = progress.following.began if progress.following else None
        is_burst = verdict.cause is Cause.SESSION_TIMEOUT and in_burst(self.facts, self.group, window.began)
        root = RootCause.COORDINATOR_PAUSE.value if is_burst else None
        is_witnessed = progress.reconciliations.witnessed.issuperset(window.members)
        stopped = self.impact.epoch_cost(window.began, until, is_witnessed=is_witnessed)
        return Rebalance(
            cluster=self.cluster,
            system=KAFKA,
            rebalance_id=make_id("epoch", self.cluster, self.group, window.protocol, window.epoch_before, modern.progress.ordinal),
            group=self.group,
            topic=None,
            protocol=window.protocol,
            protocol_type=None,
            assignor=window.assignor,
            generation_before=window.epoch_before,
            generation_after=window.epoch,
            started_at=started,
            joined_at=targeted,
            ended_at=reached,
            initial_delay_seconds=_initial_delay(window, verdict.cause, seconds(started, targeted)),
            join_seconds=None if set_back else seconds(started, targeted),
            sync_seconds=None,
            reconcile_seconds=seconds(targeted, reached),
            duration_seconds=None if set_back else seconds(started, reached),
            at_least_seconds=None,
            outcome=window.outcome,
            cause=verdict.cause.value,
            root_cause=root,
            confidence=verdict.confidence,
            alternatives=verdict.alternatives,
            settled_by=self._settled_epoch(window, verdict.settled_by),
            offenders=window.offenders(verdict.cause, self.roster),
            blockers=window.blockers,
            members_before=window.members_before,
            members_after=window.members_after,
            member_seconds_stopped=stopped.member_seconds,
            partition_seconds_stopped=stopped.partition_seconds,
            duplicate_window=stopped.duplicate_window,
            conformance=Conformance(len(window.events) if window.is_inferred else 0),
            coordinator=window.started.node,
            trigger_text=window.started.text[:300] or None,
            evidence=evidence(window.events, inferred=window.is_inferred),
            advice_id=root or verdict.cause.value,
        )


_ADVISED_ROOTS = frozenset(
    {RootCause.SLOW_PROCESSING, RootCause.SLOW_ASSIGNMENT, RootCause.COORDINATOR_PAUSE, RootCause.NOT_AUTHORIZED, RootCause.NETWORK}
)
"""Root causes whose advice helps, whatever started the rebalance."""

_ADVISED_REASONS = {"over_capacity_on_load": GROUP_FULL}
"""Reasons of the coordinator with advice of their own."""


def _actions_behind(judgement: Ranking) -> list[MemberAction]:
    """Actions behind the verdict."""
    best, trigger = judgement.best, judgement.trigger
    return [*best.actions, *best.supporting_actions, *([] if trigger is None else [trigger])]


def _is_untold(row: Rebalance) -> bool:
    """Whether only a client's late poll tells of a rebalance."""
    return row.generation_before is None and row.generation_after is None and row.cause == Cause.POLL_TIMEOUT


def _goes_back(*steps: Event | None) -> bool:
    """Whether one clock is set back between two of these lines."""
    before: Event | None = None
    for after in steps:
        if after is None:
            continue
        if before is not None and after.time_us < before.time_us and before.node == after.node:
            return True
        before = after
    return False


def _unique(phase: LoggedJoinPhase, actions: Iterable[MemberAction]) -> list[MemberAction]:
    """One action per actor, in order."""
    unique: dict[str | None, MemberAction] = {}
    for action in actions:
        unique.setdefault(phase.actor(action), action)
    return list(unique.values())


def _initial_delay(window: EpochWindow, cause: Cause, seconds_to_target: float | None) -> float:
    """Time that a new streams group waited for more members."""
    waits = window.protocol == "streams" and cause is Cause.NEW_GROUP
    return seconds_to_target or 0.0 if waits else 0.0
