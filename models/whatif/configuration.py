"""Configurations of a what-if question, and the mechanisms that their effects come from.

The reference coordinator and the simulated clients decide what happens; the texts here explain it.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.tolerances import int_tolerance

DEFAULT_MAX_POLL_MS = int_tolerance("whatif.rules.default_max_poll_ms")
"""Default of max.poll.interval.ms (KIP-62)."""

DEFAULT_HEARTBEAT_MS = int_tolerance("whatif.rules.default_heartbeat_ms")
"""Default of heartbeat.interval.ms."""

DEFAULT_INITIAL_DELAY_MS = int_tolerance("whatif.rules.default_initial_delay_ms")
"""Default of group.initial.rebalance.delay.ms (KIP-134)."""

MODERN_SESSION_MS = int_tolerance("whatif.rules.modern_session_ms")
"""Default of group.consumer.session.timeout.ms (KIP-848)."""

MODERN_HEARTBEAT_MS = int_tolerance("whatif.rules.modern_heartbeat_ms")
"""Default of group.consumer.heartbeat.interval.ms (KIP-848)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """Changed settings; None or False means unchanged.

    Times are in milliseconds.
    """

    session_timeout_ms: int | None = None
    heartbeat_interval_ms: int | None = None
    max_poll_interval_ms: int | None = None
    initial_delay_ms: int | None = None
    static_membership: bool = False
    cooperative: bool = False
    consumer_protocol: bool = False
    max_size: int | None = None
    """group.max.size"""
    instances: int | None = None
    """Number of members of each group."""
    restart_pause_ms: int | None = None
    """Time between the restarts of a rolling restart."""
    scheduled_delay_ms: int | None = None
    """scheduled.rebalance.max.delay.ms of Connect"""
    consumer_session_ms: int | None = None
    """group.consumer.session.timeout.ms, of brokers or of the group"""
    consumer_heartbeat_ms: int | None = None
    """group.consumer.heartbeat.interval.ms, of brokers or of the group"""


@dataclass(frozen=True, slots=True)
class WhatIfRule:
    """A mechanism with its source, first version and assumptions."""

    id: str
    says: str
    source: str
    since: str
    assumes: str


WHAT_IF_RULES = (
    WhatIfRule(
        "static_return",
        "A static member sends no LeaveGroup, and gets its assignment back if it returns within its session timeout; nobody rebalances.",
        "KIP-345; AbstractCoordinator.maybeLeaveGroup, GroupCoordinator.updateStaticMemberAndRebalance",
        "2.3",
        "Each instance has a group.instance.id of its own and comes back under the same client id with the same subscription;"
        " until then nobody reads its partitions.",
    ),
    WhatIfRule(
        "pause_outlived",
        "A member that was only held up, and not restarted, stays in the group if its session outlives the pause.",
        "AbstractCoordinator.HeartbeatThread; GroupCoordinator.onExpireHeartbeat",
        "0.10.1",
        "Members that came back were the same process; those that are gone for good would be missed that much later.",
    ),
    WhatIfRule(
        "poll_in_time",
        "A member that polls again within max.poll.interval.ms does not leave.",
        "KIP-62; AbstractCoordinator.HeartbeatThread, pollTimeoutExpired",
        "0.10.1",
        "The work between two polls takes as long as it did.",
    ),
    WhatIfRule(
        "delay_gathers",
        "Members that come while an empty group waits for group.initial.rebalance.delay.ms come in one rebalance; the wait begins anew"
        " with each, up to the rebalance timeout.",
        "KIP-134; InitialDelayedJoin",
        "0.11",
        "Members start at the times at which they did.",
    ),
    WhatIfRule(
        "wait_for_expiry",
        "A join phase that waits for a member that is gone ends when its session does.",
        "GroupCoordinator.completeAndScheduleNextHeartbeatExpiration, addPendingMember",
        "0.10.1",
        "The member was silent from the same moment on.",
    ),
    WhatIfRule(
        "wait_for_poll",
        "A join phase waits for a busy member until the rebalance timeout, which is the consumer's max.poll.interval.ms.",
        "KIP-62; GroupCoordinator.prepareRebalance, onCompleteJoin",
        "0.10.1",
        "A member that is put out comes back with a rebalance of its own; one that was put out may have needed longer still.",
    ),
    WhatIfRule(
        "heard_sooner",
        "Members hear of a rebalance with their next heartbeat, so the others wait for up to one heartbeat.interval.ms.",
        "AbstractCoordinator.HeartbeatThread, HeartbeatResponseHandler",
        "0.10.1",
        "Heartbeats are sent on time.",
    ),
    WhatIfRule(
        "moves_only_some",
        "Under a cooperative assignor members keep what they hold during the join phase, and only what moves stands still, for two"
        " rebalances.",
        "KIP-429; ConsumerCoordinator.onJoinPrepare, CooperativeStickyAssignor",
        "2.4",
        "Shares are even and sticky, so that a member that comes or goes moves its own share only.",
    ),
    WhatIfRule(
        "members_go_on",
        "With the consumer protocol there is no join phase: members go on, and each gives up only what it must. Each member that comes"
        " or goes raises the group epoch by itself.",
        "KIP-848; GroupMetadataManager.consumerGroupHeartbeat",
        "4.0",
        "All clients and brokers speak it, and shares are even and sticky.",
    ),
    WhatIfRule(
        "session_outlived",
        "A member of the consumer protocol that is silent for group.consumer.session.timeout.ms is removed by the coordinator, which"
        " raises the group epoch; one that is heard in time stays.",
        "KIP-848; GroupMetadataManager.scheduleConsumerGroupSessionTimeout",
        "4.0",
        "The member was silent from the same moment on.",
    ),
    WhatIfRule(
        "heartbeats_carry",
        "Members of the consumer protocol give up and get partitions with their next heartbeat, so that a change takes a few of"
        " group.consumer.heartbeat.interval.ms.",
        "KIP-848; ConsumerGroupHeartbeat",
        "4.0",
        "Heartbeats are sent on time.",
    ),
    WhatIfRule(
        "size_limits",
        "A group of group.max.size members refuses any more, and a refused consumer ends with an error.",
        "KIP-389; GroupCoordinator.acceptJoiningMember",
        "2.2",
        "Refused members are not started again.",
    ),
    WhatIfRule(
        "fewer_come_and_go",
        "Members that do not exist neither come nor go; others that are there from the beginning come with the first.",
        "GroupCoordinator.addMemberAndRebalance",
        "0.9",
        "The remaining members behave as they did, whatever their larger or smaller share.",
    ),
    WhatIfRule(
        "restarts_apart",
        "Restarts that are further apart share no rebalance, and those that are closer may.",
        "GroupCoordinator.prepareRebalance",
        "0.9",
        "Each restart takes as long as it did.",
    ),
    WhatIfRule(
        "lost_tasks_wait",
        "Connect hands out the tasks of a lost worker scheduled.rebalance.max.delay.ms after the loss, in a rebalance of its own. Losses"
        " meanwhile share it; without a delay the tasks go out with the loss.",
        "KIP-415; IncrementalCooperativeAssignor.handleLostAssignments",
        "2.3",
        "A worker that comes back gets its tasks with that rebalance, too; until then nobody runs them.",
    ),
)
"""Rules in the order of output."""
