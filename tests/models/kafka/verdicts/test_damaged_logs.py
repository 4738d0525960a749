"""Verdicts on lines of a damaged file are in doubt."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path

import pytest

import groupscope
from models.weights import UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE as KEPT

SAMPLE = "kafka/3.9.1/frozen-process/broker-1"


@pytest.fixture
def logs(samples: Path, tmp_path: Path) -> Path:
    found = sorted((samples / SAMPLE).glob("server.log*"))
    data = b"".join(gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes() for path in found)
    (tmp_path / "server.log").write_bytes(data)
    return tmp_path / "server.log"


def with_bad_checksum(data: bytes) -> bytes:
    packed = bytearray(gzip.compress(data))
    packed[-5] ^= 1
    return bytes(packed)


def test_rebalances_of_a_damaged_file_are_less_certain_and_say_what_would_settle_them(logs: Path) -> None:
    intact = {row.rebalance_id: row for row in groupscope.analyze([str(logs)]).rebalances}
    packed = shutil.move(logs, logs.with_suffix(".log.gz"))
    packed.write_bytes(with_bad_checksum(packed.read_bytes()))
    found = groupscope.analyze([str(packed)])
    assert [row["status"] for row in found.log_files] == ["truncated"]
    assert len(found.rebalances) == len(intact) > 0
    for row in found.rebalances:
        before = intact[row.rebalance_id]
        assert (row.cause, row.started_at, row.ended_at) == (before.cause, before.started_at, before.ended_at)
        assert row.confidence == pytest.approx(before.confidence * KEPT, abs=1e-5)
        assert row.settled_by == f"an undamaged copy of {packed}"


def test_only_what_shares_a_checksum_with_the_damage_is_in_doubt(logs: Path) -> None:
    data = logs.read_bytes()
    first = data[: data.index(b"\n", len(data) * 7 // 10) + 1]
    packed = shutil.move(logs, logs.with_suffix(".log.gz"))
    packed.write_bytes(gzip.compress(first) + with_bad_checksum(data[len(first) :]))
    rows = groupscope.analyze([str(packed)]).rebalances
    doubted = ["undamaged" in (row.settled_by or "") for row in rows]
    assert doubted == sorted(doubted)
    assert set(doubted) == {False, True}
