"""Any sequence of heartbeats and waits in a consumer group, and the assignors against what they promise."""

from __future__ import annotations

from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from models.kafka.coordinator.consumer.assignors import Subscriber, Subscription, choose_target
from models.kafka.coordinator.consumer.coordinator import Coordinator
from models.kafka.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from models.kafka.coordinator.consumer.member import MemberState
from models.kafka.coordinator.consumer.requests import LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH, ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings
from models.kafka.coordinator.consumer.topic_partitions import by_topic
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.requests import Commit, Delete, Request
from models.kafka.coordinator.runtime.outcomes import Outcome

GROUP = "g"
CLIENTS = ["a", "b", "c", "d"]
TOPICS = ["t", "u", "tu"]
REGEXES = ["t.*", "u", "(", ""]

clients = st.sampled_from(CLIENTS)
instances = st.none() | st.sampled_from("ij")


class ConsumerGroups(RuleBasedStateMachine):
    """Clients that mostly say what they own and where they are, and sometimes don't."""

    @initialize(assignors=st.permutations(["uniform", "range"]), size=st.sampled_from([2, 2**31 - 1]))
    def begin(self, assignors: list[str], size: int) -> None:
        self.coordinator = Coordinator(
            ConsumerGroupSettings(
                session_ms=10_000,
                max_size=size,
                assignors=tuple(assignors),
                topics={"t": 4, "u": 1},
                retention_ms=60_000,
                retention_check_interval_ms=20_000,
            )
        )
        self.requests = 0
        self.epochs: dict[str, int] = dict.fromkeys(CLIENTS, 0)
        self.owned: dict[str, dict[str, frozenset[int]]] = {client: {} for client in CLIENTS}
        self.group_epoch = 0

    def send(self, request: Request, client: str | None = None) -> None:
        outcome = self.coordinator.handle(request)
        assert [answer.request_id for answer in outcome.answers] == [request.request_id]
        for answer in outcome.answers:
            response = answer.response
            if client is not None and isinstance(response, HeartbeatResponse) and response.error is Error.NONE:
                self.epochs[client] = max(response.epoch, 0)
                if response.assignment is not None:
                    self.owned[client] = {topic: frozenset(numbers) for topic, numbers in by_topic(response.assignment).items()}
        self.see(outcome)

    def see(self, outcome: Outcome) -> None:
        times = [fired.at_ms for fired in outcome.fired]
        assert times == sorted(times)

    def number(self) -> int:
        self.requests += 1
        return self.requests

    @rule(
        client=clients,
        instance=instances,
        topics=st.none() | st.frozensets(st.sampled_from(TOPICS)),
        regex=st.none() | st.sampled_from(REGEXES),
        assignor=st.none() | st.sampled_from(["range", "uniform", "odd"]),
    )
    def join(self, client: str, instance: str | None, topics: frozenset[str] | None, regex: str | None, assignor: str | None) -> None:
        self.send(
            ConsumerHeartbeat(self.number(), GROUP, client, 0, instance, None, 20_000, topics, regex, assignor, {}, client, 1), client
        )

    @rule(client=clients, tells=st.booleans(), gives_up=st.booleans(), off=st.sampled_from([0, 0, 0, 0, -1, 1]))
    def beat(self, client: str, tells: bool, gives_up: bool, off: int) -> None:
        owned = ({} if gives_up else self.owned[client]) if tells else None
        group = self.coordinator.groups.get(GROUP)
        member = group.members.get(client) if isinstance(group, ConsumerGroup) else None
        instance = member.instance if member else None
        self.send(ConsumerHeartbeat(self.number(), GROUP, client, self.epochs[client] + off, instance, owned=owned), client)

    @rule(client=clients, instance=instances, epoch=st.sampled_from([LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH]))
    def leave(self, client: str, instance: str | None, epoch: int) -> None:
        self.send(ConsumerHeartbeat(self.number(), GROUP, client, epoch, instance), client)

    @rule(client=clients, off=st.sampled_from([0, 1, -9]))
    def commit(self, client: str, off: int) -> None:
        self.send(Commit(self.number(), GROUP, {("t", 0): 1}, client, self.epochs[client] + off))

    @rule()
    def delete(self) -> None:
        self.send(Delete(self.number(), GROUP))

    @rule(topic=st.sampled_from(TOPICS), partitions=st.integers(0, 6))
    def set_topic(self, topic: str, partitions: int) -> None:
        self.see(self.coordinator.set_topic(topic, partitions))

    @rule(ms=st.sampled_from([1, 3_000, 9_999, 11_000, 60_000]))
    def wait(self, ms: int) -> None:
        self.see(self.coordinator.advance(ms))

    @invariant()
    def the_group_is_consistent(self) -> None:
        coordinator = getattr(self, "coordinator", None)
        group = coordinator.groups.get(GROUP) if coordinator is not None else None
        if not isinstance(group, ConsumerGroup):
            self.group_epoch = 0
            return
        members = group.members.values()
        held = Counter(partition for member in members for partition in member.assigned | member.pending_revocation)
        assert all(count == 1 for count in held.values()), "a partition is held twice"
        assert group.assigned_partitions == set(held)
        assert group.target_epoch <= group.epoch
        assert group.epoch >= self.group_epoch
        self.group_epoch = group.epoch
        assert set(group.targets) <= group.members.keys()
        assert all(group.static[member.instance] == member.id for member in members if member.instance is not None)
        assert Counter(name for member in members for name in member.topics) == group._topics
        for member in members:
            assert member.epoch <= group.target_epoch
            assert (member.state is MemberState.UNREVOKED_PARTITIONS) >= bool(member.pending_revocation)
        if group.state is ConsumerGroupState.STABLE:
            assert all(member.assigned == group.target(member.id) for member in members if member.epoch >= 0)


