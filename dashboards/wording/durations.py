"""Durations for human readers.

A module of its own: headlines are rows, so what this one says decides rows, and what the others say does not.
"""

from __future__ import annotations

from models.durations import spell

NO_VALUE = "–"  # noqa: RUF001 - an en dash, as usual in printed tables


def duration(seconds: float | None) -> str:
    """Two units at most: `340 ms`, `4.2 s`, `3 min 33 s`."""
    if seconds is None:
        return NO_VALUE
    return "-" + spell(-seconds) if seconds < 0 else spell(seconds)
