"""Rules of suites on rows in Spark, counted by few queries for each table.

Great Expectations asks Spark for each metric of each expectation, and most of a gate's time went into that. Here one query counts the
rows that break rules about single rows, one finds keys that occur twice, and one each the rows that other tables contradict. The
library shows what fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from pipelines.quality.checks import NOT_NULL, QUERY, UNIQUENESS, Check
from pipelines.quality.local_rules import BATCH, held_by_rule

_VIEW = "groupscope_checked_{}"
"""Name of a table's checked rows in queries; rules name whole tables by `local_rules.VIEW`."""

_AT_ONCE = 4
"""Number of queries at once.

Those over few rows consist of planning, in sequence; those over many share the executors.
"""

_Broken = Mapping[str, int]
"""Number of rows, or of keys, that break each check, by its name."""


def failed_checks(tables: Mapping[str, DataFrame], checks: Mapping[str, Sequence[Check]]) -> dict[str, frozenset[str]]:
    """Names of the checks that rows of each table break.

    Views of all tables that rules name must exist.
    """
    for name, rows in tables.items():
        rows.createOrReplaceTempView(_VIEW.format(name))
    try:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            answers = [(name, pool.submit(query)) for name, rows in tables.items() for query in _queries(name, rows, checks[name])]
        failed: dict[str, set[str]] = {name: set() for name in tables}
        for name, answer in answers:
            failed[name].update(check for check, count in answer.result().items() if count)
    finally:
        for name, rows in tables.items():
            rows.sparkSession.catalog.dropTempView(_VIEW.format(name))
    return {name: frozenset(names) for name, names in failed.items()}


def _queries(name: str, rows: DataFrame, checks: Sequence[Check]) -> Iterator[Callable[[], _Broken]]:
    of_rows = {check.name: broken for check in checks if (broken := _broken(check)) is not None}
    if of_rows:
        yield partial(_count_rows, rows, of_rows)
    for check in checks:
        if check.kind in UNIQUENESS:
            yield partial(_count_keys, rows, check)
        elif check.kind == QUERY:
            yield partial(_count_contradicted, rows, check, _VIEW.format(name))
        elif check.name not in of_rows:
            raise ValueError(f"{name}: no query for {check.kind}")


def _broken(check: Check) -> Column | None:
    """Whether a row breaks a rule about single rows, None for other rules."""
    if check.kind == NOT_NULL:
        return F.col(check.arguments["column"]).isNull()
    ruled = held_by_rule(check)
    return None if ruled.holds is None or check.kind in UNIQUENESS else ~F.expr(ruled.holds)


def _count_rows(rows: DataFrame, broken: Mapping[str, Column]) -> _Broken:
    counts = [F.count_if(is_broken).alias(f"_{place}") for place, is_broken in enumerate(broken.values())]
    (answer,) = rows.agg(*counts).collect()
    return dict(zip(broken, answer, strict=True))


def _count_keys(rows: DataFrame, check: Check) -> _Broken:
    """Keys of several rows; a key without any value is none."""
    columns = [F.col(name) for name in check.looked_at]
    has_any = reduce(Column.__or__, (column.isNotNull() for column in columns))
    return {check.name: rows.where(has_any).groupBy(*columns).count().where(F.col("count") > 1).count()}


def _count_contradicted(rows: DataFrame, check: Check, view: str) -> _Broken:
    query = str(check.arguments["unexpected_rows_query"]).replace(BATCH, view)
    return {check.name: rows.sparkSession.sql(query).count()}
