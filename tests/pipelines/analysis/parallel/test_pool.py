"""Worker processes: results in order, deaths told, nothing left behind."""

from __future__ import annotations

import os
import select
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from parsers.reading.reader import ReadOptions, find_files
from pipelines.analysis.parallel import processes, workers
from pipelines.analysis.parallel.pool import WorkerDeath, WorkerPool
from pipelines.analysis.parallel.processes import ForkedProcess, NewInterpreter
from pipelines.analysis.parallel.workers import Workers
from tests.conftest import ROOT
from tests.pipelines.analysis.parallel.work import Die, Double, Fail

FORKS = os.environ.get("GROUPSCOPE_TEST_FORKS") == "1"
"""Whether this process is one in which forks are tried: other tests leave threads, beside which none is made."""


@pytest.fixture
def pool(monkeypatch: pytest.MonkeyPatch) -> Iterator[WorkerPool]:
    monkeypatch.setattr(processes, "may_fork", lambda: FORKS and threading.active_count() == 1)
    made = WorkerPool(2)
    assert all(isinstance(process, ForkedProcess if FORKS else NewInterpreter) for process in made._processes)
    yield made
    made.close()


@pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")
@pytest.mark.skipif(FORKS, reason="this is that process")
def test_forks_do_the_same() -> None:
    environment = {**os.environ, "GROUPSCOPE_TEST_FORKS": "1", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n0", "--color=no", __file__]
    tried = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, timeout=240, check=False)
    assert tried.returncode == 0, tried.stdout[-4_000:]
    assert " passed" in tried.stdout


def test_results_come_in_the_order_of_the_tasks(pool: WorkerPool) -> None:
    told: list[int] = []

    assert list(pool.results(map(Double, range(40)), told.append)) == [2 * number for number in range(40)]
    assert sorted(told) == list(range(40))
    assert list(pool.results([Double(7)])) == [14]  # the same processes go on


def test_tasks_are_made_only_a_little_before_their_results_are_taken(pool: WorkerPool) -> None:
    made: list[int] = []

    def tasks() -> Iterator[Double]:
        for number in range(100):
            made.append(number)
            yield Double(number)

    results = pool.results(tasks())
    assert next(results) == 0
    assert len(made) <= 1 + 2 * pool.size + 1
    results.close()


def test_a_closed_pool_leaves_no_thread_even_if_its_results_are_not_taken() -> None:
    """Beside one no other pool would fork."""
    before = set(threading.enumerate())
    made = WorkerPool(2)
    results = made.results(map(Double, range(100)))
    assert next(results) == 0
    made.close()
    assert set(threading.enumerate()) <= before


def test_a_task_whose_process_died_is_begun_again_and_the_death_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    assert list(pool.results([Double(1), Die(tmp_path / "deaths", 1), Double(2)])) == [2, "done", 4]
    assert pool.deaths == ["signal 9"]


def test_a_task_that_ends_every_process_is_named_and_the_others_are_done(pool: WorkerPool, tmp_path: Path) -> None:
    assert list(pool.results([Double(1), Die(tmp_path / "deaths", 99), Double(2)])) == [2, WorkerDeath("signal 9"), 4]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), ValueError("no number")])
def test_what_a_task_raises_is_raised_here(pool: WorkerPool, problem: Exception) -> None:
    with pytest.raises(type(problem), match=str(problem.args[-1])):
        list(pool.results([Double(1), Fail(problem)]))


def test_processes_end_with_their_pool(pool: WorkerPool) -> None:
    started = list(pool._processes)
    next(pool.results(map(Double, range(10))))
    pool.close()

    assert all(process.is_over() for process in started)
    assert threading.active_count() < 50


SCRIPT = """
import sys, time
from parsers.reading.reader import ReadOptions, find_files
from pipelines.analysis.parallel import processes, workers
from pipelines.analysis.parallel.pool import WorkerPool
if sys.argv[1] == "new":
    processes.may_fork = lambda: False
pool = WorkerPool(3)
print(*(process.pid for process in pool._processes), flush=True)
time.sleep(600)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="pidfd_open is of Linux")
@pytest.mark.parametrize("how", ["forked", "new"])
def test_processes_end_when_their_parent_is_killed(how: str) -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen([sys.executable, "-c", SCRIPT, how], env=environment, stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        pids = list(map(int, parent.stdout.readline().split()))
        watched = list(map(os.pidfd_open, pids))
        parent.kill()
    try:
        assert len(watched) == 3
        assert all(select.select([process], [], [], 60)[0] for process in watched)  # readable once it has ended
    finally:
        for process in watched:
            os.close(process)


@pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")
def test_only_a_process_without_other_threads_is_forked() -> None:
    over = threading.Event()
    other = threading.Thread(target=over.wait)
    other.start()
    try:
        assert not processes.may_fork()
    finally:
        over.set()
        other.join()


@pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")
def test_output_that_waits_is_written_once_however_many_processes_there_are(tmp_path: Path) -> None:
    script = (
        "import sys\nfrom pipelines.analysis.parallel.pool import WorkerPool\nfrom tests.pipelines.analysis.parallel.work import Double\n"
        "sys.stdout.write('once')\npool = WorkerPool(2)\nlist(pool.results([Double(1), Double(2)]))\npool.close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "once"


@pytest.mark.skipif(sys.platform != "linux", reason="forks are made on Linux alone")
def test_a_pool_ends_where_the_ends_of_children_are_ignored() -> None:
    script = (
        "import signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\nfrom pipelines.analysis.parallel.pool import WorkerPool\n"
        "from tests.pipelines.analysis.parallel.work import Double\n"
        "pool = WorkerPool(2)\nprint(*pool.results([Double(1), Double(2)]))\npool.close()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run([sys.executable, "-c", script], env=environment, capture_output=True, text=True, timeout=120, check=True)
    assert ended.stdout == "2 4\n"


def test_a_new_interpreter_takes_the_place_of_a_fork_that_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fork() -> int:
        raise OSError(12, "Cannot allocate memory")

    monkeypatch.setattr(processes, "may_fork", lambda: True)
    monkeypatch.setattr(os, "fork", fork)
    pool = WorkerPool(1)
    try:
        assert all(isinstance(process, NewInterpreter) for process in pool._processes)
        assert list(pool.results([Double(7)])) == [14]
    finally:
        pool.close()


@pytest.mark.parametrize(("size", "processes_at_most", "count"), [(60, 64, 2), (200, 64, 6), (3_000, 64, 64), (3_000, 2, 2)])
def test_small_inputs_have_few_processes(
    size: int, processes_at_most: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "server.log"
    path.write_text("[2026-11-01 00:00:00,000] INFO started (kafka.server.KafkaServer)\n")
    sizes: list[int] = []
    monkeypatch.setattr(workers, "WorkerPool", lambda size: sizes.append(size))
    monkeypatch.setattr(workers, "may_fork", lambda: True)
    monkeypatch.setattr(workers, "estimated_bytes", lambda _: size * 1_000_000)
    Workers(processes_at_most).begin(find_files([str(path)], ReadOptions()).files)
    assert sizes == [count]
