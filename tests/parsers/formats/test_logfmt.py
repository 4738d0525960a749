"""Keys and values in a line: logfmt and logrus' form for terminals."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from parsers.formats.layout_votes import vote
from parsers.formats.layouts import logfmt_layout
from parsers.formats.logfmt import logfmt_document

QUEUE = "MessageQueue [topic=orders, brokerName=broker-a, queueId=1]"


@pytest.mark.parametrize(
    ("line", "document"),
    [
        ('time="2029-07-26T02:09:10Z" level=info msg="lock MessageQueue" lockOK=true', {"msg": "lock MessageQueue", "lockOK": "true"}),
        ("INFO[1670] lock MessageQueue                            lockOK=true", {"level": "INFO", "msg": "lock MessageQueue"}),
        ("ERRO[0003] request timeout", {"level": "ERROR", "msg": "request timeout"}),
        (f'WARN[0003] a  q="[{QUEUE}]" n=1', {"level": "WARN", "q": f"[{QUEUE}]", "n": "1"}),
        ('level=info msg="said \\"no\\"" empty= time=now', {"msg": 'said "no"', "empty": "", "time": "now"}),
    ],
)
def test_values_are_read_by_key(line: str, document: dict[str, str]) -> None:
    found = logfmt_document(line)

    assert found is not None
    assert document.items() <= found.items()


@pytest.mark.parametrize(
    "line",
    [
        "level=info and then a sentence",
        "key=value other=value",
        'time="2029-07-26T02:09:10Z" level=info without a message',
        "INFO[abc] text",
        "2029-07-26 02:09:10 INFO main - level=info msg=x",
        'level=info msg="never closed',
        "",
    ],
)
def test_other_texts_are_none(line: str) -> None:
    assert logfmt_document(line) is None


def test_a_known_message_has_its_values_behind_it_in_its_own_order() -> None:
    line = f'time="2029-07-26T02:09:10Z" level=warning msg="do defaultConsumer, add a new mq failed" MessageQueue="{QUEUE}" consumerGroup=g'

    header = logfmt_layout().read(line)

    assert header is not None
    assert header.level == "WARN"
    assert header.message == f"do defaultConsumer, add a new mq failed; consumerGroup: g, MessageQueue: {QUEUE}"
    assert header.stamp is not None
    assert header.date is not None
    local = header.date.read(header.stamp).local_us
    assert local is not None
    assert datetime.fromtimestamp(local / 1e6, UTC) == datetime(2029, 7, 26, 2, 9, 10, tzinfo=UTC)


def test_a_message_that_no_library_is_known_to_log_is_no_record() -> None:
    assert logfmt_layout().read('level=info msg="listening" port=80') is None


def test_a_file_in_the_form_of_terminals_is_told() -> None:
    lines = ["INFO[0001] receive broker's notification to consumer group  consumerGroup=billing"] * 3

    assert vote(lines).layout is logfmt_layout()
