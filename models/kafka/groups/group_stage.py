"""The group stage: the events of one group in, its history out.

Both runners feed a `GroupStage` with the events of one (cluster, group) in order. Time passes with them: what was over
for the allowed lateness when the next one comes is ranked before it is taken, and its rows of members and states are final. Once an
episode of rebalances is over, all of its rows are: they leave the stage, with the time from which on they are (`final_at`), and what is
open stays.

The stage only routes. What it routes to owns its state: `UnrankedRebalances`, `ActionTimeline`, `MemberLogs`,
`LastingConditions` and `EpisodeRows`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import takewhile
from operator import attrgetter

from models import state_codec as state_text
from models.events import Event, Witness, text_field
from models.incidents.headline_facts import HeadlineFacts
from models.incidents.incidents import Limits, badness
from models.kafka.cluster.facts import BrokerDeparture, ClusterFacts
from models.kafka.groups import bounds
from models.kafka.groups.action_timeline import ActionTimeline
from models.kafka.groups.emptiness import emptiness_incident
from models.kafka.groups.episode_incidents import add_incidents, apart_us, gap_us
from models.kafka.groups.episode_rows import EpisodeRows, without_final_members
from models.kafka.groups.lasting_conditions import LastingConditions
from models.kafka.groups.member_logs import MemberLogs
from models.kafka.groups.model_states import ModelStates
from models.kafka.groups.offset_expiry import End, emptied_last, empty_at_the_end, removal_incidents, retention_in_force
from models.kafka.groups.state_rows import TransitionRows
from models.kafka.groups.unranked_rebalances import UnrankedRebalances
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.observations.actions import MemberAction, actions_in
from models.kafka.observations.attribution import attributed_events
from models.kafka.observations.client_ids import log_before_rotation
from models.kafka.observations.knowledge import GroupKnowledge, end_session, learn
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.outages.outage_incidents import CLOCKS_US, departures_of
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.kafka.reconstruction.epoch_log import ModernReplay
from models.kafka.verdicts.history import GroupHistory
from models.kafka.verdicts.impact import Impact
from models.kafka.verdicts.rebalance_rows import VerdictWriter
from models.rows import KAFKA, Incident, MemberSession
from models.units import FOREVER

_FACTS = "facts"

_CHECKPOINT: Mapping[str, str] = {
    "roster": "roster",
    "knowledge": "knowledge",
    "classic": "rebalances.classic",
    "modern": "rebalances.modern",
    "windows": "rebalances.windows",
    "requests": "rebalances.requests",
    "writer": "writer",
    "chronicle": "chronicle",
    "open": "rows.open",
    "actions": "timeline.actions",
    "authors": "logs.authors",
    "clients": "logs.clients",
    "skews": "timeline.skews",
    "impact": "impact",
    "client_states": "logs.states",
    "states": "states",
    "refusals": "conditions.refusals",
    "returns": "conditions.returns",
    "conditions": "conditions.standing",
    "event_count": "event_count",
    "_skew_of_log": "timeline.skew_of_log",
    "_behind": "timeline.behind",
    "_settled": "rebalances.ranked_count",
    "_over": "rows.over_at",
    "last": "rows.last",
    "_judged_at": "rebalances.due_at",
    "_now": "_now",
}
"""Places in a stage by the names in its checkpoint, which stay.

