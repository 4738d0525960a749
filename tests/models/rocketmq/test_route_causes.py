"""Causes told by routes and by a restarted broker's list: which broker came back, and where a topic was created."""

from __future__ import annotations

import pytest

from models.rocketmq.rocketmq_history import RocketHistory
from tests.models.rocketmq.script import SECOND, START, Logs, route, two_clients

RETRY = "%RETRY%billing"


def retry_share(logs: Logs, who: str, at: float, *, of: int, queues: int, broker: str = "broker-a") -> None:
    text = f"rebalanced result changed, [MessageQueue [topic={RETRY}, brokerName={broker}, queueId=0]]"
    counts = {"strategy": "AVG", "queue_count": queues, "client_count": of, "share_count": 1}
    logs.say(who, at, "RocketQueueAdded", group="billing", topic=RETRY, partition=0, broker=broker)
    logs.say(who, at + 0.01, "RocketShareChanged", text=text, group="billing", topic=RETRY, client_id=who, share=text, **counts)


def rerouted(logs: Logs, at: float, topic: str, before: dict[str, int] | None, after: dict[str, int]) -> None:
    former = "null" if before is None else route(**before)
    logs.say("c1", at, "RocketRouteChanged", topic=topic, route_before=former, route=route(**after))


def last_cause(history: RocketHistory, topic: str) -> tuple[str, bool, dict[str, float]]:
    row = [each for each in history.allocation_changes if each.topic == topic][-1]
    return row.cause, row.confidence > 0.9, row.alternatives


def one_with_retry(*, orders: dict[str, int], retry: dict[str, int]) -> Logs:
    logs = two_clients()
    rerouted(logs, 11, "orders", {"a": 4}, orders)
    rerouted(logs, 11, RETRY, None, retry)
    retry_share(logs, "c1", 12, of=2, queues=sum(retry.values()), broker=f"broker-{min(retry)}")
    return logs


def test_a_retry_topic_that_comes_to_a_broker_that_was_up_was_created_there() -> None:
    logs = one_with_retry(orders={"a": 4, "b": 4}, retry={"b": 1})
    rerouted(logs, 40, RETRY, {"b": 1}, {"a": 1, "b": 1})
    retry_share(logs, "c1", 41, of=2, queues=2)

    assert last_cause(logs.history(), RETRY) == ("topic_route_appeared", True, {})


def test_a_topic_that_an_administrator_extends_to_a_known_broker_has_more_queues() -> None:
    logs = two_clients()
    rerouted(logs, 11, "payments", None, {"a": 4, "b": 4})
    rerouted(logs, 40, "orders", {"a": 4}, {"a": 4, "b": 4})
    logs.share("c1", 41, add=[2], has=[0, 1, 2], of=2, queues=8)

    assert last_cause(logs.history(), "orders") == ("queue_count_change", True, {})


@pytest.mark.parametrize("sign", ["lost before", "all topics gain it", "its start"])
def test_a_broker_that_was_away_came_back(sign: str) -> None:
    logs = one_with_retry(orders={"a": 4, "b": 4}, retry={"a": 1})
    if sign == "lost before":
        rerouted(logs, 30, "orders", {"a": 4, "b": 4}, {"a": 4})
    elif sign == "its start":
        logs.say("other-broker", 35, "RocketBrokerStarted", broker="broker-b", address="10.0.0.2:10911")
    else:
        rerouted(logs, 40, "orders", {"a": 4}, {"a": 4, "b": 4})
    rerouted(logs, 40, RETRY, {"a": 1}, {"a": 1, "b": 1})
    retry_share(logs, "c1", 41, of=2, queues=2)

    assert last_cause(logs.history(), RETRY) == ("broker_up", True, {})


def test_a_retry_topic_that_leaves_a_dead_broker_for_one_that_was_up_has_lost_the_dead_one() -> None:
    """The other broker had been up; the topic was created there meanwhile, which the client sees at the same poll."""
    logs = one_with_retry(orders={"a": 4, "b": 4}, retry={"b": 1})
    rerouted(logs, 40, RETRY, {"b": 1}, {"a": 1})
    retry_share(logs, "c1", 41, of=2, queues=1)

    cause, is_sure, others = last_cause(logs.history(), RETRY)
    assert (cause, is_sure, list(others)) == ("broker_down", False, ["topic_route_appeared"])


def test_nothing_tells_whether_a_broker_never_seen_before_is_new_to_the_cluster_or_to_the_topic() -> None:
    logs = two_clients()
    rerouted(logs, 40, "orders", {"a": 4}, {"a": 4, "b": 4})
    logs.share("c1", 41, add=[2], has=[0, 1, 2], of=2, queues=8)

    cause, is_sure, others = last_cause(logs.history(), "orders")
    assert (cause, is_sure, list(others)) == ("broker_up", False, ["queue_count_change"])


