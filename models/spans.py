"""Spans of time as people type them: 250ms, 30s, 5m, 1.5h, 30d."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal

UNITS_US = {
    "ms": 1_000,
    "s": 1_000_000,
    "m": 60_000_000,
    "min": 60_000_000,
    "h": 3_600_000_000,
    "d": 86_400_000_000,
    "w": 604_800_000_000,
}
"""Microseconds of each unit."""
_SPAN = re.compile(r"(?P<whole>\d+)(?P<rest>(?:\.\d+)?\s*)(?P<unit>[a-z]+)")


def span_us(text: str, units: Collection[str] = UNITS_US.keys(), *, whole: bool = False) -> int | None:
    """Microseconds of a span in one of these units; None where it is none. A `whole` one is a whole number right before its unit."""
    found = _SPAN.fullmatch(text)
    if found is None or found["unit"] not in units or (whole and found["rest"]):
        return None
    return round(Decimal(found["whole"] + found["rest"].rstrip()) * UNITS_US[found["unit"]])
