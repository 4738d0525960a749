"""Names that look like words, stand in lists, are printed letter by letter or have several forms are hidden in texts, too."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from parsers.reading.reader import ReadOptions, find_files, read_file
from parsers.redaction.pseudonyms import PSEUDONYM, REDACTED_KINDS, Redaction
from parsers.redaction.records import opened

KEY = b"a key of sixteen bytes"
ALL = Redaction(REDACTED_KINDS, KEY)
CLIENT = "INFO [Consumer clientId=zorba-1, groupId=zorba-g]"
OF_CLIENT = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
MADE_OF_WORDS = (
    "order_events",
    "order-events",
    "user.events",
    "UserService",
    "orderEvents",
    "ORDER_EVENTS",
    "user-service.topic",
    "order.events-3",
)


def name(text: str) -> str:
    return ALL.pseudonym(text)


def read(folder: Path, kinds: tuple[str, ...] | None, *lines: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Events and unknown records of a log."""
    (folder / "server.log").write_text("".join(f"[2026-11-21 10:00:0{n},000] {line}\n" for n, line in enumerate(lines)), encoding="utf-8")
    options = ReadOptions(redaction=Redaction(kinds, KEY) if kinds else None)
    chunks = [chunk for source in find_files([str(folder)], options).files for chunk in read_file(source, options)]
    return [row for chunk in chunks for row in chunk.events.to_pylist()], [row for chunk in chunks for row in chunk.unknown.to_pylist()]


@pytest.mark.parametrize("word", MADE_OF_WORDS)
def test_a_name_made_of_plain_words_is_hidden_in_all_texts_of_its_record(word: str) -> None:
    own: dict[str, str] = {}
    ALL.group(word, own)
    for strict in (None, False, True):
        assert (
            ALL.text(f"group {word} rebalances, {word} is done", own, strict=strict)
            == f"group {name(word)} rebalances, {name(word)} is done"
        )


@pytest.mark.parametrize("word", MADE_OF_WORDS)
def test_what_nobody_understands_keeps_no_name_made_of_plain_words(word: str) -> None:
    assert ALL.text(f"Lost {word}, retrying", {}, strict=True) == f"Lost {name(word)}, retrying"
    assert word not in ALL.path(f"logs/{word}/server.log")


def test_words_that_are_tied_to_one_are_hidden_in_evidence_that_does_not_say_what_they_are() -> None:
    assert ALL.text("lost order_events and order-events-3", {}) == f"lost {name('order_events')} and {name('order-events-3')}"


@pytest.mark.parametrize(
    "text",
    [
        "UNKNOWN_MEMBER_ID of FIND_COORDINATOR since PreparingRebalance, not re-joined by GroupCoordinator",
        "RebalanceInProgressException in Sender.java and ReplicaManager.scala (state.change.logger)",
        "request.timeout.ms, max.poll.interval.ms and fetch.min.bytes of controller_epoch 3",
        "2026-11-21 3.9.1 df8b1893-2908-40e9-ad6e-979237b5e06a __consumer_offsets-3, in-flight and read-only",
        "kafka-request.log, server.log and state-change.log",
    ],
)
def test_what_products_print_stays(text: str) -> None:
    assert ALL.text(text, {}, strict=True) == ALL.text(text, {}) == text


@pytest.mark.parametrize(
    "path", ["state-change.log.3", "kafka-logs/kafka-request.log.gz", "rocketmq_client.log", "log-cleaner.log.2026-11-21"]
)
def test_files_that_products_write_keep_their_names(path: str) -> None:
    assert ALL.path(path) == path


