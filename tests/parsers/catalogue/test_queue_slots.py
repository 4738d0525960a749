"""Queues and lists of them, as RocketMQ's client libraries print them."""

from __future__ import annotations

from typing import Any

import pytest

from parsers.catalogue.queue_slots import slot_types
from parsers.catalogue.slots import NO

TYPES = slot_types()
GO = 'message_queue:{topic:{name:"orders"}  id:2  broker:{name:"broker-a"}} message_queue:{topic:{name:"orders"} broker:{name:"broker-b"}}'


def queue(broker: str, number: int) -> str:
    return f"MessageQueue [topic=orders, brokerName={broker}, queueId={number}]"


@pytest.mark.parametrize(
    ("text", "queues"),
    [
        ("Assignments{assignmentList=[]}", []),
        ("null", []),
        ("[]", []),
        ("Assignments{assignmentList=[Assignment{messageQueue=broker-a.orders.-1}]}", [queue("broker-a", -1)]),
        (f"[{queue('broker-a', 0)} {queue('broker-a', 1)}]", [queue("broker-a", 0), queue("broker-a", 1)]),
        (GO, [queue("broker-a", 2), queue("broker-b", 0)]),
        ('[{"topic":"orders","brokerName":"broker-a","queueId":3}]', [queue("broker-a", 3)]),
        ("Assignments { _assignmentList = System.Collections.Generic.List`1[Org.Apache.Rocketmq.Assignment] }", None),
    ],
)
def test_lists_of_each_library_have_one_form(text: str, queues: list[str] | None) -> None:
    parse = TYPES["assignments"].parse
    assert parse is not None
    assert parse(text) == queues


@pytest.mark.parametrize(
    ("kind", "text", "found"),
    [
        ("queue", "broker-a.orders.-1", ("broker-a", "orders", -1)),
        ("queue", "eu.broker-a.orders.3", ("eu.broker-a", "orders", 3)),
        ("queue", "orders@broker-a@3", ("broker-a", "orders", 3)),
        ("queue", "broker-a.orders", NO),
        ("queue", "broker-a.orders.99999999999", NO),
        ("go_queue", 'topic:{name:"orders"} id:2 broker:{name:"b"}', ("b", "orders", 2)),
        ("go_queue", "topic:{}", NO),
        ("grpc_client", "host-a@7311@0@k1x9v2", "host-a@7311@0@k1x9v2"),
        ("grpc_client", "%!d(string=host-a@7311@0@k1)", NO),
        ("name", "%RETRY%billing", "%RETRY%billing"),
        ("name", "two words", NO),
    ],
)
def test_names_are_read(kind: str, text: str, found: Any) -> None:
    parse = TYPES[kind].parse
    assert parse is not None
    read = parse(text)
    assert (read["broker"], read["topic"], read["partition"]) == found if isinstance(read, dict) else read is found or read == found
