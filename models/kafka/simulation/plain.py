"""What clients put into the bytes that brokers pass on: subscriptions and assignments, version 0 of both, and range's shares."""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterable, Mapping, Sequence

Partition = tuple[str, int]


def subscription(topics: Iterable[str]) -> bytes:
    """A subscription without user data (ConsumerProtocolSubscription)."""
    names = sorted(topics)
    return struct.pack(">hi", 0, len(names)) + b"".join(_text(name) for name in names) + struct.pack(">i", -1)


def assignment(share: Iterable[Partition]) -> bytes:
    """An assignment without user data (ConsumerProtocolAssignment)."""
    numbers: dict[str, list[int]] = {}
    for topic, number in share:
        numbers.setdefault(topic, []).append(number)
    listed = (_text(topic) + struct.pack(f">i{len(of)}i", len(of), *of) for topic, of in numbers.items())
    return struct.pack(">hi", 0, len(numbers)) + b"".join(listed) + struct.pack(">i", -1)


def assigned(packed: bytes) -> tuple[Partition, ...]:
    """The partitions of an assignment; of an empty one, none."""
    if not packed:
        return ()
    _, topics = struct.unpack_from(">hi", packed)
    at = 6
    found: list[Partition] = []
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", packed, at)
        topic = packed[at + 2 : at + 2 + length].decode()
        at += 2 + length
        (count,) = struct.unpack_from(">i", packed, at)
        found.extend((topic, number) for number in struct.unpack_from(f">{count}i", packed, at + 4))
        at += 4 + 4 * count
    return tuple(found)


def shares(members: Sequence[str], wanted: Mapping[str, Collection[str]], topics: Mapping[str, int]) -> dict[str, list[Partition]]:
    """Consecutive partitions of each topic for each member that wants it, in the members' order (RangeAssignor)."""
    made: dict[str, list[Partition]] = {member: [] for member in members}
    for topic in sorted(topics):
        takers = [member for member in members if topic in wanted[member]]
        start = 0
        for index, member in enumerate(takers):
            size, larger = divmod(topics[topic], len(takers))
            end = start + size + (index < larger)
            made[member].extend((topic, number) for number in range(start, end))
            start = end
    return made


def _text(text: str) -> bytes:
    packed = text.encode()
    return struct.pack(">h", len(packed)) + packed
