"""Whether the last assignment could be written, without which a rebalance begins."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from models.events import BEFORE_ANY_TIME_US, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.arrived_members import ArrivedMembers
from models.kafka.hypotheses.context.assignment_lags import AssignmentLags
from models.kafka.hypotheses.context.departed_members import DepartedMembers
from models.kafka.hypotheses.context.generation_members import GenerationMembers
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.observations.actions import ActionKind, MemberAction, has_only_given_id, is_given_id, is_rebalance_notice
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.tolerances import RHYTHM_MIN, STORE_SLACK_US, STORE_TIMEOUT_US, int_tolerance
from models.units import US_PER_MS

AT_ONCE_US = int_tolerance("kafka.elimination.at_once_us")
"""Longest duration of a write that fails at once.

Too few replicas are in sync; before 2.1 no line shows it.
"""

TROUBLE_US = int_tolerance("kafka.elimination.trouble_us")
"""Maximum distance of brokers' trouble that explains a failed write.

One that left or came, or offsets partitions that moved.
"""

NOT_STORED = "COORDINATOR_NOT_AVAILABLE"
"""Error of a SyncGroup whose write too few replicas confirmed.

A coordinator that moved has another (appendForGroup).
"""

STORE_ERROR_TEXTS = (
    "COORDINATOR_NOT_AVAILABLE",
    "NOT_COORDINATOR",
    "NOT_ENOUGH_REPLICAS",
    "coordinator is not available",
    "not the correct coordinator",
)


@dataclass
class AssignmentWrite:
    """The write of the last assignment, which no line tells of."""

    phase: LoggedJoinPhase
    members: GenerationMembers
    arrivals: ArrivedMembers
    departures: DepartedMembers
    lags: AssignmentLags
    known: GroupKnowledge
    facts: ClusterFacts

    @property
    def may_have_failed(self) -> bool:
        """Whether the last assignment was not written, or perhaps was not.

        It may not have been if it came just before.
        """
        previous, start = self.phase.previous, self.phase.start
        if self.was_given_up:
            return True
        if previous is None or previous.outcome != "stable" or previous.ended_at is None or start < BEFORE_ANY_TIME_US:
            return False
        return 0 <= start - previous.ended_at <= AT_ONCE_US

    @property
    def is_followed_once(self) -> bool:
        """Whether one rebalance alone began as a new group was assigned.

        Its next members may come just then. A write that fails at once often fails again as the members come back, or leaves as many as
        there were; no head counts tell so before 2.2.
        """
        window, previous = self.phase.window, self.phase.previous
        if previous is None or previous.state_before is not State.EMPTY:
            return False
        if self.was_given_up or self.fails_in_a_row:
            return False
        return window.members_before is None or window.members_before != window.members_after

    @property
    def fails_in_a_row(self) -> bool:
        """Whether rebalances have begun as their groups were assigned, again and again."""
        return self.lags.in_a_row(lambda lag: 0 <= lag <= AT_ONCE_US) >= RHYTHM_MIN

    @property
    def has_failed_silently(self) -> bool:
        """Whether the assignment's write failed silently.

        A rebalance one commit timeout after it, that nobody asked for (before 2.1 the failure is not logged).
        """
        previous, start = self.phase.previous, self.phase.start
        if self.was_given_up:
            return True
        if previous is None or previous.outcome != "stable" or previous.ended_at is None:
            return False
        if 0 <= start - previous.ended_at <= STORE_TIMEOUT_US + STORE_SLACK_US and self._was_sync_refused():
            return True
        if not self.is_as_if_timed_out:
            return False
        if any(self._refused_syncs(start - CLOCK_TOLERANCE_US)):
            return True  # storeGroup tells REBALANCE_IN_PROGRESS of a write that timed out
        if self.departures.inferred or self.arrivals.inferred:
            return False  # who came or went unlogged began it, and that is rarely just when a write is given up
        return self.lags.store_rhythm >= RHYTHM_MIN  # nobody acts in a row just when a write is given up

    @property
    def may_have_failed_in_trouble(self) -> bool:
        """Whether a write may have been given up while brokers were in trouble.

        Nobody asked for the rebalance, which began one commit timeout after an assignment.
        """
        if not self.is_as_if_timed_out or self.departures.inferred or self.arrivals.inferred:
            return False
        start = self.phase.start
        since = start - TROUBLE_US
        return bool(self.facts.loads_between(since, start) or self.facts.node_changes_between(since, start))

    @cached_property
    def was_given_up(self) -> bool:
        """Whether a SyncGroup was refused because its write failed.

        At once, or when it would have been given up: a request log tells how long each one took.
        """
        phase, began = self.phase, self._refusals_since
        if began is None or self._has_missed_generations:
            return False
        refused = list(self._refused_syncs(began))
        if phase.window.witness is Witness.CLIENT and phase.previous is not None and phase.previous.outcome == "superseded":
            given_up_at = began + STORE_TIMEOUT_US
            if any(action.why == NOT_STORED for action in refused):
                return True
            if self._was_readmitted_alone():
                return False  # when the others sent their SyncGroups is not told
            if any(_is_answered_as(action.at, given_up_at) and not self._has_one_just_joined(action) for action in refused):
                return True
            return self._is_sync_answered_by_loss() or (_is_answered_as(phase.start, given_up_at) and self._have_all_asked_again())
        if self.is_told_by_requests:
            return True
        took = (action.event.fields.get("total_ms") for action in refused if not self._has_one_just_joined(action))
        return any(isinstance(time, int | float) and 0 <= time * US_PER_MS - STORE_TIMEOUT_US <= STORE_SLACK_US for time in took)

    @property
    def is_told_by_requests(self) -> bool:
        """Whether a SyncGroup's answer says that its assignment could not be stored.

        Had anything else begun the rebalance before, the answer would be REBALANCE_IN_PROGRESS (GroupCoordinator.doSyncGroup).
        """
        if self._refusals_since is None or self._has_missed_generations:
            return False
        refused = self._refused_syncs(self._refusals_since)
        return any(action.why == NOT_STORED and action.event.witness is Witness.REQUEST for action in refused)

    @property
    def _refusals_since(self) -> int | None:
        """The time from which on a refused SyncGroup may have begun this rebalance.

        One before may have begun a rebalance that its coordinator gave up.
        """
        joined_at, previous = self.phase.window.previous_joined_at, self.phase.previous
        lost_at = previous.open_until if previous is not None and previous.outcome == "coordinator_lost" else None
        return joined_at if joined_at is None or lost_at is None else max(joined_at, lost_at)

    @property
    def _has_missed_generations(self) -> bool:
        """Whether no line shows the generation before.

        What is known to have been refused is older then.
        """
        previous, before = self.phase.previous, self.phase.window.generation_before
        return previous is not None and None not in (previous.generation_after, before) and previous.generation_after != before

    def _has_one_just_joined(self, refusal: MemberAction) -> bool:
        """Whether a new process asked to join just before a SyncGroup was refused.

        A join before the assignment is stored begins a rebalance, too, which refuses all that wait for it (doJoinGroup). A first
        request that is answered with a member id alone is no join (KIP-394).
        """
        phase, since = self.phase, refusal.at - CLOCK_TOLERANCE_US
        near = (request for request in phase.actions_of(ActionKind.JOIN, start=since, end=refusal.at) if not has_only_given_id(request))
        answers = phase.actions_of(ActionKind.JOIN_FAILED, ActionKind.WANTS_REJOIN, start=refusal.at + 1, end=phase.window.joined_at)
        given_ids = {phase.actor(answer) for answer in answers if is_given_id(answer)}
        return any(phase.actor(request) not in {phase.actor(refusal), *given_ids} for request in near)

    def _was_readmitted_alone(self) -> bool:
        """Whether only a static member that came back shows the generation before.

        It was answered at once with a generation that had begun before (updateStaticMemberAndRebalance); who leads one assigns it.
        """
        phase, generation = self.phase, self.phase.window.generation_before
        joined = [action for action in phase.all_of(ActionKind.JOINED) if action.generation == generation]
        leader = self.known.leaders.get(generation) if generation is not None else None
        return bool(joined) and all(phase.actor(answer) != leader and self._was_readmitted(answer) for answer in joined)

    def _was_readmitted(self, answer: MemberAction) -> bool:
        """Whether a static member's JoinGroup under no id was answered at once."""
        phase, since = self.phase, answer.at - CLOCK_TOLERANCE_US - 1
        requests = phase.actions_of(ActionKind.JOIN, start=since, end=answer.at)
        return answer.instance_id is not None and any(phase.actor(request) == phase.actor(answer) for request in requests)

    @property
    def is_as_if_timed_out(self) -> bool:
        """Whether the previous assignment's write would have been given up then."""
        ended_at = self.phase.previous.ended_at if self.phase.previous is not None else None
        is_in_time = ended_at is not None and STORE_TIMEOUT_US <= self.phase.start - ended_at <= STORE_TIMEOUT_US + STORE_SLACK_US
        return is_in_time and not self._was_assignment_answered()

    def _is_sync_answered_by_loss(self) -> bool:
        """Whether members lost their coordinator instead of getting an assignment.

        They found the same one again.
        Before 2.7 a refused SyncGroup leaves no other line at INFO (AbstractCoordinator.SyncGroupResponseHandler).
        """
        phase, began = self.phase, self.phase.window.previous_joined_at or 0
        until, starts = phase.start + CLOCK_TOLERANCE_US, phase.all_of(ActionKind.START)
        for lost in phase.actions_of(ActionKind.LOST_COORDINATOR, start=began, end=until):
            actor, is_prompt = phase.actor(lost), lost.at - began <= AT_ONCE_US or _is_answered_as(lost.at, began + STORE_TIMEOUT_US)
            again = next((start for start in starts if lost.at <= start.at and phase.actor(start) == actor), None)
            if is_prompt and actor in self.members.before and again is not None and again.event.node == lost.event.node is not None:
                return True
        return False

    def _have_all_asked_again(self) -> bool:
        """Whether all members rejoined, none of them assigned, told of a rebalance, or gone.

        Before 2.7 a refused SyncGroup leaves no line at INFO (AbstractCoordinator.SyncGroupResponseHandler).
        """
        phase, arrivals, departures = self.phase, self.arrivals, self.departures
        began, until = phase.window.previous_joined_at, phase.window.joined_at
        if not self.known.has_assignments or arrivals.by_actor or departures.by_actor or arrivals.inferred or departures.inferred:
            return False
        answers = phase.actions_of(ActionKind.SYNCED, ActionKind.ASSIGNED, start=began, end=phase.start)
        notices = phase.actions_of(ActionKind.REBALANCE_NOTICED, ActionKind.WANTS_REJOIN, start=began, end=until)
        if any(answers) or any(map(is_rebalance_notice, notices)):
            return False
        again = {phase.actor(action) for action in phase.actions_of(ActionKind.REJOIN, start=began, end=until)}
        return len(self.members.before) > 1 and self.members.before.keys() <= again

    def _was_assignment_answered(self) -> bool:
        """Whether a member got the assignment, which is sent once it is written."""
        phase = self.phase
        began = phase.window.previous_joined_at or phase.start
        return any(
            action.at < phase.start - CLOCK_TOLERANCE_US and action.event.witness is Witness.CLIENT
            for kind in (ActionKind.SYNCED, ActionKind.ASSIGNED)
            for action in phase.actions_of(kind, start=began, end=phase.start)
        )

    def _refused_syncs(self, since: int | None) -> Iterator[MemberAction]:
        """Refusals of SyncGroup in the generation before.

        Those behind the end of this join phase are of the generation that it made. A coordinator that takes over may go back to an
        earlier generation than that of the last refusals.
        """
        joined_at, until = self.phase.window.joined_at, self.phase.start + CLOCK_TOLERANCE_US
        refused = self.phase.actions_of(ActionKind.SYNC_FAILED, start=since, end=until if joined_at is None else min(until, joined_at))
        return (action for action in refused if action.generation in {None, self.phase.window.generation_before})

    def _was_sync_refused(self) -> bool:
        """Whether members were answered that the assignment could not be stored.

        The errors of appendForGroup.
        """
        began = self.phase.window.previous_joined_at
        refused = self._refused_syncs(began)
        return began is not None and any(action.why and any(error in action.why for error in STORE_ERROR_TEXTS) for action in refused)


def _is_answered_as(at: int, given_up_at: int) -> bool:
    """Whether a refused SyncGroup was answered as a write was given up.

    Its answer reports another rebalance (GroupMetadataManager.storeGroup).
    """
    return -CLOCK_TOLERANCE_US <= at - given_up_at <= STORE_SLACK_US
