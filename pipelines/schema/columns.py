"""Building blocks of table declarations: column types, columns, tables.

No JVM is started: only `Table.spark_schema` imports pyspark.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.schema.allowed_values import SYSTEMS

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

TEXT = pa.string()
FLAG = pa.bool_()
COUNT = pa.int64()
SECONDS = pa.float64()
SHARE = pa.float64()
INSTANT = pa.timestamp("us", tz="UTC")
TEXTS = pa.list_(TEXT)
PARTITION = pa.int32()

EVIDENCE = pa.struct([("file", TEXT), ("line", COUNT), ("byte_offset", COUNT), ("text", TEXT), ("inferred", FLAG)])
PERSON = pa.struct([("member_id", TEXT), ("client_id", TEXT), ("instance_id", TEXT), ("host", TEXT), ("reason", TEXT), ("first", FLAG)])
STATE_MEMBER = pa.struct(
    [
        ("member_id", TEXT),
        ("instance_id", TEXT),
        ("certainty", TEXT),
        ("rejoined", FLAG),
        ("rejoined_certainty", TEXT),
        ("synced", FLAG),
        ("synced_certainty", TEXT),
        ("awaited", FLAG),
        ("awaited_certainty", TEXT),
    ]
)
STATE_TIMER = pa.struct([("timer", TEXT), ("member_id", TEXT), ("deadline_ms", COUNT), ("certainty", TEXT)])
CONFORMANCE = pa.struct([("inferred_steps", COUNT), ("unexplained_lines", COUNT)])


@dataclass(frozen=True, slots=True)
class Column:
    """One column.

    `values` are its allowed values, `least` and `greatest` its bounds, if it has any. `former` is the name that it had
    in schema version 3: older tables get the new one, and JSON has both for one release.
    """

    name: str
    type: pa.DataType
    description: str
    is_required: bool = False
    values: tuple[str, ...] = ()
    least: int | None = None
    greatest: int | None = None
    former: str = ""

    @property
    def check(self) -> str | None:
        """The constraint as SQL, never null; None if any value is allowed."""
        name = f"`{self.name}`"
        words = ", ".join(f"'{value}'" for value in self.values)
        bounds = [(">=", self.least), ("<=", self.greatest)]
        conditions = [f"{name} IN ({words})"] if words else []
        conditions += [f"{name} {sign} {bound}" for sign, bound in bounds if bound is not None]
        return (
            " AND ".join(conditions if self.is_required or not conditions else [f"({name} IS NULL OR ({' AND '.join(conditions)}))"])
            or None
        )


@dataclass(frozen=True, slots=True)
class Table:
    """One table.

    Replacements act on a whole slice, identified by the columns `slice`. `key` identifies a row.
    """

    layer: str
    name: str
    description: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    slice: tuple[str, ...]
    clustering: tuple[str, ...] = ()

    @property
    def path(self) -> str:
        """Location below the warehouse."""
        return f"{self.layer}/{self.name}"

    @property
    def column_names(self) -> list[str]:
        """Names of the columns, in order."""
        return [column.name for column in self.columns]

    def column(self, name: str) -> Column:
        """Return a column by name."""
        return next(column for column in self.columns if column.name == name)

    def stored_names(self, stored: Collection[str]) -> list[tuple[str, str | None]]:
        """Each column with its name among those stored, None if it is not."""
        return [(column.name, next((name for name in (column.name, column.former) if name in stored), None)) for column in self.columns]

    @property
    def former_names(self) -> dict[str, str]:
        """Former name -> name, of columns that were renamed."""
        return {column.former: column.name for column in self.columns if column.former}

    @property
    def check(self) -> str | None:
        """All constraints of the columns as SQL, None if there are none."""
        return " AND ".join(column.check for column in self.columns if column.check is not None) or None

    def arrow_schema(self) -> pa.Schema:
        """The columns for Arrow.

        Descriptions become field metadata under `comment`, as Spark and Delta expect.
        """
        return pa.schema([pa.field(c.name, c.type, metadata={"comment": c.description}) for c in self.columns])

    def spark_schema(self, *, strict: bool = False) -> StructType:
        """The columns for Spark.

        `strict` makes required columns non-nullable, for creating tables.
        """
        from pyspark.sql.pandas.types import from_arrow_type
        from pyspark.sql.types import StructField, StructType

        return StructType(
            [
                StructField(c.name, from_arrow_type(c.type), nullable=not (strict and c.is_required), metadata={"comment": c.description})
                for c in self.columns
            ]
        )


def required(
    name: str,
    kind: pa.DataType,
    description: str,
    values: tuple[str, ...] = (),
    *,
    least: int | None = None,
    greatest: int | None = None,
    former: str = "",
) -> Column:
    """A column that is never null."""
    return Column(name, kind, description, is_required=True, values=values, least=least, greatest=greatest, former=former)


CLUSTER = required("cluster", TEXT, "Name of the cluster.")
SYSTEM = required("system", TEXT, "Product that wrote the logs.", SYSTEMS)
RUN_ID = required("run_id", TEXT, "Run that last changed this row.")
GROUP = required("group", TEXT, "Consumer group.")
EVIDENCE_LINES = required("evidence", pa.list_(EVIDENCE), "Lines that support this row.")
FILE = required("file", TEXT, "Path that opens the file.")
FILE_ID = required("file_id", TEXT, "Identity of the file: hash of its first 4 KiB, decompressed.")
LINE = required("line", COUNT, "Line number, from 1.", least=1)
BYTE_OFFSET = required("byte_offset", COUNT, "Where the record begins in the decompressed file.", least=0)
