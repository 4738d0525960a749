"""Any sequence of requests of either protocol to one group, with moves of its coordinator and changes of its kind."""

from __future__ import annotations

from typing import cast

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.consumer.group import ConsumerGroup
from models.kafka.coordinator.consumer.requests import LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH, ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings as ModernSettings
from models.kafka.coordinator.consumer.settings import MigrationPolicy
from models.kafka.coordinator.consumer.topic_partitions import by_topic
from models.kafka.coordinator.group_coordinator import BothCoordinator
from models.kafka.coordinator.protocol.embedded_consumer import assigned, assignment, subscription
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch, Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse, SyncResponse
from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome, StateTransition
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, policy_for
from models.kafka.simulation.assignment import range_assignment

GROUP = "g"
TOPICS = {"t": 4, "u": 1}
CLIENTS = ["a", "b", "c", "d"]
clients = st.sampled_from(CLIENTS)
instances = st.none() | st.sampled_from("ij")


class BothProtocols(RuleBasedStateMachine):
    """Clients that change their protocol as they like, and mostly know their member id and generation."""

    @initialize(migration=st.sampled_from(MigrationPolicy), size=st.sampled_from([2, 2**31 - 1]))
    def begin(self, migration: MigrationPolicy, size: int) -> None:
        self.settings = CoordinatorSettings(initial_delay_ms=0, max_size=size)
        self.modern = ModernSettings(session_ms=10_000, max_size=size, migration=migration, topics=TOPICS)
        self.coordinator = BothCoordinator(policy_for("4.0.0"), self.settings, self.modern)
        self.requests = 0
        self.sent: dict[int, tuple[str, type[Request]]] = {}
        self.ids: dict[str, str] = dict.fromkeys(CLIENTS, "")
        self.generations: dict[str, int] = dict.fromkeys(CLIENTS, -1)
        self.owned: dict[str, frozenset[tuple[str, int]]] = dict.fromkeys(CLIENTS, frozenset())
        self.instances: dict[str, str | None] = dict.fromkeys(CLIENTS)
        self.answered: set[int] = set()
        self.now_ms = 0

    def send(self, client: str, request: Request) -> None:
        self.sent[request.request_id] = (client, type(request))
        self.see(self.coordinator.handle(request))

    def see(self, outcome: Outcome) -> None:
        times = [fired.at_ms for fired in outcome.fired]
        assert times == sorted(times)
        for change in outcome.changes:
            assert isinstance(change, LoggedChange) or change.before in VALID_PREVIOUS[cast("StateTransition", change).after]
        for answer in outcome.answers:
            assert answer.request_id not in self.answered
            self.answered.add(answer.request_id)
            self.learn(self.sent[answer.request_id][0], answer.response)

    def learn(self, client: str, response: object) -> None:
        if isinstance(response, JoinResponse) and response.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
            self.ids[client], self.generations[client] = response.member, response.generation
        elif isinstance(response, SyncResponse) and response.error is Error.NONE:
            self.owned[client] = frozenset(assigned(response.assignment))
        elif isinstance(response, HeartbeatResponse) and response.error is Error.NONE:
            self.generations[client] = response.epoch
            self.owned[client] = self.owned[client] if response.assignment is None else response.assignment

    def number(self) -> int:
        self.requests += 1
        return self.requests

    @rule(
        client=clients,
        instance=instances,
        anew=st.booleans(),
        cooperative=st.booleans(),
        type_=st.sampled_from(["consumer"] * 5 + ["connect"]),
    )
    def join(self, client: str, instance: str | None, anew: bool, cooperative: bool, type_: str) -> None:
        self.instances[client] = instance
        metadata = subscription(["t"], sorted(self.owned[client]) if cooperative else None)
        member = "" if anew else self.ids[client]
        protocols = (Protocol("range", metadata),)
        request = Join(self.number(), GROUP, member, type_, protocols, 10_000, 20_000, instance, client, require_known_member_id=True)
        self.send(client, request)

    @rule(client=clients)
    def sync(self, client: str) -> None:
        group = self.coordinator.groups.get(GROUP)
        members = list(group.members) if isinstance(group, Group) else []
        made = {member: assignment(share) for member, share in range_assignment(members, {each: {"t"} for each in members}, TOPICS).items()}
        self.send(client, Sync(self.number(), GROUP, self.ids[client], self.generations[client], made, self.instances[client]))

    @rule(client=clients, off=st.sampled_from([0, 0, 0, 1]))
    def heartbeat(self, client: str, off: int) -> None:
        generation = self.generations[client] + off
        self.send(client, Heartbeat(self.number(), GROUP, self.ids[client], generation, self.instances[client]))

    @rule(client=clients)
    def leave(self, client: str) -> None:
        self.send(client, Leave(self.number(), GROUP, (Leaver(self.ids[client], self.instances[client]),)))

    @rule(client=clients, instance=instances)
    def enter(self, client: str, instance: str | None) -> None:
        self.ids[client], self.owned[client], self.instances[client] = f"{client}-{self.requests}", frozenset(), instance
        told = {"rebalance_ms": 20_000, "topics": frozenset(TOPICS), "owned": {}}
        self.send(client, ConsumerHeartbeat(self.number(), GROUP, self.ids[client], 0, instance, client_id=client, **told))  # type: ignore[arg-type]

    @rule(client=clients, epoch=st.sampled_from([None, None, None, LEAVE_EPOCH, LEAVE_FOR_A_WHILE_EPOCH]))
    def beat(self, client: str, epoch: int | None) -> None:
        owned = {topic: frozenset(numbers) for topic, numbers in by_topic(self.owned[client]).items()}
        at = self.generations[client] if epoch is None else epoch
        self.send(client, ConsumerHeartbeat(self.number(), GROUP, self.ids[client], at, self.instances[client], owned=owned))

    @rule(client=clients)
    def commit(self, client: str) -> None:
        self.send(client, Commit(self.number(), GROUP, {("t", 0): 1}, self.ids[client], self.generations[client]))

    @rule(request=st.sampled_from([Fetch, Delete]))
    def ask(self, request: type[Fetch | Delete]) -> None:
        self.send("a", request(self.number(), GROUP))

    @rule(ms=st.sampled_from([1, 3_000, 9_999, 20_001]))
    def wait(self, ms: int) -> None:
        self.see(self.coordinator.advance(ms))

    @rule()
    def move(self) -> None:
        self.see(self.coordinator.unload())
        before = self.coordinator
        self.coordinator = BothCoordinator(
            policy_for("4.0.0"), self.settings, self.modern, log=before.log, now_ms=before.now_ms, is_loaded=False
        )
        self.see(self.coordinator.load())

    @invariant()
    def the_group_is_one_or_the_other(self) -> None:
        coordinator = getattr(self, "coordinator", None)
        if coordinator is None:
            return
        assert coordinator.classic.now_ms == coordinator.modern.now_ms >= self.now_ms
        self.now_ms = coordinator.now_ms
        assert not coordinator.classic.groups.keys() & coordinator.modern.groups.keys()
        group = coordinator.groups.get(GROUP)
        if isinstance(group, ConsumerGroup):
            held = [partition for member in group.members.values() for partition in member.assigned | member.pending_revocation]
            assert group.assigned_partitions == set(held)
            assert group.epoch >= group.target_epoch
            assert any(member.classic is None for member in group.members.values()) or not group.members or self.stays_modern()

    def stays_modern(self) -> bool:
        """A group without members of the consumer protocol stays one where it may not go back, or is too large to."""
        return not self.modern.migration.downgrades or self.settings.max_size == 2


TestBothProtocols = BothProtocols.TestCase
TestBothProtocols.settings = settings(max_examples=60, stateful_step_count=40, deadline=None, suppress_health_check=list(HealthCheck))
