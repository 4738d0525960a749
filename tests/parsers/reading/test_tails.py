"""What programs write behind each message is no part of it, and a cut line gives no wrong name."""

from __future__ import annotations

from pathlib import Path

import pytest

from parsers.formats.tails import tail_named, tail_wrappers
from tests.parsers.reading.source_files import read_bytes

MEMBER = "c-1-8b119f61-cff5-480a-9524-eafb0213e6f9"
PYTHON = (
    "Revoking previously assigned partitions {TopicPartition(topic='orders', partition=4)} for group payments",
    "(Re-)joining group payments",
    "Successfully joined group payments with generation 226",
    "Setting newly assigned partitions {TopicPartition(topic='orders', partition=4)} for group payments",
)
JAVA = (
    "[Consumer clientId=c-1, groupId=payments] Revoke previously assigned partitions orders-0, orders-1",
    "[Consumer clientId=c-1, groupId=payments] (Re-)joining group",
    "[Consumer clientId=c-1, groupId=payments] Successfully joined group with generation "
    f"Generation{{generationId=7, memberId='{MEMBER}', protocol='range'}}",
    "[Consumer clientId=c-1, groupId=payments] Adding newly assigned partitions: orders-0, orders-1",
)
TAILS = (
    ", base-ensure_group-{}",
    " (consumer.py:{})",
    " [in /srv/app/consumer.py:{}]",
    " consumer.py:{}",
    " @ consumer.py:{}",
    " <consumer.py:{}>",
    ' {{"line": {}}}',
    " source=consumer.go:{}",
    " #{}",
    " [MainThread] [{}]",
    " pid={} tid=7",
    ", trace_id={}",
    "\tconsumer.go:{}",
    " -- {} --",
)


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize("messages", [PYTHON, JAVA], ids=["python", "java"])
def test_a_tail_with_numbers_is_no_part_of_a_name(tmp_path: Path, messages: tuple[str, ...], tail: str) -> None:
    text = "".join(f"2026-11-21 09:07:5{n},301 INFO {message}{tail.format(200 + 13 * n)}\n" for n, message in enumerate(messages))
    rows = read_bytes(tmp_path, text.encode()).rows("group")
    assert [row["group"] for row in rows] == ["payments"] * len(messages)


def test_a_time_behind_the_message_is_its_time(tmp_path: Path) -> None:
    text = "".join(f"INFO {message} 2026-11-21 09:07:5{n},301\n" for n, message in enumerate(PYTHON))
    rows = read_bytes(tmp_path, text.encode()).rows("group", "at")
    assert [(row["group"], f"{row['at']:%H:%M:%S}") for row in rows] == [("payments", f"09:07:5{n}") for n in range(len(PYTHON))]


def test_words_of_the_message_are_no_tail(tmp_path: Path) -> None:
    names = ("payments, blue", "payments (2)", "orders #1")
    text = "".join(f"2026-11-21 09:07:5{n},301 INFO (Re-)joining group {name}\n" for n, name in enumerate(names))
    assert [row["group"] for row in read_bytes(tmp_path, text.encode()).rows("group")] == list(names)


def test_a_tail_is_named_by_its_form() -> None:
    lines = [f"joined group {name} [in app/{name}.py:{number}]" for number, name in enumerate(("a", "b", "c"), start=7)]
    shortest = tail_wrappers([*lines, "joined gro"])[1]
    assert shortest == "tail: [w w:w]"
    peeled = tail_named(shortest).peel(b"joined group b [in app/four.py:9] ")
    assert peeled is not None
    assert peeled.line == b"joined group b"


@pytest.mark.parametrize("logger", ["kafka.log.LogCleaner", "org.apache.kafka.raft.X$Y", "state.change.logger", "kafka.request.logger:12"])
def test_a_logger_at_the_end_is_no_tail(logger: str) -> None:
    assert tail_wrappers([f"partition {number} moved ({logger})" for number in range(4)]) == []


BROKER = "[2026-11-21 09:07:51,301] INFO [GroupCoordinator 1]: "
STARTED = f"{BROKER}Preparing to rebalance group payments in state PreparingRebalance with old generation 4 (__consumer_offsets-18) "
REASON = f"(reason: Adding new member {MEMBER} with group instance id None; client reason: rebalance failed (MemberIdRequired)) (kafka."


@pytest.mark.parametrize("length", [8, 20, 60, 120, len(REASON) - 30, len(REASON)])
def test_a_line_that_is_cut_within_its_reason_has_the_name_alone(tmp_path: Path, length: int) -> None:
    before = (
        f"{BROKER}Stabilized group orders generation 3 (__consumer_offsets-2) with 2 members (kafka.coordinator.group.GroupCoordinator)\n"
    )
    rows = read_bytes(tmp_path, f"{before}{STARTED}{REASON[:length]}".encode()).rows("group", "generation")
    assert [(row["group"], row["generation"]) for row in rows] == [("orders", 3), ("payments", 4)]
