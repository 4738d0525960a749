"""Recordings of leader elections in ZooKeeper mode and KRaft.

`kind` is `algorithm` (the elected leader), `election` (its consequences), or `partition_change` (KRaft).
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from models.kafka.elections import kraft
from models.kafka.elections.zookeeper import (
    BrokerLiveness,
    ElectionReason,
    LeaderAndIsr,
    Replicas,
    controlled_shutdown_leader,
    elect,
    offline_leader,
    preferred_leader,
    reassigned_leader,
)
from tests.adapters import Difference, first_difference

Line = dict[str, Any]


def accepts(first_line: Line) -> bool:
    """Return True if the line records an election."""
    return "input" in first_line and first_line.get("kind") in {"algorithm", "election", "partition_change"}


def check(line: Line) -> Difference | None:
    """Run the election with the recorded input and compare the results."""
    actual = {"algorithm": _algorithm, "election": _election, "partition_change": _partition_change}[line["kind"]](line)
    found = first_difference({name: line[name] for name in actual}, actual)
    return None if found is None else Difference(None, *found, operation=line["input"])


def _algorithm(line: Line) -> Line:
    given = line["input"]
    assignment, isr, live = given["assignment"], given["isr"], frozenset(given["live"])
    match ElectionReason(line["algorithm"]):
        case ElectionReason.OFFLINE:
            leader = offline_leader(assignment, isr, live, unclean_enabled=given["unclean_enabled"])
        case ElectionReason.REASSIGN:
            leader = reassigned_leader(assignment, isr, live)
        case ElectionReason.PREFERRED:
            leader = preferred_leader(assignment, isr, live)
        case ElectionReason.CONTROLLED_SHUTDOWN:
            leader = controlled_shutdown_leader(assignment, isr, live, frozenset(given["shutting_down"]))
    return {"leader": leader}


def _election(line: Line) -> Line:
    given = line["input"]
    current = given["current"]
    outcome = elect(
        ElectionReason(line["algorithm"]),
        Replicas(tuple(given["replicas"]), tuple(given["adding"]), tuple(given["removing"])),
        BrokerLiveness(frozenset(given["live_brokers"]), frozenset(given["shutting_down"])),
        None if current is None else LeaderAndIsr(current["leader"], current["leader_epoch"], tuple(current["isr"])),
        unclean_enabled=given.get("unclean_enabled", False),
    )
    return {"result": None if outcome.leadership is None else asdict(outcome.leadership), "live_replicas": outcome.replicas}


def _partition_change(line: Line) -> Line:
    given = line["input"]
    partition = kraft.Registration(**{name: _frozen(value) for name, value in given["partition"].items()})
    wanted = kraft.ElectionRequest(
        alive=frozenset(given["alive"]),
        election=kraft.Election(given["election"]),
        min_isr=given["min_isr"],
        isr=_frozen(given["target_isr"]),
        replicas=_frozen(given["target_replicas"]),
        leader_recovery=given["target_leader_recovery"] and kraft.LeaderRecovery(given["target_leader_recovery"]),
        unclean_shutdown_replicas=tuple(given["unclean_shutdown_replicas"] or ()),
        elr_enabled=given["elr_enabled"],
        use_last_known_leader=given["use_last_known_leader"],
        metadata_version=given["metadata_version"],
    )
    record = kraft.change(partition, wanted)
    return {
        "elect_leader": asdict(kraft.elect_leader(partition, wanted)),
        "record": None if record is None else asdict(record),
        "after": asdict(kraft.apply(partition, record)),
    }


def _frozen(value: Any) -> Any:
    """Convert lists to tuples, and recovery states to their names."""
    if isinstance(value, str):
        return kraft.LeaderRecovery(value)
    return tuple(value) if isinstance(value, list) else value
