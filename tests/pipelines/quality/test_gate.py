"""Gates find what is wrong, name it, and show the rows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS
from models.kafka.reconstruction.classic_states import COORDINATOR_LOST
from pipelines.errors import CannotWrite, GateFailed, UsageError
from pipelines.jobs.replay.replayed_rows import NAMING
from pipelines.quality.checks import checks_of, thresholds
from pipelines.quality.docs import write_docs
from pipelines.quality.gate import Result, Validation, run_gate, stop_if_failed
from pipelines.schema.tables import TABLES, Column, Table, without_run
from tests.conftest import LONG
from tests.pipelines.quality.suites import checked_tables

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

AT = datetime(2024, 3, 31, 1, 2, 3, tzinfo=UTC)


def value_of(column: Column) -> Any:
    """Some value of the column's type."""
    if column.values:
        return column.values[0]
    return value_of_type(column.type)


def value_of_type(kind: pa.DataType) -> Any:
    if pa.types.is_timestamp(kind):
        return AT
    if pa.types.is_boolean(kind):
        return True
    if pa.types.is_integer(kind):
        return 1
    if pa.types.is_floating(kind):
        return 0.5
    if pa.types.is_list(kind):
        return [value_of_type(kind.value_type)]
    if pa.types.is_map(kind):
        return {"other": 0.25}
    if pa.types.is_struct(kind):
        return {field.name: value_of_type(field.type) for field in kind}
    return "text"


def row(table: Table, **values: Any) -> dict[str, Any]:
    return {column.name: value_of(column) for column in table.columns} | values


def frame(spark: SparkSession, name: str, *changes: dict[str, Any]) -> DataFrame:
    table = TABLES[name]
    return spark.createDataFrame([row(table, **values) for values in changes], table.spark_schema()).drop("run_id")


def failed(results: list[Result]) -> dict[str, Result]:
    return {result.check.name: result for result in results if not result.success}


def test_every_published_table_has_a_suite() -> None:
    without_rows = {"runs", "alerts", "file_inspections", "state_snapshots", "group_snapshots", "cluster_snapshots", "quality_results"}
    assert set(checked_tables()) == set(TABLES) - without_rows


@pytest.mark.parametrize("name", checked_tables())
def test_checks_have_names_of_their_own_and_columns_that_exist(name: str) -> None:
    checks = checks_of(TABLES[name])
    assert len({check.name for check in checks}) == len(checks)
    assert {check.column for check in checks if check.column} <= set(TABLES[name].column_names)


def test_thresholds_can_be_set_and_strange_ones_are_refused() -> None:
    assert thresholds({"unknown_share_max": 0.5})["unknown_share_max"] == 0.5
    with pytest.raises(UsageError, match="unknown_share_maximum is not a threshold"):
        thresholds({"unknown_share_maximum": 0.5})


@pytest.mark.spark
@LONG
def test_expectations_run_on_this_spark(spark: SparkSession) -> None:
    tables = checked_tables()
    frames = {name: frame(spark, name, {}) for name in tables}
    seen: list[Validation] = []
    results = run_gate("all", frames, dict.fromkeys(frames, 1), seen=seen)
    assert {result.table for result in results} == set(tables)
    # Rows made from types alone break rules between columns, and no others.
    assert all(result.check.column is None for result in results if not result.success)
    assert said_by_the_library(seen) == {(result.table, result.check.name): result.success for result in results}


def wrong(table: Table) -> Iterator[list[dict[str, Any]]]:
    """Rows that break what columns are declared to hold, in lists within which no way of breaking it hides another."""
    floats = {column.name for column in table.columns if pa.types.is_floating(column.type)}

    def beyond(bound: str, by: int) -> dict[str, Any]:
        bounds = {column.name: getattr(column, bound) for column in table.columns if getattr(column, bound) is not None}
        return {name: float(value + by) if name in floats else value + by for name, value in bounds.items()}

    strange = {column.name: "strange" for column in table.columns if column.values}
    yield [{}, {}, dict.fromkeys(table.column_names), strange, beyond("least", -1)]
    yield [beyond("greatest", 1)]
    yield [dict.fromkeys(floats, math.nan)]


def said_by_the_library(seen: list[Validation]) -> dict[tuple[str, str], bool]:
    return {
        (page.table, answer.expectation_config.meta["name"]): answer.success
        for page in seen
        if page.result is not None
        for answer in page.result.results
    }


