"""Choices that Kafka leaves to the order of a hash table, so that neither request nor state determines them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol


class Choices(Protocol):
    """Answers what the coordinator can't know; asked only where there is more than one candidate.

    `generation` is the group's generation at that moment; `at_ms` is the virtual time.
    """

    def leader(self, group: str, generation: int, at_ms: int, candidates: Collection[str]) -> str:
        """Who leads once the leader is gone, or has not rejoined (GroupMetadata.remove, maybeElectNewJoinedLeader)."""

    def protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> str:
        """Which of the protocols with most votes the generation that begins now follows (GroupMetadata.selectProtocol)."""

    def keeps_protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> bool:
        """Whether the present protocol, one of the winners, wins the vote that a static member's return calls for."""


class FirstChoice:
    """Takes the member that has been there longest and the protocol that comes first by name; keeps what there is."""

    def leader(self, group: str, generation: int, at_ms: int, candidates: Collection[str]) -> str:  # noqa: ARG002
        """The longest-standing candidate."""
        return next(iter(candidates))

    def protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> str:  # noqa: ARG002
        """The first winner by name."""
        return min(winners)

    def keeps_protocol(self, group: str, generation: int, at_ms: int, winners: Sequence[str]) -> bool:  # noqa: ARG002
        """Yes: a tie is no reason to rebalance."""
        return True
