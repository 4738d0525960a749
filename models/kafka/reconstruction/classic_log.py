"""Replays the lines of classic groups into states, generations and rebalance windows.

A window is one entry into PreparingRebalance with what followed. Who caused it is decided later, by
`models.kafka.hypotheses.ranking`, when enough of what came after it is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from models.events import Event, Witness, int_field, text_field
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_states import (
    CoordinatorRelocation,
    LoggedGroup,
    ObservedTransition,
    RebalanceWindow,
    UnexpectedLine,
    enter_state,
)
from models.tolerances import USUAL_REBALANCE_TIMEOUTS_MS
from models.units import US_PER_MS

LONGEST_SYNC_US = USUAL_REBALANCE_TIMEOUTS_MS[0] * US_PER_MS
"""Consumers' default rebalance timeout, after which a leader that sends no assignment is removed."""

_ENDS_OF_SYNCS = frozenset({"pending_sync_expiration", "sync_store_error"})
"""Reasons of rebalances that follow a generation without an assignment."""

INFERRING = frozenset({Witness.REQUEST, Witness.CLIENT})
"""Witnesses that show what a coordinator did without its own words."""


@dataclass(slots=True)
class ClassicReplay:
    """Replays one group. Feed events in order; read `windows`, `changes` and `findings`."""

    roster: Roster
    group: LoggedGroup = field(default_factory=LoggedGroup)
    node: str | None = None
    windows: list[RebalanceWindow] = field(default_factory=list)
    changes: list[ObservedTransition] = field(default_factory=list)
    findings: list[UnexpectedLine] = field(default_factory=list)
    moves: list[CoordinatorRelocation] = field(default_factory=list)
    empty_since: Event | None = None
    deaths: list[tuple[Event | None, Event]] = field(default_factory=list)
    """Ends of the group: its line, and when it went empty.

    The second where the logs show it.
    """
    _unloaded: Event | None = None
    _loaded: Event | None = None
    _last_joined_at: int | None = None
    _last_ended_at: int | None = None
    _ordinals: dict[int | None, int] = field(default_factory=dict)
    _loaded_members: dict[str, int | None] = field(default_factory=dict)
    _ended_again: bool = False
    _clients_node: str | None = None
    """The coordinator by members' logs, until its own lines are known."""
    _lost: Event | None = None
    """First line of a member that lost this coordinator."""
    _has_assignments: bool = False
    """True once a line shows that a leader's assignment came."""
    _lacks_assignments: bool = False
    """True if their lines are missing: others were picked out.

    A leader that sends no assignment is removed after its session or the rebalance timeout.
    """

    def feed(self, event: Event) -> bool:
        """Process one event; True for a line of the classic coordinator."""
        handler = _HANDLERS.get(event.name)
        if handler is None:
            return False
        handler(self, event)
        return True

    @property
    def is_unloaded(self) -> bool:
        """Whether the coordinator gave the group up, and none that is logged has it."""
        return self._unloaded is not None

    @property
    def current(self) -> RebalanceWindow | None:
        """The rebalance that is under way."""
        return self.windows[-1] if self.windows and self.windows[-1].outcome == "open" else None

    def next_ordinal(self, generation: int | None) -> int:
        """Number the rebalances that begin in one generation."""
        ordinal = self._ordinals.get(generation, 0)
        self._ordinals[generation] = ordinal + 1
        return ordinal

    def note_phases(self, window: RebalanceWindow) -> None:
        """Keep when the phases of the latest rebalance ended."""
        self._last_joined_at = window.open_until
        self._last_ended_at = window.ended_at

    def converted(self, event: Event) -> None:
        """End what is under way: the group becomes a consumer group.

        KIP-848.
        """
        if self.current is not None:
            self._close(self.current, "superseded", event)

    # -- steps ---------------------------------------------------------------------------------------------

    def _move(self, after: State, event: Event, generation: int | None, member_count: int | None = None) -> int:
        """Set the state, note the steps, and count the inferred ones."""
        steps = enter_state(self.group, after)
        if generation is not None:
            self.group.generation = generation
        self.group.member_count = member_count
        for step in steps:
            leader = None if step.inferred else self.group.leader
            self.changes.append(ObservedTransition(step.before, step.after, step.inferred, event, generation, member_count, leader))
        return len(steps) if event.witness in INFERRING else sum(step.inferred for step in steps)

    def _close(self, window: RebalanceWindow, outcome: str, event: Event) -> None:
        window.outcome = outcome
        window.ended = event
        window.ended_at = event.time_us
        self._last_ended_at = window.ended_at
        if outcome == "coordinator_lost" and self.group.state is not window.state_before:
            # What was not finished is not in the offsets topic: the next coordinator finds the group in its former state.
            if window.state_before is not None:
                lost = ObservedTransition(
                    self.group.state, window.state_before, True, event, window.generation_before, None, None, was_taken_back=True
                )
                self.changes.append(lost)
            self.group.state = window.state_before

    def _open(self, event: Event, generation_before: int | None, state_before: State | None, *, has_started: bool) -> RebalanceWindow:
        window = RebalanceWindow(
            self.next_ordinal(generation_before),
            generation_before,
            state_before,
            event.node,
            event.partition,
            event if has_started else None,
        )
        window.members_before = 0 if state_before is State.EMPTY else self.group.member_count
        window.previous_joined_at = self._last_joined_at
        window.previous_ended_at = self._last_ended_at
        window.load_before = self._loaded
        window.witness = event.witness if event.witness in INFERRING else Witness.COORDINATOR
        self.windows.append(window)
        return window

    def _open_without_start(self, event: Event) -> RebalanceWindow:
        """Open a rebalance whose start is not in the log.

        Further ones may be missing before it.
        """
        before = event.generation - 1 if event.generation is not None else None
        known = self.group.generation
        if known is not None and before is not None and before != known:
            self.findings.append(UnexpectedLine(f"generation {known + 1}", f"generation {before + 1}", event))
        window = self._open(event, before, State.EMPTY if before == 0 else self.group.state, has_started=False)
        window.inferred_steps += 1
        return window

    def _follow_coordinator(self, event: Event) -> None:
        """Follow the group to the node that writes now.

        A rebalance left open there lost its coordinator.
        """
        if event.node is None or event.node == self.node:
            return
        if self.node is not None:
            current = self.current
            if current is not None and self._unloaded is None and self._was_passed(current, event):
                self._end_passed(current)
            elif current is not None:
                self._close(current, "coordinator_lost", self._unloaded or event)
            self.moves.append(CoordinatorRelocation(self.node, event.node, self._unloaded, event))
        self.node = event.node
        self._unloaded = None

    # -- the coordinator's lines -----------------------------------------------------------------------------

    def _rebalance_started(self, event: Event) -> None:
        self._follow_coordinator(event)
        if text_field(event, "reason_id") == "sync_store_error":
            self._undo_unstored_assignment()
        generation = event.generation
        known = self.group.generation
        state_before = self.group.state
        if known is not None and generation is not None and generation != known:
            state_before = self._handle_generation_jump(event, known, generation)
        current = self.current
        if generation == 0 or state_before is State.DEAD:
            state_before = State.EMPTY
            self.group.state = self.group.state or State.EMPTY
        if current is not None and self._has_unlogged_end(current, event):
            self._end_unlogged(current)
            state_before = self.group.state
        elif current is not None:
            current.inferred_steps += current.joined is None
            self._close(current, "superseded", event)
        window = self._open(event, generation, state_before, has_started=True)
        window.inferred_steps += self._move(State.PREPARING_REBALANCE, event, generation, window.members_before)
        reason_state = text_field(event, "reason_state")
        if window.state_before is None and reason_state in {State.STABLE, State.COMPLETING_REBALANCE}:
            window.state_before = State(reason_state)

    def _undo_unstored_assignment(self) -> None:
        """Undo an assignment that could not be written.

        The group has never been Stable (storeGroup).
        """
        last = self.changes[-1] if self.changes else None
        window = self.windows[-1] if self.windows else None
        if last is None or window is None or window.outcome != "stable" or window.ended is not last.event:
            return
        self.changes.pop()
        self.group.state = last.before
        window.outcome, window.ended, window.ended_at = "open", None, None
        self._last_ended_at = window.previous_ended_at

    def _handle_generation_jump(self, event: Event, known: int, generation: int) -> State | None:
        """Handle a generation that does not follow the last one.

        A new life, a failover, or lost lines.
        """
        if generation == 0:
            self.group.state = State.EMPTY  # generations begin anew only with a new group object
            return State.EMPTY
        if self._ended_again and generation > known:
            return self.group.state
        self.findings.append(UnexpectedLine(f"generation {known}", f"generation {generation}", event))
        self.group.state = None
        self.group.member_count = None
        current = self.current
        if current is not None and self._was_passed(current, event):
            self._end_passed(current)
        elif current is not None:
            self._close(current, "superseded" if generation > known else "coordinator_lost", event)
        return None

    def _was_passed(self, window: RebalanceWindow, event: Event) -> bool:
        """Whether missing lines lead on from a rebalance to a later one's.

        Either its own generation is in force, or later ones are and it is long ago.
        """
        before, generation = window.generation_before, event.generation
        if before is None or generation is None:
            return False
        is_next = window.joined is None and generation == before + 1
        return is_next or (generation > before + 1 and event.time_us - window.began > LONGEST_SYNC_US)

    def _end_passed(self, window: RebalanceWindow) -> None:
        """End a rebalance whose generation was reached by missing lines; nothing tells when."""
        window.inferred_steps += 1 + (window.joined is None)
        window.generation_after, window.outcome = (window.generation_before or 0) + 1, "stable"

    def _joining(self, event: Event) -> RebalanceWindow:
        """The rebalance whose join phase an event ends.

        Without one in the join phase, it is a rebalance whose start no line shows.
        """
        window = self.current
        if window is not None and window.joined is None:
            return window
        if window is not None and self._has_unlogged_end(window, event):
            self._end_unlogged(window)
        elif window is not None:
            self._close(window, "superseded", event)
        return self._open_without_start(event)

    def _has_unlogged_end(self, window: RebalanceWindow, event: Event) -> bool:
        """Whether a generation that another follows got its assignment, without a line."""
        if self._has_assignments or window.joined is None or text_field(event, "reason_id") in _ENDS_OF_SYNCS:
            return False
        return self._lacks_assignments or event.time_us - window.joined.time_us > LONGEST_SYNC_US

    def _end_unlogged(self, window: RebalanceWindow) -> None:
        """End a rebalance whose assignment no line shows, nor when it came."""
        self._lacks_assignments = True
        window.outcome = "stable"
        window.inferred_steps += 1
        if window.joined is not None:
            step = (self.group.state, State.STABLE, True, window.joined, window.generation_after, window.members_after, None)
            self.changes.append(ObservedTransition(*step))
        self.group.state = State.STABLE

    def _generation_started(self, event: Event) -> None:
        self._follow_coordinator(event)
        began = self.current
        window = self._joining(event)
        if window is began and window.generation_before is not None and event.generation != window.generation_before + 1:
            self.findings.append(UnexpectedLine(f"generation {window.generation_before + 1}", f"generation {event.generation}", event))
            window.unexplained_lines += 1
        if window.started is None and window.generation_before is None and event.generation is not None:
            window.generation_before = event.generation - 1
        window.joined = event
        window.generation_after = event.generation
        window.members_after = int_field(event, "member_count")
        window.partition = event.partition if event.partition is not None else window.partition
        self._last_joined_at = event.time_us
        window.inferred_steps += self._move(State.COMPLETING_REBALANCE, event, event.generation, window.members_after)
        if self._lacks_assignments:
            self._end_unlogged(window)

    def _assignment_received(self, event: Event) -> None:
        self._follow_coordinator(event)
        if self._lacks_assignments:
            self._reopen(event)
        self._has_assignments, self._lacks_assignments = True, False
        window = self.current
        if self.group.state is State.STABLE and event.generation == self.group.generation:
            return  # the leader's SyncGroup was sent again
        if window is None:
            window = self._open_without_start(event)
            window.generation_after = event.generation
            window.inferred_steps += 1
        elif window.joined is None:
            window.generation_after = event.generation
            window.inferred_steps += 1
        if window.joined is None:
            self._last_joined_at = event.time_us  # its line is lost, and the join phase was over by now
        window.leader = event.member_id or window.leader
        window.members_after = int_field(event, "member_count") or window.members_after
        self.group.leader = event.member_id
        self._move(State.STABLE, event, event.generation, window.members_after)
        self._close(window, "stable", event)

    def _reopen(self, event: Event) -> None:
        """Take back the end of a generation whose assignment is logged after all."""
        if not (self.windows and self.changes):
            return
        window, last = self.windows[-1], self.changes[-1]
        if window.outcome == "stable" and window.generation_after == event.generation and last.event is window.joined:
            self.changes.pop()
            self.group.state = last.before
            window.outcome = "open"
            window.inferred_steps -= 1

    def _group_emptied(self, event: Event) -> None:
        self._follow_coordinator(event)
        window = self._joining(event)
        window.joined = event
        window.generation_after = event.generation
        window.members_after = 0
        self._last_joined_at = event.time_us
        self.group.leader = None
        self._move(State.EMPTY, event, event.generation, 0)
        self._close(window, "empty", event)
        self.empty_since = event

    def _group_loaded(self, event: Event) -> None:
        if (current := self.current) is not None:
            self._close(current, "coordinator_lost", self._unloaded or event)
        if self.node is not None and event.node is not None and event.node != self.node:
            self.moves.append(CoordinatorRelocation(self.node, event.node, self._unloaded, event))
        self.node = event.node or self.node
        self._unloaded = None
        self._loaded = event
        members = int_field(event, "member_count")
        if members is None and self._loaded_members:
            # Every record of the group is read, of older generations too; the last one counts (GroupMetadataManager.loadGroup).
            members = sum(generation in (None, event.generation) for generation in self._loaded_members.values())
        elif members is None and self.empty_since is not None and event.generation == self.empty_since.generation is not None:
            members = 0  # later generations were not written
        self._loaded_members = {}
        known = self.group.generation
        is_older = event.generation is not None and known is not None and event.generation < known  # that it became empty was not written
        self.group.generation = event.generation if event.generation is not None else known
        had_members = members > 0 if members is not None else self.group.member_count != 0 or is_older
        after = State.STABLE if had_members else State.EMPTY
        self.group.member_count = members if members is not None or is_older else self.group.member_count
        if self.group.state is not after:
            self.changes.append(ObservedTransition(self.group.state, after, False, event, self.group.generation, members, None))
            self.group.state = after

    def _member_loaded(self, event: Event) -> None:
        if event.member_id:
            self._loaded_members[event.member_id] = event.generation

    def _group_unloaded(self, event: Event) -> None:
        if event.node is not None and self.node is not None and event.node != self.node:
            return  # an old coordinator clears what another one has taken over already
        self._unloaded = event
        current = self.current
        if current is not None:
            self._close(current, "coordinator_lost", event)

    def _group_died(self, event: Event) -> None:
        current = self.current
        if current is not None:
            self._close(current, "dead", event)
        if self.group.state is not State.DEAD:
            self.deaths.append((self.empty_since if self.group.state is State.EMPTY else None, event))
            self._move(State.DEAD, event, None, 0)
        self.group.generation = None
        self.group.leader = None

    def _members_not_rejoined(self, event: Event) -> None:
        """Note members removed as a phase ended.

        Of a phase that was over before, the timer was tried again.

        The Java coordinator does so while replicas don't confirm its writes: the generation rises, and no line says that
        (EventBasedCoordinatorTimer, ClassicGroup.initNextGeneration).
        """
        current = self.current
        if current is None and self.group.state is None and event.name == "MembersNotRejoined":
            current = self._open_without_start(event)  # the log begins as a phase ends
        self._ended_again = event.name == "MembersNotRejoined" and (current is None or current.joined is not None)
        if current is not None:
            current.extra.append(event)

    def _lost_by_client(self, event: Event) -> None:
        self._lost = self._lost or event
        self._clients_node = self._clients_node or event.node

    def _found_by_client(self, event: Event) -> None:
        """A member found its coordinator.

        Another one than before is a move, unless coordinators' own lines are there to show it.
        """
        if self.node is not None or event.node is None:
            return
        if self._clients_node not in {None, event.node}:
            self.moves.append(CoordinatorRelocation(self._clients_node, event.node, self._lost, event))
            self._loaded = event
        self._clients_node, self._lost = event.node, None

    def load_before(self, at: int) -> Event | None:
        """The last load of the group before a time, if known."""
        return self._loaded if self._loaded is not None and self._loaded.time_us <= at else None

    def _member_hint(self, event: Event) -> None:
        """Lines that print the group's state tell it where nothing else did."""
        state = text_field(event, "state")
        if self.group.state is None and state in set(State):
            self.group.state = State(state)
            self.changes.append(ObservedTransition(None, State(state), True, event, self.group.generation, None, None))


