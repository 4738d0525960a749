"""Leader elections of the ZooKeeper controller, as pure functions.

Source: Kafka 2.8.2, `Election.scala` and `PartitionLeaderElectionAlgorithms` in `PartitionStateMachine.scala`. Replicas
are broker ids in assignment order; the first is preferred. An ISR may name brokers outside the assignment: an election
keeps them but never elects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum


class ElectionReason(StrEnum):
    """Reason for an election, which determines the candidates."""

    OFFLINE = "offline"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """Leadership of a partition as stored in ZooKeeper."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]

    def passed_to(self, leader: int, isr: Sequence[int]) -> LeaderAndIsr:
        """The next leadership, with a leader epoch raised by one."""
        return LeaderAndIsr(leader, self.leader_epoch + 1, tuple(isr))


@dataclass(frozen=True, slots=True)
class BrokerLiveness:
    """Brokers as seen by the controller.

    Brokers in a controlled shutdown still run.
    """

    running: frozenset[int]
    shutting_down: frozenset[int] = frozenset()

    @property
    def online(self) -> frozenset[int]:
        """Brokers that may get new leaderships."""
        return self.running - self.shutting_down


@dataclass(frozen=True, slots=True)
class Replicas:
    """Assignment of a partition.

    `adding` and `removing` are the pending changes of a reassignment.
    """

    all: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """The assignment after the reassignment."""
        return tuple(replica for replica in self.all if replica not in self.removing)


@dataclass(frozen=True, slots=True)
class LeaderChoice:
    """Result of an election.

    `leadership` is None if there was no candidate; `replicas` are the brokers notified of it.
    """

    leadership: LeaderAndIsr | None
    replicas: tuple[int, ...]


# -- candidates --------------------------------------------------------------------------------------------


def offline_leader(assignment: Sequence[int], isr: Sequence[int], live: AbstractSet[int], *, unclean_enabled: bool) -> int | None:
    """First live replica in the ISR.

    If there is none and unclean elections are allowed, the first live replica.
    """
    clean = _first(assignment, lambda replica: replica in live and replica in isr)
    if clean is None and unclean_enabled:
        return _first(assignment, lambda replica: replica in live)
    return clean


def reassigned_leader(target: Sequence[int], isr: Sequence[int], live: AbstractSet[int]) -> int | None:
    """First live replica of the target assignment that is in the ISR."""
    return _first(target, lambda replica: replica in live and replica in isr)


def preferred_leader(assignment: Sequence[int], isr: Sequence[int], live: AbstractSet[int]) -> int | None:
    """The first replica of the assignment if eligible, else None."""
    return _first(assignment[:1], lambda replica: replica in live and replica in isr)


def controlled_shutdown_leader(
    assignment: Sequence[int], isr: Sequence[int], live: AbstractSet[int], shutting_down: AbstractSet[int]
) -> int | None:
    """First live replica in the ISR whose broker is not shutting down."""
    return _first(assignment, lambda replica: replica in live and replica in isr and replica not in shutting_down)


def _first(replicas: Sequence[int], wanted: Callable[[int], bool]) -> int | None:
    return next((replica for replica in replicas if wanted(replica)), None)


# -- result ------------------------------------------------------------------------------------------------


def elect(
    strategy: ElectionReason, replicas: Replicas, brokers: BrokerLiveness, current: LeaderAndIsr | None, *, unclean_enabled: bool = False
) -> LeaderChoice:
    """Elect a leader by `strategy`.

    Without a current leadership nobody is elected. `unclean_enabled` matters to OFFLINE only.
    """
    decision = _candidates(strategy, replicas, brokers)
    leader = None if current is None else _leader(strategy, replicas, brokers, current.isr, unclean_enabled)
    if current is None or leader is None:
        return LeaderChoice(None, decision)
    return LeaderChoice(current.passed_to(leader, _isr(strategy, brokers, current.isr, leader)), decision)


def _candidates(strategy: ElectionReason, replicas: Replicas, brokers: BrokerLiveness) -> tuple[int, ...]:
    match strategy:
        case ElectionReason.OFFLINE:
            return tuple(replica for replica in replicas.all if replica in brokers.online)
        case ElectionReason.CONTROLLED_SHUTDOWN:
            return tuple(replica for replica in replicas.all if replica in brokers.running)
        case ElectionReason.REASSIGN:
            return replicas.target
        case _:
            return replicas.all


def _leader(strategy: ElectionReason, replicas: Replicas, brokers: BrokerLiveness, isr: Sequence[int], unclean_enabled: bool) -> int | None:
    match strategy:
        case ElectionReason.OFFLINE:
            return offline_leader(replicas.all, isr, brokers.online, unclean_enabled=unclean_enabled)
        case ElectionReason.REASSIGN:
            return reassigned_leader(replicas.target, isr, brokers.online)
        case ElectionReason.PREFERRED:
            return preferred_leader(replicas.all, isr, brokers.online)
        case _:
            return controlled_shutdown_leader(replicas.all, isr, brokers.running, brokers.shutting_down)


def _isr(strategy: ElectionReason, brokers: BrokerLiveness, isr: tuple[int, ...], leader: int) -> tuple[int, ...]:
    match strategy:
        case ElectionReason.OFFLINE if leader not in isr:
            return (leader,)  # an unclean leader can't trust the former ISR
        case ElectionReason.OFFLINE:
            return tuple(replica for replica in isr if replica in brokers.online)
        case ElectionReason.CONTROLLED_SHUTDOWN:
            return tuple(replica for replica in isr if replica not in brokers.shutting_down)
        case _:
            return isr
