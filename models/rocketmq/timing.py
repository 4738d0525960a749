"""Periods of RocketMQ's clients, and delays until an effect."""

from __future__ import annotations

from models.tolerances import int_tolerance

PERIOD_US = int_tolerance("rocketmq.timing.period_us")
"""Maximum period of clients' rebalances.

Source: RebalanceService.java, rocketmq.client.rebalance.waitInterval.
"""

EXPIRY_US = int_tolerance("rocketmq.timing.expiry_us")
"""Time without a heartbeat after which a broker takes a connection off its lists."""

ROUTE_POLL_US = int_tolerance("rocketmq.timing.route_poll_us")
"""Period of route requests (ClientConfig.java, pollNameServerInterval)."""

NOTIFIED_US = int_tolerance("rocketmq.timing.notified_us")
"""Maximum time from a notification to the run it triggers.

Two runs of one client are a second apart from 5.2 on.
"""

LIST_US = PERIOD_US + int_tolerance("rocketmq.timing.list_slack_us")
"""Maximum time until a changed list of clients changes a share."""

ROUTE_US = LIST_US + ROUTE_POLL_US
"""Maximum time until a changed route changes a share."""

CONSUMER_START_US = int_tolerance("rocketmq.timing.consumer_start_us")
"""Maximum time from a gRPC consumer's start to its first assignment.

It first asks 1 s after its start, then every 5 s (PushConsumerImpl.java, startUp).
"""

ASSIGNMENT_US = int_tolerance("rocketmq.timing.assignment_us")
"""Maximum time until a changed route changes a proxy's assignments.

A name server notices a closed connection at once; a proxy refreshes routes every 20 s and keeps a failed one until then
(ProxyConfig.java, topicRouteServiceCacheRefreshSeconds); a broker that starts registers within 30 s (BrokerConfig.java); a client
asks every 5 s.
"""

ASSIGNED_APART_US = int_tolerance("rocketmq.timing.assigned_apart_us")
"""Maximum time between two clients that get the same change from proxies.

Each proxy refreshes its routes every 20 s (ProxyConfig.java), each client asks every 5 s (PushConsumerImpl.java), and scans take time.
"""
