"""Rebalances of groups of which only brokers tell."""

from __future__ import annotations

import pytest

from models.rows import Rebalance
from tests.models.rocketmq.script import SECOND, START, Logs


def seen(logs: Logs) -> list[Rebalance]:
    return logs.history(600).rebalances


def told(logs: Logs) -> list[tuple[float, str, list[str | None], float]]:
    return [
        (((each.started_at or 0) - START) / SECOND, each.cause, [who.client_id for who in each.offenders], each.confidence)
        for each in seen(logs)
    ]


def listed(*clients: str) -> Logs:
    logs = Logs()
    for number, who in enumerate(clients):
        logs.connect(who, 100 + 10 * number)
    return logs


def test_who_comes_and_goes_rebalances_the_others() -> None:
    logs = listed("c1", "c2")
    logs.say("broker", 200, "RocketConsumerUnregistered", group="billing", client_id="c2", remote="/c2:1", seen_ms=0)
    logs.crash("c1", 300)
    logs.connect("c1", 320)
    logs.say("broker", 500, "RocketConsumerExpired", group="billing", client_id="c1", remote="c1:1")

    assert told(logs) == [
        (100.0, "consumer_start", ["c1"], 0.97),
        (110.0, "consumer_start", ["c2"], 0.97),
        (200.0, "consumer_stop", ["c2"], 0.97),
        (300.0, "consumer_crash", ["c1"], 0.776),
        (320.0, "consumer_resume", ["c1"], 0.97),
        (500.0, "channel_expired", ["c1"], 0.97),
    ]


def test_only_a_log_of_a_client_tells_a_crash_from_a_lost_connection() -> None:
    logs = listed("c1")
    logs.crash("c1", 300)
    crash = seen(logs)[-1]

    assert crash.alternatives == {"connection_lost": 0.194}
    assert crash.settled_by == "rocketmq_client.log of the group's consumers"


def test_a_client_that_was_never_seen_to_come_may_go() -> None:
    logs = Logs()
    logs.say("broker", 200, "RocketConsumerUnregistered", group="billing", client_id="c9", remote="/c9:1", seen_ms=0)

    assert told(logs) == [(200.0, "consumer_stop", ["c9"], 0.97)]


def test_those_who_come_together_are_one_rebalance() -> None:
    logs = Logs()
    for number in range(3):
        logs.connect(f"c{number}", 100 + number)
    (row,) = seen(logs)

    assert [who.client_id for who in row.offenders] == ["c0", "c1", "c2"]
    assert (row.outcome, row.duration_seconds, row.at_least_seconds) == ("stable", None, 2.0)


def test_a_group_whose_last_client_goes_is_empty() -> None:
    logs = listed("c1", "c2")
    logs.crash("c1", 300)
    logs.crash("c2", 400)
    logs.say("broker", 400, "RocketGroupEmptied", group="billing")
    logs.connect("c2", 500)

    assert [(row.outcome, row.members_after) for row in seen(logs)[2:]] == [("stable", None), ("empty", 0), ("stable", None)]


def test_a_group_that_is_joined_at_once_is_not_empty() -> None:
    logs = listed("c1")
    logs.crash("c1", 300)
    logs.say("broker", 300, "RocketGroupEmptied", group="billing")
    logs.connect("c1", 301)

    assert [row.outcome for row in seen(logs)][1:] == ["stable"]


def test_a_group_that_another_broker_still_has_is_not_empty() -> None:
    logs = listed("c1")
    logs.say("broker-2", 120, "RocketConsumerConnected", group="billing", client_id="c1", remote="/c1:2", seen_ms=0, model="C")
    logs.crash("c1", 300)
    logs.say("broker", 300, "RocketGroupEmptied", group="billing")

    assert [row.outcome for row in seen(logs)][1:] == ["stable"]


@pytest.mark.parametrize(("name", "cause"), [("RocketBrokerStopping", "broker_down"), ("RocketBrokerStarted", "broker_up")])
def test_a_broker_that_restarts_loses_its_list(name: str, cause: str) -> None:
    logs = listed("c1", "c2")
    logs.say("broker", 300, name)
    logs.connect("c1", 330)

    assert told(logs)[2:] == [(300.0, cause, [], 0.97), (330.0, "broker_up", ["c1"], 0.97)]


def test_a_client_at_a_broker_that_has_just_booted_may_have_run_before() -> None:
    logs = Logs()
    logs.say("broker", 90, "RocketBrokerStarted")
    logs.connect("c1", 100)
    logs.connect("c2", 200)
    first, second = seen(logs)

    assert (first.cause, first.confidence, first.alternatives) == ("consumer_start", 0.5, {"broker_up": 0.5})
    assert (second.cause, second.confidence) == ("consumer_start", 0.97)


def test_clients_that_all_read_everything_share_nothing_out() -> None:
    logs = Logs()
    logs.say("broker", 100, "RocketConsumerConnected", group="billing", client_id="c1", remote="/c1:1", seen_ms=0, model="BROADCASTING")

    assert told(logs) == []


def test_a_log_of_one_client_tells_more_than_lists_do() -> None:
    logs = listed("c1")
    logs.start("c2", 200)
    logs.share("c2", 200.3, add=[0, 1], has=[0, 1], of=2)

    assert [(each.topic, each.cause) for each in seen(logs)] == [("orders", "consumer_start")]
