"""A cluster's events split by group and topic, to fit in memory.

The share of a topic in a group depends only on the group's clients and the topic's queues. Events about clients, lists
and routes are read first, then those of each topic.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
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

CHANGED = frozenset({"RocketBrokerStopping", "RocketTopicAdministered", "RocketGroupAdministered", "RocketOffsetReset"})
"""Events of brokers that stop, and of what administrators change."""

SERVERS = LISTED | LOCKS | ROUTES | CHANGED | MASTERS | POPPED
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

Key = tuple[str, str]
"""A group and a topic."""


class Parts(Protocol):
    """Relevant events of one cluster.

    Events of a file are in order; files follow each other in any order.
    """

    def rest(self, files: Collection[str] | None = None) -> Iterator[Event]:
        """Events that aren't read by topic.

        Includes the first by-topic event of each client's file and group. `files` restricts the result.
        """

    def topics(self) -> Sequence[Key]:
        """Groups and topics with events, sorted."""

    def events_of(self, key: Key) -> Iterator[Event]:
        """Events of one topic of a group."""


class EventParts:
    """Events in memory, given in any order."""

    def __init__(self, events: Iterable[Event]) -> None:
        self._rest: list[Event] = []
        self._topics: dict[Key, list[Event]] = {}
        met: set[tuple[str, str]] = set()
        heeded = (event for event in events if event.name in HEEDED)
        for event in sorted(heeded, key=lambda event: (event.place.file, event.place.byte_offset)):
            if event.name not in BY_TOPIC or event.group is None or event.topic is None:
                self._rest.append(event)
                continue
            self._topics.setdefault((event.group, event.topic), []).append(event)
            if event.name not in LOCKS and (event.place.file, event.group) not in met:
                met.add((event.place.file, event.group))
                self._rest.append(event)

    def rest(self, files: Collection[str] | None = None) -> Iterator[Event]:
        return (event for event in self._rest if files is None or event.place.file in files)

    def topics(self) -> Sequence[Key]:
        return sorted(self._topics)

    def events_of(self, key: Key) -> Iterator[Event]:
        return iter(self._topics.get(key, ()))
