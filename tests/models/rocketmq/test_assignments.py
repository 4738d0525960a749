"""gRPC clients, whose queues a proxy assigns: from their lines to causes, rebalances and faults."""

from __future__ import annotations

import pytest

from models.events import Event
from models.rocketmq.object_text import QueueText, assigned_in
from tests.models.rocketmq.script import SECOND, START, Logs, causes

A, B = "broker-a:-1", "broker-b:-1"


def listed(*queues: str) -> list[str]:
    """A list of assignments as the catalogue gives it."""
    return [f"MessageQueue [topic=orders, brokerName={queue.replace(':', ', queueId=')}]" for queue in queues]


class Proxied(Logs):
    """Lines of gRPC clients of one process, in one file."""

    def begin(self, who: str, at: float, *, named: bool = True) -> None:
        self.say("client.log", at, "RocketConsumerStarting", client_id=who)
        if named:
            self.say("client.log", at + 0.1, "RocketConsumeServiceCreated", group="billing", client_id=who, fifo=False)
        self.say("client.log", at + 0.2, "RocketConsumerStarted", client_id=who)

    def assign(self, who: str, at: float, before: tuple[str, ...] | None, *queues: str, topic: str = "orders") -> None:
        was = listed(*before or ())
        told = {"share_before": was, "share": listed(*queues)}
        self.say("client.log", at, "RocketAssignmentsChanged", client_id=who, topic=topic, **told)


def started(*clients: str) -> Proxied:
    """Clients that all receive from two brokers."""
    logs = Proxied()
    for number, who in enumerate(clients):
        logs.begin(who, 10 * number)
        logs.assign(who, 10 * number + 1.2, None, A, B)
    return logs


def test_each_client_of_a_log_is_one_of_its_own_and_gets_its_group() -> None:
    history = started("c1", "c2").history()

    assert causes(history) == [("c1", "consumer_start", ["c1"]), ("c2", "consumer_start", ["c2"])]
    assert [row.group for row in history.allocation_changes] == ["billing", "billing"]
    assert [(row.added, row.allocated) for row in history.allocation_changes] == [([A, B], [A, B])] * 2
    assert history.queue_ownership == []  # messages are popped from all queues by all


def test_a_list_in_another_order_is_no_change() -> None:
    logs = started("c1")
    logs.assign("c1", 20, (A, B), B, A)

    assert len(logs.history().allocation_changes) == 1


def test_two_consumers_of_one_group_that_start_anew_in_one_log() -> None:
    logs = started("c1")
    logs.say("client.log", 30, "RocketUnregistered", client_id="c1")
    logs.begin("c2", 40)
    logs.assign("c2", 41.2, None, A, B)

    assert causes(logs.history()) == [("c1", "consumer_start", ["c1"]), ("c2", "consumer_start", ["c2"])]


@pytest.mark.parametrize(
    ("line", "before", "after", "cause", "confidence"),
    [
        (("broker-b.log", "RocketBrokerStopping", {}), (A, B), (A,), "broker_down", 0.97),
        (("namesrv.log", "RocketBrokerLost", {"broker": "broker-b"}), (A, B), (A,), "broker_down", 0.97),
        (("namesrv.log", "RocketBrokerLost", {"broker": "broker-c"}), (A, B), (A,), "broker_down", 0.93),
        (("namesrv.log", "RocketBrokerLost", {"broker": "broker-b"}), (B,), (), "broker_down", 0.97),
        (None, (A, B), (A,), "broker_down", 0.93),
        (None, (A,), (A, B), "broker_up", 0.93),
        (("broker-b.log", "RocketBrokerStarted", {"broker": "broker-b", "address": "10.0.0.2:1"}), (A,), (A, B), "broker_up", 0.97),
        (("broker-b.log", "RocketTopicAdministered", {"topic": "orders", "reads": 4}), (A,), (A, B), "queue_count_change", 0.97),
        (("broker-b.log", "RocketTopicAdministered", {"topic": "other", "reads": 4}), (A,), (A, B), "broker_up", 0.93),
        (("broker-b.log", "RocketTopicAdministered", {"topic": "orders", "reads": 4}), (A, B), (A,), "broker_down", 0.93),
        (("broker-b.log", "RocketTopicAdministered", {"topic": "orders", "deleted": True}), (A, B), (A,), "queue_count_change", 0.97),
        (None, (A, B), ("broker-a:0", "broker-a:1", "broker-b:0"), "message_request_mode", 0.93),
        (("broker-a.log", "RocketGroupAdministered", {"group": "billing"}), (A,), ("broker-a:0",), "message_request_mode", 0.97),
        (None, ("broker-a:0",), ("broker-a:0", "broker-a:1"), "queue_count_change", 0.93),
        (None, (A, B), (), "broker_down", 0.6),
        (("client.log", "RocketHeartbeatFailed", {"client_id": "c1"}), (A, B), (), "connection_lost", 0.6),
    ],
)
def test_why_a_proxy_assigns_other_queues(
    line: tuple[str, str, dict[str, object]] | None, before: tuple[str, ...], after: tuple[str, ...], cause: str, confidence: float
) -> None:
    logs = Proxied()
    logs.say("broker-b.log", -90, "RocketBrokerStarted", broker="broker-b", address="10.0.0.2:1")
    logs.begin("c1", 0)
    logs.assign("c1", 1.2, None, *before)
    if line is not None:
        file, name, fields = line
        logs.say(file, 60, name, **fields)
    logs.assign("c1", 80, before, *after)

    row = logs.history().allocation_changes[-1]
    assert (row.cause, row.confidence) == (cause, confidence)
    assert (len(row.evidence) > 1) is (confidence == 0.97 or cause == "connection_lost")


