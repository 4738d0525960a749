"""The group stage: the events of one group in, its history out.

Both runners feed a `GroupStage` with the events of one (cluster, group) in order. Time passes with them: what was over
for the allowed lateness when the next one comes is ranked before it is taken. Once an episode of rebalances is over, its rows are
final: they leave the stage, with the time from which on they are (`final_at`), and what is open stays.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import takewhile

from models import state_codec as state_text
from models.events import Event, Witness, text_field
from models.incidents.incidents import Limits, badness
from models.incidents.refusals import Refusals, refusal_incident
from models.incidents.standing_conditions import StandingConditions, condition_incident
from models.incidents.static_restarts import StaticRestarts, return_incident
from models.kafka.cluster.facts import BrokerDeparture, ClusterFacts
from models.kafka.groups.bounds import (
    ACTIONS_HELD_MAX,
    ACTIONS_MAX,
    ALLOWED_LATENESS_US,
    DRAIN_BATCH_ROWS,
    EPISODE_MAX,
    EPISODE_MEMBERS_MAX,
    STRETCHES_MAX,
    UNRANKED_WINDOWS_MAX,
)
from models.kafka.groups.episode_incidents import add_incidents, apart_us, gap_us
from models.kafka.groups.model_states import ModelStates
from models.kafka.groups.offset_expiry import End, empty_at_the_end, removal_incidents, retention_in_force
from models.kafka.groups.state_rows import TransitionRows
from models.kafka.hypotheses.window import RebalanceContext
from models.kafka.observations.actions import MemberAction, actions_in
from models.kafka.observations.attribution import attributed_events
from models.kafka.observations.client_clocks import Skews
from models.kafka.observations.client_ids import Clients, log_of
from models.kafka.observations.client_states import ClientStates
from models.kafka.observations.knowledge import GroupKnowledge, end_session, learn
from models.kafka.observations.log_authors import LogAuthors
from models.kafka.observations.roster import Roster
from models.kafka.outages.outage_incidents import CLOCKS_US, departures_of
from models.kafka.reconstruction.classic_log import ClassicReplay, RebalanceWindow
from models.kafka.reconstruction.client_windows import ClientWindows
from models.kafka.reconstruction.epoch_log import ModernReplay
from models.kafka.reconstruction.inferred_windows import adopt
from models.kafka.reconstruction.request_windows import RequestWindows
from models.kafka.verdicts.history import GroupHistory
from models.kafka.verdicts.impact import Impact
from models.kafka.verdicts.rebalance_rows import VerdictWriter
from models.rows import KAFKA
from models.units import FOREVER

_FACTS = "facts"
_STORED_AS = {"_ranked": "_settled", "_due_at": "_judged_at"}  # names in checkpoints of fields that were renamed since

_CHECKPOINT_FIELDS = (
    "roster", "knowledge", "classic", "modern", "windows", "requests", "writer", "chronicle", "open", "actions", "authors", "clients",
    "skews", "impact", "client_states", "states", "refusals", "returns", "conditions", "event_count", "_skew_of_log", "_behind", "_ranked",
    "_over", "_due_at", "_now",
)  # fmt: skip
"""Fields of a stage that a checkpoint holds.

