"""Conditions on rows, defined once for Spark (SQL) and Arrow."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.schema.columns import INSTANT
from pipelines.warehouse.delta.sql import quote, sql_text

NAMES_MAX = 2_000
"""Maximum number of rows selected by name.

Larger sets are selected by a common property.
"""

_OF = "\0"
"""Placeholder before a column name for the name of its table."""


@dataclass(frozen=True, slots=True)
class RowScope:
    """A condition on the columns of a table.

    Made by the functions below; `sql` returns the final SQL.
    """

    condition: str
    arrow: pc.Expression

    def sql(self, table: str = "") -> str:
        """The condition as SQL, with columns qualified by `table` if given."""
        return self.condition.replace(_OF, f"{quote(table)}." if table else "")

    @property
    def column(self) -> Column:
        """The condition as a DataFrame column."""
        return F.expr(self.sql())

    def __and__(self, other: RowScope) -> RowScope:
        return RowScope(f"({self.condition} AND {other.condition})", self.arrow & other.arrow)

    def __or__(self, other: RowScope) -> RowScope:
        return RowScope(f"({self.condition} OR {other.condition})", self.arrow | other.arrow)

    def __invert__(self) -> RowScope:
        """The complement.

        A row with null in the column meets it in Arrow, but not in SQL; combine it with `is_null`.
        """
        return RowScope(f"(NOT {self.condition})", ~self.arrow)


def _named(name: str) -> str:
    return _OF + quote(name)


def _is_in(value: str, words: list[str]) -> str:
    return f"({value} IN ({', '.join(map(sql_text, words))}))" if words else "FALSE"


def nothing() -> RowScope:
    """A condition that no row meets."""
    return RowScope("FALSE", pc.scalar(False))


def any_of(scopes: Iterable[RowScope]) -> RowScope:
    """Rows that meet at least one of the conditions.

    Neither SQL nor Arrow accepts hundreds of nested conditions: SQL gets a flat list, Arrow a balanced tree.
    """
    scope_list = list(scopes)
    return RowScope(f"({' OR '.join(scope.condition for scope in scope_list)})", _any(scope_list)) if scope_list else nothing()


def _any(scopes: Sequence[RowScope]) -> pc.Expression:
    half = len(scopes) // 2
    return _any(scopes[:half]) | _any(scopes[half:]) if half else scopes[0].arrow


def among(name: str, values: Iterable[str]) -> RowScope:
    """The column is one of these texts."""
    wanted = sorted(values)
    return RowScope(_is_in(_named(name), wanted), pc.field(name).isin(pa.array(wanted, pa.string())))


def first_among(name: str, values: Iterable[str]) -> RowScope:
    """The first element of a list column is one of these texts."""
    wanted = sorted(values)
    padded = pc.list_slice(pc.field(name), 0, 1, return_fixed_size_list=True)  # an empty list has no first element
    return RowScope(_is_in(f"get({_named(name)}, 0)", wanted), pc.list_element(padded, 0).isin(pa.array(wanted, pa.string())))


def equals(name: str, value: str) -> RowScope:
    """The column equals a text."""
    return RowScope(f"({_named(name)} = {sql_text(value)})", pc.field(name) == value)


def at_least(name: str, value: int) -> RowScope:
    """The column is at least `value`."""
    return RowScope(f"({_named(name)} >= {value})", pc.field(name) >= value)


def is_later(name: str, at: int) -> RowScope:
    """The column is null or later than `at` (microseconds)."""
    moment = pc.scalar(pa.scalar(at, INSTANT))
    later = f"({_named(name)} IS NULL OR {_named(name)} > timestamp_micros({at}))"
    return RowScope(later, pc.field(name).is_null() | (pc.field(name) > moment))


def is_null(name: str) -> RowScope:
    """The column is null."""
    return RowScope(f"({_named(name)} IS NULL)", pc.field(name).is_null())


def is_empty(name: str) -> RowScope:
    """The column is an empty list."""
    return RowScope(f"(size({_named(name)}) = 0)", pc.list_value_length(pc.field(name)) == 0)
