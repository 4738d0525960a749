"""What neither recordings nor scripts get to: guards of the models, and the structures that they rest on."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from models.kafka.coordinator.classic.coordinator import Coordinator as ClassicCoordinator
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.classic.rebalance import end_sync_wait
from models.kafka.coordinator.classic.shard import Shard
from models.kafka.coordinator.consumer.coordinator import Coordinator
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.errors import Error as CoordinatorError
from models.kafka.coordinator.protocol.errors import Fault as BrokerFault
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.requests import Commit, Join, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import Response
from models.kafka.coordinator.protocol.subscription import topics_of
from models.kafka.coordinator.runtime.choices import FirstChoice
from models.kafka.coordinator.runtime.timers import TimerKind, Timers
from models.kafka.coordinator.runtime.version_policy import broker_defaults, policy_for
from models.kafka.simulation.client import ClientPhase
from models.kafka.simulation.cluster import Cluster, Flight
from models.kafka.simulation.consumer import Consumer
from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.kafka.simulation.simulation import Simulation
from models.kafka.simulation.world import ServedRequest, World, WrittenLine


def test_an_illegal_step_is_a_fault_and_not_taken() -> None:
    group = Group("g", 0)
    with pytest.raises(BrokerFault, match="can't move from Empty to Stable"):
        group.move(State.STABLE, 1)
    assert (group.state, group.state_since_ms) == (State.EMPTY, 0)


@pytest.mark.parametrize(("version", "beyond_ms"), [("2.0", 1), ("2.1", 0), ("4.0.0", 0)])
def test_the_end_of_a_group_whose_client_fixed_it_itself_can_be_told(version: str, beyond_ms: int) -> None:
    """The first clean-up after that; until 2.0 an offset is expired from the moment after on."""
    policy = policy_for(version)
    settings = replace(broker_defaults(policy), retention_check_interval_ms=10_000)
    coordinator = ClassicCoordinator(policy, settings)
    coordinator.handle(Commit(1, "g", {("t", 0): 1}, "", -1, retention_ms=30_000))
    assert coordinator.gone_after_ms("g") == 30_000 + (10_000 if beyond_ms else 0)


def test_a_client_that_was_cut_off_while_it_joined_joins_once_more() -> None:
    cut = InjectedFault(kind="network_cut", at_ms=4_000, for_ms=1_500)
    scenario = Scenario(duration_ms=30_000, closes=False, groups=(GroupPlan(members=2),), faults=(cut,))
    joins = [
        each for each in Simulation(scenario, "2.8.2", 1).run() if isinstance(each, WrittenLine) and each.message == "kafka.client.joining"
    ]
    assert sorted(Counter(each.fields["client_id"] for each in joins).values()) == [2, 3]  # an id is handed out to each first


def test_a_wait_for_syncs_of_another_generation_ends_without_effect() -> None:
    policy = policy_for("3.9.0")
    shard = Shard(policy, broker_defaults(policy))
    group = shard.create("g")
    group.generation = 3
    end_sync_wait(shard, group, 2)
    assert (group.state, shard.changes) == (State.EMPTY, [])


@pytest.mark.parametrize(
    ("version", "state", "thrown"),
    [
        ("2.8.0", State.STABLE, []),
        ("2.8.2", State.STABLE, ["NoSuchElementException"]),
        ("3.0.0", State.PREPARING_REBALANCE, [""]),
        ("3.9.0", State.PREPARING_REBALANCE, [""]),
        ("4.0.0", State.PREPARING_REBALANCE, [""]),
    ],
)
def test_the_wait_for_the_sync_of_a_member_that_was_replaced(version: str, state: State, thrown: list[str]) -> None:
    """A static member returns to a Stable group before its old id has synced; 2.8.1 and 2.8.2 look that id up (GroupMetadata.get)."""
    policy = policy_for(version)
    coordinator = ClassicCoordinator(policy, replace(broker_defaults(policy), initial_delay_ms=100))
    protocols = (Protocol("range", b""),)
    for number, instance in enumerate(("i1", "i2"), 1):
        coordinator.handle(Join(number, "g", "", "consumer", protocols, 60_000, 20_000, instance))
    coordinator.advance(1_000)
    leader = coordinator.groups["g"].leader or ""
    coordinator.handle(Sync(3, "g", leader, 1, dict.fromkeys(coordinator.groups["g"].members, b"a")))
    late = next(instance for instance, member in coordinator.groups["g"].static.items() if member != leader)
    coordinator.handle(Join(4, "g", "", "consumer", protocols, 60_000, 20_000, late))
    fired = coordinator.advance(25_000).fired
    assert [each.fault for each in fired if each.kind is TimerKind.SYNC] == thrown
    assert coordinator.groups["g"].state is state


def test_first_choices() -> None:
    choices = FirstChoice()
    assert choices.leader("g", 1, 0, ["b", "a"]) == "b"
    assert choices.protocol("g", 1, 0, ["b", "a"]) == "a"
    assert choices.keeps_protocol("g", 1, 0, ["b", "a"])


@pytest.mark.parametrize(
    ("metadata", "topics"),
    [
        (b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff", {"t"}),
        (b"\0\1\0\0\0\1\0\1t\0\0\0\2ab", {"t"}),
        (b"\0\0\0\0\0\1\0\x09t\xff\xff\xff\xff", None),
        (b"\0\0\0\0\0\1\xff\xfft\xff\xff\xff\xff", None),
        (b"\0\0\0\0\0\1\0\1t\0\0\0\2a", None),
        (b"\0\0\xff\xff\xff\xff\xff\xff\xff\xff", None),
        (b"", None),
    ],
)
def test_subscriptions_that_can_and_can_not_be_read(metadata: bytes, topics: set[str] | None) -> None:
    assert topics_of(metadata) == topics


def test_timers_that_were_dropped_or_brought_forward_take_no_room() -> None:
    timers = Timers()
    for turn in range(1_000):
        timers.schedule(TimerKind.JOIN, "g", "", 10_000 - turn)
    assert len(timers._heap) < 100
    assert timers.next_ms() == 9_001
    timers.cancel(TimerKind.JOIN, "g", "")
    timers.cancel(TimerKind.JOIN, "g", "")
    assert timers.next_ms() is None
    assert timers.due_ms(TimerKind.JOIN, "g", "") is None
    assert timers.take(10**9) is None


# -- consumer groups -----------------------------------------------------------------------------------------


class Members:
    """Sends heartbeats and hands back the errors."""

    def __init__(self, **settings: object) -> None:
        self.coordinator = Coordinator(ConsumerGroupSettings(session_ms=60_000, topics={"t": 2, "u": 2}, assignors=("range",), **settings))  # type: ignore[arg-type]
        self.requests = 0

    def beat(self, member: str, epoch: int, **fields: object) -> Error:
        self.requests += 1
        if epoch == 0:
            fields = {"rebalance_ms": 5_000, "owned": {}, "topics": frozenset({"t"}), **fields}
        request = ConsumerHeartbeat(self.requests, "g", member, epoch, **fields)  # type: ignore[arg-type]
        return self.coordinator.handle(request).answers[0].response.error


def test_an_instance_that_leads_to_nobody_is_unknown() -> None:
    members = Members()
    assert members.beat("a", 0, instance="i") is Error.NONE
    assert members.beat("a", 0, instance="j") is Error.NONE
    assert members.beat("a", -1) is Error.NONE
    assert members.beat("b", 0, instance="i") is Error.UNKNOWN_MEMBER_ID


def test_a_commit_without_epochs_is_of_an_unsupported_version() -> None:
    members = Members()
    members.beat("a", 0)
    outcome = members.coordinator.handle(Commit(99, "g", {("t", 0): 1}, "a", 1, api_version=8))
    assert outcome.answers[0].response.error is Error.UNSUPPORTED_VERSION


def test_time_to_revoke_does_not_run_out_for_one_that_left_for_a_while() -> None:
    members = Members()
    members.beat("a", 0, instance="i")
    members.beat("b", 0)
    assert members.beat("a", 1, instance="i", owned={"t": frozenset({0, 1})}) is Error.NONE
    assert members.beat("a", -2, instance="i") is Error.NONE
    fired = members.coordinator.advance(6_000).fired
    assert [timer.kind for timer in fired] == [TimerKind.REBALANCE]
    assert set(members.coordinator.groups["g"].members) == {"a", "b"}  # type: ignore[union-attr]


def test_a_pattern_that_matches_what_it_matched_before_changes_nothing() -> None:
    members = Members()
    members.beat("a", 0, topics=None, regex="t|u")
    group = members.coordinator.groups["g"]
    members.coordinator.advance(11_000)
    members.coordinator.set_topic("v", 1)
    members.beat("a", group.members["a"].epoch)  # type: ignore[union-attr]
    epoch = group.epoch  # type: ignore[union-attr]
    members.coordinator.advance(11_000)
    members.coordinator.set_topic("w", 1)
    members.beat("a", group.members["a"].epoch)  # type: ignore[union-attr]
    assert group.epoch == epoch  # type: ignore[union-attr]


# -- the simulator -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "request_"),
    [("2.8.2", Commit(1, "orders", {})), ("4.0.0", Commit(1, "orders", {})), ("4.0.0", ConsumerHeartbeat(1, "orders", "m", 3))],
)
def test_a_broker_that_is_not_the_coordinator_says_so(version: str, request_: Request) -> None:
    world = World(1)
    scenario = Scenario(brokers=2)
    cluster = Cluster(world, scenario, policy_for(version), lambda _: None, lambda *_: None, lambda _: None, lambda *_: None)
    node = cluster.coordinator_of("orders") or 0
    got: list[Response] = []
    cluster.send(3 - node, Flight(request_, "c", got.append, lambda: None))
    while world.next_ms() is not None:
        world.step()
    assert [response.error.value for response in got] == ["NOT_COORDINATOR"]
    assert [happening.node for happening in world.taken() if isinstance(happening, ServedRequest)] == [3 - node]


def test_a_coordinator_that_is_lost_while_it_loads_never_comes() -> None:
    world = World(1)
    lost: list[str] = []
    cluster = Cluster(world, Scenario(brokers=3), policy_for("2.8.2"), lambda _: None, lambda *_: None, lost.append, lambda *_: None)
    first = cluster.coordinator_of("orders") or 0
    cluster.shut_down(first)
    second = cluster.coordinator_of("orders") or 0
    cluster.crash(second, 1_000)
    assert cluster.coordinator_of("orders") is None
    while world.next_ms() is not None:
        world.step()
    assert cluster.coordinator_of("orders") not in (None, first, second)
    assert lost == ["orders", "orders"]


def simulated() -> tuple[Simulation, Consumer]:
    """A cluster of two brokers with one client, all of it at its beginning."""
    simulation = Simulation(Scenario(brokers=2, groups=(GroupPlan(members=1, max_poll_ms=5_000),), closes=False), "2.8.2")
    return simulation, simulation.members["orders"][0]


def run_until(simulation: Simulation, at_ms: int) -> None:
    world, cluster = simulation.world, simulation.cluster
    while due := [due_ms for due_ms in (world.next_ms(), cluster.next_ms()) if due_ms is not None and due_ms <= at_ms]:
        world.now_ms = min(due)
        if cluster.next_ms() == world.now_ms:
            cluster.advance(world.now_ms)
        else:
            world.step()
    world.now_ms = at_ms


def test_a_client_that_does_not_run_asks_for_nothing() -> None:
    _, client = simulated()
    client.subscribe(("orders-events",))
    client._poll_timed_out()
    assert client.phase is ClientPhase.STOPPED


def test_a_client_that_is_told_of_another_coordinator_looks_for_it() -> None:
    simulation, client = simulated()
    run_until(simulation, 8_000)
    assert client.phase is ClientPhase.STABLE
    client._beaten(Response(CoordinatorError.NOT_COORDINATOR))
    assert client.node is None
    run_until(simulation, 12_000)
    assert (client.node, client.phase) == (simulation.cluster.coordinator_of("orders"), ClientPhase.STABLE)


def test_a_client_that_becomes_busy_before_it_polls_rejoins_later() -> None:
    simulation, client = simulated()
    run_until(simulation, 8_000)
    client._rejoin("subscription has changed")
    client.poll_slowly(3_000)
    run_until(simulation, 10_900)
    assert (client.generation, client.phase) == (1, ClientPhase.STABLE)
    run_until(simulation, 13_000)
    assert client.generation == 2


def test_a_poll_that_is_not_needed_any_more_does_nothing() -> None:
    simulation, client = simulated()
    run_until(simulation, 1_900)
    assert client.phase is ClientPhase.JOINING
    client._poll()
    assert client.phase is ClientPhase.JOINING


def test_a_cut_that_ends_before_the_client_has_joined_changes_nothing() -> None:
    simulation, client = simulated()
    run_until(simulation, 8_000)
    client.cut(100)
    client._reset("a test")
    run_until(simulation, 8_100)
    assert client.phase is ClientPhase.UNJOINED


def test_a_join_is_lost_with_its_broker_and_sent_again() -> None:
    simulation, client = simulated()
    run_until(simulation, 1_900)
    node = simulation.cluster.coordinator_of("orders") or 0
    simulation.cluster.crash(node, 1_000)
    run_until(simulation, 12_000)
    assert (client.phase, client.node) == (ClientPhase.STABLE, 3 - node)


def test_a_rolling_restart_leaves_out_who_has_gone_meanwhile() -> None:
    faults = (InjectedFault(kind="rolling_restart", at_ms=20_000, for_ms=5_000), InjectedFault(kind="crash", member=3, at_ms=21_000))
    simulation = Simulation(Scenario(duration_ms=90_000, groups=(GroupPlan(members=3),), faults=faults), "3.9.1")
    for _ in simulation.run():
        pass
    assert [member.life for member in simulation.members["orders"]] == [4, 4, 2]
