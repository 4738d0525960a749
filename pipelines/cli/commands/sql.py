"""Command `groupscope sql`: one SELECT over an answer's tables with DuckDB.

The query has access to rows in memory only: no file, network, extension or setting.
"""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Iterator
from datetime import datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dashboards.wording.escaping import shortened, visible
from pipelines import exit_codes as codes
from pipelines.cli.answers.source import Source, open_source
from pipelines.cli.arguments import options as o
from pipelines.cli.arguments.question import QueryOptions, question
from pipelines.cli.output.grid import GAP, GridColumn, grid
from pipelines.cli.output.json_csv import cell
from pipelines.cli.output.standard_streams import Messenger, screen
from pipelines.errors import UsageError

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    import pyarrow.dataset as pads

Query = Annotated[str, typer.Argument(metavar="SELECT", help="The query; the command schema lists columns.", show_default=False)]

WAREHOUSE_ONLY = ("events", "learned_facts", "quality_results")
"""Tables that exist only in a warehouse."""


@question
def sql(
    query: Query,
    query_options: QueryOptions,
    form: o.OutputForm,
    limit: o.Limit = 100,
) -> int:
    """Run a SELECT over rebalances, incidents and the other tables.

    It can only read them.
    """
    from pipelines.cli.output import json_csv as answers

    source = open_source(query_options)
    table = ask(query, source)
    names = table.schema.names
    if form == "people":
        _show(table, source, limit)
    elif form == "csv":
        answers.write_csv(names, _rows(table))
    elif form == "jsonl":
        answers.write_lines(_rows(table))
    else:
        answers.write_list("rows", _rows(table))
    return codes.decisive(source.codes)


def table_names() -> list[str]:
    """Names of the tables that can be queried."""
    from pipelines.schema.tables import CONTRACT

    return sorted({"log_files", "rebalance_members", *CONTRACT.values(), *WAREHOUSE_ONLY})


class _NoPandas:
    """Hides pandas from imports, which saves a third of a second.

    Arrow and DuckDB import it only to check whether they were given a DataFrame.
    """

    @staticmethod
    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError("no answer needs pandas", name=name)


def ask(query: str, source: Source) -> pa.Table:
    """Result of one query.

    Tables that it does not name are registered without rows.
    """
    if Messenger.alone and _NoPandas not in sys.meta_path:
        sys.meta_path.insert(0, _NoPandas)
    import duckdb

    connection = duckdb.connect(":memory:")
    try:
        _check(connection, query)
        words = {word.lower() for word in re.findall(r"\w+", query)}
        for name in table_names():
            connection.register(name, _table(source, name) if name in words else _empty(name))
        for setting in (
            "python_enable_replacements=false",
            "enable_external_access=false",
            "autoload_known_extensions=false",
            "autoinstall_known_extensions=false",
            f"TimeZone='{source.clock.zone_name}'",
            "lock_configuration=true",
        ):
            connection.execute(f"SET {setting}")
        table = connection.execute(query).to_arrow_table()
    except duckdb.Error as error:
        raise _damage(error, source) or UsageError(_error_text(error, query)) from error
    finally:
        connection.close()
    twice = sorted({name for name in table.schema.names if table.schema.names.count(name) > 1})
    if twice:
        raise UsageError(f"the query has more than one column {twice[0]!r}; name them apart with AS")
    return table


def _damage(error: duckdb.Error, source: Source) -> Exception | None:
    """Damaged warehouse file behind an error, None if there is none.

    DuckDB's message reads as if the query were wrong. Wrong queries fail before a row is read.
    """
    from pipelines.warehouse.opening.damage import damage_behind
    from pipelines.warehouse.warehouse_reader import WarehouseReader

    return damage_behind(error, source.whole.uri) if isinstance(source.whole, WarehouseReader) and "get_next" in str(error) else None


