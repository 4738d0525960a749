"""Command `groupscope schema`: JSON Schema of each command's output."""

from __future__ import annotations

import copy
import difflib
from typing import Annotated, Any

import typer

from pipelines.cli.json_schema.group_state import GROUP_STATE
from pipelines.cli.json_schema.history import LISTINGS
from pipelines.cli.json_schema.proof import PROOF
from pipelines.cli.json_schema.rebalance_event import rebalance_event
from pipelines.cli.json_schema.recurrence import RECURRENCE
from pipelines.cli.json_schema.upkeep import FINDINGS_SCHEMA, MAINTENANCE, RUN
from pipelines.cli.json_schema.value_types import COUNT, OPTIONAL_INSTANT, SECONDS, TEXT, TEXTS, closed
from pipelines.cli.json_schema.whatif import ADVICE, GROUP_ADVICE, LINE_TOLD, REBALANCE_ADVICE, WHAT_IF
from pipelines.errors import UsageError

DOCUMENTED_COMMANDS = (
    "analyze",
    "explain",
    "explain/incident",
    "rebalances",
    "offenders",
    "offenders/blockers",
    "groups",
    "trend",
    "deploys",
    "timeline",
    "outages",
    "outages/under-replicated",
    "outages/if-down",
    "ownership",
    "events",
    "events/rebalances",
    "compare",
    "gate",
    "sql",
    "state",
    "allocate",
    "whatif",
    "advise",
    "run",
    "maintain",
    "doctor",
)


def _named(incomplete: str) -> list[str]:
    return [command for command in DOCUMENTED_COMMANDS if command.startswith(incomplete)]


def schema(
    command: Annotated[
        str, typer.Argument(metavar="[COMMAND]", help=f"Whose JSON: {', '.join(DOCUMENTED_COMMANDS)}.", autocompletion=_named)
    ] = "analyze",
) -> int:
    """Print the JSON Schema (draft 2020-12) of a command's JSON."""
    import json

    from pipelines.cli.output.standard_streams import Output

    Output().write(json.dumps(command_schema(command), indent=2, ensure_ascii=False) + "\n")
    return 0


def schema_id(command: str) -> str:
    """Name of a command's schema; a change that breaks readers has another."""
    from pipelines.versions import SCHEMA_VERSION

    return f"urn:groupscope:schema:{command.replace('/', '-')}:{SCHEMA_VERSION}"


def command_schema(command: str) -> dict[str, Any]:
    """Schema of one command; for --jsonl it describes one line."""
    schema = _schema_of(command)
    return {"$schema": schema.pop("$schema"), "$id": schema.pop("$id", schema_id(command)), **schema}


def _schema_of(command: str) -> dict[str, Any]:
    from pipelines.schema.tables import contract_schema

    contract = copy.deepcopy(contract_schema())
    if command == "analyze":
        contract["properties"]["recurrences"] = {"type": "array", "items": RECURRENCE}
        contract["properties"]["advice"] = {
            "description": "Settings that a search found for groups with few rebalances, or with --advise for those with most downtime.",
            "type": "array",
            "items": GROUP_ADVICE,
        }
        return contract
    if command == "offenders":
        return _listing(contract, "offenders", OFFENDER)
    key = command.removeprefix("offenders/")
    if key in LISTINGS:
        return _listing(contract, key, LISTINGS[key], command.replace("/", " --"))
    if command in ("rebalances", "timeline", "outages", "ownership"):
        return _listing(contract, command, contract["properties"][command]["items"])
    if command == "outages/under-replicated":
        return _listing(contract, "under_replicated_spans", contract["properties"]["under_replicated_spans"]["items"])
    version = {"schema_version": contract["properties"]["schema_version"]}
    if command == "explain":
        schema = {
            **version,
            "line": {"description": "The line that was asked about, if one was.", "anyOf": [LINE_TOLD, {"type": "null"}]},
            "rebalance": {"anyOf": [{"$ref": "#/$defs/rebalances"}, {"type": "null"}]},
            "story": TEXTS,
            "proof": {"description": "With --proof: what the model wrote beside the log.", "anyOf": [PROOF, {"type": "null"}]},
            "advice": REBALANCE_ADVICE,
        }
        return _object(contract, "groupscope explain --json", schema)
    if command == "explain/incident":
        rows = {"description": "Its rebalances, by time.", "type": "array", "items": contract["properties"]["rebalances"]["items"]}
        answer = {**version, "incident": contract["properties"]["incidents"]["items"], "rebalances": rows}
        return _object(contract, "groupscope explain INCIDENT --json", answer)
    if command == "events":
        return _events()
    if command == "events/rebalances":
        return rebalance_event(contract)
    if command == "sql":
        return _listing(contract, "rows", {"description": "Columns of the query, by name.", "type": "object"}, command)
    if command in _objects():
        return _object(contract, f"groupscope {command.replace('/', ' --')} --json", {**version, **_objects()[command]})
    near = difflib.get_close_matches(command, DOCUMENTED_COMMANDS, n=1)
    raise UsageError(f"no schema {command!r}; " + (f"did you mean {near[0]}?" if near else f"there are {', '.join(DOCUMENTED_COMMANDS)}"))


