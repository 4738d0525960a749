"""OpenLineage events of runs: both events, datasets by OpenLineage's naming, and where they go."""

from __future__ import annotations

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from pipelines.errors import CannotWrite
from pipelines.jobs.operations.lineage import RunLineage, dataset, deliver, run_events
from pipelines.schema.tables import TABLES

BEGAN, ENDED = datetime(2026, 3, 1, 10, tzinfo=UTC), datetime(2026, 3, 1, 10, 1, tzinfo=UTC)
FACTS = RunLineage(
    "0007", "/lake/groupscope", ["/logs", "s3://bucket/kafka"], BEGAN, ENDED, {"rebalances": 4}, {"rebalances": 12, "runs": 3}
)


def test_a_run_has_a_start_and_an_end_with_what_it_read_and_wrote() -> None:
    start, end = run_events(FACTS)

    assert [event["eventType"] for event in (start, end)] == ["START", "COMPLETE"]
    assert [event["eventTime"] for event in (start, end)] == ["2026-03-01T10:00:00+00:00", "2026-03-01T10:01:00+00:00"]
    assert start["run"]["runId"] == end["run"]["runId"] == str(UUID(end["run"]["runId"]))
    assert end["job"] == {"namespace": "file", "name": "groupscope.run"}
    assert end["inputs"] == [{"namespace": "file", "name": "/logs"}, {"namespace": "s3://bucket", "name": "kafka"}]
    [output] = end["outputs"]
    assert output["name"] == f"/lake/groupscope/{TABLES['rebalances'].path}"
    assert output["outputFacets"]["outputStatistics"]["rowCount"] == 4
    assert output["facets"]["version"]["datasetVersion"] == "12"
    assert [field["name"] for field in output["facets"]["schema"]["fields"]] == list(TABLES["rebalances"].column_names)


def test_another_run_has_another_id() -> None:
    ids = {next(run_events(facts))["run"]["runId"] for facts in (FACTS, RunLineage("0008", "/lake/groupscope", [], BEGAN, ENDED))}

    assert len(ids) == 2


def test_a_failed_run_says_why() -> None:
    start, end = run_events(RunLineage("0007", "/lake", ["/logs"], BEGAN, ENDED, error="no log file in /logs"))

    assert (end["eventType"], end["run"]["facets"]["errorMessage"]["message"]) == ("FAIL", "no log file in /logs")
    assert start["run"]["facets"] == {}


def test_each_facet_names_its_schema() -> None:
    def facets(node: Any) -> list[Any]:
        if isinstance(node, list):
            return [found for each in node for found in facets(each)]
        own = [node] if isinstance(node, dict) and "_producer" in node else []
        return own + [found for each in node.values() for found in facets(each)] if isinstance(node, dict) else []

    found = facets(list(run_events(FACTS)))
    pattern = r"https://openlineage\.io/spec/facets/\d-\d-\d/(\w+)\.json#/\$defs/\1"
    assert len(found) == 3
    assert all(re.fullmatch(pattern, facet["_schemaURL"]) for facet in found)


@pytest.mark.parametrize(
    ("place", "named"),
    [
        ("/logs/a", ("file", "/logs/a")),
        ("file:///logs/a", ("file", "/logs/a")),
        ("s3a://bucket/a/b/", ("s3a://bucket", "a/b")),
        ("abfss://user:secret@host/x", ("abfss://host", "x")),
        ("s3://bucket", ("s3://bucket", "/")),
    ],
)
def test_places_are_named_without_users(place: str, named: tuple[str, str]) -> None:
    assert tuple(dataset(place).values()) == named


def test_events_are_appended_to_a_file(tmp_path: Path) -> None:
    for _ in range(2):
        deliver(list(run_events(FACTS)), str(tmp_path / "lineage.jsonl"))
    lines = (tmp_path / "lineage.jsonl").read_text(encoding="utf-8").splitlines()

    assert [json.loads(line)["eventType"] for line in lines] == ["START", "COMPLETE"] * 2


@pytest.mark.parametrize("place", ["/nowhere/lineage.jsonl", "http://127.0.0.1:9/api/v1/lineage"])
def test_what_cannot_be_delivered_is_an_error_of_the_output(place: str) -> None:
    with pytest.raises(CannotWrite, match="lineage can't be delivered"):
        deliver(list(run_events(FACTS)), place)
