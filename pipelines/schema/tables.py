"""The tables, and the JSON contract built from them.

`TABLES` declares every table (see `pipelines.schema.declarations`). `contract_schema` describes the object printed by
`analyze --json`, and `json_row` converts rows to its form. No JVM is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import pyarrow as pa

from models import rows
from pipelines.schema.columns import Column, Table
from pipelines.schema.declarations import TABLES
from pipelines.schema.json_values import field_names, instant_text, object_of, writer_of
from pipelines.versions import SCHEMA_VERSION

__all__ = [
    "CONTRACT",
    "ROW_TABLES",
    "SCHEMA_VERSION",
    "TABLES",
    "VERSIONED",
    "Column",
    "Table",
    "contract_schema",
    "instant_text",
    "json_row",
    "json_writer",
    "table_of",
    "to_json",
    "without_run",
]

VERSIONED = tuple(name for name, table in TABLES.items() if table.layer != "ops")
"""Tables with versions that a run publishes together."""

CONTRACT: dict[str, str] = {
    "rebalances": "rebalances",
    "timeline": "group_transitions",
    "group_states": "group_states",
    "members": "member_sessions",
    "client_states": "client_states",
    "incidents": "incidents",
    "outages": "partition_outages",
    "under_replicated_spans": "under_replicated_spans",
    "leader_moves": "leader_moves",
    "broker_outages": "broker_outages",
    "coordinator_moves": "coordinator_moves",
    "offsets_at_risk": "offset_expirations",
    "allocation_changes": "allocation_changes",
    "ownership": "queue_ownership",
    "conditions": "conditions",
    "divergences": "divergences",
    "unknown": "unknown_messages",
    "rejected": "rejected_records",
}
"""Key of the JSON contract -> table with its rows.

`schema_version` and `inputs` have no table.
"""

ROW_TABLES: dict[type, str] = {
    rows.GroupTransition: "group_transitions",
    rows.GroupState: "group_states",
    rows.Rebalance: "rebalances",
    rows.RebalanceMember: "rebalance_members",
    rows.MemberSession: "member_sessions",
    rows.ClientState: "client_states",
    rows.Incident: "incidents",
    rows.PartitionOutage: "partition_outages",
    rows.UnderReplicatedSpan: "under_replicated_spans",
    rows.PartitionPlacement: "partition_placements",
    rows.Broker: "brokers",
    rows.LeaderMove: "leader_moves",
    rows.BrokerOutage: "broker_outages",
    rows.CoordinatorMove: "coordinator_moves",
    rows.OffsetExpiration: "offset_expirations",
    rows.Divergence: "divergences",
    rows.LearnedFact: "learned_facts",
    rows.AllocationChange: "allocation_changes",
    rows.QueueOwnership: "queue_ownership",
    rows.Condition: "conditions",
}
"""Dataclass of a row -> its table."""

TOTALS = ("files", "bytes_read", "lines", "records", "recognised", "unknown", "rejected")
"""Counters in `inputs.totals`."""


def table_of(row: object) -> Table:
    """Return the table of a row dataclass."""
    return TABLES[ROW_TABLES[type(row)]]


def without_run(table: str) -> pa.Schema:
    """Columns of a table without `run_id`, which is added on writing."""
    return pa.schema([field for field in TABLES[table].arrow_schema() if field.name != "run_id"])


def json_row(table: str | Table, row: object) -> dict[str, Any]:
    """Convert a row, dataclass or mapping, to its form in the JSON contract.

    Contains every column in the table's order, then those that were renamed by their former names; `run_id` only if the
    row has it.
    """
    return json_writer(table)(row)


def json_writer(table: str | Table) -> Callable[[object], dict[str, Any]]:
    """Return `json_row` for the rows of one table."""
    declared = TABLES[table] if isinstance(table, str) else table
    names = frozenset(declared.column_names)
    members = [(column.name, writer_of(column.type)) for column in declared.columns]
    former = declared.former_names

    def document_of(row: Any) -> dict[str, Any]:
        values = row if isinstance(row, Mapping) else {name: getattr(row, name) for name in field_names(row.__class__)}
        if not values.keys() <= names:
            raise ValueError(f"{declared.name} has no column {sorted(values.keys() - names)}")
        document = object_of(members, values.get)
        for old, new in former.items():
            document[old] = document[new]
        if "run_id" not in values:
            document.pop("run_id", None)
        return document

    return document_of


def to_json(row: object) -> dict[str, Any]:
    """Convert a row dataclass with `json_row`."""
    return json_row(table_of(row), row)


def _json_type(kind: pa.DataType, nullable: bool) -> dict[str, Any]:
    """JSON Schema of an Arrow type.

    Members of structs may be null; elements of lists may not.
    """
    if pa.types.is_timestamp(kind):
        schema: dict[str, Any] = {"type": "string", "format": "date-time", "pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3,6}Z$"}
    elif pa.types.is_boolean(kind):
        schema = {"type": "boolean"}
    elif pa.types.is_integer(kind):
        schema = {"type": "integer"}
    elif pa.types.is_floating(kind):
        schema = {"type": "number"}
    elif pa.types.is_list(kind):
        schema = {"type": "array", "items": _json_type(kind.value_type, nullable=False)}
    elif pa.types.is_map(kind):
        schema = {"type": "object", "additionalProperties": _json_type(kind.item_type, nullable=False)}
    elif pa.types.is_struct(kind):
        members = {field.name: _json_type(field.type, nullable=True) for field in kind}
        schema = {"type": "object", "properties": members, "required": list(members), "additionalProperties": False}
    else:
        schema = {"type": "string"}
    if nullable:
        schema["type"] = [schema["type"], "null"]
    return schema


def _json_column(column: Column) -> dict[str, Any]:
    schema = _json_type(column.type, nullable=not column.is_required)
    if column.values:
        schema["enum"] = [*column.values] if column.is_required else [*column.values, None]
    return {"description": column.description, **schema}


def _json_table(table: Table) -> dict[str, Any]:
    former = {old: _json_column(table.column(new)) | _deprecated(new) for old, new in table.former_names.items()}
    return {
        "description": table.description,
        "type": "object",
        "properties": {column.name: _json_column(column) for column in table.columns} | former,
        "required": [*(name for name in table.column_names if name != "run_id"), *former],
        "additionalProperties": False,
    }


def _deprecated(name: str) -> dict[str, Any]:
    return {"description": f"Former name of `{name}`, for one release.", "deprecated": True}


@cache
def _contract() -> dict[str, Any]:
    listed = {key: {"type": "array", "items": {"$ref": f"#/$defs/{table}"}} for key, table in CONTRACT.items()}
    inputs = {
        "type": "object",
        "properties": {
            "log_files": {"type": "array", "items": {"$ref": "#/$defs/log_files"}},
            "totals": {
                "type": "object",
                "properties": {name: {"type": "integer", "minimum": 0} for name in TOTALS},
                "required": list(TOTALS),
                "additionalProperties": False,
            },
        },
        "required": ["log_files", "totals"],
        "additionalProperties": False,
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "groupscope analyze --json",
        "type": "object",
        "properties": {"schema_version": {"const": SCHEMA_VERSION}, "inputs": inputs, **listed},
        "required": ["schema_version", "inputs", *listed],
        "additionalProperties": False,
        "$defs": {name: _json_table(TABLES[name]) for name in ["log_files", *CONTRACT.values()]},
    }


def contract_schema() -> dict[str, Any]:
    """JSON Schema (draft 2020-12) of the output of `analyze --json`.

    Callers must not modify it.
    """
    return _contract()
