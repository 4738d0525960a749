"""How fast the coordinators' models are: `python -m tests.benchmarks.bench_coordinator`.

Requests a second on one core at 10, 100, 1,000 and 10,000 members, by kind of request. Joins that complete a rebalance are
measured as whole rebalances, since one of them answers everybody. Exits with 1 if a heartbeat is slower than 40,000 a second, or
if a request costs more than twice as much in the largest group as in the smallest.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import count

from models.kafka.coordinator.classic.coordinator import Coordinator
from models.kafka.coordinator.consumer.coordinator import Coordinator as ModernCoordinator
from models.kafka.coordinator.consumer.requests import ConsumerHeartbeat
from models.kafka.coordinator.consumer.responses import HeartbeatResponse
from models.kafka.coordinator.consumer.settings import ConsumerGroupSettings as ModernSettings
from models.kafka.coordinator.protocol.requests import Commit, Heartbeat, Join, Leave, Leaver, Protocol, Request, Sync
from models.kafka.coordinator.protocol.responses import JoinResponse
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings, policy_for

SIZES = (10, 100, 1_000, 10_000)
HEARTBEATS_MIN = 40_000
COST_MAX = 2.0
LEAST_SECONDS = 1.0
METADATA = b"\0\0\0\0\0\1\0\1t\xff\xff\xff\xff"
PROTOCOLS = (Protocol("range", METADATA), Protocol("roundrobin", METADATA))


def stable_group(version: str, size: int) -> tuple[Coordinator, list[str], Callable[[], int]]:
    """A coordinator with a stable group of this size.

    Also returns its members' ids and a source of request ids.
    """
    numbers = count(1)
    number = lambda: next(numbers)  # noqa: E731
    coordinator = Coordinator(policy_for(version), CoordinatorSettings(initial_delay_ms=1_000))
    for _ in range(size):
        coordinator.handle(join(number(), ""))
    answers = coordinator.advance(5_000).answers
    members = [answer.response.member for answer in answers if isinstance(answer.response, JoinResponse)]
    leader = coordinator.groups["g"].leader or ""
    for member in [*(each for each in members if each != leader), leader]:
        coordinator.handle(Sync(number(), "g", member, 1, dict.fromkeys(members, b"x") if member == leader else {}))
    return coordinator, members, number


def join(number: int, member: str) -> Join:
    """A JoinGroup as clients up to 2.1 send it; its member joins at once."""
    return Join(number, "g", member, "consumer", PROTOCOLS, 600_000, 300_000, None, "client", "/10.0.0.1")


def requests_of(kind: str, members: Sequence[str], number: Callable[[], int]) -> Iterable[Request]:
    """Endless requests of one kind from all members in turn.

    None of them starts a rebalance.
    """
    make: dict[str, Callable[[str], Request]] = {
        "heartbeat": lambda member: Heartbeat(number(), "g", member, 1),
        "commit": lambda member: Commit(number(), "g", {("t", 0): 1}, member, 1),
        "sync": lambda member: Sync(number(), "g", member, 1),
        "refused": lambda member: Heartbeat(number(), "g", f"{member}x", 1),
        "rejoin": lambda member: join(number(), member),
    }
    leader = members[0]
    while True:
        for member in members:
            if kind != "rejoin" or member != leader:
                yield make[kind](member)


def rate_of(handle: Callable[[Request], object], requests: Iterable[Request], at_once: int) -> float:
    """Requests per second of processor time.

    The best of many short measurements, because others may use the machine too.
    """
    source = iter(requests)
    best, begun = 0.0, time.process_time()
    while time.process_time() - begun < LEAST_SECONDS:
        batch = [next(source) for _ in range(at_once)]
        gc.collect()
        gc.disable()
        start = time.process_time()
        for request in batch:
            handle(request)
        best = max(best, at_once / (time.process_time() - start))
        gc.enable()
    return best


def classic(version: str, kind: str, size: int) -> float:
    """Requests per second of a classic group."""
    coordinator, members, number = stable_group(version, size)
    return rate_of(coordinator.handle, requests_of(kind, members, number), 5_000)


def rebalances(version: str, size: int) -> float:
    """Joins per second in rebalances: all members rejoin, then all sync."""
    coordinator, members, number = stable_group(version, size)
    group = coordinator.groups["g"]
    begun, rounds = time.process_time(), 0
    while time.process_time() - begun < LEAST_SECONDS:
        leader = group.leader or ""
        for member in [leader, *(each for each in members if each != leader)]:
            coordinator.handle(join(number(), member))
        for member in members:
            coordinator.handle(Sync(number(), "g", member, group.generation, dict.fromkeys(members, b"x") if member == leader else {}))
        rounds += 1
    return rounds * size / (time.process_time() - begun)


def leaves(version: str, size: int) -> float:
    """LeaveGroups per second of half the members.

    They leave one after the other while a join phase waits for the rest.
    """
    spent, left = 0.0, 0
    while spent < LEAST_SECONDS / 5:
        coordinator, members, number = stable_group(version, size)
        leaving = [Leave(number(), "g", (Leaver(member),)) for member in members[::2]]
        begun = time.process_time()
        for request in leaving:
            coordinator.handle(request)
        spent += time.process_time() - begun
        left += len(leaving)
    return left / spent


def modern(size: int) -> float:
    """Heartbeats per second of a stable consumer group."""
    numbers = count(1)
    coordinator = ModernCoordinator(ModernSettings(session_ms=600_000, assignors=("range",), topics={"t": size}))
    members = [f"m{number}" for number in range(size)]
    topics = frozenset({"t"})
    coordinator.handle(ConsumerHeartbeat(next(numbers), "g", members[0], 0, None, None, 300_000, topics, None, None, {}))
    group = coordinator.groups["g"]
    for member in members[1:]:
        coordinator.handle(ConsumerHeartbeat(next(numbers), "g", member, 0, None, None, 300_000, frozenset(), None, None, {}))
    epochs = {}
    for _ in range(3):
        for member in members:
            known = group.members[member].epoch  # type: ignore[union-attr]
            answer = coordinator.handle(ConsumerHeartbeat(next(numbers), "g", member, known, owned={})).answers[0].response
            if isinstance(answer, HeartbeatResponse):
                epochs[member] = answer.epoch

    def endless() -> Iterable[Request]:
        while True:
            for member in members:
                yield ConsumerHeartbeat(next(numbers), "g", member, epochs[member])

    return rate_of(coordinator.handle, endless(), 5_000)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.bench_coordinator", description=__doc__.splitlines()[0])
    parser.add_argument("--versions", nargs="+", default=["2.8.2", "4.0.0"], metavar="VERSION")
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, metavar="MEMBERS")
    options = parser.parse_args(arguments)
    rows: list[tuple[str, list[float], bool]] = []
    for version in options.versions:
        for kind in ("heartbeat", "commit", "sync", "rejoin", "refused"):
            rows.append((f"{version} {kind}", [classic(version, kind, size) for size in options.sizes], True))
        rows.append((f"{version} leave", [leaves(version, size) for size in options.sizes], True))
        rows.append((f"{version} join+sync", [rebalances(version, size) for size in options.sizes], False))
    rows.append(("4.0.0 consumer group heartbeat", [modern(size) for size in options.sizes], True))
    print(f"{'requests a second':32}", *(f"{size:>9,}" for size in options.sizes), f"{'cost':>6}")
    good = True
    for name, rates, judged in rows:
        cost = rates[0] / rates[-1]
        slow = (judged and cost > COST_MAX) or (name.endswith("heartbeat") and min(rates) < HEARTBEATS_MIN)
        good = good and not slow
        print(f"{name:32}", *(f"{rate:>9,.0f}" for rate in rates), f"{cost:>6.2f}", "too slow" if slow else "")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
