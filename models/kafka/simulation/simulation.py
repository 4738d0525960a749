"""A running scenario."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from models.kafka.coordinator.runtime.version_policy import parse_version, policy_for
from models.kafka.simulation.client import Client
from models.kafka.simulation.cluster import Cluster
from models.kafka.simulation.consumer import Consumer
from models.kafka.simulation.contacts import renew_sessions
from models.kafka.simulation.faults import FAULTS
from models.kafka.simulation.modern_consumer import ModernConsumer
from models.kafka.simulation.scenario import COOPERATIVE, MODERN, GroupPlan, InjectedFault, Scenario, ScenarioError
from models.kafka.simulation.truth import Truth
from models.kafka.simulation.world import Happening, World

FIRST_VERSION = (1, 1)
FIRST_STATIC_VERSION = "2.3"
FIRST_COOPERATIVE_VERSION = "2.4"
FIRST_MODERN_VERSION = "4.0"
SETTLING_MS = 5_000
"""Final interval without new faults, in which members are closed."""


@dataclass(slots=True)
class Simulation:
    """Clients, brokers and faults of a scenario, for one version."""

    scenario: Scenario
    version: str
    seed: int = 0
    tells_requests: bool = True
    """Whether `run` yields served requests, too."""
    world: World = field(init=False)
    cluster: Cluster = field(init=False)
    truth: Truth = field(init=False)
    consumers: dict[str, Client] = field(default_factory=dict)
    """Clients by client id and by instance id."""
    members: dict[str, list[Client]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.scenario.check(FAULTS)
        policy = policy_for(self.version)
        self._check_version()
        self.world = World(self.seed)
        self.truth = Truth(self.consumers)
        logs = (self.truth.watch, self.truth.arrived, self.truth.lost, self.truth.settled)
        self.cluster = Cluster(self.world, self.scenario, policy, *logs, self.tells_requests)
        for group in self.scenario.groups:
            self.members[group.name] = []
            for _ in range(group.members):
                self.world.plan(group.first_ms + self.world.between(0, group.start_ms), self.add_member(group).start)
        for fault in self.scenario.faults:
            self._plan(fault)
        if self.scenario.closes:
            self.world.plan(self.scenario.duration_ms - SETTLING_MS, self._close_all)

    def _check_version(self) -> None:
        """Raise ScenarioError if the version lacks a feature of the scenario."""
        version, groups = parse_version(self.version), self.scenario.groups
        if version < FIRST_VERSION:
            raise ScenarioError(f"the words of {self.version} are not known well enough; from 1.1 on they are")
        needs = (
            ("static members", FIRST_STATIC_VERSION, any(group.static for group in groups)),
            ("the cooperative assignor", FIRST_COOPERATIVE_VERSION, any(group.assignor == COOPERATIVE for group in groups)),
            ("the consumer protocol", FIRST_MODERN_VERSION, any(group.protocol == MODERN for group in groups)),
            ("migration between protocols", FIRST_MODERN_VERSION, any(fault.kind == "migrate" for fault in self.scenario.faults)),
        )
        for feature, since, is_used in needs:
            if is_used and version < parse_version(since):
                raise ScenarioError(f"{feature} came with {since}, and this is {self.version}")

    def run(self) -> Iterator[Happening]:
        """Yield log lines and served requests in order of time."""
        world, cluster, last_ms, may_skip = self.world, self.cluster, self.scenario.duration_ms, not self.tells_requests
        while True:
            before_ms = cluster.no_timer_before_ms
            if may_skip:
                renew_sessions(world, min(before_ms, last_ms + 1))
            events_ms = world.next_ms()
            timers_ms = cluster.due_by(events_ms)  # at the same time, timers come first
            if timers_ms is None and may_skip and cluster.no_timer_before_ms > before_ms:
                continue  # what may have been due was put off by contacts, which go on
            now_ms = events_ms if timers_ms is None else timers_ms
            if now_ms is None or now_ms > last_ms:
                break
            world.now_ms = now_ms
            if timers_ms is None:
                world.step()
            else:
                cluster.advance(now_ms)
            if world.happened:
                yield from world.taken()
        self.truth.finish()

    # -- members -----------------------------------------------------------------------------------------------

    def client(self, group: GroupPlan, name: str, instance: str | None) -> Client:
        """Create a client of its group's protocol without starting it."""
        kind = ModernConsumer if group.protocol == MODERN else Consumer
        client = self.consumers[name] = kind(self.world, self.cluster, group, name, instance)
        if instance is not None:
            self.consumers[instance] = client
        return client

    def add_member(self, group: GroupPlan) -> Client:
        """Add a client to a group without starting it."""
        members = self.members[group.name]
        name = f"{group.name}-worker-{len(members) + 1}"
        instance = f"{group.name}-instance-{len(members) + 1}" if group.static else None
        member = self.client(group, name, instance)
        members.append(member)
        return member

    def running(self, group: GroupPlan) -> list[Client]:
        """Running members of a group."""
        return [member for member in self.members[group.name] if member.runs]

    def pick(self, fault: InjectedFault, group: GroupPlan) -> list[Client]:
        """Choose the named member, or random running members."""
        running = self.running(group)
        if fault.member is not None:
            return [member for member in self.members[group.name][fault.member - 1 : fault.member] if member.runs]
        return self.world.dice.sample(running, min(fault.count, len(running)))

    # -- faults ------------------------------------------------------------------------------------------------

    def _plan(self, fault: InjectedFault) -> None:
        groups = [group for group in self.scenario.groups if fault.group in (None, group.name)]
        if fault.at_ms is not None:
            self.world.plan(fault.at_ms, lambda: FAULTS[fault.kind](self, fault, groups[0]))
            return

        def again() -> None:
            FAULTS[fault.kind](self, fault, self.world.dice.choice(groups))
            self._later(fault, again)

        self._later(fault, again)

    def _later(self, fault: InjectedFault, again: object) -> None:
        wait_ms = round(self.world.dice.expovariate(1 / (fault.every_ms or 1)))
        if callable(again) and self.world.now_ms + wait_ms < self.scenario.duration_ms - 2 * SETTLING_MS:
            self.world.plan(wait_ms, again)

    def _close_all(self) -> None:
        for members in self.members.values():
            for member in members:
                if member.runs:
                    self.world.plan(self.world.between(0, SETTLING_MS // 5), lambda member=member: member.runs and member.close())  # type: ignore[misc]
