"""RocketMQ's clients, each of which allocates for itself: from their lines to causes, owners, faults and episodes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.rocketmq.object_text import addresses_in, consumers_in, queues_in, route_in
from tests.models.rocketmq.script import SECOND, START, Logs, causes, crash_and_return, route, two_clients, windows


def test_a_start_changes_the_starters_share_and_those_of_the_others() -> None:
    history = two_clients().history()

    assert causes(history) == [("c1", "consumer_start", ["c1"]), ("c1", "consumer_start", ["c2"]), ("c2", "consumer_start", ["c2"])]
    assert [row.trigger for row in history.allocation_changes] == ["start", "notification", "start"]
    assert windows(history, "no_owner") == windows(history, "two_owners") == []


def test_an_episode_has_the_same_id_without_what_was_before_and_takes_none_of_another() -> None:
    """Lines of long ago expire. Whoever was told of one episode, by its id, is to be told of the next one, too."""
    logs = two_clients()
    for at in (300, 600, 900):
        crash_and_return(logs, at, noticed=1, back=100)
    rest = Logs([each for each in logs.events if not 9 < (each.time_us - START) / SECOND < 500])
    whole, left = ({row.rebalance_id: row.started_at for row in each.history().rebalances} for each in (logs, rest))

    assert len(left) < len(whole)
    assert {name: left[name] for name in left.keys() & whole.keys()}.items() <= whole.items()
    assert list(left)[-3:] == list(whole)[-3:]


@pytest.mark.parametrize(("end", "cause"), [("stop", "consumer_stop"), ("crash", "consumer_crash")])
def test_how_a_client_went_is_told_apart(end: str, cause: str) -> None:
    logs = two_clients()
    getattr(logs, end)("c2", 30)
    logs.notify("c1", 30.1)
    logs.share("c1", 30.2, add=[2, 3], has=[0, 1, 2, 3], of=1)

    assert causes(logs.history())[-1] == ("c1", cause, ["c2"])


def test_a_client_that_lives_on_after_its_connection_has_lost_it() -> None:
    logs = two_clients()
    logs.crash("c2", 30)
    logs.notify("c1", 30.1)
    logs.share("c1", 30.2, add=[2, 3], has=[0, 1, 2, 3], of=1)
    logs.say("c2", 40, "RocketOffsetSent", group="billing", topic="orders", partition=2, client_id="c2", broker="broker-a", on="period")

    history = logs.history()
    assert causes(history)[-1] == ("c1", "connection_lost", ["c2"])
    assert [(queue, begun) for queue, begun, _ in windows(history, "two_owners")] == [("broker-a:2", 30.2), ("broker-a:3", 30.2)]


def test_queues_of_a_dead_client_are_nobodys_until_somebody_takes_them() -> None:
    logs = two_clients()
    logs.crash("c2", 30)
    logs.share("c1", 45, add=[2, 3], has=[0, 1, 2, 3], of=1)
    history = logs.history()

    assert windows(history, "no_owner") == [("broker-a:2", 30.0, 45.0), ("broker-a:3", 30.0, 45.0)]
    last = history.rebalances[-1]
    assert (last.topic, last.cause, last.duration_seconds) == ("orders", "consumer_crash", 15.01)


def test_more_queues_are_no_members_doing() -> None:
    logs = two_clients()
    logs.say("c1", 40, "RocketRouteChanged", topic="orders", route_before=route(a=4), route=route(a=6))
    logs.share("c1", 41, add=[2], has=[0, 1, 2], of=2, queues=6)

    assert causes(logs.history())[-1] == ("c1", "queue_count_change", [])


def test_addresses_of_a_route_are_no_queues() -> None:
    logs = two_clients()
    for at, address in ((40, "10.0.0.1:10911"), (50, "10.0.0.2:10911")):
        after = route(a=4).replace("]]", f"], brokerAddrs={{0={address}}}]")
        logs.say("c1", at, "RocketRouteChanged", topic="orders", route_before=route(a=4), route=after)
    logs.share("c1", 61, drop=[1], has=[0], of=3)

    assert causes(logs.without("broker").history())[-1][:2] == ("c1", "consumer_start")


@pytest.mark.parametrize("left_over", [1, 2])
def test_connections_that_a_client_leaves_over_are_no_clients(left_over: int) -> None:
    logs = two_clients()
    old = [f"c2:{number}" for number in range(2, 2 + left_over)]
    for at, remote in (*((40.5, each) for each in old), (52, "c2:9")):
        seen = round((START / SECOND + at) * 1000)
        logs.say("broker", at, "RocketConsumerConnected", group="billing", client_id="c2", remote=f"/{remote}", seen_ms=seen, model="C")
        logs.say("broker", at, "RocketConsumerLost", group="billing", client_id="c2", remote="/c2:1", seen_ms=0)
    logs.share("c2", 62, drop=[3], has=[2], of=2 + left_over)
    for remote in old:
        logs.say("broker", 160, "RocketConsumerExpired", group="billing", remote=remote)
    logs.share("c2", 170, add=[3], has=[2, 3], of=2)
    history = logs.history(300)

    assert [row.kind for row in history.conditions] == []
    assert windows(history, "two_owners") == []
    assert windows(history, "no_owner") == [("broker-a:3", 62.0, 170.0)]
    assert causes(history)[-2:] == [("c2", "consumer_resume", ["c2"]), ("c2", "channel_expired", ["c2"])]


@pytest.mark.parametrize(
    ("before", "after", "cause"), [({"a": 4}, {"a": 4, "b": 4}, "broker_up"), ({"a": 2, "b": 2}, {"a": 2}, "broker_down")]
)
def test_brokers_come_and_go_with_the_route(before: dict[str, int], after: dict[str, int], cause: str) -> None:
    logs = two_clients()
    logs.say("c1", 40, "RocketRouteChanged", topic="orders", route_before=route(**before), route=route(**after))
    logs.share("c1", 41, add=[2], has=[0, 1, 2], of=2, queues=sum(after.values()))

    assert causes(logs.history())[-1] == ("c1", cause, [])


def test_a_client_that_a_new_broker_does_not_know_yet_is_missing() -> None:
    logs = two_clients()
    logs.say("broker", 50, "RocketBrokerStarted", broker="broker-a", address="10.0.0.1:10911")
    logs.connect("c1", 51)
    logs.say("c2", 52, "RocketNotListed", group="billing", client_id="c2", listed=["c1"])
    logs.share("c2", 52, drop=[2, 3], has=[], of=1)

    assert causes(logs.history())[-1] == ("c2", "consumer_list_partial", ["c2"])


def test_a_reset_takes_the_queues_away_until_they_are_read_anew() -> None:
    logs = two_clients()
    logs.say("c2", 60, "RocketResetOrdered", group="billing", topic="orders", address="10.0.0.1:10911")
    logs.share("c2", 70, add=[2, 3], has=[2, 3], of=2)
    history = logs.history()

    assert causes(history)[-1][:2] == ("c2", "offset_reset")
    assert windows(history, "no_owner") == [("broker-a:2", 60.0, 70.0), ("broker-a:3", 60.0, 70.0)]


def test_clients_that_allocate_in_different_ways_are_named() -> None:
    logs = Logs()
    logs.start("c1", 0)
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    logs.start("c2", 10)
    logs.share("c1", 10.2, drop=[2, 3], has=[0, 1], of=2)
    logs.share("c2", 10.3, add=[1, 3], has=[1, 3], of=2, strategy="AVG_BY_CIRCLE")
    logs.say("c1", 60, "RocketConsumerPaused", group="billing")
    history = logs.history()

    assert [(each.kind, each.members) for each in history.conditions] == [("strategy_mismatch", ["c1", "c2"])]
    assert windows(history, "no_owner") == [("broker-a:2", 10.2, None)]
    assert windows(history, "two_owners") == [("broker-a:1", 10.3, None)]


def test_clients_that_read_different_tags_are_named() -> None:
    logs = Logs()
    logs.start("c1", 0)
    logs.start("c2", 10, topics="TagA")
    logs.say("c1", 60, "RocketConsumerPaused", group="billing")

    assert [(each.kind, each.members) for each in logs.history().conditions] == [("subscription_mismatch", ["c1", "c2"])]


def test_consumers_that_read_all_have_no_owners() -> None:
    logs = Logs()
    for who, at in (("c1", 0), ("c2", 10)):
        logs.start(who, at, model="BROADCASTING")
        logs.say(who, at + 0.3, "RocketQueueAdded", group="billing", topic="orders", partition=0, broker="broker-a")
    history = logs.history()

    assert history.queue_ownership == []
    assert history.conditions == []


def test_a_client_without_a_file_is_not_nobody() -> None:
    logs = two_clients()
    seen_by_others = Logs([each for each in logs.events if each.place.file != "c2"])
    seen_by_others.say("c1", 40, "RocketConsumerPaused", group="billing")
    history = seen_by_others.history()

    assert windows(history, "no_owner") == []
    assert {row.queue: row.owners for row in history.queue_ownership if (row.started_at or 0) > START + 10 * SECOND} == {
        "broker-a:2": ["c2"],
        "broker-a:3": ["c2"],
    }


def test_a_file_in_another_zone_is_put_on_the_brokers_clock() -> None:
    logs = two_clients()
    hours = 8 * 3600 * SECOND
    moved = [
        replace(each, at_us=(each.at_us or 0) + hours, order_us=each.order_us + hours) if each.place.file == "c2" else each
        for each in logs.events
    ]

    assert causes(Logs(moved).history()) == causes(logs.history())
    assert windows(Logs(moved).history(), "owned") == windows(logs.history(), "owned")


def moved(logs: Logs, file: str, hours: int) -> Logs:
    by = hours * 3600 * SECOND
    return Logs(
        [
            replace(each, at_us=(each.at_us or 0) + by, order_us=each.order_us + by) if each.place.file == file else each
            for each in logs.events
        ]
    )


def test_a_brokers_file_in_another_zone_is_known_by_the_epoch_times_in_its_lines() -> None:
    logs = two_clients()
    logs.stop("c2", 30)
    logs.notify("c1", 30.1)
    logs.share("c1", 30.2, add=[2, 3], has=[0, 1, 2, 3], of=1)

    assert causes(moved(logs, "broker", -8).history()) == causes(logs.history())


def test_a_clients_own_clock_tells_the_zone_of_its_file_without_any_broker() -> None:
    logs = two_clients()
    for who in ("c1", "c2"):
        logs.say(who, 11, "RocketClockShown", topic="orders", clock_ms=START // 1000 + 11_000)
    logs = Logs([each for each in logs.events if each.place.file != "broker"])

    assert causes(moved(logs, "c2", 3).history()) == causes(logs.history())
    assert windows(moved(logs, "c2", 3).history(), "owned") == windows(logs.history(), "owned")


@pytest.mark.parametrize("hours", [27, -27, 10**12, -(10**12)])
def test_a_clock_that_no_zones_explain_moves_nothing(hours: int) -> None:
    logs = two_clients()
    logs.stop("c2", 30)
    logs.notify("c1", 30.1)
    logs.share("c1", 30.2, add=[2, 3], has=[0, 1, 2, 3], of=1)
    before = causes(logs.history())
    clock_ms = START // 1000 + 11_000 + hours * 3_600_000
    logs.say("c2", 11, "RocketClockShown", topic="orders", clock_ms=clock_ms)
    logs.say("broker", 11, "RocketConsumerConnected", group="billing", client_id="c2", seen_ms=clock_ms)

    assert causes(logs.history()) == before


def test_with_a_name_servers_file_alone_the_clients_say_who_was_there() -> None:
    logs = two_clients().without("broker")
    logs.say("namesrv", 1, "RocketBrokerRegistered", address="10.0.0.1:10911")

    assert causes(logs.history()) == causes(two_clients().history())


def test_the_logs_reach_as_far_as_the_last_report_of_a_run() -> None:
    logs = two_clients()
    logs.crash("c2", 30)
    run = {"broker": "broker-a", "on": "period", "count": 20, "last_at_us": START + 130 * SECOND}
    logs.say("c1", 31, "RocketOffsetSent", group="billing", topic="orders", partition=0, client_id="c1", **run)

    assert windows(logs.history(), "no_owner") == [("broker-a:2", 30.0, None), ("broker-a:3", 30.0, None)]


def test_the_order_in_which_files_are_read_changes_nothing() -> None:
    logs = two_clients()
    by_file = sorted(logs.events, key=lambda each: each.place.file, reverse=True)

    assert Logs(by_file).history() == logs.history()


def test_what_objects_look_like_in_text() -> None:
    assert [(each.topic, each.queue) for each in queues_in("[MessageQueue [topic=%RETRY%g, brokerName=b@1, queueId=-1]]")] == [
        ("%RETRY%g", "b@1:-1")
    ]
    assert route_in(route(a=4) + "QueueData [brokerName=b, readQueueNums=4, writeQueueNums=4, perm=2, topicSysFlag=0]") == {"broker-a": 4}
    assert addresses_in(route(a=4)) == {"10.0.0.1:10911": "broker-a"}
    assert consumers_in("[ConsumerData [groupName=g, consumeType=P, messageModel=CLUSTERING, subscriptionDataSet=[]]]")[0].group == "g"


def test_however_few_shares_are_held_the_verdicts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = causes(two_clients().history())
    monkeypatch.setattr("models.rocketmq.diagnosis.causes.SHARES_HELD_MAX", 0)
    assert causes(two_clients().history()) == expected