@LONG
@pytest.mark.spark
def test_rows_in_spark_break_what_the_library_says(spark: SparkSession) -> None:
    for changes in wrong(TABLES["rebalances"]):
        broken, count, seen = {"rebalances": frame(spark, "rebalances", *changes)}, {"rebalances": len(changes)}, list[Validation]()
        results = run_gate("all", broken, count, seen=seen)

        assert said_by_the_library(seen) == {("rebalances", result.check.name): result.success for result in results}
        assert failed(results)
        assert results == run_gate("all", broken, count)


GOOD = {
    "evidence": [{"file": "a", "line": 1, "byte_offset": 0, "text": "t", "inferred": False}],
    "topic": None,
    "outcome": "stable",
    "confidence": 0.75,
}

BROKEN: list[tuple[dict[str, Any], str]] = [
    ({"group": None}, "group is never null"),
    ({"cause": "boredom"}, "cause is one of the words for it"),
    ({"confidence": 1.5}, "confidence is within its range"),
    ({"joined_at": AT.replace(year=2023)}, "started_at is not after joined_at"),
    ({"evidence": []}, "never: a verdict without evidence"),
    ({"outcome": "open"}, "never: an open rebalance has an end"),
    ({"alternatives": {"member_join": 0.5}}, "never: the causes are surer than certain"),
]


@pytest.mark.spark
def test_broken_rows_are_found_and_shown(spark: SparkSession) -> None:
    rows = [GOOD | {"rebalance_id": "good"}, GOOD | {"rebalance_id": "twin"}, GOOD | {"rebalance_id": "twin"}]
    rows += [GOOD | change | {"rebalance_id": f"broken-{place}"} for place, (change, _) in enumerate(BROKEN)]
    results = run_gate("gold", {"rebalances": frame(spark, "rebalances", *rows)}, {"rebalances": len(rows)})
    found = failed(results)
    for place, (_, name) in enumerate(BROKEN):
        assert f'"rebalance_id": "broken-{place}"' in found[name].line()
        assert found[name].checked_rows == len(rows)
    assert found["rebalance_id tells rows apart"].unexpected_rows == 2
    assert json.loads(found["group is never null"].sample[0]) == {"rebalance_id": "broken-0", "group": None}
    assert not any('"good"' in result.line() for result in found.values())
    with pytest.raises(GateFailed, match=r"gold\.rebalances: group is never null: not met by 1 of 10 rows, among them .*broken-0"):
        stop_if_failed(results)


@pytest.mark.spark
@pytest.mark.parametrize("change", [{}, {"cause": "boredom"}])
def test_rows_in_the_driver_are_held_to_the_same_beside_rows_that_are_not(spark: SparkSession, change: dict[str, Any]) -> None:
    rebalances = frame(spark, "rebalances", GOOD | {"rebalance_id": "r1"} | change)
    steps = frame(spark, "group_transitions", {"transition_id": "t1"})
    counts = {"rebalances": 1, "group_transitions": 1}
    near: list[Validation] = []
    far: list[Validation] = []
    arrow = rebalances.toArrow().cast(without_run("rebalances"))

    here = run_gate("gold", {"rebalances": arrow, "group_transitions": steps}, counts, seen=near, spark=spark)
    assert here == run_gate("gold", {"rebalances": rebalances, "group_transitions": steps}, counts, seen=far)
    assert bool(failed([result for result in here if result.table == "rebalances"])) is bool(change)
    assert {page.table for page in near} == {page.table for page in far}


@pytest.mark.spark
def test_rows_that_name_rows_of_other_tables(spark: SparkSession) -> None:
    frames = {
        "rebalances": frame(spark, "rebalances", GOOD | {"rebalance_id": "r1"}),
        "rebalance_members": frame(
            spark,
            "rebalance_members",
            {"rebalance_member_id": "m1", "rebalance_id": "r1"},
            {"rebalance_member_id": "m2", "rebalance_id": "r2"},
        ),
        "incidents": frame(
            spark, "incidents", {"incident_id": "i1", "rebalance_ids": ["r1"]}, {"incident_id": "i2", "rebalance_ids": ["r3"]}
        ),
    }
    found = failed(run_gate("gold", frames, {"rebalances": 1, "rebalance_members": 2, "incidents": 2}))
    assert [json.loads(text)["rebalance_member_id"] for text in found["never: the rebalance does not exist"].sample] == ["m2"]
    assert [json.loads(text)["incident_id"] for text in found["never: a rebalance of the incident does not exist"].sample] == ["i2"]


