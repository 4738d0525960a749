"""Durations for human readers.

A module of its own: headlines are rows, so what this one says decides rows, and what the others say does not.
"""

from __future__ import annotations

NOTHING = "–"  # noqa: RUF001 - an en dash, as usual in printed tables


def duration(seconds: float | None) -> str:
    """Two units at most: `340 ms`, `4.2 s`, `3 min 33 s`."""
    if seconds is None:
        return NOTHING
    if seconds < 0:
        return "-" + duration(-seconds)
    if seconds < 0.9995:
        return f"{round(seconds * 1000)} ms"
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    for size, unit, smaller, smaller_unit in ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s")):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit} {rest} {smaller_unit}" if rest else f"{whole // size} {unit}"
    return f"{whole} s"
