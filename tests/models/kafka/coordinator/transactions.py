"""Ends of transactions, which no log of consumer groups tells."""

from __future__ import annotations

from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.runtime.outcomes import Outcome


def complete_transaction(coordinator: Coordinator, producer_id: int, *, commit: bool) -> Outcome:
    """End a producer's transaction in all groups.

    Source: handleTxnCompletion, replayEndTransactionMarker.
    """
    coordinator.shard.log.end += 1
    for group in coordinator.shard.groups.values():
        group.offsets.complete(producer_id, commit=commit)
    return coordinator.shard.outcome()
