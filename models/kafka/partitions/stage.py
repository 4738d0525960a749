"""Partition stage: replays one cluster's events into partition and broker histories.

Events come in order of time. Statements of a controller are taken as they are. The rest follows from the rules of
election, because a KRaft controller logs no clean change at INFO and its file may be missing. When a broker departs,
each partition that it led gets the leader that the controller would elect, or none. Lines of brokers that take up a
leadership confirm or correct it by its leader epoch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from models.events import Event, Witness
from models.kafka.partitions.event_fields import (
    KRAFT_ONLY,
    fetchers_field,
    named_nodes,
    nodes_field,
    number_field,
    partition_name,
    word_field,
)
from models.kafka.partitions.history import MOMENT_US, NO_LEADER, Leadership, LeadershipSource, Nodes, PartitionHistory
from models.kafka.partitions.state import PartitionState

OFFLINE = "OfflinePartition"
LISTENS_WITHIN_US = 10_000_000
"""Maximum time from a broker getting its leaderships to its open port."""

_OF_A_START = frozenset({"BrokerStarting", "BrokerConfigured"})
"""A start of a broker is announced by several lines."""
_OF_SERVER_LOG = frozenset({"IsrChanged", "FetchersAdded", "FetchersRemoved"})
"""Events found only in a broker's server.log."""

NEW = "NewPartition"


