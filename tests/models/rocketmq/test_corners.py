"""RocketMQ groups in rare positions: standing faults through changes, clients that fail again and again, files that begin late."""

from __future__ import annotations

from models.incidents.headline_facts import ClientAction
from tests.models.rocketmq.script import SECOND, START, Logs, crash_and_return, two_clients, windows


def test_a_fault_stands_through_changes_that_leave_its_clients_the_same() -> None:
    logs = two_clients()
    for number, at in ((3, 20), (4, 21), (5, 22)):
        logs.start(f"c{number}", at)
    for number, queue in ((3, 2), (4, 3)):
        logs.share(f"c{number}", 23, add=[queue], has=[queue], of=5)
    logs.share("c1", 23, drop=[1], has=[0], of=5)
    logs.share("c2", 23, drop=[2, 3], add=[1], has=[1], of=5)
    logs.share("c1", 60, drop=[0], add=[1], has=[1], of=5)
    logs.share("c2", 60, drop=[1], add=[0], has=[0], of=5)
    found = logs.history(120).conditions

    assert [(each.kind, each.members, each.started_at, each.ended_at) for each in found] == [
        ("more_consumers_than_queues", ["c5"], START + 23 * SECOND, None)
    ]


def test_a_client_that_crashes_again_and_again_is_flapping() -> None:
    logs = two_clients()
    for begun in (30, 70, 110):
        crash_and_return(logs, begun, noticed=5, back=20)
    (found,) = logs.history(160).incidents

    assert (found.kind, found.severity) == ("flapping_member", "warning")
    assert found.headline.story == ClientAction("c2", "consumer_crash", 3)


def test_queues_of_clients_that_nobody_knows_are_not_called_nobodys() -> None:
    """The one client whose file is here counts two, so the other one may have what this one gave up."""
    logs = two_clients().without("broker").without("c2")

    assert windows(logs.history(60), "no_owner") == []


def test_a_file_that_begins_in_the_middle_of_a_life_shows_its_queues_by_their_offsets() -> None:
    logs = Logs()
    logs.say(
        "c1", 0, "RocketHeartbeat", client_id="c1", consumers="[ConsumerData [groupName=billing, consumeType=P, messageModel=CLUSTERING]]"
    )
    for queue in (0, 1):
        run = {"broker": "broker-a", "on": "period", "count": 4, "last_at_us": START + 25 * SECOND}
        logs.say("c1", 5, "RocketOffsetSent", group="billing", topic="orders", partition=queue, client_id="c1", **run)
    logs.share("c1", 40, drop=[1], has=[0], of=2)

    assert windows(logs.history(60), "owned") == [("broker-a:0", 5.0, None), ("broker-a:1", 5.0, 40.0)]


def test_locks_of_a_client_that_died_later_kept_nothing_from_who_came_before() -> None:
    """c2 has no file: it held all queues until c1 came, and gets those of c1 once the broker's locks are over."""
    logs = Logs()
    logs.start("c2", 0)
    logs.start("c1", 10)
    logs.share("c1", 10.3, add=[0, 1], has=[0, 1], of=2)
    logs.say("c1", 10.4, "RocketQueueLockAsked", group="billing", topic="orders", partition=0, broker="broker-a", outcome="OK")
    logs.crash("c1", 130)
    logs.stop("c2", 300)
    history = logs.without("c2").history(400)

    held = [
        (round(((row.started_at or 0) - START) / SECOND), round(((row.ended_at or 0) - START) / SECOND))
        for row in history.queue_ownership
        if row.queue == "broker-a:0" and row.owners == ["c2"]
    ]
    assert held == [(1, 10), (190, 300)]


def test_who_goes_while_another_ones_locks_stand_never_got_its_queues() -> None:
    logs = two_clients()
    logs.say("c1", 0.2, "RocketQueueLockAsked", group="billing", topic="orders", partition=0, broker="broker-a", outcome="OK")
    logs.crash("c1", 30)
    logs.stop("c2", 60)
    history = logs.without("c2").history(until=120)

    assert [row.queue for row in history.queue_ownership if row.owners == ["c2"]] == ["broker-a:2", "broker-a:3"]


def test_an_order_to_reset_offsets_takes_the_queues_of_all_clients_away_for_a_while() -> None:
    """Every client of the group is told, so one without a file drops its queues and takes them anew as the others do."""
    logs = two_clients()
    logs.say("c1", 30, "RocketResetOrdered", group="billing", topic="orders", address="10.0.0.1:10911")
    history = logs.without("c2").history(until=90)

    held = [
        (
            round(((row.started_at or 0) - START) / SECOND),
            None if row.ended_at is None else round((row.ended_at - START) / SECOND),
        )
        for row in history.queue_ownership
        if row.owners == ["c2"] and row.queue == "broker-a:2"
    ]
    assert held == [(11, 30), (40, None)]
