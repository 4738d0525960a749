"""Each client library's sample, by itself: what its log tells is read, and what it cannot tell is not made up.

`expected.yaml` beside a sample comes from what was done to its members and from the broker's log, which the sample does not hold.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze

SAMPLES = Path(__file__).parent / "clients"
LIBRARIES = sorted(folder.name for folder in SAMPLES.iterdir() if folder.is_dir())
NOTICED = timedelta(seconds=4)
"""How long after its start all members have heard of a rebalance."""
EARLIER = timedelta(seconds=1.5)
"""What a log is ahead at most: it prints whole seconds, or its client says that it joins before it has found its coordinator."""
OPEN = 0.5
"""A cause of less than this probability is left open."""
PROOF = 0.9
"""What is not proven has less: where a sample begins amid a rebalance (`open`), and where no name of ours fits the cause (`unknown`)."""


def expected_of(library: str) -> dict[str, Any]:
    expected: dict[str, Any] = yaml.safe_load((SAMPLES / library / "expected.yaml").read_text(encoding="utf-8"))
    return expected


@cache
def analysis_of(library: str) -> AnalysisResult:
    logs = [str(path) for path in sorted((SAMPLES / library).glob("*.log"))]
    return analyze(logs, AnalyzeOptions(read=ReadOptions(log_tz=[(None, "UTC")]), processes=1))


def started_at(row: Any) -> datetime:
    return datetime.fromtimestamp(row.started_at / 1_000_000, UTC) if isinstance(row.started_at, int) else row.started_at


def fits(row: Any, known: dict[str, Any]) -> bool:
    if row.generation_before is not None and known["generation_before"] is not None:
        return bool(row.generation_before == known["generation_before"])
    return -EARLIER <= started_at(row) - datetime.fromisoformat(known["at"]) <= NOTICED


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_line_is_lost(library: str) -> None:
    analysis = analysis_of(library)

    assert [(file["path"], file["reason"]) for file in analysis.log_files if file["status"] != "ok"] == []
    assert [row["text"] for row in analysis.rejected] == []
    assert [row["template"] for row in analysis.unknown] == []
    assert all(file["recognised"] for file in analysis.log_files)


@pytest.mark.parametrize("library", LIBRARIES)
def test_no_rebalance_is_made_up(library: str) -> None:
    known = expected_of(library)

    for row in analysis_of(library).rebalances:
        assert row.group == known["group"]
        assert any(fits(row, each) for each in known["rebalances"]), (started_at(row), row.generation_before, row.cause)


def told(library: str) -> list[tuple[str, dict[str, Any]]]:
    known = expected_of(library)
    return [(library, row) for row in known["rebalances"] if "rebalances" not in known["untold"]]


def name(case: object) -> str:
    return case if isinstance(case, str) else f"{case['generation_before']}-{case['cause']}" if isinstance(case, dict) else ""


@pytest.mark.parametrize(("library", "known"), [case for library in LIBRARIES for case in told(library)], ids=name)
def test_a_rebalance_is_found_with_its_cause_and_its_member(library: str, known: dict[str, Any]) -> None:
    untold = expected_of(library)["untold"]
    (row,) = [row for row in analysis_of(library).rebalances if fits(row, known)]
    is_right = row.cause == known["cause"] and {person.client_id for person in row.offenders} <= {known["member"]}

    if known["cause"] == "unknown" or known.get("open"):
        assert row.confidence < PROOF or is_right
    elif "causes" in untold or known["cause"] in untold:
        assert row.confidence < OPEN or is_right
    else:
        assert is_right or (row.cause == known["cause"] and known["member"] is None)
        assert row.offenders or known["cause"] == "new_group"
    if "generations" not in untold:
        assert row.generation_before == known["generation_before"]


@pytest.mark.parametrize("library", LIBRARIES)
def test_members_say_which_library_and_version_they_run(library: str) -> None:
    known = expected_of(library)
    members = list(analysis_of(library).members)

    assert {member.library for member in members} == ({known["library"]} if known["library"] else set())
    assert {member.client_version for member in members} <= {known.get("version")}


@pytest.mark.parametrize("library", LIBRARIES)
def test_the_table_in_the_readme_names_each_sample(library: str) -> None:
    assert f"| `{library}` |" in (SAMPLES / "README.md").read_text(encoding="utf-8")


def test_samples_stay_small() -> None:
    logs = list(SAMPLES.rglob("*.log"))

    assert max(len(log.read_bytes().splitlines()) for log in logs) <= 100
    assert max(log.stat().st_size for log in logs) <= 12_288