_HANDLERS: dict[str, Callable[[ClassicReplay, Event], None]] = {
    "RebalanceStarted": ClassicReplay._rebalance_started,
    "GenerationStarted": ClassicReplay._generation_started,
    "AssignmentReceived": ClassicReplay._assignment_received,
    "GroupEmptied": ClassicReplay._group_emptied,
    "GroupLoaded": ClassicReplay._group_loaded,
    "MemberLoaded": ClassicReplay._member_loaded,
    "GroupUnloaded": ClassicReplay._group_unloaded,
    "GroupDied": ClassicReplay._group_died,
    "MembersNotRejoined": ClassicReplay._members_not_rejoined,
    "SyncMissing": ClassicReplay._members_not_rejoined,
    "NoMemberRejoined": ClassicReplay._members_not_rejoined,
    "GroupStoreFailed": ClassicReplay._members_not_rejoined,
    "ClientCoordinatorLost": ClassicReplay._lost_by_client,
    "ClientCoordinatorFound": ClassicReplay._found_by_client,
    "MemberIdHandedOut": ClassicReplay._member_hint,
    "MemberAdded": ClassicReplay._member_hint,
    "PendingMemberJoined": ClassicReplay._member_hint,
    "StaticMemberReplaced": ClassicReplay._member_hint,
}
