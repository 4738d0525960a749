"""Partition stage: replays one cluster's events into partition and broker histories.

Events come in order of time. Statements of a controller are taken as they are. The rest follows from the rules of
election, because a KRaft controller logs no clean change at INFO and its file may be missing. When a broker departs,
each partition that it led gets the leader that the controller would elect, or none. Lines of brokers that take up a
leadership confirm or correct it by its leader epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from models.events import Event, Witness
from models.kafka.partitions import broker_lines, controller_lines, log_directories, replica_lines
from models.kafka.partitions.event_fields import KRAFT_ONLY
from models.kafka.partitions.partition_state import PartitionState

_OF_SERVER_LOG = frozenset({"IsrChanged", "IsrRefused", "FetchersAdded", "FetchersRemoved"})
"""Events found only in a broker's server.log."""


@dataclass(slots=True)
class PartitionStage(PartitionState):
    """Processes PARTITION_EVENTS of one cluster.

    Events must be ordered by (`order_us`, file, byte offset), on one clock.
    """

    def feed(self, event: Event) -> None:
        """Process the next event."""
        self.is_kraft = self.is_kraft or event.name in KRAFT_ONLY
        self.now = max(self.now, event.order_us)
        handler = _HANDLERS.get(event.name)
        if handler is not None:
            handler(self, event)
        if event.witness is Witness.BROKER:
            node = self.node_of_line(event)
            if node is not None:
                self.last_own[node] = event
                if event.name in _OF_SERVER_LOG:
                    self.suspicions.with_file.add(node)


_HANDLERS: Mapping[str, Callable[[PartitionState, Event], None]] = {
    "PartitionStateChanged": controller_lines.process_state_change,
    "ControllerElected": controller_lines.process_controller_election,
    "ControllerResigned": controller_lines.process_controller_resignation,
    "ElectionStarted": controller_lines.process_preferred_election,
    "QuorumLost": controller_lines.process_controller_resignation,
    "QuorumElectionFailed": controller_lines.process_failed_quorum,
    "ReassignmentCompleted": controller_lines.process_reassignment,
    "ElectionFailed": controller_lines.process_failed_election,
    "PartitionTold": controller_lines.process_leader_and_isr,
    "LeaderMissing": replica_lines.process_missing_leader,
    "LeaderStarted": replica_lines.process_leader_start,
    "CoordinatorElected": replica_lines.process_coordinator_start,
    "PartitionLoadStarted": replica_lines.process_coordinator_start,
    "FollowerStarted": replica_lines.process_follower_start,
    "PartitionKept": replica_lines.process_kept_partition,
    "IsrChanged": replica_lines.process_isr_change,
    "IsrRefused": replica_lines.process_isr_refusal,
    "PartitionCreated": replica_lines.process_creation,
    "TopicCreated": controller_lines.process_assignment,
    "PartitionsAdded": controller_lines.process_assignment,
    "TopicDeleted": controller_lines.process_topic_deletion,
    "UncleanElectionEnabled": controller_lines.process_unclean_setting,
    "BrokerConfigured": broker_lines.process_configuration,
    "BrokersChanged": controller_lines.process_live_brokers,
    "BrokersFailed": controller_lines.process_departures,
    "BrokersCame": controller_lines.process_returns,
    "BrokerFenced": controller_lines.process_departures,
    "BrokerUnfenced": controller_lines.process_returns,
    "BrokerRegistered": controller_lines.process_registration,
    "BrokerLeaving": controller_lines.process_controlled_shutdown,
    "BrokerLeft": controller_lines.process_controlled_shutdown,
    "PartitionsMoved": controller_lines.process_moved_partitions,
    "BrokerStarting": broker_lines.process_start,
    "BrokerStarted": broker_lines.process_end_of_start,
    "BrokerStopping": broker_lines.process_stop,
    "BrokerStopped": broker_lines.process_stop,
    "BrokerShutdownTried": broker_lines.process_shutdown_attempt,
    "BrokerStateChanged": broker_lines.process_broker_state,
    "SessionExpired": broker_lines.process_session_expiry,
    "LogDirFailed": log_directories.process_log_dir_failure,
    "FetchersAdded": replica_lines.process_added_fetchers,
    "FetchersRemoved": replica_lines.process_removed_fetchers,
    "LeaderUnreachable": broker_lines.process_refused_connection,
    "BrokerAnnounced": broker_lines.process_announcement,
}
