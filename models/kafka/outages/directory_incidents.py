"""Incidents of log directories that failed while their broker stayed up.

Partitions without a leader, or the departure of the broker, already have incidents that show the failure.
"""

from __future__ import annotations

from collections.abc import Iterable

from models.causes import RootCause
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import DirectoryFacts
from models.incidents.incident_rows import incident_row
from models.kafka.outages.leader_loss import TAKEN_OVER_US
from models.kafka.partitions.brokers import SAME_DEPARTURE_US, Brokers, DirectoryFailure
from models.kafka.partitions.partition_history import MOMENT_US
from models.rows import KAFKA, Incident, LeaderMove, PartitionOutage
from models.times import first_known, raised_in_order


def explain_failure(failure: DirectoryFailure, outages: Iterable[PartitionOutage], moves: Iterable[LeaderMove], brokers: Brokers) -> None:
    """Note whether other rows show a failure, and how many leaderships it moved."""
    failure.is_explained = _has_broker_gone(failure, brokers) or any(_is_left_vacant(failure, row) for row in outages)
    failure.moved = sum(_moved_by(failure, move) for move in moves)


def _has_broker_gone(failure: DirectoryFailure, brokers: Brokers) -> bool:
    return brokers.last_departure(failure.node, failure.at + SAME_DEPARTURE_US, failure.at - MOMENT_US) is not None


def _is_left_vacant(failure: DirectoryFailure, row: PartitionOutage) -> bool:
    began = first_known(row.offline_at, row.online_at)
    return row.cause == "log_dir_failed" and row.leader_before == failure.node and _is_soon_after(failure, began)


def _moved_by(failure: DirectoryFailure, move: LeaderMove) -> bool:
    return move.from_node == failure.node and move.moved_at is not None and _is_soon_after(failure, move.moved_at)


def _is_soon_after(failure: DirectoryFailure, at: int) -> bool:
    return -MOMENT_US <= at - failure.at <= TAKEN_OVER_US


def directory_incident(cluster: str, failure: DirectoryFailure) -> Incident[DirectoryFacts]:
    """Row of a failure that no other row shows."""
    started_at, ended_at = raised_in_order(failure.at, failure.ended_at)
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", cluster, "log_dir", failure.node, failure.at),
        kind="log_dir_failed",
        severity="warning",
        started_at=started_at,
        ended_at=ended_at,
        root_cause=RootCause.LOG_DIR_FAILED.value,
        headline=_facts(failure),
        evidence=evidence(failure.events),
    )


def _facts(failure: DirectoryFailure) -> DirectoryFacts:
    led, unknown = failure.led_by(failure.node), failure.led_by(None)
    return DirectoryFacts(
        broker=failure.node,
        folders=failure.folders,
        replicas=tuple(failure.replicas),
        led=tuple(led),
        has_unknown_leaders=bool(unknown),
        moved_leaderships=failure.moved,
        has_moved_all=bool(failure.replicas) and not unknown and failure.moved >= len(led),
    )
