"""Run the checks of tables, and make rows of `gold.quality_results`.

Great Expectations takes seconds to import, so it is imported when needed, and runs several Spark queries for each expectation, which
would be most of a gate. So it validates tables in the driver in this process, where DuckDB computes the results of their rules. Of
tables in Spark `spark_rules` counts what fails, and the library shows samples of that alone. Pages need all of its own results.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from models.ids import make_id
from parsers.arrow_arrays import array_of
from pipelines.errors import GateFailed
from pipelines.quality.checks import CRITICAL, IN_SET, NOT_NULL, QUERY, UNIQUENESS, Check, checks_of
from pipelines.quality.local_rules import VIEW, LocalTables, held_by_rule
from pipelines.schema.tables import TABLES, Table
from pipelines.warehouse.rows import arrow_diff

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

SAMPLE_ROWS = 5
"""Number of sample rows for a failed check."""

SAMPLE_TEXT_CHARACTERS = 300
"""Maximum length of a value in a sample, because log text may be long."""

# Every other format makes a query per check.
_QUICK = {"result_format": "BOOLEAN_ONLY"}

# Queries return their rows only with the format COMPLETE (200 at most); for other checks it would return all rows.
_DETAILS = ("SUMMARY", "COMPLETE")
_VALUE = "value"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of one check."""

    table: str
    gate: str
    check: Check
    success: bool
    checked_rows: int
    unexpected_rows: int | None
    sample: tuple[str, ...] = ()

    @property
    def stops(self) -> bool:
        """True if the failure ends the run."""
        return not self.success and self.check.severity == CRITICAL

    def row(self) -> dict[str, Any]:
        """The result as a row of `quality_results`, without `run_id`."""
        return {
            "quality_result_id": make_id("quality", self.table, self.check.name),
            "table": self.table,
            "gate": self.gate,
            "expectation": self.check.name,
            "column": self.check.column,
            "arguments": json.dumps(self._arguments(), sort_keys=True),
            "success": self.success,
            "severity": self.check.severity,
            "checked_rows": self.checked_rows,
            "unexpected_rows": self.unexpected_rows,
            "sample": list(self.sample),
        }

    def _arguments(self) -> dict[str, Any]:
        arguments = {"holds": self.check.holds} if self.check.holds else self.check.arguments
        return {"kind": self.check.kind, **arguments}

    def line(self) -> str:
        """The failure in one line, with sample rows."""
        rows = f"{self.unexpected_rows} of {self.checked_rows} rows" if self.unexpected_rows is not None else "rows"
        shown = f", among them {'; '.join(self.sample)}" if self.sample else ""
        return f"{TABLES[self.table].layer}.{self.table}: {self.check.name}: not met by {rows}{shown}"


@dataclass(frozen=True, slots=True)
class Validation:
    """The library's result for one table, None if it had no rows.

    `rules` maps columns added by the gate to the names of rules.
    """

    gate: str
    table: str
    result: Any
    rules: Mapping[str, str]


CheckedRows = Mapping[str, "DataFrame | pa.Table"]
"""Rows by table, in Spark or in the driver."""


def run_gate(
    gate: str,
    tables: CheckedRows,
    counts: Mapping[str, int],
    limits: Mapping[str, float] | None = None,
    whole: CheckedRows | None = None,
    seen: list[Validation] | None = None,
    spark: SparkSession | None = None,
) -> list[Result]:
    """Check each table by its suite.

    `counts` are the tables' rows; a table without rows passes. Rules may compare tables: each is available as the view
    `groupscope_<table>`. If only part of a table is checked, `whole` has everything that rules of other tables may need; a
    table missing in the gate is empty. `seen` collects the library's results for pages. `spark` is needed for Arrow tables.
    """
    views = {**tables, **(whole or {})}
    for name in {other for table in tables for check in checks_of(TABLES[table], limits) for other in check.others} - views.keys():
        views[name] = TABLES[name].arrow_schema().empty_table()
    near = _in_driver(tables, views, limits)
    by_table: dict[str, list[Result]] = {}
    if near and sum(counts[name] for name in near) <= arrow_diff.LOCAL_ROWS_MAX:
        by_table = _checked_in_process(gate, near, limits, views, seen)
    rest = {name: rows for name, rows in tables.items() if name not in by_table}
    if rest:
        session = spark or next(rows.sparkSession for rows in views.values() if not isinstance(rows, pa.Table))
        by_table |= _checked_by_spark(gate, rest, counts, limits, views, seen, session)
    return [result for name in tables for result in by_table[name]]


