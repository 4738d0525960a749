"""Effects of stopping a broker: partitions without a leader, and a reassignment.

Based on the last replica sets and in-sync replicas in the logs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from models.ids import make_id
from models.kafka.partitions.partition_history import NO_LEADER, Nodes
from models.kafka.partitions.partition_stage import PartitionStage
from models.rows import KAFKA, Broker, PartitionPlacement


@dataclass(frozen=True, slots=True)
class Placement:
    """Placement of a partition at the end of the logs.

    `is_sure` is True if a line named all its replicas.
    """

    topic: str
    partition: int
    replicas: Nodes
    isr: Nodes | None
    leader: str | None
    is_sure: bool


@dataclass(frozen=True, slots=True)
class ClusterLayout:
    """Partitions and brokers of a cluster at the end of the logs."""

    cluster: str
    placements: list[Placement]
    running: Nodes
    gone: Nodes


@dataclass(frozen=True, slots=True)
class PartitionAtRisk:
    """A partition that would lose its leader.

    `target` is a possible new placement, empty if no other broker is known.
    """

    placement: Placement
    why: str  # single_replica, last_in_sync
    target: Nodes


def layout_of(cluster: str, stage: PartitionStage) -> ClusterLayout:
    """Layout of a cluster after the last event."""
    placements = [
        Placement(lifetime.topic, lifetime.partition, lifetime.candidates, lifetime.isr, lifetime.leader, bool(lifetime.replicas))
        for lifetime in stage.partitions.all()
        if lifetime.deleted_at is None and lifetime.candidates
    ]
    known = {node for placement in placements for node in placement.replicas} | stage.brokers.working()
    gone = stage.brokers.down()
    return ClusterLayout(cluster, placements, _sorted(known - gone), _sorted(gone))


def _sorted(nodes: Iterable[str]) -> Nodes:
    return tuple(sorted(nodes, key=lambda node: (len(node), node)))


def placement_rows(layout: ClusterLayout) -> list[PartitionPlacement]:
    """Rows of a layout's partitions."""
    return [
        PartitionPlacement(
            cluster=layout.cluster,
            system=KAFKA,
            partition_placement_id=make_id("placement", layout.cluster, placement.topic, placement.partition),
            topic=placement.topic,
            partition=placement.partition,
            replicas=list(placement.replicas),
            replicas_known=placement.is_sure,
            isr=None if placement.isr is None else list(placement.isr),
            leader=placement.leader,
        )
        for placement in layout.placements
    ]


def broker_rows(layout: ClusterLayout) -> list[Broker]:
    """Rows of a layout's brokers."""
    replica_counts = Counter(node for placement in layout.placements for node in placement.replicas)
    led = Counter(placement.leader for placement in layout.placements)
    return [
        Broker(
            layout.cluster, KAFKA, make_id("broker", layout.cluster, node), node, node in layout.running, replica_counts[node], led[node]
        )
        for node in _sorted({*layout.running, *layout.gone})
    ]


def layouts_of(placements: Iterable[PartitionPlacement], brokers: Iterable[Broker]) -> list[ClusterLayout]:
    """Layouts from rows: the inverse of `placement_rows` and `broker_rows`."""
    nodes: dict[str, dict[bool, list[str]]] = {}
    for broker in brokers:
        nodes.setdefault(broker.cluster, {True: [], False: []})[broker.running].append(broker.node)
    placed: dict[str, list[Placement]] = {cluster: [] for cluster in nodes}
    for row in placements:
        isr = None if row.isr is None else tuple(row.isr)
        placement = Placement(row.topic, row.partition, tuple(row.replicas), isr, row.leader, row.replicas_known)
        placed.setdefault(row.cluster, []).append(placement)
    return [
        ClusterLayout(
            cluster,
            sorted(placed[cluster], key=lambda placement: (placement.topic, placement.partition)),
            _sorted(nodes.get(cluster, {}).get(True, ())),
            _sorted(nodes.get(cluster, {}).get(False, ())),
        )
        for cluster in sorted(placed)
    ]


def exposed_by(layout: ClusterLayout, broker: str) -> list[PartitionAtRisk]:
    """Partitions without a candidate for leader if a broker stops.

    Partitions that have no leader already are excluded.
    """
    load = Counter({node: 0 for node in layout.running if node != broker})
    for placement in layout.placements:
        load.update(node for node in placement.replicas if node in load)
    exposed = []
    for placement in layout.placements:
        why = _why(placement, broker, frozenset(layout.gone))
        if why is not None:
            exposed.append(PartitionAtRisk(placement, why, _target(placement, load)))
    return exposed


def _why(placement: Placement, broker: str, gone: frozenset[str]) -> str | None:
    if broker not in placement.replicas or placement.leader == NO_LEADER:
        return None
    if placement.replicas == (broker,):
        return "single_replica"
    isr = placement.isr if placement.isr is not None else placement.replicas
    left = [node for node in isr if node != broker and node not in gone]
    return "last_in_sync" if broker in isr and not left else None


def _target(placement: Placement, load: Counter[str]) -> Nodes:
    """The same number of replicas without the broker.

    Remaining replicas stay; brokers with the fewest replicas are added.
    """
    kept = [node for node in placement.replicas if node in load]
    others = sorted((node for node in load if node not in kept), key=lambda node: (load[node], len(node), node))
    chosen = [*kept, *others][: len(placement.replicas)]
    load.update(node for node in chosen if node not in kept)
    return tuple(chosen)


def reassignment(exposed: Iterable[PartitionAtRisk]) -> dict[str, Any]:
    """Input for `kafka-reassign-partitions --reassignment-json-file`.

    Broker ids are numbers there.
    """
    return {
        "version": 1,
        "partitions": [
            {
                "topic": partition.placement.topic,
                "partition": partition.placement.partition,
                "replicas": [int(node) for node in partition.target],
                "log_dirs": ["any"] * len(partition.target),
            }
            for partition in exposed
            if partition.target and all(node.isdecimal() for node in partition.target)
        ],
    }
