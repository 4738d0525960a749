"""Records in texts that are written in codes or in pieces."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

from parsers.formats.pages import code_wrappers
from tests.parsers.reading.source_files import read_bytes

MEMBER = "c-1-8b119f61-cff5-480a-9524-eafb0213e6f9"
BROKER = "INFO [GroupCoordinator 2]:"
COORDINATOR = "(kafka.coordinator.group.GroupCoordinator)"
RECORDS = (
    f"[2026-11-21 09:07:51,301] {BROKER} Preparing to rebalance group orders in state PreparingRebalance with old generation 4 "
    f"(__consumer_offsets-10) (reason: removing member {MEMBER} on heartbeat expiration) {COORDINATOR}",
    f"[2026-11-21 09:07:54,301] {BROKER} Stabilized group orders generation 5 (__consumer_offsets-10) with 3 members {COORDINATOR}",
    f"[2026-11-21 09:07:54,305] {BROKER} Assignment received from leader {MEMBER} for group orders for generation 5. "
    f"The group has 3 members, 0 of which are static. {COORDINATOR}",
)
CLIENT = (
    "[2026-11-21 09:07:51,301] INFO [Consumer clientId=c-1, groupId=orders] (Re-)joining group",
    "[2026-11-21 09:07:54,301] INFO [Consumer clientId=c-1, groupId=orders] Successfully joined group with generation "
    f"Generation{{generationId=5, memberId='{MEMBER}', protocol='range'}}",
    "[2026-11-21 09:07:54,305] INFO [Consumer clientId=c-1, groupId=orders] Adding newly assigned partitions: orders-0, orders-1",
)


def _escaped(text: str) -> str:
    return "".join(f"\\u{ord(each):04x}" if each in "[]()<>&'" else each for each in text)


def _hexed(text: str) -> str:
    return "".join(f"\\x{ord(each):02x}" if each in "[](){}'" else each for each in text)


def _rich(text: str) -> str:
    return text.replace("\\", "\\\\").replace("{", "\\{").replace("}", "\\}")


def _editor(records: tuple[str, ...]) -> str:
    body = "\\\n".join(map(_rich, records))
    tables = "{\\fonttbl\\f0\\fmodern Courier;}\n{\\colortbl;\\red255\\green255\\blue255;}"
    return f"{{\\rtf1\\ansi\\ansicpg1252\n{tables}\n\\f0\\fs24 \\cf0 {body}\\\n}}\n"


def _word_processor(records: tuple[str, ...]) -> str:
    body = "\n".join(f"\\pard\\plain {{\\f1\\fs20 {_rich(each)}}}\\par" for each in records)
    return f"{{\\rtf1\\ansi\\deff0{{\\fonttbl{{\\f0 Arial;}}}}\n{body}\n}}\n"


def _printed(records: tuple[str, ...], glue: str = "") -> str:
    printed = []
    for each in records:
        mark = '"' if "'" in each else "'"
        pieces = [f"{mark}{piece}{mark}" for piece in _pieces(each)]
        printed.append("{'host': 'kafka-2',\n  'message': " + f"{glue}\n             ".join(pieces) + "}")
    return "[" + ",\n ".join(printed) + "]\n"


def _pieces(text: str) -> list[str]:
    words = textwrap.wrap(text, 60, break_long_words=False, break_on_hyphens=False)
    return [f"{piece} " for piece in words[:-1]] + words[-1:]


WRITERS = {
    "web_form": lambda records: "".join(f"payload={quote_plus(each)}\n" for each in records),
    "address": lambda records: "".join(f"GET /log?line={quote(each)}\n" for each in records),
    "escapes": lambda records: "".join(f"{_escaped(each)}\n" for each in records),
    "hex_escapes": lambda records: "".join(f"{_hexed(each)}\n" for each in records),
    "editor": _editor,
    "word_processor": _word_processor,
    "python_printer": _printed,
    "node_printer": lambda records: _printed(records, " +"),
    "markdown": lambda records: "".join(each.replace("[", "\\[").replace("_", "\\_") + "\n" for each in records),
}


@pytest.mark.parametrize("writer", WRITERS)
@pytest.mark.parametrize("records", [RECORDS, CLIENT], ids=["broker", "client"])
def test_records_in_codes(tmp_path: Path, records: tuple[str, ...], writer: str) -> None:
    rows = read_bytes(tmp_path, WRITERS[writer](records).encode()).rows("group", "at")
    assert [(row["group"], f"{row['at']:%H:%M:%S}") for row in rows] == [("orders", each[12:20]) for each in records]


def test_a_percent_sign_is_no_code() -> None:
    assert list(code_wrappers(b"disk 80%25 full\nuser 100%\n")) == []
    assert list(code_wrappers(b"  'a',\n  'b',\n  'c'\n")) == []


NODE = (
    (
        "Runner",
        "The coordinator is not aware of this member, re-joining the group",
        {"groupId": "orders", "memberId": MEMBER, "error": "not known"},
    ),
    ("Consumer", 'Crash: KafkaJSProtocolError: "orders" is not known', {"groupId": "orders", "retryCount": 0}),
    ("ConsumerGroup", "Consumer has joined the group", {"groupId": "orders", "memberId": MEMBER, "leaderId": MEMBER, "isLeader": True}),
)


def _nest(number: int, namespace: str, message: str, values: dict[str, object]) -> str:
    beside = json.dumps({"timestamp": f"2026-11-21T09:07:5{number}.301Z", "logger": "kafkajs", **values})
    return f"[Nest] 17  - 11/21/2026, 9:07:5{number} AM     LOG [ServerKafka] INFO [{namespace}] {message} {beside} +3ms"


def _logged(number: int, namespace: str, message: str, values: dict[str, object]) -> str:
    log = {"timestamp": f"2026-11-21T09:07:5{number}.301Z", "logger": "kafkajs", "message": message, **values}
    return json.dumps({"namespace": namespace, "level": 4, "label": "INFO", "log": log})


def _bunyan(number: int, namespace: str, message: str, values: dict[str, object]) -> str:
    head = {"name": "shop", "hostname": "web-1", "pid": 21, "level": 30, "namespace": namespace}
    return json.dumps({**head, **values, "msg": message, "time": f"2026-11-21T09:07:5{number}.301Z", "v": 0}, separators=(",", ":"))


def _pretty(number: int, namespace: str, message: str, values: dict[str, object]) -> str:
    pairs = {"namespace": namespace, **values, "memberAssignment": {"stock": [0, 1]}}
    beside = "".join(f"    {key}: {json.dumps(value, indent=2)}\n".replace("\n  ", "\n      ") for key, value in pairs.items())
    return f"[2026-11-21 09:07:5{number}.301 +0000] INFO (shop/21 on web-1): {message}\n{beside.rstrip()}"


@pytest.mark.parametrize("written", [_nest, _logged, _bunyan, _pretty])
def test_kafkajs_through_other_loggers(tmp_path: Path, written: Callable[[int, str, str, dict[str, object]], str]) -> None:
    text = "".join(f"{written(number, *each)}\n" for number, each in enumerate(NODE))
    rows = read_bytes(tmp_path, text.encode()).rows("group", "at", "message")
    assert [(row["group"], f"{row['at']:%H:%M:%S}") for row in rows] == [("orders", f"09:07:5{number}") for number in range(3)]
    assert [row["message"].rpartition(".")[2] for row in rows] == ["heartbeat_failed", "crashed", "joined"]


@pytest.mark.parametrize("written", [_nest, _logged, _bunyan, _pretty])
def test_kafkajs_tells_refused_heartbeats_through_other_loggers(
    tmp_path: Path, written: Callable[[int, str, str, dict[str, object]], str]
) -> None:
    values: dict[str, object] = {"clientId": "shop", "error": "The group is rebalancing, so a rejoin is needed", "size": 10}
    text = written(1, "Connection", "Response Heartbeat(key: 12, version: 3)", values)
    (row,) = read_bytes(tmp_path, f"{text}\n".encode()).rows("client_id", "message")
    assert (row["client_id"], row["message"].rpartition(".")[2]) == ("shop", "response_rebalancing")
