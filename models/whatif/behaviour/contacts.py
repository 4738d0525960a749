"""Last contacts of silent members, and when the silence began.

A heartbeat prolongs a session, and so does a commit. Both are counted from the last assignment, so that the contact that
did not come any more bounds the silence.
"""

from __future__ import annotations

from models.tolerances import int_tolerance

COMMIT_MS = int_tolerance("whatif.contacts.commit_ms")
"""Default of auto.commit.interval.ms; Java's consumers commit by themselves unless told otherwise."""
NEAR_MS = int_tolerance("whatif.reading.contact_ms")
"""Maximum distance of a contact from the time at which it was due."""


def next_ms(assigned_ms: int, contact_ms: int, heartbeat_ms: int, commit_ms: int | None) -> int:
    """Time at which the contact after the last one was due.

    A heartbeat interval later if the last one was neither a heartbeat nor a commit in time.
    """
    intervals = [heartbeat_ms] if commit_ms is None else [heartbeat_ms, commit_ms]
    after_ms = contact_ms - assigned_ms
    if not any(_is_due(after_ms, interval_ms) for interval_ms in intervals):
        return contact_ms + heartbeat_ms
    return assigned_ms + min(((after_ms + NEAR_MS) // interval_ms + 1) * interval_ms for interval_ms in intervals)


def _is_due(after_ms: int, interval_ms: int) -> bool:
    """Whether a time after an assignment is a whole number of intervals."""
    half_ms = interval_ms // 2
    return after_ms > half_ms and abs((after_ms + half_ms) % interval_ms - half_ms) <= NEAR_MS
