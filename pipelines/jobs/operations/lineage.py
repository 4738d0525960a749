"""OpenLineage run events: which logs a run read, which tables it wrote.

Each run has two events, START and COMPLETE or FAIL. They are posted to a URL or appended to a file, one JSON object a line.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pipelines.errors import CannotWrite
from pipelines.jobs.operations.alerts import CANNOT_TELL, post
from pipelines.schema.tables import TABLES

SPEC = "https://openlineage.io/spec"
RUN_EVENT = f"{SPEC}/2-0-2/OpenLineage.json#/$defs/RunEvent"
FACETS = {
    "schema": "1-2-0/SchemaDatasetFacet",
    "version": "1-0-1/DatasetVersionDatasetFacet",
    "outputStatistics": "1-0-2/OutputStatisticsOutputDatasetFacet",
    "errorMessage": "1-0-1/ErrorMessageRunFacet",
}
"""Versions of the facets that are written."""
PRODUCER = "urn:groupscope"
JOB = "groupscope.run"


@dataclass(frozen=True, slots=True)
class RunLineage:
    """Facts in the events of a run."""

    run_id: str
    warehouse: str
    inputs: Sequence[str]
    started_at: datetime
    ended_at: datetime
    rows_written: Mapping[str, int] = field(default_factory=dict)
    """Rows by table that the run inserted or updated."""
    table_versions: Mapping[str, int] = field(default_factory=dict)
    error: str | None = None


def run_events(facts: RunLineage) -> Iterator[dict[str, Any]]:
    """Both events of a run."""
    inputs = [dataset(place) for place in facts.inputs]
    yield _event("START", facts.started_at, facts, inputs, [])
    outputs = [_output(facts, table) for table in sorted(facts.rows_written)]
    yield _event("COMPLETE" if facts.error is None else "FAIL", facts.ended_at, facts, inputs, outputs)


def _event(kind: str, at: datetime, facts: RunLineage, inputs: list[dict[str, Any]], outputs: list[dict[str, Any]]) -> dict[str, Any]:
    failed = {} if facts.error is None or kind == "START" else {"errorMessage": _facet("errorMessage", **_error(facts.error))}
    return {
        "eventType": kind,
        "eventTime": at.isoformat(),
        "producer": PRODUCER,
        "schemaURL": RUN_EVENT,
        "run": {"runId": str(uuid.uuid5(uuid.NAMESPACE_URL, f"{facts.warehouse}#{facts.run_id}")), "facets": failed},
        "job": {"namespace": dataset(facts.warehouse)["namespace"], "name": JOB},
        "inputs": inputs,
        "outputs": outputs,
    }


def _error(text: str) -> dict[str, str]:
    return {"message": text, "programmingLanguage": "python"}


def _output(facts: RunLineage, table: str) -> dict[str, Any]:
    fields = [{"name": column.name, "type": str(column.type), "description": column.description} for column in TABLES[table].columns]
    facets = {"schema": _facet("schema", fields=fields)}
    if table in facts.table_versions:
        facets["version"] = _facet("version", datasetVersion=str(facts.table_versions[table]))
    written = _facet("outputStatistics", rowCount=facts.rows_written[table])
    place = f"{facts.warehouse.rstrip('/')}/{TABLES[table].path}"
    return {**dataset(place), "facets": facets, "outputFacets": {"outputStatistics": written}}


def _facet(name: str, **values: Any) -> dict[str, Any]:
    title = FACETS[name].rpartition("/")[2]
    return {"_producer": PRODUCER, "_schemaURL": f"{SPEC}/facets/{FACETS[name]}.json#/$defs/{title}", **values}


def dataset(place: str) -> dict[str, Any]:
    """A folder, file or URI by the naming of OpenLineage."""
    parts = urlsplit(place) if "://" in place else None
    if parts is None or parts.scheme == "file":
        return {"namespace": "file", "name": str(Path(parts.path if parts is not None else place).absolute())}
    return {"namespace": f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}", "name": parts.path.strip("/") or "/"}


def deliver(events: Sequence[Mapping[str, Any]], place: str) -> None:
    """Post events to a URL, or append them to a file.

    Raises CannotWrite.
    """
    try:
        if place.startswith(("http://", "https://")):
            for event in events:
                post(place, f"{event['run']['runId']}-{event['eventType']}", event)
            return
        with Path(place).open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(event, ensure_ascii=False) + "\n" for event in events)
    except CANNOT_TELL as error:
        raise CannotWrite(f"the events of lineage can't be delivered: {error}") from error
