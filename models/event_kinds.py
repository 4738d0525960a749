# ruff: noqa: E501 - the registry reads best with one event a line
"""Kinds of events, with the fields that each may have.

A catalogue entry names the event of its message (`emits`). A test checks that the fields of both agree. Fields common to many
events are attributes of `Event` (and columns of `silver.events`); the rest is in `Event.fields`.
"""

from __future__ import annotations

from dataclasses import dataclass

from models.events import Witness

COMMON_EVENT_FIELDS = frozenset({"node", "group", "generation", "member_id", "client_id", "instance_id", "topic", "partition"})
"""Fields with their own attribute (and column)."""


@dataclass(frozen=True, slots=True)
class EventKind:
    """Meaning and possible fields of one kind of event."""

    witness: Witness
    meaning: str
    fields: frozenset[str]


def _kind(witness: Witness, meaning: str, fields: str) -> EventKind:
    return EventKind(witness, meaning, frozenset(fields.split()))


_COORDINATOR, _REQUEST, _CLIENT = Witness.COORDINATOR, Witness.REQUEST, Witness.CLIENT
_BROKER, _CONTROLLER = Witness.BROKER, Witness.CONTROLLER

_MEMBER = "node group member_id instance_id client_id partition"
_METADATA = "client_host session_timeout_ms rebalance_timeout_ms protocols"
_JOIN_REASON = "reason reason_id reason_member_id reason_members reason_instance_id reason_state reason_error client_reason"
_TIMES = "total_ms request_queue_ms local_ms remote_ms throttle_ms response_queue_ms send_ms"
_REQUEST_HEAD = (
    f"node group client_id member_id instance_id generation api_version correlation_id connection client_host error_code error {_TIMES}"
)
_CLIENT_HEAD = "group client_id instance_id member_id client_number"
_REGISTRATION = "leader leader_epoch isr replicas partition_epoch adding removing elr version"

