"""What nodes of a KRaft quorum said of its leaders."""

from __future__ import annotations

from dataclasses import dataclass, field

from models.events import Event

QUORUM_EVENTS = frozenset({"QuorumTurned", "QuorumLost", "QuorumElectionFailed"})


@dataclass(slots=True)
class QuorumTurns:
    """Lines about leaders of the quorum, in any order."""

    turns: list[Event] = field(default_factory=list)
    failures: list[Event] = field(default_factory=list)
    """Leaders that heard from too few voters, and elections that nobody won."""

    def learn(self, event: Event) -> None:
        """Take a line."""
        (self.turns if event.name == "QuorumTurned" else self.failures).append(event)
