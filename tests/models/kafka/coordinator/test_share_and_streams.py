"""Rules of share and streams groups that recordings show only in part: the assignors' promises, delays, warm-up steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.runtime.heartbeat_groups import EPOCH_POLICIES, may_compute_target
from models.kafka.coordinator.share.assignor import Sharing, choose_shares
from models.kafka.coordinator.streams.assignor import Work, choose_tasks, is_complete
from models.kafka.coordinator.streams.coordinator import Coordinator
from models.kafka.coordinator.streams.group import StreamsGroupState
from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.requests import StreamsHeartbeat
from models.kafka.coordinator.streams.responses import StreamsResponse
from models.kafka.coordinator.streams.settings import StreamsGroupSettings
from models.kafka.coordinator.streams.tasks import NO_TASKS, TaskKind, Tasks
from models.kafka.coordinator.streams.topology import Status, Subtopology, Topology, configure
from tests.adapters.epoch_policies import epoch_policy

TOPOLOGY = Topology(0, (Subtopology("0", ("orders",), {}, (), ("store",)),))


class Application:
    """Members of one application that do what they are told."""

    def __init__(self, version: str, *, refine: object = None, **settings: object) -> None:
        made = StreamsGroupSettings(**{"assignment_interval_ms": 0, "topics": {"orders": 4, "store": 4}, **settings})  # type: ignore[arg-type]
        more = {} if refine is None else {"refine": refine}
        self.coordinator = Coordinator(epoch_policy(version), made, now_ms=1_000, **more)  # type: ignore[arg-type]
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Tasks] = {}

    def beat(self, member: str, instance: str | None = None) -> StreamsResponse:
        epoch = self.epochs.get(member, 0)
        topology = TOPOLOGY if epoch == 0 else None
        process = f"p-{member}" if epoch == 0 else None
        request = StreamsHeartbeat(1, "g", member, epoch, instance, 60_000, topology, process, self.owned.get(member, NO_TASKS))
        response = self.coordinator.handle(request).answers[0].response
        if isinstance(response, StreamsResponse) and response.error is Error.NONE:
            self.epochs[member] = response.epoch
            if response.tasks is not None:
                self.owned[member] = response.tasks
            return response
        return StreamsResponse(response.error)

    @property
    def state(self) -> StreamsGroupState | None:
        return self.coordinator.state_of("g")


@given(
    members=st.dictionaries(st.sampled_from("abcdef"), st.just(frozenset({"t", "u"})), min_size=1),
    counts=st.dictionaries(st.sampled_from("tu"), st.integers(1, 7), min_size=1),
    held=st.dictionaries(st.sampled_from("abcdef"), st.frozensets(st.tuples(st.sampled_from("tu"), st.integers(0, 6)))),
)
def test_shares_are_even_and_complete(
    members: Mapping[str, frozenset[str]], counts: Mapping[str, int], held: Mapping[str, frozenset[tuple[str, int]]]
) -> None:
    partitions = frozenset((topic, number) for topic, count in counts.items() for number in range(count))
    targets = choose_shares(Sharing("g", 1, members, held, partitions))
    given_out = Counter(partition for target in targets.values() for partition in target)
    assert given_out.keys() == partitions
    assert len(set(given_out.values())) == 1
    sizes = [len(targets[member]) for member in members]
    assert max(sizes) - min(sizes) <= 1


@given(
    names=st.sets(st.sampled_from("abcde"), min_size=1),
    sizes=st.dictionaries(st.sampled_from("01"), st.integers(1, 6), min_size=1),
    replicas=st.integers(0, 2),
)
def test_tasks_are_active_once_and_copies_are_elsewhere(names: set[str], sizes: Mapping[str, int], replicas: int) -> None:
    members = {name: Member(name, process=f"p-{name}") for name in names}
    targets = choose_tasks(Work("g", 1, members, {}, sizes, replicas, frozenset(sizes)))
    assert is_complete(targets, sizes)
    copies = Counter(task[1:] for tasks in targets.values() for task in tasks)
    assert set(copies.values()) == {min(1 + replicas, len(names))}
    assert all(len({task[1:] for task in tasks}) == len(tasks) for tasks in targets.values())


@pytest.mark.parametrize(
    ("topics", "problem", "missing"),
    [
        ({"orders": 4, "store": 4}, None, {}),
        ({"orders": 4}, Status.MISSING_INTERNAL_TOPICS, {"store": 4}),
        ({"store": 4}, Status.MISSING_SOURCE_TOPICS, {}),
        ({"orders": 4, "store": 3}, Status.INCORRECTLY_PARTITIONED_TOPICS, {}),
    ],
)
def test_a_topology_needs_its_topics(topics: Mapping[str, int], problem: Status | None, missing: Mapping[str, int]) -> None:
    configured = configure(TOPOLOGY, topics)
    assert (configured.problem, configured.missing, configured.is_ready) == (problem, missing, problem is None)


def test_nobody_gets_tasks_until_internal_topics_exist() -> None:
    app = Application("4.4.0", topics={"orders": 4}, initial_delay_ms=0)
    assert app.beat("m1").status == (Status.MISSING_INTERNAL_TOPICS,)
    assert (app.state, app.owned["m1"]) == (StreamsGroupState.NOT_READY, NO_TASKS)
    app.coordinator.advance(40_000)
    assert (app.beat("m1").missing, app.state) == ({"store": 4}, StreamsGroupState.NOT_READY)
    app.coordinator.set_topic("store", 4)
    assert len(app.beat("m1").tasks or ()) == 4
    assert app.state is StreamsGroupState.STABLE


def test_the_initial_delay_gathers_the_first_members() -> None:
    app = Application("4.4.0", initial_delay_ms=3_000)
    assert Status.ASSIGNMENT_DELAYED in app.beat("m1").status
    app.coordinator.advance(1_000)
    assert Status.ASSIGNMENT_DELAYED in app.beat("m2").status
    app.coordinator.advance(2_000)
    assert len(app.beat("m1").tasks or ()) == len(app.beat("m2").tasks or ()) == 2


def test_warm_up_progress_raises_the_epoch_without_an_act() -> None:
    """A refiner that holds the move back until the state is restored; then the next heartbeat starts a new epoch."""
    restored: list[bool] = []
    warming = frozenset({(TaskKind.WARMUP, "0", 0)})

    def refine(targets: Mapping[str, Tasks], members: Mapping[str, Member]) -> Mapping[str, Tasks]:
        return targets if restored else dict.fromkeys(members, warming)

    app = Application("4.4.0", refine=refine, initial_delay_ms=0)
    app.beat("m1")
    group = app.coordinator.groups["g"]
    assert (app.owned["m1"], app.state) == (warming, StreamsGroupState.STABLE)
    before = group.epoch
    assert app.beat("m1").epoch == before
    restored.append(True)
    assert app.beat("m1").epoch == group.epoch == group.target_epoch == before + 1
    assert len(app.owned["m1"]) == 4


def test_a_refused_second_instance_takes_the_first_ones_tasks() -> None:
    """As released in 4.4.0: the refused request has moved the refined tasks to its own id, so that the holder revokes all."""
    app = Application("4.4.0", initial_delay_ms=0)
    app.beat("m1", "i")
    app.beat("m2", "j")
    assert app.beat("m3", "i").error is Error.UNRELEASED_INSTANCE_ID
    app.beat("m1", "i")
    assert app.owned["m1"] == NO_TASKS


@pytest.mark.parametrize(
    ("version", "computed_ms", "due"), [("4.2.1", 0, True), ("4.3.1", None, True), ("4.3.1", 0, False), ("4.3.1", -5_000, True)]
)
def test_targets_are_spaced_out_since_4_3(version: str, computed_ms: int | None, due: bool) -> None:
    assert may_compute_target(epoch_policy(version), computed_ms, 5_000, 0) is due


@pytest.mark.parametrize(("version", "known_as"), [("3.9.1", "4.1"), ("4.1.0", "4.1"), ("4.3.1", "4.3"), ("4.10.0", "4.4")])
def test_a_policy_holds_until_the_next(version: str, known_as: str) -> None:
    assert epoch_policy(version) is EPOCH_POLICIES[known_as]
