"""Allowed values of columns.

The quality gates and the JSON Schema check tables against these lists, so a new value of the models must be added here
first; causes and witnesses come from the models themselves.
"""

from __future__ import annotations

from models.causes import Cause, RootCause
from models.events import Witness
from models.rows import KAFKA, ROCKETMQ

SYSTEMS = (KAFKA, ROCKETMQ)
WITNESSES = tuple(str(witness) for witness in Witness)
RUN_STATUSES = ("running", "published", "unchanged", "failed")
SNAPSHOT_KINDS = ("file", "cluster")
FILE_KINDS = ("server", "request", "controller", "state_change", "client", "other", "not_a_log")
FILE_STATUSES = ("ok", "empty", "rejected", "truncated", "skipped")
FACT_KINDS = ("zone", "skew", "version", "node", "timeout", "load", "outage", "cluster", "gap")

# Classic states first; Assigning and Reconciling belong to the consumer protocol, NotReady to streams groups.
STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Assigning", "Reconciling", "NotReady")
PROTOCOLS = ("classic", "consumer", "share", "streams", "rocketmq")
REBALANCE_OUTCOMES = ("stable", "empty", "dead", "superseded", "coordinator_lost", "open")
ROLES = ("trigger", "joined", "left", "blocker", "leader", "bystander")
SESSION_ENDS = ("left", "expired", "evicted", "replaced", "fenced", "removed", "open")
SEVERITIES = ("info", "warning", "critical")

KAFKA_CAUSES = tuple(str(cause) for cause in Cause)
ALLOCATION_CAUSES = (
    "consumer_start",
    "consumer_stop",
    "consumer_crash",
    "channel_expired",
    "queue_count_change",
    "topic_route_appeared",
    "broker_down",
    "broker_up",
    "strategy_mismatch",
    "subscription_mismatch",
    "subscription_change",
    "consumer_list_unavailable",
    "consumer_list_partial",
    "client_id_conflict",
    "connection_lost",
    "consumer_resume",
    "offset_reset",
    "pull_expired",
    "message_request_mode",
    "unknown",
)
REBALANCE_CAUSES = tuple(dict.fromkeys(KAFKA_CAUSES + ALLOCATION_CAUSES))
ROOT_CAUSES = tuple(dict.fromkeys((*REBALANCE_CAUSES, *(str(cause) for cause in RootCause))))
OUTAGE_CAUSES = (
    "broker_down_single_replica",
    "controlled_shutdown_single_replica",
    "isr_lost",
    "all_replicas_down",
    "log_dir_failed",
    "no_controller",
    "unknown",
)
OUTAGE_ENDS = ("replica_returned", "isr_election", "unclean_election", "reassigned", "open")
SHORTAGE_CAUSES = ("broker_down", "log_dir_failed", "replica_lagging", "reassignment", "unknown")
SHORTAGE_ENDS = ("caught_up", "deleted", "unknown", "open")
CONDITION_KINDS = (
    "strategy_mismatch",
    "subscription_mismatch",
    "client_id_conflict",
    "multi_topic_skew",
    "more_consumers_than_queues",
    "proxy_unreachable",
    "consumption_stalled",
    "invisible_time_exceeded",
    "lite_subscription_lost",
    "lite_subscription_refused",
    "lite_topic_contended",
    "master_changed",
    "allocation_failed",
    "broker_unreachable",
    "consume_timeout_exceeded",
    "consumer_not_started",
    "consumption_disabled",
    "listener_failed",
    "listener_slow",
    "lock_missing",
    "name_server_unreachable",
    "offset_not_kept",
    "offset_out_of_range",
    "offset_reset",
    "reading_failed",
    "route_missing",
)
INCIDENT_KINDS = (
    "storm",
    "never_settles",
    "stuck",
    "flapping_member",
    "slow_member",
    "rolling_restart",
    "autoscaling",
    "coordinator_move",
    "broker_outage",
    "log_dir_failed",
    "disk_full",
    "stale_leader",
    "quorum_turn",
    "broker_unregistered",
    "assignment_store",
    "protocol_migration",
    "queue_ownership",
    "group_full",
    "inconsistent_protocol",
    "not_authorized",
    "session_timeout_refused",
    "static_member_fenced",
    "assignor_failed",
    "client_failed",
    "shutdown_requested",
    "not_authenticated",
    "static_restart",
    "coordinator_pause",
    "coordinator_unavailable",
    "no_members",
    "offsets_lost",
    "topology_not_ready",
    "poison_record",
    "restoration_slow",
    "share_partition_troubled",
    "group_deleted",
    "group_unnamed",
    "no_broker_reached",
    "single",
    *CONDITION_KINDS,
)
OWNERSHIP_KINDS = ("owned", "no_owner", "two_owners")
CERTAINTIES = ("certain", "inferred", "unknown")
CLIENT_STATES = ("UNJOINED", "REBALANCING", "STABLE")