def _checked_by_spark(
    gate: str,
    tables: CheckedRows,
    counts: Mapping[str, int],
    limits: Mapping[str, float] | None,
    views: CheckedRows,
    seen: list[Validation] | None,
    spark: SparkSession,
) -> dict[str, list[Result]]:
    """Results of tables, for whose rules all are views."""
    from pipelines.quality.spark_rules import failed_checks

    def as_frame(rows: DataFrame | pa.Table) -> DataFrame:
        return arrow_diff.to_frame(spark, rows) if isinstance(rows, pa.Table) else rows

    for name, rows in views.items():
        as_frame(rows).createOrReplaceTempView(VIEW.format(name))
    try:
        checks = {name: checks_of(TABLES[name], limits) for name in tables}
        frames = {name: as_frame(rows) for name, rows in tables.items() if counts[name]}
        failed = failed_checks(frames, checks)
        return {
            name: _shown_by_spark(TABLES[name], gate, frames.get(name), counts[name], checks[name], failed.get(name, frozenset()), seen)
            for name in tables
        }
    finally:
        for name in views:
            spark.catalog.dropTempView(VIEW.format(name))


def _in_driver(tables: CheckedRows, views: CheckedRows, limits: Mapping[str, float] | None) -> dict[str, pa.Table]:
    """Tables in the driver whose rules need no table that is elsewhere."""
    local = {name for name, rows in views.items() if isinstance(rows, pa.Table)}
    return {
        name: rows
        for name, rows in tables.items()
        if isinstance(rows, pa.Table) and all(local.issuperset(check.others) for check in checks_of(TABLES[name], limits))
    }


def _checked_in_process(
    gate: str, tables: Mapping[str, pa.Table], limits: Mapping[str, float] | None, views: CheckedRows, seen: list[Validation] | None
) -> dict[str, list[Result]]:
    """Results of tables in the driver, the failed ones with samples."""
    checks = {name: checks_of(TABLES[name], limits) for name in tables}
    filled = {name: rows for name, rows in tables.items() if rows.num_rows}
    with LocalTables({name: rows for name, rows in views.items() if isinstance(rows, pa.Table)}) as known:
        all_pass = all_hold(filled, known, checks)
        if seen is not None:
            seen += [_page(gate, known, name, rows, checks[name]) for name, rows in tables.items()]
        return {
            name: [Result(name, gate, check, True, rows.num_rows, 0) for check in checks[name]]
            if all_pass or name not in filled
            else list(_shown_in_process(TABLES[name], gate, known, rows, checks[name]))
            for name, rows in tables.items()
        }


def _page(gate: str, known: LocalTables, name: str, rows: pa.Table, checks: list[Check]) -> Validation:
    """The library's own result for a table in the driver, check by check."""
    validated = _validated_in_process(TABLES[name], known, rows, checks) if rows.num_rows else None
    return Validation(gate, name, validated, {_rule_column(check): check.name for check in checks if check.condition})


def _shown_in_process(table: Table, gate: str, known: LocalTables, rows: pa.Table, checks: list[Check]) -> Iterator[Result]:
    for check, (kind, values) in zip(checks, _values_of(known, table.name, rows, checks), strict=True):
        if kind == NOT_NULL:
            broken = values[values.isna()]
        elif kind == IN_SET:
            broken = values[~values.astype(bool)]
        else:
            broken = values[values.notna() & values.duplicated(keep=False)].sort_values(kind="stable")  # equal keys side by side
        places = broken.index
        shown = [*table.key, *(table.slice if check.kind == QUERY else () if check.holds else check.looked_at)]
        sample = rows.select(list(dict.fromkeys(shown))).take(array_of(places[:SAMPLE_ROWS].tolist(), pa.int64())).to_pylist()
        yield Result(table.name, gate, check, not len(places), rows.num_rows, len(places), tuple(map(_as_text, sample)))


def all_hold(tables: Mapping[str, pa.Table], known: LocalTables, checks: Mapping[str, Sequence[Check]]) -> bool:
    """Validate all checks of all tables together, by kind.

    The library takes 20 ms for each expectation, and there are hundreds.
    """
    import pandas as pd

    values: dict[str, list[pd.Series[Any]]] = {}
    for name, rows in tables.items():
        for kind, column in _values_of(known, name, rows, checks[name]):
            values.setdefault(kind, []).append(column)
    for kind, columns in ((kind, columns) for kind, columns in values.items() if columns):
        expected = Check(kind, kind, {"column": _VALUE, **({"value_set": [True]} if kind == IN_SET else {})})
        frame = pd.concat(columns, ignore_index=True).to_frame(_VALUE)
        if not _ask("all", frame, [expected], _QUICK)[0].success:
            return False
    return True