EVENTS: dict[str, EventKind] = {
    # Written by the reader itself at the end of a file.
    "LogDamaged": _kind(_BROKER, "A checksum shows that bytes of the file were changed.", "begins_at_byte since_us"),
    # Classic groups, logged by their coordinator (GroupCoordinator.scala; GroupMetadataManager.java since 3.7).
    "RebalanceStarted": _kind(
        _COORDINATOR,
        "The group enters PreparingRebalance; generation is the old one.",
        f"node group generation state partition {_JOIN_REASON}",
    ),
    "GenerationStarted": _kind(
        _COORDINATOR, "The join phase is over; the new generation waits for its assignment.", "node group generation member_count partition"
    ),
    "AssignmentReceived": _kind(
        _COORDINATOR, "The leader's assignment has arrived.", "node group generation member_id member_count static_count partition"
    ),
    "GroupEmptied": _kind(_COORDINATOR, "The join phase ended without members.", "node group generation partition"),
    "MemberFailed": _kind(_COORDINATOR, "A member's session expired.", f"{_MEMBER} reason"),
    "MemberLeft": _kind(_COORDINATOR, "A member left by LeaveGroup.", f"{_MEMBER} {_METADATA} client_reason"),
    "MembersNotRejoined": _kind(
        _COORDINATOR, "Dynamic members were removed when the rebalance timeout ran out.", "node group partition members"
    ),
    "NoMemberRejoined": _kind(_COORDINATOR, "Only absent static members are left; the join phase starts over.", "node group partition"),
    "SyncMissing": _kind(_COORDINATOR, "Members that never sent SyncGroup were removed.", "node group partition members"),
    "EmptyAssignmentsSet": _kind(_COORDINATOR, "The leader left members without an assignment.", "node group generation partition members"),
    "EmptyAssignmentSent": _kind(_COORDINATOR, "A member was given an empty assignment.", "node group generation partition member_id"),
    "MemberIdHandedOut": _kind(_COORDINATOR, "An unknown member was given an id to rejoin with (KIP-394).", f"{_MEMBER} state"),
    "PendingMemberJoined": _kind(_COORDINATOR, "A handed-out member id joins.", f"{_MEMBER} state"),
    "PendingMemberLeft": _kind(_COORDINATOR, "A handed-out member id was given back.", f"{_MEMBER} client_reason"),
    "PendingMemberExpired": _kind(_COORDINATOR, "A handed-out member id was never used.", _MEMBER),
    "MemberAdded": _kind(_COORDINATOR, "A new member was added to the group at once.", f"{_MEMBER} state"),
    "StaticMemberReplaced": _kind(_COORDINATOR, "A static member came back under a new member id.", f"{_MEMBER} old_member_id state"),
    "StaticMemberKept": _kind(_COORDINATOR, "The static member's return triggers no rebalance. Names no group.", "node partition state"),
    "StaticMemberFenced": _kind(
        _COORDINATOR, "A request under an old member id of a static member was refused.", f"{_MEMBER} old_member_id operation"
    ),
    "LeaderReplaced": _kind(
        _COORDINATOR, "The leader did not rejoin in time and another was elected.", "node partition member_id instance_id new_leader"
    ),
    "UnexpectedRejoin": _kind(_COORDINATOR, "A member rejoined in a state in which that should not happen.", f"{_MEMBER} state"),
    "GroupLoaded": _kind(
        _COORDINATOR, "A coordinator took the group over from the offsets topic.", "node group generation partition member_count group_type"
    ),
    "GroupUnloaded": _kind(_COORDINATOR, "A coordinator gave the group up.", "node group generation partition"),
    "MemberLoaded": _kind(_COORDINATOR, "A member was read back from the offsets topic.", f"{_MEMBER} generation {_METADATA}"),
    "GroupDied": _kind(_COORDINATOR, "The group was removed.", "node group generation partition"),
    "GroupsDeleted": _kind(_COORDINATOR, "Groups were deleted on request.", "node partition groups offsets_count"),
    "GroupOffsetsDeleted": _kind(
        _COORDINATOR, "Offsets of a group were deleted on request.", "node group partition partitions offsets_count"
    ),
    "OffsetsExpired": _kind(_COORDINATOR, "Expired offsets were removed.", "node partition offsets_count duration_ms"),
    "GroupStoreFailed": _kind(
        _COORDINATOR, "The group's metadata could not be written to the offsets topic.", "node group generation partition error"
    ),
    "SimpleGroupCreated": _kind(_COORDINATOR, "A group came into being by a manual commit.", "node group partition"),
    # The coordinator as a whole. `partition` is the partition of __consumer_offsets.
    "PartitionLoadStarted": _kind(_COORDINATOR, "Loading of an offsets partition begins.", "node partition coordinator_epoch"),
    "PartitionLoaded": _kind(_COORDINATOR, "An offsets partition is loaded.", "node partition coordinator_epoch duration_ms"),
    "PartitionLoadFailed": _kind(_COORDINATOR, "An offsets partition could not be loaded.", "node partition coordinator_epoch error"),
    "PartitionUnloadStarted": _kind(_COORDINATOR, "An offsets partition is being given up.", "node partition coordinator_epoch"),
    "PartitionUnloaded": _kind(
        _COORDINATOR, "An offsets partition is given up.", "node partition coordinator_epoch groups_count offsets_count"
    ),
    "CoordinatorElected": _kind(_COORDINATOR, "The broker leads an offsets partition.", "node partition coordinator_epoch"),
    "CoordinatorResigned": _kind(_COORDINATOR, "The broker leads an offsets partition no more.", "node partition coordinator_epoch"),
    "CoordinatorStarted": _kind(_COORDINATOR, "The coordinator's service starts or has started.", "node phase"),
    "CoordinatorStopped": _kind(_COORDINATOR, "The coordinator's service shuts down or has shut down.", "node phase"),
    "CoordinatorWriteFailed": _kind(
        _COORDINATOR,
        "A batch could not be appended to an offsets partition; what wanted to write it is taken back.",
        "node partition error records batch_max",
    ),
    "GroupSettingCapped": _kind(
        _COORDINATOR,
        "A setting lies beyond the broker's bounds; the bound is in force. Without a group it is the broker's own.",
        "node group setting value effective",
    ),
    "StreamsShutdownRequested": _kind(_COORDINATOR, "A member has all of its application stop.", f"{_MEMBER} trouble"),
    "CoordinatorNote": _kind(
        _COORDINATOR, "A known line that changes nothing in the model.", "node group partition generation member_id instance_id detail"
    ),
    # Newer protocols (KIP-848 consumer groups, KIP-932 share groups, KIP-1071 streams groups). `generation` is the group epoch.
    "ModernMemberJoined": _kind(_COORDINATOR, "A member joins by heartbeat.", f"{_MEMBER} protocol group_type old_member_id rejoined"),
    "ModernMemberLeft": _kind(_COORDINATOR, "A member leaves.", f"{_MEMBER} group_type temporarily client_reason"),
    "ModernMemberFenced": _kind(_COORDINATOR, "A member is fenced.", f"{_MEMBER} group_type why"),
    "ModernMemberRefused": _kind(_COORDINATOR, "A static member is refused.", f"{_MEMBER} group_type old_member_id why"),
    "ModernSubscriptionChanged": _kind(_COORDINATOR, "A member changed its subscription.", f"{_MEMBER} group_type topics regex"),
    "SubscriptionMetadataChanged": _kind(_COORDINATOR, "The subscribed topics' metadata changed.", f"{_MEMBER} group_type metadata"),
    "GroupEpochBumped": _kind(_COORDINATOR, "The group epoch rose.", f"{_MEMBER} generation group_type"),
    "TargetComputed": _kind(
        _COORDINATOR, "A target assignment was computed for an epoch.", f"{_MEMBER} generation group_type assignor duration_ms assignment"
    ),
    "TargetFailed": _kind(_COORDINATOR, "No target assignment could be computed.", f"{_MEMBER} generation group_type error"),
    "ModernMemberMoved": _kind(
        _COORDINATOR, "A member's epoch or assignment changed.", f"{_MEMBER} group_type member_epoch previous_epoch state assigned revoked"
    ),
    "StreamsMemberDescribed": _kind(
        _COORDINATOR, "A member of a streams group says who it is.", f"{_MEMBER} group_type rebalance_timeout_ms topology_epoch process"
    ),
    "StreamsTopologyChecked": _kind(
        _COORDINATOR, "The topics of a streams group's topology were checked.", f"{_MEMBER} group_type topology_state topology_epoch detail"
    ),
    "ShareRecordOnLastAttempt": _kind(
        _BROKER, "A record of a share group is on its last delivery attempt.", "group topic partition offset"
    ),
    "SharePartitionTroubled": _kind(
        _BROKER,
        "Records of a share partition can't be acquired, acknowledged or released.",
        "group topic partition member_id why offset detail",
    ),
    "GroupConverted": _kind(_COORDINATOR, "The group changed its protocol.", "node group partition from_type to_type"),
    "GroupConversionRefused": _kind(_COORDINATOR, "A change of protocol was refused.", "node group partition why"),
    # kafka-request.log. `at` is the time of the response; the request arrived `total_ms` earlier.
    "JoinGroupCompleted": _kind(
        _REQUEST,
        "JoinGroup was answered.",
        f"{_REQUEST_HEAD} request_member_id session_timeout_ms rebalance_timeout_ms protocol_type protocols topics reason leader_id protocol members response_generation",
    ),
    "SyncGroupCompleted": _kind(_REQUEST, "SyncGroup was answered.", f"{_REQUEST_HEAD} by_leader assigned_members"),
    "HeartbeatCompleted": _kind(_REQUEST, "Heartbeats were answered: one, or a run of equal ones.", f"{_REQUEST_HEAD} count last_at_us"),
    "LeaveGroupCompleted": _kind(_REQUEST, "LeaveGroup was answered.", f"{_REQUEST_HEAD} members reason"),
    "OffsetCommitCompleted": _kind(
        _REQUEST, "OffsetCommits were answered: one, or a run of equal ones.", f"{_REQUEST_HEAD} count last_at_us topics"
    ),
    "FindCoordinatorCompleted": _kind(_REQUEST, "FindCoordinator was answered.", f"{_REQUEST_HEAD} coordinator"),
    "ConsumerGroupHeartbeatCompleted": _kind(
        _REQUEST,
        "ConsumerGroupHeartbeats were answered: one, or a run of equal ones.",
        f"{_REQUEST_HEAD} member_epoch response_epoch rebalance_timeout_ms topics regex assignor count last_at_us",
    ),
    "ShareGroupHeartbeatCompleted": _kind(
        _REQUEST,
        "ShareGroupHeartbeats were answered: one, or a run of equal ones.",
        f"{_REQUEST_HEAD} member_epoch response_epoch topics count last_at_us",
    ),
    "StreamsGroupHeartbeatCompleted": _kind(
        _REQUEST,
        "StreamsGroupHeartbeats were answered: one, or a run of equal ones.",
        f"{_REQUEST_HEAD} member_epoch response_epoch rebalance_timeout_ms topics topology_epoch topology_state detail count last_at_us",
    ),
    "ShareFetchCompleted": _kind(
        _REQUEST,
        "A ShareFetch gave records again, or acknowledgements that it brought were refused.",
        f"{_REQUEST_HEAD} topic_id partition offset deliveries",
    ),
    "ShareAcknowledgeCompleted": _kind(_REQUEST, "Acknowledgements of records were refused.", f"{_REQUEST_HEAD} topic_id partition"),
    "DeleteGroupsCompleted": _kind(_REQUEST, "DeleteGroups was answered.", f"{_REQUEST_HEAD} groups"),
    "RequestReceived": _kind(
        _REQUEST,
        "A group request has arrived (TRACE).",
        f"{_REQUEST_HEAD} api request_member_id session_timeout_ms rebalance_timeout_ms protocol_type protocols topics reason member_epoch",
    ),
    # Java clients (and known lines of clients in other languages).
    "ClientStarted": _kind(_CLIENT, "A client library starts.", f"{_CLIENT_HEAD} version"),
    "ClientConfigured": _kind(
        _CLIENT,
        "A ConsumerConfig block.",
        f"{_CLIENT_HEAD} session_timeout_ms max_poll_interval_ms heartbeat_interval_ms assignors group_protocol",
    ),
    "ClientSubscribed": _kind(_CLIENT, "The application subscribed.", f"{_CLIENT_HEAD} topics pattern"),
    "ClientUnsubscribed": _kind(_CLIENT, "The application unsubscribed.", _CLIENT_HEAD),
    "ClientJoining": _kind(_CLIENT, "(Re-)joining.", _CLIENT_HEAD),
    "ClientJoinSent": _kind(
        _CLIENT, "JoinGroup is sent.", f"{_CLIENT_HEAD} session_timeout_ms rebalance_timeout_ms protocols topics reason"
    ),
    "ClientJoined": _kind(_CLIENT, "JoinGroup succeeded.", f"{_CLIENT_HEAD} generation protocol leader_id member_count"),
    "ClientJoinFailed": _kind(_CLIENT, "JoinGroup failed.", f"{_CLIENT_HEAD} error generation"),
    "ClientSyncSent": _kind(_CLIENT, "SyncGroup is sent.", f"{_CLIENT_HEAD} generation by_leader"),
    "ClientSynced": _kind(_CLIENT, "SyncGroup succeeded.", f"{_CLIENT_HEAD} generation protocol"),
    "ClientSyncFailed": _kind(_CLIENT, "SyncGroup failed.", f"{_CLIENT_HEAD} error generation"),
    "ClientLeaveSent": _kind(_CLIENT, "LeaveGroup is sent.", f"{_CLIENT_HEAD} why coordinator"),
    "ClientLeaveAnswered": _kind(
        _CLIENT, "LeaveGroup was taken; or refused, or not answered, if there is an error.", f"{_CLIENT_HEAD} error"
    ),
    "ClientPollTimedOut": _kind(
        _CLIENT, "max.poll.interval.ms was exceeded.", f"{_CLIENT_HEAD} exceeded_ms max_poll_interval_ms last_action"
    ),
    "ClientHeartbeatRebalancing": _kind(_CLIENT, "A heartbeat was told of a rebalance.", _CLIENT_HEAD),
    "ClientHeartbeatFailed": _kind(_CLIENT, "A heartbeat was refused.", f"{_CLIENT_HEAD} error generation"),
    "ClientGenerationReset": _kind(_CLIENT, "The client gave its generation up.", f"{_CLIENT_HEAD} why"),
    "ClientRejoinRequested": _kind(_CLIENT, "The client asks itself to rejoin.", f"{_CLIENT_HEAD} why"),
    "ClientFenced": _kind(_CLIENT, "The static member was fenced.", _CLIENT_HEAD),
    "ClientCoordinatorFound": _kind(_CLIENT, "The coordinator was discovered.", f"{_CLIENT_HEAD} node coordinator"),
    "ClientCoordinatorLost": _kind(_CLIENT, "The coordinator was lost.", f"{_CLIENT_HEAD} node coordinator why"),
    "ClientDisconnected": _kind(_CLIENT, "The connection to the coordinator is gone for a while.", f"{_CLIENT_HEAD} node duration_ms"),
    "ClientAssigned": _kind(_CLIENT, "Partitions were assigned.", f"{_CLIENT_HEAD} partitions"),
    "ClientRevoked": _kind(_CLIENT, "Partitions were revoked.", f"{_CLIENT_HEAD} generation partitions"),
    "ClientLost": _kind(_CLIENT, "Partitions were lost.", f"{_CLIENT_HEAD} partitions trouble error"),
    "ClientAssignmentMade": _kind(_CLIENT, "The leader finished the assignment.", f"{_CLIENT_HEAD} generation assignments strategy"),
    "ClientCommitFailed": _kind(_CLIENT, "A commit was refused.", f"{_CLIENT_HEAD} topic partition error"),
    "ClientMemberState": _kind(_CLIENT, "A state of the KIP-848 client.", f"{_CLIENT_HEAD} member_epoch from_state to_state"),
    "ClientEpochSent": _kind(_CLIENT, "A KIP-848 client sends a heartbeat with its epoch.", f"{_CLIENT_HEAD} member_epoch"),
    "ClientReconciling": _kind(_CLIENT, "The KIP-848 client takes a new assignment over.", f"{_CLIENT_HEAD} member_epoch partitions"),
    "ClientThreadState": _kind(_CLIENT, "A thread of Streams changed its state.", f"{_CLIENT_HEAD} from_state to_state"),
    "ClientStepEnded": _kind(_CLIENT, "A step of a client's rebalance ended; how long it took.", f"{_CLIENT_HEAD} step duration_ms"),
    "ClientFollowupWanted": _kind(_CLIENT, "Another rebalance is to follow, or begins, and why.", f"{_CLIENT_HEAD} why delay_ms"),
    "ClientWorkAssigned": _kind(
        _CLIENT,
        "A Connect worker has its connectors and tasks; those of a lost worker wait for delay_ms.",
        f"{_CLIENT_HEAD} generation delay_ms assignment_error",
    ),
    "ClientWorkChanged": _kind(_CLIENT, "A connector or its tasks were created, changed or deleted.", f"{_CLIENT_HEAD} connector"),
    "ClientConfigDrifted": _kind(_CLIENT, "Connect workers see different configurations.", f"{_CLIENT_HEAD} own_offset group_offset"),
    "ClientClosed": _kind(_CLIENT, "The consumer is closed.", _CLIENT_HEAD),
    "ClientTroubled": _kind(_CLIENT, "An error stops a client, or the assignment of its group.", f"{_CLIENT_HEAD} trouble detail"),
    "ClientErrorReported": _kind(_CLIENT, "A program reports an error of its client, without group.", f"{_CLIENT_HEAD} trouble"),
    "ClientUnreachable": _kind(_CLIENT, "A client does not reach a broker.", f"{_CLIENT_HEAD} peer why detail"),
    "ClientHeartbeatSent": _kind(_CLIENT, "A heartbeat is sent, in the generation that the client is in.", f"{_CLIENT_HEAD} generation"),
    "ClientNote": _kind(_CLIENT, "A known line that changes nothing in the model.", f"{_CLIENT_HEAD} detail"),
    # Broker lines outside the coordinator.
    "BrokerConfigured": _kind(
        _BROKER,
        "A KafkaConfig block.",
        "node initial_rebalance_delay_ms min_session_timeout_ms max_session_timeout_ms offsets_partitions offsets_retention_minutes offsets_commit_timeout_ms group_max_size consumer_session_timeout_ms share_session_timeout_ms streams_session_timeout_ms zk_session_timeout_ms broker_session_timeout_ms unclean_election",
    ),
    "GroupAccessDenied": _kind(Witness.AUTHORIZER, "A request about a group was denied.", "group principal operation client_host request"),
    "BrokerStarting": _kind(_BROKER, "A broker process starts.", "node"),
    "BrokerStarted": _kind(_BROKER, "A broker is up.", "node"),
    "BrokerStopping": _kind(_BROKER, "A broker shuts down in good order.", "node"),
    "BrokerStopped": _kind(_BROKER, "A broker has shut down, or halted without doing so in good order.", "node halted"),
    "KafkaVersion": _kind(_BROKER, "The version of the Kafka library in this process.", "version"),
    "ClusterId": _kind(_BROKER, "The cluster's id.", "cluster_id group client_id instance_id"),
    "TopicCreated": _kind(_BROKER, "A topic was created.", "node topic topic_id partition_count assignment unclean"),
    "PartitionsAdded": _kind(_BROKER, "A topic got more partitions.", "node topic partition_count assignment"),
    "TopicDeleted": _kind(_BROKER, "A topic was deleted.", "node topic"),
    "PartitionCreated": _kind(
        _BROKER,
        "A partition is there for the first time: its log at a broker, or its registration.",
        f"node topic partition {_REGISTRATION} unclean",
    ),
    # A broker's own state and its partitions. `leader` and `broker` are node ids; "-1" means no leader.
    "BrokerShutdownTried": _kind(_BROKER, "A controlled shutdown begins, or has succeeded or failed.", "node phase"),
    "BrokerAnnounced": _kind(_BROKER, "A broker has entered itself in ZooKeeper.", "node broker"),
    "BrokerStateChanged": _kind(_BROKER, "A KRaft broker's state: STARTING, RECOVERY, RUNNING and so on.", "node state broker incarnation"),
    "BrokerHeartbeatFailed": _kind(_BROKER, "A KRaft broker could not tell the controller that it is alive.", "node broker error"),
    "SessionExpired": _kind(_BROKER, "A ZooKeeper session is lost.", "node session"),
    "LogDirWriteFailed": _kind(_BROKER, "A write to a log directory failed, and why.", "node folder error"),
    "LogDirFailed": _kind(_BROKER, "A log directory failed.", "node broker brokers partitions folder remaining controller_epoch"),
    "LeaderStarted": _kind(_BROKER, "A broker leads a partition.", f"node topic partition {_REGISTRATION} previous_leader previous_epoch"),
    "FollowerStarted": _kind(
        _BROKER, "A broker follows a partition.", f"node topic partition {_REGISTRATION} previous_leader previous_epoch"
    ),
    "PartitionKept": _kind(
        _BROKER, "A broker is told of a partition whose leader is the same as before.", f"node topic partition {_REGISTRATION}"
    ),
    "LeaderMissing": _kind(
        _BROKER, "A broker is told that a partition has no leader.", f"node topic partition controller_epoch {_REGISTRATION}"
    ),
    "IsrChanged": _kind(_BROKER, "A leader changes the in-sync replicas.", "node topic partition isr isr_before version"),
    "IsrRefused": _kind(
        _BROKER, "ZooKeeper has a later state than the leader that changes in-sync replicas.", "node topic partition version"
    ),
    "FetchersAdded": _kind(
        _BROKER, "A follower fetches partitions from their leaders: name, leader and leader epoch of each.", "node fetchers"
    ),
    "FetchersRemoved": _kind(_BROKER, "A follower fetches partitions no more.", "node partitions"),
    "LeaderUnreachable": _kind(_BROKER, "A follower can't reach a leader's broker.", "node broker"),
    # Controllers. `node` is the controller; `broker` or `brokers` are the subject of the line.
    "ControllerElected": _kind(_CONTROLLER, "A broker became the controller.", "node controller_epoch"),
    "ControllerReady": _kind(_CONTROLLER, "The new controller has read the state and begins to serve.", "node controller_epoch"),
    "ControllerResigned": _kind(_CONTROLLER, "A controller is one no more.", "node leader controller_epoch"),
    "BrokersChanged": _kind(_CONTROLLER, "Brokers came or went.", "node added removed bounced live"),
    "BrokersFailed": _kind(_CONTROLLER, "Brokers are gone, in good order or not.", "node brokers"),
    "BrokersCame": _kind(_CONTROLLER, "Brokers are there.", "node brokers"),
    "BrokerLeaving": _kind(_CONTROLLER, "A controlled shutdown is granted: its leaderships move.", "node broker"),
    "BrokerLeft": _kind(_CONTROLLER, "A broker in controlled shutdown may stop, or has stopped.", "node broker brokers immediate"),
    "BrokerFenced": _kind(_CONTROLLER, "A KRaft broker is fenced.", "node broker why broker_epoch"),
    "BrokerUnfenced": _kind(_CONTROLLER, "A KRaft broker is unfenced.", "node broker broker_epoch"),
    "BrokerRegistered": _kind(
        _CONTROLLER, "A KRaft broker process registers.", "node broker incarnation previous_incarnation records broker_epoch"
    ),
    "PartitionsMoved": _kind(
        _CONTROLLER, "Which partitions one event of a KRaft controller changed, or how many.", "node broker why count partitions"
    ),
    "PartitionStateChanged": _kind(
        _CONTROLLER,
        "The controller changed a partition's state, or its leader.",
        f"node topic topic_id partition election controller_epoch from_state to_state {_REGISTRATION} unclean leader_before isr_before removed",
    ),
    "PartitionTold": _kind(
        _CONTROLLER,
        "The controller tells a broker what a partition is like.",
        f"node topic partition controller_epoch broker {_REGISTRATION}",
    ),
    "ElectionFailed": _kind(_CONTROLLER, "No leader could be elected.", "node topic partition controller_epoch from_state to_state"),
    "ElectionStarted": _kind(_CONTROLLER, "Leaders are to be elected anew.", "node partitions why election"),
    "ReassignmentCompleted": _kind(
        _CONTROLLER,
        "The replicas of a partition are now those it was to get; the leader moved with them, or not.",
        "node topic partition broker moved",
    ),
    "QuorumLost": _kind(_CONTROLLER, "The active controller hears from too few voters and gives up.", "node heard voters timeout_ms"),
    "QuorumElectionFailed": _kind(_CONTROLLER, "Too few voters answered to elect a controller.", "node silent refusing"),
    "QuorumTurned": _kind(
        _CONTROLLER,
        "A node of the quorum of controllers leads it, follows its leader, or has none.",
        "node state epoch leader from_state from_epoch from_leader timeout_ms voters",
    ),
    "UncleanElectionEnabled": _kind(_CONTROLLER, "Unclean elections are allowed, or not.", "node topic allowed"),
    "ControllerNote": _kind(_CONTROLLER, "A known line that changes nothing in the model.", "node topic partition broker detail"),
    # RocketMQ clients, which allocate queues themselves. `partition` is the queue's number, `broker` has the queue.
    "RocketClientCreated": _kind(_CLIENT, "A client instance begins.", "client_id version"),
    "RocketConsumerStarting": _kind(_CLIENT, "A consumer is about to start.", "group model client_id"),
    "RocketConsumerStarted": _kind(_CLIENT, "A consumer runs.", "group client_id"),
    "RocketConsumerStopping": _kind(_CLIENT, "A consumer begins to close.", "group client_id"),
    "RocketConsumerStopped": _kind(_CLIENT, "A consumer has closed in good order.", "group client_id"),
    "RocketUnregistered": _kind(_CLIENT, "A client takes its consumer off a broker's list.", "group broker address client_id"),
    "RocketNotified": _kind(_CLIENT, "A broker says that the group's clients have changed.", "group address"),
    "RocketConsumerPaused": _kind(_CLIENT, "A consumer is suspended.", "group"),
    "RocketConsumerResumed": _kind(_CLIENT, "A suspended consumer goes on.", "group"),
    "RocketResetOrdered": _kind(_CLIENT, "A client is told to reset offsets and drops all queues of the topic.", "group topic address"),
    "RocketShareChanged": _kind(
        _CLIENT,
        "A client's share of a topic changed; what it saw of queues and clients.",
        "group topic client_id strategy queue_count client_count share_count share",
    ),
    "RocketShareAssigned": _kind(_CLIENT, "A broker assigned a client another share of a topic.", "group topic client_id strategy share"),
    "RocketBroadcastShareChanged": _kind(_CLIENT, "The queues of a topic changed for a consumer that reads all.", "group topic share"),
    "RocketQueueAdded": _kind(_CLIENT, "A client takes a queue.", "group topic partition broker mode client_id"),
    "RocketQueueRemoved": _kind(_CLIENT, "A client gives a queue up.", "group topic partition broker why mode client_id"),
    "RocketQueueExpired": _kind(_CLIENT, "A queue was not pulled for too long.", "group topic partition broker"),
    "RocketQueueRefused": _kind(_CLIENT, "A queue of the share can't be taken yet.", "group topic partition broker why"),
    "RocketListFailed": _kind(_CLIENT, "The list of the group's clients can't be had; the share stays.", "group topic fault"),
    "RocketListRefused": _kind(_CLIENT, "A broker gave no list of the group's clients.", "group address"),
    "RocketNotListed": _kind(_CLIENT, "The list of the group's clients lacks this client.", "group client_id listed"),
    "RocketQueueUnlocked": _kind(_CLIENT, "A client gives a queue's lock back.", "group topic partition client_id broker"),
    "RocketQueueLockAsked": _kind(_CLIENT, "A client asked for a queue's lock.", "group topic partition broker outcome fault"),
    "RocketOffsetSent": _kind(
        _CLIENT,
        "A client reports how far it has read a queue: once, or again and again with nothing between.",
        "group topic partition client_id broker offset on count last_at_us",
    ),
    "RocketRouteChanged": _kind(_CLIENT, "A topic's queues or brokers changed for a client.", "topic route_before route"),
    "RocketHeartbeat": _kind(_CLIENT, "What a client tells brokers of itself.", "client_id consumers"),
    "RocketClientTrouble": _kind(
        _CLIENT,
        "Something went wrong around a client's rebalance.",
        "group topic partition broker address remote client_id strategy tries offset fault",
    ),
    "RocketHeartbeatSent": _kind(_CLIENT, "A heartbeat, and whether the subscription changed.", "broker changed client_id address"),
    "RocketHeartbeatFailed": _kind(_CLIENT, "A client's heartbeat was refused, or reached nobody.", "client_id address"),
    "RocketSessionChanged": _kind(_CLIENT, "The stream between a client and a proxy broke, or is open again.", "client_id address how"),
    "RocketConsumeServiceCreated": _kind(_CLIENT, "A consumer's way of consuming, with its group and client.", "group client_id fifo"),
    "RocketAssignmentsChanged": _kind(
        _CLIENT, "A proxy assigned a client other queues of a topic.", "group topic client_id share_before share"
    ),
    "RocketAssignmentsEmptied": _kind(_CLIENT, "A proxy assigned a client no queue of a topic any more.", "group topic client_id"),
    "RocketConsumptionCounted": _kind(
        _CLIENT, "How many messages a client received and consumed.", "group client_id received consumed failed"
    ),
    "RocketQueueQuiet": _kind(_CLIENT, "A client receives nothing from a queue, and why.", "group topic partition broker client_id why"),
    "RocketReceiptFailed": _kind(
        _CLIENT,
        "A message could not be acknowledged, kept invisible, sent back, or put among the dead letters.",
        "group topic partition broker client_id message_id tries what why",
    ),
    "RocketReceiptSettled": _kind(
        _CLIENT,
        "What a client asked for a popped message came through after all.",
        "group topic partition broker client_id message_id tries what",
    ),
    "RocketMessageGivenUp": _kind(_CLIENT, "A message was given up.", "group topic partition broker client_id message_id tries why"),
    "RocketLiteSubscribed": _kind(
        _CLIENT, "A client subscribes to a lite topic, or no longer.", "group topic client_id lite_topic subscribed"
    ),
    "RocketLiteRefused": _kind(
        _CLIENT, "A client could not subscribe to a lite topic, end it or renew it.", "group topic client_id lite_topic what"
    ),
    "RocketClientNote": _kind(_CLIENT, "A known line that changes nothing in the model.", "group topic partition broker address client_id"),
    "RocketClockShown": _kind(_CLIENT, "A client's own clock, in epoch milliseconds.", "topic clock_ms"),
    # RocketMQ's brokers and name servers.
    "RocketConnectionOpened": _kind(_BROKER, "A connection to a server is open.", "remote"),
    "RocketConnectionClosed": _kind(_BROKER, "A connection to a server is closed, and how.", "remote how"),
    "RocketServerTrouble": _kind(
        _BROKER,
        "A server could not do what a client asked for, or would have been told.",
        "group topic partition client_id broker remote address holder strategy expression request_code seen_ms tries",
    ),
    "RocketProxyClientGone": _kind(_BROKER, "A client has left a proxy.", "group client_id remote seen_ms removed"),
    "RocketMasterElected": _kind(_BROKER, "A controller chose another master of a broker set.", "broker broker_id result"),
    "RocketElectionFailed": _kind(_BROKER, "No broker of a set could become its master.", "broker tries"),
    "RocketBrokerInactive": _kind(_BROKER, "A controller misses a broker's heartbeats.", "broker broker_id address role"),
    "RocketBrokerActive": _kind(_BROKER, "A broker is new at a controller.", "broker broker_id"),
    "RocketRoleNotified": _kind(_BROKER, "A controller tells a broker who is master.", "broker_id address"),
    "RocketControllerRoleChanged": _kind(_BROKER, "A controller leads the others, or follows.", "node role"),
    "RocketBrokerRoleChanged": _kind(_BROKER, "A broker becomes master or slave of its set.", "broker broker_id address role master_epoch"),
    "RocketMasterKnown": _kind(_BROKER, "Who the master of a broker's set is, if there is one.", "broker_id address"),
    "RocketSyncStateChanged": _kind(_BROKER, "The brokers of a set that have all messages changed.", "broker"),
    "RocketPopRevived": _kind(_BROKER, "Popped messages that nobody acknowledged in time come again.", "group topic partition offset"),
    "RocketPopStalled": _kind(_BROKER, "A group gets no more from a queue, or acknowledges too late.", "group topic partition why"),
    "RocketLiteTold": _kind(
        _BROKER, "What a broker does with a client's lite topics, and why.", "group topic client_id lite_topic why holder"
    ),
    "RocketNameServerStarted": _kind(_BROKER, "A name server is up.", ""),
    "RocketRouteTold": _kind(
        _BROKER, "What a name server does to a broker's addresses and queues.", "topic broker broker_id address remote"
    ),
    "RocketGroupChanged": _kind(_BROKER, "A group's members or topics changed for a broker.", "group remote"),
    "RocketGroupEmptied": _kind(_BROKER, "The last client of a group is gone from a broker.", "group"),
    "RocketTopicAdministered": _kind(_BROKER, "A topic was created or deleted.", "topic reads remote deleted"),
    "RocketGroupAdministered": _kind(_BROKER, "A group's configuration changed.", "group fault"),
    "RocketOffsetsTold": _kind(
        _BROKER, "A broker kept, dropped or refused offsets.", "group topic partition client_id remote offset offset_before"
    ),
    "RocketBrokerTold": _kind(_BROKER, "A broker stopped, or its part changed.", "address"),
    "RocketLockTaken": _kind(_BROKER, "A client has a queue's lock.", "group topic partition client_id broker holder"),
    "RocketLockRefused": _kind(_BROKER, "Another client has a queue's lock.", "group topic partition client_id broker holder"),
    "RocketLockReleased": _kind(_BROKER, "A client gave a queue's lock back.", "group topic partition client_id broker"),
    "RocketConsumerConnected": _kind(
        _BROKER, "A client is new on a broker's list of a group.", "group client_id remote seen_ms consume_type model"
    ),
    "RocketConsumerUnregistered": _kind(_BROKER, "A client has taken itself off a broker's list.", "group client_id remote seen_ms"),
    "RocketConsumerLost": _kind(_BROKER, "A client's connection to a broker is closed.", "group client_id remote seen_ms"),
    "RocketConsumerExpired": _kind(_BROKER, "A client sent no heartbeat for too long; nobody is notified.", "group remote"),
    "RocketTopicSubscribed": _kind(_BROKER, "A group subscribes to one more topic.", "group topic expression"),
    "RocketTopicUnsubscribed": _kind(_BROKER, "The last heartbeat of a group lacks a topic.", "group topic"),
    "RocketSubscriptionChanged": _kind(_BROKER, "A subscription has another version or expression.", "group before after"),
    "RocketBrokerStarted": _kind(_BROKER, "A broker is up.", "broker address"),
    "RocketBrokerStopping": _kind(_BROKER, "A broker shuts down in good order.", ""),
    "RocketTopicConfigured": _kind(_BROKER, "A topic's queues were changed on a broker.", "before after"),
    "RocketOffsetReset": _kind(_BROKER, "An administrator resets a group's offsets.", "group topic remote fault"),
    "RocketBrokerRegistered": _kind(_BROKER, "A broker is new at a name server.", "address"),
    "RocketBrokerLost": _kind(_BROKER, "A broker's connection to a name server is gone, or its last address.", "address broker"),
    "RocketTopicRouted": _kind(_BROKER, "A topic's queues on a broker are others than before.", "topic broker reads reads_before"),
}
"""All events that a catalogue entry, or the reader itself, may emit."""
