"""What is passed over begins no message, whatever words of one stand in it."""

from __future__ import annotations

from pathlib import Path

from parsers.catalogue.catalogue import catalogue
from parsers.excerpts.openings import openings_of
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from tests.parsers.reading.source_files import read_bytes

BOOTED = "The broker[broker-a, 127.0.0.1:10911] boot success. serializeType=JSON and name server is 127.0.0.1:9876"
ADDRESSES = "user specified name server address: 127.0.0.1:9876"


def test_a_brokers_log_with_words_of_a_client_is_read_in_its_layout_and_zone(tmp_path: Path) -> None:
    log = tmp_path / "broker.log"
    lines = [f"2026-11-26 02:40:2{second} INFO main - {text}" for second, text in enumerate((f"Set {ADDRESSES}", BOOTED))]
    log.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (read,) = analyze([str(log)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")]))).log_files
    assert (read["layout"], read["recognised"]) == ("rocketmq_server", 1)
    assert read["first_at"] == read["last_at"]


def test_a_record_beside_the_layout_has_its_zone(tmp_path: Path) -> None:
    log = tmp_path / "namesrv.log"
    head = "2031-12-04 17:30:30 INFO NettyEventExecutor - "
    lost = "the broker's channel destroyed, 10.0.0.1:30911, clean it's data structure at once"
    quoted = "remove brokerAddr[2, 10.0.0.1:30911] from brokerAddrTable, because channel destroyed`"
    log.write_text(f"{head}{lost}\n{head}{quoted}\n", encoding="utf-8")
    (read,) = analyze([str(log)], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")]))).log_files
    assert (read["recognised"], read["last_at"] - read["first_at"]) == (2, 0)


def test_words_of_a_message_begin_none_within_a_text_that_is_passed_over() -> None:
    openings, passed_over = openings_of(catalogue()), catalogue().group_loggers.passed_over
    assert openings.places(f"main - {ADDRESSES}") == [7]
    assert [text for text in passed_over if openings.places(f"main - {text}") not in ([], [7])] == []
    data = "\n".join(f"main - {text}" for text in passed_over).encode()
    _, places = openings.byte_places(data)
    assert all(data[:place].endswith(b"main - ") for place in places)


def test_lines_before_the_first_record_are_no_damage(tmp_path: Path) -> None:
    logger, client = "[INFO ][org.apache.kafka.common.utils.AppInfoParser]", "[Consumer clientId=a, groupId=mill] "
    joined = (
        f"[INFO ][org.apache.kafka.clients.consumer.internals.AbstractCoordinator] {client}Successfully joined group with generation 8\n"
    )
    read = read_bytes(tmp_path, f"```\n{logger} Kafka version : 1.0.0\n\n{joined}{joined.replace('=a', '=b')}```\n".encode())
    assert [row["group"] for row in read.rows() if row["group"]] == ["mill", "mill"]
    assert read.report.counts.rejected == 0
