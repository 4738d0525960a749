"""Input of a proposer: explanation, line, and rest of the burst."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from models.events import Event, names_field, text_field
from models.kafka.conformance.explanation import Explanation, HiddenInput
from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.protocol.group_states import State


@dataclass(frozen=True, slots=True)
class Script:
    """Inputs that may stand behind a line, with their weight's name."""

    inputs: tuple[HiddenInput, ...]
    weight: str = "stated"


@dataclass(frozen=True, slots=True)
class Scene:
    """A line in its place."""

    explanation: Explanation
    line: Event
    ahead: Sequence[Event]

    @property
    def group(self) -> Group | None:
        """The group as the model holds it."""
        return self.explanation.group

    @property
    def state(self) -> State | None:
        """Its state in the model."""
        return None if self.group is None else self.group.state

    @property
    def members(self) -> dict[str, Member]:
        """Its members in the model."""
        return {} if self.group is None else self.group.members

    @property
    def member_id(self) -> str:
        """The member that the line names, or that its reason names."""
        return self.line.member_id or text_field(self.line, "reason_member_id") or ""

    @property
    def printed_state(self) -> State | None:
        """The state that the line prints."""
        state = text_field(self.line, "state")
        return State(state) if state in set(State) else None

    def next(self, *events: str) -> Event | None:
        """The line directly behind this one, if of one of these events.

        Lines that name no group may stand between.
        """
        for event in self.ahead:
            if event.name in events:
                return event
            if event.group is not None:
                return None
        return None

    def run_of(self, *events: str) -> Iterator[Event]:
        """This line and those directly behind it with one of these events."""
        yield self.line
        for event in self.ahead:
            if event.name not in events:
                return
            yield event

    def names(self, field: str) -> tuple[str, ...]:
        """A field of the line that lists members."""
        return tuple(names_field(self.line, field))

    def awaited(self, *, but: Sequence[str] = ()) -> tuple[str, ...]:
        """Members without a parked join in the model."""
        return tuple(member.id for member in self.members.values() if member.join is None and member.id not in but)

    def missing(self, *members: str) -> tuple[HiddenInput, ...]:
        """That these were members, where the model does not know them."""
        unknown = tuple(member for member in members if member and member not in self.members)
        return (HiddenInput("be_member", unknown),) if unknown else ()
