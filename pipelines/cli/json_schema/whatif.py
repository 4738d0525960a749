"""JSON Schema of `groupscope whatif` and of lines in `groupscope explain`."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_SECONDS = {"type": "number", "minimum": 0}
_INSTANT = {"type": ["string", "null"], "format": "date-time"}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_OR_NULL: dict[str, Any] = {"type": ["integer", "null"], "minimum": 0}
_SIGNED = {"description": "Negative where it would take longer.", "type": "number"}
_TOTALS_IF: dict[str, Any] = {
    "count": {"description": "Rebalances that there were.", **_COUNT},
    "avoided": {"description": "Those that would not have been.", **_COUNT},
    "perhaps_avoided": {"description": "Of those left, how many may not be: the logs don't tell.", **_COUNT},
    "added": {"description": "Rebalances that there would be beside them.", **_COUNT},
    "stopped_seconds": _SECONDS,
    "saved_seconds": _SIGNED,
    "member_seconds_stopped": _SECONDS,
    "saved_member_seconds": _SIGNED,
}
_CHANGED = (
    "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "initial_delay_ms", "max_size", "instances", "restart_pause_ms",
    "scheduled_delay_ms",
)  # fmt: skip
WHAT_IF: dict[str, Any] = {
    "configuration": _closed(
        {
            **dict.fromkeys(_CHANGED, _OR_NULL),
            **{name: {"type": "boolean"} for name in ("static_membership", "cooperative", "consumer_protocol")},
        }
    ),
    "groups": {
        "type": "array",
        "items": _closed(
            {
                "cluster": _TEXT,
                "group": _TEXT,
                **_TOTALS_IF,
                "reproduced": {"description": "Rebalances that a run of the present configuration gives, too.", **_COUNT},
                "assumptions": {
                    "description": "What cannot be known from these logs, and was taken for granted.",
                    "type": "array",
                    "items": _TEXT,
                },
                "rebalances": {
                    "type": "array",
                    "items": _closed(
                        {
                            "cluster": _TEXT,
                            "group": _TEXT,
                            "rebalance_id": _TEXT,
                            "started_at": _INSTANT,
                            "cause": _TEXT,
                            "effect": {"enum": ["avoided", "perhaps_avoided", "shorter", "longer", "later", "sooner", "same"]},
                            "rule": {"description": "Id of the rule that says so.", "type": ["string", "null"]},
                            "stopped_seconds": _SECONDS,
                            "saved_seconds": _SIGNED,
                            "saved_member_seconds": _SIGNED,
                            "added": _COUNT,
                            "initial_delay_seconds": {
                                "description": "The initial delay, where it would be another.",
                                "type": ["number", "null"],
                            },
                            "confidence": {"description": "How sure the cause is.", "type": "number"},
                        }
                    ),
                },
            }
        ),
    },
    "rules": {
        "description": "Rules that were used, with their sources and what they take for granted.",
        "type": "array",
        "items": _closed(dict.fromkeys(("id", "says", "source", "since", "assumes"), _TEXT)),
    },
}

_ADVICE = _closed(
    {
        "cluster": _TEXT,
        "group": _TEXT,
        "advice": {"description": "Id of the change in conf/causes.yaml.", **_TEXT},
        "helps": {"type": "boolean"},
        "settings": {
            "description": "What to set, as in a file of properties; the value is null where each instance has another.",
            "type": "array",
            "items": _closed({"name": _TEXT, "value": {"type": ["string", "null"]}}),
        },
        "options": {"description": "Options of groupscope whatif that ask about it.", **_TEXT},
        **_TOTALS_IF,
        "found_later_seconds": {
            "description": "How much later a dead member is found; null where no session timeout is set.",
            "type": ["number", "null"],
        },
        "costs": {"description": "What it costs, in words.", **_TEXT},
    }
)
GROUP_ADVICE: dict[str, Any] = _closed(
    {
        "cluster": _TEXT,
        "group": _TEXT,
        "count": {"description": "Rebalances that were run.", **_COUNT},
        "stopped_seconds": _SECONDS,
        "advice": {"description": "What helps most, best first.", "type": "array", "items": _ADVICE},
        "useless": {"description": "What was tried and does not help.", "type": "array", "items": _ADVICE},
        "incidents": {
            "description": "Incidents that a setting would have spared or shortened. Values follow from their own members, and"
            " numbers count their own rebalances.",
            "type": "array",
            "items": _closed({"incident_id": _TEXT, "advice": {"description": "Best first.", "type": "array", "items": _ADVICE}}),
        },
        "assumptions": {"type": "array", "items": _TEXT},
    }
)
REBALANCE_ADVICE: dict[str, Any] = _closed(
    {
        "rebalance": {"description": "What would have helped in this rebalance, best first.", "type": "array", "items": _ADVICE},
        "group": {"description": "What would have helped its group, if that has few rebalances.", "type": "array", "items": _ADVICE},
    }
)
ADVICE: dict[str, Any] = {"groups": {"type": "array", "items": GROUP_ADVICE}}

_TEXT_OR_NULL: dict[str, Any] = {"type": ["string", "null"]}
LINE_TOLD = _closed(
    {
        "file": _TEXT,
        "line": {"type": "integer", "minimum": 1},
        "at": _INSTANT,
        **dict.fromkeys(("message", "event", "group", "client_id", "member_id", "text"), _TEXT_OR_NULL),
        "part": {"description": "What the line is to the rebalance.", "enum": ["cause", "effect", "behind", "apart", "unknown"]},
        "why": _TEXT,
    }
)
