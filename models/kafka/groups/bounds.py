"""Bounds of what a group stage waits for and holds in memory."""

from __future__ import annotations

from models.tolerances import int_tolerance

ALLOWED_LATENESS_US = int_tolerance("kafka.bounds.allowed_lateness_us")
"""Time that a rebalance waits for late lines before it is ranked.

A member that polled too late is back by then.
"""

UNRANKED_WINDOWS_MAX = 64
"""Rebalances whose causes are not ranked yet.

Beyond it the oldest are ranked early, which bounds what a group holds in memory.
"""

EPISODE_MAX = 2_000
"""Rebalances of one episode.

A group that never comes to rest continues with another one, which bounds its memory.
"""

EPISODE_MEMBERS_MAX = 100_000
"""Rows of members in one episode, a kilobyte each.

A group of thousands has as many in each rebalance.
"""

DRAIN_BATCH_ROWS = 1_000
"""Final rebalances, transitions and states that wait in a stage.

Or EPISODE_MEMBERS_MAX rows of members.
"""

ACTIONS_HELD_MAX = 20_000
"""Actions of one group held at once.

Beyond it the causes of the oldest windows are ranked with what is known.
"""

ACTIONS_MAX = 100_000
"""Actions beyond which the oldest are dropped.

A group without a known rebalance, or with one that never ends, has that many.
"""

STRETCHES_MAX = 2_000
"""States held of clients in a group without known rebalances."""
