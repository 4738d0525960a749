"""Partition and replica states of the ZooKeeper controller, with legal transitions.

PartitionStateMachine.scala and ReplicaStateMachine.scala (0.8 to 3.9): validPreviousStates,
checkInvalidPartitionStateChange, checkInvalidReplicaStateChange. An illegal transition is logged and skipped; others of
the same call happen. KRaft has no such states: there a partition without a leader has leader -1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Generic, TypeVar


class ControllerPartitionState(StrEnum):
    """States of a partition, with the names in state-change.log."""

    NON_EXISTENT = "NonExistentPartition"
    NEW = "NewPartition"
    ONLINE = "OnlinePartition"
    OFFLINE = "OfflinePartition"


class ReplicaState(StrEnum):
    """States of a replica."""

    NON_EXISTENT = "NonExistentReplica"
    NEW = "NewReplica"
    ONLINE = "OnlineReplica"
    OFFLINE = "OfflineReplica"
    DELETION_STARTED = "ReplicaDeletionStarted"
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"


_LIVES = frozenset({ControllerPartitionState.NEW, ControllerPartitionState.ONLINE, ControllerPartitionState.OFFLINE})
PARTITION_PREVIOUS: Mapping[ControllerPartitionState, frozenset[ControllerPartitionState]] = {
    ControllerPartitionState.NEW: frozenset({ControllerPartitionState.NON_EXISTENT}),
    ControllerPartitionState.ONLINE: _LIVES,
    ControllerPartitionState.OFFLINE: _LIVES,
    ControllerPartitionState.NON_EXISTENT: frozenset({ControllerPartitionState.OFFLINE}),
}

_STAYS = frozenset({ReplicaState.NEW, ReplicaState.ONLINE, ReplicaState.OFFLINE, ReplicaState.DELETION_INELIGIBLE})
REPLICA_PREVIOUS: Mapping[ReplicaState, frozenset[ReplicaState]] = {
    ReplicaState.NEW: frozenset({ReplicaState.NON_EXISTENT}),
    ReplicaState.ONLINE: _STAYS,
    ReplicaState.OFFLINE: _STAYS,
    ReplicaState.DELETION_STARTED: frozenset({ReplicaState.OFFLINE}),
    ReplicaState.DELETION_SUCCESSFUL: frozenset({ReplicaState.DELETION_STARTED}),
    # Since 2.4 also from Offline: a replica on a failed log directory can't be deleted.
    ReplicaState.DELETION_INELIGIBLE: frozenset({ReplicaState.OFFLINE, ReplicaState.DELETION_STARTED}),
    ReplicaState.NON_EXISTENT: frozenset({ReplicaState.DELETION_SUCCESSFUL}),
}

K = TypeVar("K", bound=Hashable)
S = TypeVar("S", ControllerPartitionState, ReplicaState)


@dataclass(slots=True)
class StateMachine(Generic[K, S]):
    """States of many partitions or replicas; a missing key doesn't exist."""

    previous: Mapping[S, frozenset[S]]
    missing: S
    states: dict[K, S] = field(default_factory=dict)

    def state(self, key: K) -> S:
        """The state of one partition or replica."""
        return self.states.get(key, self.missing)

    def move(self, keys: Iterable[K], after: S) -> list[K]:
        """Move keys to a state; return those without a legal transition.

        Refused keys keep their state (doHandleStateChanges).
        """
        refused = []
        for key in keys:
            if self.state(key) not in self.previous[after]:
                refused.append(key)
            elif after is self.missing:
                del self.states[key]
            else:
                self.states[key] = after
        return refused


def partitions() -> StateMachine[tuple[str, int], ControllerPartitionState]:
    """State machine of partitions, by topic and number."""
    return StateMachine(PARTITION_PREVIOUS, ControllerPartitionState.NON_EXISTENT)


def replicas() -> StateMachine[tuple[str, int, int], ReplicaState]:
    """State machine of replicas, by topic, number and broker."""
    return StateMachine(REPLICA_PREVIOUS, ReplicaState.NON_EXISTENT)