@pytest.mark.spark
def test_rows_are_as_many_as_the_ledger_counts(spark: SparkSession) -> None:
    counted = {"bytes_read": 900, "bytes_parsed": 800, "bytes_ignored": 0, "bytes_rejected": 100, "records": 100, "recognised": 5}
    files = [counted | {"path": path, "unknown": 4, "rejected": 1} for path in ("good", "lost", "doubled")]
    run = {"fields": '{"count":4,"last_at_us":9}'}
    frames = {
        "log_files": frame(spark, "log_files", *files, counted | {"path": "none", "recognised": 0, "unknown": 0, "rejected": 0}),
        "events": frame(
            spark,
            "events",
            *[{"file": "good", "fields": '{"count":7}'}, {"file": "good", **run}, {"file": "lost", **run}],
            *[{"file": "doubled", **run}, {"file": "doubled", **run}, {"file": "nobody's"}],
        ),
        "unknown_in_files": frame(spark, "unknown_in_files", *({"file": each["path"], "count": 4} for each in files)),
        "rejected_records": frame(spark, "rejected_records", *({"file": each["path"]} for each in files)),
    }
    found = failed(run_gate("silver", frames, dict.fromkeys(frames, 1)))
    paths = {json.loads(text)["path"] for text in found["never: rows are not as many as the ledger counts"].sample}
    assert paths == {"lost", "doubled"}
    assert found["never: the file is not in the ledger"].unexpected_rows == 1


@pytest.mark.spark
def test_steps_and_generations_that_cannot_be(spark: SparkSession) -> None:
    def after(group: str, number: int, before: int, reached: int | None) -> dict[str, Any]:
        at = AT.replace(minute=number)
        times = {
            "started_at": at,
            "joined_at": at,
            "ended_at": at,
            "rebalance_id": f"{group}{number}",
            "group": group,
            "protocol": "classic",
        }
        return GOOD | times | {"generation_before": before, "generation_after": reached, "alternatives": {}}

    steps = [("Stable", "PreparingRebalance"), ("Stable", "Empty"), (None, "Stable"), ("Assigning", "Reconciling"), ("Dead", "Stable")]
    frames = {
        "rebalances": frame(
            spark,
            "rebalances",
            *[after("whole", 1, 4, 5), after("whole", 2, 5, 6), after("whole", 3, 6, None), after("whole", 4, 7, 8)],
            *[after("hole", 1, 4, 5), after("hole", 2, 7, 8), after("told", 1, 4, 5), after("told", 2, 7, 8)],
            *[after("anew", 1, 4, 5), after("anew", 2, 0, 1)],
        ),
        "divergences": frame(spark, "divergences", {"group": "told"}),
        "group_transitions": frame(
            spark,
            "group_transitions",
            *({"transition_id": str(place), "from_state": one, "to_state": other} for place, (one, other) in enumerate(steps)),
            {"transition_id": "lost", "from_state": "PreparingRebalance", "to_state": "Stable", "trigger": COORDINATOR_LOST},
        ),
    }
    found = failed(run_gate("gold", frames, dict.fromkeys(frames, 1)))
    holes = found["never: generations are missing, and no divergence says so"]
    assert [json.loads(text)["rebalance_id"] for text in holes.sample] == ["hole2"]
    assert not holes.stops
    wrong = found["never: a step that no coordinator takes"]
    assert [json.loads(text)["transition_id"] for text in wrong.sample] == ["1", "4"]


def test_the_steps_of_the_gate_are_those_of_the_model() -> None:
    [check] = [check for check in checks_of(TABLES["group_transitions"]) if "no coordinator takes" in check.name]
    listed = set(re.findall(r"'([A-Z]\w+ [A-Z]\w+)'", check.holds or ""))
    assert listed == {f"{before} {after}" for after, ones in VALID_PREVIOUS.items() for before in ones}


