"""How far apart lines about one action may be."""

from __future__ import annotations

CLOCK_TOLERANCE_US = 60_000
"""How much later than the coordinator's line a client may log the request that caused it: two threads, two files."""

STRAGGLER_US = 2_000_000
"""Lines of the members that emptied a group may follow the line that says so."""

EFFECT_US = 2_000_000
"""A leave or an expiry of a member starts a rebalance at once, or falls into one: older ones had no effect."""

AFTERTHOUGHT_US = 250_000
"""Since 3.0 the Scala coordinator prints "has left" after what the leave brought about."""
