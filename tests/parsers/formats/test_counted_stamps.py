"""Exports whose only time is a count since 1970, beside lines that carry no time."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from parsers.formats.timestamps import read_epoch
from pipelines.analysis.in_process import analyze

AT = 1_714_640_120_010_000
ASKED = "INFO  [Consumer clientId=coal-3, groupId=coal] (Re-)joining group"
JOINED = "INFO  [Consumer clientId=coal-3, groupId=coal] Successfully joined group with generation 7"


@pytest.mark.parametrize(
    ("stamp", "read"),
    [
        ("1714640120", 1_714_640_120_000_000),
        ("1714640120.01", AT),
        ("1714640120010", AT),
        ("1714640120010000", AT),
        ("1714640120010000999", AT),
        ("171464012001", None),
        ("2024-05-02 08:55:20", None),
        ("1714640120.x", None),
        ("", None),
    ],
)
def test_the_unit_of_a_count_is_known_by_its_digits(stamp: str, read: int | None) -> None:
    assert read_epoch(stamp) == read


def journal(at: int, message: str) -> dict[str, str]:
    return {"__REALTIME_TIMESTAMP": str(at), "_HOSTNAME": "app-3", "PRIORITY": "6", "MESSAGE": message}


def test_the_journal_dates_lines_that_have_no_time(tmp_path: Path) -> None:
    path = tmp_path / "journal.json"
    rows = (journal(AT, ASKED), journal(AT + 3_100_000, JOINED))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    (rebalance,) = analyze([str(path)]).rebalances
    assert (rebalance.started_at, rebalance.at_least_seconds) == (AT, 3.1)