def _values_of(known: LocalTables, name: str, rows: pa.Table, checks: Sequence[Check]) -> Iterator[tuple[str, pd.Series[Any]]]:
    """What each check looks at, and the kind of check that it amounts to.

    Rules and words are true or false, keys are texts.
    """
    ruled = [held_by_rule(check.as_column) for check in checks]
    required = [check.arguments["column"] for check in ruled if check.kind == NOT_NULL]
    rules = {_rule_column(check): check.holds for check in ruled if check.holds and check.kind not in UNIQUENESS}
    frame = known.frame(rows, [], required, rules)
    for check in ruled:
        if check.kind == NOT_NULL:
            yield NOT_NULL, frame[check.arguments["column"]]
        elif check.kind in UNIQUENESS:
            yield UNIQUENESS[0], known.keys(name, rows, check.looked_at)
        else:
            yield IN_SET, frame[_rule_column(check)]


def _validated_in_process(table: Table, known: LocalTables, rows: pa.Table, checks: list[Check]) -> Any:
    """The library's result for rows in the driver, with rows that fail."""
    as_columns = [check.as_column for check in checks]
    kinds: dict[str, set[str]] = {name: {"key"} for name in table.key}
    for check in as_columns:
        for name in () if check.holds else check.looked_at:
            kinds.setdefault(name, set()).add(check.kind)
    presence = [name for name, of_column in kinds.items() if of_column == {NOT_NULL}]
    rules = {_rule_column(check): check.holds for check in as_columns if check.holds}
    frame = known.frame(rows, [name for name in kinds if name not in presence], presence, rules)
    validated, answers = _ask(table.name, frame, as_columns, _QUICK)
    broken = [check for check in as_columns if not answers[check.name].success]
    if not broken:
        return validated
    answers |= _ask(table.name, frame, broken, _details_of(table, _DETAILS[0]))[1]
    return _with_details(validated, [answers[check.name] for check in checks])


def stop_if_failed(results: Iterable[Result]) -> None:
    """Raise GateFailed if failed checks stop the run."""
    failed = [result for result in results if result.stops]
    if failed:
        raise GateFailed("quality gate failed, nothing is published:\n" + "\n".join(f"  {result.line()}" for result in failed))


@dataclass(frozen=True, slots=True)
class _Library:
    """Great Expectations: expectations, suite class, its context, and the source for pandas."""

    expectations: Any
    suite: Any
    context: Any
    pandas: Any


@cache
def _library() -> _Library:
    """The library, without its output."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import great_expectations as gx
        import great_expectations.expectations as expectations
        from great_expectations.data_context.types.base import ProgressBarsConfig
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    return _Library(expectations, gx.ExpectationSuite, context, context.data_sources.add_pandas("pandas"))


@cache
def _spark_source() -> Any:
    """The library's source for Spark, which starts a session if there is none.

    The frames are already cached; another copy would waste memory.
    """
    return _library().context.data_sources.add_spark("spark", persist=False)


def prepare() -> None:
    """Import the library now, for example while the JVM starts."""
    _library()


def _shown_by_spark(
    table: Table,
    gate: str,
    frame: DataFrame | None,
    count: int,
    checks: list[Check],
    failed: Collection[str],
    seen: list[Validation] | None,
) -> list[Result]:
    """Results of a table's checks, the failed ones with samples.

    `frame` is None without rows.
    """
    details: dict[str, Any] = {}
    if frame is not None:
        frame = _with_rules(frame, checks)
        broken = [check for check in checks if check.name in failed]
        details = {name: answer for form in _DETAILS for name, answer in _sample_failures(table, frame, broken, form).items()}
    if seen is not None:
        seen.append(_validation(table, gate, frame, checks, details))
    results = []
    for check in checks:
        answer = details.get(check.name)
        unexpected, sample = (0, ()) if answer is None else (_unexpected(answer.result), _sample(table, answer))
        results.append(Result(table.name, gate, check, answer is None, count, unexpected, sample))
    return results


def _validation(table: Table, gate: str, frame: DataFrame | None, checks: list[Check], details: Mapping[str, Any]) -> Validation:
    """The library's own result for a table's page."""
    if frame is None:
        return Validation(gate, table.name, None, {})
    validated, answers = _ask(table.name, frame, checks, _QUICK)
    whole = _with_details(validated, [details.get(check.name, answers[check.name]) for check in checks])
    return Validation(gate, table.name, whole, {_rule_column(check): check.name for check in checks if check.holds})


def _with_details(whole: Any, answers: list[Any]) -> Any:
    """The library's result with other answers."""
    success_count = sum(answer.success for answer in answers)
    whole.results, whole.success = answers, success_count == len(answers)
    whole.statistics = {
        "evaluated_expectations": len(answers),
        "successful_expectations": success_count,
        "unsuccessful_expectations": len(answers) - success_count,
        "success_percent": 100 * success_count / len(answers),
    }
    return whole