def test_clients_that_ask_one_after_the_other_have_one_rebalance() -> None:
    logs = started("c1", "c2")
    for at, who in ((60, "c1"), (64.9, "c2"), (120, "c1"), (121, "c2")):
        before, after = ((A, B), (A,)) if at < 100 else ((A,), (A, B))
        logs.assign(who, at, before, *after)

    found = [(row.cause, ((row.started_at or 0) - START) / SECOND) for row in logs.history().rebalances]
    assert found == [("consumer_start", 1.2), ("consumer_start", 11.2), ("broker_down", 60.0), ("broker_up", 120.0)]


def test_an_emptied_assignment_counts_once_with_and_without_its_second_line() -> None:
    for second in (True, False):
        logs = started("c1")
        logs.say("client.log", 60, "RocketAssignmentsEmptied", client_id="c1", topic="orders")
        if second:
            logs.assign("c1", 60, (A, B))
        changes = logs.history().allocation_changes
        assert [(row.removed, row.allocated) for row in changes[1:]] == [([A, B], [])]


def test_a_list_without_queues_is_told_by_the_lines_behind_it() -> None:
    logs = Proxied()
    logs.begin("c1", 0)
    logs.say("client.log", 1, "RocketAssignmentsChanged", client_id="c1", topic="orders", share_before=None, share=None)
    for number in (0, 1):
        logs.say("client.log", 1, "RocketQueueAdded", client_id="c1", topic="orders", broker="broker-a", partition=number, mode="POP")

    (row,) = logs.history().allocation_changes
    assert (row.cause, row.added, row.allocated) == ("consumer_start", ["broker-a:0", "broker-a:1"], ["broker-a:0", "broker-a:1"])


def test_a_list_without_queues_and_without_lines_behind_it_is_no_change() -> None:
    logs = started("c1")
    logs.say("client.log", 60, "RocketAssignmentsChanged", client_id="c1", topic="orders", share_before=None, share=None)

    assert len(logs.history().allocation_changes) == 1


def test_a_client_whose_group_no_line_names_has_no_rows() -> None:
    logs = Proxied()
    logs.begin("c1", 0, named=False)
    logs.assign("c1", 1.2, None, A)

    assert logs.history().allocation_changes == []


def test_a_lost_proxy_a_full_cache_and_late_receipts_are_faults() -> None:
    logs = started("c1")
    queue = {"client_id": "c1", "topic": "orders", "broker": "broker-a", "partition": -1}
    for at in (30, 40):
        logs.say("client.log", at, "RocketHeartbeatFailed", client_id="c1")
    logs.say("client.log", 50, "RocketHeartbeatSent", client_id="c1")
    logs.say("client.log", 55, "RocketHeartbeatFailed", client_id="c1")
    logs.say("client.log", 60, "RocketHeartbeatSent", client_id="c1")
    for at in (70, 100, 130):
        logs.say("client.log", at, "RocketQueueQuiet", why="cache_full", **queue)
    logs.say("client.log", 132, "RocketReceiptFailed", what="ack", why="invalid_handle", **queue)
    logs.say("client.log", 400, "RocketHeartbeatSent", client_id="c1")

    found = [
        (row.kind, row.members, ((row.started_at or 0) - START) / SECOND, ((row.ended_at or 0) - START) / SECOND)
        for row in logs.history(until=400).conditions
    ]
    assert found == [
        ("proxy_unreachable", ["c1"], 30.0, 50.0),
        ("consumption_stalled", ["c1"], 70.0, 130.0),
        ("invisible_time_exceeded", ["c1"], 132.0, 132.0),
    ]


def test_a_list_is_one_of_queues_or_tells_none() -> None:
    assert assigned_in(listed(A)) == [QueueText("orders", A)]
    assert assigned_in([]) == []
    assert assigned_in(None) is None


def test_shares_of_a_client_that_logs_no_queue_it_takes_are_owned() -> None:
    logs = Logs()
    for who, at, share in (("c1", 0, (0, 1)), ("c2", 1, (2, 3))):
        logs.start(who, at)
        logs.share(who, at + 0.3, has=share, of=2)
    owned = [row for row in logs.history(until=60).queue_ownership if row.kind == "owned"]

    assert sorted((row.queue, row.owners) for row in owned) == [
        (f"broker-a:{number}", ["c1" if number < 2 else "c2"]) for number in range(4)
    ]


def test_events_of_other_clients_are_not_touched() -> None:
    logs = started("c1")
    logs.start("remoting", 30)
    logs.share("remoting", 30.3, add=[0], has=[0], of=1)

    rows = logs.history().allocation_changes
    assert [(row.client_id, row.topic) for row in rows] == [("c1", "orders"), ("remoting", "orders")]
    assert all(isinstance(event, Event) for event in logs.events)
