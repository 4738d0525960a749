"""Rules of suites on rows in this process: what Spark says of the same rows."""

from __future__ import annotations

import gc
import math
import random
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
import pytest

from pipelines.quality.checks import UNIQUENESS, checks_of
from pipelines.quality.gate import Validation, all_hold, run_gate
from pipelines.quality.local_rules import VIEW, LocalTables
from pipelines.schema.tables import TABLES, without_run
from pipelines.warehouse.rows import arrow_diff
from tests.conftest import LONG
from tests.pipelines.quality.suites import checked_tables
from tests.pipelines.quality.test_gate import BROKEN, GOOD, row

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 60
PLACE = "place"
WORDS = ("a", "b", "Stable Dead", "Empty", "PreparingRebalance", "Assigning", "rocketmq", "classic", "open", "no_owner", "owned")
FIELDS = '{"count": 2, "last_at_us": 5}'
START = datetime(2026, 11, 21, tzinfo=UTC)


def value(kind: pa.DataType, draw: random.Random) -> Any:
    """A random value of a type, so often equal to another that rules between tables find something."""
    if draw.random() < 0.15:
        return None
    if pa.types.is_timestamp(kind):
        return START + timedelta(seconds=draw.randrange(3))
    if pa.types.is_boolean(kind):
        return draw.random() < 0.5
    if pa.types.is_integer(kind):
        return draw.randrange(-1, 4)
    if pa.types.is_floating(kind):
        return draw.choice([-0.5, 0.0, 0.5, 0.95, 1.5, math.nan])
    if pa.types.is_list(kind):
        return [value(kind.value_type, draw) for _ in range(draw.randrange(3))]
    if pa.types.is_map(kind):
        return [(key, draw.choice([0.25, 0.75])) for key in WORDS[: draw.randrange(3)]]
    if pa.types.is_struct(kind):
        return {field.name: value(field.type, draw) for field in kind}
    return draw.choice([*WORDS, FIELDS])


@cache
def rows_of(name: str) -> pa.Table:
    draw = random.Random(name)  # noqa: S311 - the same rows each time
    schema = pa.schema([field.remove_metadata() for field in without_run(name)])
    columns = {field.name: [value(field.type, draw) for _ in range(ROWS)] for field in schema}
    if "generation_before" in columns:
        columns["cluster"] = columns["group"] = ["a"] * ROWS
    return pa.table(columns, schema=schema).append_column(PLACE, pa.array(range(ROWS)))


RULED = [name for name in checked_tables() if any(check.condition for check in checks_of(TABLES[name]))]


@pytest.mark.spark
@pytest.mark.parametrize("name", RULED)
def test_a_rule_says_the_same_of_each_row_in_both_engines(spark: SparkSession, name: str) -> None:
    checks = [check for check in checks_of(TABLES[name]) if check.condition]
    known = {table: rows_of(table) for table in {name, *(other for check in checks for other in check.others)}}
    rules = {f"rule_{place}": check.as_column.holds or "" for place, check in enumerate(checks)}
    with LocalTables(known) as local:
        here = local.frame(known[name], [PLACE], [], rules)
    for table, rows in known.items():
        arrow_diff.to_frame(spark, rows).createOrReplaceTempView(VIEW.format(table))
    view = VIEW.format(name)
    plain = {column: check for column, check in zip(rules, checks, strict=True) if check.holds}
    columns = ", ".join([PLACE, *(f"{check.holds} AS {column}" for column, check in plain.items())])
    rows_by_place = {row[PLACE]: row for row in spark.sql(f"SELECT {columns} FROM {view}").collect()}
    for column, check in zip(rules, checks, strict=True):
        condition = (check.condition or "").replace("{batch}", view)
        if column in plain:
            there = {place for place, row in rows_by_place.items() if not row[column]}
        else:
            there = {row[PLACE] for row in spark.sql(f"SELECT {PLACE} FROM {view} WHERE {condition}").collect()}
        assert set(here[PLACE][~here[column].astype(bool)]) == there, condition


