"""What goes to disk comes back as it was: limits of memory change no row and no order."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.rows import Divergence, Evidence, Incident, Person
from parsers.schema import EVENT_SCHEMA
from pipelines.analysis import spill as store
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.analysis.spill import EventStore, RowStore
from pipelines.schema.tables import CONTRACT, json_row
from pipelines.scratch import scratch

START = datetime(2026, 11, 21, tzinfo=UTC)
LARGE = 1 << 30


def event(group: str, second: int | None, file: str, offset: int) -> dict[str, Any]:
    at = None if second is None else START + timedelta(seconds=second)
    return dict.fromkeys(EVENT_SCHEMA.names) | {
        "group": group,
        "file_time_max_at": at,
        "at": at,
        "file": file,
        "byte_offset": offset,
        "text": "x" * 50,
    }


def batches(rows: list[dict[str, Any]], size: int) -> Iterator[pa.RecordBatch]:
    for start in range(0, len(rows), size):
        yield pa.RecordBatch.from_pylist(rows[start : start + size], schema=EVENT_SCHEMA)


def told(rows: list[dict[str, Any]], size: int, held_bytes_max: int) -> list[tuple[str, list[dict[str, Any]]]]:
    with EventStore(held_bytes_max) as events:
        for batch in batches(rows, size):
            events.add(batch)
        return [(group, [row for batch in parts for row in batch.to_pylist()]) for group, parts in events.groups()]


EVENTS = st.lists(
    st.builds(event, st.sampled_from(["a", "b", "ü"]), st.none() | st.integers(0, 5), st.sampled_from(["f", "g"]), st.integers(0, 9)),
    max_size=40,
    unique_by=lambda row: (row["file"], row["byte_offset"]),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(EVENTS, st.integers(1, 7), st.sampled_from([0, 1, 500, 5000]))
def test_events_that_went_to_disk_come_back_in_the_same_order(rows: list[dict[str, Any]], size: int, limit: int) -> None:
    assert told(rows, size, limit) == told(rows, size, LARGE)


def test_more_events_of_one_group_than_a_batch_holds_come_back_whole() -> None:
    rows = [event("big", number, "f", number) for number in range(store.RUN_BATCH_ROWS * 2 + 7)] + [event("small", 1, "g", 0)]
    [(big, many), (small, [one])] = told(rows[::-1], 100, 10_000)

    assert (big, small, one["file"]) == ("big", "small", "g")
    assert [row["byte_offset"] for row in many] == list(range(store.RUN_BATCH_ROWS * 2 + 7))


def divergence(number: int) -> Divergence:
    return Divergence("c", "kafka", f"id-{number}", "g", number, "expected ü", "observed", [Evidence("f", number, number, "text")])


@pytest.mark.parametrize("limit", [0, 1, 3, 100])
def test_rows_that_went_to_disk_read_like_a_sequence(limit: int) -> None:
    rows = [divergence(number) for number in range(10)]
    held = RowStore("divergences", limit)
    for row in rows:
        held.extend([row])

    assert list(held) == list(held) == rows
    assert len(held) == 10
    assert (held[0], held[-1], held[7]) == (rows[0], rows[-1], rows[7])
    with pytest.raises(IndexError):
        held[10]


def test_rows_with_people_and_lists_survive_the_disk() -> None:
    person = Person("m", "c", None, "/h", "left", True)
    incident = Incident(
        cluster="c", system="kafka", incident_id="i", kind="storm", severity="info", groups=["g"], started_at=1, ended_at=None,
        rebalance_count=1, stopped_seconds=0.5, root_cause=None, worst_offender=person, headline="h", rebalance_ids=["r"], outage_ids=[],
    )  # fmt: skip
    held = RowStore("incidents", 0)
    held.extend([incident])

    assert list(held) == [incident]


def test_an_analysis_is_the_same_with_next_to_no_memory(samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [str(samples / "kafka" / "2.8.2" / "coordinator-failover")]

    def answer() -> dict[str, list[Any]]:
        analysis = analyze(paths, AnalyzeOptions())
        return {key: [json_row(table, row) for row in getattr(analysis, key)] for key, table in CONTRACT.items()}

    usual = answer()
    monkeypatch.setattr(store.EventStore.__init__, "__defaults__", (2_000,))
    monkeypatch.setattr(store.RowStore.__init__, "__defaults__", (1,))
    assert answer() == usual
    assert usual["rebalances"]


def test_what_goes_to_disk_goes_where_spark_lets_its_workers_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The folder of temporary files may be small, or memory itself."""
    local = tmp_path / "local"
    local.mkdir()
    monkeypatch.setenv("SPARK_LOCAL_DIRS", f"{local},{tmp_path / 'another'}")
    [batch] = batches([event("a", 1, "f", 0) | {"event": "RocketNotified"}], 1)
    for kind in (EventStore, RocketStore):
        with kind(0) as held:
            held.add(batch)

            assert [path.name.partition("-")[0] for path in local.iterdir()] == ["groupscope"], kind
        assert not [*local.iterdir()]

    monkeypatch.setenv("SPARK_LOCAL_DIRS", str(tmp_path / "nowhere"))
    assert scratch() is None