@dataclass(slots=True)
class PartitionStage(PartitionState):
    """Processes PARTITION_EVENTS of one cluster.

    Events must be ordered by (`order_us`, file, byte offset), on one clock.
    """

    _last_own: dict[str, Event] = field(default_factory=dict)

    def feed(self, event: Event) -> None:
        """Process the next event."""
        self.kraft = self.kraft or event.name in KRAFT_ONLY
        self.now = max(self.now, event.order_us)
        handler = _HANDLERS.get(event.name)
        if handler is not None:
            handler(self, event)
        if event.witness is Witness.BROKER:
            node = self._own_line(event)
            if node is not None:
                self._last_own[node] = event
                if event.name in _OF_SERVER_LOG:
                    self.suspicions.with_file.add(node)

    # -- partitions ------------------------------------------------------------------------------------------

    def _history(self, event: Event) -> PartitionHistory | None:
        if event.topic is None or event.partition is None:
            return None
        return self._known(self.partitions.of(event.topic, event.partition), event)

    def _known(self, history: PartitionHistory, event: Event) -> PartitionHistory:
        """Update the partition's replicas from an event."""
        replicas = nodes_field(event, "replicas")
        if replicas and replicas != history.replicas:
            grown = 0 < len(history.replicas) < len(replicas)
            history.note(replicas)
            history.replicas = replicas
            self.partitions.note_nodes(history, replicas)
            if history.isr is not None:
                history.take_isr(history.isr, event.time_us, event, grown=grown)
        return history

    def _tell(
        self, history: PartitionHistory, event: Event, leader: str, told: LeadershipSource, *, timed: bool, isr: Nodes | None = None
    ) -> None:
        epoch = number_field(event, "leader_epoch")
        at = event.time_us
        history.note((*(isr or ()), leader))
        new = Leadership(epoch, leader, at, told, isr, unclean=bool(event.fields.get("unclean")), timed=timed, events=[event])
        is_last = history.current is None or epoch is None or history.current.epoch is None or epoch >= history.current.epoch
        self._enter(history, new, event)
        self.partitions.note_nodes(history, (*(isr or ()), *(() if leader == NO_LEADER else (leader,))))
        if is_last:
            history.take_isr(isr, at, event)

    def _state_changed(self, event: Event) -> None:
        to_state = word_field(event, "to_state")
        if to_state == NEW and event.topic is not None and event.partition is not None:
            self.partitions.end(event.topic, event.partition, event.time_us)
        history = self._history(event)
        if history is None:
            return
        leader = word_field(event, "leader")
        isr = nodes_field(event, "isr")
        elr = nodes_field(event, "elr")
        if elr is not None:
            history.elr = elr
        if "removed" in event.fields:
            self._held(history, word_field(event, "removed"))
        if leader is not None:
            self._tell_what_was(history, event)
            self._tell(history, event, leader, LeadershipSource.DECIDED, timed=True, isr=isr)
        elif to_state == OFFLINE:
            self._went_offline(history, event)
        elif isr is not None:
            history.take_isr(isr, event.time_us, event)

    def _tell_what_was(self, history: PartitionHistory, event: Event) -> None:
        """Record the previous leadership that a change names."""
        leader, epoch, isr = word_field(event, "leader_before"), number_field(event, "leader_epoch"), nodes_field(event, "isr_before")
        if history.current is None and leader not in {None, NO_LEADER} and epoch is not None and epoch > 0:
            self._enter(history, Leadership(epoch - 1, leader or NO_LEADER, event.time_us, LeadershipSource.SEEN, isr, timed=False), event)
            history.take_isr(isr, event.time_us, event, before=isr)

    def _leaderless(self, history: PartitionHistory, event: Event, told: LeadershipSource = LeadershipSource.DECIDED) -> None:
        """Record a vacancy from a line without an epoch.

        The epoch is assumed to be the next one.
        """
        current = history.current
        if current is not None and current.leader == NO_LEADER:
            current.add(event)
            return
        epoch = None if current is None or current.epoch is None else current.epoch + 1
        if current is not None and current.told is LeadershipSource.IMPLIED and current.guessed:
            epoch = current.epoch  # the line confirms an inferred vacancy
        timed = told is LeadershipSource.DECIDED
        self._enter(
            history, Leadership(epoch, NO_LEADER, event.time_us, told, history.isr, guessed=True, timed=timed, events=[event]), event
        )

    def _went_offline(self, history: PartitionHistory, event: Event) -> None:
        """Record an offline partition, unless the election was already inferred."""
        current = history.current
        if current is None or current.told is not LeadershipSource.IMPLIED or not current.guessed or event.time_us - current.at > MOMENT_US:
            self._leaderless(history, event)

    def _election_failed(self, event: Event) -> None:
        history = self._history(event)
        if history is not None and word_field(event, "from_state") in {OFFLINE, NEW}:
            self._leaderless(history, event)

    def _told(self, event: Event) -> None:
        history, leader = self._history(event), word_field(event, "leader")
        if history is not None and leader is not None:
            self._tell(history, event, leader, LeadershipSource.DECIDED, timed=True, isr=nodes_field(event, "isr"))

    def _leader_missing(self, event: Event) -> None:
        history = self._history(event)
        if history is None or word_field(event, "leader") != NO_LEADER:
            return
        if number_field(event, "leader_epoch") is not None:
            self._tell(history, event, NO_LEADER, LeadershipSource.SEEN, timed=False, isr=nodes_field(event, "isr"))
        elif history.leader in {None, NO_LEADER} or self.brokers.is_down(history.leader or ""):
            self._leaderless(history, event, LeadershipSource.SEEN)  # otherwise the broker learns late of a vacancy that is over

    def _leader_started(self, event: Event) -> None:
        history = self._history(event)
        if history is None or event.node is None:
            return
        self.brokers.alive(event.node)
        epoch, previous = number_field(event, "leader_epoch"), number_field(event, "previous_epoch")
        if word_field(event, "previous_leader") == NO_LEADER and previous is not None and epoch is not None and previous < epoch:
            self._enter(history, Leadership(previous, NO_LEADER, event.time_us, LeadershipSource.SEEN, timed=False, events=[event]), event)
        self._tell(history, event, event.node, LeadershipSource.SEEN, timed=False, isr=nodes_field(event, "isr"))

    def _follower_started(self, event: Event) -> None:
        history, leader = self._history(event), word_field(event, "leader")
        if event.node is not None:
            self.brokers.alive(event.node)
            if history is not None:
                self.partitions.note_nodes(history, (event.node,))
        if history is not None and leader is not None:
            self._tell(history, event, leader, LeadershipSource.SEEN, timed=False)

    def _kept(self, event: Event) -> None:
        history, leader = self._history(event), word_field(event, "leader")
        if event.node is not None:
            self.brokers.alive(event.node)
        if history is not None and leader is not None:
            self._tell(history, event, leader, LeadershipSource.SEEN, timed=False, isr=nodes_field(event, "isr"))

    def _isr_changed(self, event: Event) -> None:
        history = self._history(event)
        isr, before = nodes_field(event, "isr"), nodes_field(event, "isr_before")
        if history is None or isr is None:
            return
        if event.node is not None:
            self.brokers.alive(event.node)
            self._held(history, event.node, *isr, *(before or ()))
            self._takes_over(history, event.node, event)
            self._show_alive(set(isr) - set(before or history.isr or isr), event)
        history.take_isr(isr, event.time_us, event, before=before)

    def _created(self, event: Event) -> None:
        leader = word_field(event, "leader")
        if event.topic is None or event.partition is None:
            return
        self._note_unclean(event)
        if leader is None:
            self._held(self.partitions.of(event.topic, event.partition), self._own_line(event))
            return
        self.kraft = True
        known = self.partitions.by_name.get((event.topic, event.partition))
        epoch = number_field(event, "leader_epoch")
        if known is not None and known.current is not None and (known.current.epoch or 0) > (epoch or 0):
            self.partitions.end(event.topic, event.partition, event.time_us)
        history = self._known(self.partitions.of(event.topic, event.partition), event)
        self._tell(history, event, leader, LeadershipSource.DECIDED, timed=True, isr=nodes_field(event, "isr"))

    def _fetched(self, event: Event) -> None:
        """Record leaders that a follower fetches from.

        A leader of an older epoch changes nothing.
        """
        for name, leader, epoch in fetchers_field(event):
            place = partition_name(str(name))
            if place is None:
                continue
            history = self.partitions.of(*place)
            self.takeovers.followed(history)
            self._held(history, event.node, str(leader))
            current = history.current
            if epoch is None or current is None or current.epoch is None or epoch >= current.epoch:
                self._show_alive({str(leader)}, event)
            if epoch is not None:
                self._enter(
                    history, Leadership(epoch, str(leader), event.time_us, LeadershipSource.SEEN, timed=False, events=[event]), event
                )
            elif history.leader != leader:
                self._takes_over(history, str(leader), event)

    def _unfollowed(self, event: Event) -> None:
        """Record that a follower stopped fetching.

        It leads from now on, or gets another leader in a moment.
        """
        names = event.fields.get("partitions")
        for name in names if isinstance(names, (list, tuple)) else ():
            place = partition_name(str(name))
            known = self.partitions.by_name.get(place) if place is not None else None
            if known is not None and known.leader is not None:
                self.takeovers.unfollowed(known, event.time_us)
                self._led_all_before(known.leader, event)

    def _takes_over(self, history: PartitionHistory, leader: str, event: Event) -> None:
        """Record a leader from a line without an epoch.

        It counts only if no other leader is known.
        """
        current = history.current
        if current is None:
            self._enter(
                history, Leadership(None, leader, event.time_us, LeadershipSource.SEEN, history.isr, timed=False, events=[event]), event
            )
        elif current.leader == NO_LEADER or self.brokers.is_down(current.leader):
            epoch = None if current.epoch is None else current.epoch + 1
            told = Leadership(epoch, leader, event.time_us, LeadershipSource.SEEN, history.isr, guessed=True, timed=False, events=[event])
            self._enter(history, told, event)

    def _note_unclean(self, event: Event) -> None:
        if event.topic is not None and event.fields.get("unclean") is not None:
            self.unclean_topics[event.topic] = bool(event.fields["unclean"])

    def _assigned(self, event: Event) -> None:
        """Record the replicas of a new topic's partitions.

        The first live replica leads.
        """
        self._note_unclean(event)
        assignment = event.fields.get("assignment")
        if event.topic is None or not isinstance(assignment, Mapping):
            return
        for number, nodes in assignment.items():
            place = partition_name(f"{event.topic}-{number}")
            if place is None:
                continue
            history = self.partitions.of(*place)
            replicas = tuple(str(node) for node in nodes)
            if not replicas or history.replicas:
                continue
            history.replicas = replicas
            self.partitions.note_nodes(history, replicas)
            if history.current is None:
                isr = tuple(node for node in replicas if not self.brokers.is_down(node))
                leader = isr[0] if isr else NO_LEADER
                self._enter(
                    history, Leadership(0, leader, event.time_us, LeadershipSource.IMPLIED, isr, guessed=True, events=[event]), event
                )
                history.take_isr(isr, event.time_us, event)

    def _topic_deleted(self, event: Event) -> None:
        self.partitions.topic_deleted(event.topic or "", event.time_us)
        self.unclean_topics.pop(event.topic or "", None)

    def _unclean_enabled(self, event: Event) -> None:
        if event.topic is not None:
            self.unclean_topics[event.topic] = bool(event.fields.get("allowed"))

    def _configured(self, event: Event) -> None:
        if event.fields.get("unclean_election") is not None:
            self.unclean_default = bool(event.fields["unclean_election"])

    # -- brokers ---------------------------------------------------------------------------------------------

    def _brokers_changed(self, event: Event) -> None:
        for node in nodes_field(event, "bounced") or ():
            self._lost(node, event)
            self._came(node, event)
        for node in nodes_field(event, "removed") or ():
            self._lost(node, event)
        for node in nodes_field(event, "added") or ():
            self._came(node, event)
        live = nodes_field(event, "live")
        if live is not None:
            for node in sorted(self.brokers.working() - set(live)):
                self._lost(node, event)
            for node in live:
                if self.brokers.is_down(node):
                    self._came(node, event)
                self.brokers.alive(node)

    def _gone(self, event: Event) -> None:
        for node in named_nodes(event):
            self._lost(node, event, fenced=event.name == "BrokerFenced")

    def _there(self, event: Event) -> None:
        for node in named_nodes(event):
            self._came(node, event)

    def _registered(self, event: Event) -> None:
        node = word_field(event, "broker")
        if node is not None and word_field(event, "previous_incarnation") is not None:
            self.brokers.starting(node, event.time_us, event)

    def _leaves(self, event: Event) -> None:
        """Record a controlled shutdown that was granted or has ended."""
        for node in named_nodes(event):
            self.brokers.sign(node, "leaving", event)

    def _moved(self, event: Event) -> None:
        """Record a KRaft controller's batch of moves.

        A controlled shutdown takes its broker out of service.
        """
        node = word_field(event, "broker")
        if node is not None and word_field(event, "why") == "enterControlledShutdown":
            self._lost(node, event, controlled=True)

    def _starting(self, event: Event) -> None:
        """Record a broker's start.

        If it was active and left unnoticed, its last own line marks the departure.
        """
        node = self._own_line(event)
        if node is None:
            return
        last, at = self._last_own.get(node), event.time_us
        stopping = self.brokers.stopping_line(node)
        if stopping is not None:
            self._stopped(node, stopping)
        elif last is not None and last.name not in _OF_A_START and not self.brokers.is_down(node) and not self.suspicions.is_told(node, at):
            self._lost(node, last, suspected=True)
        self.brokers.starting(node, at, event)

    def _started(self, event: Event) -> None:
        node = self._own_line(event)
        if node is not None:
            self._returned(node, event)
            self.brokers.alive(node)

    def _announced(self, event: Event) -> None:
        for node in named_nodes(event):
            self._returned(node, event)

    def _state(self, event: Event) -> None:
        node = self._own_line(event)
        if node is not None and word_field(event, "state") == "RUNNING":
            self._returned(node, event)

    def _stopping(self, event: Event) -> None:
        node = self._own_line(event)
        if node is None:
            return
        if event.name == "BrokerStopped":
            self._stopped(node, self.brokers.stopping_line(node) or event)
        self.brokers.stopping(node, event.time_us, event)

    def _stopped(self, node: str, event: Event) -> None:
        """Record from its own lines that a broker leads nothing now."""
        if not self.suspicions.is_told(node, event.time_us):
            self._lost(node, event, controlled=self.brokers.goes_in_order(node), suspected=True)

    def _refused(self, event: Event) -> None:
        node = word_field(event, "broker")
        if node is None or self.brokers.is_down(node):
            return
        at = event.time_us
        if self.brokers.last_return(node, at - LISTENS_WITHIN_US, at) is not None:
            return
        first = self.suspicions.refused(node, event, event.time_us)
        if first is not None:
            self._lost(node, first, suspected=True)

    def _shutdown_tried(self, event: Event) -> None:
        node = self._own_line(event)
        if node is None:
            return
        if word_field(event, "phase") == "failed":
            self.brokers.stays_leader(node, event)
            return
        self.brokers.sign(node, "leaving", event)
        if word_field(event, "phase") in {"asked", "succeeded"}:  # KRaft: asked, ZooKeeper: succeeded; from here on it leads nothing
            self._stopped(node, event)

    def _controller_elected(self, event: Event) -> None:
        node = self._own_line(event)
        if node is not None:
            self.controllers.elected(node, event.time_us, event)

    def _controller_resigned(self, event: Event) -> None:
        node = self._own_line(event)
        if node is not None:
            self.controllers.over(node, event.time_us, event)

    def _session_expired(self, event: Event) -> None:
        node = self._own_line(event)
        if node is not None:
            self.brokers.sign(node, "session", event)

    def _log_dir_failed(self, event: Event) -> None:
        own = self._own_line(event) if word_field(event, "folder") else None
        for node in (*named_nodes(event), *filter(None, (own,))):
            self.brokers.sign(node, "log_dir", event)

    def _election_started(self, event: Event) -> None:
        """Record a preferred election.

        The event lists partitions separated by commas.
        """
        if word_field(event, "election") != "PREFERRED":
            return
        for name in (word_field(event, "partitions") or "").split(","):
            place = partition_name(name)
            known = self.partitions.known(*place) if place is not None else None
            if known is not None:
                known.preferred.append(event.time_us)


