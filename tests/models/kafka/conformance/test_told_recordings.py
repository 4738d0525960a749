"""Recordings in this checkout, followed by their lines alone: all that the tracker tells of them, and whether it is true.

`--rewrite` writes what is told anew; read the difference before you keep it.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from models.kafka.conformance.expected_lines import Sight
from models.kafka.coordinator.runtime.version_policy import policy_for
from tests.adapters.classic import Json, version_of
from tests.blind import LEVELS, Score, follow_file, lines_of, report
from tests.conformance import open_recording
from tests.conftest import ROOT
from tests.models.kafka.conformance.telling import rows

RECORDINGS = sorted((ROOT / "tests" / "recordings" / "classic").glob("*.jsonl.gz"))
GOLDEN = ROOT / "tests" / "golden" / "tracker"


def traces(path: Path) -> Iterator[Json]:
    with open_recording(path) as lines:
        yield from map(json.loads, lines)


TRACES = {f"{path.name.partition('.jsonl')[0]}-{trace['id']}": trace for path in RECORDINGS for trace in traces(path)}


def all_told(trace: Json) -> Iterator[str]:
    """What is told of each group of a trace."""
    sight = Sight(policy_for(version_of(trace) or ""), LEVELS)
    written = [line.event for line in lines_of(trace)]
    for group in trace["steps"][0]["state"]:
        yield f"== {group}"
        yield from rows(group, sight, [event for event in written if event.group in (None, group)])


@pytest.mark.parametrize("name", TRACES)
def test_all_that_is_told_of_a_recording(name: str, request: pytest.FixtureRequest) -> None:
    path, found = GOLDEN / f"{name}.txt", list(all_told(TRACES[name]))
    if request.config.getoption("--rewrite"):
        path.write_text("".join(f"{row}\n" for row in found), encoding="utf-8")
    known = path.read_text(encoding="utf-8").splitlines()
    assert found == known, "\n".join(difflib.unified_diff(known, found, lineterm="", n=1))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name)
def test_what_is_told_of_a_recording_is_true(path: Path) -> None:
    score: Score = follow_file(path)
    assert score.equal == score.traces, report(path.name, score)
    assert not [key for key, count in score.counts.items() if key[1] == "surely wrong" and count], report(path.name, score)
    assert score.missing == 0
