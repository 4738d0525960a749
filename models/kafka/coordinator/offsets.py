"""Committed offsets of a group (GroupMetadata.scala, OffsetMetadataManager.java) and when they expire."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offset. `expires_ms` is set where the client, or an old broker, fixed the end itself."""

    offset: int
    at_ms: int
    expires_ms: int | None = None


@dataclass(slots=True)
class Offsets:
    """The offsets of one group."""

    committed: dict[TopicPartition, Committed] = field(default_factory=dict)

    def drop(self, expired: Callable[[TopicPartition, Committed], bool]) -> list[TopicPartition]:
        """Remove the offsets that have expired and return where they were."""
        gone = [place for place, committed in self.committed.items() if expired(place, committed)]
        for place in gone:
            del self.committed[place]
        return gone
