"""Runs the checks of tables through Great Expectations and turns the answers into rows of `gold.quality_results`.

Each table is looked at once: counts of all its checks come from one validation. Only checks that failed are asked
again, for some of the rows that failed them. Great Expectations takes seconds to import, so that is done when needed.
"""

from __future__ import annotations

import json
import logging
import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from models.ids import make_id
from pipelines.errors import GateFailed
from pipelines.quality.checks import CRITICAL, Check, checks_of
from pipelines.schemas import TABLES, Table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

SAMPLE_ROWS = 5
"""Rows shown of a failed check."""

SAMPLE_TEXT_CHARACTERS = 300
"""A shown value is cut here: log text has no bound."""

# Any other form asks for rows of each check, one by one.
_QUICK = {"result_format": "BOOLEAN_ONLY"}

# Rows of a query come with the form COMPLETE alone (200 at most); of other checks that form would bring all.
_QUERY = "UnexpectedRowsExpectation"
_DETAILS = ("SUMMARY", "COMPLETE")


@dataclass(frozen=True, slots=True)
class Result:
    """The answer to one check."""

    table: str
    gate: str
    check: Check
    success: bool
    checked_rows: int
    unexpected_rows: int | None
    sample: tuple[str, ...] = ()

    @property
    def stops(self) -> bool:
        return not self.success and self.check.severity == CRITICAL

    def row(self) -> dict[str, Any]:
        """As a row of `quality_results`, but for its `run_id`."""
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
        own = {"holds": self.check.holds} if self.check.holds else self.check.arguments
        return {"kind": self.check.kind, **own}

    def line(self) -> str:
        """The failure in one line, with some of the rows."""
        rows = f"{self.unexpected_rows} of {self.checked_rows} rows" if self.unexpected_rows is not None else "rows"
        shown = f", among them {'; '.join(self.sample)}" if self.sample else ""
        return f"{TABLES[self.table].layer}.{self.table}: {self.check.name}: not met by {rows}{shown}"


@dataclass(frozen=True, slots=True)
class Validation:
    """What the library found in one table. `rules`: columns that the gate adds for rules -> what the rule is called."""

    gate: str
    table: str
    found: Any
    rules: Mapping[str, str]


def run_gate(
    gate: str,
    frames: Mapping[str, DataFrame],
    counts: Mapping[str, int],
    limits: Mapping[str, float] | None = None,
    whole: Mapping[str, DataFrame] | None = None,
    seen: list[Validation] | None = None,
) -> list[Result]:
    """Check each frame by the suite of its table. `counts` are the frames' rows; a frame without rows meets everything.

    Rules may compare tables: within the gate the frame of a table is the view `groupscope_<table>`; where a frame holds
    part of its table, `whole` has all of it that the rules of others may ask for; a table that the gate doesn't have is empty.
    `seen` collects what the library found, for its pages.
    """
    views = {**frames, **(whole or {})}
    for name in {other for table in frames for check in checks_of(TABLES[table], limits) for other in check.others} - views.keys():
        views[name] = next(iter(frames.values())).sparkSession.createDataFrame([], TABLES[name].spark_schema())
    for name, frame in views.items():
        frame.createOrReplaceTempView(f"groupscope_{name}")
    try:
        return [
            result
            for name, frame in frames.items()
            for result in _checked(TABLES[name], gate, frame, counts[name], limits, [] if seen is None else seen)
        ]
    finally:
        for name, frame in views.items():
            frame.sparkSession.catalog.dropTempView(f"groupscope_{name}")


def _checked(
    table: Table, gate: str, frame: DataFrame, count: int, limits: Mapping[str, float] | None, seen: list[Validation]
) -> list[Result]:
    checks = checks_of(table, limits)
    return (
        _validate(table, gate, frame, count, checks, seen) if count else [Result(table.name, gate, check, True, 0, 0) for check in checks]
    )


def stop_if_failed(results: Iterable[Result]) -> None:
    """Raise GateFailed with the failed checks that stop a run, if there are any."""
    failed = [result for result in results if result.stops]
    if failed:
        raise GateFailed("quality gate failed, nothing is published:\n" + "\n".join(f"  {result.line()}" for result in failed))


