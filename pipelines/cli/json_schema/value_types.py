"""JSON Schema of the values that answers share: texts, counts, seconds, times, objects."""

from __future__ import annotations

from typing import Any

TEXT = {"type": "string"}
OPTIONAL_TEXT = {"type": ["string", "null"]}
TEXTS = {"type": "array", "items": TEXT}
COUNT = {"type": "integer", "minimum": 0}
OPTIONAL_COUNT = {"type": ["integer", "null"], "minimum": 0}
SECONDS = {"type": "number", "minimum": 0}
OPTIONAL_SECONDS = {"type": ["number", "null"], "minimum": 0}
OPTIONAL_INSTANT = {"type": ["string", "null"], "format": "date-time"}


def closed(properties: dict[str, Any], **extra: Any) -> dict[str, Any]:
    """Schema of an object that has all of these properties and no other."""
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False, **extra}
