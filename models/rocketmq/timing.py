"""How often RocketMQ's clients do what they do, and by when it has had its effect."""

from __future__ import annotations

PERIOD_US = 20_000_000
"""Clients rebalance at least this often (RebalanceService.java, rocketmq.client.rebalance.waitInterval)."""

ROUTE_POLL_US = 30_000_000
"""They ask for routes this often (ClientConfig.java, pollNameServerInterval)."""

NOTIFIED_US = 1_300_000
"""From a notification to the run that it wakes, at most: two runs of one client are a second apart from 5.2 on."""

LIST_US = PERIOD_US + 2_000_000
"""Another list of clients changes a client's share by then."""

ROUTE_US = LIST_US + ROUTE_POLL_US
"""Another route does so by then."""
