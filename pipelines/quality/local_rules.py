"""Rules of suites on rows in this process, by DuckDB.

They are written in Spark's SQL; sqlglot translates them. Spark plans several queries for each table, however few its rows
are, and takes longer for that than for all else in a gate.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from pipelines.quality.checks import Check

if TYPE_CHECKING:
    import pandas as pd
    from duckdb import DuckDBPyConnection

VIEW = "groupscope_{}"
"""Name of a table in rules."""

BATCH = "{batch}"
"""Name of the checked rows in rules."""

_CHECKED = "checked"


class LocalTables:
    """Tables that rules may refer to."""

    def __init__(self, tables: Mapping[str, pa.Table]) -> None:
        import duckdb

        self._connection: DuckDBPyConnection = duckdb.connect(config={"threads": 1})
        self._connection.execute("SET TimeZone = 'UTC'")
        for name, rows in tables.items():
            self._connection.register(VIEW.format(name), rows)

    def frame(self, rows: pa.Table, columns: Iterable[str], presence: Iterable[str], rules: Mapping[str, str]) -> pd.DataFrame:
        """Columns of rows, presence of others, and results of rules.

        `rules` are SQL expressions by the name of their column. Values of `presence` are True or null, because texts may
        be long.
        """
        self._connection.register(_CHECKED, rows)
        chosen = [_comparable(column, rows.schema.field(column).type) for column in columns]
        chosen += [f'CASE WHEN "{column}" IS NOT NULL THEN true END AS "{column}"' for column in presence]
        chosen += [f'({translated(rule.replace(BATCH, _CHECKED))}) AS "{column}"' for column, rule in rules.items()]
        answer: pa.Table = self._connection.sql(f"SELECT {', '.join(chosen)} FROM {_CHECKED}").arrow().read_all()  # noqa: S608 - our own names
        frame: pd.DataFrame = answer.to_pandas(integer_object_nulls=True)
        return frame

    def keys(self, name: str, rows: pa.Table, columns: Sequence[str]) -> pd.Series[Any]:
        """Keys of rows as texts, unique to their table; null without any value."""
        self._connection.register(_CHECKED, rows)
        quoted = [f'"{column}"' for column in columns]
        has_any = " OR ".join(f"{column} IS NOT NULL" for column in quoted)
        key = f"CASE WHEN {has_any} THEN {_text(name)} || json_array({', '.join(quoted)})::VARCHAR END"
        answer: pa.Table = self._connection.sql(f"SELECT {key} AS key FROM {_CHECKED}").arrow().read_all()  # noqa: S608 - our own names
        keys: pd.Series[Any] = answer["key"].to_pandas()
        return keys

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()


def held_by_rule(check: Check) -> Check:
    """A check of words or ranges as a rule.

    Null is no value, as for the library.
    """
    if check.holds or "column" not in check.arguments:
        return check
    column = f"`{check.arguments['column']}`"
    if "value_set" in check.arguments:
        words = ", ".join(map(_text, check.arguments["value_set"]))
        return replace(check, holds=f"{column} IS NULL OR {column} IN ({words})")
    bounds = [f"{column} >= {check.arguments['min_value']}"] if check.arguments.get("min_value") is not None else []
    bounds += [f"{column} <= {check.arguments['max_value']}"] if check.arguments.get("max_value") is not None else []
    return replace(check, holds=f"{column} IS NULL OR {' AND '.join(bounds)}") if bounds else check


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _comparable(column: str, kind: pa.DataType) -> str:
    """A column with the same results in pandas as in Spark.

    pandas treats NaN as null, whereas Spark orders it above all numbers.
    """
    if not pa.types.is_floating(kind):
        return f'"{column}"'
    return f"""CASE WHEN isnan("{column}") THEN 'Infinity'::DOUBLE ELSE "{column}" END AS "{column}\""""


@cache
def translated(rule: str) -> str:
    """An expression of Spark's SQL in DuckDB's."""
    import sqlglot

    return sqlglot.parse_one(rule, read="spark").sql(dialect="duckdb")
