"""Periods of RocketMQ's clients, and delays until an effect."""

from __future__ import annotations

PERIOD_US = 20_000_000
"""Maximum period of clients' rebalances.

Source: RebalanceService.java, rocketmq.client.rebalance.waitInterval.
"""

ROUTE_POLL_US = 30_000_000
"""Period of route requests (ClientConfig.java, pollNameServerInterval)."""

NOTIFIED_US = 1_300_000
"""Maximum time from a notification to the run it triggers.

Two runs of one client are a second apart from 5.2 on.
"""

LIST_US = PERIOD_US + 2_000_000
"""Maximum time until a changed list of clients changes a share."""

ROUTE_US = LIST_US + ROUTE_POLL_US
"""Maximum time until a changed route changes a share."""
