"""Command `groupscope spans`: rebalances as traces in OTLP's JSON form.

A rebalance is a span, its join and sync phases are spans below it. Ids are derived from the rebalance's id, so a
repetition sends the same spans. Rebalances without an end are left out: a span must have one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

from pipelines import exit_codes as codes
from pipelines.cli.answers.source import open_source
from pipelines.cli.arguments.filters import Filters
from pipelines.cli.arguments.question import QueryOptions, question

_TRACE_BYTES, _SPAN_BYTES = 16, 8
_INTERNAL = 1
"""OTLP's kind of a span that is neither client nor server."""


@question
def spans(query_options: QueryOptions, filters: Filters) -> int:
    """Print rebalances as OTLP spans (JSON), for /v1/traces of a collector."""
    import orjson

    from pipelines.cli.output.standard_streams import Output
    from pipelines.versions import product_version

    source = open_source(query_options, filters)
    Output().write_bytes(orjson.dumps(traces(source.rows.rebalances, product_version())) + b"\n")
    return codes.decisive(source.codes)


def traces(rebalances: Iterable[Any], version: str) -> dict[str, Any]:
    """An OTLP request with a resource for each group."""
    groups: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in rebalances:
        groups.setdefault((row.cluster, row.system, row.group), []).extend(_spans(row))
    return {
        "resourceSpans": [
            {
                "resource": {"attributes": _attributes({"service.name": group, "service.namespace": cluster, "messaging.system": system})},
                "scopeSpans": [{"scope": {"name": "groupscope", "version": version}, "spans": rebalances}],
            }
            for (cluster, system, group), rebalances in groups.items()
            if rebalances
        ]
    }


def _spans(row: Any) -> Iterator[dict[str, Any]]:
    if row.started_at is None or row.ended_at is None:
        return
    whole = _span(row, "", row.started_at, row.ended_at, f"rebalance {row.cause}")
    facts = {
        "groupscope.rebalance_id": row.rebalance_id,
        "groupscope.cause": row.cause,
        "groupscope.root_cause": row.root_cause,
        "groupscope.confidence": row.confidence,
        "groupscope.outcome": row.outcome,
        "groupscope.generation": row.generation_after,
        "groupscope.offenders": _names(row.offenders),
        "groupscope.blockers": _names(row.blockers),
        "messaging.consumer.group.name": row.group,
    }
    yield whole | {"attributes": _attributes(facts)}
    if row.joined_at is not None and row.started_at <= row.joined_at <= row.ended_at:
        for phase, start, end in (("join", row.started_at, row.joined_at), ("sync", row.joined_at, row.ended_at)):
            yield _span(row, phase, start, end, phase) | {"parentSpanId": whole["spanId"]}


def _span(row: Any, phase: str, start: int, end: int, name: str) -> dict[str, Any]:
    return {
        "traceId": _hex(row.rebalance_id, _TRACE_BYTES),
        "spanId": _hex(f"{row.rebalance_id} {phase}", _SPAN_BYTES),
        "name": name,
        "kind": _INTERNAL,
        "startTimeUnixNano": str(start * 1000),
        "endTimeUnixNano": str(max(start, end) * 1000),
    }


def _hex(text: str, size: int) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=size).hexdigest()


def _names(people: Iterable[Any]) -> list[str]:
    return [person.client_id or person.member_id for person in people if person.client_id or person.member_id]


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items() if value not in (None, "", [])]


def _value(value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        return {"arrayValue": {"values": [{"stringValue": item} for item in value]}}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
