"""States of a classic consumer group, the steps between them, and what logs show.

`enter_state` is the only function that sets a state. A log that shows a step which the table forbids is a
finding: the model inserts the step that must have happened unseen, marks it as inferred, and follows the log.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event, Witness
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.times import first_known

# The shortest legal way between two states that a log may show side by side when it lost lines.
_BETWEEN: dict[tuple[State, State], tuple[State, ...]] = {
    (State.STABLE, State.EMPTY): (State.PREPARING_REBALANCE,),
    (State.COMPLETING_REBALANCE, State.EMPTY): (State.PREPARING_REBALANCE,),
    (State.STABLE, State.COMPLETING_REBALANCE): (State.PREPARING_REBALANCE,),
    (State.EMPTY, State.COMPLETING_REBALANCE): (State.PREPARING_REBALANCE,),
    (State.PREPARING_REBALANCE, State.STABLE): (State.COMPLETING_REBALANCE,),
    (State.EMPTY, State.STABLE): (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE),
    (State.COMPLETING_REBALANCE, State.COMPLETING_REBALANCE): (State.PREPARING_REBALANCE,),
    (State.STABLE, State.STABLE): (State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE),
    (State.EMPTY, State.EMPTY): (State.PREPARING_REBALANCE,),
    (State.PREPARING_REBALANCE, State.PREPARING_REBALANCE): (State.COMPLETING_REBALANCE,),
}


@dataclass(frozen=True, slots=True)
class StateStep:
    """One step between two states; `before` is None for the first."""

    before: State | None
    after: State
    inferred: bool


@dataclass(slots=True)
class LoggedGroup:
    """A classic group by its coordinator: state and generation, if known."""

    state: State | None = None
    generation: int | None = None
    leader: str | None = None
    member_count: int | None = None


def enter_state(group: LoggedGroup, after: State) -> list[StateStep]:
    """Put the group into `after` and return the steps taken.

    Unseen ones come first and are marked as inferred.

    Dead is left by a new life of the group: its next state follows a fresh Empty.
    """
    before = group.state
    if before is State.DEAD and after is not State.DEAD:
        before = State.EMPTY
    steps: list[StateStep] = []
    if before is not None and before not in VALID_PREVIOUS[after]:
        for between in _BETWEEN.get((before, after), ()):
            steps.append(StateStep(before, between, True))
            before = between
    steps.append(StateStep(before, after, False))
    group.state = after
    return steps


def next_generation(generation: int | None) -> int | None:
    """The generation that a rebalance leads to."""
    return generation + 1 if generation is not None else None


def leaves_room(before: int | None, after: int | None) -> bool:
    """Whether a generation may lie between two."""
    return before is None or after is None or after > before + 1


@dataclass(slots=True)
class RebalanceWindow:
    """One rebalance as far as the coordinator's lines show it.

    Times are microseconds.
    """

    ordinal: int
    generation_before: int | None
    state_before: State | None
    node: str | None = None
    partition: int | None = None
    started: Event | None = None
    joined: Event | None = None
    ended: Event | None = None
    generation_after: int | None = None
    outcome: str = "open"
    ended_at: int | None = None
    members_before: int | None = None
    members_after: int | None = None
    leader: str | None = None
    protocol_type: str | None = None
    assignor: str | None = None
    inferred_steps: int = 0
    unexplained_lines: int = 0
    previous_joined_at: int | None = None
    previous_ended_at: int | None = None
    load_before: Event | None = None
    extra: list[Event] = field(default_factory=list)
    witness: Witness = Witness.COORDINATOR  # whose lines show it; what others than the coordinator show is inferred

    @property
    def is_inferred(self) -> bool:
        """True if no line of the coordinator shows it."""
        return self.witness is not Witness.COORDINATOR

    @property
    def has_unseen_end(self) -> bool:
        """Whether members' logs alone tell of departures."""
        is_nameless = self.joined is None and self.generation_before is None
        return is_nameless and self.witness is Witness.CLIENT and self.outcome == "superseded"

    @property
    def started_at(self) -> int | None:
        """Start of the join phase, if a line shows it."""
        event = self.started
        return None if event is None else event.time_us

    @property
    def joined_at(self) -> int | None:
        """End of the join phase, if a line shows it."""
        event = self.joined
        return None if event is None else event.time_us

    @property
    def began(self) -> int:
        """Its start, or its first known time."""
        return first_known(self.started_at, self.joined_at, self.ended_at)

    @property
    def open_until(self) -> int | None:
        """End of the join phase, or of the rebalance if unknown."""
        return self.joined_at if self.joined is not None else self.ended_at


@dataclass(frozen=True, slots=True)
class ObservedTransition:
    """A step of the group's state with the event that shows it."""

    before: State | None
    after: State
    inferred: bool
    event: Event
    generation: int | None
    member_count: int | None
    leader: str | None
    was_taken_back: bool = False
    """Whether unfinished work was lost with its coordinator.

    No coordinator takes this step.
    """

    @property
    def trigger(self) -> str:
        """The event that changed the state.

        None where it only shows that the coordinator was lost.
        """
        return COORDINATOR_LOST if self.was_taken_back else self.event.name


COORDINATOR_LOST = "CoordinatorLost"


@dataclass(frozen=True, slots=True)
class UnexpectedLine:
    """Something that the model did not expect."""

    expected: str
    observed: str
    event: Event


@dataclass(frozen=True, slots=True)
class CoordinatorRelocation:
    """A move of the group's coordinator to another node.

    `left` is the line by which the old one gave it up, where there is one.
    """

    from_node: str | None
    to_node: str | None
    left: Event | None
    arrived: Event
