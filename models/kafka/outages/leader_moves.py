"""Leader moves: rows, and why a leadership went to another broker."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.outages.leader_loss import TAKEN_OVER_US, dir_failures, is_from_elr
from models.kafka.outages.outage_rows import leader_epoch_key
from models.kafka.partitions.brokers import Brokers
from models.kafka.partitions.partition_history import MOMENT_US, NO_LEADER, Leadership, LeadershipSource, PartitionHistory
from models.rows import KAFKA, Evidence, LeaderMove


def leader_moves(cluster: str, history: PartitionHistory, brokers: Brokers, leaderships: Iterable[Leadership]) -> Iterator[LeaderMove]:
    """Leader changes between brokers, from consecutive leaderships.

    A vacancy may lie in between.
    """
    before: Leadership | None = None
    vacant: list[Leadership] = []
    for leadership in leaderships:
        if leadership.leader == NO_LEADER:
            vacant.append(leadership)
            continue
        if before is not None and before.leader != leadership.leader:
            yield LeaderMove(
                cluster=cluster,
                system=KAFKA,
                leader_move_id=make_id("leader_move", cluster, *history.key, *leader_epoch_key(leadership.epoch, leadership.at)),
                topic=history.topic,
                partition=history.partition,
                from_node=before.leader,
                to_node=leadership.leader,
                moved_at=leadership.at,
                leader_epoch=leadership.epoch,
                reason=_reason(history, brokers, before, leadership),
                is_clean_election=_is_clean(history, vacant, leadership),
                evidence=[
                    *evidence(leadership.events, inferred=leadership.source is LeadershipSource.IMPLIED),
                    *_behind_move(history, brokers, before, leadership),
                ],
            )
        before, vacant = leadership, []


def _is_clean(history: PartitionHistory, vacant: list[Leadership], leadership: Leadership) -> bool | None:
    """Whether the new leader was in sync, None if unknown."""
    if leadership.is_unclean:
        return False
    if is_from_elr(leadership):
        return True
    left = next((gone.isr for gone in reversed(vacant) if gone.isr), None)
    if left is not None:
        return leadership.leader in left
    before = next((change.isr for change in reversed(history.isr_changes) if change.at < leadership.at), None)
    if before is not None and leadership.leader not in before and tuple(leadership.isr or ()) == (leadership.leader,):
        return False  # an unclean leader begins with itself alone in sync (PartitionStateMachine, OfflinePartitionLeaderElection)
    known = [change.isr for change in history.isr_changes if change.at <= leadership.at]
    return True if any(leadership.leader in isr for isr in known[-2:]) else None


def _reassigned_by(history: PartitionHistory, leadership: Leadership) -> list[Event]:
    """Lines about a reassignment that ended just before a leadership began."""
    return [event for event in history.reassigned if 0 <= leadership.at - event.time_us <= TAKEN_OVER_US][-1:]


def _behind_move(history: PartitionHistory, brokers: Brokers, before: Leadership, leadership: Leadership) -> list[Evidence]:
    """Lines that tell why a leadership moved, if it was not its broker's departure."""
    failed = dir_failures(brokers, (before.leader,), leadership.at)
    return [*evidence(_reassigned_by(history, leadership)), *evidence(failed.values(), inferred=True)]


def _reason(history: PartitionHistory, brokers: Brokers, before: Leadership, leadership: Leadership) -> str | None:
    """Reason for a leader move, None if unknown."""
    departure = brokers.last_departure(before.leader, leadership.at + MOMENT_US, leadership.at - TAKEN_OVER_US)
    if departure is not None and before.at <= (departure.down_at or 0) + MOMENT_US:
        return f"broker {before.leader} {'was stopped' if departure.is_controlled else 'was lost'}"
    if brokers.was_leaving(before.leader, leadership.at - TAKEN_OVER_US, leadership.at):
        return f"broker {before.leader} was stopped"
    if brokers.absent_at(before.leader, leadership.at) is not None:
        return f"broker {before.leader} was lost"
    if _reassigned_by(history, leadership):
        return "reassignment finished"
    if any(0 <= leadership.at - at <= TAKEN_OVER_US for at in history.preferred):
        return "preferred replica elected"
    if dir_failures(brokers, (before.leader,), leadership.at):
        return f"a log directory of broker {before.leader} failed"
    if history.replicas and history.replicas[0] == leadership.leader:
        return "preferred replica elected"
    return None