def _objects() -> dict[str, dict[str, Any]]:
    """Properties of answers that are no table listings."""
    return {
        "outages/if-down": IF_DOWN,
        "compare": COMPARISON,
        "gate": GATE,
        "state": GROUP_STATE,
        "allocate": ALLOCATION,
        "whatif": WHAT_IF,
        "advise": ADVICE,
        "run": RUN,
        "maintain": MAINTENANCE,
        "doctor": FINDINGS_SCHEMA,
    }


OFFENDER: dict[str, Any] = {
    "type": "object",
    "properties": {
        "cluster": TEXT,
        "system": {"enum": ["kafka", "rocketmq"]},
        "group": TEXT,
        "name": {"description": "What it is ranked by (--by); client id, else instance id, else member id.", **TEXT},
        "hosts": TEXTS,
        "rebalances_caused": COUNT,
        "rebalances_held_up": {"description": "Rebalances in which others waited for it.", **COUNT},
        "stopped_seconds": {"description": "Time that the group stood still in these rebalances.", "type": "number", "minimum": 0},
        "causes": {"type": "object", "additionalProperties": COUNT},
        "first_at": OPTIONAL_INSTANT,
        "last_at": OPTIONAL_INSTANT,
    },
    "required": [
        "cluster",
        "system",
        "group",
        "name",
        "hosts",
        "rebalances_caused",
        "rebalances_held_up",
        "stopped_seconds",
        "causes",
        "first_at",
        "last_at",
    ],
    "additionalProperties": False,
}


_MEMBER = closed(
    {
        name: OFFENDER["properties"][name]
        for name in ("system", "group", "name", "rebalances_caused", "rebalances_held_up", "stopped_seconds", "causes")
    }
)
COMPARISON: dict[str, Any] = {
    "sides": {
        "description": "What is compared: `before` and `after`, or the names of two clusters.",
        "type": "array",
        "minItems": 2,
        "maxItems": 2,
        "items": closed(
            {
                "name": TEXT,
                "started_at": OPTIONAL_INSTANT,
                "ended_at": OPTIONAL_INSTANT,
                "rebalances": COUNT,
                "rebalances_per_hour": {"type": ["number", "null"], "minimum": 0},
                "stopped_seconds": SECONDS,
            }
        ),
    },
    "changes": {
        "description": "Rebalances by group and cause; what changed most comes first. `before` is the first side.",
        "type": "array",
        "items": closed(
            {
                "system": OFFENDER["properties"]["system"],
                "group": TEXT,
                "cause": TEXT,
                "expected": {"type": "boolean"},
                "count_before": COUNT,
                "count_after": COUNT,
                "stopped_seconds_before": SECONDS,
                "stopped_seconds_after": SECONDS,
                "per_hour_before": {"type": ["number", "null"], "minimum": 0},
                "per_hour_after": {"type": ["number", "null"], "minimum": 0},
            }
        ),
    },
    "new_offenders": {"description": "Members that made trouble on the second side only.", "type": "array", "items": _MEMBER},
    "gone_offenders": {"description": "Members that made trouble on the first side only.", "type": "array", "items": _MEMBER},
}


