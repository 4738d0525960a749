"""The topics inside a consumer's subscription, as the coordinator reads them for the expiry of offsets."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

CONSUMER = "consumer"
"""The protocol type of consumers; the coordinator reads no other type's metadata."""


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """The union of all members' topics; None if one member's can't be read (GroupMetadata.computeSubscribedTopics)."""
    topics: set[str] = set()
    for one in set(metadata):
        found = topics_of(one)
        if found is None:
            return None
        topics |= found
    return frozenset(topics)


@lru_cache(maxsize=4096)
def topics_of(metadata: bytes) -> frozenset[str] | None:
    """The topics of one subscription, read as version 0, with which all versions begin; None if it can't be read.

    int16 version, int32 count, each topic with an int16 length, int32 length of user data (-1: none) and the data.
    """
    try:
        _, count = struct.unpack_from(">hi", metadata)
        at = 6
        topics = []
        for _ in range(count):
            (length,) = struct.unpack_from(">h", metadata, at)
            at += 2 + length
            if length < 0 or at > len(metadata):
                return None
            topics.append(metadata[at - length : at].decode())
        (user_data,) = struct.unpack_from(">i", metadata, at)
    except (struct.error, UnicodeDecodeError):
        return None
    return frozenset(topics) if count >= 0 and at + 4 + max(user_data, 0) <= len(metadata) else None
