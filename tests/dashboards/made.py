"""A hand-made analysis: a small story, or any number of rebalances.

Every field may contain any text.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from dashboards.view.charts import WhatIf, WhatIfLane
from models.rows import (
    BrokerOutage,
    ClientState,
    Conformance,
    CoordinatorMove,
    Divergence,
    Evidence,
    GroupState,
    GroupTransition,
    Incident,
    MemberSession,
    OffsetExpiration,
    Person,
    Rebalance,
    RebalanceMember,
)

START = 1_772_359_200_000_000
"""2026-03-01 10:00:00 UTC."""
SECOND = 1_000_000
BROKER = "[GroupCoordinator 2]:"


def at(seconds: float) -> int:
    return START + round(seconds * SECOND)


@dataclass
class Made:
    """An analysis with the keys of the JSON contract as attributes."""

    inputs: dict[str, Any] = field(default_factory=dict)
    rebalances: list[Rebalance] = field(default_factory=list)
    rebalance_members: list[RebalanceMember] = field(default_factory=list)
    timeline: list[GroupTransition] = field(default_factory=list)
    group_states: list[GroupState] = field(default_factory=list)
    client_states: list[ClientState] = field(default_factory=list)
    members: list[MemberSession] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)
    outages: list[dict[str, Any]] = field(default_factory=list)
    under_replicated_spans: list[dict[str, Any]] = field(default_factory=list)
    leader_moves: list[dict[str, Any]] = field(default_factory=list)
    broker_outages: list[BrokerOutage] = field(default_factory=list)
    coordinator_moves: list[CoordinatorMove] = field(default_factory=list)
    offsets_at_risk: list[OffsetExpiration] = field(default_factory=list)
    allocation_changes: list[dict[str, Any]] = field(default_factory=list)
    ownership: list[dict[str, Any]] = field(default_factory=list)
    conditions: list[dict[str, Any]] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)
    unknown: list[dict[str, Any]] = field(default_factory=list)
    rejected: list[dict[str, Any]] = field(default_factory=list)


def person(name: str, reason: str = "", *, first: bool = False, host: str | None = "/10.0.0.7") -> Person:
    return Person(f"{name}-5f0c1a", name, None, host, reason, first)


def line(number: int, text: str, *, file: str = "broker-2/server.log", inferred: bool = False) -> Evidence:
    return Evidence(file, number, number * 180, text, inferred)


def rebalance(group: str, generation: int, start: float, **columns: Any) -> Rebalance:
    """A rebalance of three seconds after an expired session, changed by `columns`."""
    values: dict[str, Any] = {
        "cluster": "default",
        "system": "kafka",
        "rebalance_id": f"{abs(hash_of(group)):08x}{generation:04x}",
        "group": group,
        "topic": None,
        "protocol": "classic",
        "protocol_type": "consumer",
        "assignor": "range",
        "generation_before": generation,
        "generation_after": generation + 1,
        "started_at": at(start),
        "joined_at": at(start + 2.6),
        "ended_at": at(start + 3),
        "initial_delay_seconds": None,
        "join_seconds": 2.6,
        "sync_seconds": 0.4,
        "reconcile_seconds": None,
        "duration_seconds": 3.0,
        "at_least_seconds": None,
        "outcome": "stable",
        "cause": "session_timeout",
        "root_cause": None,
        "confidence": 0.97,
        "alternatives": {"client_pause": 0.02},
        "settled_by": None,
        "offenders": [person(f"{group}-worker-3", "expired", first=True)],
        "blockers": [],
        "members_before": 3,
        "members_after": 2,
        "member_seconds_stopped": 9.0,
        "partition_seconds_stopped": None,
        "duplicate_window": None,
        "conformance": Conformance(),
        "coordinator": "2",
        "trigger_text": "removing member on heartbeat expiration",
        "evidence": [
            line(120, f"[2026-03-01 10:00:05,123] INFO [GroupCoordinator 2]: Member {group}-worker-3-5f0c1a in group {group} has failed"),
            line(
                121,
                f"[2026-03-01 10:00:05,124] INFO [GroupCoordinator 2]: Preparing to rebalance group {group} in state PreparingRebalance",
            ),
            line(
                140,
                f"[2026-03-01 10:00:08,001] INFO [GroupCoordinator 2]: Assignment received from leader for group {group}",
                inferred=True,
            ),
        ],
        "advice_id": "session_timeout",
    }
    return Rebalance(**{**values, **columns})


def hash_of(text: str) -> int:
    """A number for an id, the same in every process."""
    return int.from_bytes(text.encode("utf-8", "surrogatepass"), "big") % 0xFFFFFFFF


def transitions(group: str, *steps: tuple[float, str]) -> list[GroupTransition]:
    made: list[GroupTransition] = []
    before: str | None = None
    for number, (when, state) in enumerate(steps):
        values = (f"{hash_of(group):08x}t{number}", group, before, state, at(when), "RebalanceStarted", number, 3, None, False)
        made.append(GroupTransition("default", "kafka", *values))
        before = state
    return made


def member(of: Rebalance, name: str, role: str, delay: float | None = None, *, first: bool = False) -> RebalanceMember:
    """A member's role in a rebalance; it stays unless it is the trigger."""
    key, after = f"{of.rebalance_id}{name}", None if role == "trigger" else f"{name}-5f0c1a"
    return RebalanceMember(
        of.cluster, of.system, key, of.rebalance_id, of.group, f"{name}-5f0c1a", name, None, None, role, first, delay, None, after
    )


