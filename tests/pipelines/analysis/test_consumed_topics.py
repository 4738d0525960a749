"""Who reads what, and since when, is the same whoever is asked: the process that reads the logs, Arrow and Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import orjson
import pyarrow as pa
import pyarrow.compute as pc
import pytest

from models.kafka.outages.affected_groups import Readers
from pipelines.analysis import in_process as local
from pipelines.analysis.stages import note_reader
from pipelines.schema.row_conversion import events_of
from pipelines.schema.tables import without_run
from pipelines.warehouse.rows import arrow_diff
from tests.conftest import LONG
from tests.pipelines.site import Site
from tests.pipelines.warehouse.opening.test_migrations import stamp

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from pipelines.warehouse.warehouse import Warehouse

pytestmark = pytest.mark.spark

START = datetime(1970, 1, 1, tzinfo=UTC)
EXAMPLES: list[dict[str, Any]] = [
    {"topics": ["orders"], "reason": "x"},
    {"topics": ["orders", 'with "marks", and, commas]', "Größe ٣", "", "orders"], "partitions": None},
    {"topics": [3, None, True, 2.5, "3", ["nested"], {"a": "b"}, "null"]},
    {"topics": "not a list", "partitions": ["orders-3", "my-topic-0", "-1"]},
    {"topics": '["a text that looks like a list"]', "partitions": "orders-4"},
    {"topics": {"orders": 1}, "partitions": []},
    {"partitions": [4, "no-number-x", "none", "dash-", "minus--1", "arabic-٣", "raised-²", "line-1\n", "two\nlines-7", "1-2-3", "x-1 "]},
    {"other": [{"topics": ["not these"]}], "Topics": ["nor these"]},
    {},
]


def row(line: int, event: str | None, fields: dict[str, Any] | None, **values: Any) -> dict[str, Any]:
    told = {
        "cluster": "c",
        "file": "a.log",
        "file_id": "a",
        "line": line,
        "byte_offset": line,
        "byte_length": 1,
        "ambiguous_time": False,
        "system": "kafka",
        "message": "m",
        "event": event,
        "witness": "client",
        "group": "g",
        "fields": "" if fields is None else orjson.dumps(fields).decode(),
        "truncated": False,
        "file_time_max_at": START + timedelta(seconds=1_000 - line),
    }
    return dict.fromkeys(without_run("events").names) | told | values


def rows() -> Iterator[dict[str, Any]]:
    events = ["ClientSubscribed", "ClientAssigned", "ClientJoinSent", "JoinGroupCompleted"]
    line = 0
    for cluster, group in (("c", "g"), ("c", "h"), ("d", "g"), ("e", "g"), ("c", None)):
        for number, fields in enumerate([None, *EXAMPLES, *EXAMPLES[:2]]):
            line += 1
            yield row(line, events[number % len(events)], fields, cluster=cluster, group=group)
    timeless = {"file_time_max_at": None, "at": None}
    yield row(line + 1, "ClientSubscribed", {"topics": ["timeless"]}, **timeless)
    yield row(line + 2, "ClientSubscribed", {"topics": ["own time"]}, file_time_max_at=None, at=START + timedelta(microseconds=7))
    coordinators = {"witness": "coordinator", "partition": 7}
    for number, values in enumerate([{}, timeless, {"partition": 8}, {"partition": None}, {"group": None}, {"witness": "broker"}]):
        yield row(line + 3 + number, "RebalanceStarted", {}, **coordinators | values)
    yield row(line + 20, None, {}, **coordinators | {"partition": 9})
    yield row(line + 22, "ClientRevoked", {"partitions": ["revoked-1"]})
    yield row(line + 21, "ModernSubscriptionChanged", {"topics": ["modern"]}, **coordinators | {"partition": 10})


@pytest.mark.parametrize("most", [arrow_diff.LOCAL_ROWS_MAX, 0], ids=["by Arrow", "by Spark"])
def test_readers_of_a_warehouse_are_those_of_its_events(
    spark: SparkSession, warehouse: Callable[..., Warehouse], monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    from pipelines.jobs.replay.cluster_inputs import readers_of

    place = warehouse("events")
    stored = pa.Table.from_pylist(list(rows()), schema=without_run("events"))
    place.replace("events", stored, stamp(1))
    wanted: dict[str, Readers] = {}
    for cluster in ("c", "d"):
        for event in events_of(stored.filter(pc.equal(stored["cluster"], cluster))):
            note_reader(wanted, cluster, event)
    told = {"orders", "my-topic", "", "3", "null", "minus-", "arabic", "two\nlines", "1-2", "timeless", "own time", "modern"}
    assert told <= wanted["c"].by_topic.keys()
    assert not {"nested", "not these", "revoked", "raised", "line", "x", "dash", "no-number"} & wanted["c"].by_topic.keys()
    assert (wanted["c"].by_topic["timeless"], wanted["c"].by_topic["own time"]) == ({"g": 0}, {"g": 7})
    assert wanted["c"].by_offsets_partition.keys() == {7, 8, 10}

    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", most)
    assert readers_of(place, ["c", "d"]) == wanted
    assert readers_of(place, ["unknown"]) == {}


@pytest.mark.parametrize("most", [arrow_diff.LOCAL_ROWS_MAX, pytest.param(0, marks=LONG)], ids=["by Arrow", "by Spark"])
def test_readers_of_a_warehouse_are_those_that_an_analysis_of_its_logs_finds(
    published: Site, monkeypatch: pytest.MonkeyPatch, spark: SparkSession, most: int
) -> None:
    from pipelines.jobs.replay.cluster_inputs import readers_of
    from pipelines.warehouse.warehouse import Warehouse

    found: dict[str, Readers] = {}
    outages = local.cluster_outages

    def watched(*arguments: Any) -> Any:
        found.update(arguments[4])
        return outages(*arguments)

    monkeypatch.setattr(local, "cluster_outages", watched)
    local.analyze([str(published.logs)])
    assert all(each.by_topic and each.by_offsets_partition for each in found.values())
    wanted = {cluster: replace(each, following=set()) for cluster, each in found.items()}
    monkeypatch.setattr(arrow_diff, "LOCAL_ROWS_MAX", most)
    assert readers_of(Warehouse(spark, str(published.warehouse)), wanted) == wanted
