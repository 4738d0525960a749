"""Topics in a consumer's subscription, needed for offset expiry."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from functools import lru_cache

CONSUMER = "consumer"
"""Protocol type of consumers, the only one whose metadata is read."""


def subscribed_topics(metadata: Iterable[bytes]) -> frozenset[str] | None:
    """Union of all members' topics (GroupMetadata.computeSubscribedTopics).

    None if one member's can't be read.
    """
    topics: set[str] = set()
    for name in set(metadata):
        member_topics = topics_of(name)
        if member_topics is None:
            return None
        topics |= member_topics
    return frozenset(topics)


@lru_cache(maxsize=4096)
def topics_of(metadata: bytes) -> frozenset[str] | None:
    """Topics of one subscription, None if it can't be read.

    Reads version 0, the start of every version: int16 version, int32 count, each topic with an int16 length, int32 length
    of user data (-1: none) and the data.
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
