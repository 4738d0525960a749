"""State of a cluster's partitions and brokers, with inferred elections."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from models.events import Event
from models.kafka.elections.leader_election import elect_leader
from models.kafka.partitions.brokers import SAME_DEPARTURE_US, BrokerAbsence, Brokers
from models.kafka.partitions.controllers import Controllers
from models.kafka.partitions.leadership_drain import MOVES_MIN, LeadershipDrain
from models.kafka.partitions.partition_history import (
    MOMENT_US,
    NO_LEADER,
    IsrBefore,
    Leadership,
    LeadershipSource,
    Nodes,
    PartitionHistory,
    Partitions,
)
from models.kafka.partitions.suspected_failures import SuspectedFailures
from models.tolerances import int_tolerance

START_LEAST_US = int_tolerance("kafka.state.start_least_us")
"""Minimum time for a broker to stop, start and catch up."""


@dataclass(slots=True)
class PartitionState:
    """Partitions and brokers according to the events so far."""

    node_of: Mapping[str, str] = field(default_factory=dict)
    partitions: Partitions = field(default_factory=Partitions)
    brokers: Brokers = field(default_factory=Brokers)
    is_kraft: bool = False
    unclean_topics: dict[str, bool] = field(default_factory=dict)
    unclean_default: bool = False
    suspicions: SuspectedFailures = field(default_factory=SuspectedFailures)
    controllers: Controllers = field(default_factory=Controllers)
    takeovers: LeadershipDrain = field(default_factory=LeadershipDrain)
    topic_ids: dict[str, str] = field(default_factory=dict)
    """Topics by id, because some lines of KRaft controllers name the id only."""
    unconfirmed: dict[tuple[str, int], IsrBefore] = field(default_factory=dict)
    """What held before the last change of in-sync replicas that a leader asked for."""
    now: int = 0
    last_own: dict[str, Event] = field(default_factory=dict)
    """Latest line of each broker about itself."""

    def node_of_line(self, event: Event) -> str | None:
        """The broker that wrote a line, None if unknown."""
        return event.node or self.node_of.get(event.place.file)

    def note_holders(self, history: PartitionHistory, *nodes: str | None) -> None:
        """Record brokers that have a partition."""
        known = [node for node in nodes if node is not None]
        history.note(known)
        self.partitions.note_nodes(history, known)

    def enter_leadership(self, history: PartitionHistory, new: Leadership, event: Event) -> None:
        """Add a leadership; infer a departure if its former leader leads nothing."""
        was = history.current
        supposed = was is not None and was.source is LeadershipSource.IMPLIED  # then a contradicting line is no evidence of a move
        before = history.leader
        history.add_leadership(new, is_kraft=self.is_kraft)
        if new.source is not LeadershipSource.IMPLIED:
            history.regain(new.leader)
        after = history.leader
        if after is None or before == after:
            return
        self.takeovers.changed(history, before, after, None if supposed else event, self.brokers)
        if new.source is not LeadershipSource.IMPLIED and before is not None:
            self.check_drained(before, event)

    def check_drained(self, node: str, event: Event) -> None:
        """Check whether a broker has just lost all of its leaderships.

        Refused connections distinguish a killed broker from a stopped one.
        """
        at = event.time_us
        if node == NO_LEADER or self.brokers.is_down(node) or not self.suspicions.may_be_gone(node, at):
            return
        if self.brokers.dir_failures(node, at - SAME_DEPARTURE_US, at):
            return  # its replicas went, not the broker
        moves = self.takeovers.draining_moves(node, at, self.brokers)
        refused = self.suspicions.refused_lately(node, at) if moves else None
        taken = [move for move in moves if not move.is_back]
        if refused is not None:
            self.record_departure(node, refused, is_suspected=True)
        elif len(taken) >= MOVES_MIN:
            self.record_departure(node, taken[0].event, is_controlled=True, is_suspected=True)

    # -- inferred elections ------------------------------------------------------------------------------------

    def record_departure(
        self, node: str, event: Event, *, is_fenced: bool = False, is_controlled: bool = False, is_suspected: bool = False
    ) -> None:
        """Record a departure and infer the elections after it."""
        at = event.time_us
        if self.brokers.note_departure(node, at, event, is_fenced=is_fenced, is_controlled=is_controlled, is_suspected=is_suspected):
            self.controllers.over(node, at, event)
            if is_suspected and self._is_only_without_file(node):
                for history in self.partitions.add_unnamed():
                    history.suppose(node)
                    self.partitions.note_nodes(history, (node,))
            returns = self.brokers.returns(at, self.now) if is_suspected else []
            for history in self.partitions.at(node):
                if self.now - at >= MOMENT_US:
                    self._was_vacant(history, node, event)
                self._without(history, node, event)
                for absence in returns:
                    self._elect_again(history, absence)

    def lose_replica(self, history: PartitionHistory, node: str, event: Event, *, is_decided: bool) -> None:
        """Take a replica whose log directory failed from its partition.

        Who leads then is inferred only if a line names the replicas or those in sync, and no controller decides it
        (`is_decided`).
        """
        if node in history.offline:
            return
        history.offline += (node,)
        if not is_decided and (history.replicas or history.isr is not None):
            self._without(history, node, event)

    def regain_replicas(self, node: str, event: Event) -> None:
        """Count on a broker's failed directories again as it starts."""
        if not self.brokers.directories_tried_again(node, event.time_us):
            return
        for history in self.partitions.at(node):
            history.regain(node)

    def _was_vacant(self, history: PartitionHistory, node: str, event: Event) -> None:
        """Infer a vacancy for a departure that is detected late.

        The next leader is already known; the vacancy exists if nobody in the ISR could take over at once.
        """
        at = event.time_us
        index = next((number for number, leadership in enumerate(history.leaderships) if leadership.at > at), 0)
        if index == 0 or history.leaderships[index - 1].leader != node:
            return
        before, after = history.leaderships[index - 1], history.leaderships[index]
        isr = next((change.isr for change in reversed(history.isr_changes) if change.at <= at), before.isr)
        if isr is None or after.leader == NO_LEADER or after.at - at < MOMENT_US:
            return
        if any(replica != node and not self.brokers.was_down(replica, at) for replica in isr):
            return
        if not self.is_kraft:  # in KRaft a departure and a return each take an epoch, so lines would show them
            vacant = Leadership(before.epoch, NO_LEADER, at, LeadershipSource.IMPLIED, isr, is_guessed=True, events=[event])
            history.leaderships.insert(index, vacant)

    def _elect_again(self, history: PartitionHistory, absence: BrokerAbsence) -> None:
        """Repeat the election at a broker's return for a late-detected departure."""
        if history.leader == NO_LEADER and absence.up_at is not None and absence.node in history.candidates and absence.ends:
            leader, isr = self._elected(history, absence.up_at)
            if leader not in {None, NO_LEADER}:
                self._imply(history, leader or NO_LEADER, isr, absence.ends[-1])

    def _is_only_without_file(self, node: str) -> bool:
        return node not in self.suspicions.with_file and self.brokers.working() - {node} <= self.suspicions.with_file

    def _without(self, history: PartitionHistory, node: str, event: Event) -> None:
        """Remove a broker from a partition's ISR; if it led, elect anew."""
        isr = self._in_sync(history)
        if isr is None or node not in isr or history.leader == NO_LEADER:
            return
        left = tuple(replica for replica in isr if replica != node and replica not in history.offline and not self.brokers.is_down(replica))
        if history.leader == node or (history.leader is None and not left):
            leader, isr = self._elected(history, event.time_us)
            if leader is not None:
                self._imply(history, leader, isr, event)
        elif len(isr) > 1:
            history.take_isr(tuple(replica for replica in isr if replica != node), event.time_us, event)

    def _in_sync(self, history: PartitionHistory) -> Nodes | None:
        """The ISR, or all replicas if no line shows it.

        None if the replicas are not known either: from a line, or because each broker's file is present. A broker without a
        file that was down once would have appeared when it caught up.
        """
        if history.isr is not None:
            return history.isr
        unseen = self.brokers.working() - self.suspicions.with_file - self.brokers.absences.keys()
        holders = history.seen if not history.offline else ()  # a failed directory tells who has a replica, not who else
        return history.candidates if history.replicas or (holders and not unseen) else None

    def record_return(self, node: str, event: Event) -> None:
        """Record a return and infer the elections after it."""
        self.brokers.alive(node)
        self.brokers.note_return(node, event.time_us, event)
        for history in self.partitions.at(node):
            if history.leader not in {None, NO_LEADER} and history.leader not in self.suspicions.with_file:
                if history.isr is not None and node not in history.isr:
                    history.forget_isr(event.time_us)  # only its leader's file would tell when it is in sync again
            elif history.leader == NO_LEADER and node in history.candidates:
                leader, isr = self._elected(history, event.time_us)
                if leader not in {None, NO_LEADER}:
                    self._imply(history, leader or NO_LEADER, isr, event)

    def _imply(self, history: PartitionHistory, leader: str, isr: Nodes, event: Event) -> None:
        current = history.current
        epoch = None if current is None or current.epoch is None else current.epoch + 1
        unclean = leader != NO_LEADER and history.isr is not None and leader not in history.isr
        unwritten = leader == NO_LEADER and current is not None and self.controllers.has_lost_quorum(event.time_us)
        if unwritten and current is not None:  # nobody is there to write the vacancy down: it takes no epoch
            epoch = current.epoch
        leadership = Leadership(
            epoch, leader, event.time_us, LeadershipSource.IMPLIED, isr, is_guessed=True, is_unclean=unclean, events=[event]
        )
        if unwritten:
            history.leaderships.append(leadership)
        else:
            self.enter_leadership(history, leadership, event)
        if leader != NO_LEADER:
            history.take_isr(isr, event.time_us, event)

    def _elected(self, history: PartitionHistory, at: int) -> tuple[str | None, Nodes]:
        """Leader and ISR elected at a time; leader None if unknown."""
        unclean = self.unclean_topics.get(history.topic, self.unclean_default)

        def is_down(node: str) -> bool:
            if node in history.offline:
                return True
            return self.brokers.is_down(node) if self.now - at < MOMENT_US else self.brokers.was_down(node, at)

        isr = history.isr_before_forgotten(at) or self._in_sync(history)
        if self.controllers.has_lost_quorum(at):
            return NO_LEADER, isr or ()
        return elect_leader(history.candidates, isr, is_down, is_kraft=self.is_kraft, is_unclean=unclean)

    def elect_missing_leaders(self, event: Event) -> None:
        """Elect leaders that nobody could elect while there was no quorum."""
        for history in self.partitions.by_name.values():
            if history.leader == NO_LEADER:
                leader, isr = self._elected(history, event.time_us)
                if leader not in {None, NO_LEADER}:
                    self._imply(history, leader or NO_LEADER, isr, event)

    def show_alive(self, nodes: Iterable[str], event: Event) -> None:
        """Record brokers that lead or catch up as returned.

        Brokers without files may have no other evidence of their return.
        """
        for node in sorted(set(nodes) - self.suspicions.with_file):
            departure = self.brokers.last_departure(node, event.time_us, event.time_us - START_LEAST_US)
            if departure is None:  # else a line about what was before it went
                self.confirm_return(node, event)

    def confirm_return(self, node: str, event: Event) -> None:
        """Record a return by a broker's own line.

        A controller's line about the departure takes precedence.
        """
        if self.brokers.is_suspected(node):
            self.record_return(node, event)
