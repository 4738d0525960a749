"""Schema of incidents that recur, in the JSON of `analyze`."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_SECONDS = {"type": "number", "minimum": 0}
_INSTANT = {"type": ["string", "null"], "format": "date-time"}
_WAIT = {
    "type": "object",
    "properties": {"name": _TEXT, "count": _COUNT, "seconds": _SECONDS},
    "required": ["name", "count", "seconds"],
    "additionalProperties": False,
}
_FIELDS: dict[str, Any] = {
    "cluster": _TEXT,
    "system": {"enum": ["kafka", "rocketmq"]},
    "groups": _TEXTS,
    "severity": {"enum": ["critical", "warning", "info"]},
    "headline": {"description": "In one sentence; that of the incident if there is one only.", **_TEXT},
    "kind": {"description": "What the worst incident is.", **_TEXT},
    "trigger": {"description": "What set most of the worst incident's rebalances off.", "type": ["string", "null"]},
    "root_cause": {"description": "What lies behind the trigger.", "type": ["string", "null"]},
    "member": {"description": "Who did it, or held the others up.", "type": ["string", "null"]},
    "held_up": {"description": "Whom the others waited for, each second booked once.", "type": "array", "items": _WAIT},
    "incident_ids": {"description": "Worst first.", **_TEXTS},
    "rebalance_count": _COUNT,
    "stopped_seconds": _SECONDS,
    "started_at": _INSTANT,
    "ended_at": {"description": "Null while one of them is open.", **_INSTANT},
}
RECURRENCE: dict[str, Any] = {
    "description": "Incidents with the same groups, cause and member; an incident that is like no other stands alone.",
    "type": "object",
    "properties": _FIELDS,
    "required": list(_FIELDS),
    "additionalProperties": False,
}
