"""Standing faults of RocketMQ groups, what an episode did to consumption, and what incidents come of it."""

from __future__ import annotations

import pytest

from models.incidents.headline_facts import ClientAction, QueueFacts, QueueHarm, StandingQuarrel
from pipelines.headlines.standing_faults import fault_detail
from tests.models.rocketmq.script import SECOND, START, Logs, two_clients


def faults(logs: Logs, until: float) -> list[tuple[str, list[str], float, float | None, str]]:
    return [
        (
            each.kind,
            each.members,
            ((each.started_at or 0) - START) / SECOND,
            None if each.ended_at is None else (each.ended_at - START) / SECOND,
            fault_detail(each.detail),
        )
        for each in logs.history(until).conditions
    ]


def test_more_consumers_than_queues() -> None:
    logs = two_clients()
    for number, at in ((3, 20), (4, 21), (5, 22)):
        logs.start(f"c{number}", at)
    for number, queue in ((3, 2), (4, 3)):
        logs.share(f"c{number}", 23, add=[queue], has=[queue], of=5)
    logs.share("c1", 23, drop=[1], has=[0], of=5)
    logs.share("c2", 23, drop=[2, 3], add=[1], has=[1], of=5)
    logs.stop("c5", 70)

    assert faults(logs, 120) == [("more_consumers_than_queues", ["c5"], 23.0, 70.2, "5 clients, 4 queues: c5 has nothing to read")]


def test_one_client_with_the_surplus_of_each_of_several_topics() -> None:
    logs = two_clients()
    for number in range(3):
        for queue in range(2):
            logs.say("c1", 11, "RocketQueueAdded", group="billing", topic=f"more-{number}", partition=queue, broker="broker-a")

    assert faults(logs, 60) == [
        ("multi_topic_skew", ["c1"], 11.0, None, "c1 holds 8 of 10 queues over 4 topics, another client 2"),
    ]


def test_a_fault_names_the_lines_that_it_stands_on() -> None:
    logs = two_clients()
    for number in range(3):
        logs.start(f"c{number + 3}", 20)
    (found,) = logs.history(120).conditions

    assert found.kind == "more_consumers_than_queues"
    last = {each.client_id: each.text for each in logs.events if each.name == "RocketShareChanged"}
    assert {line.text for line in found.evidence} == set(last.values())


def test_a_shared_id_says_that_a_placeholder_was_not_resolved() -> None:
    logs = Logs()
    for file, at in (("one", 0), ("two", 10)):
        logs.say(file, at, "RocketConsumerStarting", group="billing", model="CLUSTERING")
        logs.say(file, at, "RocketClientCreated", client_id="${clientIP}@app")
        logs.say(file, at + 30, "RocketConsumerPaused", group="billing")

    (found,) = faults(logs, 60)
    assert found[:2] == ("client_id_conflict", ["${clientIP}@app"])
    assert found[4] == "more than one process is called ${clientIP}@app: a placeholder was not resolved"


def test_a_restart_under_the_same_id_is_no_conflict() -> None:
    logs = Logs()
    for at in (0, 40):
        logs.start("c1", at)
        logs.stop("c1", at + 30)

    assert faults(logs, 120) == []


def test_few_differ_from_many() -> None:
    logs = Logs()
    for number in range(6):
        logs.start(f"c{number}", number)
        logs.share(f"c{number}", 10, add=[number], has=[number], of=6, queues=6, strategy="AVG" if number else "AVG_BY_CIRCLE")

    assert faults(logs, 60)[0][4] == "c0 uses AVG_BY_CIRCLE; c1, c2, c3 and 2 more use AVG"


# -- harm ------------------------------------------------------------------------------------------------------------


def test_what_a_crash_did_to_consumption() -> None:
    logs = two_clients()
    run = {"broker": "broker-a", "on": "period", "count": 4, "last_at_us": START + 28 * SECOND}  # told as one event
    logs.say("c2", 13, "RocketOffsetSent", group="billing", topic="orders", partition=2, client_id="c2", **run)
    logs.crash("c2", 30)
    logs.share("c1", 45, add=[2, 3], has=[0, 1, 2, 3], of=1)
    row = logs.history(60).rebalances[-1]

    assert (row.pause_seconds, row.partition_seconds_stopped) == (15.0, 30.0)
    assert row.duplicate_window == 2.0  # read since the last report, and not reported
    assert row.backlog_seconds == 17.0


