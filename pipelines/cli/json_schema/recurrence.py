"""Schema of incidents that recur, in the JSON of `analyze`."""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.value_types import COUNT, OPTIONAL_INSTANT, SECONDS, TEXT, TEXTS

_WAIT = {
    "type": "object",
    "properties": {"name": TEXT, "count": COUNT, "seconds": SECONDS},
    "required": ["name", "count", "seconds"],
    "additionalProperties": False,
}
_FIELDS: dict[str, Any] = {
    "cluster": TEXT,
    "system": {"enum": ["kafka", "rocketmq"]},
    "groups": TEXTS,
    "severity": {"enum": ["critical", "warning", "info"]},
    "headline": {"description": "In one sentence; that of the incident if there is one only.", **TEXT},
    "kind": {"description": "What the worst incident is.", **TEXT},
    "trigger": {"description": "What set most of the worst incident's rebalances off.", "type": ["string", "null"]},
    "root_cause": {"description": "What lies behind the trigger.", "type": ["string", "null"]},
    "member": {"description": "Who did it, or held the others up.", "type": ["string", "null"]},
    "held_up": {"description": "Whom the others waited for, each second booked once.", "type": "array", "items": _WAIT},
    "incident_ids": {"description": "Worst first.", **TEXTS},
    "rebalance_count": COUNT,
    "stopped_seconds": SECONDS,
    "started_at": OPTIONAL_INSTANT,
    "ended_at": {"description": "Null while one of them is open.", **OPTIONAL_INSTANT},
}
RECURRENCE: dict[str, Any] = {
    "description": "Incidents with the same groups, cause and member; an incident that is like no other stands alone.",
    "type": "object",
    "properties": _FIELDS,
    "required": list(_FIELDS),
    "additionalProperties": False,
}
