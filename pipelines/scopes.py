"""Which rows of a table are meant, said once: to Spark, and to Arrow where a table is read without Spark."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import Column
from pyspark.sql import functions as F


@dataclass(frozen=True, slots=True)
class Scope:
    """A condition on the columns of a table."""

    column: Column
    arrow: pc.Expression

    def __and__(self, other: Scope) -> Scope:
        return Scope(self.column & other.column, self.arrow & other.arrow)

    def __or__(self, other: Scope) -> Scope:
        return Scope(self.column | other.column, self.arrow | other.arrow)

    def __invert__(self) -> Scope:
        """All others. A row without a word is among others to Arrow, and neither to SQL: ask for null beside it."""
        return Scope(~self.column, ~self.arrow)


def nothing() -> Scope:
    """No row."""
    return Scope(F.lit(False), pc.scalar(False))


def among(name: str, values: Iterable[str]) -> Scope:
    """The column holds one of these words."""
    wanted = sorted(values)
    return Scope(F.col(name).isin(wanted), pc.field(name).isin(pa.array(wanted, pa.string())))


def first_among(name: str, values: Iterable[str]) -> Scope:
    """The first word of a list is one of these."""
    wanted = sorted(values)
    padded = pc.list_slice(pc.field(name), 0, 1, return_fixed_size_list=True)  # an empty list has no first element to ask for
    return Scope(F.get(name, F.lit(0)).isin(wanted), pc.list_element(padded, 0).isin(pa.array(wanted, pa.string())))


def equals(name: str, value: str) -> Scope:
    """The column holds this word."""
    return Scope(F.col(name) == value, pc.field(name) == value)


def at_least(name: str, value: int) -> Scope:
    """The column is not smaller."""
    return Scope(F.col(name) >= value, pc.field(name) >= value)


def is_null(name: str) -> Scope:
    """The column holds nothing."""
    return Scope(F.col(name).isNull(), pc.field(name).is_null())


def is_empty(name: str) -> Scope:
    """The column is a list without elements."""
    return Scope(F.size(name) == 0, pc.list_value_length(pc.field(name)) == 0)
