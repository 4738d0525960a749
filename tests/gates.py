"""Rules of the gold gate, checked on rows without Spark.

They concern order of times, steps of groups, lists of words, ranges and keys. Rules about other tables or in Spark's
own SQL are left to `tests/pipelines/quality/test_gate.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import duckdb

from pipelines.analysis.in_process import AnalysisResult
from pipelines.quality.checks import Check, checks_of
from pipelines.schema.row_conversion import to_batch
from pipelines.schema.tables import CONTRACT, TABLES, Table

WITHOUT_ROWS = frozenset({"unknown", "rejected"})
"""Tables with contents of files in an analysis, and none from models."""

ONLY_SPARK = ("aggregate(",)


def broken(analysis: AnalysisResult) -> list[str]:
    """Rules violated by the rows of an analysis, each with one of the rows."""
    with duckdb.connect() as connection:
        connection.execute("CREATE MACRO size(listed) AS len(listed)")
        return [
            line
            for name, table in CONTRACT.items()
            if name not in WITHOUT_ROWS
            for line in _broken(connection, TABLES[table], list(getattr(analysis, name)))
        ]


def _broken(connection: duckdb.DuckDBPyConnection, table: Table, rows: list[Any]) -> Iterator[str]:
    if not rows:
        return
    connection.register("batch", to_batch(table.name, rows))
    for check in checks_of(table):
        condition = condition_of(check)
        found = connection.sql(f"SELECT * FROM batch WHERE {condition}").fetchone() if condition is not None else None
        if found is not None:
            yield f"{table.name}: {check.name}: {dict(zip(table.column_names, found, strict=False))}"


def condition_of(check: Check) -> str | None:
    """Condition of rows that violate the rule, in DuckDB's SQL.

    None for rules that are not checked here.
    """
    column, given = f'"{check.column}"', check.arguments
    if check.holds is not None:
        if any(word in check.holds for word in ONLY_SPARK):
            return None
        return f"NOT ({check.holds.replace('`', chr(34)).replace('array(', 'list_value(')})"
    match check.kind:
        case "ExpectColumnValuesToNotBeNull":
            return f"{column} IS NULL"
        case "ExpectColumnValuesToBeInSet":
            words = ", ".join(f"'{word}'" for word in given["value_set"])
            return f"{column} NOT IN ({words})"
        case "ExpectColumnValuesToBeBetween":
            least, greatest = given["min_value"], given["max_value"]
            bounds = [
                *([f"{column} < {least}"] if least is not None else []),
                *([f"{column} > {greatest}"] if greatest is not None else []),
            ]
            return " OR ".join(bounds)
        case "ExpectColumnValuesToBeUnique":
            return f'"{given["column"]}" IN (SELECT "{given["column"]}" FROM batch GROUP BY ALL HAVING count(*) > 1)'
    return None
