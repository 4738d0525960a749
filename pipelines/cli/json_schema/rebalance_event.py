"""Schema of an event about one rebalance.

`--follow` and `events --rebalances` write it.

Its keys and their meanings stay; a change that a reader could notice has another `$id`.
"""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.value_types import SECONDS

SCHEMA_ID = "urn:groupscope:schema:rebalance-event:1"

OF_ROW = (
    "rebalance_id", "cluster", "system", "group", "topic", "protocol", "protocol_type", "assignor", "generation_before",
    "generation_after", "started_at", "joined_at", "ended_at", "duration_seconds", "at_least_seconds", "outcome", "cause", "root_cause",
    "confidence", "alternatives", "settled_by", "offenders", "blockers", "members_before", "members_after", "coordinator",
)  # fmt: skip
"""Keys with the value and the meaning of the column of `rebalances`."""


def rebalance_event(contract: dict[str, Any]) -> dict[str, Any]:
    """Schema of one line."""
    columns = contract["$defs"]["rebalances"]["properties"]
    properties = {
        "schema": {"const": SCHEMA_ID},
        "event": {
            "description": "rebalance_finished comes once for each rebalance; verdict_changed follows if later lines change what it was.",
            "enum": ["rebalance_began", "rebalance_finished", "verdict_changed"],
        },
        **{name: columns[name] for name in OF_ROW},
        "stopped_seconds": {"description": "How long the group stood still.", **SECONDS},
        "held_up_seconds": {"description": "How long ready members waited for the blockers.", **SECONDS},
        "text": {"description": "What is new, in one sentence.", "type": "string"},
        "evidence": {
            "description": "The lines behind the verdict.",
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"file": {"type": "string"}, "line": {"type": "integer"}, "text": {"type": "string"}},
                "required": ["file", "line", "text"],
                "additionalProperties": False,
            },
        },
    }
    return {
        "$schema": contract["$schema"],
        "$id": SCHEMA_ID,
        "title": "groupscope events --rebalances and analyze --follow --jsonl, one line",
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": contract["$defs"],
    }