def client_state(group: str, client: str, state: str, start: float, end: float | None) -> ClientState:
    stretch = (at(start), None if end is None else at(end))
    return ClientState("default", "kafka", f"{client}{state}{start}", group, client, None, None, state, *stretch)


def incident(group: str, severity: str, rebalances: list[Rebalance], headline: str, **columns: Any) -> Incident:
    values: dict[str, Any] = {
        "cluster": "default",
        "system": "kafka",
        "incident_id": f"i{rebalances[0].rebalance_id}",
        "kind": "flapping_member",
        "severity": severity,
        "groups": [group],
        "started_at": rebalances[0].started_at,
        "ended_at": rebalances[-1].ended_at,
        "rebalance_count": len(rebalances),
        "stopped_seconds": sum(item.duration_seconds or 0 for item in rebalances),
        "root_cause": None,
        "worst_offender": rebalances[0].offenders[0] if rebalances[0].offenders else None,
        "headline": headline,
        "rebalance_ids": [item.rebalance_id for item in rebalances],
        "outage_ids": [],
    }
    return Incident(**{**values, **columns})


def log_file(path: str, **columns: Any) -> dict[str, Any]:
    values: dict[str, Any] = {
        "cluster": "default",
        "system": "kafka",
        "path": path,
        "file_id": f"{hash_of(path):08x}",
        "size_bytes": 52_310,
        "bytes_read": 52_310,
        "kind": "server",
        "layout": "log4j1",
        "node": "2",
        "version": "3.9",
        "time_zone": "UTC",
        "skew_seconds": None,
        "skew_uncertainty_seconds": None,
        "first_at": at(0),
        "last_at": at(700),
        "lines": 400,
        "records": 390,
        "recognised": 120,
        "unknown": 1,
        "rejected": 0,
        "status": "ok",
        "reason": None,
        "options_id": "o1",
    }
    return {**values, **columns}


FLAPPING = "orders: 6 rebalances in 9 min, 3 min 51 s stopped; orders-worker-3 on 10.0.0.7 exceeded its poll interval 6 times"
ROUND = ((0.0, "PreparingRebalance"), (38.0, "CompletingRebalance"), (38.5, "Stable"))


