"""Lines that a version writes of a coordinator's changes, at visible levels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from models.kafka.coordinator.announcements import ANNOUNCED_MESSAGES, announce
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.outcomes import LoggedChange, StateTransition
from models.kafka.coordinator.runtime.version_policy import Policy

DEFAULT_LEVELS = frozenset({"INFO", "WARN", "ERROR", "FATAL"})
"""Events that Kafka's default log4j settings write to server.log."""

ASIDE = frozenset({"StaticMemberKept", "LeaderReplaced", "CoordinatorNote", "OffsetsExpired", "GroupsDeleted", "MemberLoaded"})
"""Events whose lines may be missing beside a group's own lines.

They name no group, or say nothing that others do not say.
"""


@dataclass(frozen=True, slots=True)
class ExpectedLine:
    """A line that the model would write, with the group's state then.

    State and generation are None where there is no group.
    """

    event: str
    at_ms: int
    fields: Mapping[str, Any]
    state: State | None
    generation: int | None

    @property
    def is_optional(self) -> bool:
        """Whether a group's own lines may lack it."""
        return self.event in ASIDE


@dataclass(frozen=True, slots=True)
class Sight:
    """Events of a version's coordinator that a log shows."""

    policy: Policy
    levels: frozenset[str] = DEFAULT_LEVELS
    _shown: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        shown = frozenset(event for event, rule in ANNOUNCED_MESSAGES.items() if rule.level(self.policy) in self.levels)
        object.__setattr__(self, "_shown", shown)

    def shows(self, event: str) -> bool:
        """Whether lines of this event stand in the log."""
        return event in self._shown

    @property
    def shows_joins(self) -> bool:
        """Whether nobody becomes a member without a line."""
        return self.shows("MemberAdded") and (not self.policy.hands_out_member_ids or self.shows("PendingMemberJoined"))

    @property
    def shows_departures(self) -> bool:
        """Whether every departure writes a line, but refusals for the group's size."""
        return self.shows("MemberLeft") and self.shows("MembersNotRejoined")

    @property
    def shows_pending(self) -> bool:
        """Whether ids that are handed out, and their fate, can be seen."""
        return self.shows("MemberIdHandedOut") and self.shows("PendingMemberJoined")


def expected_lines(
    sight: Sight, changes: Iterable[StateTransition | LoggedChange], group_id: str, before: tuple[State | None, int | None]
) -> Iterator[ExpectedLine]:
    """List the lines of one group in their order.

    `before` are its state and generation before the changes.
    """
    state, generation = before
    for change in changes:
        if isinstance(change, StateTransition):
            if change.group == group_id:
                state, generation = change.after, change.generation
            continue
        if change.group not in ("", group_id):
            continue
        line = announce(sight.policy, change, 0, 0)
        if line is not None and line.level in sight.levels:
            shown = State.EMPTY if state is None and change.group else state
            yield ExpectedLine(change.event, line.at_ms, line.fields, shown, change.generation if change.group else generation)
