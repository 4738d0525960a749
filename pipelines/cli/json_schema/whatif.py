"""JSON Schema of `groupscope whatif` and of lines in `groupscope explain`."""

from __future__ import annotations

from typing import Any

from pipelines.cli.json_schema.value_types import COUNT, OPTIONAL_COUNT, OPTIONAL_INSTANT, OPTIONAL_TEXT, SECONDS, TEXT, closed

_SIGNED = {"description": "Negative where it would take longer.", "type": "number"}
_TOTALS_IF: dict[str, Any] = {
    "count": {"description": "Rebalances that there were.", **COUNT},
    "avoided": {"description": "Those that would not have been.", **COUNT},
    "perhaps_avoided": {"description": "Of those left, how many may not be: the logs don't tell.", **COUNT},
    "added": {"description": "Rebalances that there would be beside them.", **COUNT},
    "stopped_seconds": SECONDS,
    "saved_seconds": _SIGNED,
    "saved_least_seconds": {"description": "As far as the logs tell, and with the chance that is left.", "type": "number"},
    "saved_most_seconds": {"description": "The same, at most.", "type": "number"},
    "member_seconds_stopped": SECONDS,
    "saved_member_seconds": _SIGNED,
}
_CHANGED = (
    "session_timeout_ms", "heartbeat_interval_ms", "max_poll_interval_ms", "initial_delay_ms", "max_size", "instances", "restart_pause_ms",
    "scheduled_delay_ms", "consumer_session_ms", "consumer_heartbeat_ms",
)  # fmt: skip
WHAT_IF: dict[str, Any] = {
    "configuration": closed(
        {
            **dict.fromkeys(_CHANGED, OPTIONAL_COUNT),
            **{name: {"type": "boolean"} for name in ("static_membership", "cooperative", "consumer_protocol")},
        }
    ),
    "groups": {
        "type": "array",
        "items": closed(
            {
                "cluster": TEXT,
                "group": TEXT,
                **_TOTALS_IF,
                "reproduced": {"description": "Rebalances that a run of the present configuration gives, too.", **COUNT},
                "assumptions": {
                    "description": "What cannot be known from these logs, and was taken for granted.",
                    "type": "array",
                    "items": TEXT,
                },
                "rebalances": {
                    "type": "array",
                    "items": closed(
                        {
                            "cluster": TEXT,
                            "group": TEXT,
                            "rebalance_id": TEXT,
                            "started_at": OPTIONAL_INSTANT,
                            "cause": TEXT,
                            "effect": {"enum": ["avoided", "perhaps_avoided", "shorter", "longer", "later", "sooner", "same"]},
                            "rule": {"description": "Id of the rule that says so.", "type": ["string", "null"]},
                            "stopped_seconds": SECONDS,
                            "saved_seconds": _SIGNED,
                            "saved_member_seconds": _SIGNED,
                            "added": COUNT,
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
        "items": closed(dict.fromkeys(("id", "says", "source", "since", "assumes"), TEXT)),
    },
}

_ADVICE = closed(
    {
        "cluster": TEXT,
        "group": TEXT,
        "advice": {"description": "Id of the change in conf/causes.yaml.", **TEXT},
        "helps": {"type": "boolean"},
        "settings": {
            "description": "What to set, as in a file of properties; the value is null where each instance has another.",
            "type": "array",
            "items": closed({"name": TEXT, "value": {"type": ["string", "null"]}}),
        },
        "options": {"description": "Options of groupscope whatif that ask about it.", **TEXT},
        **_TOTALS_IF,
        "found_later_seconds": {
            "description": "How much later a dead member is found; null where no session timeout is set.",
            "type": ["number", "null"],
        },
        "costs": {"description": "What it costs, in words.", **TEXT},
    }
)
GROUP_ADVICE: dict[str, Any] = closed(
    {
        "cluster": TEXT,
        "group": TEXT,
        "count": {"description": "Rebalances that were run.", **COUNT},
        "stopped_seconds": SECONDS,
        "advice": {"description": "What helps most, best first.", "type": "array", "items": _ADVICE},
        "useless": {"description": "What was tried and does not help.", "type": "array", "items": _ADVICE},
        "incidents": {
            "description": "Incidents that a setting would have spared or shortened. Values follow from their own members, and"
            " numbers count their own rebalances.",
            "type": "array",
            "items": closed({"incident_id": TEXT, "advice": {"description": "Best first.", "type": "array", "items": _ADVICE}}),
        },
        "assumptions": {"type": "array", "items": TEXT},
    }
)
REBALANCE_ADVICE: dict[str, Any] = closed(
    {
        "rebalance": {"description": "What would have helped in this rebalance, best first.", "type": "array", "items": _ADVICE},
        "group": {"description": "What would have helped its group, if that has few rebalances.", "type": "array", "items": _ADVICE},
    }
)
ADVICE: dict[str, Any] = {"groups": {"type": "array", "items": GROUP_ADVICE}}

LINE_TOLD = closed(
    {
        "file": TEXT,
        "line": {"type": "integer", "minimum": 1},
        "at": OPTIONAL_INSTANT,
        **dict.fromkeys(("message", "event", "group", "client_id", "member_id", "text"), OPTIONAL_TEXT),
        "part": {"description": "What the line is to the rebalance.", "enum": ["cause", "effect", "behind", "apart", "unknown"]},
        "why": TEXT,
    }
)
