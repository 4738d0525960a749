"""One process or several: the same rows, whatever happens to a process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from pipelines.analysis import in_process
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.analysis.parallel.workers import Workers
from pipelines.cli.output.json_csv import dumps, inputs_object, json_rows
from pipelines.schema.tables import CONTRACT
from tests.benchmarks.bench_parse import Maker
from tests.conftest import ROOT

SIZE = 20 << 20


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A log of several ranges, one of it with a hole of zero bytes, and small files."""
    folder = tmp_path_factory.mktemp("logs")
    data = b"".join(Maker(0.03, groups=40).blocks(SIZE))
    (folder / "server.log").write_bytes(data)
    middle = data.index(b"\n", len(data) // 2) + 1
    (folder / "server.log.1").write_bytes(data[:middle].replace(b"2026-11-01", b"2026-10-01") + bytes(5_000) + data[middle:])
    (folder / "notes.txt").write_text("no log\n")
    return folder


@pytest.fixture(autouse=True)
def _always_worth_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_process, "Workers", partial(Workers, worth_bytes=0))
    monkeypatch.setattr("pipelines.analysis.parallel.reading.SHARE_BYTES", 8 << 20)
    monkeypatch.setattr("pipelines.analysis.parallel.replay.EVENTS_AT_ONCE", range(500, 501))


def rows_of(analysis: AnalysisResult) -> dict[str, bytes]:
    """The answer as JSON, by key."""
    found = {key: b"\n".join(map(dumps, json_rows(table, getattr(analysis, key)))) for key, table in CONTRACT.items()}
    return found | {"inputs": dumps(inputs_object(analysis.inputs)), "layouts": repr(analysis.layouts).encode()}


def by(processes: int, *paths: Path) -> AnalysisResult:
    return analyze(list(map(str, paths)), AnalyzeOptions(processes=processes))


def test_ranges_and_groups_give_the_rows_of_one_process(logs: Path) -> None:
    alone = rows_of(by(1, logs))
    assert rows_of(by(2, logs)) == alone
    assert alone["rebalances"].count(b"\n") > 500


def test_samples_of_all_kinds_give_the_rows_of_one_process() -> None:
    samples = ROOT / "data_samples"
    assert rows_of(by(3, samples)) == rows_of(by(1, samples))


def test_a_process_that_is_killed_costs_no_row_and_is_told(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    begin = Workers.begin

    def begun(self: Workers, *given: Any) -> Any:
        pool = begin(self, *given)
        assert pool is not None
        os.kill(pool._processes[0].pid, signal.SIGKILL)
        return pool

    alone = rows_of(by(1, logs))
    monkeypatch.setattr(Workers, "begin", begun)
    hurt = by(2, logs)
    assert hurt.warnings.pop() == "a worker process died (signal 9); its part was done again by another"
    assert rows_of(hurt) == alone


SCRIPT = """
import os, signal, sys
from functools import partial
from pipelines.analysis import in_process
from pipelines.analysis.parallel.workers import Workers
in_process.Workers = partial(Workers, worth_bytes=0)
signal.signal(signal.SIGINT, signal.default_int_handler)  # what runs in the background may ignore it
done = []
def progress(*told):
    if not done:
        done.append(told)
        os.kill(os.getpid(), signal.SIGINT)
in_process.analyze(sys.argv[1:], in_process.AnalyzeOptions(processes=2), progress)
"""


@pytest.mark.skipif(os.name != "posix", reason="Ctrl-C is a signal here")
def test_an_interrupted_run_leaves_no_file_and_no_process(logs: Path, tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", SCRIPT, str(logs)]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=120, check=False)

    assert ended.returncode == -signal.SIGINT, ended.stderr
    assert ended.stderr.count("Traceback") == 1  # of the interruption itself, none of a worker
    assert list(tmp_path.iterdir()) == []
