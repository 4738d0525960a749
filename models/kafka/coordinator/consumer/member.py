"""A member of a consumer group (4.0.0, ConsumerGroupMember.java).

Nothing changes a member in place: a heartbeat makes another one. It is not frozen, as requests are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from models.kafka.coordinator.consumer.requests import NOT_SENT, ConsumerHeartbeat
from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet
from models.kafka.coordinator.protocol.requests import Protocol


class MemberState(StrEnum):
    """Progress of a member towards its target."""

    STABLE = "STABLE"
    UNREVOKED_PARTITIONS = "UNREVOKED_PARTITIONS"
    """It has not yet confirmed the loss of revoked partitions."""
    UNRELEASED_PARTITIONS = "UNRELEASED_PARTITIONS"
    """Other members still hold partitions of its target."""


STEPS: Mapping[MemberState, Mapping[MemberState, str]] = {
    MemberState.STABLE: {
        MemberState.STABLE: "the new target takes nothing away and all of it is free",
        MemberState.UNREVOKED_PARTITIONS: "the new target takes partitions away",
        MemberState.UNRELEASED_PARTITIONS: "the new target adds what others hold",
    },
    MemberState.UNREVOKED_PARTITIONS: {
        MemberState.STABLE: "it has revoked, and all of its target is free",
        MemberState.UNREVOKED_PARTITIONS: "it has revoked, and a newer target takes more away",
        MemberState.UNRELEASED_PARTITIONS: "it has revoked, and others hold what it gains",
    },
    MemberState.UNRELEASED_PARTITIONS: {
        MemberState.STABLE: "others have released all that it gains",
        MemberState.UNREVOKED_PARTITIONS: "a newer target takes partitions away",
        MemberState.UNRELEASED_PARTITIONS: "others have released some of what it gains, or none",
    },
}
"""Reason for each transition (CurrentAssignmentBuilder.java, build)."""


@dataclass(frozen=True, slots=True)
class ClassicSide:
    """Data of a member that speaks the classic protocol (ClassicMemberMetadata)."""

    session_ms: int
    protocols: tuple[Protocol, ...]


@dataclass(slots=True)
class Member:
    """A member after its last heartbeat.

    Epoch -2 marks a static member that has left temporarily.
    """

    id: str
    instance: str | None = None
    rack: str | None = None
    client_id: str = ""
    rebalance_ms: int = NOT_SENT
    topics: frozenset[str] = frozenset()
    regex: str | None = None
    assignor: str | None = None
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    assigned: PartitionSet = NO_PARTITIONS
    pending_revocation: PartitionSet = NO_PARTITIONS
    client_host: str = ""
    classic: ClassicSide | None = None
    """None for members of the consumer protocol."""

    def updated_by(self, request: ConsumerHeartbeat) -> Member:
        """Apply a heartbeat's fields; returns the same object if nothing changed."""
        if request.tells_nothing and request.instance == self.instance and self.classic is None:
            return self
        after = replace(
            self,
            instance=_or(request.instance, self.instance),
            rack=_or(request.rack, self.rack),
            client_id=request.client_id or self.client_id,
            rebalance_ms=self.rebalance_ms if request.rebalance_ms == NOT_SENT else request.rebalance_ms,
            topics=self.topics if request.topics is None else request.topics,
            regex=_or(request.regex, self.regex),
            assignor=_or(request.assignor, self.assignor),
            classic=None,
        )
        return self if after == self else after

    def moved(self, epoch: int, state: MemberState, assigned: PartitionSet, pending_revocation: PartitionSet) -> Member:
        """The member at its next step towards its target.

        Built field by field, which is several times as fast as `replace`: each heartbeat of a rebalance may move its sender.
        """
        return Member(
            self.id,
            self.instance,
            self.rack,
            self.client_id,
            self.rebalance_ms,
            self.topics,
            self.regex,
            self.assignor,
            epoch,
            self.epoch,
            state,
            assigned,
            pending_revocation,
            self.client_host,
            self.classic,
        )


def _or(sent: str | None, known: str | None) -> str | None:
    return known if sent is None else sent