@pytest.mark.spark
def test_tables_in_the_driver_pass_as_in_spark(spark: SparkSession) -> None:
    tables = {name: TABLES[name].arrow_schema().empty_table().drop_columns(["run_id"]) for name in checked_tables()}
    tables["brokers"] = table_of("brokers", [row(TABLES["brokers"])])
    counts = {name: rows.num_rows for name, rows in tables.items()}
    frames = {name: arrow_diff.to_frame(spark, rows) for name, rows in tables.items()}
    seen: list[Validation] = []
    here, there = run_gate("gold", tables, counts, seen=seen, spark=spark), run_gate("gold", frames, counts)

    assert here == there
    assert all(result.success for result in here)
    assert [validation.table for validation in seen] == list(tables)


def table_of(name: str, rows: list[dict[str, Any]]) -> pa.Table:
    return pa.Table.from_pylist(rows, schema=TABLES[name].arrow_schema()).drop_columns(["run_id"])


BREAKS: list[list[dict[str, Any]]] = [
    *([GOOD | change] for change, _ in BROKEN),
    [GOOD | {"rebalance_id": "same"}, GOOD | {"rebalance_id": "same"}],
    [GOOD | {"confidence": math.nan}],
    [GOOD | {"confidence": -0.5}],
    [GOOD | {"system": "strange"}],
]


@pytest.mark.parametrize("changes", BREAKS, ids=str)
def test_one_broken_row_is_seen_in_this_process(changes: list[dict[str, Any]]) -> None:
    checks = {"rebalances": checks_of(TABLES["rebalances"])}
    good, broken = ([row(TABLES["rebalances"], **values) for values in rows] for rows in ([GOOD], changes))
    for rows, expected in ((good, True), (broken, False)):
        tables = {"rebalances": table_of("rebalances", rows)}
        views = {"divergences": TABLES["divergences"].arrow_schema().empty_table(), **tables}
        with LocalTables(views) as known:
            assert all_hold(tables, known, checks) is expected


def test_a_page_of_a_table_in_the_driver_shows_rows_that_fail() -> None:
    table = table_of("rebalances", [row(TABLES["rebalances"], **GOOD | {"rebalance_id": "r1", "cause": "boredom", "evidence": []})])
    seen: list[Validation] = []
    results = run_gate("gold", {"rebalances": table}, {"rebalances": 1}, seen=seen)

    answers = {answer.expectation_config.meta["name"]: answer for answer in seen[0].result.results}
    failed = [result.check.name for result in results if not result.success]
    assert [name for name, answer in answers.items() if not answer.success] == failed
    assert "never: a verdict without evidence" in failed
    for name in failed:
        assert answers[name].result["unexpected_count"] == 1
        assert answers[name].result["partial_unexpected_index_list"][0]["rebalance_id"] == "r1"


def test_rows_are_let_go_once_they_are_checked() -> None:
    """A run after the other checks more of them, in one process."""
    tables = {"rebalances": table_of("rebalances", [row(TABLES["rebalances"], **GOOD) for _ in range(3)])}
    checks = {"rebalances": checks_of(TABLES["rebalances"])}
    before = frames_held()
    with LocalTables({"divergences": TABLES["divergences"].arrow_schema().empty_table(), **tables}) as known:
        assert all_hold(tables, known, checks) is False  # three rows with one key
    assert frames_held() <= before


def frames_held() -> int:
    gc.collect()
    return sum(isinstance(held, pd.DataFrame) for held in gc.get_objects())


@LONG
@pytest.mark.spark
@pytest.mark.parametrize("name", ["log_files", "rebalances"])
def test_failures_of_tables_in_the_driver_are_shown_as_sparks_are(spark: SparkSession, name: str) -> None:
    table = rows_of(name).slice(0, 12).drop_columns([PLACE])
    frame = arrow_diff.to_frame(spark, table)

    here, there = run_gate("gold", {name: table}, {name: 12}, spark=spark), run_gate("gold", {name: frame}, {name: 12})
    # Spark shows rows of equal keys in an order of its own.
    assert [replace(result, sample=()) for result in here] == [replace(result, sample=()) for result in there]
    assert [result.sample for result in here if result.check.kind not in UNIQUENESS] == [
        result.sample for result in there if result.check.kind not in UNIQUENESS
    ]
    for result in here:
        if result.check.kind in UNIQUENESS and not result.success:
            assert result.sample[0] == result.sample[1]
