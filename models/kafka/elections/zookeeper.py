"""Leader elections of the ZooKeeper controller, as pure functions.

Kafka 2.8.2, `Election.scala` and `PartitionLeaderElectionAlgorithms` in `PartitionStateMachine.scala`.
Replicas are broker ids; their order is the order of the assignment, whose first one is preferred.
An ISR may name brokers outside the assignment: an election keeps them, and never elects them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import StrEnum


class Strategy(StrEnum):
    """Why a leader is looked for; each reason has candidates of its own."""

    OFFLINE = "offline"
    REASSIGN = "reassign"
    PREFERRED = "preferred"
    CONTROLLED_SHUTDOWN = "controlled_shutdown"


@dataclass(frozen=True, slots=True)
class LeaderAndIsr:
    """Leadership of a partition as ZooKeeper holds it."""

    leader: int
    leader_epoch: int
    isr: tuple[int, ...]

    def passed_to(self, leader: int, isr: Sequence[int]) -> LeaderAndIsr:
        """The next leadership: each change raises the leader epoch by one."""
        return LeaderAndIsr(leader, self.leader_epoch + 1, tuple(isr))


@dataclass(frozen=True, slots=True)
class Brokers:
    """Who runs, as the controller sees it. Brokers that shut down in good order still run."""

    running: frozenset[int]
    shutting_down: frozenset[int] = frozenset()

    @property
    def online(self) -> frozenset[int]:
        """Brokers that may be given new work."""
        return self.running - self.shutting_down


@dataclass(frozen=True, slots=True)
class Replicas:
    """Assignment of a partition; `adding` and `removing` are what a reassignment under way has still to do."""

    all: tuple[int, ...]
    adding: tuple[int, ...] = ()
    removing: tuple[int, ...] = ()

    @property
    def target(self) -> tuple[int, ...]:
        """The assignment that a reassignment leads to."""
        return tuple(replica for replica in self.all if replica not in self.removing)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What an election yields: the next leadership (None: nobody could be elected), and the replicas that are told of it."""

    leadership: LeaderAndIsr | None
    replicas: tuple[int, ...]


# -- who is elected ----------------------------------------------------------------------------------------


def offline_leader(assignment: Sequence[int], isr: Sequence[int], live: AbstractSet[int], *, unclean_enabled: bool) -> int | None:
    """The first live replica in the ISR; where none is left and unclean elections are allowed, the first live one."""
    clean = _first(assignment, lambda replica: replica in live and replica in isr)
    if clean is None and unclean_enabled:
        return _first(assignment, lambda replica: replica in live)
    return clean


def reassigned_leader(target: Sequence[int], isr: Sequence[int], live: AbstractSet[int]) -> int | None:
    """The first live replica of the target assignment that is in the ISR."""
    return _first(target, lambda replica: replica in live and replica in isr)


def preferred_leader(assignment: Sequence[int], isr: Sequence[int], live: AbstractSet[int]) -> int | None:
    """The first replica of the assignment or nobody."""
    return _first(assignment[:1], lambda replica: replica in live and replica in isr)


def controlled_shutdown_leader(
    assignment: Sequence[int], isr: Sequence[int], live: AbstractSet[int], shutting_down: AbstractSet[int]
) -> int | None:
    """The first live replica in the ISR whose broker stays."""
    return _first(assignment, lambda replica: replica in live and replica in isr and replica not in shutting_down)


def _first(replicas: Sequence[int], wanted: Callable[[int], bool]) -> int | None:
    return next((replica for replica in replicas if wanted(replica)), None)


# -- what follows ------------------------------------------------------------------------------------------


def elect(
    strategy: Strategy, replicas: Replicas, brokers: Brokers, current: LeaderAndIsr | None, *, unclean_enabled: bool = False
) -> Outcome:
    """Elect a leader by `strategy`; without a current leadership nobody is elected. `unclean_enabled` matters to OFFLINE only."""
    told = _told(strategy, replicas, brokers)
    leader = None if current is None else _leader(strategy, replicas, brokers, current.isr, unclean_enabled)
    if current is None or leader is None:
        return Outcome(None, told)
    return Outcome(current.passed_to(leader, _isr(strategy, brokers, current.isr, leader)), told)


def _told(strategy: Strategy, replicas: Replicas, brokers: Brokers) -> tuple[int, ...]:
    match strategy:
        case Strategy.OFFLINE:
            return tuple(replica for replica in replicas.all if replica in brokers.online)
        case Strategy.CONTROLLED_SHUTDOWN:
            return tuple(replica for replica in replicas.all if replica in brokers.running)
        case Strategy.REASSIGN:
            return replicas.target
        case _:
            return replicas.all


def _leader(strategy: Strategy, replicas: Replicas, brokers: Brokers, isr: Sequence[int], unclean_enabled: bool) -> int | None:
    match strategy:
        case Strategy.OFFLINE:
            return offline_leader(replicas.all, isr, brokers.online, unclean_enabled=unclean_enabled)
        case Strategy.REASSIGN:
            return reassigned_leader(replicas.target, isr, brokers.online)
        case Strategy.PREFERRED:
            return preferred_leader(replicas.all, isr, brokers.online)
        case _:
            return controlled_shutdown_leader(replicas.all, isr, brokers.running, brokers.shutting_down)


def _isr(strategy: Strategy, brokers: Brokers, isr: tuple[int, ...], leader: int) -> tuple[int, ...]:
    match strategy:
        case Strategy.OFFLINE if leader not in isr:
            return (leader,)  # an unclean leader knows nothing of what the ISR had in common
        case Strategy.OFFLINE:
            return tuple(replica for replica in isr if replica in brokers.online)
        case Strategy.CONTROLLED_SHUTDOWN:
            return tuple(replica for replica in isr if replica not in brokers.shutting_down)
        case _:
            return isr
