"""Writes tables.md beside this file from the declarations of the tables: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow as pa

from pipelines.schema.tables import CONTRACT, TABLES, Column, Table

LAYERS = {
    "ops": "what ran",
    "bronze": "what was read",
    "silver": "what was recognised",
    "gold": "what happened",
}


def page() -> str:
    """The whole page as Markdown."""
    head = [
        "# Tables",
        "",
        "<!-- Written by docs/write_tables.py from pipelines/schema/tables.py; `make docs` writes it again. -->",
        "",
        "Times are UTC with microseconds, durations seconds; null means unknown. Readers should open the tables at the versions that the"
        " last published row of `runs` names.",
        "",
        "Delta refuses rows whose columns hold another word than those listed, or lie outside their bounds (CHECK constraint `declared` of"
        " each table), and null in columns that are not said to hold it. `runs` and `alerts`, which are also written without Spark, have no"
        " such constraints.",
        "",
        "| layer | table | holds |",
        "| --- | --- | --- |",
        *(f"| {t.layer} | [`{t.name}`](#{t.name}) | {cell(t.description)} |" for t in ordered()),
    ]
    return "\n".join([*head, *(line for table in ordered() for line in section(table)), ""])


def ordered() -> list[Table]:
    """Tables by layer, within a layer as they are declared."""
    layers = list(LAYERS)
    return sorted(TABLES.values(), key=lambda table: layers.index(table.layer))


def section(table: Table) -> list[str]:
    """Heading, keys and columns of one table."""
    keys = [key for key, name in CONTRACT.items() if name == table.name]
    in_json = f" In the JSON of `analyze`: `{keys[0]}`." if keys else ""
    return [
        "",
        f"## {table.name}",
        "",
        f"`{table.path}`: {LAYERS[table.layer]}. {table.description} Key: {', '.join(f'`{name}`' for name in table.key)}.{in_json}",
        "",
        "| column | type | meaning |",
        "| --- | --- | --- |",
        *(f"| `{column.name}` | {type_name(column.type)} | {meaning(column)} |" for column in table.columns),
    ]


def meaning(column: Column) -> str:
    """Description, closed list of values and bounds of a column."""
    values = ", ".join(f"`{value}`" for value in column.values)
    bounds = [f"{word} {bound}" for word, bound in (("at least", column.least), ("at most", column.greatest)) if bound is not None]
    told = (f" One of {values}." if values else "") + (f" {', '.join(bounds).capitalize()}." if bounds else "")
    return cell(column.description + told) + ("" if column.is_required else " May be null.")


def type_name(kind: pa.DataType) -> str:
    """The Arrow type in the words of SQL."""
    if pa.types.is_list(kind):
        return f"array of {type_name(kind.value_type)}"
    if pa.types.is_map(kind):
        return f"map of {type_name(kind.key_type)} to {type_name(kind.item_type)}"
    if pa.types.is_struct(kind):
        return f"struct ({', '.join(field.name for field in kind)})"
    if pa.types.is_timestamp(kind):
        return "timestamp"
    return {"int64": "bigint", "int32": "int", "bool": "boolean"}.get(str(kind), str(kind))


def cell(text: str) -> str:
    """Text that doesn't end a table cell."""
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    target = Path(__file__).with_name("tables.md")
    target.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{target}\n")
