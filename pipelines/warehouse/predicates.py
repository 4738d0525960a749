"""Which rows of a table are meant, said once: to Spark in SQL, and to Arrow where a table is read without Spark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F

from pipelines.schema.columns import INSTANT
from pipelines.warehouse.delta_sql import quoted, text

NAMES_MAX = 2_000
"""So many rows are asked for by their names, and more by what they have in common."""

_OF = "\0"
"""Stands before the name of a column, where the name of its table may come."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A condition on the columns of a table. `condition` is made by the functions below; ask for `sql`."""

    condition: str
    arrow: pc.Expression

    def sql(self, table: str = "") -> str:
        """The condition on a table of this name in the query, or on the only one there is."""
        return self.condition.replace(_OF, f"{quoted(table)}." if table else "")

    @property
    def column(self) -> Column:
        """The condition for data frames."""
        return F.expr(self.sql())

    def __and__(self, other: Scope) -> Scope:
        return Scope(f"({self.condition} AND {other.condition})", self.arrow & other.arrow)

    def __or__(self, other: Scope) -> Scope:
        return Scope(f"({self.condition} OR {other.condition})", self.arrow | other.arrow)

    def __invert__(self) -> Scope:
        """All others. A row without a word is among others to Arrow, and neither to SQL: ask for null beside it."""
        return Scope(f"(NOT {self.condition})", ~self.arrow)


def _named(name: str) -> str:
    return _OF + quoted(name)


def _is_in(value: str, words: list[str]) -> str:
    return f"({value} IN ({', '.join(map(text, words))}))" if words else "FALSE"


def nothing() -> Scope:
    """No row."""
    return Scope("FALSE", pc.scalar(False))


def any_of(scopes: Iterable[Scope]) -> Scope:
    """Rows that at least one of these means, however many there are: beside each other in SQL and halved for Arrow, since neither
    bears conditions that lie within each other by the hundred."""
    each = list(scopes)
    return Scope(f"({' OR '.join(scope.condition for scope in each)})", _any(each)) if each else nothing()


def _any(scopes: Sequence[Scope]) -> pc.Expression:
    half = len(scopes) // 2
    return _any(scopes[:half]) | _any(scopes[half:]) if half else scopes[0].arrow


def among(name: str, values: Iterable[str]) -> Scope:
    """The column holds one of these words."""
    wanted = sorted(values)
    return Scope(_is_in(_named(name), wanted), pc.field(name).isin(pa.array(wanted, pa.string())))


def first_among(name: str, values: Iterable[str]) -> Scope:
    """The first word of a list is one of these."""
    wanted = sorted(values)
    padded = pc.list_slice(pc.field(name), 0, 1, return_fixed_size_list=True)  # an empty list has no first element to ask for
    return Scope(_is_in(f"get({_named(name)}, 0)", wanted), pc.list_element(padded, 0).isin(pa.array(wanted, pa.string())))


def equals(name: str, value: str) -> Scope:
    """The column holds this word."""
    return Scope(f"({_named(name)} = {text(value)})", pc.field(name) == value)


def at_least(name: str, value: int) -> Scope:
    """The column is not smaller."""
    return Scope(f"({_named(name)} >= {value})", pc.field(name) >= value)


def is_later(name: str, at: int) -> Scope:
    """The column holds no time, or one after this one (microseconds)."""
    moment = pc.scalar(pa.scalar(at, INSTANT))
    later = f"({_named(name)} IS NULL OR {_named(name)} > timestamp_micros({at}))"
    return Scope(later, pc.field(name).is_null() | (pc.field(name) > moment))


def is_null(name: str) -> Scope:
    """The column holds nothing."""
    return Scope(f"({_named(name)} IS NULL)", pc.field(name).is_null())


def is_empty(name: str) -> Scope:
    """The column is a list without elements."""
    return Scope(f"(size({_named(name)}) = 0)", pc.list_value_length(pc.field(name)) == 0)