@pytest.mark.spark
def test_pages_tell_what_was_found_and_fetch_nothing(spark: SparkSession, tmp_path: Path) -> None:
    rows = [GOOD | {"rebalance_id": "good", "alternatives": {}}, GOOD | {"rebalance_id": "<script>alert(1)</script>", "evidence": []}]
    seen: list[Validation] = []
    run_gate("gold", {"rebalances": frame(spark, "rebalances", *rows)}, {"rebalances": 2}, seen=seen)
    write_docs(tmp_path / "docs", seen)

    page, index = ((tmp_path / "docs" / name).read_text(encoding="utf-8") for name in ("gold-rebalances.html", "index.html"))
    assert "a verdict without evidence" in index
    assert 'href="gold-rebalances.html"' in index
    assert "never: a verdict without evidence" in page
    assert not re.findall(r"(?:src|href)=.?https?:|<script|url\(http", page + index)
    assert "confidence is within" in page or "confidence" in page
    (tmp_path / "file").write_text("")
    with pytest.raises(CannotWrite, match="pages of the quality gates"):
        write_docs(tmp_path / "file", seen)


@pytest.mark.spark
def test_pages_of_tables_that_have_no_rows_any_more_go_and_nothing_else_does(spark: SparkSession, tmp_path: Path) -> None:
    """Such as after a rebuild that hides names, which they may show."""

    def write(**counts: int) -> None:
        seen: list[Validation] = []
        rows = {
            "rebalances": [GOOD | {"rebalance_id": "good", "alternatives": {}, "group": "payroll", "evidence": []}],
            "divergences": [{"group": "payroll", "evidence": []}],
        }
        run_gate("gold", {name: frame(spark, name, *rows[name][:count]) for name, count in counts.items()}, counts, seen=seen)
        write_docs(tmp_path, seen)

    def named() -> set[str]:
        return set(re.findall(r'href="([^"]+)"', (tmp_path / "index.html").read_text(encoding="utf-8")))

    write(rebalances=1, divergences=1)
    page = tmp_path / "gold-divergences.html"
    of_before = page.read_text(encoding="utf-8").replace('<meta name="generator" content="groupscope">', "")
    others = [tmp_path / name for name in ("gold-notes.html", "gold-divergences.html.bak", "silver-plans.txt", "silver-linked.html")]
    others[0].write_text("<html>The gold that we have found</html>")
    others[1].write_text(of_before)
    others[2].write_text("none of its business")
    others[3].symlink_to(others[1])
    (tmp_path / "silver-events.html").mkdir()

    write(rebalances=1, divergences=0)
    assert not page.exists()
    assert named() == {"gold-rebalances.html"}
    (tmp_path / "gold-of_a_table_that_went.html").write_text(of_before)
    write(rebalances=0, divergences=0)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(["index.html", "silver-events.html", *(path.name for path in others)])
    assert named() == set()


@pytest.mark.spark
def test_a_warning_stops_nothing(spark: SparkSession) -> None:
    counted = {"bytes_read": 900, "bytes_parsed": 600, "bytes_ignored": 200, "bytes_rejected": 100, "file_id": None}
    files = frame(spark, "log_files", {"records": 100, "recognised": 60, "rejected": 6, "unknown": 1, **counted})
    results = run_gate("silver", {"log_files": files}, {"log_files": 1})
    assert list(failed(results)) == ["never: too many records of a file are rejected"]
    stop_if_failed(results)
    eased = run_gate("silver", {"log_files": files}, {"log_files": 1}, {"rejected_share_max": 0.06})
    assert not failed(eased)


@pytest.mark.spark
def test_a_table_without_rows_meets_everything(spark: SparkSession) -> None:
    results = run_gate("gold", {"conditions": frame(spark, "conditions")}, {"conditions": 0})
    assert results
    assert all(result.success and result.checked_rows == 0 for result in results)


@pytest.mark.spark
def test_a_byte_that_nobody_accounts_for_stops_publication(spark: SparkSession) -> None:
    counted = {
        "records": 100,
        "recognised": 60,
        "file_id": None,
        "bytes_read": 901,
        "bytes_parsed": 600,
        "bytes_ignored": 200,
        "bytes_rejected": 100,
    }
    results = run_gate("silver", {"log_files": frame(spark, "log_files", {**counted, "rejected": 1, "unknown": 1})}, {"log_files": 1})
    assert list(failed(results)) == ["never: bytes are not accounted for"]
    with pytest.raises(GateFailed):
        stop_if_failed(results)


def test_rebalances_that_gates_look_up_are_named_by_columns_that_a_run_knows() -> None:
    """A batch gives a gate only those of the stored rebalances that these columns name."""
    asking = {name for name in checked_tables() for check in checks_of(TABLES[name]) if "rebalances" in check.others}
    assert asking == set(NAMING)
    assert all(column in TABLES[name].column_names for name, column in NAMING.items())