def _rule_column(check: Check) -> str:
    return f"_rule_{make_id('rule', check.name)}"


def _with_rules(frame: DataFrame, checks: list[Check]) -> DataFrame:
    """Add a column for each rule."""
    from pyspark.sql import functions as F

    rules = {_rule_column(check): F.expr(check.holds) for check in checks if check.holds}
    return frame.withColumns(rules) if rules else frame


def _expectation(library: Any, check: Check) -> Any:
    column_argument = {"column": _rule_column(check)} if check.holds else {}
    return getattr(library, check.kind)(**check.arguments, **column_argument, meta={"name": check.name})


def _sample_failures(table: Table, frame: DataFrame, failed: list[Check], form: str) -> dict[str, Any]:
    checks = [check for check in failed if (check.kind == QUERY) == (form == "COMPLETE")]
    return _ask(table.name, frame, checks, _details_of(table, form))[1] if checks else {}


def _details_of(table: Table, form: str) -> dict[str, Any]:
    return {"result_format": form, "partial_unexpected_count": SAMPLE_ROWS, "unexpected_index_column_names": list(table.key)}


def _ask(name: str, frame: DataFrame | pd.DataFrame, checks: list[Check], result_format: dict[str, Any]) -> tuple[Any, dict[str, Any]]:
    """Validate; return the library's result, and its answers by name of check.

    An exception inside a check is a bug and is raised.
    """
    library = _library()
    source = _spark_source() if hasattr(frame, "sparkSession") else library.pandas
    if source is not library.pandas:
        source.get_execution_engine().spark = frame.sparkSession  # the engine keeps the first session, which may be dead
    asset = source.add_dataframe_asset(name=f"{name}-{len(source.assets)}")
    try:
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
        wanted = [_expectation(library.expectations, check) for check in checks]
        validated = batch.validate(library.suite(name=name, expectations=wanted), result_format=result_format)
    finally:
        source.delete_asset(asset.name)
        _forget_batches(source)
    answers = {answer.expectation_config.meta["name"]: answer for answer in validated.results}
    for check, answer in answers.items():
        raised = _exception(answer.exception_info)
        if raised:
            raise RuntimeError(f"{name}: {check}: {raised}")
    return validated, answers


def _forget_batches(source: Any) -> None:
    """Forget the rows that a source was given.

    It keeps the last ones under each name while the process lives.
    """
    batches = source.get_execution_engine().batch_manager
    batches.reset_batch_cache()
    batches.batch_data_cache.clear()


def _exception(info: Mapping[str, Any]) -> str | None:
    """Message of an exception inside a check, reported directly or once per metric."""
    for part in [info, *(value for value in info.values() if isinstance(value, Mapping))]:
        if part.get("raised_exception"):
            return str(part.get("exception_message"))
    return None


def _unexpected(result: Mapping[str, Any]) -> int | None:
    value = result.get("unexpected_count", result.get("observed_value"))
    return int(value) if isinstance(value, (int, float)) else None


def _sample(table: Table, answer: Any) -> tuple[str, ...]:
    rows = answer.result.get("partial_unexpected_index_list")
    if rows is None:
        samples = answer.result.get("details", {}).get("unexpected_rows", [])
        keep = [*table.key, *(name for name in table.slice if name not in table.key)]
        rows = [{name: row[name] for name in keep} for row in samples]
    return tuple(_as_text({key: value for key, value in row.items() if not key.startswith("_rule_")}) for row in rows[:SAMPLE_ROWS])


def _as_text(row: Mapping[str, object]) -> str:
    return json.dumps({key: _shown(value) for key, value in row.items()}, ensure_ascii=False)


def _shown(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = str(value)
    return text if len(text) <= SAMPLE_TEXT_CHARACTERS else text[:SAMPLE_TEXT_CHARACTERS] + "…"