ConsumerGroups.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestConsumerGroups = ConsumerGroups.TestCase


@st.composite
def subscriptions(draw: st.DrawFn, assignor: str) -> Subscription:
    """Members with topics, some static, and what they were to have before: a target that an assignor chose for other topics."""
    topics = draw(st.dictionaries(st.sampled_from(["t", "u", "v"]), st.integers(1, 7)))
    names = draw(st.lists(st.sampled_from("abcde"), unique=True, max_size=5))
    wanted = {name: draw(st.frozensets(st.sampled_from(["t", "u", "v", "w"]))) for name in names}
    instances = {name: draw(st.none() | st.just(name.upper())) for name in names}
    before = Subscription("g", 1, assignor, {name: Subscriber(wanted[name], instances[name]) for name in names[1:]}, topics)
    targets = choose_target(before)
    members = {name: Subscriber(wanted[name], instances[name], targets.get(name, frozenset())) for name in names}
    return Subscription("g", 2, assignor, members, topics)


@given(subscription=subscriptions("range"))
def test_range_by_a_second_way(subscription: Subscription) -> None:
    """Partition p of n among m takers goes to the taker whose share, cut off the front, holds it."""
    expected: dict[str, set[tuple[str, int]]] = {member: set() for member in subscription.members}
    for topic, count in subscription.topics.items():
        takers = [member for member, known in subscription.members.items() if topic in known.topics]
        takers.sort(key=lambda member: (subscription.members[member].instance is None, subscription.members[member].instance or member))
        queue = list(range(count))
        for left, member in zip(range(len(takers), 0, -1), takers, strict=True):
            share = -(-len(queue) // left)
            expected[member].update((topic, number) for number in queue[:share])
            del queue[:share]
    assert choose_target(subscription) == expected


@given(subscription=subscriptions("uniform"))
def test_uniform_is_complete_even_and_moves_no_more_than_it_must(subscription: Subscription) -> None:
    targets = choose_target(subscription)
    given_out = Counter(partition for target in targets.values() for partition in target)
    topics_wanted = {topic for member in subscription.members.values() for topic in member.topics}
    wanted = {(topic, number) for topic, count in subscription.topics.items() if topic in topics_wanted for number in range(count)}
    assert set(given_out) == wanted
    assert all(count == 1 for count in given_out.values())
    assert all(topic in subscription.members[member].topics for member, target in targets.items() for topic, _ in target)
    if len({member.topics for member in subscription.members.values()}) != 1:
        return
    sizes = [len(target) for target in targets.values()]
    assert max(sizes) - min(sizes) <= 1
    floor, extra = divmod(len(wanted), len(sizes))
    for member, known in subscription.members.items():
        lost = len(known.target & wanted) - len(known.target & targets[member])
        assert lost <= max(0, len(known.target) - floor)
        assert lost == 0 or len(targets[member]) in (floor, floor + bool(extra))
