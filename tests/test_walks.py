"""One verdict, one event and the options of one command enter few files, and the walks are of all that there are."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType

import pytest

import groupscope
from models.events import LogPosition
from models.rows import Rebalance
from tests.conftest import LONG, ROOT
from tests.walks import LONGEST, SAMPLES, Tracer, analyze_walk, of_product, run_walk, walks_within

Walked = tuple[list[set[str]], list[set[str]]]
PATHS = [str(ROOT / SAMPLES / version) for version in ("1.1.1", "4.1.1")]
"""Classic groups and newer ones; the command follows all samples."""


@pytest.fixture(scope="module")
def walked() -> Walked:
    return walks_within(PATHS)


def test_each_rebalance_is_followed_to_its_row(walked: Walked) -> None:
    verdicts, _ = walked

    assert len(verdicts) == len(groupscope.analyze(PATHS).rebalances)
    assert all({"models/kafka/groups/ranking_schedule.py", "models/rows.py"} <= walk for walk in verdicts)


def test_each_event_is_followed_from_its_batch(walked: Walked) -> None:
    _, events = walked
    from_batches = [walk for walk in events if "pipelines/schema/row_conversion.py" in walk]

    assert len(from_batches) > len(events) / 2  # others are inferred
    assert all("models/kafka/groups/group_stage.py" in walk for walk in events)


@pytest.mark.parametrize(("place", "what"), [(0, "verdict"), (1, "event")])
def test_no_walk_gets_longer(walked: Walked, place: int, what: str) -> None:
    longest = max(walked[place], key=len)

    assert len(longest) <= LONGEST[what], sorted(longest)


def test_the_options_of_analyze_enter_few_files() -> None:
    found = analyze_walk()

    assert {"conf/settings.py", "parsers/reading/reader.py", "models/incidents/incidents.py"} <= found
    assert len(found) <= LONGEST["options of analyze"], sorted(found)


@pytest.mark.spark
@LONG
def test_the_options_of_run_enter_few_files() -> None:
    found = run_walk()

    assert {"pipelines/jobs/run.py", "models/kafka/groups/group_stage.py"} <= found  # the latter in Spark's workers
    assert len(found) <= LONGEST["options of run"], sorted(found)


def test_a_file_is_entered_by_what_its_functions_take_or_return_and_by_nothing_else() -> None:
    at = Tracer(lambda value: value == 7)
    rows = Tracer(lambda value: of_product(value, frozenset({"Rebalance"})))
    position, row = LogPosition("server.log", 1, 7), Rebalance.__new__(Rebalance)
    row.started_at, row.joined_at, row.ended_at = 7, None, None

    assert entered(at, lambda: position.position) == {"models/events.py"}
    assert entered(at, lambda: position.log) == set()
    assert entered(rows, lambda: row.began) == {"models/rows.py"}
    assert entered(at, lambda: row.began) == {"models/rows.py", "models/times.py"}


def entered(tracer: Tracer, act: Callable[[], object]) -> set[str]:
    """Files that things enter during the act."""
    files: set[str] = set()

    def see(frame: FrameType, kind: str, value: object) -> None:
        if tracer.things(frame, kind, value):
            files.add(tracer.file_of(frame))

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        act()
    finally:
        sys.setprofile(before)
    return files
