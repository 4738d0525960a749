"""Processes brokers' lines about replicas that they hold."""

from __future__ import annotations

from models.events import Event, partition_name
from models.kafka.partitions.event_fields import OFFSETS_TOPIC, fetchers_field, nodes_field, number_field, word_field
from models.kafka.partitions.leaderships import (
    history_of,
    note_unclean_setting,
    record_leadership,
    record_takeover,
    record_vacancy,
    update_replicas,
)
from models.kafka.partitions.partition_history import MOMENT_US, NO_LEADER, Leadership, LeadershipSource
from models.kafka.partitions.partition_state import PartitionState


def process_missing_leader(state: PartitionState, event: Event) -> None:
    """Record a vacancy that a broker hears of or runs into."""
    history = history_of(state, event)
    if history is None or word_field(event, "leader") != NO_LEADER:
        return
    if number_field(event, "leader_epoch") is not None:
        record_leadership(state, history, event, NO_LEADER, LeadershipSource.SEEN, has_time=False, isr=nodes_field(event, "isr"))
    elif history.leader in {None, NO_LEADER} or state.brokers.is_down(history.leader or ""):
        record_vacancy(state, history, event, LeadershipSource.SEEN)  # otherwise the broker learns late of a vacancy that is over


def process_leader_start(state: PartitionState, event: Event) -> None:
    """Record that a broker leads a partition."""
    history = history_of(state, event)
    if history is None or event.node is None:
        return
    state.brokers.alive(event.node)
    epoch, previous = number_field(event, "leader_epoch"), number_field(event, "previous_epoch")
    if word_field(event, "previous_leader") == NO_LEADER and previous is not None and epoch is not None and previous < epoch:
        state.enter_leadership(
            history, Leadership(previous, NO_LEADER, event.time_us, LeadershipSource.SEEN, has_time=False, events=[event]), event
        )
    record_leadership(state, history, event, event.node, LeadershipSource.SEEN, has_time=False, isr=nodes_field(event, "isr"))


def process_coordinator_start(state: PartitionState, event: Event) -> None:
    """End the vacancy of an offsets partition that a coordinator takes.

    Since 3.3 a broker's server.log has no line of its own about the start of a leadership.
    """
    history = None if event.partition is None else state.partitions.known(OFFSETS_TOPIC, event.partition)
    if event.node is None:
        return
    state.brokers.alive(event.node)
    if history is not None and history.leader == NO_LEADER:
        if not history.replicas and event.node not in history.seen and history.leaderships[-1].source is LeadershipSource.IMPLIED:
            del history.leaderships[-1]  # it was taken for the only replica's, and there is another one
            history.forget_isr(event.time_us)
        record_leadership(state, history, event, event.node, LeadershipSource.SEEN, has_time=False)


def process_follower_start(state: PartitionState, event: Event) -> None:
    """Record whom a broker follows."""
    history, leader = history_of(state, event), word_field(event, "leader")
    if event.node is not None:
        state.brokers.alive(event.node)
        if history is not None:
            state.partitions.note_nodes(history, (event.node,))
    if history is not None and leader is not None:
        record_leadership(state, history, event, leader, LeadershipSource.SEEN, has_time=False)


def process_kept_partition(state: PartitionState, event: Event) -> None:
    """Record a leader that a broker already knew."""
    history, leader = history_of(state, event), word_field(event, "leader")
    if event.node is not None:
        state.brokers.alive(event.node)
    if history is not None and leader is not None:
        record_leadership(state, history, event, leader, LeadershipSource.SEEN, has_time=False, isr=nodes_field(event, "isr"))


def process_isr_change(state: PartitionState, event: Event) -> None:
    """Record an ISR that a leader changed, and who is alive."""
    history = history_of(state, event)
    isr, before = nodes_field(event, "isr"), nodes_field(event, "isr_before")
    if history is None or isr is None:
        return
    if event.node is not None:
        state.brokers.alive(event.node)
        state.note_holders(history, event.node, *isr, *(before or ()))
        record_takeover(state, history, event.node, event)
        state.show_alive(set(isr) - set(before or history.isr or isr), event)
    if before is not None:
        state.unconfirmed[history.topic, history.partition] = history.isr_before(event.time_us)
    else:
        state.unconfirmed.pop((history.topic, history.partition), None)
    history.take_isr(isr, event.time_us, event, before=before)


def process_isr_refusal(state: PartitionState, event: Event) -> None:
    """Take back a change that a leader asked for with an outdated state."""
    history = history_of(state, event)
    before = None if history is None else state.unconfirmed.pop((history.topic, history.partition), None)
    if history is not None and before is not None and event.time_us - before.at <= MOMENT_US:
        history.restore_isr(before)


def process_creation(state: PartitionState, event: Event) -> None:
    """Record a new partition, with its leader if stated."""
    leader = word_field(event, "leader")
    if event.topic is None or event.partition is None:
        return
    note_unclean_setting(state, event)
    if leader is None:
        state.note_holders(state.partitions.current(event.topic, event.partition), state.node_of_line(event))
        return
    state.is_kraft = True
    known = state.partitions.by_name.get((event.topic, event.partition))
    epoch = number_field(event, "leader_epoch")
    if known is not None and known.current is not None and (known.current.epoch or 0) > (epoch or 0):
        state.partitions.end(event.topic, event.partition, event.time_us)
    history = update_replicas(state, state.partitions.current(event.topic, event.partition), event)
    record_leadership(state, history, event, leader, LeadershipSource.DECIDED, has_time=True, isr=nodes_field(event, "isr"))


def process_added_fetchers(state: PartitionState, event: Event) -> None:
    """Record leaders that a follower fetches from.

    A leader of an older epoch changes nothing.
    """
    for name, leader, epoch in fetchers_field(event):
        place = partition_name(str(name))
        if place is None:
            continue
        history = state.partitions.current(*place)
        state.takeovers.followed(history)
        state.note_holders(history, event.node, str(leader))
        current = history.current
        if epoch is None or current is None or current.epoch is None or epoch >= current.epoch:
            state.show_alive({str(leader)}, event)
        if epoch is not None:
            state.enter_leadership(
                history, Leadership(epoch, str(leader), event.time_us, LeadershipSource.SEEN, has_time=False, events=[event]), event
            )
        elif history.leader != leader:
            record_takeover(state, history, str(leader), event)


def process_removed_fetchers(state: PartitionState, event: Event) -> None:
    """Record that a follower stopped fetching.

    It leads from now on, or gets another leader in a moment.
    """
    names = event.fields.get("partitions")
    for name in names if isinstance(names, (list, tuple)) else ():
        place = partition_name(str(name))
        known = state.partitions.by_name.get(place) if place is not None else None
        if known is not None and known.leader is not None:
            state.takeovers.unfollowed(known, event.time_us)
            state.check_drained(known.leader, event)
