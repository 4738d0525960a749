"""JSON Schema of `groupscope state --json`."""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.value_types import COUNT, OPTIONAL_COUNT, OPTIONAL_TEXT, TEXT, closed
from pipelines.schema.allowed_values import CERTAINTIES

_STATES = ("Empty", "PreparingRebalance", "CompletingRebalance", "Stable", "Dead")
_CERTAINTY = {"enum": list(CERTAINTIES)}
_NAMES = {"type": ["array", "null"], "items": TEXT}
_ANSWER = {"type": ["boolean", "null"]}


_PLACE = closed({"file": TEXT, "line": COUNT})
_MAYBE_PLACE = {"anyOf": [_PLACE, {"type": "null"}]}


def _fact(value: dict[str, Any], description: str) -> dict[str, Any]:
    properties = {"value": value, "certainty": _CERTAINTY, "changed_by": {"description": "The line that changed it last.", **_MAYBE_PLACE}}
    return closed(properties, description=description)


def _bare(value: dict[str, Any], description: str) -> dict[str, Any]:
    return closed({"value": value, "certainty": _CERTAINTY}, description=description)


_MEMBER = closed(
    {
        "member_id": {"description": "Null where no line has named it.", **OPTIONAL_TEXT},
        "instance_id": OPTIONAL_TEXT,
        "certainty": {"description": "Whether it is a member.", **_CERTAINTY},
        "rejoined": _bare(_ANSWER, "Whether it has sent JoinGroup in the present join phase."),
        "synced": _bare(_ANSWER, "Whether it has sent SyncGroup in the present generation."),
        "awaited": _bare(_ANSWER, "Whether the group waits for it now."),
    }
)
_TIMER = closed(
    {
        "timer": {"enum": ["join", "sync", "pending_member", "new_member_join", "session"]},
        "member_id": OPTIONAL_TEXT,
        "deadline": {"type": ["string", "null"], "format": "date-time"},
        "certainty": {"description": "Inferred where the timeout is assumed.", **_CERTAINTY},
    }
)
GROUP_STATE: dict[str, Any] = {
    "group": TEXT,
    "kafka_version": _bare(TEXT, "Inferred where it is guessed from the wording."),
    "at": {"type": ["string", "null"], "format": "date-time"},
    "line": closed({"file": TEXT, "line": COUNT, "event": TEXT, "text": TEXT}, description="The line that the state follows."),
    "line_number": {"description": "Of the lines of the group's coordinator, from 1.", "type": "integer", "minimum": 1},
    "line_count": COUNT,
    "state": _fact({"enum": [*_STATES, None]}, "Null where the group is not there, or not known."),
    "generation": _fact(OPTIONAL_COUNT, "Null where it is not known."),
    "leader": _fact(OPTIONAL_TEXT, "Null where there is none, or where it is not known."),
    "member_count": _fact(OPTIONAL_COUNT, "How many members there are."),
    "members": {"type": "array", "items": _MEMBER},
    "members_changed_by": _MAYBE_PLACE,
    "pending_members": _fact(_NAMES, "Ids that were handed out and not used yet."),
    "static_members": _fact({"type": ["object", "null"], "additionalProperties": OPTIONAL_TEXT}, "Member id by instance id."),
    "protocol": _fact(OPTIONAL_TEXT, "The assignment strategy that was chosen."),
    "votes": _fact({"type": ["object", "null"], "additionalProperties": COUNT}, "Votes by assignment strategy."),
    "timers": {"description": "Timers that are armed, the first one to fire first.", "type": "array", "items": _TIMER},
    "rivals": {"description": "Other explanations of the lines that are kept.", **COUNT},
    "missing_lines": {"description": "Lines that the model expected so far and that are not there.", **COUNT},
    "unexplained_lines": {"description": "Lines so far that nothing explains.", **COUNT},
}
