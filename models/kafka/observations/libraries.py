"""Behaviour of client libraries: default timeouts and ids, and their log lines.

One entry for each library and for each program around one. All that the rules know of a library stands here; what its
messages mean stands in the catalogue, and `tests/models/kafka/observations/test_libraries.py` compares the two.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple


class Timeouts(NamedTuple):
    """Default timeouts that a library requests.

    Milliseconds; `since` is the first version with these.
    """

    since: tuple[int, ...]
    session_ms: int
    heartbeat_ms: int
    rebalance_ms: int
    source: str


class DefaultId(NamedTuple):
    """A pattern of client ids that a library gives where its user sets none."""

    pattern: str
    source: str


class Library(NamedTuple):
    """A client library, or a program that is built on one.

    `timeouts` are by version, the newest first; a program without any has those of its library.
    """

    timeouts: tuple[Timeouts, ...] = ()
    default_id: DefaultId | None = None
    built_on: str | None = None
    leaves: bool = True
    """True if a client says good-bye when it is closed in order."""
    logs_leaves: bool = False
    """True if it logs leaves or closes by default, in all versions.

    librdkafka does so in debug output only, Java since 2.1.
    """
    logs_late_polls: bool = True
    """True if its log shows late polls, and when clients start."""
    logs_rebalances: bool = False
    """True if a member logs by default that it hears of a rebalance."""
    has_coordinator: bool = True
    """False if members agree by ZooKeeper, and no broker's log tells of them."""


_JAVA = "ConsumerConfig; KIP-62, KIP-735"
_JAVA_TIMEOUTS = (Timeouts((3,), 45_000, 3_000, 300_000, _JAVA), Timeouts((), 10_000, 3_000, 300_000, _JAVA))
_RDKAFKA = "CONFIGURATION.md; CHANGELOG.md of 1.7.0"
_PYTHON = "kafka/consumer/group.py"

LIBRARIES: Mapping[str, Library] = {
    "java": Library(
        _JAVA_TIMEOUTS,
        DefaultId(r"consumer-\d+", "to 2.3, client.id (KafkaConsumer)"),
        logs_rebalances=True,  # AbstractCoordinator.HeartbeatResponseHandler
    ),
    "streams": Library(
        tuple(timeout._replace(source=f"{_JAVA}; StreamsConfig, internal.leave.group.on.close") for timeout in _JAVA_TIMEOUTS),
        built_on="java",
        leaves=False,
    ),
    "connect": Library((Timeouts((), 10_000, 3_000, 60_000, "DistributedConfig"),), built_on="java"),
    "spring": Library(built_on="java"),
    "flink": Library(built_on="java"),
    "logstash": Library(built_on="java"),
    "librdkafka": Library(
        (Timeouts((1, 7), 45_000, 3_000, 300_000, _RDKAFKA), Timeouts((), 10_000, 3_000, 300_000, _RDKAFKA)),
        DefaultId(r"rdkafka", "client.id (CONFIGURATION.md)"),
    ),
    "karafka": Library(built_on="librdkafka"),
    "vector": Library(built_on="librdkafka"),
    "sarama": Library(
        (Timeouts((), 10_000, 3_000, 60_000, "config.go, Consumer.Group"),),
        DefaultId(r"sarama", "Config.ClientID (config.go)"),
        logs_leaves=True,
        logs_late_polls=False,
    ),
    "franz_go": Library(
        (Timeouts((), 45_000, 3_000, 60_000, "pkg/kgo/config.go"),),
        DefaultId(r"kgo", "ClientID (pkg/kgo/config.go)"),
        logs_leaves=True,
        logs_late_polls=False,
    ),
    "kafka_go": Library((Timeouts((), 30_000, 3_000, 30_000, "consumergroup.go"),), logs_leaves=True, logs_late_polls=False),
    "kafkajs": Library(
        (Timeouts((), 30_000, 3_000, 60_000, "src/consumer/index.js"),),
        DefaultId(r"kafkajs", "clientId of its constructor (src/index.js)"),
        logs_leaves=True,
        logs_late_polls=False,
    ),
    "aiokafka": Library(
        (Timeouts((), 10_000, 3_000, 10_000, "aiokafka/consumer/consumer.py: the session bounds the phase, too"),),
        DefaultId(r"aiokafka-[\d.]+\w*", "client_id (aiokafka/consumer/consumer.py)"),
        logs_leaves=True,
        logs_late_polls=False,
    ),
    "kafka_python": Library(
        (Timeouts((3,), 45_000, 3_000, 300_000, _PYTHON), Timeouts((), 10_000, 3_000, 300_000, _PYTHON)),
        DefaultId(r"kafka-python-[\d.]+\w*", f"client_id ({_PYTHON})"),
        logs_leaves=True,
    ),
    "brod": Library((Timeouts((), 30_000, 5_000, 30_000, "src/brod_group_coordinator.erl"),), logs_leaves=True),
    "kafka_ex": Library((Timeouts((), 30_000, 5_000, 30_000, "lib/kafka_ex/consumer_group/manager.ex"),), logs_leaves=True),
    "old_consumer": Library(has_coordinator=False),
    "ruby_kafka": Library((Timeouts((), 30_000, 10_000, 60_000, "lib/kafka/client.rb"),), logs_leaves=True),
}

JAVA = "java"
"""Name of Kafka's own client."""

_BY_FAMILY: Mapping[str, str] = {"client": JAVA, "streams_client": "java", "python": "kafka_python"}
"""Library of a family of messages, where it has another name."""

NO_LIBRARY = Library()
"""Stands for a library that nothing is known about."""

_NUMBERS = re.compile(r"\d+(?:\.\d+)*", re.ASCII)
_DEFAULT_IDS = re.compile("|".join(f"(?:{library.default_id.pattern})" for library in LIBRARIES.values() if library.default_id))

IDS_REMEMBERED = 4096


def library_of(family: str) -> str:
    """Name of the library by the family of its messages, such as `kafka.librdkafka`."""
    part = family.rpartition(".")[2]
    return _BY_FAMILY.get(part, part)


def known_library(name: str) -> Library:
    """Return the known facts of a library."""
    return LIBRARIES.get(name, NO_LIBRARY)


def logs_rebalances(name: str) -> bool:
    """Whether members log that they hear of a rebalance, by library or program."""
    library = known_library(name)
    return library.logs_rebalances or known_library(library.built_on or "").logs_rebalances


def default_timeouts(name: str | None, version: str | None) -> Timeouts | None:
    """Default timeouts of a library's version; of its newest where no line tells it."""
    library = known_library(name or "")
    known = library.timeouts or known_library(library.built_on or "").timeouts
    if not known:
        return None
    match = _NUMBERS.match(version.removeprefix("v")) if version else None
    if match is None:
        return known[0]
    numbers = tuple(int(part) for part in match[0].split("."))
    return next((defaults for defaults in known if defaults.since <= numbers), known[-1])


@lru_cache(maxsize=IDS_REMEMBERED)
def is_default_id(client_id: str) -> bool:
    """Whether the id is a library's default.

    Processes that have it are different clients.
    """
    return _DEFAULT_IDS.fullmatch(client_id) is not None
