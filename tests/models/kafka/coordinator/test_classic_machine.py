"""Any sequence of requests, failures and waits, by any policy: nothing is thrown, and what must hold holds after every step."""

from __future__ import annotations

import copy
from collections import Counter
from itertools import chain

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.classic.deferred_responses import ALREADY_ANSWERED
from models.kafka.coordinator.classic.group import Group
from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.coordinator.protocol.requests import Commit, Delete, Fetch, Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse
from models.kafka.coordinator.runtime.outcomes import Outcome, StateTransition
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, policy_for
from tests.models.kafka.coordinator.transactions import complete_transaction

VERSIONS = ["1.1", "2.0", "2.1.1", "2.2", "2.3", "2.4", "2.5", "2.6.0", "2.8.2", "3.3", "3.9.0", "4.0.0"]
GROUPS = ["g", "h"]
CLIENTS = ["a", "b", "c", "d"]
NAMES = ["range", "roundrobin", "sticky"]
FAILURES = [Error.NOT_ENOUGH_REPLICAS, Error.NOT_LEADER_OR_FOLLOWER, Error.REQUEST_TIMED_OUT, Error.MESSAGE_TOO_LARGE]
TOPICS = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"

groups = st.sampled_from(GROUPS)
clients = st.sampled_from(CLIENTS)
places = st.dictionaries(st.tuples(st.sampled_from("tu"), st.integers(0, 1)), st.integers(0, 9), min_size=1, max_size=2)
producers = st.none() | st.integers(1, 2)


def naive_vote(group: Group) -> list[str]:
    """The protocol vote by its definition: candidates all support, each member votes for its first candidate, most votes win."""
    offers = [[protocol.name for protocol in member.protocols] for member in group.members.values()]
    candidates = {name for name in chain(*offers) if all(name in offer for offer in offers)}
    votes = Counter(next(name for name in offer if name in candidates) for offer in offers)
    return sorted(name for name, count in votes.items() if count == max(votes.values()))


