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


def test_lines_that_name_neither_client_nor_group_are_those_of_their_log() -> None:
    """C++ tells each queue by itself, and its group once."""
    logs = Logs()
    logs.say("cpp.log", 0, "RocketConsumerStarted", group="billing")
    for at, name, broker in ((0.2, "Added", "broker-a"), (0.21, "Added", "broker-b"), (120, "Removed", "broker-b")):
        why = {"why": "not_in_share"} if name == "Removed" else {}
        logs.say("cpp.log", at, f"RocketQueue{name}", topic="orders", partition=-1, broker=broker, mode="POP_BY_QUEUE", **why)
    for at in (180, 200):
        logs.say("cpp.log", at, "RocketHeartbeatFailed")
    history = logs.history(until=210)

    assert causes(history) == [("cpp.log", "consumer_start", ["cpp.log"]), ("cpp.log", "broker_down", [])]
    assert [(row.group, row.added, row.removed) for row in history.allocation_changes] == [("billing", [A, B], []), ("billing", [], [B])]
    assert [(row.kind, row.group, row.members) for row in history.conditions] == [("proxy_unreachable", "billing", ["cpp.log"])]


def test_lines_of_a_log_with_two_groups_are_left_to_none() -> None:
    logs = Logs()
    for group in ("billing", "audit"):
        logs.say("cpp.log", 0, "RocketConsumerStarted", group=group)
    logs.say("cpp.log", 1, "RocketQueueAdded", topic="orders", partition=-1, broker="broker-a", mode="POP_BY_QUEUE")

    assert logs.history().allocation_changes == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (  # it was not heard in time, and subscribes again
            [("told", 30, {"why": "expired"}), ("subscribed", 50, {"subscribed": True})],
            [("lite_subscription_lost", ["c1"], 30.0, 50.0)],
        ),
        ([("told", 30, {"why": "expired"})], [("lite_subscription_lost", ["c1"], 30.0, None)]),
        ([("told", 30, {"why": "expired"})], []),  # its log does not go on: it is gone
        ([("told", 30, {"why": "untold", "lite_topic": "s-1"})], [("lite_subscription_lost", ["c1"], 30.0, None)]),
        (  # a lite topic that expires, or a client that closes
            [("told", 30, {"why": "notified", "lite_topic": "s-1"}), ("told", 31, {"why": "ended"})],
            [],
        ),
        ([("told", 30, {"why": "excluded", "lite_topic": "s-1", "holder": "c2"})], []),
        (
            [
                ("told", 30, {"why": "excluded", "lite_topic": "s-1", "holder": "c2"}),
                ("told", 40, {"why": "excluded", "lite_topic": "s-1", "holder": "c1", "client_id": "c2"}),
            ],
            [("lite_topic_contended", ["c1", "c2"], 30.0, 40.0)],
        ),
        (
            [("told", at, {"why": "events_full", "group": None}) for at in (30, 60, 90)],
            [("consumption_stalled", ["c1"], 30.0, 90.0)],
        ),
        (  # the line names no client, but its log has only one
            [("refused", 30, {"what": "subscribe", "lite_topic": "s-1"}), ("refused", 40, {"what": "subscribe", "lite_topic": "s-2"})],
            [("lite_subscription_refused", ["c1"], 30.0, 40.0)],
        ),
        ([("refused", 30, {"what": "unsubscribe", "lite_topic": "s-1"})], []),
    ],
)
def test_lite_topics_that_a_client_lost_or_did_not_get_are_faults(
    lines: list[tuple[str, float, dict[str, object]]], expected: list[object]
) -> None:
    logs = Proxied()
    logs.begin("c1", 0)
    for what, at, values in lines:
        if what == "told":
            logs.say("broker", at, "RocketLiteTold", **{"group": "billing", "topic": "sessions", "client_id": "c1", **values})
        elif what == "subscribed":
            logs.say("client.log", at, "RocketLiteSubscribed", client_id="c1", topic="sessions", lite_topic="s-1", **values)
        else:
            logs.say("client.log", at, "RocketLiteRefused", **values)
    if expected:
        logs.say("client.log", 95, "RocketConsumptionCounted", group="billing", client_id="c1")
    found = [
        (row.kind, row.members, ((row.started_at or 0) - START) / SECOND, None if row.ended_at is None else (row.ended_at - START) / SECOND)
        for row in logs.history(until=400).conditions
    ]

    assert found == expected
