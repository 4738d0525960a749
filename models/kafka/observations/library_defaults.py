"""Default timeouts of client libraries, by version."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple


class LibraryDefaults(NamedTuple):
    """What a library asks the coordinator for where its user sets nothing.

    Milliseconds; `since` is the first version with these. `leaves` is whether it says good-bye when it is closed in order.
    """

    since: tuple[int, ...]
    session_ms: int
    heartbeat_ms: int
    rebalance_ms: int
    source: str
    leaves: bool = True


_JAVA = "ConsumerConfig; KIP-62, KIP-735"
DEFAULTS: Mapping[str, tuple[LibraryDefaults, ...]] = {
    "java": (LibraryDefaults((3,), 45_000, 3_000, 300_000, _JAVA), LibraryDefaults((), 10_000, 3_000, 300_000, _JAVA)),
    "streams": (
        LibraryDefaults((3,), 45_000, 3_000, 300_000, f"{_JAVA}; StreamsConfig, internal.leave.group.on.close", leaves=False),
        LibraryDefaults((), 10_000, 3_000, 300_000, f"{_JAVA}; StreamsConfig, internal.leave.group.on.close", leaves=False),
    ),
    "connect": (LibraryDefaults((), 10_000, 3_000, 60_000, "DistributedConfig"),),
    "librdkafka": (
        LibraryDefaults((1, 7), 45_000, 3_000, 300_000, "CONFIGURATION.md; CHANGELOG.md of 1.7.0"),
        LibraryDefaults((), 10_000, 3_000, 300_000, "CONFIGURATION.md; CHANGELOG.md of 1.7.0"),
    ),
    "sarama": (LibraryDefaults((), 10_000, 3_000, 60_000, "config.go, Consumer.Group"),),
    "franz_go": (LibraryDefaults((), 45_000, 3_000, 60_000, "pkg/kgo/config.go"),),
    "kafkajs": (LibraryDefaults((), 30_000, 3_000, 60_000, "src/consumer/index.js"),),
    "kafka_go": (LibraryDefaults((), 30_000, 3_000, 30_000, "consumergroup.go"),),
    "aiokafka": (LibraryDefaults((), 10_000, 3_000, 10_000, "aiokafka/consumer/consumer.py: the session bounds the phase, too"),),
    "kafka_python": (
        LibraryDefaults((3,), 45_000, 3_000, 300_000, "kafka/consumer/group.py"),
        LibraryDefaults((), 10_000, 3_000, 300_000, "kafka/consumer/group.py"),
    ),
    "brod": (LibraryDefaults((), 30_000, 5_000, 30_000, "src/brod_group_coordinator.erl"),),
    "ruby_kafka": (LibraryDefaults((), 30_000, 10_000, 60_000, "lib/kafka/client.rb"),),
}
"""Defaults of each library, the newest first."""

_BUILT_ON = {"spring": "java", "flink": "java", "logstash": "java", "karafka": "librdkafka", "vector": "librdkafka"}
"""Libraries of programs that hand their settings on."""

_NUMBERS = re.compile(r"\d+(?:\.\d+)*", re.ASCII)


def defaults_of(library: str | None, version: str | None) -> LibraryDefaults | None:
    """Defaults of a library's version; of its newest where no line tells it."""
    known = DEFAULTS.get(_BUILT_ON.get(library or "", library or ""))
    if known is None:
        return None
    found = _NUMBERS.match(version.removeprefix("v")) if version else None
    if found is None:
        return known[0]
    numbers = tuple(int(part) for part in found[0].split("."))
    return next((each for each in known if each.since <= numbers), known[-1])
