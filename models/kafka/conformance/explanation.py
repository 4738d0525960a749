"""A state of the reference coordinator with the hidden inputs behind it.

And what is certain of it.

One group is held. Timers fire only where a line shows that they did: neither their deadlines nor the heartbeats that renew them
are known. Members whose id no line has named yet have a made-up one that begins with `NAMELESS_ID`.
"""

from __future__ import annotations

import copy
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace

from models.events import Event
from models.kafka.conformance.expected_lines import ExpectedLine, Sight
from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome, StateTransition
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings
from models.units import US_PER_MS

NAMELESS_ID = "\0"


def is_named(member_id: str) -> bool:
    """Whether a line has told this id."""
    return not member_id.startswith(NAMELESS_ID)


@dataclass(slots=True)
class Guesses:
    """Answers and ids that only lines can tell, and guesses so far."""

    member_id: str = ""
    leader_id: str = ""
    guessed_leader: bool = False
    changes_protocol: bool = False
    unnamed: int = 0

    def make_member_id(self, prefix: str) -> str:  # noqa: ARG002
        """The id that a line tells, or one that stands for it."""
        member_id, self.member_id = self.member_id, ""
        return member_id or self.new_id()

    def new_id(self) -> str:
        """An id for a member that no line has named."""
        self.unnamed += 1
        return f"{NAMELESS_ID}{self.unnamed}"

    def leader(self, group: str, generation: int, at_ms: int, candidates: Collection[str]) -> str:  # noqa: ARG002
        """The leader that a line is known to tell, or a guess."""
        self.guessed_leader = self.leader_id not in candidates
        return next(iter(candidates)) if self.guessed_leader else self.leader_id

    def protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> str:  # noqa: ARG002
        """Any: protocols have no names here."""
        return winners[0]

    def keeps_protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> bool:  # noqa: ARG002
        """Events that the log is known to show."""
        return not self.changes_protocol


@dataclass(slots=True)
class Certainty:
    """Certainty of the model's content, beyond its state."""

    is_state_sure: bool = False
    is_generation_sure: bool = False
    is_leader_sure: bool = False
    was_leader_chosen: bool = False
    """Whether the broker chose the leader among several; no line says so."""
    is_roster_sure: bool = False
    """Whether the members are all named and nobody else is one."""
    is_count_sure: bool = False
    waiting: set[str] = field(default_factory=set)
    """Members that are proven to have a parked join."""
    none_rejoined: bool = False
    """Whether the join phase began with this very line: nobody has rejoined."""
    synced: set[str] = field(default_factory=set)
    none_synced: bool = False
    is_size_doubted: bool = True
    """Whether group.max.size may have thrown members out, which no line says."""
    largest: int = 0
    """The greatest size that a line has told: a lower bound.

    The limit of the group's size is not below it.
    """
    removed: int = 0
    """Members that lines show to have gone in this join phase."""

    def fork(self) -> Certainty:
        """The same for another course of events."""
        return replace(self, waiting=set(self.waiting), synced=set(self.synced))


@dataclass(frozen=True, slots=True)
class HiddenInput:
    """A request or an occurrence that the log itself does not show.

    Times are those of the line shown.
    """

    kind: str
    members: tuple[str, ...] = ()
    instance: str | None = None
    generation: int | None = None
    state: State | None = None
    has_changed: bool = False


@dataclass(frozen=True, slots=True)
class DueTime:
    """Due time of a timer, with its start and its timeout."""

    at_ms: int
    since_ms: int
    timeout: str


@dataclass(frozen=True, slots=True)
class InputLink:
    """A link in the chain of inputs, shared by explanations."""

    at_ms: int
    input: HiddenInput
    evidence: Event
    before: InputLink | None
    depth: int = 1
    due: DueTime | None = None
    """None for requests, and where a timer's start is unknown."""


@dataclass(frozen=True, slots=True)
class ExplainedLine:
    """A line of the log beside the model's.

    Either may be lacking. A link in a chain like `InputLink`.
    """

    line: Event | None
    expected: ExpectedLine | None
    differing: tuple[str, ...]
    due: DueTime | None
    before: ExplainedLine | None

    @property
    def late_ms(self) -> int | None:
        """Delay of the line behind the model's, or behind its timer."""
        if self.line is None or self.expected is None:
            return None
        return self.line.time_us // US_PER_MS - (self.due.at_ms if self.due is not None else self.expected.at_ms)


@dataclass(slots=True)
class Explanation:
    """A course of events that makes the model write the log's lines."""

    group_id: str
    sight: Sight
    coordinator: Coordinator
    guesses: Guesses
    certainty: Certainty
    weight: float = 0.0
    last: InputLink | None = None
    accounted: int = 0
    missing: int = 0
    unexplained: int = 0
    announced: deque[ExpectedLine] = field(default_factory=deque)
    """Lines that the model has written and the log not yet."""
    node: str | None = None
    """The broker that has the group."""
    loading: dict[str, int | None] = field(default_factory=dict)
    """Members that are being read back, with each record's generation."""
    outcomes: list[StateTransition | LoggedChange] = field(default_factory=list)
    requests: int = 0
    keeps_account: bool = False
    """Whether lines are noted: for one window, because chains grow."""
    account: ExplainedLine | None = None

    @classmethod
    def begin(cls, group_id: str, sight: Sight, settings: CoordinatorSettings | None = None) -> Explanation:
        """Nothing is known yet. Without `settings` those of the broker are unknown."""
        guesses = Guesses()
        coordinator = Coordinator(sight.policy, settings, choices=guesses, make_member_id=guesses.make_member_id)
        coordinator.is_held = True
        return cls(group_id, sight, coordinator, guesses, Certainty(is_size_doubted=settings is None))

    def fork(self) -> Explanation:
        """Begin another course of events from here.

        What is past is shared, and so is all that members ever sent.
        """
        guesses = copy.copy(self.guesses)
        return replace(
            self,
            coordinator=self.coordinator.fork(choices=guesses, make_member_id=guesses.make_member_id),
            guesses=guesses,
            certainty=self.certainty.fork(),
            announced=deque(self.announced),
            loading=dict(self.loading),
            outcomes=[],
        )

    @property
    def group(self) -> Group | None:
        """The group as the model holds it."""
        return self.coordinator.shard.groups.get(self.group_id)

    @property
    def state_and_generation(self) -> tuple[State | None, int | None]:
        """State and generation, None without a group."""
        group = self.group
        return (None, None) if group is None else (group.state, group.generation)

    def take(self, outcome: Outcome) -> None:
        """Keep what the coordinator has done."""
        self.outcomes.extend(outcome.changes)

    def note(self, line: Event | None, expected: ExpectedLine | None, differing: Sequence[str] = ()) -> None:
        """Put a line beside what the model wrote."""
        if self.keeps_account:
            last = self.last
            due = last.due if last is not None and line is not None and last.evidence is line else None
            self.account = ExplainedLine(line, expected, tuple(differing), due, self.account)

    def number(self) -> int:
        """A number for a request."""
        self.requests += 1
        return self.requests

    def signature(self) -> tuple[object, ...]:
        """Key of explanations that no later line can distinguish."""
        group = self.group
        if group is None:
            return (None, len(self.announced))
        members = tuple((member.id, member.join is None, member.instance) for member in group.members.values())
        return (group.state, group.generation, group.leader, members, tuple(sorted(group.pending_join)), len(self.announced))
