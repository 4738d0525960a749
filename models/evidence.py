"""Evidence lines of verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from models.events import Event
from models.rows import Evidence

EVIDENCE_TEXT_MAX = 2_000
"""Maximum characters of an evidence line.

Configuration blocks and stack traces are longer.
"""

EVIDENCE_LINES_MAX = 60
"""Maximum lines per verdict: the first and last ones are kept.

A rebalance with thousands of members has more.
"""


_NOTHING: Mapping[str, object] = MappingProxyType({})

LASTING_FIELDS = ("election", "heard", "silent", "voters")
"""Fields that rows need long after their lines.

How a leader was elected, and who voted.
"""


def line_of(event: Event) -> Event:
    """Reduce an event to its time, line and lasting fields, to save memory.

    Lines that name thousands of partitions are cut.
    """
    lasting = {name: event.fields[name] for name in LASTING_FIELDS if name in event.fields}
    return replace(event, message="", text=event.text[:EVIDENCE_TEXT_MAX], fields=lasting or _NOTHING)


def evidence(events: Iterable[Event], *, inferred: bool = False) -> list[Evidence]:
    """Evidence rows of events, in the given order."""
    rows = [
        Evidence(event.place.file, event.place.line, event.place.byte_offset, event.text[:EVIDENCE_TEXT_MAX], inferred) for event in events
    ]
    half = EVIDENCE_LINES_MAX // 2
    return rows if len(rows) <= EVIDENCE_LINES_MAX else rows[:half] + rows[-half:]
