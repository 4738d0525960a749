"""Rules of the gold gate, held to rows without Spark: order of times, steps of groups, lists of words, ranges and keys.

Those that need other tables, or words that only Spark's SQL has, are left to `tests/pipelines/test_quality.py`.
"""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from pipelines.local import Analysis
from pipelines.quality.checks import Check, checks_of
from pipelines.rows import to_batch
from pipelines.schemas import CONTRACT, TABLES

WITHOUT_ROWS = frozenset({"unknown", "rejected"})
"""Of these an analysis holds what files hold, and nothing that models say."""

ONLY_SPARK = ("aggregate(",)


def broken(analysis: Analysis) -> list[str]:
    """Which rules the rows of an analysis break, each with one of the rows."""
    return list(_broken(analysis))


def _broken(analysis: Analysis) -> Iterator[str]:
    for name, table in CONTRACT.items():
        batch = to_batch(table, [] if name in WITHOUT_ROWS else list(getattr(analysis, name)))
        if not batch.num_rows:
            continue
        with duckdb.connect() as connection:
            connection.execute("CREATE MACRO size(listed) AS len(listed)")
            connection.register("batch", batch)
            for check in checks_of(TABLES[table]):
                condition = condition_of(check)
                if condition is None:
                    continue
                found = connection.execute(f"SELECT * FROM batch WHERE {condition}").fetchone()
                if found is not None:
                    yield f"{table}: {check.name}: {dict(zip(batch.schema.names, found, strict=True))}"


def condition_of(check: Check) -> str | None:
    """What a row meets that breaks the rule, in DuckDB's SQL; None for rules that are not held here."""
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