class ClassicGroups(RuleBasedStateMachine):
    """Clients that know ids and generations, right ones, old ones and wrong ones, of two groups."""

    @initialize(version=st.sampled_from(VERSIONS), delay_ms=st.sampled_from([0, 3_000]), size=st.sampled_from([2, 2**31 - 1]))
    def begin(self, version: str, delay_ms: int, size: int) -> None:
        self.policy = policy_for(version)
        self.settings = CoordinatorSettings(
            initial_delay_ms=delay_ms, max_size=size, retention_ms=60_000, retention_check_interval_ms=20_000
        )
        self.coordinator = Coordinator(self.policy, self.settings)
        self.open: set[int] = set()
        self.requests = 0
        self.members = {(group, client): "" for group in GROUPS for client in CLIENTS}
        self.asked: dict[int, tuple[str, str]] = {}
        self.generations: dict[str, int] = {}

    def send(self, request: Request) -> None:
        self.open.add(request.request_id)
        self.see(self.coordinator.handle(request))

    def number(self) -> int:
        self.requests += 1
        return self.requests

    def see(self, outcome: Outcome) -> None:
        """Check all that follows from one step, and let clients learn from it."""
        for answer in outcome.answers:
            self.open.remove(answer.request_id)  # fails if it was answered before
            response = answer.response
            if isinstance(response, JoinResponse) and response.error in (Error.NONE, Error.MEMBER_ID_REQUIRED):
                self.members[self.asked[answer.request_id]] = response.member
        times = [fired.at_ms for fired in outcome.fired]
        assert times == sorted(times)
        for change in outcome.changes:
            if isinstance(change, StateTransition):
                assert change.before in VALID_PREVIOUS[change.after]
                if change.after is State.DEAD:
                    self.generations.pop(change.group, None)
                else:
                    assert change.generation >= self.generations.get(change.group, 0)
                    self.generations[change.group] = change.generation

    def generation(self, group: str, off: int) -> int:
        known = self.coordinator.groups.get(group)
        return (known.generation if known else 0) + off

    @rule(
        group=groups,
        client=clients,
        names=st.lists(st.sampled_from(NAMES), unique=True, max_size=3),
        instance=st.none() | st.sampled_from("ij"),
        anew=st.booleans(),
        rebalance_ms=st.sampled_from([5_000, 30_000]),
        skip=st.booleans(),
    )
    def join(self, group: str, client: str, names: list[str], instance: str | None, anew: bool, rebalance_ms: int, skip: bool) -> None:
        number = self.number()
        self.asked[number] = (group, client)
        member = "" if anew else self.members[group, client]
        protocols = tuple(Protocol(name, TOPICS) for name in names)
        self.send(
            Join(number, group, member, "consumer", protocols, 10_000, rebalance_ms, instance, client, "", not anew or skip, skip, None)
        )

    @rule(group=groups, client=clients, off=st.sampled_from([0, 0, 0, -1]))
    def sync(self, group: str, client: str, off: int) -> None:
        member = self.members[group, client]
        self.send(Sync(self.number(), group, member, self.generation(group, off), {member: b"x"}))

    @rule(group=groups)
    def lead(self, group: str) -> None:
        known = self.coordinator.groups.get(group)
        self.send(Sync(self.number(), group, known.leader or "" if known else "", self.generation(group, 0)))

    @rule(group=groups, client=clients, off=st.sampled_from([0, 0, -1]), instance=st.none() | st.just("i"))
    def heartbeat(self, group: str, client: str, off: int, instance: str | None) -> None:
        self.send(Heartbeat(self.number(), group, self.members[group, client], self.generation(group, off), instance))

    @rule(group=groups, leavers=st.lists(st.tuples(clients, st.none() | st.just("i")), min_size=1, max_size=3))
    def leave(self, group: str, leavers: list[tuple[str, str | None]]) -> None:
        members = tuple(Leaver(self.members[group, client], instance) for client, instance in leavers)
        self.send(Leave(self.number(), group, members))

    @rule(group=groups, client=st.none() | clients, offsets=places, producer=producers, off=st.sampled_from([0, -1]))
    def commit(self, group: str, client: str | None, offsets: dict[tuple[str, int], int], producer: int | None, off: int) -> None:
        generation = -1 if client is None else self.generation(group, off)
        member = "" if client is None else self.members[group, client]
        self.send(Commit(self.number(), group, offsets, member, generation, producer_id=producer))

    @rule(group=groups, stable=st.booleans())
    def fetch(self, group: str, stable: bool) -> None:
        self.send(Fetch(self.number(), group, None, stable))

    @rule(group=groups)
    def delete(self, group: str) -> None:
        self.send(Delete(self.number(), group))

    @rule(ms=st.sampled_from([1, 500, 3_000, 10_000, 60_000, 300_000]))
    def wait(self, ms: int) -> None:
        before = self.coordinator.now_ms
        self.see(self.coordinator.advance(ms))
        assert self.coordinator.now_ms == before + ms

    @rule(error=st.sampled_from([Error.NONE, *FAILURES]))
    def fail_writes(self, error: Error) -> None:
        self.coordinator.fail_writes(error)

    @rule()
    def hold_writes(self) -> None:
        self.coordinator.hold_writes()

    @rule(error=st.sampled_from([Error.NONE, *FAILURES]))
    def settle_writes(self, error: Error) -> None:
        self.see(self.coordinator.settle_writes(error))

    @rule(producer=st.integers(1, 2), commit=st.booleans())
    def end_transaction(self, producer: int, commit: bool) -> None:
        self.see(complete_transaction(self.coordinator, producer, commit=commit))

    @rule()
    def move(self) -> None:
        """Another coordinator takes over; what was being written is lost, and generations that were not written with it."""
        old = self.coordinator
        self.see(old.unload())
        self.open.clear()  # a second SyncGroup drops the first, which is never answered
        self.generations.clear()
        self.coordinator = Coordinator(self.policy, self.settings, log=old.log, now_ms=old.now_ms, is_loaded=False)
        self.see(self.coordinator.load())

    @precondition(lambda self: any(group.state is State.EMPTY for group in self.coordinator.groups.values()))
    @precondition(lambda self: not self.coordinator.shard.writes.is_held)  # what waits to be written can't be copied
    @rule()
    def foretell_the_end(self) -> None:
        """Two ways to learn when an Empty group is removed: to reckon, and to wait and see."""
        for name, group in self.coordinator.groups.items():
            told = self.coordinator.gone_after_ms(name)
            if group.state is State.EMPTY and told is not None:
                future = copy.deepcopy(self.coordinator)
                future.advance(told - 1 - future.now_ms)
                assert name in future.groups
                future.advance(1)
                assert name not in future.groups

    @invariant()
    def counts_are_right(self) -> None:
        for group in getattr(self, "coordinator", Coordinator(policy_for("4.0"))).groups.values():
            members = group.members.values()
            parked = {request for member in members for request in (member.join, member.sync) if request is not None}
            assert parked - {ALREADY_ANSWERED} <= self.open
            assert group.waiting == sum(member.join is not None for member in members)
            assert group.rebalance_ms == max((member.rebalance_ms for member in members), default=0)
            assert group.leader in group.members or not group.members
            assert set(group.static.values()) <= group.members.keys()
            assert not (group.state is State.EMPTY and group.members)
            if group.members:
                assert sorted(group.vote()) == naive_vote(group)

    @invariant()
    def nothing_is_overdue(self) -> None:
        coordinator = getattr(self, "coordinator", None)
        if coordinator is not None:
            due_ms = coordinator.timers.next_ms()
            assert due_ms is not None
            assert due_ms > coordinator.now_ms


ClassicGroups.TestCase.settings = settings(
    max_examples=150, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)
TestClassicGroups = ClassicGroups.TestCase
