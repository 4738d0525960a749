"""Offsets of a group (GroupMetadata.scala, OffsetMetadataManager.java): committed ones, and those on their way to it.

An offset waits as long as its write does, and one that was committed in a transaction until that ends. Meanwhile readers see
the one before, or are told to wait if they ask for stable offsets, and it holds up the end of the group.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

TopicPartition = tuple[str, int]


@dataclass(frozen=True, slots=True)
class Committed:
    """A committed offset. `expires_ms` is set where the client, or an old broker, fixed the end itself."""

    offset: int
    at_ms: int
    expires_ms: int | None = None
    written: int = 0
    """Number of the write that holds it: of two offsets the one that was written later counts."""


Values = Mapping[TopicPartition, Committed]


@dataclass(slots=True)
class Offsets:
    """The offsets of one group."""

    committed: dict[TopicPartition, Committed] = field(default_factory=dict)
    transactions: dict[int, dict[TopicPartition, Committed]] = field(default_factory=dict)
    """Written in transactions that have not ended, by producer id."""
    unwritten: Counter[TopicPartition] = field(default_factory=Counter)
    """How many writes of an offset have not ended (pendingOffsetCommits)."""
    unwritten_transactional: Counter[TopicPartition] = field(default_factory=Counter)
    """The same of offsets in transactions (pendingTransactionalOffsetCommits without an appended offset)."""
    given_up: dict[TopicPartition, Committed] = field(default_factory=dict)
    """Offsets that nobody waits for any more and that stand in the log all the same: the next coordinator will find them."""

    def __bool__(self) -> bool:
        return any((self.committed, self.transactions, self.unwritten, self.unwritten_transactional))

    def begin(self, values: Values, producer_id: int | None = None) -> None:
        """Offsets are being written (prepareOffsetCommit, prepareTxnOffsetCommit)."""
        self._unwritten(producer_id).update(values.keys())

    def end(self, values: Values, producer_id: int | None = None) -> None:
        """Their write has ended, well or not (onOffsetCommitAppend, failPendingOffsetWrite)."""
        unwritten = self._unwritten(producer_id)
        unwritten.subtract(values.keys())
        for place in values:
            if not unwritten[place]:
                del unwritten[place]

    def put(self, values: Values, producer_id: int | None = None) -> None:
        """Take written offsets over, those of a transaction for later."""
        if producer_id is None:
            self.committed.update(values)
            for place in self.given_up.keys() & values.keys():
                del self.given_up[place]
        else:
            self.transactions.setdefault(producer_id, {}).update(values)

    def give_up(self, values: Values) -> None:
        """Forget offsets whose write took too long."""
        self.given_up.update(values)

    def complete(self, producer_id: int, *, commit: bool) -> None:
        """End a producer's transaction (completePendingTxnOffsetCommit): offsets that were written later stay."""
        for place, pending in self.transactions.pop(producer_id, {}).items():
            known = self.committed.get(place)
            if commit and (known is None or known.written < pending.written):
                self.committed[place] = pending

    def is_unstable(self, place: TopicPartition) -> bool:
        """Whether another offset may take its place before anybody commits anew (hasPendingOffsetCommitsForTopicPartition)."""
        return place in self.unwritten or self.is_in_transaction(place)

    def is_in_transaction(self, place: TopicPartition) -> bool:
        """Whether a transaction that has not ended may set it (hasPendingTransactionalOffsets)."""
        return place in self.unwritten_transactional or any(place in pending for pending in self.transactions.values())

    def written(self) -> Offsets:
        """What the log holds of it."""
        transactions = {producer: dict(pending) for producer, pending in self.transactions.items()}
        return Offsets(self.committed | self.given_up, transactions)

    def drop(self, expired: Callable[[TopicPartition, Committed], bool]) -> list[TopicPartition]:
        """Remove the offsets that have expired and return where they were; those that are being written stay."""
        gone = [place for place, committed in self.committed.items() if place not in self.unwritten and expired(place, committed)]
        for place in gone:
            del self.committed[place]
        return gone

    def _unwritten(self, producer_id: int | None) -> Counter[TopicPartition]:
        return self.unwritten if producer_id is None else self.unwritten_transactional