def _check(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    import duckdb

    statements = connection.extract_statements(query)
    if len(statements) != 1 or statements[0].type not in (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN):
        raise UsageError("only one SELECT can be answered (or DESCRIBE, SUMMARIZE, SHOW TABLES, EXPLAIN)")


_BARE_GROUP = re.compile(r"(?<![\"\w])group(?!\s+by\b)(?![\"\w])", re.IGNORECASE)
"""The column's name without quotes, which begins GROUP BY in SQL."""


def _error_text(error: duckdb.Error, query: str) -> str:
    """DuckDB's message in one line, with its hint but without the query."""
    text = str(error).partition("\n\nLINE ")[0].partition("\nLINE ")[0]
    message = "; ".join(line.strip() for line in text.splitlines() if line.strip())
    return f'{message}; the column is written "group", in double quotes' if _BARE_GROUP.search(query) else message


def _table(source: Source, name: str) -> pa.Table | pads.Dataset:
    """All rows of a table in its declared types.

    From a dataset DuckDB reads only what the query needs.
    """
    import pyarrow as pa

    from pipelines.schema.row_conversion import row_values
    from pipelines.schema.tables import CONTRACT
    from pipelines.warehouse.warehouse_reader import WarehouseReader

    if isinstance(source.rows, WarehouseReader):
        return source.rows.dataset(name)
    if name in WAREHOUSE_ONLY and isinstance(source.whole, WarehouseReader):
        raise UsageError(f"{name} can't be narrowed down by options: leave out --group, --cluster, --since and --until, and use WHERE")
    if name in WAREHOUSE_ONLY:
        raise UsageError(f"{name} is kept in a warehouse only; groupscope run makes one")
    keys = {table: key for key, table in CONTRACT.items()}
    rows = source.rows.inputs["log_files"] if name == "log_files" else getattr(source.rows, keys.get(name, name))
    plain = [row_values(row) if dataclasses.is_dataclass(row) else _plain(row) for row in rows]
    return pa.Table.from_pylist(plain, schema=_empty(name).schema)


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    from pipelines.schema.row_conversion import row_values

    def plain(value: Any) -> Any:
        return row_values(value) if dataclasses.is_dataclass(value) else value

    return {name: [plain(item) for item in value] if isinstance(value, list) else plain(value) for name, value in row.items()}


def _empty(name: str) -> pa.Table:
    from pipelines.schema.tables import without_run

    return without_run(name).empty_table()


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    """Rows as JSON values."""
    kinds = [field.type for field in table.schema]
    for batch in table.to_batches():
        for row in batch.to_pylist():
            yield {name: json_value(value, kind) for (name, value), kind in zip(row.items(), kinds, strict=True)}


def json_value(value: Any, kind: pa.DataType) -> Any:
    """A DuckDB value as JSON, with times in UTC."""
    import pyarrow as pa

    from pipelines.schema.tables import instant_text

    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, datetime):
        return instant_text(value) if kind.tz else value.isoformat(timespec="microseconds")
    if isinstance(value, Decimal | float):
        if not math.isfinite(value):
            return None
        return int(value) if isinstance(value, Decimal) and value == value.to_integral_value() else float(value)
    if pa.types.is_map(kind):
        return {str(json_value(key, kind.key_type)): json_value(item, kind.item_type) for key, item in value}
    if pa.types.is_struct(kind):
        return {field.name: json_value(value[field.name], field.type) for field in kind}
    if isinstance(value, list):
        return [json_value(item, kind.value_type) for item in value]
    if pa.types.is_interval(kind):
        spans = ((value.months, "months"), (value.days, "days"), (value.nanoseconds / 1e9, "s"))
        return " ".join(f"{span:g} {unit}" for span, unit in spans if span) or "0 s"
    return value.hex() if isinstance(value, bytes) else str(value)


_TEXT_MAX = 200
"""Maximum characters of a cell on the screen."""


def _show(table: pa.Table, source: Source, limit: int) -> None:
    from pipelines.cli.output import screens

    console = screen()
    rows = table.slice(0, limit or table.num_rows)
    if not table.num_rows:
        screens.say(console, "No row.")
        return
    columns = [_column(field.name, rows[field.name].to_pylist(), field.type, source) for field in rows.schema]
    if sum((column.least or max(map(len, (column.title, *column.values)))) + GAP for column in columns) - GAP <= console.width:
        console.print(grid(columns, console.width))
    else:
        for position in range(rows.num_rows):
            cells = [(column.title, column.values[position]) for column in columns]
            console.print(
                grid(
                    [GridColumn("", [name for name, _ in cells]), GridColumn("", [text for _, text in cells], least=20)],
                    console.width,
                    is_heading=False,
                )
            )
            console.print()
    if table.num_rows > rows.num_rows:
        screens.say(console, f"{rows.num_rows:,} of {table.num_rows:,} rows; --limit 0 shows all", style="dim")


def _column(name: str, values: list[Any], kind: pa.DataType, source: Source) -> GridColumn:
    number = all(isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values if value is not None)
    texts = [shortened(visible(_text(value, kind, source)), _TEXT_MAX) for value in values]
    widest = max(map(len, (visible(name), *texts)))
    return GridColumn(
        visible(name), texts, least=None if number or isinstance(values[0], datetime) else min(16, widest), is_right_aligned=number
    )


def _text(value: Any, kind: pa.DataType, source: Source) -> str:
    if isinstance(value, datetime):
        return source.clock.local(value)
    value = json_value(value, kind)
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 1e6 else f"{value:.1f}"
    return value if isinstance(value, str) else cell(value)
