"""JSON Schema of the commands run, maintain and doctor."""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.value_types import COUNT, TEXT, closed


def _by_table(value: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "type": "object", "additionalProperties": value}


RUN: dict[str, Any] = {
    "run_id": TEXT,
    "exit_code": COUNT,
    "spared": {"description": "Nothing was new, and Spark was not started.", "type": "boolean"},
    "changes": _by_table(closed({"inserted": COUNT, "updated": COUNT, "deleted": COUNT}), "Rows by table."),
    "table_versions": _by_table(COUNT, "The published version of each Delta table."),
    "counts": _by_table(COUNT, "Files, lines, bytes and groups, as in the table runs."),
    "timings": _by_table({"type": "number", "minimum": 0}, "Seconds by stage."),
}

MAINTENANCE: dict[str, Any] = {
    "files": _by_table(closed({"before": COUNT, "after": COUNT}), "Data files of each table."),
    "runs_removed": {"description": "Entries of old runs.", **COUNT},
    "alerts_removed": {"description": "Entries of old alerts about incidents that are there no more.", **COUNT},
}

FINDINGS_SCHEMA: dict[str, Any] = {
    "findings": {
        "type": "array",
        "items": closed(
            {
                "name": TEXT,
                "state": {"enum": ["ok", "warning", "missing"]},
                "found": TEXT,
                "needed_by": {"description": "Commands that fail without it.", **TEXT},
                "fix": {"description": "What to do; empty where all is well.", **TEXT},
            }
        ),
    }
}
