"""Clients without a file whose changes of share stand in a broker's log as versions of their subscriptions."""

from __future__ import annotations

import pytest

from models.rocketmq.observations.subscription_versions import SubscriptionVersions
from models.rocketmq.timing import LIST_US
from models.rows import QueueOwnership
from tests.models.rocketmq.script import SECOND, START, Logs, route

SUBSCRIPTION = (
    "SubscriptionData [classFilterMode=false, topic=orders, subString=*, tagsSet=[], codeSet=[], subVersion={}, expressionType=TAG]"
)


def move(logs: Logs, at: float) -> None:
    """A client's share changed, and the broker says so."""
    new = SUBSCRIPTION.format(round((START / SECOND + at) * 1000))
    old = SUBSCRIPTION.format(0)
    text = f"subscription changed, group: billing OLD: {old} NEW: {new}"
    logs.say("broker", int(at) + 1, "RocketSubscriptionChanged", group="billing", before=old, after=new, text=text)


def known_and_hidden() -> Logs:
    """c1 has a file and c2 has none; c2 takes its share when c1 has given it up."""
    logs = Logs()
    logs.start("c1", 0)
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    move(logs, 0.311)
    logs.connect("c2", 10)
    logs.notify("c1", 10.15)
    logs.share("c1", 10.2, drop=[2, 3], has=[0, 1], of=2)
    move(logs, 10.211)
    return logs


def held(logs: Logs, until: float, queue: str = "broker-a:2") -> list[tuple[str, float, float | None]]:
    """Stretches of a queue in which c2 had a part."""
    rows: list[QueueOwnership] = [row for row in logs.history(until).queue_ownership if "c2" in row.owners and row.queue == queue]
    return [
        (row.kind, ((row.started_at or 0) - START) / SECOND, None if row.ended_at is None else (row.ended_at - START) / SECOND)
        for row in rows
    ]


def test_a_share_begins_when_the_broker_says_that_it_changed() -> None:
    logs = Logs()
    logs.start("c1", 0)
    logs.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    move(logs, 0.311)
    logs.connect("c2", 10)
    move(logs, 17.5)
    logs.share("c1", 25, drop=[2, 3], has=[0, 1], of=2)
    move(logs, 25.011)

    assert held(logs, 120) == [("two_owners", 17.5, 25.0), ("owned", 25.0, None)]


def test_what_no_broker_tells_of_where_brokers_do_is_no_share() -> None:
    """c1's own changes are told, so c2's would have been."""
    logs = known_and_hidden()

    assert held(logs, 300) == [("owned", 10.8, None)]  # as near to c1's change, it may have been overtaken
    later = Logs()
    later.start("c1", 0)
    later.share("c1", 0.3, add=[0, 1, 2, 3], has=[0, 1, 2, 3], of=1)
    move(later, 0.311)
    later.connect("c2", 10)
    assert held(later, 300) == []


def test_a_new_route_is_met_when_the_share_changes() -> None:
    logs = known_and_hidden()
    logs.say("c1", 40, "RocketRouteChanged", topic="orders", route_before=route(a=4), route=route(a=8))
    logs.share("c1", 41, add=[2, 3], has=[0, 1, 2, 3], of=2, queues=8)
    move(logs, 41.011)
    move(logs, 57.25)

    assert held(logs, 120) == [("owned", 10.8, 41.0), ("two_owners", 41.0, 57.25)]
    assert held(logs, 120, "broker-a:5") == [("owned", 57.25, None)]


@pytest.mark.parametrize(
    ("told", "at", "awaited"),
    [
        ([30], 20, True),  # it came later
        ([60], 20, True),  # not within the time in which it was due, so it never was
        ([], 20, True),
        ([], 95, False),  # the logs end before it was due
        ([], 51, False),  # near a known client's change, behind which it may be hidden
        ([52], 51, True),
    ],
)
def test_changes_that_are_awaited(told: list[int], at: int, awaited: bool) -> None:
    class Result:
        at = 50 * SECOND

    moves = SubscriptionVersions([second * SECOND for second in told], [Result()], [], 100 * SECOND)  # type: ignore[list-item]

    assert moves.is_awaited(at * SECOND, 1 << 62, LIST_US) is awaited