def small_story() -> Made:
    """Two groups: one flaps for ten minutes, one was scaled out.

    There are also an outage, a move, a doubt and a rejected line.
    """
    flapping = [_flap(number) for number in range(6)]
    started = rebalance(
        "billing",
        0,
        30,
        cause="new_group",
        confidence=0.99,
        alternatives={},
        initial_delay_seconds=3.0,
        join_seconds=3.0,
        duration_seconds=3.1,
        sync_seconds=0.1,
        offenders=[person("billing-a", first=True), person("billing-b")],
        members_before=0,
        members_after=2,
        root_cause=None,
        member_seconds_stopped=0.2,
        advice_id="new_group",
        joined_at=at(33),
        ended_at=at(33.1),
    )
    unsure = rebalance(
        "billing",
        1,
        400,
        cause="member_leave",
        confidence=0.62,
        alternatives={"poll_timeout": 0.3, "member_join": 0.08},
        settled_by="client logs of billing at INFO",
        outcome="open",
        ended_at=None,
        joined_at=None,
        join_seconds=None,
        sync_seconds=None,
        duration_seconds=None,
        at_least_seconds=212.0,
        offenders=[],
        generation_after=None,
        advice_id="member_leave",
        members_after=None,
    )
    return Made(
        inputs={
            "log_files": [
                log_file("broker-2/server.log"),
                log_file("clients/orders.log", kind="client", node=None, time_zone="Europe/Berlin"),
                log_file(
                    "broker-2/core.1234",
                    status="skipped",
                    kind="not_a_log",
                    reason="binary content",
                    recognised=0,
                    first_at=None,
                    last_at=None,
                ),
            ],
            "totals": {"files": 3, "bytes_read": 156_930, "lines": 1200, "records": 1170, "recognised": 240, "unknown": 3, "rejected": 1},
        },
        rebalances=[*flapping, started, unsure],
        rebalance_members=[
            part
            for each in flapping
            for part in (
                member(each, "orders-worker-1", "blocker", 38.0),
                member(each, "orders-worker-2", "bystander", 0.4),
                member(each, "orders-worker-3", "trigger", first=True),
                member(each, "orders-worker-4", "bystander"),
            )
        ],
        timeline=[
            *transitions("orders", *[(60 + 100 * n + step, state) for n in range(6) for step, state in ROUND]),
            *transitions("billing", (0, "Empty"), (30, ROUND[0][1]), (33, ROUND[1][1]), (33.1, "Stable"), (400, ROUND[0][1])),
        ],
        incidents=[
            incident("billing", "info", [started], "billing: 1 rebalance, 0.1 s stopped; billing-a started the group", kind="single"),
            incident(
                "billing",
                "warning",
                [unsure],
                "billing: 1 rebalance, 212 s stopped; a member left",
                kind="stuck",
                ended_at=None,
                stopped_seconds=212.0,
            ),
            incident("orders", "critical", flapping, FLAPPING),
        ],
        outages=[
            {
                "cluster": "default",
                "system": "kafka",
                "outage_id": "o1",
                "topic": "orders",
                "partition": 4,
                "offline_at": at(100),
                "online_at": at(142.5),
                "cause": "broker_down_single_replica",
                "ended_by": "replica_returned",
                "lost_brokers": ["3"],
                "replicas": ["3"],
                "isr": ["3"],
                "leader_epoch_before": 4,
                "leader_before": "3",
                "leader_after": "3",
                "at_risk": False,
                "groups": ["orders"],
                "evidence": [line(7, "offline", file="controller.log")],
            }
        ],
        coordinator_moves=[
            CoordinatorMove(
                "default", "kafka", "m1", "billing", 12, "1", "2", at(20), at(21.5), 1.5, [line(40, "Loading group metadata for billing")]
            )
        ],
        client_states=[
            client_state("orders", "orders-worker-1", "UNJOINED", 50, 60),
            client_state("orders", "orders-worker-1", "REBALANCING", 60, 98),
            client_state("orders", "orders-worker-1", "STABLE", 98, None),
            client_state("orders", "orders-worker-2", "REBALANCING", 60, 61),
        ],
        broker_outages=[
            BrokerOutage("default", "kafka", "b1", "3", at(98), at(140), "killed", [line(5, "broker 3 is gone", file="controller.log")])
        ],
        offsets_at_risk=[OffsetExpiration("default", "kafka", "e1", "archive", at(0), at(604_800), 604_800.0, False, [])],
        divergences=[
            Divergence(
                "default",
                "kafka",
                "d1",
                "billing",
                at(35),
                "generation 1",
                "generation 3",
                [line(60, "Stabilized group billing generation 3")],
            )
        ],
        unknown=[
            {
                "cluster": "default",
                "unknown_message_id": "u1",
                "template": "Group <*> did a new thing with <*>",
                "logger": "kafka.coordinator.group.GroupCoordinator",
                "level": "INFO",
                "version": "3.9",
                "count": 3,
                "first_at": at(1),
                "last_at": at(9),
                "sample": "Group orders did a new thing with 7",
                "file": "broker-2/server.log",
                "line": 33,
                "byte_offset": 5000,
            }
        ],
        rejected=[
            {
                "cluster": "default",
                "rejected_record_id": "r1",
                "file": "broker-2/server.log",
                "file_id": "f",
                "line": 90,
                "byte_offset": 9000,
                "byte_length": 12,
                "reason": "month 13",
                "text": "[2026-13-01 …",
            }
        ],
    )


