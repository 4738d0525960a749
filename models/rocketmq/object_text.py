"""Parsing of RocketMQ objects in messages: queues, routes, subscriptions."""

from __future__ import annotations

import re
from typing import NamedTuple

from models.events import Event

DEFAULT_TOPIC = "TBW102"
"""Model of new topics (TopicValidator.java); clients ask for its route, too."""

RETRY = "%RETRY%"
"""Prefix of a group's retry topic."""

BROADCASTING = "BROADCASTING"

_QUEUE = re.compile(r"MessageQueue \[topic=([^,\]]+), brokerName=([^,\]]+), queueId=(-?\d{1,10})\]")
_QUEUE_DATA = re.compile(r"QueueData \[brokerName=([^,\]]+), readQueueNums=(\d+), writeQueueNums=\d+, perm=(\d{1,9})(?!\d)")
_BROKER_DATA = re.compile(r"brokerName=([^,\]]+), brokerAddrs=\{([^}]*)\}")
_TOPIC_CONFIG = re.compile(r"topicName=([^,\]]+), readQueueNums=(\d+), writeQueueNums=\d+, perm=([A-Z-]+)")
_CONSUMER = re.compile(r"groupName=([^,\]]+), consumeType=\w+, messageModel=(\w+)")
_SUBSCRIPTION = re.compile(r"SubscriptionData \[classFilterMode=\w+, topic=([^,\]]+), subString=(.*?), tagsSet=")
_VERSION = re.compile(r"subVersion=(\d{1,14})(?!\d)")
_DIGITS_MAX = 18
READABLE = 4
"""Permission bit for reading (PermName.PERM_READ)."""


class QueueText(NamedTuple):
    """A queue of a topic, named `broker:id`."""

    topic: str
    queue: str


def queue_name(broker: str, number: int) -> str:
    """Name of a queue in tables."""
    return f"{broker}:{number}"


def queues_in(text: str) -> list[QueueText]:
    """All queues in a text, in order."""
    return [QueueText(topic, queue_name(broker, int(number))) for topic, broker, number in _QUEUE.findall(text)]


def assigned_in(share: object) -> list[QueueText] | None:
    """Queues in the list of a client's line, None if it tells none."""
    return queues_in(" ".join(map(str, share))) if isinstance(share, list) else None


def _count(digits: str) -> int:
    """A count of any length; digits beyond DIGITS_MAX are ignored."""
    return int(digits[:_DIGITS_MAX])


def route_in(text: str) -> dict[str, int]:
    """Number of readable queues by broker."""
    return {broker: _count(reads) for broker, reads, permission in _QUEUE_DATA.findall(text) if int(permission) & READABLE}


def addresses_in(text: str) -> dict[str, str]:
    """Broker names by address, from a route."""
    broker_names: dict[str, str] = {}
    for broker, addresses in _BROKER_DATA.findall(text):
        for item in addresses.split(", "):
            broker_names[item.partition("=")[2]] = broker
    return broker_names


def configured_in(text: str) -> tuple[str, int | None]:
    """Topic and number of readable queues in a broker's configuration.

    The number is 0 without read permission, None if nothing was found.
    """
    match = _TOPIC_CONFIG.search(text)
    return (match[1], _count(match[2]) if "R" in match[3] else 0) if match is not None else ("", None)


class ConsumerText(NamedTuple):
    """A consumer in a client's heartbeat."""

    group: str
    model: str
    topics: dict[str, str]


def consumers_in(text: str) -> list[ConsumerText]:
    """Consumers in a heartbeat, with group, message model and subscriptions."""
    consumers = []
    for part in text.split("ConsumerData [")[1:]:
        head = _CONSUMER.match(part)
        if head is not None:
            consumers.append(ConsumerText(head[1], head[2], dict(_SUBSCRIPTION.findall(part))))
    return consumers


def subscription_in(text: str) -> tuple[str, str]:
    """Topic and expression of a subscription; empty if there is none."""
    match = _SUBSCRIPTION.search(text)
    return (match[1], match[2]) if match is not None else ("", "")


def replaced_filter(event: Event) -> tuple[str, str, str] | None:
    """Topic, former and new expression, where a line tells of another one."""
    (topic, before), (_, after) = (subscription_in(str(event.fields.get(name) or "")) for name in ("before", "after"))
    return (topic, before, after) if topic and before != after else None


def version_in(text: str) -> int | None:
    """Version of a subscription, in the client's epoch milliseconds.

    The new one if a line has two; None without any.
    """
    versions = _VERSION.findall(text)
    return int(versions[-1]) if versions else None


NAMED_MAX = 3


def names_in_short(names: list[str]) -> str:
    """The first names, and the number of further ones."""
    more = len(names) - NAMED_MAX
    return ", ".join(names[:NAMED_MAX]) + (f" and {more} more" if more > 0 else "")
