"""How fast a group is replayed: `python -m tests.benchmarks.bench_replay`.

Prints events a second for a group that rebalances again and again, and the growth of the cost of one
rebalance with the number of members (1.0 is linear in members).
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace

from models.events import Event, LogPosition, Witness
from models.kafka.cluster.facts import ClusterFacts
from tests.replaying import replay_group

UUID = "00000000-0000-4000-8000-{:012d}"


def _event(number: int, at: int, name: str, **values: object) -> Event:
    common = {key: values.pop(key) for key in ("generation", "member_id", "client_id") if key in values}
    place = LogPosition("server.log", number + 1, number * 200)
    return Event(name, at, at, place, Witness.COORDINATOR, "", "line", node="1", group="g", fields=values, **common)  # type: ignore[arg-type]


def storm(rebalances: int) -> Iterator[Event]:
    """One member leaves and rejoins repeatedly: five lines for two rebalances."""
    at, number, generation = 0, 0, 1
    for turn in range(rebalances // 2):
        member = f"a-{UUID.format(turn)}"
        lines = [
            ("MemberLeft", {"member_id": member}),
            ("RebalanceStarted", {"generation": generation, "reason_id": "leave", "reason_member_id": member}),
            ("GenerationStarted", {"generation": generation + 1, "member_count": 5}),
            ("AssignmentReceived", {"generation": generation + 1, "member_count": 5}),
            (
                "RebalanceStarted",
                {"generation": generation + 1, "reason_id": "new_member", "reason_member_id": f"a-{UUID.format(turn + 1)}"},
            ),
            ("GenerationStarted", {"generation": generation + 2, "member_count": 6}),
            ("AssignmentReceived", {"generation": generation + 2, "member_count": 6}),
        ]
        for name, values in lines:
            at += 700_000
            number += 1
            yield _event(number, at, name, **values)
        generation += 2


def crowd(members: int, rebalances: int) -> Iterator[Event]:
    """A large group with all members rejoining each time."""
    at, number = 0, 0
    for generation in range(1, rebalances + 1):
        yield _event(
            number, at, "RebalanceStarted", generation=generation, reason_id="leader_rejoin", reason_member_id=f"c0-{UUID.format(0)}"
        )
        for index in range(members):
            at += 10
            number += 1
            values = {"member_id": f"c{index}-{UUID.format(index)}", "client_id": f"c{index}"}
            yield _event(number, at, "ClientJoinSent", **values)
            yield _event(number, at, "ClientJoined", generation=generation + 1, **values)
        at += 1_000_000
        yield _event(number + 1, at, "GenerationStarted", generation=generation + 1, member_count=members)
        yield _event(number + 2, at + 1, "AssignmentReceived", generation=generation + 1, member_count=members)
        at += 60_000_000
        number += 3


def crowd_of_logs(members: int, rebalances: int, behind_seconds: float = 0.0) -> Iterator[Event]:
    """The group in logs of its coordinator and of each client.

    Clocks of clients may be behind.
    """
    at, behind = 0, int(behind_seconds * 1_000_000)
    for generation in range(2, rebalances + 2):
        leader = {"reason_id": "leader_rejoin", "reason_member_id": f"c0-{UUID.format(0)}"}
        yield _event(at, at, "RebalanceStarted", generation=generation - 1, **leader)
        for name, after, coordinators in (
            ("ClientJoinSent", 1_000_000, ""),
            ("ClientJoined", 2_001_000, "GenerationStarted"),
            ("ClientSynced", 3_001_000, "AssignmentReceived"),
        ):
            if coordinators:
                yield _event(at, at + after - 1_000, coordinators, generation=generation, member_count=members)
            for index in range(members):
                told = _event(at, at + after + index, name, client_id=f"c{index}", member_id=f"c{index}-{UUID.format(index)}")
                own = {"file": f"c{index}.log", "line": told.place.line, "byte_offset": told.place.byte_offset}
                number = None if name == "ClientJoinSent" else generation
                yield replace(
                    told, at_us=at + after + index - behind, place=LogPosition(**own), witness=Witness.CLIENT, node=None, generation=number
                )
        at += 60_000_000


def timed(events: Iterator[Event]) -> tuple[int, float]:
    held = list(events)
    begun = time.perf_counter()
    replay_group("c", "g", held, ClusterFacts("c"))
    return len(held), time.perf_counter() - begun


def main() -> None:
    for rebalances in (2_000, 20_000):
        count, seconds = timed(storm(rebalances))
        print(f"storm of {rebalances} rebalances: {count / seconds:,.0f} events/s")
    sizes = (100, 1_000, 10_000)
    costs = []
    for members in sizes:
        count, seconds = timed(crowd(members, 4))
        costs.append(seconds)
        print(f"{members} members: {count / seconds:,.0f} events/s")
    print(f"growth of the cost of a rebalance with members: exponent {_growth(sizes, costs):.2f}")
    for told, behind in (("", 0.0), (" whose clocks are behind", 5.0)):
        costs = []
        for members in sizes:
            count, seconds = timed(crowd_of_logs(members, 4, behind))
            costs.append(seconds)
            print(f"{members} members with a log each{told}: {count / seconds:,.0f} events/s, {seconds / 4:.2f} s a rebalance")
        print(f"growth of the cost of a rebalance with logs{told}: exponent {_growth(sizes, costs):.2f}")


def _growth(sizes: Sequence[int], costs: Sequence[float]) -> float:
    return math.log(costs[-1] / costs[0]) / math.log(sizes[-1] / sizes[0])


if __name__ == "__main__":
    main()
