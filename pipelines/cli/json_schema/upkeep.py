"""JSON Schema of the commands run, maintain and doctor."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _by_table(value: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "type": "object", "additionalProperties": value}


RUN: dict[str, Any] = {
    "run_id": _TEXT,
    "exit_code": _COUNT,
    "spared": {"description": "Nothing was new, and Spark was not started.", "type": "boolean"},
    "changes": _by_table(_closed({"inserted": _COUNT, "updated": _COUNT, "deleted": _COUNT}), "Rows by table."),
    "table_versions": _by_table(_COUNT, "The published version of each Delta table."),
    "counts": _by_table(_COUNT, "Files, lines, bytes and groups, as in the table runs."),
    "timings": _by_table({"type": "number", "minimum": 0}, "Seconds by stage."),
}

MAINTENANCE: dict[str, Any] = {
    "files": _by_table(_closed({"before": _COUNT, "after": _COUNT}), "Data files of each table."),
    "runs_removed": {"description": "Entries of old runs.", **_COUNT},
    "alerts_removed": {"description": "Entries of old alerts about incidents that are there no more.", **_COUNT},
}

FINDINGS: dict[str, Any] = {
    "findings": {
        "type": "array",
        "items": _closed(
            {
                "name": _TEXT,
                "state": {"enum": ["ok", "warning", "missing"]},
                "found": _TEXT,
                "needed_by": {"description": "Commands that fail without it.", **_TEXT},
                "fix": {"description": "What to do; empty where all is well.", **_TEXT},
            }
        ),
    }
}