_HANDLERS: dict[str, Callable[[PartitionStage, Event], None]] = {
    "PartitionStateChanged": PartitionStage._state_changed,
    "ControllerElected": PartitionStage._controller_elected,
    "ControllerResigned": PartitionStage._controller_resigned,
    "ElectionStarted": PartitionStage._election_started,
    "ElectionFailed": PartitionStage._election_failed,
    "PartitionTold": PartitionStage._told,
    "LeaderMissing": PartitionStage._leader_missing,
    "LeaderStarted": PartitionStage._leader_started,
    "FollowerStarted": PartitionStage._follower_started,
    "PartitionKept": PartitionStage._kept,
    "IsrChanged": PartitionStage._isr_changed,
    "PartitionCreated": PartitionStage._created,
    "TopicCreated": PartitionStage._assigned,
    "PartitionsAdded": PartitionStage._assigned,
    "TopicDeleted": PartitionStage._topic_deleted,
    "UncleanElectionEnabled": PartitionStage._unclean_enabled,
    "BrokerConfigured": PartitionStage._configured,
    "BrokersChanged": PartitionStage._brokers_changed,
    "BrokersFailed": PartitionStage._gone,
    "BrokersCame": PartitionStage._there,
    "BrokerFenced": PartitionStage._gone,
    "BrokerUnfenced": PartitionStage._there,
    "BrokerRegistered": PartitionStage._registered,
    "BrokerLeaving": PartitionStage._leaves,
    "BrokerLeft": PartitionStage._leaves,
    "PartitionsMoved": PartitionStage._moved,
    "BrokerStarting": PartitionStage._starting,
    "BrokerStarted": PartitionStage._started,
    "BrokerStopping": PartitionStage._stopping,
    "BrokerStopped": PartitionStage._stopping,
    "BrokerShutdownTried": PartitionStage._shutdown_tried,
    "BrokerStateChanged": PartitionStage._state,
    "SessionExpired": PartitionStage._session_expired,
    "LogDirFailed": PartitionStage._log_dir_failed,
    "FetchersAdded": PartitionStage._fetched,
    "FetchersRemoved": PartitionStage._unfollowed,
    "LeaderUnreachable": PartitionStage._refused,
    "BrokerAnnounced": PartitionStage._announced,
}
