"""Schemas of answers about groups over time."""

from __future__ import annotations

from pipelines.cli.json_schema.value_types import (
    COUNT,
    OPTIONAL_COUNT,
    OPTIONAL_INSTANT,
    OPTIONAL_SECONDS,
    OPTIONAL_TEXT,
    SECONDS,
    TEXT,
    TEXTS,
    closed,
)

_SCORE = {"type": ["integer", "null"], "minimum": 0, "maximum": 100}


_OF_GROUP = {"cluster": TEXT, "system": {"enum": ["kafka", "rocketmq"]}, "group": TEXT}

BLOCKER = closed(
    {
        **_OF_GROUP,
        "name": {"description": "What it is ranked by (--by).", **TEXT},
        "hosts": TEXTS,
        "rebalances_held_up": COUNT,
        "held_up_seconds": {"description": "Each second of waiting is shared by all that were waited for then.", **SECONDS},
        "group_share": {"description": "Part of all waiting in the group.", "type": "number", "minimum": 0, "maximum": 1},
        "longest_seconds": {"description": "The longest wait of one rebalance.", **SECONDS},
        "causes": {"type": "object", "additionalProperties": COUNT},
        "first_at": OPTIONAL_INSTANT,
        "last_at": OPTIONAL_INSTANT,
    }
)

_GROUP = closed(
    {
        **_OF_GROUP,
        "protocol": OPTIONAL_TEXT,
        "protocol_type": OPTIONAL_TEXT,
        "assignor": OPTIONAL_TEXT,
        "members": {"description": "Size after the last rebalance.", **OPTIONAL_COUNT},
        "clients": {"description": "Clients that were seen.", **COUNT},
        "static_members": {"description": "Clients with an instance id.", **COUNT},
        "static_share": {"type": ["number", "null"], "minimum": 0, "maximum": 1},
        "client_versions": {"description": "As clients' own logs tell them.", **TEXTS},
        "clients_by_version": {
            "description": "Number of clients whose logs tell that they run a version.",
            "type": "object",
            "additionalProperties": COUNT,
        },
        "rebalances": COUNT,
        "stopped_seconds": SECONDS,
        "covered_seconds": {"description": "Time that the logs of its cluster cover.", **SECONDS},
        "stopped_seconds_per_week": {"description": "Null if the logs cover less than a day.", **OPTIONAL_SECONDS},
        "budget_seconds": {"description": "--budget, per week.", **OPTIONAL_SECONDS},
        "budget_used": {"description": "Part of a week's budget, above 1 if exceeded.", **OPTIONAL_SECONDS},
        "migration": closed(
            {
                "status": {"enum": ["migrated", "ready", "blocked", "unknown", "other"]},
                "reasons": {"description": "What is in the way of KIP-848.", **TEXTS},
                "open": {"description": "What the logs do not tell.", **TEXTS},
                "migrated_at": {"description": "First rebalance of the consumer protocol, if there were classic ones.", **OPTIONAL_INSTANT},
                "classic_rebalances": COUNT,
                "consumer_rebalances": COUNT,
            }
        ),
    }
)

_FACTOR = {"type": "number", "minimum": 0, "maximum": 1}
TREND = closed(
    {
        **_OF_GROUP,
        "score": {"description": "Stability from 0 to 100 over all periods.", **_SCORE},
        "periods": {
            "type": "array",
            "items": closed(
                {
                    "started_at": OPTIONAL_INSTANT,
                    "ended_at": OPTIONAL_INSTANT,
                    "covered_seconds": SECONDS,
                    "rebalances": COUNT,
                    "rebalances_per_hour": OPTIONAL_SECONDS,
                    "unexpected": COUNT,
                    "stopped_seconds": SECONDS,
                    "member_seconds_stopped": SECONDS,
                    "score": _SCORE,
                }
            ),
        },
        "changes": {
            "description": "From when on stopped member-seconds per hour are different, by a permutation test.",
            "type": "array",
            "items": closed({"at": OPTIONAL_INSTANT, "before": SECONDS, "after": SECONDS, "p_value": {"type": "number"}}),
        },
        "score_parts": {
            "description": "What makes up the score: 100 times both factors. Null if no log covers the periods.",
            "oneOf": [
                {"type": "null"},
                closed(
                    {
                        "counted_seconds": {"description": "Time that logs cover, at least an hour.", **SECONDS},
                        "stopped_share": {"type": "number", "minimum": 0},
                        "unexpected": COUNT,
                        "unexpected_per_hour": {"type": "number", "minimum": 0},
                        "stopped_factor": _FACTOR,
                        "unexpected_factor": _FACTOR,
                    }
                ),
            ],
        },
    }
)

DEPLOY = closed(
    {
        **_OF_GROUP,
        "incident_id": TEXT,
        "started_at": OPTIONAL_INSTANT,
        "ended_at": OPTIONAL_INSTANT,
        "restarted": {"description": "Members, by name.", **TEXTS},
        "rebalances": COUNT,
        "stopped_seconds": SECONDS,
        "member_seconds_stopped": OPTIONAL_SECONDS,
        "spared_rebalances": {"description": "What static membership would have avoided.", **OPTIONAL_COUNT},
    }
)

LISTINGS = {"blockers": BLOCKER, "groups": _GROUP, "trend": TREND, "deploys": DEPLOY}
"""Items of listings, by key."""
