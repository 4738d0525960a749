"""Causes of rebalances; `conf/causes.yaml` has their meaning and advice."""

from __future__ import annotations

from enum import StrEnum


class Cause(StrEnum):
    NEW_GROUP = "new_group"
    MEMBER_JOIN = "member_join"
    MEMBER_RESTART = "member_restart"
    MEMBER_LEAVE = "member_leave"
    SESSION_TIMEOUT = "session_timeout"
    POLL_TIMEOUT = "poll_timeout"
    REBALANCE_TIMEOUT = "rebalance_timeout"
    SYNC_TIMEOUT = "sync_timeout"
    STATIC_MEMBER_REPLACED = "static_member_replaced"
    STATIC_MEMBER_LEAVE = "static_member_leave"
    SUBSCRIPTION_CHANGE = "subscription_change"
    METADATA_CHANGE = "metadata_change"
    ASSIGNOR_CHANGE = "assignor_change"
    TOPOLOGY_CHANGE = "topology_change"
    WARMUP_STEP = "warmup_step"
    SHARE_PARTITIONS_READY = "share_partitions_ready"
    COOPERATIVE_FOLLOWUP = "cooperative_followup"
    CONNECTOR_CONFIG_CHANGE = "connector_config_change"
    SCHEDULED_REBALANCE = "scheduled_rebalance"
    ADMIN_REMOVAL = "admin_removal"
    GROUP_DELETED = "group_deleted"
    PROTOCOL_MIGRATION = "protocol_migration"
    COORDINATOR_FAILOVER = "coordinator_failover"
    ASSIGNMENT_STORE_FAILED = "assignment_store_failed"
    UNKNOWN = "unknown"


class RootCause(StrEnum):
    """Causes behind a trigger, in addition to `Cause`.

    The last two may set off a rebalance, too, so that they are in both.
    """

    ROLLING_RESTART = "rolling_restart"
    BROKER_OUTAGE = "broker_outage"
    LOG_DIR_FAILED = "log_dir_failed"
    CLIENT_PAUSE = "client_pause"
    COORDINATOR_PAUSE = "coordinator_pause"
    GHOST_MEMBER = "ghost_member"
    NOT_AUTHORIZED = "not_authorized"
    NETWORK = "network"
    SLOW_PROCESSING = "slow_processing"
    SLOW_ASSIGNMENT = "slow_assignment"
    COORDINATOR_FAILOVER = "coordinator_failover"
    ASSIGNMENT_STORE_FAILED = "assignment_store_failed"
