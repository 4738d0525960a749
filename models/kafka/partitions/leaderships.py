"""Records leaderships and vacancies that lines state."""

from __future__ import annotations

from models.events import Event
from models.kafka.partitions.event_fields import nodes_field, number_field, word_field
from models.kafka.partitions.partition_history import MOMENT_US, NO_LEADER, Leadership, LeadershipSource, Nodes, PartitionHistory
from models.kafka.partitions.partition_state import PartitionState


def history_of(state: PartitionState, event: Event) -> PartitionHistory | None:
    """The history of the event's partition, with its replicas as of now."""
    if event.topic is None or event.partition is None:
        return None
    return update_replicas(state, state.partitions.current(event.topic, event.partition), event)


def update_replicas(state: PartitionState, history: PartitionHistory, event: Event) -> PartitionHistory:
    """Update the partition's replicas from an event."""
    replicas = nodes_field(event, "replicas")
    if replicas and replicas != history.replicas:
        grown = 0 < len(history.replicas) < len(replicas)
        history.note(replicas)
        history.replicas = replicas
        state.partitions.note_nodes(history, replicas)
        if history.isr is not None:
            history.take_isr(history.isr, event.time_us, event, has_grown=grown)
    return history


def record_leadership(
    state: PartitionState,
    history: PartitionHistory,
    event: Event,
    leader: str,
    source: LeadershipSource,
    *,
    has_time: bool,
    isr: Nodes | None = None,
) -> None:
    """Record a leadership that a line states."""
    epoch = number_field(event, "leader_epoch")
    at = event.time_us
    history.note((*(isr or ()), leader))
    new = Leadership(epoch, leader, at, source, isr, is_unclean=bool(event.fields.get("unclean")), has_time=has_time, events=[event])
    is_last = history.current is None or epoch is None or history.current.epoch is None or epoch >= history.current.epoch
    state.enter_leadership(history, new, event)
    state.partitions.note_nodes(history, (*(isr or ()), *(() if leader == NO_LEADER else (leader,))))
    if is_last:
        history.take_isr(isr, at, event)


def record_previous_leadership(state: PartitionState, history: PartitionHistory, event: Event) -> None:
    """Record the previous leadership that a change names."""
    leader, epoch, isr = word_field(event, "leader_before"), number_field(event, "leader_epoch"), nodes_field(event, "isr_before")
    if history.current is None and leader is not None and epoch is not None and epoch > 0:
        at, source = event.time_us, LeadershipSource.SEEN
        if leader == NO_LEADER:
            state.note_holders(history, *(isr or ()))
            at, source = _vacant_since(state, isr or (), at), LeadershipSource.DECIDED
        state.enter_leadership(history, Leadership(epoch - 1, leader, at, source, isr, has_time=at != event.time_us), event)
        history.take_isr(isr, event.time_us, event, before=isr)


def record_earlier_vacancy(state: PartitionState, history: PartitionHistory, event: Event) -> None:
    """Record that a partition was offline before the first line about it.

    From 2.6 on no file shows how a partition went offline: if a broker went at the same time, it was for a moment only.
    """
    if history.current is not None or state.brokers.has_gone_between(event.time_us - MOMENT_US, event.time_us):
        return
    epoch = number_field(event, "leader_epoch")
    before = None if epoch is None else epoch - 1
    state.enter_leadership(history, Leadership(before, NO_LEADER, event.time_us, LeadershipSource.DECIDED, has_time=False), event)


def _vacant_since(state: PartitionState, isr: Nodes, until: int) -> int:
    """Time at which the last in-sync replica went, else `until`."""
    absences = [state.brokers.absent_at(node, until) for node in isr]
    gone = [absence.down_at for absence in absences if absence is not None and absence.down_at is not None]
    return max(gone) if gone and len(gone) == len(isr) else until


def record_vacancy(
    state: PartitionState, history: PartitionHistory, event: Event, source: LeadershipSource = LeadershipSource.DECIDED
) -> None:
    """Record a vacancy from a line without an epoch.

    The epoch is assumed to be the next one.
    """
    current = history.current
    if current is not None and current.leader == NO_LEADER:
        current.add(event)
        return
    epoch = None if current is None or current.epoch is None else current.epoch + 1
    if current is not None and current.source is LeadershipSource.IMPLIED and current.is_guessed:
        epoch = current.epoch  # the line confirms an inferred vacancy
    timed = source is LeadershipSource.DECIDED
    state.enter_leadership(
        history, Leadership(epoch, NO_LEADER, event.time_us, source, history.isr, is_guessed=True, has_time=timed, events=[event]), event
    )


def record_offline(state: PartitionState, history: PartitionHistory, event: Event) -> None:
    """Record an offline partition, unless the election was already inferred."""
    current = history.current
    if (
        current is None
        or current.source is not LeadershipSource.IMPLIED
        or not current.is_guessed
        or event.time_us - current.at > MOMENT_US
    ):
        record_vacancy(state, history, event)


def record_takeover(state: PartitionState, history: PartitionHistory, leader: str, event: Event) -> None:
    """Record a leader from a line without an epoch.

    It counts only if no other leader is known.
    """
    current = history.current
    if current is None:
        state.enter_leadership(
            history, Leadership(None, leader, event.time_us, LeadershipSource.SEEN, history.isr, has_time=False, events=[event]), event
        )
    elif current.leader == NO_LEADER or state.brokers.is_down(current.leader):
        epoch = None if current.epoch is None else current.epoch + 1
        leadership = Leadership(
            epoch, leader, event.time_us, LeadershipSource.SEEN, history.isr, is_guessed=True, has_time=False, events=[event]
        )
        state.enter_leadership(history, leadership, event)


def note_unclean_setting(state: PartitionState, event: Event) -> None:
    """Note a topic's setting for unclean elections, if stated."""
    if event.topic is not None and event.fields.get("unclean") is not None:
        state.unclean_topics[event.topic] = bool(event.fields["unclean"])
