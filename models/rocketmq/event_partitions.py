"""A cluster's events split by group and topic, to fit in memory.

The share of a topic in a group depends only on the group's clients and the topic's queues. Events about clients, lists
and routes are read first, then those of each topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Protocol

from models.event_kinds import EVENTS
from models.events import Event, Witness

ROCKET_EVENTS = frozenset(name for name in EVENTS if name.startswith("Rocket"))
"""Events of RocketMQ; all others are Kafka's."""

LISTED = frozenset(
    {
        "RocketConsumerConnected",
        "RocketConsumerUnregistered",
        "RocketConsumerLost",
        "RocketConsumerExpired",
        "RocketGroupEmptied",
        "RocketTopicSubscribed",
        "RocketTopicUnsubscribed",
        "RocketSubscriptionChanged",
    }
)
"""Events of brokers' lists of a group."""

LOCKS = frozenset({"RocketLockTaken", "RocketLockReleased"})
ROUTES = frozenset({"RocketTopicRouted", "RocketBrokerRegistered", "RocketBrokerLost", "RocketBrokerStarted", "RocketTopicConfigured"})

MASTERS = frozenset({"RocketMasterElected", "RocketElectionFailed", "RocketBrokerInactive", "RocketBrokerRoleChanged"})
"""Events of controllers and brokers about masters of broker sets."""

POPPED = frozenset({"RocketPopRevived", "RocketPopStalled", "RocketLiteTold"})
"""Events of brokers about lite topics, and popped messages that nobody acknowledges."""

STOPS_AND_CHANGES = frozenset({"RocketBrokerStopping", "RocketTopicAdministered", "RocketGroupAdministered", "RocketOffsetReset"})
"""Events of brokers that stop, and of what administrators change."""

SERVERS = LISTED | LOCKS | ROUTES | STOPS_AND_CHANGES | MASTERS | POPPED
"""Events of servers that verdicts depend on.

All client events count as signs of life.
"""

HEEDED = SERVERS | {name for name in ROCKET_EVENTS if EVENTS[name].witness is Witness.CLIENT}
"""Events that the models read."""

BY_TOPIC = LOCKS | {
    "RocketShareChanged",
    "RocketShareAssigned",
    "RocketBroadcastShareChanged",
    "RocketQueueAdded",
    "RocketQueueRemoved",
    "RocketQueueExpired",
    "RocketQueueRefused",
    "RocketQueueUnlocked",
    "RocketQueueLockAsked",
    "RocketResetOrdered",
    "RocketOffsetSent",
    "RocketListFailed",
}
"""Events that are read topic by topic, by far the most.

They name a group and a topic; otherwise they belong to the rest.
"""

TopicKey = tuple[str, str]
"""A group and a topic."""


class Parts(Protocol):
    """Relevant events of one cluster.

    Events of a file are in order; files follow each other in any order.
    """

    def rest(self, files: Collection[str] | None = None) -> Iterator[Event]:
        """Events that aren't read by topic.

        Includes the first by-topic event of each client's file and group. `files` restricts the result.
        """

    def topics(self) -> Sequence[TopicKey]:
        """Groups and topics with events, sorted."""

    def events_of(self, key: TopicKey) -> Iterator[Event]:
        """Events of one topic of a group."""
