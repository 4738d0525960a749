"""Constants used throughout the models."""

from __future__ import annotations

from datetime import UTC, datetime

US_PER_MS = 1_000
US_PER_SECOND = 1_000_000
SECONDS_PER_HOUR = 3_600.0
SECONDS_PER_MINUTE = 60.0

FOREVER = 1 << 62
"""Later than any time; `-FOREVER` is earlier."""

SURE = 0.9
"""Confidence from which no further evidence is needed."""

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
"""Times of events count microseconds from here."""
