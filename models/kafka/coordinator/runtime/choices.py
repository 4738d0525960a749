"""Choices that depend on the order of a hash table in Kafka.

Neither request nor state determines them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Choices(Protocol):
    """Makes choices between several candidates for the coordinator.

    `generation` is the group's generation at that moment; `at_ms` is the virtual time.
    """

    def leader(self, group: str, generation: int, at_ms: int, candidates: Collection[str]) -> str:
        """Choose a new leader (GroupMetadata.remove, maybeElectNewJoinedLeader)."""

    def protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> str:
        """Choose among the protocols with most votes (GroupMetadata.selectProtocol)."""

    def keeps_protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> bool:
        """Whether the current protocol wins a tie.

        Asked when a static member returns; the current protocol is among the winners.
        """


class FirstChoice:
    """Default choices: longest-standing member, first protocol, no change on ties."""

    def leader(self, group: str, generation: int, at_ms: int, candidates: Collection[str]) -> str:  # noqa: ARG002
        """The longest-standing candidate."""
        return next(iter(candidates))

    def protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> str:  # noqa: ARG002
        """The first winner by name."""
        return min(winners)

    def keeps_protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> bool:  # noqa: ARG002
        """Always True: a tie is no reason to rebalance."""
        return True
