"""Bounds of what a group stage waits for and holds in memory."""

from __future__ import annotations

SETTLE_US = 600_000_000
"""A rebalance is judged once the group's history reaches this far beyond it: a member that polled too late is back by then."""

SETTLE_DRAFTS = 64
"""... or once so many later rebalances have begun. Bounds what a group holds in memory."""

EPISODE_MAX = 2_000
"""Rebalances of one episode. A group that never comes to rest goes on with another one; bounds what it holds in memory, too."""

EPISODE_MEMBERS_MAX = 100_000
"""... or so many rows of their members (a kilobyte each): a group of thousands has as many in each rebalance."""

LEAVING_ROWS = 1_000
"""Rebalances and states of clients that are final and wait in a stage to be let out; or EPISODE_MEMBERS_MAX rows of members."""

ACTS_HELD_MAX = 20_000
"""Deeds of one group held at once; beyond it the oldest drafts are judged with what is known."""

ACTS_MAX = 100_000
"""... and beyond this the oldest deeds are dropped: those of a group of which no rebalance is known, or of one that never ends."""

STRETCHES_MAX = 2_000
"""States of clients that a group holds of which no rebalance is known."""
