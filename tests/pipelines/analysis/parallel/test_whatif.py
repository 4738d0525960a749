"""Parts of what-if's runs in worker processes: the same rebalances as in this one."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from models.whatif.history import reruns
from models.whatif.runs.parts import RunPart, in_turn, parts_of
from pipelines.analysis.parallel.whatif import PartWorkers, part_runner
from tests.models.whatif.test_parts import CUTS_MS, SETTINGS, STRETCHES, behaviour
from tests.pipelines.analysis.parallel.work import DeadlyPart

READINGS = [(behaviour(stays), SETTINGS) for stays in STRETCHES.values()]


@pytest.fixture
def workers() -> Iterator[PartWorkers]:
    made = PartWorkers(2)
    yield made
    made.close()


def test_workers_give_what_this_process_gives(workers: PartWorkers) -> None:
    assert reruns(READINGS, CUTS_MS, workers, is_shared=True) == reruns(READINGS, CUTS_MS, in_turn, is_shared=True)
    assert reruns(READINGS[:1], CUTS_MS, workers) == reruns(READINGS[:1], CUTS_MS)  # the same processes go on


def test_a_short_run_starts_no_process(workers: PartWorkers) -> None:
    assert reruns(READINGS[:1], (), workers) == reruns(READINGS[:1])
    assert not workers.is_begun


def test_a_part_whose_processes_die_is_run_here(workers: PartWorkers) -> None:
    parts = [RunPart([run]) for run in parts_of(*READINGS[0], CUTS_MS)]
    deadly = [DeadlyPart(part.runs) for part in parts]

    assert list(workers(deadly)) == [part.finished() for part in parts]


def test_one_process_is_this_one() -> None:
    assert part_runner(1) is in_turn
