"""Schemas of answers about groups over time."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_MAYBE = {"type": ["string", "null"]}
_TEXTS = {"type": "array", "items": _TEXT}
_COUNT = {"type": "integer", "minimum": 0}
_MAYBE_COUNT = {"type": ["integer", "null"], "minimum": 0}
_SECONDS = {"type": "number", "minimum": 0}
_MAYBE_SECONDS = {"type": ["number", "null"], "minimum": 0}
_INSTANT = {"type": ["string", "null"], "format": "date-time"}
_SCORE = {"type": ["integer", "null"], "minimum": 0, "maximum": 100}


def _closed(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


_OF_GROUP = {"cluster": _TEXT, "system": {"enum": ["kafka", "rocketmq"]}, "group": _TEXT}

BLOCKER = _closed(
    {
        **_OF_GROUP,
        "name": {"description": "What it is ranked by (--by).", **_TEXT},
        "hosts": _TEXTS,
        "rebalances_held_up": _COUNT,
        "held_up_seconds": {"description": "Each second of waiting is shared by all that were waited for then.", **_SECONDS},
        "group_share": {"description": "Part of all waiting in the group.", "type": "number", "minimum": 0, "maximum": 1},
        "longest_seconds": {"description": "The longest wait of one rebalance.", **_SECONDS},
        "causes": {"type": "object", "additionalProperties": _COUNT},
        "first_at": _INSTANT,
        "last_at": _INSTANT,
    }
)

GROUP = _closed(
    {
        **_OF_GROUP,
        "protocol": _MAYBE,
        "protocol_type": _MAYBE,
        "assignor": _MAYBE,
        "members": {"description": "Size after the last rebalance.", **_MAYBE_COUNT},
        "clients": {"description": "Clients that were seen.", **_COUNT},
        "static_members": {"description": "Clients with an instance id.", **_COUNT},
        "static_share": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "client_versions": {"description": "As clients' own logs tell them.", **_TEXTS},
        "clients_by_version": {
            "description": "Number of clients whose logs tell that they run a version.",
            "type": "object",
            "additionalProperties": _COUNT,
        },
        "rebalances": _COUNT,
        "stopped_seconds": _SECONDS,
        "covered_seconds": {"description": "Time that the logs of its cluster cover.", **_SECONDS},
        "stopped_seconds_per_week": {"description": "Null if the logs cover less than a day.", **_MAYBE_SECONDS},
        "budget_seconds": {"description": "--budget, per week.", **_MAYBE_SECONDS},
        "budget_used": {"description": "Part of a week's budget, above 1 if exceeded.", **_MAYBE_SECONDS},
        "migration": _closed(
            {
                "status": {"enum": ["migrated", "ready", "blocked", "unknown", "other"]},
                "reasons": {"description": "What is in the way of KIP-848.", **_TEXTS},
                "open": {"description": "What the logs do not tell.", **_TEXTS},
                "migrated_at": {"description": "First rebalance of the consumer protocol, if there were classic ones.", **_INSTANT},
                "classic_rebalances": _COUNT,
                "consumer_rebalances": _COUNT,
            }
        ),
    }
)

TREND = _closed(
    {
        **_OF_GROUP,
        "score": {"description": "Stability from 0 to 100 over all periods.", **_SCORE},
        "periods": {
            "type": "array",
            "items": _closed(
                {
                    "started_at": _INSTANT,
                    "ended_at": _INSTANT,
                    "covered_seconds": _SECONDS,
                    "rebalances": _COUNT,
                    "rebalances_per_hour": _MAYBE_SECONDS,
                    "unexpected": _COUNT,
                    "stopped_seconds": _SECONDS,
                    "member_seconds_stopped": _SECONDS,
                    "score": _SCORE,
                }
            ),
        },
        "changes": {
            "description": "From when on stopped member-seconds per hour are different, by a permutation test.",
            "type": "array",
            "items": _closed({"at": _INSTANT, "before": _SECONDS, "after": _SECONDS, "p_value": {"type": "number"}}),
        },
    }
)

DEPLOY = _closed(
    {
        **_OF_GROUP,
        "incident_id": _TEXT,
        "started_at": _INSTANT,
        "ended_at": _INSTANT,
        "restarted": {"description": "Members, by name.", **_TEXTS},
        "rebalances": _COUNT,
        "stopped_seconds": _SECONDS,
        "member_seconds_stopped": _MAYBE_SECONDS,
        "spared_rebalances": {"description": "What static membership would have avoided.", **_MAYBE_COUNT},
    }
)

LISTINGS = {"blockers": BLOCKER, "groups": GROUP, "trend": TREND, "deploys": DEPLOY}
"""Items of listings, by key."""