GATE: dict[str, Any] = {
    "passed": {"type": "boolean"},
    "max_rebalances": {"type": ["integer", "null"], "minimum": 0},
    "max_stopped_seconds": {"type": ["number", "null"], "minimum": 0},
    "groups": {
        "description": "Groups that rebalanced, the longest stopped first.",
        "type": "array",
        "items": closed(
            {
                "cluster": TEXT,
                "system": OFFENDER["properties"]["system"],
                "group": TEXT,
                "rebalances": COUNT,
                "stopped_seconds": SECONDS,
                "untimed_rebalances": {"description": "Rebalances in which it stood still for an unknown time.", **COUNT},
                "exceeded": {"description": "Limits that it does not keep.", "type": "array", "items": {"enum": ["rebalances", "stopped"]}},
            }
        ),
    },
    "groups_without_members": {
        "description": "Groups whose members failed and are not back when the logs end, for longer than groups may stand still.",
        "type": "array",
        "items": closed({"cluster": TEXT, "group": TEXT, "seconds": SECONDS}),
    },
    "unnamed_groups": {
        "description": "Clients that lost their place in a group that no line names; each counts as a rebalance.",
        "type": "array",
        "items": TEXT,
    },
    "broken_rules": {
        "description": "Stretches in which a group was above the limit of a rule, by time.",
        "type": "array",
        "items": closed(
            {
                "rule": TEXT,
                "cluster": TEXT,
                "system": OFFENDER["properties"]["system"],
                "group": TEXT,
                "started_at": OPTIONAL_INSTANT,
                "ended_at": {"description": "Null if it goes on when the logs end.", **OPTIONAL_INSTANT},
                "value": {"description": "The largest count or number of seconds, or the factor.", "type": "number"},
                "text": TEXT,
            }
        ),
    },
    "doubts": {
        "description": "Why the counts may be wrong, such as logs in a wrong time zone; with one, the exit code is 4, not 0.",
        **TEXTS,
    },
}
ALLOCATION: dict[str, Any] = {
    "strategy": {"description": "As clients print it.", **TEXT},
    "shares": {"type": "array", "items": closed({"client_id": TEXT, "queues": {"description": "As broker:id.", **TEXTS}})},
    "unowned": {"description": "Queues that no client would read.", **TEXTS},
    "contested": {"description": "Queues that several clients would read.", **TEXTS},
    "moves": {
        "description": "Queues that change hands with the clients or queues that come or go.",
        "type": "array",
        "items": closed({"queue": TEXT, "before": TEXTS, "after": TEXTS}),
    },
}


_REPLICAS = {"type": "array", "items": {"type": "integer"}}
IF_DOWN: dict[str, Any] = {
    "if_down": {"description": "Broker that is asked for.", **TEXT},
    "partitions": {
        "description": "Partitions that would have no leader.",
        "type": "array",
        "items": closed(
            {
                "cluster": TEXT,
                "topic": TEXT,
                "partition": COUNT,
                "why": {"enum": ["single_replica", "last_in_sync"]},
                "leader": {"type": ["string", "null"]},
                "replicas": TEXTS,
                "replicas_known": {"description": "A line of the logs names all replicas.", "type": "boolean"},
                "isr": {"type": ["array", "null"], "items": TEXT},
                "move_to": {"description": "Where to move it first; empty where no other broker is known.", **TEXTS},
            }
        ),
    },
    "reassignment": {
        "description": "What kafka-reassign-partitions --reassignment-json-file reads.",
        **closed(
            {
                "version": {"const": 1},
                "partitions": {
                    "type": "array",
                    "items": closed({"topic": TEXT, "partition": COUNT, "replicas": _REPLICAS, "log_dirs": TEXTS}),
                },
            }
        ),
    },
}


def _listing(contract: dict[str, Any], key: str, item: dict[str, Any], command: str | None = None) -> dict[str, Any]:
    listed = {"schema_version": contract["properties"]["schema_version"], key: {"type": "array", "items": item}}
    return _object(contract, f"groupscope {command or key} --json", listed)


def _object(contract: dict[str, Any], title: str, properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "$schema": contract["$schema"],
        "title": title,
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
        "$defs": contract["$defs"],
    }


def _events() -> dict[str, Any]:
    """Schema of an `events --jsonl` line: columns of silver.events."""
    import pyarrow as pa

    from pipelines.cli.json_schema.fields import FIRST_FIELDS, LEFT_OUT
    from pipelines.schema.tables import TABLES

    kinds = {pa.int64(): "integer", pa.int32(): "integer", pa.bool_(): "boolean"}
    properties: dict[str, Any] = {}
    for column in TABLES["events"].columns:
        if column.name not in (*LEFT_OUT, "cluster", "run_id"):
            kind = kinds.get(column.type, "string")
            properties[column.name] = {"description": column.description, "type": kind if column.is_required else [kind, "null"]}
    properties["at"] = {"description": TABLES["events"].column("at").description, **OPTIONAL_INSTANT}
    properties["fields"] = {"description": "The message's other fields.", "type": "object"}
    ordered = {name: properties[name] for name in (*FIRST_FIELDS, *(name for name in properties if name not in FIRST_FIELDS))}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "groupscope events --jsonl, one line",
        "type": "object",
        "properties": ordered,
        "required": list(ordered),
        "additionalProperties": False,
    }
