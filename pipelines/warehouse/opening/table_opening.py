"""The opening of tables: missing ones are created, older ones upgraded, torn ones mended."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from deltalake.exceptions import DeltaError
from pyspark.sql.types import StructType

from pipelines.schema.tables import Table
from pipelines.warehouse.delta import sql as delta
from pipelines.warehouse.delta.files import set_aside
from pipelines.warehouse.delta.tables import DeltaTables
from pipelines.warehouse.opening.damage import DISPOSABLE, mend
from pipelines.warehouse.opening.schema_upgrades import ExistingTable, bring_up_to_date, create

_log = logging.getLogger(__name__)


def open_table(tables: DeltaTables, table: Table, published: int) -> int:
    """Create, upgrade or mend a table; return its version.

    `published` is the version that the last run published, -1 for none. What a power cut or a full disk left after it is removed.
    Raises TableMismatch if the table's columns cannot be upgraded.
    """
    mend(tables.uri, table.name, published)
    existing = _existing_or_set_aside(tables, table.name)
    if existing is None:
        _create(tables, table)
        return 0
    is_changed = bring_up_to_date(tables.spark, tables.path(table.name), table, existing)
    return tables.latest(table.name) if is_changed else existing.version


def existing_table(tables: DeltaTables, name: str) -> ExistingTable | None:
    """Inspect a table, None if missing. Local tables need no Spark query."""
    path = tables.path(name)
    if not tables.is_local:
        description = delta.properties_of(tables.spark, path)
        return None if description is None else ExistingTable(tables.frame(name).schema, tables.latest(name), *description)
    delta_table = tables.delta_table(name)
    if delta_table is None:
        return None
    schema = StructType.fromJson(json.loads(delta_table.schema().to_json()))
    return ExistingTable(schema, delta_table.version(), delta_table.metadata().configuration, delta_table.metadata().description)


def _existing_or_set_aside(tables: DeltaTables, name: str) -> ExistingTable | None:
    """Inspect a table; set a damaged one aside if it can be rebuilt."""
    try:
        return existing_table(tables, name)
    except DeltaError as error:
        if name not in DISPOSABLE or not tables.is_local:
            raise
        _log.warning("%s is damaged and made anew: %s", tables.path(name), str(error).partition("\n")[0])
        set_aside(Path(tables.path(name)))
        return None


def _create(tables: DeltaTables, table: Table) -> None:
    try:
        create(tables.spark, tables.path(table.name), table, is_local=tables.is_local)
    except Exception:
        # Of two runs that start at the same time, the second one finds the register created.
        if existing_table(tables, table.name) is None:
            raise
