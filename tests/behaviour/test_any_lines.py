"""What must hold for any lines at all of partitions, brokers and RocketMQ's clients: torn, repeated and contradictory ones among them.

The lines are drawn by dice of a fixed seed, so that each run sees the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from models.event_kinds import EVENTS
from models.events import Event, LogPosition, Witness
from models.kafka.cluster.facts import CLUSTER_EVENTS, learn
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from models.rocketmq.event_partitions import ROCKET_EVENTS
from models.rocketmq.rocketmq_history import RocketHistory
from tests.models.kafka.outages.whole_replay import replay_outages
from tests.models.rocketmq.script import Logs, route, two_clients

NODES = ["1", "2", "3"]
LISTS = (["1"], ["1", "2"], ["2", "3", "1"], [], None)
VALUES: Mapping[str, Sequence[Any]] = {
    **dict.fromkeys(("leader", "previous_leader", "leader_before"), (*NODES, "-1", None)),
    **dict.fromkeys(("leader_epoch", "previous_epoch", "controller_epoch", "partition_epoch"), (0, 1, 2, 5, None)),
    **dict.fromkeys(("isr", "isr_before", "replicas", "elr", "added", "removed", "bounced", "live", "brokers", "adding"), LISTS),
    "assignment": [{"0": ["1", "2"]}, {"0": ["3"], "1": []}, None],
    "fetchers": [[["t-0", "1", 1], ["t-1", "2", None], ["t", "3", 0]], None],
    "partitions": ["t-0,t-1,t", ["t-0", "t"], None],
    "broker": [*NODES, None],
    "from_state": ["OfflinePartition", "NewPartition", "OnlinePartition"],
    "to_state": ["OfflinePartition", "NewPartition", "OnlinePartition", None],
    "phase": ["asked", "succeeded", "failed"],
    "state": ["RUNNING", "RECOVERY"],
    "election": ["PREFERRED", "UNCLEAN"],
    "why": ["enterControlledShutdown", "handleBrokerFenced", None],
    "unclean": [True, False, None],
    "allowed": [True, False],
    "unclean_election": [True, False, None],
    "previous_incarnation": ["a", None],
    "folder": ["/logs", None],
}


def lines(dice: random.Random, count: int) -> list[Event]:
    """So many lines of brokers and controllers, in order of time."""
    events, at = [], 1_000_000_000
    for number in range(count):
        name = dice.choice(sorted(PARTITION_EVENTS))
        kind = EVENTS[name]
        at += dice.choice([0, 1_000, 200_000, 3_000_000, 40_000_000])
        fields = {key: dice.choice(VALUES[key]) for key in sorted(kind.fields) if key in VALUES and dice.random() < 0.8}
        columns: dict[str, Any] = {"node": dice.choice([*NODES, None])} if "node" in kind.fields else {}
        columns |= {"topic": dice.choice(["t", "u", None])} if "topic" in kind.fields else {}
        columns |= {"partition": dice.choice([0, 1])} if "partition" in kind.fields else {}
        place = LogPosition(f"{dice.choice(NODES)}/server.log", number, number)
        told = at if dice.random() < 0.97 else None  # a line without a time of its own
        events.append(Event(name, told, at, place, Witness(kind.witness), "", name, fields=fields, **columns))
    return events


@pytest.mark.parametrize("seed", range(150))
def test_of_partitions_and_brokers(seed: int) -> None:
    events = lines(random.Random(seed), 60)  # noqa: S311 - repeatable
    known = [] if seed % 3 else NODES
    nodes = {f"{node}/server.log": node for node in known}
    found = replay_outages("c", events, nodes, learn(event for event in events if event.name in CLUSTER_EVENTS))
    for row in found.partition_outages:
        assert row.online_at is None or row.offline_at is None or row.offline_at <= row.online_at
        assert row.cause
    for span in found.under_replicated_spans:
        assert span.ended_at is None or span.started_at is None or span.started_at <= span.ended_at
    assert {row.node for row in found.brokers} <= set(NODES)
    assert len(found.partition_placements) == len(found.layout.placements)


@pytest.mark.parametrize("seed", range(50))
def test_of_brokers_whose_clocks_are_set_back(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable
    events = [replace(event, at_us=event.order_us - dice.choice([0, 0, 1_000, 3_600_000_000])) for event in lines(dice, 60)]
    found = replay_outages("c", events, {}, learn(event for event in events if event.name in CLUSTER_EVENTS))
    spans = [(row.offline_at, row.online_at) for row in found.partition_outages]
    spans += [(row.started_at, row.ended_at) for row in [*found.under_replicated_spans, *found.incidents]]
    spans += [(row.down_at, row.up_at) for row in found.broker_outages]
    assert all(began is None or ended is None or began <= ended for began, ended in spans)


HELD = "[MessageQueue [topic=orders, brokerName=broker-a, queueId=0]]"
ROCKET: Mapping[str, list[Any]] = {
    "strategy": ["AVG", "AVG_BY_CIRCLE", "CONFIG", "MACHINE_ROOM", "OWN"],
    "queue_count": [0, 4, 5],
    "client_count": [0, 1, 2, 3],
    "share_count": [0, 1],
    "share": [HELD, "[]"],
    "model": ["CLUSTERING", "CLUSTERING", "BROADCASTING"],
    "remote": ["/c1:1", "c2:1", "/c3:1", "/c4:1"],
    "broker": ["broker-a", "broker-b"],
    "address": ["10.0.0.1:10911", "10.0.0.2:10911"],
    "why": ["not_in_share", "dropped", "locked"],
    "mode": ["POP", None],
    "on": ["period", "lost"],
    "reads": [0, 4, 8],
    "reads_before": [0, 4],
    "how": ["close", "idle"],
    "listed": ["[c1, c2]"],
    "route": [route(a=4), route(a=6, b=2)],
    "route_before": [route(a=4), "null"],
    "consumers": [
        "ConsumerData [nonsense]",
        "[ConsumerData [groupName=other, consumeType=P, messageModel=CLUSTERING, subscriptionDataSet=[]]]",
        "",
    ],
    "before": ["SubscriptionData [classFilterMode=false, topic=orders, subString=*, tagsSet=[]]"],
    "after": ["SubscriptionData [classFilterMode=false, topic=orders, subString=a, tagsSet=[]]"],
}


def rocket_lines(dice: random.Random, count: int) -> Logs:
    """Two clients as usual, and lines of any kind among theirs."""
    logs = two_clients()
    at = 20.0
    for _ in range(count):
        name = dice.choice(sorted(ROCKET_EVENTS))
        kind = EVENTS[name]
        at += dice.choice([0.0, 0.2, 1.0, 25.0, 130.0])
        fields = {key: dice.choice(ROCKET[key]) for key in sorted(kind.fields) if key in ROCKET and dice.random() < 0.9}
        columns: dict[str, Any] = {"group": "billing"} if "group" in kind.fields else {}
        columns |= {"topic": dice.choice(["orders", "orders", "bills", "%RETRY%billing"])} if "topic" in kind.fields else {}
        columns |= {"partition": dice.choice([0, 1, 2, 3])} if "partition" in kind.fields else {}
        columns |= {"client_id": dice.choice(["c1", "c2", "c3", "c4"])} if "client_id" in kind.fields else {}
        file = dice.choice(["c1", "c2", "c3"]) if kind.witness is Witness.CLIENT else dice.choice(["broker", "broker-2"])
        logs.say(file, at, name, text=str(fields.get("share", name)), **{**fields, **columns})
        if name == "RocketConsumerStarting":
            logs.start(file, at)
    return logs


def overlapping(history: RocketHistory) -> Iterable[tuple[int, int]]:
    """Windows of one queue that are there at the same time."""
    by_queue: dict[tuple[str, str], list[tuple[int, int]]] = {}
    for row in history.queue_ownership:
        if row.kind in {"no_owner", "double_owner"}:
            by_queue.setdefault((row.topic, row.queue), []).append((row.started_at or 0, row.ended_at or 1 << 62))
    for spans in by_queue.values():
        spans.sort()
        yield from ((before[1], after[0]) for before, after in pairwise(spans))


@pytest.mark.parametrize("seed", range(150))
def test_of_rocketmq(seed: int) -> None:
    dice = random.Random(seed)  # noqa: S311 - repeatable
    history = rocket_lines(dice, 60).without(dice.choice(["c1", "c2", "nobody"])).history()
    for change in history.allocation_changes:
        assert 0 < change.confidence <= 1
        assert change.cause not in change.alternatives
    assert all(ended <= began for ended, began in overlapping(history))
    for rebalance in history.rebalances:
        assert rebalance.ended_at is None or (rebalance.started_at or 0) <= rebalance.ended_at
