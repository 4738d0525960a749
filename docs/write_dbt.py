"""Writes examples/dbt_sources.yml from the declarations of the tables: `make docs`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import yaml

from pipelines.schema.tables import TABLES, Column, Table

HEAD = (
    "# Sources for dbt, written by docs/write_dbt.py (`make docs`). The names are those that `groupscope run --catalog SCHEMA` gives.\n"
    "# Readers that speak Iceberg need UniForm: ALTER TABLE ... SET TBLPROPERTIES ('delta.universalFormat.enabledFormats' = 'iceberg').\n"
)


def page() -> str:
    """The whole file."""
    source = {"name": "groupscope", "description": "Rebalances, incidents and outages, from logs.", "schema": "groupscope"}
    tables = [table_of(table) for table in TABLES.values()]
    found = {"version": 2, "sources": [source | {"tables": tables}]}
    return HEAD + yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=140)


def table_of(table: Table) -> dict[str, Any]:
    """One table with its columns; a key of one column is unique."""
    return {
        "name": table.name,
        "identifier": f"{table.layer}_{table.name}",
        "description": table.description,
        "columns": [
            {"name": column.name, "description": column.description} | ({"data_tests": tests} if tests else {})
            for column in table.columns
            for tests in [tests_of(table, column)]
        ],
    }


def tests_of(table: Table, column: Column) -> list[Any]:
    """Tests of dbt that follow from the declaration."""
    found: list[Any] = ["not_null"] if column.is_required else []
    found += ["unique"] if list(table.key) == [column.name] else []
    return found + ([{"accepted_values": {"arguments": {"values": list(column.values)}}}] if column.values else [])


if __name__ == "__main__":
    target = Path(__file__).parent / "examples" / "dbt_sources.yml"
    target.write_text(page(), encoding="utf-8")
    sys.stdout.write(f"{target}\n")