def test_of_a_log_no_name_made_of_plain_words_is_left(tmp_path: Path) -> None:
    events, unknown = read(
        tmp_path,
        REDACTED_KINDS,
        "INFO [Consumer clientId=UserService, groupId=order_events] (Re-)joining group " + OF_CLIENT,
        "INFO [Consumer clientId=UserService, groupId=order_events] Adding newly assigned partitions: user.events-0, user-events-1 "
        + OF_CLIENT,
        "INFO [GroupCoordinator 1]: Nobody knows order_events or UserService or user.events (kafka.coordinator.group.GroupCoordinator)",
    )
    assert [row["event"] for row in events] == ["ClientJoining", "ClientAssigned"]
    assert len(unknown) == 1
    left = json.dumps([events, unknown], default=str)
    assert not [word for word in ("order_events", "UserService", "user.events", "user-events") if word in left]


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("FindCoordinatorRequestData(key='', keyType=0, coordinatorKeys=[pay-g, b.g])", ["pay-g", "b.g"]),
        ("FindCoordinatorRequestData(key='pay-g', keyType=0, coordinatorKeys=[])", ["pay-g"]),
        (
            "FindCoordinatorResponseData(coordinators=[Coordinator(key='pay-g', nodeId=1), Coordinator(key='b.g', nodeId=2)])",
            ["pay-g", "b.g"],
        ),
        ("{coordinator_key=pay-g,coordinator_type=0}", ["pay-g"]),
        ("(type=FindCoordinatorRequest, coordinatorKey=pay-g, coordinatorType=GROUP)", ["pay-g"]),
        ('"request":{"keyType":0,"coordinatorKeys":["pay-g","b.g"]}', ["pay-g", "b.g"]),
        ('"response":{"coordinators":[{"key":"pay-g","nodeId":1}]}', ["pay-g"]),
        ("DescribeGroupsRequestData(groups=['pay-g', 'b.g'], includeAuthorizedOperations=false)", ["pay-g", "b.g"]),
        ("ConsumerGroupDescribeRequestData(groupIds=[pay-g])", ["pay-g"]),
        ("{group_ids=[pay-g,b.g]}", ["pay-g", "b.g"]),
        ("DeleteGroupsRequestData(groupsNames=[pay-g, order_events, consumer])", ["pay-g", "order_events", "consumer"]),
        ("OffsetFetchRequestData(groups=[OffsetFetchRequestGroup(groupId='pay-g', topics=null)])", ["pay-g"]),
        ("FindCoordinatorRequestData(key='', keyType=1, coordinatorKeys=[pay-tx]), groups=[pay-g]", ["pay-g"]),
        ("{coordinator_key=pay-tx,coordinator_type=1}", []),
        ("groups=[], groupIds=[]", []),
    ],
)
def test_groups_in_bodies_of_requests_are_hidden_where_only_groups_are(text: str, gone: list[str]) -> None:
    hidden = text
    for each in gone:
        hidden = hidden.replace(each, name(each))
    assert Redaction(["groups"], KEY).text(text, {}) == hidden


@pytest.mark.parametrize("kinds", [REDACTED_KINDS, ("client_ids",)], ids=["all", "some"])
@pytest.mark.parametrize("key", ["leader", "leaderId", "leader_id", "memberId", "instanceId"])
def test_a_leader_that_there_is_none_of_is_no_name(kinds: tuple[str, ...], key: str) -> None:
    text = f"{key}=-1, offset -1, epoch=-1"
    assert Redaction(kinds, KEY).text(text, {}) == text


def test_a_record_without_a_leader_keeps_its_other_numbers() -> None:
    own: dict[str, str] = {}
    assert ALL.member("-1", own) == ALL.client("-1", own) == ALL.group("-1", own) == "-1"
    assert ALL.text("offset -1", own) == "offset -1"


def spelt(text: str) -> str:
    return f"[{', '.join(text)}]"