def test_two_owners_are_a_time_of_duplicates() -> None:
    logs = two_clients()
    logs.expire("c2", 150)
    logs.share("c1", 160, add=[2, 3], has=[0, 1, 2, 3], of=1)
    logs.say("c2", 200, "RocketQueueRemoved", group="billing", topic="orders", partition=2, broker="broker-a", why="not_in_share")
    logs.say("c2", 200, "RocketQueueRemoved", group="billing", topic="orders", partition=3, broker="broker-a", why="not_in_share")
    row = logs.history(260).rebalances[-1]

    assert (row.cause, row.pause_seconds, row.duplicate_window) == ("channel_expired", 0.0, 45.0)


def test_consumers_that_read_all_are_not_measured() -> None:
    logs = Logs()
    logs.start("c1", 0, model="BROADCASTING")
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    (row,) = logs.history(60).rebalances

    assert (row.pause_seconds, row.duplicate_window, row.backlog_seconds) == (None, None, None)


# -- incidents -------------------------------------------------------------------------------------------------------


CRASH = ClientAction("c2", "consumer_crash", 1)


@pytest.mark.parametrize(("back", "kind", "severity"), [(45, "single", "warning"), (100, "queue_ownership", "critical")])
def test_how_bad_a_crash_is_depends_on_how_long_queues_were_nobodys(back: float, kind: str, severity: str) -> None:
    logs = two_clients()
    logs.crash("c2", 30)
    logs.share("c1", back, add=[2, 3], has=[0, 1, 2, 3], of=1)
    (found,) = logs.history(200).incidents

    assert (found.kind, found.severity, found.stopped_seconds) == (kind, severity, back - 30.0)
    assert found.worst_offender is not None
    assert found.worst_offender.client_id == "c2"
    assert found.headline == QueueFacts("billing", 3, (QueueHarm("no_owner", 2, ("orders",), back - 30.0),), CRASH)


def test_starts_and_stops_are_everyday_operation() -> None:
    (found,) = two_clients().history(60).incidents

    assert (found.kind, found.severity, found.groups, found.rebalance_count) == ("autoscaling", "info", ["billing"], 2)


def test_retry_topics_are_no_rebalances_of_their_own() -> None:
    logs = two_clients()
    for event in [each for each in logs.events if each.topic == "orders" and each.name in {"RocketQueueAdded", "RocketShareChanged"}]:
        logs.say(
            event.place.file, 12, event.name, text=event.text.replace("orders", "%RETRY%billing"), group="billing",
            topic="%RETRY%billing", client_id=event.client_id, partition=event.partition, **event.fields,
        )  # fmt: skip
    (found,) = logs.history(60).incidents

    assert found.rebalance_count == 2


def test_a_standing_quarrel_is_no_everyday_operation() -> None:
    logs = two_clients()
    logs.start("c3", 20)
    logs.share("c3", 20.3, add=[2], has=[2], of=3, strategy="AVG_BY_CIRCLE")
    (found,) = logs.history(60).incidents

    assert found.severity == "warning"
    assert isinstance(found.headline.story, StandingQuarrel)
    assert ("AVG_BY_CIRCLE", ("c3",)) in found.headline.story.fault.clients_by_value


def test_quiet_time_parts_incidents() -> None:
    logs = two_clients()
    logs.stop("c2", 300)
    logs.notify("c1", 300.1)
    logs.share("c1", 300.2, add=[2, 3], has=[0, 1, 2, 3], of=1)

    assert [each.kind for each in logs.history(400).incidents] == ["autoscaling", "single"]


QUEUE = {"group": "billing", "topic": "orders", "partition": 0, "broker": "broker-a"}


