"""JSON Schema of the proof in `groupscope explain --proof --json`."""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.group_state import CERTAINTIES

_TEXT = {"type": "string"}
_MAYBE_TEXT = {"type": ["string", "null"]}
_COUNT = {"type": "integer", "minimum": 0}
_INSTANT = {"type": ["string", "null"], "format": "date-time"}
_TEXTS = {"type": "array", "items": _TEXT}


def _closed(properties: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False, **more}


def _maybe(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "anyOf": [schema, {"type": "null"}]}


_PLACE = {"file": _TEXT, "line": _COUNT}
_EXPECTED = _closed({"event": _TEXT, "at": _INSTANT, "fields": {"description": "What the line tells, by name.", "type": "object"}})
_LINE = _closed({**_PLACE, "at": _INSTANT, "event": _TEXT, "text": _TEXT})
_ENTRY = _closed(
    {
        "expected": _maybe(_EXPECTED, "The line that the model writes; null where it writes none."),
        "line": _maybe(_LINE, "The line of the log; null where it is missing."),
        "difference_ms": {
            "description": "How much later the line is than in the model; of a timer, than it was due (its timeout may be a default).",
            "type": ["integer", "null"],
        },
        "differing": {"description": "Fields in which they differ; `event` where the log has another line.", **_TEXTS},
    }
)
_INPUT = _closed(
    {
        "at": _INSTANT,
        "input": {"description": "What was asked of the coordinator, what happened to it, or what was so before.", **_TEXT},
        "members": _TEXTS,
        "unnamed_members": {"description": "Members that no line names.", **_COUNT},
        "instance_id": _MAYBE_TEXT,
        "due": {"description": "When the timer was due that fired.", **_INSTANT},
        "line": _closed(_PLACE, description="The line that shows it."),
    }
)
_COUNTS = {
    "expected_lines": {"description": "Lines that the model wrote.", **_COUNT},
    "missing_lines": {"description": "Those of them that the log lacks.", **_COUNT},
    "unexplained_lines": {"description": "Lines of the log that the model did not write.", **_COUNT},
}
_CAUSE = _closed(
    {
        "cause": _TEXT,
        "confidence": {"type": ["number", "null"]},
        "ruling": {"enum": ["fits", "fits_if", "fails", "same_request", "not_tried"]},
        "inputs": {"type": "array", "items": _INPUT},
        "fails_at": _maybe(_ENTRY, "The first line at which it fails."),
        **_COUNTS,
        "needed_timeout": _maybe(_closed({"name": _TEXT, "ms": _COUNT}), "The timeout with which it would fit, where none is told."),
        "needed": {"description": "Lines at levels that the log lacks, which it would have written.", "type": "array", "items": _EXPECTED},
    }
)
PROOF = _closed(
    {
        "why_not": {"description": "Why nothing can be proven; else null.", **_MAYBE_TEXT},
        "kafka_version": _closed({"value": _MAYBE_TEXT, "certainty": {"enum": list(CERTAINTIES)}}),
        "inputs": {"description": "Hidden inputs of the best explanation.", "type": "array", "items": _INPUT},
        "lines": {"description": "What the model wrote beside the log.", "type": "array", "items": _ENTRY},
        **_COUNTS,
        "causes": {"description": "The cause and its alternatives, each run through the model.", "type": "array", "items": _CAUSE},
    },
)
