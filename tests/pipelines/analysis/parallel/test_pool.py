"""Worker processes: results in order, deaths told, nothing left behind."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.analysis.parallel.pool import WorkerDeath, WorkerPool
from tests.pipelines.analysis.parallel.work import Die, Double, Fail


@pytest.fixture
def pool() -> Iterator[WorkerPool]:
    made = WorkerPool(2)
    yield made
    made.close()


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


def test_a_task_whose_process_died_is_begun_again_and_the_death_is_told(pool: WorkerPool, tmp_path: Path) -> None:
    assert list(pool.results([Double(1), Die(tmp_path / "deaths", 1), Double(2)])) == [2, "done", 4]
    assert pool.deaths == ["signal 9"]


def test_a_task_that_ends_every_process_is_named_and_the_others_are_done(pool: WorkerPool, tmp_path: Path) -> None:
    assert list(pool.results([Double(1), Die(tmp_path / "deaths", 99), Double(2)])) == [2, WorkerDeath("signal 9"), 4]


@pytest.mark.parametrize("problem", [OSError(28, "No space left on device"), ValueError("no number")])
def test_what_a_task_raises_is_raised_here(pool: WorkerPool, problem: Exception) -> None:
    with pytest.raises(type(problem), match=str(problem.args[-1])):
        list(pool.results([Double(1), Fail(problem)]))


def test_processes_end_with_their_pool() -> None:
    pool = WorkerPool(2)
    processes = list(pool._processes)
    next(pool.results(map(Double, range(10))))
    pool.close()

    assert all(process.is_over() for process in processes)
    assert threading.active_count() < 50
