"""Rows of times with fewer in-sync replicas than replicas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.partitions.brokers import Brokers
from models.kafka.partitions.isr import END_UNKNOWN, ENDED_CAUGHT_UP, Shortage
from models.kafka.partitions.partition_history import MOMENT_US, PartitionHistory
from models.rows import KAFKA, UnderReplicatedSpan
from models.times import begin_of, raised_in_order
from models.tolerances import int_tolerance

LAG_US = int_tolerance("kafka.under_replication.lag_us")
"""Maximum delay until a leader drops a follower of a stopped broker.

replica.lag.time.max.ms is 10 s, since Kafka 2.5 30 s; each half of it is checked.
"""


def under_replicated_spans(
    cluster: str, history: PartitionHistory, brokers: Brokers, shortages: Iterable[Shortage], *, is_kraft: bool
) -> Iterator[UnderReplicatedSpan]:
    """Rows of a partition's shortages."""
    for shortage in shortages:
        if not shortage.events or _never_was(shortage, history, brokers):
            continue
        lost = [node for node in shortage.missing if _was_lost(brokers, node, shortage)]
        failed = _failed_dirs(brokers, shortage)
        started_at, ended_at = raised_in_order(begin_of(shortage.started_at, shortage.ended_at), shortage.ended_at)
        first = shortage.started_at if shortage.started_at is not None else shortage.ended_at
        yield UnderReplicatedSpan(
            cluster=cluster,
            system=KAFKA,
            under_replicated_span_id=make_id("under_replicated", cluster, history.topic, history.partition, first),
            topic=history.topic,
            partition=history.partition,
            started_at=started_at,
            ended_at=ended_at,
            cause=_cause(shortage, lost, failed),
            ended_by=shortage.ended_by,
            replicas=list(shortage.replicas),
            isr=list(shortage.isr),
            missing=list(shortage.missing),
            lost_brokers=lost,
            settled_by=_settled_by(shortage, history, is_kraft=is_kraft),
            evidence=[row for event in (*shortage.events, *failed) for row in evidence([event], inferred=event.topic != history.topic)],
        )


def _never_was(shortage: Shortage, history: PartitionHistory, brokers: Brokers) -> bool:
    """Whether a later line contradicts an inferred shortage.

    A line names a replica as in sync whose broker is still down: a leader drops followers late.
    """
    ended = shortage.ended_at
    if shortage.events[0].topic == history.topic or shortage.ended_by != ENDED_CAUGHT_UP or ended is None:
        return False
    return all(brokers.was_down(node, ended) for node in shortage.missing)


def _was_lost(brokers: Brokers, node: str, shortage: Shortage) -> bool:
    """Whether a broker was down, leaving or just back at the start."""
    if shortage.started_at is None:
        return False
    if brokers.was_leaving(node, shortage.started_at - LAG_US, shortage.started_at + MOMENT_US):
        return True
    return (
        brokers.was_down(node, shortage.started_at)
        or brokers.last_return(node, shortage.started_at - LAG_US, shortage.started_at) is not None
    )


def _failed_dirs(brokers: Brokers, shortage: Shortage) -> list[Event]:
    """Lines about failed directories of missing replicas' brokers."""
    at = shortage.started_at
    if at is None:
        return []
    up = (node for node in shortage.missing if not _was_lost(brokers, node, shortage))
    return [event for node in up for event in brokers.dir_failures(node, at - LAG_US, at + MOMENT_US)[:1]]


def _cause(shortage: Shortage, lost: list[str], failed: list[Event]) -> str:
    if lost:
        return "broker_down"
    if failed:
        return "log_dir_failed"
    if shortage.has_grown:
        return "reassignment"
    return "unknown" if shortage.started_at is None else "replica_lagging"


def _settled_by(shortage: Shortage, history: PartitionHistory, *, is_kraft: bool) -> str | None:
    """File that would name the replicas or the end of the shortage.

    None if both are known.
    """
    if shortage.ended_by == END_UNKNOWN:
        return f"server.log of broker {history.leader}"
    if shortage.is_sure:
        return None
    return "controller.log of the active KRaft controller" if is_kraft else "state-change.log of the controller"
