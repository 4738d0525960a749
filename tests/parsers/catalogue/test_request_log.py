"""Lines of the request log: what is read of them, whatever ids hold, and what is left alone."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parsers.catalogue.catalogue import Match, catalogue
from parsers.catalogue.loading import read_yaml
from tests.parsers.reading.source_files import read_bytes

CATALOGUE = catalogue()
SAMPLES = [
    (sample["line"], sample["fields"])
    for area in read_yaml()["areas"]
    for entry in area["messages"]
    if entry["id"].startswith("kafka.request.")
    for sample in entry["samples"]
]
MEMBER = "c-1-6d2f0b2e-57aa-45a7-85fb-85adbdbf2a2c"
ODD_IDS = ("my group", "a (b) [c]", 'it\'s "that"', "a/b\\c", "заказы 注文 😀", "x" * 255, "{a}; b: c=d", "%s")
TIMES = {
    "totalTimeMs": 12.5,
    "requestQueueTimeMs": 0.5,
    "localTimeMs": 1.5,
    "remoteTimeMs": 10,
    "throttleTimeMs": 0,
    "responseQueueTimeMs": 0.25,
    "sendTimeMs": 0.25,
}
ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=40)
LIMITS = settings(max_examples=60, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def match(line: str) -> Match | None:
    return CATALOGUE.match("kafka.request.logger", line)


def completed(api: str, key: int, request: Any, response: Any = None, **changes: Any) -> str:
    """A line as brokers write it since 2.8."""
    header = {"requestApiKey": key, "requestApiVersion": 4, "correlationId": 7, "clientId": "c-1", "requestApiKeyName": api}
    document = {
        "isForwarded": False,
        "requestHeader": header | changes.pop("header", {}),
        "request": request,
        "response": {"throttleTimeMs": 0, "errorCode": 0} if response is None else response,
        "connection": "10.0.0.1:9092-10.0.0.2:51000-3",
        **TIMES,
        **changes,
    }
    return "Completed request:" + json.dumps(document, separators=(",", ":"), ensure_ascii=False)


def heartbeat(response: Any = None, **changes: Any) -> str:
    own = {name: changes.pop(name) for name in ("groupId", "generationId", "memberId", "groupInstanceId") if name in changes}
    request = {"groupId": "orders", "generationId": 3, "memberId": MEMBER, "groupInstanceId": None} | own
    return completed("HEARTBEAT", 12, request, response, **changes)


def test_times_connection_and_error_of_a_request() -> None:
    found = match(heartbeat({"throttleTimeMs": 0, "errorCode": 27}))
    assert found is not None
    assert (found.message_id, found.event, found.witness) == ("kafka.request.heartbeat_completed", "HeartbeatCompleted", "request")
    assert found.columns == {"group": "orders", "generation": 3, "member_id": MEMBER, "client_id": "c-1"}
    assert (found.fields["error_code"], found.fields["error"]) == (27, "REBALANCE_IN_PROGRESS")
    assert (found.fields["total_ms"], found.fields["remote_ms"], found.fields["client_host"]) == (12.5, 10, "10.0.0.2")


def test_an_error_without_a_name_keeps_its_number() -> None:
    found = match(heartbeat({"throttleTimeMs": 0, "errorCode": 999}))
    assert found is not None
    assert found.fields["error"] == "ERROR_999"


@LIMITS
@given(group=ids, member=ids, client=ids, instance=st.none() | ids)
def test_ids_in_json_come_out_whole(group: str, member: str, client: str, instance: str | None) -> None:
    found = match(heartbeat(groupId=group, memberId=member, groupInstanceId=instance, header={"clientId": client}))
    assert found is not None
    assert (found.columns["group"], found.columns["member_id"], found.columns["client_id"]) == (group, member, client)
    assert found.columns.get("instance_id") == instance


def in_text(line: str, group: str, odd: str) -> str:
    """A line in the older form, with another group id."""
    for form in ("group_id={},", "group_id={}}}", "groupId='{}',", "coordinator_key={},", "group_id={}]"):
        line = line.replace(form.format(group), form.format(odd))
    return line


@pytest.mark.parametrize("odd", ODD_IDS)
@pytest.mark.parametrize(
    ("line", "group"), [(line, fields["group"]) for line, fields in SAMPLES if "group" in fields and "RequestHeader(" in line]
)
def test_groups_in_text_come_out_whole(line: str, group: str, odd: str) -> None:
    changed = in_text(line, group, odd)
    assert changed != line
    found = match(changed)
    assert found is not None
    assert found.columns["group"] == odd


@pytest.mark.parametrize(("line", "group"), [(line, fields["group"]) for line, fields in SAMPLES if "group" in fields])
def test_a_line_that_is_cut_is_not_read_as_another(line: str, group: str) -> None:
    """Of a cut line nothing is told, or what is told is right."""
    for end in range(20, len(line), 7):
        found = match(line[:end])
        assert found is None or found.columns.get("group") == group


@pytest.mark.parametrize(
    "line",
    [
        heartbeat(groupId=5),
        heartbeat(groupId=["orders"]),
        heartbeat(memberId={"a": 1}),
        heartbeat(groupInstanceId=3),
        heartbeat(generationId=2**63),
        heartbeat(generationId=True),
        heartbeat(header={"clientId": 12}),
        heartbeat(header={"correlationId": 2**80}),
        heartbeat(totalTimeMs="x"),
        heartbeat(totalTimeMs=-1),
        heartbeat(totalTimeMs=float("inf")),
        heartbeat({"errorCode": "none"}),
        heartbeat({"errorCode": [1]}),
        heartbeat([]),
        completed("JOIN_GROUP", 11, {"groupId": "g", "memberId": "", "protocols": {"a": 1}}),
        completed("JOIN_GROUP", 11, {"groupId": "g", "memberId": "", "protocols": [{"name": 5}]}),
        completed("LEAVE_GROUP", 13, {"groupId": "g", "members": [{"memberId": 5}]}),
        completed("HEARTBEAT", 12, "text"),
        "Completed request:{",
        "Completed request:[]",
        "Completed request:{}",
        "Completed request:RequestHeader(apiKey=HEARTBEAT, apiVersion=1, clientId=a",
        "Processor 1 received request: ",
        "Processor x received request: {}",
    ],
)
def test_what_no_broker_prints_is_left_alone(line: str) -> None:
    assert match(line) is None
    # A line that says which request it was is missed, and said to be missed.
    assert CATALOGUE.unread_request(line) == ("piKey" in line)


OF_RECORDS = re.compile(r'"requestApiKey":7[89],')
"""Requests of share consumers, of which only those with trouble are read: of one that is cut, nobody knows."""


@pytest.mark.parametrize("line", [line for line, _ in SAMPLES if not OF_RECORDS.search(line)])
def test_a_request_that_is_cut_is_known_to_be_unread(line: str) -> None:
    assert not CATALOGUE.unread_request(line)
    for end in range(line.index("client") + 30, len(line), 11):
        assert CATALOGUE.unread_request(line[:end]) == (match(line[:end]) is None)


@pytest.mark.parametrize(
    "line",
    [
        completed("FIND_COORDINATOR", 10, {"key": "tx-1", "keyType": 1}),
        "Completed request:RequestHeader(apiKey=FIND_COORDINATOR, apiVersion=2, clientId=p, correlationId=1) -- "
        "{coordinator_key=tx-1,coordinator_type=1},response:{} from connection a",
    ],
)
def test_a_transaction_that_looks_for_its_coordinator_is_no_groups_request(line: str) -> None:
    assert match(line) is None
    assert not CATALOGUE.unread_request(line)


@pytest.mark.parametrize("damage", [lambda text: text[:-40], lambda text: text.replace('"memberId":', '"memberId";')])
def test_a_damaged_request_is_rejected_at_its_place(tmp_path: Path, damage: Callable[[str], str]) -> None:
    stamp = "[2026-11-21 09:07:%02d,040] DEBUG %s (kafka.request.logger)\n"
    lines = [stamp % (1, heartbeat()), stamp % (2, damage(heartbeat())), stamp % (3, heartbeat())]
    reading = read_bytes(tmp_path, "".join(lines).encode())

    assert reading.events.num_rows == 2
    assert [(row["line"], row["byte_offset"], row["reason"]) for row in reading.rejected.to_pylist()] == [
        (2, len(lines[0].encode()), "request not understood")
    ]


def test_other_requests_are_left_alone() -> None:
    assert match(completed("FETCH", 1, {"replicaId": -1})) is None
    assert match("Completed request:RequestHeader(apiKey=FETCH, apiVersion=7, clientId=a, correlationId=12) -- {replica_id=-1}") is None


def test_topics_of_a_subscription_come_from_its_bytes() -> None:
    """Version 1 of the subscription of consumers: version, topics, user data, owned partitions (ConsumerProtocolSubscription.json)."""
    protocol = {"name": "range", "metadata": "AAEAAAACAAFhAAFi/////wAAAAA="}
    request = {"groupId": "g", "memberId": "", "protocolType": "consumer", "protocols": [protocol], "sessionTimeoutMs": 6000}
    found = match(completed("JOIN_GROUP", 11, request, {"errorCode": 0, "generationId": 4, "memberId": MEMBER, "leader": MEMBER}))
    assert found is not None
    assert (found.fields["topics"], found.fields["protocols"]) == (["a", "b"], ["range"])
    assert (found.columns["member_id"], found.fields["response_generation"]) == (MEMBER, 4)


@LIMITS
@given(metadata=st.binary(max_size=60))
def test_bytes_that_are_no_subscription_name_no_topics_and_break_nothing(metadata: bytes) -> None:
    protocol = {"name": "own", "metadata": base64.b64encode(metadata).decode()}
    found = match(completed("JOIN_GROUP", 11, {"groupId": "g", "memberId": "", "protocolType": "consumer", "protocols": [protocol]}))
    assert found is not None
    assert all(isinstance(topic, str) for topic in found.fields.get("topics", ()))


def test_several_members_leave_at_once() -> None:
    members = [{"memberId": MEMBER, "groupInstanceId": None}, {"memberId": "", "groupInstanceId": "i-2"}]
    answers = [{"memberId": MEMBER, "errorCode": 0}, {"memberId": "", "errorCode": 25}]
    found = match(completed("LEAVE_GROUP", 13, {"groupId": "g", "members": members}, {"errorCode": 0, "members": answers}))
    assert found is not None
    assert (found.fields["members"], found.fields["error"]) == ([MEMBER, "i-2"], "UNKNOWN_MEMBER_ID")
    assert "member_id" not in found.columns
