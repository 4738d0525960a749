"""Infers a coordinator's version from its wording, where nothing else tells.

The last one that words them so.

What a wording tells is a bound from below; of the versions that share it, the one that most clusters run is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from models.events import Event, text_field
from models.kafka.coordinator.runtime.version_policy import Policy, parse_version, policy_for

OLDEST = "1.1.1"
"""Version without any hint: reasons are written since 2.1."""

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
"""Versions with the first line of their wording, newest first.

From the catalogue of messages, `seen_in`.
"""


JAVA_ONLY = "4.0.0"
PREVIEW = "3.9.0"
"""The last version with both coordinators.

Its coordinator in Java does not log joins of ids that were handed out."""


def version_of(lines: Iterable[Event]) -> str:
    """The newest version that a line hints at."""
    known = list(lines)
    versions = (next((version for version, writes in HINTS if writes(line)), OLDEST) for line in known)
    version = max(versions, key=parse_version, default=OLDEST)
    return PREVIEW if version == JAVA_ONLY and _joins_silently(known) else version


def is_java(lines: Iterable[Event]) -> bool:
    """Whether the coordinator in Java wrote these lines."""
    return any(event.group is not None and ("[GroupCoordinator id=" in event.text or JAVA_LOGGERS in event.text) for event in lines)


JAVA_LOGGERS = "(org.apache.kafka.coordinator."


def policy_of(lines: Sequence[Event], version: str | None = None) -> Policy:
    """Rules of the coordinator that wrote these lines.

    The version is given or guessed from them. Raises ValueError if it has no number.
    """
    chosen = version or version_of(lines)
    return policy_for(chosen, is_java=is_java(lines) or None)


def _joins_silently(lines: Sequence[Event]) -> bool:
    """Whether only a rebalance's reason shows that a handed-out id joins."""
    handed = {line.member_id for line in lines if line.name == "MemberIdHandedOut"}
    begun = (line for line in lines if line.name == "RebalanceStarted" and text_field(line, "reason_id") == "new_member")
    silent = any(text_field(line, "reason_member_id") in handed for line in begun)
    return silent and all(line.name != "PendingMemberJoined" for line in lines)
