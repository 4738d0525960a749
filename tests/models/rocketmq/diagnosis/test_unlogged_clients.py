"""Clients whose files are missing: what brokers and the others say of them, and how sure that makes the windows."""

from __future__ import annotations

import pytest

from models.rocketmq.rocketmq_history import RocketHistory
from pipelines.headlines.standing_faults import fault_detail
from tests.models.rocketmq.script import SECOND, START, Logs, route, two_clients, windows


def marks(history: RocketHistory, kind: str) -> set[tuple[bool, bool]]:
    """Whether rows are marked as inferred, and told as more than nearly sure."""
    return {(row.inferred, row.confidence > 0.9) for row in history.queue_ownership if row.kind == kind}


def held_by(history: RocketHistory, who: str) -> list[tuple[str, float, float | None]]:
    return [
        (row.queue, ((row.started_at or 0) - START) / SECOND, None if row.ended_at is None else (row.ended_at - START) / SECOND)
        for row in history.queue_ownership
        if row.owners == [who]
    ]


def test_rows_say_what_rests_on_a_missing_file() -> None:
    logs = two_clients()

    assert marks(logs.history(until=60), "owned") == {(False, True)}
    without = logs.without("c2").history(until=60)
    assert {row.inferred for row in without.queue_ownership if row.owners == ["c2"]} == {True}
    assert {row.inferred for row in without.queue_ownership if row.owners == ["c1"]} == {False}


def test_a_frozen_client_goes_on_owning_until_it_is_back() -> None:
    logs = two_clients()
    logs.expire("c2", 150)
    logs.share("c1", 160, add=[2, 3], has=[0, 1, 2, 3], of=1)
    logs.connect("c2", 200)
    logs.notify("c1", 200.1)
    logs.share("c1", 200.2, drop=[2, 3], has=[0, 1], of=2)
    history = logs.without("c2").history(until=260)

    assert windows(history, "two_owners") == [("broker-a:2", 160.0, 200.2), ("broker-a:3", 160.0, 200.2)]
    assert marks(history, "two_owners") == {(True, False)}


def test_a_dead_client_owns_nothing_from_then_on() -> None:
    logs = two_clients()
    logs.crash("c2", 30)
    logs.share("c1", 45, add=[2, 3], has=[0, 1, 2, 3], of=1)
    history = logs.without("c2").history(until=60)

    assert windows(history, "no_owner") == [("broker-a:2", 30.0, 45.0), ("broker-a:3", 30.0, 45.0)]
    assert marks(history, "no_owner") == {(True, False)}  # it may have lived on: only its own file would tell
    last = history.allocation_changes[-1]
    assert (last.cause, last.confidence, last.alternatives) == ("consumer_crash", 0.776, {"connection_lost": 0.194})
    assert history.rebalances[-1].settled_by == "rocketmq_client.log of c2"


def test_new_queues_are_met_at_the_next_poll_and_run_of_the_client() -> None:
    logs = two_clients()
    logs.say("namesrv", 33, "RocketTopicRouted", topic="orders", broker="broker-a", reads_before=4, reads=6)
    logs.say("c1", 34, "RocketRouteChanged", topic="orders", route_before=route(a=4), route=route(a=6))
    logs.share("c1", 35, add=[2], has=[0, 1, 2], of=2, queues=6)
    history = logs.without("c2").history(until=100)

    # It started at 10.1 s, so it asks for routes at 40.1 s; it ran 0.8 s after its start, and runs each 20 s.
    found = [(queue, round(begun), over) for queue, begun, over in held_by(history, "c2") if begun > 20]
    assert found == [("broker-a:4", 51, None), ("broker-a:5", 51, None)]
    assert [(queue, round(begun), round(over or 0)) for queue, begun, over in windows(history, "two_owners")] == [("broker-a:2", 35, 51)]
    assert [(queue, round(begun), round(over or 0)) for queue, begun, over in windows(history, "no_owner")] == [
        ("broker-a:4", 33, 51),
        ("broker-a:5", 33, 51),
    ]


def test_without_a_name_server_the_broker_tells_of_new_queues() -> None:
    logs = two_clients()
    before, after = (f"TopicConfig [topicName=orders, readQueueNums={reads}, writeQueueNums=6, perm=RW-, order=false]" for reads in (4, 6))
    logs.say("broker", 33, "RocketTopicConfigured", before=before, after=after)
    logs.share("c1", 35, add=[2], has=[0, 1, 2], of=2, queues=6)
    history = logs.without("c2").history(until=100)

    assert [(queue, round(begun), round(over or 0)) for queue, begun, over in windows(history, "no_owner")] == [
        ("broker-a:4", 33, 51),
        ("broker-a:5", 33, 51),
    ]