@pytest.mark.parametrize("kinds", [REDACTED_KINDS, ("topics",)], ids=["all", "some"])
@pytest.mark.parametrize(
    ("listed", "expected"),
    [
        ("pay-0", f"{name('pay')}-0"),
        ("order_events-0, pay-x-12", f"{name('order_events')}-0, {name('pay-x')}-12"),
        ("events-1", f"{name('events')}-1"),
    ],
)
def test_partitions_that_a_client_spells_are_read_as_what_they_spell(
    tmp_path: Path, kinds: tuple[str, ...], listed: str, expected: str
) -> None:
    [event], unknown = read(
        tmp_path, kinds, f"{CLIENT} The pause flag in partitions {spelt(listed)} will be removed due to revocation. {OF_CLIENT}"
    )
    assert not unknown
    assert f"partitions {spelt(expected)} will" in event["text"]
    assert "".join(json.loads(event["fields"])["detail"]) == expected


@pytest.mark.parametrize("text", ["brokers [1, 2, 3] of [a, b]", "[x, y, z]"])
def test_single_letters_that_spell_no_partition_stay(text: str) -> None:
    assert Redaction(["topics"], KEY).text(text, {}) == text


@pytest.mark.parametrize(
    "form", ["2001:db8::1", "2001:DB8::1", "2001:db8:0:0:0:0:0:1", "2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1%eth0"]
)
def test_an_address_has_one_pseudonym_whatever_its_form(form: str) -> None:
    hosts = Redaction(["hosts"], KEY)
    shown = name("2001:db8::1")
    for redaction in (ALL, hosts):
        assert redaction.host(form, {}) == shown
        assert redaction.host(f"/{form}", {}) == f"/{shown}"
        assert redaction.host(f"[{form}]:9092", {}) == f"[{shown}]:9092"
        assert redaction.text(f"lost {form}, or [{form}]:9092", {}) == f"lost {shown}, or [{shown}]:9092"
    assert hosts.client(f"{form}@4711", {}) == f"{shown}@4711"
    assert "%" in form or ALL.path(f"logs/{form}/server.log") == f"logs/{shown}/server.log"


REGISTERED = (
    "2026-11-21 10:00:00 INFO RemotingExecutorThread_1 - new broker registered, BrokerIdentityInfo [clusterName=zorba, brokerAddr={}]"
)


def registered(folder: Path, redaction: Redaction, address: str) -> pa.RecordBatch:
    """The event of a name server's line that a broker has come."""
    (folder / "namesrv.log").write_text(f"{REGISTERED.format(address)} HAService: 10.0.3.17:10912\n", encoding="utf-8")
    options = ReadOptions(redaction=redaction)
    [chunk] = [chunk for source in find_files([str(folder)], options).files for chunk in read_file(source, options)]
    return chunk.events


def test_sealed_addresses_are_known_by_their_pseudonyms_again(tmp_path: Path) -> None:
    events = registered(tmp_path, ALL, "2001:db8:0:0:0:0:0:1:10911")
    assert name("2001:db8::1") in events["text"][0].as_py()
    known = opened(Redaction(REDACTED_KINDS, KEY), events)
    assert {shown: ALL.pseudonym(clear) for shown, clear in known.items()} == {shown: shown for shown in known}
    used = {found[0] for fields in events["fields"].to_pylist() for found in PSEUDONYM.finditer(json.loads(fields)["address"])}
    assert used
    assert used <= set(known)


def test_pseudonyms_in_a_log_stay_where_their_kind_does(tmp_path: Path) -> None:
    events = registered(tmp_path, Redaction(["groups"], KEY), "name-7kq2m9x4tbhd:10911")
    assert json.loads(events["fields"][0].as_py())["address"] == "name-7kq2m9x4tbhd:10911"


@pytest.mark.parametrize(
    "part",
    [
        *("groups=[a,", "coordinatorKeys=[", "key='a',", "[a, ", "[p, a, y, -, 0, ", "fe80::1%eth0 "),
        *("a-b_", "aB", "a.b.ms", "a.log", "aException", "leader=-1 "),
    ],
)
def test_a_hostile_line_of_a_megabyte_is_read_at_once(part: str) -> None:
    """With a pattern that tries again from every place each would take many minutes."""
    text = part * (1_000_000 // len(part))
    begun = time.process_time()
    assert ALL.text(text, {}) is not None
    assert time.process_time() - begun < 60