@cache
def _library() -> tuple[Any, Any, Any]:
    """Great Expectations, quiet: its expectations, a suite's class, and a source for data frames."""
    os.environ["GX_ANALYTICS_ENABLED"] = "false"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import great_expectations as gx
        import great_expectations.expectations as expectations
        from great_expectations.data_context.types.base import ProgressBarsConfig
    logging.getLogger("great_expectations").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.variables.progress_bars = ProgressBarsConfig(globally=False)
    # The frames are persisted by who made them; a second copy in memory would be waste.
    return expectations, gx.ExpectationSuite, context.data_sources.add_spark("spark", persist=False)


def prepare() -> None:
    """Import the library now, for example while the JVM starts."""
    _library()


def _validate(table: Table, gate: str, frame: DataFrame, count: int, checks: list[Check], seen: list[Validation]) -> list[Result]:
    frame = _with_rules(frame, checks)
    validated, answers = _ask(table, frame, checks, _QUICK)
    failed = [check for check, answer in zip(checks, answers, strict=True) if not answer.success]
    asked = {check.name: answer for form in _DETAILS for check, answer in _again(table, frame, failed, form)}
    results = []
    for check in checks:
        answer = asked.get(check.name)
        unexpected, sample = (0, ()) if answer is None else (_unexpected(answer.result), _sample(table, answer))
        results.append(Result(table.name, gate, check, answer is None, count, unexpected, sample))
    validated.results = [asked.get(check.name, answer) for check, answer in zip(checks, answers, strict=True)]
    seen.append(Validation(gate, table.name, validated, {_rule_column(check): check.name for check in checks if check.holds}))
    return results


def _rule_column(check: Check) -> str:
    return f"_rule_{make_id('rule', check.name)}"


def _with_rules(frame: DataFrame, checks: list[Check]) -> DataFrame:
    """The frame with a column for each rule."""
    from pyspark.sql import functions as F

    rules = {_rule_column(check): F.expr(check.holds) for check in checks if check.holds}
    return frame.withColumns(rules) if rules else frame


def _expectation(library: Any, check: Check) -> Any:
    own = {"column": _rule_column(check)} if check.holds else {}
    return getattr(library, check.kind)(**check.arguments, **own, meta={"name": check.name})


def _again(table: Table, frame: DataFrame, failed: list[Check], form: str) -> list[tuple[Check, Any]]:
    checks = [check for check in failed if (check.kind == _QUERY) == (form == "COMPLETE")]
    details = {"result_format": form, "partial_unexpected_count": SAMPLE_ROWS, "unexpected_index_column_names": list(table.key)}
    return list(zip(checks, _ask(table, frame, checks, details)[1], strict=True)) if checks else []


def _ask(table: Table, frame: DataFrame, checks: list[Check], result_format: dict[str, Any]) -> tuple[Any, list[Any]]:
    """What the library says of all, and its answers in the order of `checks`. An exception inside a check is an error of ours
    and is raised."""
    expectations, suite, source = _library()
    source.get_execution_engine().spark = frame.sparkSession  # it keeps the first that it meets, which may have died since
    asset = source.add_dataframe_asset(name=f"{table.name}-{len(source.assets)}")
    try:
        batch = asset.add_batch_definition_whole_dataframe("all").get_batch({"dataframe": frame})
        wanted = [_expectation(expectations, check) for check in checks]
        validated = batch.validate(suite(name=table.name, expectations=wanted), result_format=result_format)
    finally:
        source.delete_asset(asset.name)
    answers = {answer.expectation_config.meta["name"]: answer for answer in validated.results}
    for name, answer in answers.items():
        raised = _exception(answer.exception_info)
        if raised:
            raise RuntimeError(f"{table.name}: {name}: {raised}")
    return validated, [answers[check.name] for check in checks]


def _exception(info: Mapping[str, Any]) -> str | None:
    """The message of an exception inside a check: told directly, or once for each metric."""
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
        found = answer.result.get("details", {}).get("unexpected_rows", [])
        keep = [*table.key, *(name for name in table.slice if name not in table.key)]
        rows = [{name: row[name] for name in keep} for row in found]
    shown = [{key: _shown(value) for key, value in row.items() if not key.startswith("_rule_")} for row in rows[:SAMPLE_ROWS]]
    return tuple(json.dumps(row, ensure_ascii=False) for row in shown)


def _shown(value: object) -> object:
    if value is None or isinstance(value, (bool, int, float)):
        return value
    text = str(value)
    return text if len(text) <= SAMPLE_TEXT_CHARACTERS else text[:SAMPLE_TEXT_CHARACTERS] + "…"
