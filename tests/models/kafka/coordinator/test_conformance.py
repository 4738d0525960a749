"""The models against recordings of the real code: a sample of each file that lies beside the checkout, and how files are read.

All of them: `python -m tests.conformance ../shared/vectors/*.gz`.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests import conformance
from tests.conformance import check_file, describe, main, name_of
from tests.conftest import SHARED

VECTORS = SHARED / "vectors"
# Name and the first of how many lines each is checked here, so that the whole takes some seconds.
RECORDINGS = {
    "allocation_vectors": 10,
    "classic-2.8.2-random": 20,
    "classic-2.8.2-replay-directed": 20,
    "classic-2.8.2-replay-random": 10,
    "classic-3.9.0-replay-directed": 20,
    "classic-3.9.0-replay-random": 10,
    "classic-4.0.0-directed": 20,
    "classic-4.0.0-random": 20,
    "consumer-4.0.0": 10,
    "elections-2.8.2": 5,
    "kraft-elections-4.0.0": 5,
}

VECTOR = {
    "id": "e-1",
    "source": "kafka 2.8.2 elections",
    "kind": "algorithm",
    "algorithm": "preferred",
    "input": {"assignment": [1, 2], "isr": [2, 1], "live": [1, 2]},
    "leader": 1,
}


@pytest.mark.parametrize(("name", "every"), RECORDINGS.items())
def test_a_sample_of_each_recording_comes_out_equal(name: str, every: int) -> None:
    path = VECTORS / f"{name}.jsonl.gz"
    if not path.exists():
        pytest.skip(f"the recording {name} is not beside this checkout")
    result = check_file(path, every=every)
    assert result.lines
    assert [line for mismatch in result.mismatches for line in describe(mismatch)] == []


def test_every_recording_is_sampled() -> None:
    if not VECTORS.exists():
        pytest.skip("no recordings beside this checkout")
    assert {name_of(path) for path in VECTORS.glob("*.gz")} == set(RECORDINGS)


@pytest.mark.parametrize("packed", [False, True])
def test_a_file_is_known_by_its_content(tmp_path: Path, packed: bool, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.jsonl"
    text = "".join(json.dumps(line) + "\n" for line in (VECTOR, VECTOR)).encode()
    path.write_bytes(gzip.compress(text) if packed else text)
    assert main([str(path), "--jobs", "1"]) == 0
    assert capsys.readouterr().out == "some: 2 of 2 equal\n"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ({**VECTOR, "leader": 2}, "expected: 2"),
        ({"id": "x"}, "no adapter reads this line"),
        ({**VECTOR, "input": {}}, "KeyError"),
    ],
)
def test_what_differs_is_shown_and_fails(tmp_path: Path, line: dict[str, object], shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text(json.dumps(VECTOR) + "\n" + json.dumps(line) + "\n", encoding="utf-8")
    assert main([str(path), "--jobs", "1", "-v"]) == 1
    printed = capsys.readouterr().out
    assert printed.startswith("some: 1 of 2 equal\n  line 2 ")
    assert shown in printed


def test_an_empty_file_is_no_success(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_bytes(b"")
    assert main([str(path), "--jobs", "1"]) == 1


def test_processes_share_a_file_out(tmp_path: Path) -> None:
    path = tmp_path / "many.jsonl"
    path.write_text((json.dumps(VECTOR) + "\n") * 50, encoding="utf-8")
    parts = [conformance.check_part(path, worker, 3, 2) for worker in range(3)]
    assert [part.lines for part in parts] == [9, 8, 8]
    assert check_file(path, jobs=2).equal == 50