All but the names, the facts and the limits, which it is given, and rows that are final.
"""


@dataclass(slots=True)
class GroupStage:
    """Routes the events of one group; ranks its rebalances in order."""

    cluster: str
    group: str
    facts: ClusterFacts
    limits: Limits = field(default_factory=Limits)
    roster: Roster = field(default_factory=Roster)
    knowledge: GroupKnowledge = field(default_factory=GroupKnowledge)
    rebalances: UnrankedRebalances = field(init=False)
    timeline: ActionTimeline = field(default_factory=ActionTimeline)
    logs: MemberLogs = field(default_factory=MemberLogs)
    conditions: LastingConditions = field(init=False)
    rows: EpisodeRows = field(default_factory=EpisodeRows)
    impact: Impact = field(default_factory=Impact)
    writer: VerdictWriter = field(init=False)
    chronicle: TransitionRows = field(init=False)
    states: ModelStates | None = None
    """None unless the states of the model are asked for."""
    event_count: int = 0
    """Events that were taken."""
    _attributed: deque[Event] = field(init=False)
    _now: int = 0
    _departures: list[BrokerDeparture] = field(init=False)
    _gap: int = field(init=False)
    _apart: int = field(init=False)

    def __post_init__(self) -> None:
        self.rebalances = UnrankedRebalances(ClassicReplay(self.roster), ModernReplay(self.roster))
        self.conditions = LastingConditions(self.cluster, self.group)
        self.writer = VerdictWriter(self.cluster, self.group, self.facts, self.roster, self.impact)
        self.chronicle = TransitionRows(self.cluster, self.group, self.facts)
        if self.limits.group_states:
            self.states = ModelStates(self.cluster, self.group, self.facts.initial_delay_ms)
        self._attributed = attributed_events(self.group, self.facts)
        self._departures = departures_of(self.facts)
        self._gap, self._apart = gap_us(self.limits), apart_us(self.limits)

    @classmethod
    def resumed(cls, cluster: str, group: str, facts: ClusterFacts, state: str, limits: Limits | None = None) -> GroupStage:
        """Restore the stage of a checkpoint, without rows final by then.

        `facts` may tell more by now, but only of what came later; `limits` are those of then. Raises UnreadableState.
        """
        stage = cls(cluster, group, facts, limits or Limits())
        checkpoint = state_text.read(state, {_FACTS: facts})
        try:
            for name, place in _CHECKPOINT.items():
                part, _, attribute = place.rpartition(".")
                setattr(attrgetter(part)(stage) if part else stage, attribute, checkpoint[name])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise state_text.UnreadableState(f"not a state of a group: {error}") from error
        while stage._attributed and stage._attributed[0].order_us <= stage._now:
            stage._attributed.popleft()
        return stage

    def state(self) -> str:
        """The checkpoint that `resumed` goes on from.

        To be taken between events of different times, after `advance_to`.
        """
        return state_text.write({name: attrgetter(place)(self) for name, place in _CHECKPOINT.items()}, {_FACTS: self.facts})

    @property
    def row_count(self) -> int:
        """Number of rows that are not final: a checkpoint's size."""
        return self.rows.count + len(self.rebalances.classic.changes) + len(self.rebalances.modern.windows)

    def feed(self, event: Event) -> None:
        """Take the next event of the group."""
        while self._attributed and _comes_first(self._attributed[0], event):
            self._process_one(self._attributed.popleft())
        self._process_one(event)

    def advance_to(self, until: int) -> None:
        """Take cluster facts about the group up to a time (microseconds)."""
        while self._attributed and self._attributed[0].order_us <= until:
            self._process_one(self._attributed.popleft())
        self._advance_watermark(until)

    def _process_one(self, event: Event) -> None:
        event = event.put_after(self._now)
        self._advance_watermark(event.order_us)
        self._now = max(self._now, event.order_us)
        event = self.logs.authors.name(event, self.roster)
        self.event_count += 1
        if self._begins_anew(event):
            self._end_of_life()
        self._feed_coordinator(event)
        self.timeline.feed_clocks(event)
        self.logs.states.feed(event)
        if self.states is not None:
            self.states.feed(event, self.facts.versions.get(event.place.file))
        self._feed_conditions(event)
        logged = (*actions_in(event), *self.logs.clients.feed(event, self.knowledge.shared))
        actions = [self.timeline.on_coordinators_clock(action) for action in logged]
        self._add_actions(actions)
        self._feed_windows(event, actions)
        self._enforce_limits()

    def _begins_anew(self, event: Event) -> bool:
        """Whether an event shows that the group was made anew."""
        if event.name == "ClientJoined" and event.generation:
            return self.rebalances.windows.begins_anew(event.generation)
        return event.name == "GroupDied"

    def _feed_coordinator(self, event: Event) -> None:
        """Take what a line shows of the coordinator's state."""
        classic, modern = self.rebalances.classic, self.rebalances.modern
        learn(self.knowledge, self.roster, event)
        if event.name == "GroupConverted" and text_field(event, "to_type") != "classic":
            modern.converted_from(self._members_now())
            classic.converted(event)
        if not classic.feed(event):
            modern.feed(event)

    def _feed_conditions(self, event: Event) -> None:
        """Take what a line shows of work that stopped, and of lasting conditions."""
        actor, skew = self.roster.actor(event.member_id, event.client_id, event.instance_id), self.timeline.skew_of(event)
        self.impact.feed(event, actor, skew)
        self.conditions.refusals.feed(event, event.time_us - skew, actor)
        self.conditions.returns.feed(event, self.facts.kept)
        self.conditions.standing.feed(event)

    def _feed_windows(self, event: Event, actions: Sequence[MemberAction]) -> None:
        """Take what requests and clients show of rebalances."""
        rebalances, timeline = self.rebalances, self.timeline
        if event.witness is Witness.CLIENT and timeline.skews.is_of_other_zone(log_before_rotation(event.place.file)):
            return
        rebalances.requests.feed(event, event.time_us - timeline.skew_of(event))
        rebalances.windows.of_epochs = rebalances.modern.epoch is not None and rebalances.requests.epochs.downgrade is None
        rebalances.windows.feed(event, actions, self.roster)

    def _infer(self, steps: Iterable[Event]) -> None:
        """Take the coordinator's steps that requests and clients show."""
        for step in steps:
            learn(self.knowledge, self.roster, step)
            if not self.rebalances.classic.feed(step):
                self.rebalances.modern.feed(step)
            self._add_actions(actions_in(step))
            self.rebalances.windows.feed(step, (), self.roster)

    def _add_actions(self, actions: Iterable[MemberAction]) -> None:
        for action in actions:
            self.timeline.add(action)
            end_session(self.roster, action)

    def _members_now(self) -> dict[str, str | None]:
        """Known members of the current classic generation."""
        members = self.knowledge.generations.get(self.rebalances.classic.group.generation or 0, {})
        return {member_id: self.roster.client_of(member_id) for member_id in members.values() if member_id}

    def drain_final(self) -> Iterator[GroupHistory]:
        """Yield final rows once many have gathered."""
        yield from self.rows.drain()

    def close(self) -> GroupHistory:
        """Rank what is open and return all rows not drained.

        What is final unless something else comes has the time from which on it would be, so that rows don't rest on how far logs reach.
        """
        for event in self._attributed:
            self._process_one(event)
        self.writer.logs_end = max(self._now, self.facts.logs_end or 0)
        rebalances, classic, final = self.rebalances, self.rebalances.classic, self.rows.final
        self._infer(rebalances.requests.finish(self.writer.logs_end))
        self._advance_watermark(FOREVER)
        rebalances.take_open_windows()
        while rebalances.oldest is not None:
            self._rank_next()
        self.writer.extend_open(self.rows.open.rebalances, partial(self.timeline.joining_until, self.facts.client_ends))
        while rebalances.modern.waiting is not None:
            self._rank_epoch()
        rows = self.rows.take()
        last = empty_at_the_end(classic, rebalances.modern)
        rows.group_transitions.extend(self.chronicle.transitions(classic.changes))
        rows.group_states.extend(self.states.rest() if self.states is not None else ())
        rows.member_sessions.extend(self._sessions(self.roster.members.values()))
        rows.coordinator_moves.extend(self.chronicle.moves(classic.moves))
        self._expire(rows, [*classic.deaths, *([(last, None)] if last else [])])
        rows.divergences.extend(self.chronicle.findings(classic.findings))
        rows.divergences.extend(self.chronicle.clocks(self.timeline.skews))
        rows.divergences.extend(self.chronicle.zones(self.timeline.skews))
        rows.divergences.extend(self.chronicle.placeholder(rows.rebalances))
        rows.client_states.extend(self.logs.states.rows(self.cluster, self.group, KAFKA, self.timeline.skew_of_log))
        rows.incidents.extend(self.conditions.open_at(self.writer.logs_end))
        rows.incidents.extend(self._emptiness())
        add_incidents(self.cluster, self.group, rows, self.facts, self.limits, self._departures)
        final.take(without_final_members(rows))
        final.member_sessions.sort(key=lambda row: (row.first_seen_at or 0, row.member_id))
        final.client_states.sort(key=lambda row: (row.client_id, row.started_at or 0))
        final.incidents.sort(key=badness)
        return final

    def _emptiness(self) -> Iterator[Incident[HeadlineFacts]]:
        """The incident of a group that has no members as its logs end."""
        classic, last, until = self.rebalances.classic, self.rows.last, self.writer.logs_end
        ended = emptied_last(classic, self.rebalances.modern)
        if not last or ended is None or classic.is_unloaded:
            return
        if ended.witness is Witness.CLIENT:
            until = max(self._now, self.timeline.end_of_log(self.facts.client_ends, ended))
        is_inferred = ended.witness is not Witness.COORDINATOR
        incident = emptiness_incident(
            last,
            until,
            self._departures,
            stuck_seconds=self.limits.stuck_seconds,
            shutdown_seconds=self.limits.episode_gap_seconds,
            is_inferred=is_inferred,
        )
        if incident is not None:
            yield incident

    def _sessions(self, members: Iterable[RosterMember]) -> Iterable[MemberSession]:
        modern = self.rebalances.modern
        return self.writer.sessions(members, self.knowledge.settings, modern.protocol if modern.epoch is not None else None)

    def _expire(self, rows: GroupHistory, ends: Sequence[End]) -> None:
        """Add the ends of the group and the incidents they are."""
        expired = list(self.chronicle.expirations(ends, retention_in_force(self.facts, self.rebalances.classic.windows)))
        rows.offset_expirations.extend(expired)
        rows.incidents.extend(removal_incidents(ends, expired, self.facts))

    def _end_of_life(self) -> None:
        """End a life of the group: rank its windows first."""
        rebalances = self.rebalances
        while rebalances.take_windows(FOREVER):
            pass
        rebalances.windows.ended()
        while rebalances.oldest_ended is not None:
            self._rank_next()
        self.knowledge.end_life()
        rebalances.modern.ended()

    # -- ranking ---------------------------------------------------------------------------------------------

    def _advance_watermark(self, until: int) -> None:
        """Rank rebalances that ended long enough ago, and release final rows."""
        self._take_due(until)
        while self.rebalances.take_windows(until):
            self._take_due(until)
        rows = self.rows
        if rows.open.rebalances:
            quiet_at = rows.over_at + max(self._gap, bounds.ALLOWED_LATENESS_US) + 1
            if quiet_at <= until and self.rebalances.oldest_started_at is None:
                self._finalise_if_quiet(max(self._now, quiet_at))

    def _take_due(self, until: int) -> None:
        """Take all that is due by a time, each at its own."""
        rebalances, rows = self.rebalances, self.rows
        self._infer(rebalances.requests.until(until))
        if self.states is not None and (due_at := self.states.due_at) is not None and due_at <= until:
            rows.final.take(GroupHistory(group_states=self.states.follow_lines()), final_at=due_at)
        for over_at, incident in self.conditions.over_by(until, self._gap):
            rows.final.take(GroupHistory(incidents=[incident]), final_at=over_at)
        while (due := rebalances.next_due()) is not None and due.at <= until:
            if rebalances.take_windows(due.at):
                continue
            rebalances.due_at = max(rebalances.due_at, due.at)  # where clocks went back, one behind another may be due before it
            if due.is_epoch:
                self._rank_epoch()
            else:
                self._rank_next()
            self._finalise_if_quiet(max(self._now, rebalances.due_at))

    def _enforce_limits(self) -> None:
        """Rank the oldest rebalances early where too much is held."""
        rebalances, timeline = self.rebalances, self.timeline
        while rebalances.oldest_ended is not None and (rebalances.are_too_many or len(timeline.actions) > bounds.ACTIONS_HELD_MAX):
            self._rank_next()
            self._finalise_if_quiet(self._now)
        while len(rebalances.modern.windows) > bounds.EPISODE_MAX:
            self._rank_epoch()
            self._finalise_if_quiet(self._now)
        if len(timeline.actions) > bounds.ACTIONS_MAX:
            timeline.keep_last(bounds.ACTIONS_HELD_MAX)
        states = self.logs.states
        if (
            states.unwritten_count > max(bounds.STRETCHES_MAX, 2 * states.left)
            and rebalances.oldest_started_at is None
            and not self.rows.open.rebalances
        ):
            self._finalise_episode(self._now, before=self._now - bounds.ALLOWED_LATENESS_US)

    def _rank_epoch(self) -> None:
        """Rank the causes of the next epoch of the newer protocols."""
        self.timeline.set_clocks()
        modern = self.rebalances.modern
        window = modern.windows[modern.reported]
        self.writer.add_epoch(modern, self.knowledge, self.rows.open)
        self.rows.note_end()
        if self.rebalances.oldest is None:
            self.timeline.forget_before(window.began)
            self.impact.forget(window.began)

    def _rank_next(self) -> None:
        """Rank the causes of the next rebalance that the coordinator's lines show."""
        self.timeline.set_clocks()
        window, previous, following = self.rebalances.neighbours()
        self.knowledge.note_others(window.generation_before)
        phase = LoggedJoinPhase(window, previous, following, self.timeline.actions, self.roster)
        self.writer.add_rebalance(RebalanceContext(phase, self.roster, self.facts, self.knowledge, self.group), self.rows.open)
        self.rows.note_end()
        self.rebalances.ranked_count += 1
        if window.ended_at is not None:
            self._release_details(window.ended_at)
        self._forget(window)

    def _forget(self, window: RebalanceWindow) -> None:
        """Drop actions and generations that no later rebalance can ask for."""
        if window.previous_joined_at is not None:
            self.timeline.forget_until(window.previous_joined_at)
        if window.generation_before is not None:
            self.knowledge.forget_generations(window.generation_before - 1)
        if window.started_at is not None:
            self.impact.forget(self.rebalances.needed_from(window.started_at))

    # -- letting go ------------------------------------------------------------------------------------------

    def _finalise_if_quiet(self, at: int) -> None:
        """Release the rows of an episode that is over or too long."""
        rows = self.rows
        if not rows.open.rebalances:
            return
        waiting = self.rebalances.oldest_started_at
        quiet_until, needed = (at, max(self._gap, bounds.ALLOWED_LATENESS_US)) if waiting is None else (waiting, self._apart)
        if quiet_until - rows.over_at > needed or rows.are_too_many:
            self._finalise_episode(at, before=(at if waiting is None else min(waiting, at)) - bounds.ALLOWED_LATENESS_US)

    def _finalise_episode(self, at: int, before: int) -> None:
        """Close the episode.

        Members and lines from `before` a time are dropped unless something still names them.
        """
        over_at = self.rows.over_at
        rows = self.rows.take()
        self._take_transitions(rows, over_at)
        self._take_silent_clients(rows, before)
        past = self.roster.inactive_since(before, self._named())
        rows.member_sessions.extend(self._sessions(past))
        add_incidents(self.cluster, self.group, rows, self.facts, self.limits, self._departures)
        self.rows.final.take(without_final_members(rows), final_at=at)
        self.rebalances.drop_ranked()
        clients = self.roster.forget(past)
        self.writer.forget(past)
        self.knowledge.forget(past, clients, before)
        self.rebalances.modern.forget(past)
        self.timeline.skews.forget(before)

    def _release_details(self, over_at: int) -> None:
        """Make rows of members and states of a ranked rebalance final.

        Its own row waits for the end of the episode, which may never come.
        """
        changes = self.rebalances.classic.changes
        over = list(takewhile(lambda change: change.event.time_us <= over_at, changes[:-1]))  # the last one may be taken back
        final_at = max(self._now, self.rebalances.due_at)
        details = GroupHistory(rebalance_members=self.rows.take_members(final_at), group_transitions=list(self.chronicle.transitions(over)))
        self.rows.final.take(details, final_at=final_at)
        del changes[: len(over)]

    def _take_transitions(self, rows: GroupHistory, over_at: int) -> None:
        """Move what coordinators' lines show until a time to the rows."""
        classic = self.rebalances.classic
        rows.group_transitions.extend(self.chronicle.transitions(classic.changes[:-1]))  # the last one may be taken back
        del classic.changes[:-1]
        moved = list(takewhile(lambda move: move.arrived.time_us <= over_at + CLOCKS_US, classic.moves))  # others may concern what comes
        rows.coordinator_moves.extend(self.chronicle.moves(moved))
        classic.moves = classic.moves[len(moved) :]
        self._expire(rows, classic.deaths)
        findings = list(takewhile(lambda finding: finding.event.time_us <= over_at, classic.findings))
        rows.divergences.extend(self.chronicle.findings(findings))
        classic.findings = classic.findings[len(findings) :]
        classic.deaths = []

    def _take_silent_clients(self, rows: GroupHistory, before: int) -> None:
        """Write what clients did; discard those that are silent for long."""
        timeline = self.timeline
        gone = self.logs.silent_clients(before, but_of=timeline.logs())
        rows.client_states.extend(self.logs.states.rows(self.cluster, self.group, KAFKA, timeline.skew_of_log, before, gone))
        if not gone:
            return
        logs = self.logs.forget(gone)
        rows.divergences.extend(self.chronicle.clocks(timeline.skews, logs))
        timeline.forget_logs(logs)

    def _named(self) -> set[str | None]:
        """Ids of members that an open question is about."""
        named = {member_id for members in self.knowledge.generations.values() for member_id in members.values()}
        return named | {action.member_id for action in self.timeline.actions} | self.rebalances.modern.named()


def _comes_first(attributed: Event, event: Event) -> bool:
    """Whether an attributed line is taken first.

    Lines of one file and one time keep their order.
    """
    if attributed.order_us != event.order_us or attributed.place.file != event.place.file:
        return attributed.order_us <= event.order_us
    return attributed.place.byte_offset < event.place.byte_offset
