"""Offsets of a group, committed and pending (GroupMetadata.scala, OffsetMetadataManager.java).

An offset is pending until its write completes; in a transaction, until that ends. Meanwhile readers get the previous
offset, or UNSTABLE_OFFSET_COMMIT if they ask for stable ones, and the group can't be removed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

TopicPartition = tuple[str, int]


class CommittedOffset(NamedTuple):
    """A committed offset.

    `expires_ms` is set if the client or an old broker fixed the expiry.
    """

    offset: int
    at_ms: int
    expires_ms: int | None = None
    written: int = 0
    """Number of the write; for two offsets, the later write counts."""


CommittedOffsets = Mapping[TopicPartition, CommittedOffset]


@dataclass(slots=True)
class Offsets:
    """The offsets of one group."""

    committed: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    transactions: dict[int, dict[TopicPartition, CommittedOffset]] = field(default_factory=dict)
    """Offsets of open transactions, by producer id."""
    unwritten: Counter[TopicPartition] = field(default_factory=Counter)
    """Number of pending writes by partition (pendingOffsetCommits)."""
    unwritten_transactional: Counter[TopicPartition] = field(default_factory=Counter)
    """The same for transactions (pendingTransactionalOffsetCommits without an appended offset)."""
    given_up: dict[TopicPartition, CommittedOffset] = field(default_factory=dict)
    """Offsets whose write timed out but is in the log.

    The next coordinator will load them.
    """

    def __bool__(self) -> bool:
        return any((self.committed, self.transactions, self.unwritten, self.unwritten_transactional))

    def begin(self, values: CommittedOffsets, producer_id: int | None = None) -> None:
        """Mark offsets as being written (prepareOffsetCommit, prepareTxnOffsetCommit)."""
        self._unwritten(producer_id).update(values.keys())

    def end(self, values: CommittedOffsets, producer_id: int | None = None) -> None:
        """Mark a write as completed or failed (onOffsetCommitAppend, failPendingOffsetWrite)."""
        unwritten = self._unwritten(producer_id)
        for place in values:
            if unwritten[place] > 1:
                unwritten[place] -= 1
            else:
                del unwritten[place]

    def put(self, values: CommittedOffsets, producer_id: int | None = None) -> None:
        """Apply written offsets; those of a transaction when it commits."""
        if producer_id is None:
            self.committed.update(values)
            for place in self.given_up.keys() & values.keys():
                del self.given_up[place]
        else:
            self.transactions.setdefault(producer_id, {}).update(values)

    def give_up(self, values: CommittedOffsets) -> None:
        """Record offsets whose write timed out."""
        self.given_up.update(values)

    def complete(self, producer_id: int, *, commit: bool) -> None:
        """End a producer's transaction (completePendingTxnOffsetCommit).

        Offsets that were written later stay.
        """
        for place, pending in self.transactions.pop(producer_id, {}).items():
            known = self.committed.get(place)
            if commit and (known is None or known.written < pending.written):
                self.committed[place] = pending

    def is_unstable(self, place: TopicPartition) -> bool:
        """Whether a pending write or transaction may replace the offset.

        Source: hasPendingOffsetCommitsForTopicPartition.
        """
        return place in self.unwritten or self.is_in_transaction(place)

    def is_in_transaction(self, place: TopicPartition) -> bool:
        """Whether an open transaction may replace the offset (hasPendingTransactionalOffsets)."""
        return place in self.unwritten_transactional or any(place in pending for pending in self.transactions.values())

    def written(self) -> Offsets:
        """Offsets in the log, without pending writes."""
        transactions = {producer: dict(pending) for producer, pending in self.transactions.items()}
        return Offsets(self.committed | self.given_up, transactions)

    def drop(self, expired: Callable[[TopicPartition, CommittedOffset], bool]) -> list[TopicPartition]:
        """Remove expired offsets and return their partitions.

        Offsets that are being written stay.
        """
        gone = [place for place, committed in self.committed.items() if place not in self.unwritten and expired(place, committed)]
        for place in gone:
            del self.committed[place]
        return gone

    def _unwritten(self, producer_id: int | None) -> Counter[TopicPartition]:
        return self.unwritten if producer_id is None else self.unwritten_transactional