def in_order() -> Logs:
    """Two clients that have locked the queues of broker-a."""
    logs = two_clients()
    for who, queue in (("c1", 0), ("c2", 2)):
        logs.say(who, 12, "RocketQueueLockAsked", group="billing", topic="orders", partition=queue, broker="broker-a", outcome="true")
    return logs


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (  # the master dies, no other broker of its set is in sync for a while
            [
                (30, "RocketBrokerInactive", {"broker": "broker-a", "broker_id": 1}),
                (30, "RocketElectionFailed", {"broker": "broker-a"}),
                (75, "RocketMasterElected", {"broker": "broker-a", "broker_id": "2"}),
                (75.1, "RocketBrokerRoleChanged", {"broker": "broker-a", "role": "master"}),
            ],
            [("master_changed", ["c1", "c2"], 30.0, 75.1, "broker-a had no master for 45 s; broker 2 is it now and holds no locks yet")],
        ),
        (  # nobody can be elected until the logs end
            [(30, "RocketElectionFailed", {"broker": "broker-a"})],
            [("master_changed", ["c1", "c2"], 30.0, None, "broker-a had no master for 60 s")],
        ),
        (  # another one is elected by hand
            [(40, "RocketMasterElected", {"broker": "broker-a", "broker_id": "3"})],
            [("master_changed", ["c1", "c2"], 40.0, 40.0, "broker-a changed its master; broker 3 is it now and holds no locks yet")],
        ),
        (  # the new master's first lock ends the pause, not the election nor a lock that is refused
            [
                (30, "RocketBrokerInactive", {"broker": "broker-a", "broker_id": 1}),
                (33, "RocketMasterElected", {"broker": "broker-a", "broker_id": "2"}),
                (40, "RocketQueueLockAsked", {**QUEUE, "outcome": "Failed"}),
                (52, "RocketLockTaken", {**QUEUE, "client_id": "c1"}),
                (53, "RocketLockTaken", {**QUEUE, "client_id": "c2", "partition": 2}),
            ],
            [
                (
                    "master_changed",
                    ["c1", "c2"],
                    30.0,
                    52.0,
                    "broker-a had no master for 3 s; broker 2 is it now, and gave the first lock 19 s later",
                )
            ],
        ),
        (  # a client's own line tells of the first lock; the next change of the master is a pause of its own
            [
                (30, "RocketMasterElected", {"broker": "broker-a", "broker_id": "2"}),
                (44, "RocketQueueLockAsked", {**QUEUE, "outcome": "OK"}),
                (85, "RocketMasterElected", {"broker": "broker-a", "broker_id": "1"}),
            ],
            [
                (
                    "master_changed",
                    ["c1", "c2"],
                    30.0,
                    44.0,
                    "broker-a changed its master; broker 2 is it now, and gave the first lock 14 s later",
                ),
                ("master_changed", ["c1", "c2"], 85.0, 85.0, "broker-a changed its master; broker 1 is it now and holds no locks yet"),
            ],
        ),
        (  # a slave is missed, whom nobody replaces
            [(30, "RocketBrokerInactive", {"broker": "broker-a", "broker_id": 2})],
            [],
        ),
        (  # the group has no queues there
            [(40, "RocketMasterElected", {"broker": "broker-b", "broker_id": "3"})],
            [],
        ),
    ],
)
def test_a_group_in_order_waits_for_the_master_of_its_locks(
    lines: list[tuple[float, str, dict[str, object]]], expected: list[object]
) -> None:
    logs = in_order()
    for at, name, values in lines:
        logs.say("c1" if name == "RocketQueueLockAsked" else "controller", at, name, **values)

    assert faults(logs, 90) == expected


def test_a_group_that_is_not_in_order_needs_no_locks() -> None:
    logs = two_clients()
    logs.say("controller", 40, "RocketMasterElected", broker="broker-a", broker_id="3")

    assert faults(logs, 90) == []


def test_a_broker_tells_of_messages_that_come_again_and_of_a_group_that_acknowledges_nothing() -> None:
    logs = two_clients()
    queue: dict[str, object] = {"group": "billing", "topic": "orders", "partition": 0}
    for at in (20, 21, 60):
        logs.say("pop", at, "RocketPopRevived", offset=7, **queue)
    for at in (30, 70):
        logs.say("pop", at, "RocketPopStalled", why="unacknowledged", **queue)

    assert faults(logs, 400) == [
        (
            "invisible_time_exceeded",
            [],
            20.0,
            60.0,
            "3 messages of orders came again, as nobody acknowledged them within their invisible time",
        ),
        (
            "consumption_stalled",
            [],
            30.0,
            70.0,
            "the group holds too many messages of orders unacknowledged, and a broker gives it no more (2 lines)",
        ),
    ]
