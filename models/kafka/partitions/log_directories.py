"""Log directories that fail while their broker stays up.

The broker gives up the replicas in such a directory until it starts again (ReplicaManager.scala, handleLogDirFailure). A
partition that it led from there gets another leader, or none.
"""

from __future__ import annotations

from collections.abc import Iterator

from models.events import Event, partition_name
from models.kafka.partitions.event_fields import named_nodes, word_field
from models.kafka.partitions.partition_state import PartitionState


def process_log_dir_failure(state: PartitionState, event: Event) -> None:
    """Record a failed log directory and the replicas in it.

    Whether they led is inferred from the broker's own line only: after a controller's line its decisions follow.
    """
    own_node = state.node_of_line(event) if word_field(event, "folder") and not named_nodes(event) else None
    for node in (*named_nodes(event), *filter(None, (own_node,))):
        failure = state.brokers.directory_failed(node, event)
        for topic, partition in _named_partitions(event):
            history = state.partitions.current(topic, partition)
            state.note_holders(history, node)
            failure.replicas.setdefault((topic, partition), history.leader)
            state.lose_replica(history, node, event, is_decided=node != own_node)


def _named_partitions(event: Event) -> Iterator[tuple[str, int]]:
    names = event.fields.get("partitions")
    for name in names if isinstance(names, (list, tuple)) else ():
        place = partition_name(str(name))
        if place is not None:
            yield place
