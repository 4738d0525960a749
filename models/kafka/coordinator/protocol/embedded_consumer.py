"""Consumer protocol inside group requests: subscriptions and assignments (ConsumerProtocol.java).

Brokers pass these bytes on; only a coordinator of both protocols reads them (KIP-848). Both begin with an int16
version. A subscription lists topics, has user data, and since version 1 lists the partitions that its sender still
owns, by topic. An assignment lists partitions by topic.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from functools import lru_cache

Partition = tuple[str, int]
VERSION_WITH_OWNED = 1


def subscription(topics: Iterable[str], owned: Iterable[Partition] | None = None) -> bytes:
    """Encode a subscription without user data.

    With `owned` it has version 1, which cooperative members send.
    """
    names = sorted(topics)
    version = 0 if owned is None else VERSION_WITH_OWNED
    head = struct.pack(">hi", version, len(names)) + b"".join(_text(name) for name in names) + struct.pack(">i", -1)
    return head if owned is None else head + _listed(owned)


@lru_cache(maxsize=4096)
def owned_of(metadata: bytes) -> Mapping[str, frozenset[int]]:
    """Partitions owned according to a subscription; empty for version 0.

    `metadata` must be readable by `topics_of`.
    """
    version, count = struct.unpack_from(">hi", metadata)
    at = 6
    for _ in range(count):
        (length,) = struct.unpack_from(">h", metadata, at)
        at += 2 + length
    (user_data,) = struct.unpack_from(">i", metadata, at)
    if version < VERSION_WITH_OWNED:
        return {}
    partitions: dict[str, set[int]] = {}
    for topic, number in _read(metadata, at + 4 + max(user_data, 0)):
        partitions.setdefault(topic, set()).add(number)
    return {topic: frozenset(numbers) for topic, numbers in partitions.items()}


def assignment(share: Iterable[Partition]) -> bytes:
    """Encode an assignment without user data."""
    return _assignment(tuple(share))


@lru_cache(maxsize=4096)
def _assignment(share: tuple[Partition, ...]) -> bytes:
    return struct.pack(">h", 0) + _listed(share) + struct.pack(">i", -1)


@lru_cache(maxsize=4096)
def assigned(packed: bytes) -> tuple[Partition, ...]:
    """Partitions of an encoded assignment; none if it is empty."""
    return _read(packed, 2) if packed else ()


def _listed(share: Iterable[Partition]) -> bytes:
    numbers: dict[str, list[int]] = {}
    for topic, number in share:
        numbers.setdefault(topic, []).append(number)
    listed = (_text(topic) + struct.pack(f">i{len(of)}i", len(of), *of) for topic, of in numbers.items())
    return struct.pack(">i", len(numbers)) + b"".join(listed)


def _read(packed: bytes, at: int) -> tuple[Partition, ...]:
    (topics,) = struct.unpack_from(">i", packed, at)
    at += 4
    partitions: list[Partition] = []
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", packed, at)
        topic = packed[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (count,) = struct.unpack_from(">i", packed, at)
        partitions.extend((topic, number) for number in struct.unpack_from(f">{count}i", packed, at + 4))
        at += 4 + 4 * count
    return tuple(partitions)


def _text(text: str) -> bytes:
    packed = text.encode()
    return struct.pack(">h", len(packed)) + packed
