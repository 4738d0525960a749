"""Constants used throughout the models."""

from __future__ import annotations

US_PER_MS = 1_000
US_PER_SECOND = 1_000_000

FOREVER = 1 << 62
"""Later than any time; `-FOREVER` is earlier."""

SURE = 0.9
"""Confidence from which no further evidence is needed."""
