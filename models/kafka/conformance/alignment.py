"""Compares lines that the model writes with lines of a log.

Which agree, which are missing, and in which fields they differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from models.events import Event, int_field, names_field, text_field
from models.kafka.conformance.expected_lines import ExpectedLine
from models.kafka.conformance.explanation import is_named

SAME_REASONS: Mapping[str, str] = {
    "static_update": "static_member_update",
    "static_protocol_change": "static_member_protocol_change",
}
"""Reasons that the model and the catalogue of messages call differently."""
UNTOLD_REASONS = frozenset({"leader_rejoin", "update_metadata", "member_joining"})
"""Reasons that versions word alike."""


@dataclass(frozen=True, slots=True)
class Alignment:
    """Agreement of expected lines with those that follow in a log."""

    matched: int
    missing: int
    differing: tuple[str, ...]

    @property
    def is_clean(self) -> bool:
        """Whether all that is expected is there."""
        return not self.missing and not self.differing


def align(expected: Iterable[ExpectedLine], seen: Sequence[Event]) -> Alignment:
    """Put expected lines beside those of a log, in order.

    What the log has beyond them is not looked at.
    """
    place = missing = matched = 0
    differing: list[str] = []
    for line in expected:
        index = next((number for number in range(place, len(seen)) if seen[number].name == line.event), None)
        if index is None or not all(is_aside(line) for line in seen[place:index]):
            missing += not line.is_optional
            continue
        differing += differences(line, seen[index])
        place = index + 1
        matched += 1
    return Alignment(matched, missing, tuple(differing))


def is_aside(event: Event) -> bool:
    """Whether a line may stand between others because it names no group."""
    return event.group is None


def differences(line: ExpectedLine, event: Event) -> list[str]:
    """Fields in which a line of a log differs from the expected.

    What either does not tell can't differ.
    """
    return [name for name, differs in COMPARED.items() if differs(line.fields, event)]


def _generation(fields: Mapping[str, Any], event: Event) -> bool:
    return event.name in TELLING_GENERATION and event.generation is not None and event.generation != fields.get("generation")


def _member(fields: Mapping[str, Any], event: Event) -> bool:
    expected = fields.get("member_id")
    return bool(expected and event.member_id) and is_named(str(expected)) and expected != event.member_id


def _count(fields: Mapping[str, Any], event: Event) -> bool:
    member_count = int_field(event, "member_count")
    return member_count is not None and "member_count" in fields and member_count != fields["member_count"]


def _members(fields: Mapping[str, Any], event: Event) -> bool:
    member_names = names_field(event, "members")
    return bool(member_names) and "members" in fields and set(member_names) != {name for name in fields["members"] if is_named(name)}


def _reason(fields: Mapping[str, Any], event: Event) -> bool:
    reason_id, expected = text_field(event, "reason_id"), fields.get("reason_id")
    if reason_id is None or expected is None or reason_id == "other":
        return False
    expected = SAME_REASONS.get(expected, expected)
    return reason_id != expected and not {reason_id, expected} <= UNTOLD_REASONS


def _reason_member(fields: Mapping[str, Any], event: Event) -> bool:
    reason_member, expected = text_field(event, "reason_member_id"), fields.get("reason_member_id")
    return bool(reason_member and expected) and is_named(str(expected)) and reason_member != expected


TELLING_GENERATION = frozenset({"RebalanceStarted", "GenerationStarted", "GroupEmptied", "AssignmentReceived"})
COMPARED: Mapping[str, Callable[[Mapping[str, Any], Event], bool]] = {
    "generation": _generation,
    "member_id": _member,
    "member_count": _count,
    "members": _members,
    "reason_id": _reason,
    "reason_member_id": _reason_member,
}
"""Comparison of a line's fields."""
