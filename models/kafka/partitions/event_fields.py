"""Events read by the partition stage, and access to their fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from models.events import Event
from models.kafka.partitions.partition_history import Nodes

OFFSETS_TOPIC = "__consumer_offsets"

PARTITION_EVENTS = frozenset(
    {
        "BrokerAnnounced",
        "BrokerConfigured",
        "BrokerFenced",
        "BrokerLeaving",
        "BrokerLeft",
        "BrokerRegistered",
        "BrokerShutdownTried",
        "BrokerStarted",
        "BrokerStarting",
        "BrokerStateChanged",
        "BrokerStopped",
        "BrokerStopping",
        "BrokerUnfenced",
        "BrokersCame",
        "BrokersChanged",
        "BrokersFailed",
        "ControllerElected",
        "ControllerResigned",
        "CoordinatorElected",
        "ElectionFailed",
        "ElectionStarted",
        "FetchersAdded",
        "FetchersRemoved",
        "FollowerStarted",
        "IsrChanged",
        "IsrRefused",
        "LeaderMissing",
        "LeaderStarted",
        "LeaderUnreachable",
        "LogDirFailed",
        "LogDirWriteFailed",
        "PartitionCreated",
        "PartitionKept",
        "PartitionLoadStarted",
        "PartitionLoaded",
        "PartitionStateChanged",
        "PartitionTold",
        "PartitionsAdded",
        "PartitionsMoved",
        "QuorumElectionFailed",
        "QuorumLost",
        "QuorumTurned",
        "ReassignmentCompleted",
        "SessionExpired",
        "TopicCreated",
        "TopicDeleted",
        "UncleanElectionEnabled",
    }
)
"""Events read by the partition stage."""

DEPENDENT_EVENTS = frozenset({"ElectionStarted", "FetchersRemoved", "QuorumElectionFailed", "QuorumLost", "ReassignmentCompleted"})
"""Events that only add to others.

Alone they name no partition or broker for a row.
"""

KRAFT_ONLY = frozenset({"BrokerFenced", "BrokerUnfenced", "BrokerRegistered", "BrokerStateChanged", "PartitionsMoved", "QuorumLost"})
"""Events that only occur in clusters without ZooKeeper."""


def nodes_field(event: Event, name: str) -> Nodes | None:
    """A list of nodes, None if the event lacks the field."""
    value = event.fields.get(name)
    return _shared(tuple(map(str, value))) if isinstance(value, (list, tuple)) else None


@lru_cache(maxsize=65_536)
def _shared(nodes: Nodes) -> Nodes:
    """Share equal tuples.

    A cluster has far more partitions than sets of brokers.
    """
    return nodes


def named_nodes(event: Event) -> Nodes:
    """Brokers named in a controller's event."""
    broker = word_field(event, "broker")
    return (*(nodes_field(event, "brokers") or ()), *(() if broker is None else (broker,)))


def number_field(event: Event, name: str) -> int | None:
    """An integer field, None if it is missing."""
    value = event.fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def fetchers_field(event: Event) -> Iterator[tuple[str, str, int | None]]:
    """Partition, leader and leader epoch of each fetcher in an event."""
    items = event.fields.get("fetchers")
    for item in items if isinstance(items, (list, tuple)) else ():
        if isinstance(item, (list, tuple)) and len(item) == 3 and (item[2] is None or isinstance(item[2], int)):
            yield str(item[0]), str(item[1]), item[2]


def word_field(event: Event, name: str) -> str | None:
    """A field as text, None if it is missing."""
    value = event.fields.get(name)
    return str(value) if isinstance(value, (str, int)) else None
