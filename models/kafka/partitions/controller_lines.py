"""Processes a controller's lines about partitions, topics and brokers.

`leaderships` weighs leaders named in them against other sources, and records them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from models.events import Event, partition_name
from models.kafka.partitions.event_fields import named_nodes, nodes_field, word_field
from models.kafka.partitions.leaderships import (
    history_of,
    note_unclean_setting,
    record_earlier_vacancy,
    record_leadership,
    record_offline,
    record_previous_leadership,
    record_vacancy,
)
from models.kafka.partitions.partition_history import NO_LEADER, Leadership, LeadershipSource
from models.kafka.partitions.partition_state import PartitionState

OFFLINE = "OfflinePartition"
NEW = "NewPartition"


def process_state_change(state: PartitionState, event: Event) -> None:
    """Record a partition's new state, leader, ISR and ELR."""
    topic_id = word_field(event, "topic_id")
    if event.topic is None and topic_id is not None:
        event = replace(event, topic=state.topic_ids.get(topic_id))
    to_state = word_field(event, "to_state")
    if to_state == NEW and event.topic is not None and event.partition is not None:
        state.partitions.end(event.topic, event.partition, event.time_us)
    history = history_of(state, event)
    if history is None:
        return
    leader = word_field(event, "leader")
    isr = nodes_field(event, "isr")
    elr = nodes_field(event, "elr")
    if elr is not None:
        history.elr = elr
    if "removed" in event.fields:
        state.note_holders(history, word_field(event, "removed"))
    if leader is not None:
        record_previous_leadership(state, history, event)
        if word_field(event, "from_state") == OFFLINE:
            record_earlier_vacancy(state, history, event)
        record_leadership(state, history, event, leader, LeadershipSource.DECIDED, has_time=True, isr=isr)
    elif to_state == OFFLINE:
        record_offline(state, history, event)
    elif isr is not None:
        history.take_isr(isr, event.time_us, event)


def process_failed_election(state: PartitionState, event: Event) -> None:
    """Record a vacancy that an election could not end."""
    history = history_of(state, event)
    if history is not None and word_field(event, "from_state") in {OFFLINE, NEW}:
        record_vacancy(state, history, event)


def process_leader_and_isr(state: PartitionState, event: Event) -> None:
    """Record the leader and ISR that a controller sends to brokers."""
    history, leader = history_of(state, event), word_field(event, "leader")
    if history is not None and leader is not None:
        record_leadership(state, history, event, leader, LeadershipSource.DECIDED, has_time=True, isr=nodes_field(event, "isr"))


def process_assignment(state: PartitionState, event: Event) -> None:
    """Record the replicas of a new topic's partitions.

    The first live replica leads.
    """
    note_unclean_setting(state, event)
    topic_id = word_field(event, "topic_id")
    if event.topic is not None and topic_id is not None:
        state.topic_ids[topic_id] = event.topic
    assignment = event.fields.get("assignment")
    if event.topic is None or not isinstance(assignment, Mapping):
        return
    for number, nodes in assignment.items():
        place = partition_name(f"{event.topic}-{number}")
        if place is None:
            continue
        history = state.partitions.current(*place)
        replicas = tuple(str(node) for node in nodes)
        if not replicas or history.replicas:
            continue
        history.replicas = replicas
        state.partitions.note_nodes(history, replicas)
        if history.current is None:
            isr = tuple(node for node in replicas if not state.brokers.is_down(node))
            leader = isr[0] if isr else NO_LEADER
            state.enter_leadership(
                history, Leadership(0, leader, event.time_us, LeadershipSource.IMPLIED, isr, is_guessed=True, events=[event]), event
            )
            history.take_isr(isr, event.time_us, event)


def process_topic_deletion(state: PartitionState, event: Event) -> None:
    """End the partitions of a deleted topic."""
    state.partitions.topic_deleted(event.topic or "", event.time_us)
    state.unclean_topics.pop(event.topic or "", None)


def process_unclean_setting(state: PartitionState, event: Event) -> None:
    """Note whether a topic allows unclean elections."""
    if event.topic is not None:
        state.unclean_topics[event.topic] = bool(event.fields.get("allowed"))


def process_live_brokers(state: PartitionState, event: Event) -> None:
    """Record departures and returns by a list of live brokers."""
    for node in nodes_field(event, "bounced") or ():
        state.record_departure(node, event)
        state.record_return(node, event)
    for node in nodes_field(event, "removed") or ():
        state.record_departure(node, event)
    for node in nodes_field(event, "added") or ():
        state.record_return(node, event)
    live = nodes_field(event, "live")
    if live is not None:
        for node in sorted(state.brokers.working() - set(live)):
            state.record_departure(node, event)
        for node in live:
            if state.brokers.is_down(node):
                state.record_return(node, event)
            state.brokers.alive(node)


def process_departures(state: PartitionState, event: Event) -> None:
    """Record the departure of each broker that the line names."""
    for node in named_nodes(event):
        state.record_departure(node, event, is_fenced=event.name == "BrokerFenced")


def process_returns(state: PartitionState, event: Event) -> None:
    """Record the return of each broker that the line names."""
    for node in named_nodes(event):
        state.record_return(node, event)


def process_registration(state: PartitionState, event: Event) -> None:
    """Record the start of a broker that registers again."""
    node = word_field(event, "broker")
    if node is not None and word_field(event, "previous_incarnation") is not None:
        state.brokers.starting(node, event.time_us, event)


def process_controlled_shutdown(state: PartitionState, event: Event) -> None:
    """Record a controlled shutdown that was granted or has ended."""
    for node in named_nodes(event):
        state.brokers.sign(node, "leaving", event)


def process_moved_partitions(state: PartitionState, event: Event) -> None:
    """Record a KRaft controller's batch of moves.

    A controlled shutdown takes its broker out of service.
    """
    node = word_field(event, "broker")
    if node is not None and word_field(event, "why") == "enterControlledShutdown":
        state.record_departure(node, event, is_controlled=True)


def process_controller_election(state: PartitionState, event: Event) -> None:
    """Record the beginning of a controller's term."""
    node = state.node_of_line(event)
    if node is not None:
        waiting = state.controllers.has_lost_quorum(event.time_us)
        state.controllers.elected(node, event.time_us, event)
        if waiting:
            state.elect_missing_leaders(event)


def process_controller_resignation(state: PartitionState, event: Event) -> None:
    """Record the end of a controller's term."""
    node = state.node_of_line(event)
    if node is not None:
        state.controllers.over(node, event.time_us, event)


def process_failed_quorum(state: PartitionState, event: Event) -> None:
    """Record that too few voters answered a candidate."""
    state.controllers.failed(event)


def process_reassignment(state: PartitionState, event: Event) -> None:
    """Record that a partition has its new replicas, and may have moved with it."""
    history = history_of(state, event)
    if history is not None and event.fields.get("moved"):
        history.reassigned.append(event)


def process_preferred_election(state: PartitionState, event: Event) -> None:
    """Record a preferred election.

    The event lists partitions separated by commas.
    """
    if word_field(event, "election") != "PREFERRED":
        return
    for name in (word_field(event, "partitions") or "").split(","):
        place = partition_name(name)
        known = state.partitions.known(*place) if place is not None else None
        if known is not None:
            known.preferred.append(event.time_us)