def restarted_broker() -> Logs:
    """Its list has one of two clients for a while."""
    logs = two_clients()
    rerouted(logs, 10.2, RETRY, None, {"a": 1})
    logs.say("broker", 50, "RocketBrokerStarted", broker="broker-a", address="10.0.0.1:10911")
    logs.connect("c2", 51)
    return logs


def test_a_share_that_grows_because_a_restarted_broker_lacks_the_others_names_them() -> None:
    """The run is woken by the client's own arrival in the list, which took nothing from it."""
    logs = restarted_broker()
    logs.notify("c2", 51.1)
    logs.share("c2", 53, add=[0, 1], has=[0, 1, 2, 3], of=1)
    (row,) = [each for each in logs.history().allocation_changes if each.topic == "orders"][-1:]

    assert (row.cause, [each.client_id for each in row.offenders]) == ("consumer_list_partial", ["c1"])


def test_the_first_share_of_a_topic_with_fewer_queues_than_clients_is_no_late_route() -> None:
    logs = restarted_broker()
    logs.say("c2", 10.4, "RocketRouteChanged", topic=RETRY, route_before="null", route=route(a=1))
    logs.notify("c2", 51.1)
    retry_share(logs, "c2", 53, of=1, queues=1)
    (row,) = [each for each in logs.history().allocation_changes if each.topic == RETRY][-1:]

    assert (row.cause, [each.client_id for each in row.offenders]) == ("consumer_list_partial", ["c1"])


def test_a_share_that_waited_for_locks_but_came_with_its_route_is_that_routes() -> None:
    logs = two_clients()
    logs.say("c1", 30, "RocketRouteChanged", topic=RETRY, route_before="null", route=route(a=2))
    logs.say("c1", 30.1, "RocketQueueRefused", group="billing", topic=RETRY, partition=1, broker="broker-a")
    retry_share(logs, "c1", 30.2, of=2, queues=2)

    assert last_cause(logs.history(), RETRY)[:2] == ("topic_route_appeared", True)


def cut(logs: Logs, since: float, *files: str) -> Logs:
    """The lines without what some files said before a time."""
    return Logs([each for each in logs.events if each.place.file not in files or each.time_us >= START + since * SECOND])


def crash_of_three(*, broker: bool) -> Logs:
    logs = two_clients()
    logs.crash("c2", 60)
    logs.share("c1", 60.5, add=[2, 3], has=[0, 1, 2, 3], of=1)
    return logs if broker else logs.without("broker")


@pytest.mark.parametrize("broker", [True, False])
@pytest.mark.parametrize("hidden", [("c1",), ("c2",), ("c1", "c2"), ("c1", "c2", "broker")])
def test_files_that_begin_in_the_middle_of_lives_start_nobody_surely(hidden: tuple[str, ...], *, broker: bool) -> None:
    found = cut(crash_of_three(broker=broker), 50, *hidden).history(120).allocation_changes[-1]

    assert (found.cause == "consumer_crash") is (broker and "broker" not in hidden) or found.confidence < 0.9
    assert "" not in [each.client_id for each in found.offenders]


@pytest.mark.parametrize("sole", ["c1", "c2"])
def test_one_client_alone_never_blames_its_own_start_for_a_change_long_after(sole: str) -> None:
    logs = crash_of_three(broker=False)
    rerouted(logs, 10.2, RETRY, None, {"a": 1})
    logs.say("c2", 10.4, "RocketRouteChanged", topic=RETRY, route_before="null", route=route(a=1))
    retry_share(logs, sole, 61, of=1, queues=1)
    alone = Logs([each for each in logs.events if each.place.file == sole])

    assert not last_cause(alone.history(120), RETRY)[1]


def test_without_brokers_an_old_start_is_no_sure_cause_of_a_later_change() -> None:
    """The third took no share as it started; no client's file says that the second died."""
    logs = two_clients()
    logs.start("c3", 20)
    logs.crash("c2", 60)
    logs.share("c1", 60.5, add=[2], drop=[0], has=[1, 2], of=2)
    found = logs.without("broker").history(120).allocation_changes[-1]

    assert (found.client_id, found.confidence < 0.9) == ("c1", True)


def test_another_process_with_a_clients_own_id_is_surely_what_started() -> None:
    """The starts of both stand under one name, and only the second is near the change."""
    logs = Logs()
    logs.start("c1", 0)
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    seen = round((START / SECOND + 60) * 1000)
    logs.say("other", 59.9, "RocketConsumerStarting", group="billing", model="CLUSTERING")
    logs.say("other", 59.9, "RocketClientCreated", client_id="c1")
    logs.say("other", 60, "RocketConsumerStarted", group="billing")
    logs.say("broker", 60, "RocketConsumerConnected", group="billing", client_id="c1", remote="/c1:2", seen_ms=seen, model="C")
    logs.notify("c1", 60.1)
    logs.share("c1", 60.3, drop=[2, 3], has=[0, 1], of=2)
    found = logs.history(120).allocation_changes[-1]

    assert (found.cause, [each.client_id for each in found.offenders], found.confidence > 0.9) == ("consumer_start", ["c1"], True)
