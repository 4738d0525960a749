"""JSON Schema of the proof in `groupscope explain --proof --json`."""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.value_types import COUNT, OPTIONAL_INSTANT, OPTIONAL_TEXT, TEXT, TEXTS, closed
from pipelines.schema.allowed_values import CERTAINTIES


def _maybe(schema: dict[str, Any], description: str) -> dict[str, Any]:
    return {"description": description, "anyOf": [schema, {"type": "null"}]}


_PLACE = {"file": TEXT, "line": COUNT}
_EXPECTED = closed({"event": TEXT, "at": OPTIONAL_INSTANT, "fields": {"description": "What the line tells, by name.", "type": "object"}})
_LINE = closed({**_PLACE, "at": OPTIONAL_INSTANT, "event": TEXT, "text": TEXT})
_ENTRY = closed(
    {
        "expected": _maybe(_EXPECTED, "The line that the model writes; null where it writes none."),
        "line": _maybe(_LINE, "The line of the log; null where it is missing."),
        "difference_ms": {
            "description": "How much later the line is than in the model; of a timer, than it was due (its timeout may be a default).",
            "type": ["integer", "null"],
        },
        "differing": {"description": "Fields in which they differ; `event` where the log has another line.", **TEXTS},
    }
)
_INPUT = closed(
    {
        "at": OPTIONAL_INSTANT,
        "input": {"description": "What was asked of the coordinator, what happened to it, or what was so before.", **TEXT},
        "members": TEXTS,
        "unnamed_members": {"description": "Members that no line names.", **COUNT},
        "instance_id": OPTIONAL_TEXT,
        "due": {"description": "When the timer was due that fired.", **OPTIONAL_INSTANT},
        "line": closed(_PLACE, description="The line that shows it."),
    }
)
_COUNTS = {
    "expected_lines": {"description": "Lines that the model wrote.", **COUNT},
    "missing_lines": {"description": "Those of them that the log lacks.", **COUNT},
    "unexplained_lines": {"description": "Lines of the log that the model did not write.", **COUNT},
}
_CAUSE = closed(
    {
        "cause": TEXT,
        "confidence": {"type": ["number", "null"]},
        "ruling": {"enum": ["fits", "fits_if", "fails", "same_request", "not_tried"]},
        "inputs": {"type": "array", "items": _INPUT},
        "fails_at": _maybe(_ENTRY, "The first line at which it fails."),
        **_COUNTS,
        "needed_timeout": _maybe(closed({"name": TEXT, "ms": COUNT}), "The timeout with which it would fit, where none is told."),
        "needed": {"description": "Lines at levels that the log lacks, which it would have written.", "type": "array", "items": _EXPECTED},
    }
)
PROOF = closed(
    {
        "why_not": {"description": "Why nothing can be proven; else null.", **OPTIONAL_TEXT},
        "kafka_version": closed({"value": OPTIONAL_TEXT, "certainty": {"enum": list(CERTAINTIES)}}),
        "inputs": {"description": "Hidden inputs of the best explanation.", "type": "array", "items": _INPUT},
        "lines": {"description": "What the model wrote beside the log.", "type": "array", "items": _ENTRY},
        **_COUNTS,
        "causes": {"description": "The cause and its alternatives, each run through the model.", "type": "array", "items": _CAUSE},
    },
)
