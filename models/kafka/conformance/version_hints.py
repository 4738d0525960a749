"""Which version wrote the lines of a coordinator, where nothing else tells: the last one that words them so.

What a wording tells is a bound from below; of the versions that share it, the one that most clusters run is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from models.events import Event
from models.kafka.coordinator.runtime.version_policy import parse_version

OLDEST = "1.1.1"
"""Where no hint says more: reasons are written since 2.1."""

Hint = tuple[str, Callable[[Event], bool]]
HINTS: Sequence[Hint] = (
    ("4.0.0", lambda event: event.group is not None and "[GroupCoordinator id=" in event.text),
    ("3.9.0", lambda event: event.name == "AssignmentReceived" and event.member_id is not None),
    ("3.9.0", lambda event: "client_reason" in event.fields),
    ("2.8.2", lambda event: event.name == "GenerationStarted" and "member_count" in event.fields),
    ("2.5.1", lambda event: event.name == "MemberAdded"),
    ("2.3.1", lambda event: "reason_instance_id" in event.fields),
    ("2.2.2", lambda event: event.name == "MemberLeft"),
    ("2.1.1", lambda event: "reason_id" in event.fields),
)
"""Version and the line that it is the first to write so (catalogue of messages, `seen_in`), the newest first."""


def version_of(lines: Iterable[Event]) -> str:
    """The newest version that a line hints at."""
    found = (next((version for version, writes in HINTS if writes(line)), OLDEST) for line in lines)
    return max(found, key=parse_version, default=OLDEST)
