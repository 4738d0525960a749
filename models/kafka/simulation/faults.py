"""Faults of clients and brokers, by the names used in scenarios."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Protocol

from models.kafka.coordinator.protocol.errors import NO_ERROR, Error
from models.kafka.simulation.client import Client
from models.kafka.simulation.cluster import Cluster
from models.kafka.simulation.scenario import CLASSIC, MODERN, GroupPlan, InjectedFault
from models.kafka.simulation.world import World

CRASH_NOTICED_MS = (9_000, 18_000)
"""Time until the controller notices a crash.

KRaft: broker.session.timeout.ms; ZooKeeper: zookeeper.session.timeout.ms.
"""


class ScenarioRun(Protocol):
    """The running simulation as seen by a fault."""

    @property
    def world(self) -> World:
        """Clock, random numbers and planned events."""

    @property
    def cluster(self) -> Cluster:
        """The brokers."""

    @property
    def members(self) -> dict[str, list[Client]]:
        """Clients by group."""

    def client(self, group: GroupPlan, name: str, instance: str | None, /) -> Client:
        """Create a client of its group's protocol without starting it."""

    def add_member(self, group: GroupPlan, /) -> Client:
        """Add a client to a group without starting it."""

    def running(self, group: GroupPlan, /) -> list[Client]:
        """Running members of a group."""

    def pick(self, fault: InjectedFault, group: GroupPlan, /) -> list[Client]:
        """Choose the members that a fault applies to."""


FaultAction = Callable[[ScenarioRun, InjectedFault, GroupPlan], None]


def crash(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Kill a member's process."""
    for member in simulation.pick(fault, group):
        member.kill()
        _back(simulation, fault, member)


def close(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Close a member gracefully."""
    for member in simulation.pick(fault, group):
        member.close()
        _back(simulation, fault, member)


def slow_poll(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Let a member process its records for a long time.

    Beyond max.poll.interval.ms it leaves the group.
    """
    for member in simulation.pick(fault, group):
        member.poll_slowly(fault.for_ms)


def gc_pause(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Pause a member's process."""
    for member in simulation.pick(fault, group):
        member.pause(fault.for_ms)


def network_cut(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Cut a member off from the brokers."""
    for member in simulation.pick(fault, group):
        member.cut(fault.for_ms)


def rolling_restart(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Restart members one by one, `for` apart."""
    for number, member in enumerate(simulation.running(group)):

        def restart(member: Client = member) -> None:
            if member.runs:
                member.close()
                simulation.world.plan(fault.back_ms or 1_000, lambda: _start(member))

        simulation.world.plan(number * fault.for_ms, restart)


def migrate(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Restart members one by one with the other protocol, `for` apart."""
    members = simulation.members[group.name]
    for number, member in enumerate(simulation.running(group)):

        def restart(member: Client = member) -> None:
            if member.runs:
                member.close()
                other = CLASSIC if member.plan.protocol == MODERN else MODERN
                back = members[members.index(member)] = simulation.client(
                    replace(member.plan, protocol=other), member.name, member.instance
                )
                simulation.world.plan(fault.back_ms or 1_000, back.start)

        simulation.world.plan(number * fault.for_ms, restart)


def scale_out(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Add members."""
    for _ in range(fault.count):
        simulation.world.plan(simulation.world.between(0, group.start_ms), simulation.add_member(group).start)


def scale_in(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Close the members that were added last."""
    for member in simulation.running(group)[-fault.count :]:
        simulation.world.plan(simulation.world.between(0, group.start_ms), lambda member=member: member.runs and member.close())  # type: ignore[misc]


def subscription_change(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Remove the last topic from a member's subscription, or add it again."""
    topics = tuple(group.topics)
    for member in simulation.pick(fault, group):
        member.subscribe(topics[:-1] if len(topics) > 1 and set(member.topics) == set(topics) else topics)


def partition_increase(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Add partitions to a group's topics.

    Members learn of them when they refresh their metadata.
    """
    for topic in group.topics:
        simulation.cluster.add_partitions(topic, fault.count)
    for member in simulation.running(group):
        member.later(simulation.world.between(0, group.metadata_ms), member.see_new_partitions)


def coordinator_crash(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Crash a broker and start it again later."""
    node = fault.broker or simulation.cluster.coordinator_of(group.name)
    if node in simulation.cluster.up and len(simulation.cluster.up) > 1:
        simulation.cluster.crash(node, CRASH_NOTICED_MS[not simulation.cluster.policy.is_java])
        simulation.world.plan(max(fault.for_ms, CRASH_NOTICED_MS[1]), lambda: simulation.cluster.start(node))


def coordinator_failover(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Restart a broker gracefully; others take its groups over."""
    node = fault.broker or simulation.cluster.coordinator_of(group.name)
    if node in simulation.cluster.up and len(simulation.cluster.up) > 1:
        simulation.cluster.shut_down(node)
        simulation.world.plan(fault.for_ms, lambda: simulation.cluster.start(node))


def store_failure(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Let writes of the group fail for lack of in-sync replicas.

    Since 4.0 they are written but not confirmed.
    """
    if simulation.cluster.policy.is_java:  # CoordinatorPartitionWriter.append: acks=1; Partition.maybeIncrementLeaderHW: not under min ISR
        slow_replicas(simulation, fault, group)
        return
    simulation.cluster.fail_writes(group.name, Error.NOT_ENOUGH_REPLICAS)
    simulation.world.plan(fault.for_ms, lambda: simulation.cluster.fail_writes(group.name, NO_ERROR))


def slow_replicas(simulation: ScenarioRun, fault: InjectedFault, group: GroupPlan) -> None:
    """Stop replication for a while, so writes are confirmed late or never."""
    simulation.cluster.hold_writes(group.name)
    simulation.world.plan(fault.for_ms, lambda: simulation.cluster.settle_writes(group.name))


def _back(simulation: ScenarioRun, fault: InjectedFault, member: Client) -> None:
    if fault.back_ms is not None:
        simulation.world.plan(fault.back_ms, lambda: _start(member))


def _start(member: Client) -> None:
    """Start a member unless another fault has already started it."""
    return None if member.runs else member.start()


FAULTS: Mapping[str, FaultAction] = {
    action.__name__: action
    for action in (
        crash,
        close,
        slow_poll,
        gc_pause,
        network_cut,
        rolling_restart,
        migrate,
        scale_out,
        scale_in,
        subscription_change,
        partition_increase,
        coordinator_crash,
        coordinator_failover,
        store_failure,
        slow_replicas,
    )
}
"""Faults by name; the functions' docstrings describe them."""