def test_what_a_client_subscribes_to_is_what_its_heartbeat_changed_at_the_broker() -> None:
    logs = Logs()
    logs.start("c1", 0)
    logs.say("broker", 0.1, "RocketTopicSubscribed", group="billing", topic="orders", expression="*")
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    logs.start("c2", 10)
    logs.say("broker", 10.1, "RocketTopicSubscribed", group="billing", topic="refunds", expression="*")
    logs.say("broker", 10.1, "RocketTopicUnsubscribed", group="billing", topic="orders")
    logs.say("namesrv", 5, "RocketTopicRouted", topic="refunds", broker="broker-a", reads=2)
    logs.notify("c1", 10.15)
    logs.share("c1", 10.2, drop=[2, 3], has=[0, 1], of=2)
    history = logs.without("c2").history(until=60)

    assert {(row.topic, row.queue) for row in history.queue_ownership if row.owners == ["c2"]} == {("refunds", "broker-a:1")}
    gaps = {(row.topic, row.queue) for row in history.queue_ownership if row.kind == "no_owner"}
    assert gaps == {("orders", "broker-a:2"), ("orders", "broker-a:3"), ("refunds", "broker-a:0")}
    assert [(each.kind, fault_detail(each.detail)) for each in history.conditions] == [
        ("subscription_mismatch", "c1 reads orders *; c2 reads refunds *")
    ]


def test_a_dead_clients_locks_keep_queues_from_the_next_one() -> None:
    logs = two_clients()
    logs.say("c1", 0.2, "RocketQueueLockAsked", group="billing", topic="orders", partition=0, broker="broker-a", outcome="OK")
    logs.crash("c1", 30)
    history = logs.without("c2").history(until=120)

    assert windows(history, "no_owner") == [("broker-a:0", 30.0, 90.0), ("broker-a:1", 30.0, 90.0)]


def test_the_brokers_locks_say_what_an_orderly_client_held() -> None:
    logs = two_clients()
    for queue, taken in ((2, 14.0), (3, 16.0)):
        logs.say(
            "lock", taken, "RocketLockTaken", group="billing", topic="orders", partition=queue, client_id="c2", broker="broker-a"
        )  # fmt: skip
    logs.say("lock", 40, "RocketLockReleased", group="billing", topic="orders", partition=3, client_id="c2", broker="broker-a")
    history = logs.without("c2").history(until=60)

    assert held_by(history, "c2") == [("broker-a:2", 14.0, None), ("broker-a:3", 16.0, 40.0)]


@pytest.mark.parametrize("who", ["c1", "c2"])
def test_where_the_others_quarrel_it_is_a_guess(who: str) -> None:
    logs = two_clients()
    logs.start("c3", 20)
    logs.share("c3", 20.3, add=[2], has=[2], of=3, strategy="AVG_BY_CIRCLE")
    history = logs.without(who).history(until=60)

    assert {row.confidence < 0.5 for row in history.queue_ownership if row.inferred} == {True}


def test_a_broker_that_forgot_its_clients_before_it_said_that_it_is_up() -> None:
    logs = two_clients()
    logs.connect("c1", 58)
    logs.connect("c2", 59)
    logs.say("broker", 60, "RocketBrokerStarted", broker="broker-a", address="10.0.0.1:10911")

    assert windows(logs.history(until=120), "two_owners") == []


def test_a_frozen_client_that_never_comes_back_goes_on_owning() -> None:
    logs = two_clients()
    logs.expire("c2", 150)
    logs.share("c1", 160, add=[2, 3], has=[0, 1, 2, 3], of=1)
    history = logs.without("c2").history(until=260)

    assert windows(history, "two_owners") == [("broker-a:2", 160.0, None), ("broker-a:3", 160.0, None)]


def test_a_strategy_of_ones_own_is_taken_for_the_library_s() -> None:
    logs = Logs()
    logs.start("c1", 0)
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1, strategy="OWN")
    logs.start("c2", 10)
    logs.notify("c1", 10.15)
    logs.share("c1", 10.2, drop=[2, 3], has=[0, 1], of=2, strategy="OWN")
    history = logs.without("c2").history(until=60)

    assert {queue for queue, _, _ in held_by(history, "c2")} == {"broker-a:2", "broker-a:3"}
