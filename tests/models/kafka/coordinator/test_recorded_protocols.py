"""The models of share and streams groups against recordings of the released coordinators, which lie in this checkout.

`python -m tests.recording` makes more of them, and `python -m tests.conformance` compares any number.
"""

from __future__ import annotations

import copy
import gzip
import json
from pathlib import Path

import pytest

from tests.adapters import share, streams
from tests.conformance import check_file, describe

RECORDINGS = sorted((Path(__file__).parents[3] / "recordings").glob("*.jsonl.gz"))
VERSIONS = {"4.1.1", "4.2.1", "4.3.1", "4.4.0"}


def test_each_version_of_both_protocols_is_recorded() -> None:
    assert {path.name for path in RECORDINGS} == {f"{kind}-{version}.jsonl.gz" for kind in ("share", "streams") for version in VERSIONS}


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_every_trace_comes_out_equal(path: Path) -> None:
    """Responses, timers, states and logged lines of each step."""
    result = check_file(path)
    assert result.lines
    assert [line for mismatch in result.mismatches for line in describe(mismatch)] == []


@pytest.mark.parametrize("path", [path for path in RECORDINGS if "4.4" in path.name], ids=lambda path: path.name)
def test_a_changed_recording_is_not_equal(path: Path) -> None:
    """What is recorded is also compared: a line less, another epoch, another answer."""
    adapter = share if path.name.startswith("share") else streams
    with gzip.open(path) as lines:
        trace = json.loads(next(iter(lines)))
    assert adapter.check(trace) is None
    logged = next(number for number, step in enumerate(trace["steps"]) if step.get("log"))
    answered = next(number for number, step in enumerate(trace["steps"]) if step.get("responses"))
    for number, change in (
        (logged, lambda step: step["log"].pop()),
        (logged, lambda step: step["state"]["g1"].update(epoch=99)),
        (answered, lambda step: step["responses"][0].update(error="UNKNOWN_MEMBER_ID")),
    ):
        changed = copy.deepcopy(trace)
        change(changed["steps"][number])
        found = adapter.check(changed)
        assert found is not None
        assert found.step == number
