"""Files that hold no log: what they are, and what to do about each."""

from __future__ import annotations

import json
import sqlite3
import struct
import zipfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parsers.reading.reader import ReadOptions, find_files
from parsers.redaction.pseudonyms import Redaction

NOISE = bytes(range(256)) * 40
LINE = "[2026-11-21 09:07:55,040] INFO starting (kafka.server.KafkaServer)"
BEGINNINGS = {
    "a PDF: save its text first": b"%PDF-1.7\n" + NOISE,
    "a picture: the log itself is needed": b"\x89PNG\r\n\x1a\n" + NOISE,
    "a journal of systemd: write it as text: journalctl --file": b"LPKSHHRH" + NOISE,
    "an event log of Windows": b"ElfFile\x00" + NOISE,
    "a capture of packets": b"\xd4\xc3\xb2\xa1" + NOISE,
    "a heap dump of Java": b"JAVA PROFILE 1.0.2\x00" + NOISE,
    "an archive of 7-Zip: unpack it first": b"7z\xbc\xaf\x27\x1c" + NOISE,
    "data compressed by LZ4": b"\x04\x22\x4d\x18" + NOISE,
    "the commit log of a RocketMQ broker": struct.pack(">iI", 200, 0xDAA320A7) + NOISE,
    "a segment of a Kafka topic: the logs of the broker are server.log": struct.pack(
        ">qiibIhiqqqhii", 0, 120, 0, 2, 0, 0, 0, 0, 0, -1, -1, -1, 1
    )
    + b"payload " * 40,
}


def reason(path: Path) -> str:
    found = find_files([str(path)])
    assert not found.files
    return found.skipped[0].reason


@pytest.mark.parametrize("expected", BEGINNINGS)
def test_what_a_file_is_and_what_to_do_is_told(tmp_path: Path, expected: str) -> None:
    (tmp_path / "00000000000000000000.log").write_bytes(BEGINNINGS[expected])
    assert reason(tmp_path / "00000000000000000000.log").startswith(f"binary, {expected}")


def test_databases_and_tables_are_known_though_they_are_mostly_text(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "logs.db") as database:
        database.execute("CREATE TABLE logs (line TEXT)")
        database.executemany("INSERT INTO logs VALUES (?)", [(LINE,)] * 200)
    database.close()
    pq.write_table(pa.table({"line": [LINE] * 200}), tmp_path / "logs.parquet", compression="NONE")
    assert reason(tmp_path / "logs.db").startswith("binary, an SQLite database")
    assert reason(tmp_path / "logs.parquet").startswith("binary, a Parquet file")


def test_office_documents_are_to_be_saved_as_text(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "logs.xlsx", "w") as document:
        document.writestr("[Content_Types].xml", "<Types/>")
        document.writestr("xl/sharedStrings.xml", LINE)
    assert reason(tmp_path / "logs.xlsx").endswith("save a document as text or CSV")


@pytest.mark.parametrize("content", [json.dumps([{"a": 1, "b": "x"}] * 9), json.dumps({"rows": [["x"]] * 9}, indent=2)])
def test_documents_without_a_log_are_to_be_written_a_record_a_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "export.json").write_text(content)
    assert reason(tmp_path / "export.json").endswith("if it is an export, give one record a line: jq -c '.[]' FILE")


def test_other_texts_are_no_logs(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("[hello]\nworld\n")
    assert reason(tmp_path / "notes.txt") == "not a log: no line is in a known layout"


def test_advice_is_not_redacted(tmp_path: Path) -> None:
    (tmp_path / "logs.pdf").write_bytes(b"%PDF-1.7\n" + NOISE)
    options = ReadOptions(redaction=Redaction(["hosts", "groups"], b"k" * 32))
    assert find_files([str(tmp_path / "logs.pdf")], options).skipped[0].reason == reason(tmp_path / "logs.pdf")
