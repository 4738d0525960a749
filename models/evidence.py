"""From events to the lines that a verdict names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType

from models.events import Event
from models.rows import Evidence

EVIDENCE_TEXT_MAX = 2_000
"""Characters kept of an evidence line; configuration blocks and stack traces run longer."""

EVIDENCE_LINES_MAX = 60
"""Lines kept per verdict: the first and the last ones of a rebalance with thousands of members."""


_NOTHING: Mapping[str, object] = MappingProxyType({})


def line_of(event: Event) -> Event:
    """An event of which nothing is asked any more but when it was, and its line: one that names thousands of partitions is long."""
    return replace(event, message="", text=event.text[:EVIDENCE_TEXT_MAX], fields=_NOTHING)


def evidence(events: Iterable[Event], *, inferred: bool = False) -> list[Evidence]:
    """Evidence rows for events, in the order given."""
    rows = [
        Evidence(event.place.file, event.place.line, event.place.byte_offset, event.text[:EVIDENCE_TEXT_MAX], inferred) for event in events
    ]
    half = EVIDENCE_LINES_MAX // 2
    return rows if len(rows) <= EVIDENCE_LINES_MAX else rows[:half] + rows[-half:]
