"""Durations as typed by users and as told to them."""

from __future__ import annotations

import re
from collections.abc import Collection
from decimal import Decimal

from models.tolerances import float_tolerance
from models.units import US_PER_MS, US_PER_SECOND

UNITS_US = {
    "ms": US_PER_MS,
    "s": US_PER_SECOND,
    "m": 60 * US_PER_SECOND,
    "min": 60 * US_PER_SECOND,
    "h": 3_600 * US_PER_SECOND,
    "d": 86_400 * US_PER_SECOND,
    "w": 604_800 * US_PER_SECOND,
}
"""Microseconds per unit."""
MILLISECONDS_BELOW_SECONDS = float_tolerance("durations.milliseconds_below_seconds")
TENTHS_BELOW_SECONDS = float_tolerance("durations.tenths_below_seconds")
"""Shorter durations are told in milliseconds, or in tenths of seconds."""
_SPAN = re.compile(r"(?P<whole>\d+)(?P<rest>(?:\.\d+)?\s*)(?P<unit>[a-z]+)")


def span_us(text: str, units: Collection[str] = UNITS_US.keys(), *, is_whole: bool = False) -> int | None:
    """Microseconds of a duration, None if the text is none.

    With `is_whole` it must be a whole number directly before its unit.
    """
    match = _SPAN.fullmatch(text)
    if match is None or match["unit"] not in units or (is_whole and match["rest"]):
        return None
    return round(Decimal(match["whole"] + match["rest"].rstrip()) * UNITS_US[match["unit"]])


def spell(seconds: float) -> str:
    """A duration for people, such as 3 min 33 s.

    Used in reasons of blockers, headlines, screens and pages.
    """
    if seconds < MILLISECONDS_BELOW_SECONDS:
        return f"{round(seconds * 1000)} ms"
    if seconds < TENTHS_BELOW_SECONDS:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, smaller_unit in ((86_400, "d", 3_600, "h"), (3_600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit} {rest} {smaller_unit}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"