All but the names, the facts and the limits, which it is given, and rows that are final.
"""


@dataclass(slots=True)
class GroupStage:
    """Holds what is open of one group; closes windows in order."""

    cluster: str
    group: str
    facts: ClusterFacts
    limits: Limits = field(default_factory=Limits)
    roster: Roster = field(default_factory=Roster)
    knowledge: GroupKnowledge = field(default_factory=GroupKnowledge)
    classic: ClassicReplay = field(init=False)
    modern: ModernReplay = field(init=False)
    windows: ClientWindows = field(default_factory=ClientWindows)
    writer: VerdictWriter = field(init=False)
    chronicle: TransitionRows = field(init=False)
    open: GroupHistory = field(default_factory=GroupHistory)
    """Ranked rebalances of an episode that may still go on."""
    final: GroupHistory = field(default_factory=GroupHistory)
    """Rows that nothing later changes."""
    actions: list[MemberAction] = field(default_factory=list)
    authors: LogAuthors = field(default_factory=LogAuthors)
    clients: Clients = field(default_factory=Clients)
    skews: Skews = field(default_factory=Skews)
    impact: Impact = field(default_factory=Impact)
    client_states: ClientStates = field(default_factory=ClientStates)
    states: ModelStates | None = None
    """None unless the states of the model are asked for."""
    requests: RequestWindows = field(default_factory=RequestWindows)
    refusals: Refusals = field(default_factory=Refusals)
    returns: StaticRestarts = field(default_factory=StaticRestarts)
    conditions: StandingConditions = field(default_factory=StandingConditions)
    _skew_of_log: dict[str, int] = field(default_factory=dict)
    _behind: dict[str, int] = field(default_factory=dict)
    """Logs whose clock difference changed after it was put right."""
    _attributed: deque[Event] = field(init=False)
    event_count: int = 0
    """Events that were taken."""
    _ranked: int = 0
    """Windows of `classic` whose causes are ranked."""
    _over: int = 0
    """End times of the rebalances in `open`."""
    _due_at: int = 0
    """The latest time at which a ranked rebalance was due."""
    _now: int = 0
    _departures: list[BrokerDeparture] = field(init=False)
    _gap: int = field(init=False)
    _apart: int = field(init=False)

    def __post_init__(self) -> None:
        self.classic = ClassicReplay(self.roster)
        self.modern = ModernReplay(self.roster)
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
            for name in _CHECKPOINT_FIELDS:
                setattr(stage, name, checkpoint[_STORED_AS.get(name, name)])
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise state_text.UnreadableState(f"not a state of a group: {error}") from error
        while stage._attributed and stage._attributed[0].order_us <= stage._now:
            stage._attributed.popleft()
        return stage

    def state(self) -> str:
        """The checkpoint that `resumed` goes on from.

        To be taken between events of different times, after `advance_to`.
        """
        return state_text.write({_STORED_AS.get(name, name): getattr(self, name) for name in _CHECKPOINT_FIELDS}, {_FACTS: self.facts})

    @property
    def row_count(self) -> int:
        """Number of rows that are not final: a checkpoint's size."""
        return len(self.open.rebalances) + len(self.open.rebalance_members) + len(self.classic.changes) + len(self.modern.windows)

    def feed(self, event: Event) -> None:
        """Take the next event of the group."""
        while self._attributed and self._attributed[0].order_us <= event.order_us:
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
        event = self.authors.name(event, self.roster)
        self.event_count += 1
        if event.name == "GroupDied" or (event.name == "ClientJoined" and event.generation and self.windows.begins_anew(event.generation)):
            self._end_of_life()
        learn(self.knowledge, self.roster, event)
        if event.name == "GroupConverted" and text_field(event, "to_type") != "classic":
            self.modern.converted_from(self._members_now())
            self.classic.converted(event)
        if not self.classic.feed(event):
            self.modern.feed(event)
        for log, node in self.skews.feed(event):
            self._behind.setdefault(log, self._skew_of_log.get(log, 0))
            self._skew_of_log[log] = self.skews.bounds[log, node].skew
        self.client_states.feed(event)
        if self.states is not None:
            self.states.feed(event, self.facts.versions.get(event.place.file))
        actor, skew = self.roster.actor(event.member_id, event.client_id, event.instance_id), self._skew_of(event)
        self.impact.feed(event, actor, skew)
        self.refusals.feed(event, event.time_us - skew, actor)
        self.returns.feed(event, self.facts.kept)
        self.conditions.feed(event)
        actions = [self._on_coordinators_clock(action) for action in (*actions_in(event), *self.clients.feed(event, self.knowledge.shared))]
        self._add_actions(actions)
        if event.witness is not Witness.CLIENT or not self.skews.is_of_other_zone(log_of(event.place.file)):
            self.requests.feed(event, event.time_us - skew)
            self.windows.of_epochs = self.modern.epoch is not None and self.requests.epochs.downgrade is None
            self.windows.feed(event, actions, self.roster)
        self._enforce_limits()

    def _infer(self, steps: Iterable[Event]) -> None:
        """Take the coordinator's steps that requests and clients show."""
        for step in steps:
            learn(self.knowledge, self.roster, step)
            if not self.classic.feed(step):
                self.modern.feed(step)
            self._add_actions(actions_in(step))
            self.windows.feed(step, (), self.roster)

    def _add_actions(self, actions: Iterable[MemberAction]) -> None:
        kept_actions = self.actions
        for action in actions:
            if not kept_actions or kept_actions[-1].at <= action.at:  # as nearly all: a search costs more
                kept_actions.append(action)
            else:
                insort(kept_actions, action, key=lambda a: a.at)
            end_session(self.roster, action)

    def _on_coordinators_clock(self, action: MemberAction) -> MemberAction:
        if action.event.witness is not Witness.CLIENT:
            return action
        log = log_of(action.event.place.file)
        skew = self._behind.get(log, self._skew_of_log.get(log, 0))
        return replace(action, at=action.at - skew) if skew else action

    def _skew_of(self, event: Event) -> int:
        return self._skew_of_log.get(log_of(event.place.file), 0) if event.witness is Witness.CLIENT else 0

    def _set_clocks(self) -> None:
        """Correct actions by each log's known clock difference."""
        if not self._behind:
            return
        shifts = {log: self._skew_of_log[log] - skew for log, skew in self._behind.items()}
        self._behind = {}
        for index, action in enumerate(self.actions):
            shift = shifts.get(log_of(action.event.place.file)) if action.event.witness is Witness.CLIENT else None
            if shift:
                self.actions[index] = replace(action, at=action.at - shift)
        self.actions.sort(key=lambda action: action.at)

    def _members_now(self) -> dict[str, str | None]:
        """Known members of the current classic generation."""
        members = self.knowledge.generations.get(self.classic.group.generation or 0, {})
        return {member_id: self.roster.client_of(member_id) for member_id in members.values() if member_id}

    def drain_final(self) -> Iterator[GroupHistory]:
        """Yield final rows once many have gathered."""
        final = self.final
        if (
            len(final.rebalances) + len(final.client_states) + len(final.group_states) >= DRAIN_BATCH_ROWS
            or len(final.rebalance_members) >= EPISODE_MEMBERS_MAX
        ):
            rows, self.final = self.final, GroupHistory()
            yield rows

    def close(self) -> GroupHistory:
        """Rank what is open and return all rows not drained.

        What is final unless something else comes has the time from which on it would be, so that rows don't rest on how far logs reach.
        """
        for event in self._attributed:
            self._process_one(event)
        self.writer.logs_end = max(self._now, self.facts.logs_end or 0)
        self._infer(self.requests.finish(self.writer.logs_end))
        self._advance_watermark(FOREVER)
        for window in self.windows.open_window():
            adopt(self.classic, window, self._ranked)
        while self._oldest_open is not None:
            self._rank_next()
        self.writer.extend_open(self.open.rebalances)
        while self.modern.waiting is not None:
            self._rank_epoch()
        rows, self.open = self.open, GroupHistory()
        last = empty_at_the_end(self.classic, self.modern)
        rows.group_transitions.extend(self.chronicle.transitions(self.classic.changes))
        rows.group_states.extend(self.states.rest() if self.states is not None else ())
        rows.member_sessions.extend(self.writer.sessions(self.roster.members.values(), self.knowledge.settings))
        rows.coordinator_moves.extend(self.chronicle.moves(self.classic.moves))
        self._expire(rows, [*self.classic.deaths, *([(last, None)] if last else [])])
        rows.divergences.extend(self.chronicle.findings(self.classic.findings))
        rows.divergences.extend(self.chronicle.clocks(self.skews))
        rows.divergences.extend(self.chronicle.zones(self.skews))
        rows.client_states.extend(self.client_states.rows(self.cluster, self.group, KAFKA, self._skew_of_log))
        rows.incidents.extend(
            condition_incident(self.cluster, self.group, condition) for condition in self.conditions.open_at(self.writer.logs_end)
        )
        add_incidents(self.cluster, self.group, rows, self.facts, self.limits, self._departures)
        self.final.take(rows)
        self.final.member_sessions.sort(key=lambda row: (row.first_seen_at or 0, row.member_id))
        self.final.client_states.sort(key=lambda row: (row.client_id, row.started_at or 0))
        self.final.incidents.sort(key=badness)
        return self.final

    def _expire(self, rows: GroupHistory, ends: Sequence[End]) -> None:
        """Add the ends of the group and the incidents they are."""
        expired = list(self.chronicle.expirations(ends, retention_in_force(self.facts, self.classic.windows)))
        rows.offset_expirations.extend(expired)
        rows.incidents.extend(removal_incidents(ends, expired, self.facts))

    def _end_of_life(self) -> None:
        """End a life of the group: rank its windows first."""
        while self._take_windows(FOREVER):
            pass
        self.windows.ended()
        while self._ranked < len(self.classic.windows) and self.classic.windows[self._ranked].outcome != "open":
            self._rank_next()
        self.knowledge.end_life()
        self.modern.ended()

    # -- ranking ---------------------------------------------------------------------------------------------

    @property
    def _oldest_open(self) -> RebalanceWindow | None:
        """The first rebalance whose causes are not ranked yet."""
        return self.classic.windows[self._ranked] if self._ranked < len(self.classic.windows) else None

    @property
    def _oldest_open_started_at(self) -> int | None:
        """Start of the first rebalance without ranked causes."""
        began = [waiting.began for waiting in (self._oldest_open, self.modern.waiting) if waiting]
        asked_at = self.requests.waiting_since
        return min([*began, asked_at] if asked_at else began, default=None)

    def _next_due(self) -> tuple[int, Callable[[], None]] | None:
        """Due time of the next rebalance, and the method that ranks it."""
        window, epoch_over = self._oldest_open, self.modern.over_at()
        due_at = (window.ended_at or 0) + ALLOWED_LATENESS_US + 1 if window is not None and window.outcome != "open" else None
        if epoch_over is not None and (due_at is None or epoch_over + ALLOWED_LATENESS_US < due_at):
            return epoch_over + ALLOWED_LATENESS_US + 1, self._rank_epoch
        return None if due_at is None else (due_at, self._rank_next)

    def _advance_watermark(self, until: int) -> None:
        """Rank rebalances that ended long enough ago, and release final rows."""
        self._infer(self.requests.until(until))
        if self.states is not None and (due_at := self.states.due_at) is not None and due_at <= until:
            self.final.take(GroupHistory(group_states=self.states.follow_lines()), final_at=due_at)
        for over_at, refused in self.refusals.over_by(until, self._gap) if self.refusals.spells else ():
            self.final.take(GroupHistory(incidents=[refusal_incident(self.cluster, self.group, refused)]), final_at=over_at)
        for over_at, condition in self.conditions.over_by(until, self._gap):
            self.final.take(GroupHistory(incidents=[condition_incident(self.cluster, self.group, condition)]), final_at=over_at)
        self._end_spell_of_returns(until)
        while (due := self._next_due()) is not None and due[0] <= until:
            at, rank = due
            if self._take_windows(at):
                continue
            self._due_at = max(self._due_at, at)  # where clocks went back, one that waits behind another may be due before it
            rank()
            self._finalise_if_quiet(max(self._now, self._due_at))
        if self._take_windows(until):
            self._advance_watermark(until)
        elif self.open.rebalances:
            quiet_at = self._over + max(self._gap, ALLOWED_LATENESS_US) + 1
            if quiet_at <= until and self._oldest_open_started_at is None:
                self._finalise_if_quiet(max(self._now, quiet_at))

    def _end_spell_of_returns(self, until: int) -> None:
        """Add the incident of static members that came back without a rebalance."""
        over_by = self.returns.over_by(until, self._gap) if self.returns.are_open else None
        incident = return_incident(self.cluster, self.group, over_by[1]) if over_by is not None else None
        if over_by is not None and incident is not None:
            self.final.take(GroupHistory(incidents=[incident]), final_at=over_by[0])

    def _take_windows(self, until: int) -> bool:
        """Adopt windows of members' logs that coordinators can't show any more."""
        due_at = self.windows.due_at
        if due_at is None or due_at > until:
            return False
        for window in self.windows.next_windows():
            adopt(self.classic, window, self._ranked)
        return True

    def _enforce_limits(self) -> None:
        """Rank the oldest rebalances early where too much is held."""
        while (window := self._oldest_open) is not None and window.outcome != "open":
            if len(self.classic.windows) - self._ranked <= UNRANKED_WINDOWS_MAX and len(self.actions) <= ACTIONS_HELD_MAX:
                break
            self._rank_next()
            self._finalise_if_quiet(self._now)
        while len(self.modern.windows) > EPISODE_MAX:
            self._rank_epoch()
            self._finalise_if_quiet(self._now)
        if len(self.actions) > ACTIONS_MAX:
            self._set_clocks()
            del self.actions[:-ACTIONS_HELD_MAX]
        if (
            self.client_states.unwritten_count > max(STRETCHES_MAX, 2 * self.client_states.left)
            and self._oldest_open_started_at is None
            and not self.open.rebalances
        ):
            self._finalise_episode(self._now, before=self._now - ALLOWED_LATENESS_US)

    def _rank_epoch(self) -> None:
        """Rank the causes of the next epoch of the newer protocols."""
        self._set_clocks()
        window = self.modern.windows[self.modern.reported]
        self.writer.add_epoch(self.modern, self.knowledge, self.open)
        self._over = max(self._over, self.open.rebalances[-1].over_at)
        if self._oldest_open is None:
            del self.actions[: bisect_left(self.actions, window.began, key=lambda action: action.at)]
            self.impact.forget(window.began)

    def _rank_next(self) -> None:
        self._set_clocks()
        index = self._ranked
        windows = self.classic.windows
        window = windows[index]
        previous = windows[index - 1] if index else None
        following = windows[index + 1] if index + 1 < len(windows) else None
        self.knowledge.note_others(window.generation_before)
        self.writer.add_rebalance(
            RebalanceContext(window, previous, following, self.actions, self.roster, self.facts, self.knowledge, self.group), self.open
        )
        self._over = max(self._over, self.open.rebalances[-1].over_at)
        self._ranked += 1
        self._forget(window)

    def _forget(self, window: RebalanceWindow) -> None:
        """Drop actions and generations that no later rebalance can ask for."""
        keep_from = window.previous_joined_at
        if keep_from is not None:
            drop = next((i for i, action in enumerate(self.actions) if action.at > keep_from), len(self.actions))
            del self.actions[:drop]
        if window.generation_before is not None:
            self.knowledge.forget_generations(window.generation_before - 1)
        if window.started_at is not None:
            waiting = self.modern.waiting
            self.impact.forget(min(window.started_at, waiting.began if waiting else window.started_at))

    # -- letting go ------------------------------------------------------------------------------------------

    def _finalise_if_quiet(self, at: int) -> None:
        """Release the rows of an episode that is over or too long."""
        if not self.open.rebalances:
            return
        waiting = self._oldest_open_started_at
        quiet = (at - self._over > max(self._gap, ALLOWED_LATENESS_US)) if waiting is None else (waiting - self._over > self._apart)
        if quiet or len(self.open.rebalances) >= EPISODE_MAX or len(self.open.rebalance_members) >= EPISODE_MEMBERS_MAX:
            self._finalise_episode(at, before=(at if waiting is None else min(waiting, at)) - ALLOWED_LATENESS_US)

    def _finalise_episode(self, at: int, before: int) -> None:
        """Close the episode.

        Members and lines from `before` a time are dropped unless something still names them.
        """
        rows, classic = self.open, self.classic
        rows.group_transitions.extend(self.chronicle.transitions(classic.changes[:-1]))  # the last one may be taken back
        del classic.changes[:-1]
        moved = list(takewhile(lambda move: move.arrived.time_us <= self._over + CLOCKS_US, classic.moves))  # others may concern what comes
        rows.coordinator_moves.extend(self.chronicle.moves(moved))
        classic.moves = classic.moves[len(moved) :]
        self._expire(rows, classic.deaths)
        findings = list(takewhile(lambda finding: finding.event.time_us <= self._over, classic.findings))
        rows.divergences.extend(self.chronicle.findings(findings))
        classic.findings = classic.findings[len(findings) :]
        classic.deaths = []
        gone = self._inactive_clients(before)
        rows.client_states.extend(self.client_states.rows(self.cluster, self.group, KAFKA, self._skew_of_log, before, gone))
        self._forget_clients(gone)
        past = self.roster.inactive_since(before, self._named())
        rows.member_sessions.extend(self.writer.sessions(past, self.knowledge.settings))
        add_incidents(self.cluster, self.group, rows, self.facts, self.limits, self._departures)
        self.final.take(rows, final_at=at)
        self.open, self._over = GroupHistory(), 0
        del classic.windows[: max(self._ranked - 1, 0)]
        self._ranked = min(self._ranked, 1)
        clients = self.roster.forget(past)
        self.writer.forget(past)
        self.knowledge.forget(past, clients, before)
        self.modern.forget(past)
        self.skews.forget(before)

    def _named(self) -> set[str | None]:
        """Ids of members that an open question is about."""
        named = {member_id for members in self.knowledge.generations.values() for member_id in members.values()}
        return named | {action.member_id for action in self.actions} | self.modern.named()

    def _inactive_clients(self, before: int) -> set[tuple[str, str]]:
        """Clients, by log and client id, silent for long."""
        logs = {log_of(action.event.place.file) for action in self.actions}
        return {key for key in self.client_states.silent_clients(before) if key[0] not in logs}

    def _forget_clients(self, clients: set[tuple[str, str]]) -> None:
        """Write rows about these clients and their clocks, and discard them."""
        if not clients:
            return
        logs = self.client_states.forget(clients)
        self.open.divergences.extend(self.chronicle.clocks(self.skews, logs))
        self.skews.forget_logs(logs)
        self.authors.forget(logs)
        self.clients.forget(clients)
        self._set_clocks()
        for log in logs:
            self._skew_of_log.pop(log, None)
