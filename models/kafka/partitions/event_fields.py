"""Which events the partition stage reads, and how it reads their fields."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from models.events import Event
from models.kafka.partitions.history import Nodes

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
        "ElectionFailed",
        "ElectionStarted",
        "FetchersAdded",
        "FetchersRemoved",
        "FollowerStarted",
        "IsrChanged",
        "LeaderMissing",
        "LeaderStarted",
        "LeaderUnreachable",
        "LogDirFailed",
        "PartitionCreated",
        "PartitionKept",
        "PartitionStateChanged",
        "PartitionTold",
        "PartitionsAdded",
        "PartitionsMoved",
        "SessionExpired",
        "TopicCreated",
        "TopicDeleted",
        "UncleanElectionEnabled",
    }
)
"""Events that the partition stage reads."""

DEPENDENT_EVENTS = frozenset({"ElectionStarted", "FetchersRemoved"})
"""Those of them that only add to what others tell: by themselves they name no partition and no broker that rows could be of."""

KRAFT_ONLY = frozenset({"BrokerFenced", "BrokerUnfenced", "BrokerRegistered", "BrokerStateChanged", "PartitionsMoved"})
"""Events that tell that a cluster runs without ZooKeeper."""


def nodes_field(event: Event, name: str) -> Nodes | None:
    """A field that lists nodes; None where the event has none."""
    value = event.fields.get(name)
    return _shared(tuple(map(str, value))) if isinstance(value, (list, tuple)) else None


@lru_cache(maxsize=65_536)
def _shared(nodes: Nodes) -> Nodes:
    """One tuple for equal ones: a cluster has far more partitions than sets of brokers."""
    return nodes


def named_nodes(event: Event) -> Nodes:
    """The brokers that a controller speaks of, one or several."""
    one = word_field(event, "broker")
    return (*(nodes_field(event, "brokers") or ()), *(() if one is None else (one,)))


PARTITION_DIGITS_MAX = 9
"""Digits of a partition's number that surely fit 32 bits, which is what the protocol has for it."""


def partition_name(name: str) -> tuple[str, int] | None:
    """Topic and number of `topic-3`."""
    topic, dash, number = name.strip().rpartition("-")
    return (topic, int(number)) if dash and number.isdecimal() and len(number) <= PARTITION_DIGITS_MAX else None


def number_field(event: Event, name: str) -> int | None:
    """A field that holds a number."""
    value = event.fields.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def fetchers_field(event: Event) -> Iterator[tuple[str, str, int | None]]:
    """Partition, leader and leader epoch of each fetcher that an event names."""
    items = event.fields.get("fetchers")
    for item in items if isinstance(items, (list, tuple)) else ():
        if isinstance(item, (list, tuple)) and len(item) == 3 and (item[2] is None or isinstance(item[2], int)):
            yield str(item[0]), str(item[1]), item[2]


def word_field(event: Event, name: str) -> str | None:
    """A field that holds a word."""
    value = event.fields.get(name)
    return str(value) if isinstance(value, (str, int)) else None