def _flap(number: int) -> Rebalance:
    return rebalance(
        "orders",
        40 + number,
        60 + 100 * number,
        cause="poll_timeout",
        confidence=0.94,
        alternatives={"member_leave": 0.05},
        offenders=[person("orders-worker-3", "poll timeout", first=True)],
        blockers=[person("orders-worker-1", "rejoined last", host="/10.0.0.5")],
        join_seconds=38.0,
        sync_seconds=0.5,
        duration_seconds=38.5,
        joined_at=at(98 + 100 * number),
        ended_at=at(98.5 + 100 * number),
        member_seconds_stopped=115.5,
        advice_id="poll_timeout",
        trigger_text="consumer poll timeout has expired.",
    )


def many(count: int, groups: int = 40) -> Made:
    """`count` rebalances in `groups` groups, one every two seconds."""
    causes = ["session_timeout", "poll_timeout", "member_join", "member_leave", "metadata_change", "new_group"]
    rows = [
        rebalance(
            f"group-{n % groups:03d}",
            n // groups,
            2 * n,
            cause=causes[n % len(causes)],
            rebalance_id=f"{n:08x}",
            duration_seconds=3.0 + n % 50,
        )
        for n in range(count)
    ]
    made = Made(inputs={"log_files": [log_file("server.log")], "totals": {}}, rebalances=rows)
    made.incidents = [incident("group-000", "warning", rows[::groups], "group-000: many rebalances")]
    return made


def queue(
    number: int, kind: str, start: float, end: float | None, *owners: str, group: str = "CG_notify", topic: str = "Stock"
) -> dict[str, Any]:
    return {
        "cluster": "default",
        "system": "rocketmq",
        "queue_ownership_id": f"q{number}{kind}{start}",
        "group": group,
        "topic": topic,
        "queue": f"broker-a:{number}",
        "kind": kind,
        "owners": list(owners),
        "started_at": at(start),
        "ended_at": None if end is None else at(end),
        "confidence": 0.97,
        "inferred": False,
    }


def condition(kind: str, *members: str, group: str = "CG_notify", end: float | None = None) -> dict[str, Any]:
    return {
        "cluster": "default",
        "system": "rocketmq",
        "condition_id": f"c{kind}{group}",
        "kind": kind,
        "group": group,
        "members": list(members),
        "started_at": at(12),
        "ended_at": None if end is None else at(end),
        "detail": f"{members[0]} uses AVG; {members[1]} uses AVG_BY_CIRCLE" if len(members) > 1 else f"{members[0]} is two processes",
        "evidence": [line(9, "doRebalance, another client with the same id", file="app/rocketmq_client.log")],
    }


def queue_story() -> Made:
    """Two RocketMQ clients with the same id.

    Each takes queues owned by the other, and leaves other queues without an owner.
    """
    first = rebalance(
        "CG_notify",
        0,
        12,
        system="rocketmq",
        topic="Stock",
        protocol="rocketmq",
        protocol_type=None,
        assignor="AVG",
        generation_before=None,
        generation_after=None,
        cause="consumer_start",
        alternatives={},
        offenders=[person("app@7", first=True)],
        joined_at=None,
        join_seconds=None,
        sync_seconds=None,
        advice_id="consumer_start",
        coordinator=None,
        trigger_text=None,
    )
    return Made(
        inputs={"log_files": [log_file("app/rocketmq_client.log", system="rocketmq", kind="client", node=None)], "totals": {}},
        rebalances=[first],
        conditions=[condition("client_id_conflict", "app@7", end=160), condition("multi_topic_skew", "app@7", "app@8")],
        ownership=[
            queue(0, "owned", 0, 12, "app@7"),
            queue(0, "two_owners", 12, 160, "app@7", "app@7"),
            queue(1, "two_owners", 13, 90, "app@7", "app@7"),
            queue(2, "no_owner", 14, None),
            queue(3, "no_owner", 14, 15.5, topic="Orders"),
        ],
    )


WAS = tuple((at(second), at(second + 4)) for second in (10, 70, 130, 190, 250, 310))
"""Rebalances of a group that configurations are tried for."""


NOT_TOLD = ("session.timeout.ms is taken to be 45 s",)


def what_if(title: str, saved: float, group: str = "orders") -> WhatIf:
    return WhatIf(
        title,
        "--static-membership",
        ("Each instance has an id.",),
        (WhatIfLane("default", group, 6, 4, 1, 0, 231.0, saved, 3 * saved, WAS, WAS[: 4 if saved < 0 else 2], NOT_TOLD),),
    )
