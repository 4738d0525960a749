"""Maximum delays of lines about one action, in several logs."""

from __future__ import annotations

from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

CLOCK_TOLERANCE_US = int_tolerance("kafka.line_delays.clock_tolerance_us")
"""Delay of a client's line after the coordinator's line about the same request.

Two threads write to two files.
"""

STRAGGLER_US = int_tolerance("kafka.line_delays.straggler_us")
"""Delay of members' lines after the line about the empty group."""

EFFECT_US = int_tolerance("kafka.line_delays.effect_us")
"""Time within which a leave or expiry affects a rebalance.

It starts one at once, or belongs to a running one.
"""

LATE_LOGGING_US = int_tolerance("kafka.line_delays.afterthought_us")
"""Delay of "has left" after its effect, in the Scala coordinator since 3.0."""

STAMP_US = int_tolerance("kafka.line_delays.stamp_us")
"""How late a session may seem to end, by stamps of whole milliseconds."""

HEARD_US = int_tolerance("kafka.line_delays.heard_us")
"""Usual time until some member hears of a rebalance by its heartbeat."""


def stamp_width_us(at: int) -> int:
    """Maximum delay of a line behind its stamp.

    Go's log package leaves out the parts of a second.
    """
    return 0 if at % US_PER_SECOND else US_PER_SECOND - 1
