"""Data frames in, data frames out."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.ids import make_id
from models.rows import Divergence, Evidence
from parsers.reading import splits as ranges
from parsers.reading.reader import find_files
from parsers.reading.resume import Start
from parsers.schema import EVENT_SCHEMA, REJECTED_SCHEMA, UNKNOWN_SCHEMA
from pipelines.analysis.client_sightings import events_without_group_in, sightings_in
from pipelines.schema.tables import without_run
from pipelines.transforms.clusters import with_cluster, with_clusters
from pipelines.transforms.events import in_file_order
from pipelines.transforms.few_records import event_rows, rejected_rows, unknown_rows
from pipelines.transforms.group_replay import cut_at_keys, in_order_of_groups, rows_of_replay
from pipelines.transforms.read import line_counts
from pipelines.transforms.rejected_records import rejected_records
from pipelines.transforms.sightings import sightings_of_all
from pipelines.transforms.unknown_messages import unknown_in_files, unknown_messages, unknown_sums, with_unknown_id

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

START = datetime(2024, 3, 31, tzinfo=UTC)


def at(seconds: float) -> datetime:
    return START + timedelta(seconds=seconds)


def micros(time: datetime) -> int:
    return (time - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)


def event(file: str, offset: int, seconds: float | None, **values: Any) -> dict[str, Any]:
    row: dict[str, Any] = dict.fromkeys(EVENT_SCHEMA.names)
    return row | {
        "file": file,
        "file_id": file,
        "line": offset + 1,
        "byte_offset": offset,
        "byte_length": 10,
        "at": None if seconds is None else at(seconds),
        "ambiguous_time": False,
        "system": "kafka",
        "message": "m",
        "event": "RebalanceStarted",
        "witness": "coordinator",
        "fields": "{}",
        "truncated": False,
    } | values  # fmt: skip


def same_rows(frame: DataFrame, rows: pa.Table) -> bool:
    """Whether a table has the rows of a frame, in any order."""
    schema = pa.schema([field.remove_metadata() for field in rows.schema])
    by_spark = frame.select(*rows.column_names).toArrow().cast(schema).to_pylist()
    return sorted(map(repr, by_spark)) == sorted(map(repr, rows.to_pylist()))


def arrow(spark: SparkSession, rows: list[dict[str, Any]], schema: pa.Schema) -> DataFrame:
    return spark.createDataFrame(pa.Table.from_pylist(rows, schema=schema))


@pytest.mark.spark
def test_order_within_a_file_never_goes_back(spark: SparkSession) -> None:
    seconds = [None, 5.0, 3.0, None, 7.0, 6.5, None, 2.0]
    orders = [None, 5.0, 3.0, None, 7.0, 7.0, None, 2.0]  # each part of a file is read apart, and knows its own times
    parts = {"a": [(0, 2, 5.0), (2, 1, 3.0), (3, 3, 7.0), (6, 2, 2.0)], "b": [(0, 2, 1.0)], "c": [(6, 3, 1.5)]}
    told = zip(seconds, orders, strict=True)
    rows = [event("a", place, value, file_time_max_at=order and at(order)) for place, (value, order) in enumerate(told)]
    rows += [event("b", 0, 1.0, file_time_max_at=at(1.0)), event("b", 1, None, file_time_max_at=at(1.0))]
    rows += [event("c", 6, None), event("c", 7, 1.5, file_time_max_at=at(1.5)), event("c", 8, 1.5, file_time_max_at=at(1.5))]
    reports = {
        file: [{"part_offset": offset, "bytes_read": size, "last_at": micros(at(last))} for offset, size, last in told]
        for file, told in parts.items()
    }
    frame = arrow(spark, rows[::-1], EVENT_SCHEMA).repartition(3)
    ordered = in_file_order(frame, reports, {"c": micros(at(1.0))})
    found = {(row["file"], row["byte_offset"]): row["file_time_max_at"] for row in ordered.toArrow().to_pylist()}
    expected = {"a": [None, 5, 5, 5, 7, 7, 7, 7], "b": [1, 1], "c": [None] * 6 + [1, 1.5, 1.5]}
    assert found == {
        (file, place): None if value is None else at(value)
        for file, values in expected.items()
        for place, value in enumerate(values)
        if (file, place) in found
    }
    assert len(found) == len(rows)
    assert ordered.columns == frame.columns
    few = event_rows(
        with_clusters(pa.Table.from_pylist(rows[::-1], schema=EVENT_SCHEMA), {"a": "east", "c": "west"}), reports, {"c": micros(at(1.0))}
    )
    assert few.column_names == without_run("events").names
    assert same_rows(with_cluster(ordered, {"a": "east", "c": "west"}), few)


@pytest.mark.spark
def test_lines_of_large_files_are_counted_by_workers(spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    line = b"[2026-11-21 09:07:55,%03d] INFO [GroupCoordinator 1]: Group g with generation 5 is now empty (__consumer_offsets-12) (x)\n"
    text = b"".join(line % (number % 1000) for number in range(5000))
    for name, content in {"a.log": text, "b.log": text[:400_000] + b"\x00" * 99 + text[400_000:], "small.log": text[1000:2000]}.items():
        (tmp_path / name).write_bytes(content)
    monkeypatch.setattr(ranges, "FOLD_BLOCK_BYTES", 1 << 16)
    monkeypatch.setattr(line_counts, "COUNTED_BY_SPARK_BYTES", 2000)
    found = {Path(source.path).name: source for source in find_files([str(tmp_path)]).files}
    start = ranges.split(found["a.log"], 1 << 16)[2]
    for sources in (
        [(source, None) for source in found.values()],
        [(found["a.log"], Start(start.start, start.line))],
    ):
        lines = line_counts.count_lines(spark, sources, 1 << 16)
        shares = ranges.share_out(sources, 1, 1 << 16, lines)
        by_place = sorted((part for share in shares for part in share), key=lambda part: (part.source.name, part.start))
        assert by_place == [part for source, begin in sources for part in ranges.split(source, 1 << 16, begin)]
    assert {Path(name).name: ends is None for name, ends in line_counts.count_lines(spark, sources, 1 << 16).items()} == {"a.log": False}
    assert line_counts.count_lines(spark, [(found["b.log"], None)], 1 << 16) == {found["b.log"].name: None}
    assert line_counts.count_lines(spark, [(found["small.log"], None)], 1 << 16) == {}


@pytest.mark.spark
def test_files_without_a_name_belong_to_the_default_cluster(spark: SparkSession) -> None:
    frame = arrow(spark, [event("a", 0, 0), event("b", 0, 0), event("c`'", 0, 0)], EVENT_SCHEMA)
    named = with_cluster(frame, {"a": "east", "c`'": "we'st"})
    assert named.columns == ["cluster", *EVENT_SCHEMA.names]
    assert {row["file"]: row["cluster"] for row in named.collect()} == {"a": "east", "b": "default", "c`'": "we'st"}
    again = with_cluster(named, {"b": "north"})
    assert {row["file"]: row["cluster"] for row in again.collect()} == {"a": "default", "b": "north", "c`'": "default"}


@pytest.mark.spark
def test_unknown_records_are_summed_by_template(spark: SparkSession) -> None:
    from pyspark.sql import functions as F

    def record(file: str, offset: int, seconds: float | None, template: str, logger: str | None = "k") -> dict[str, Any]:
        return {
            "file": file, "file_id": file, "line": offset + 1, "byte_offset": offset, "at": None if seconds is None else at(seconds),
            "template": template, "logger": logger, "level": "INFO", "text": f"{file}:{offset}",
        }  # fmt: skip

    rows = [
        record("b.log", 0, 3, "x <*>"),
        record("a.log", 70, 9, "x <*>"),
        record("a.log", 20, None, "x <*>"),
        record("a.log", 90, 1, "x <*>", None),
        record("c.log", 0, 2, "x <*>"),
    ]
    in_files = unknown_in_files(arrow(spark, rows, UNKNOWN_SCHEMA), 1 << 20)
    assert {(row["file"], row["logger"]): row["count"] for row in in_files.collect()} == {
        ("a.log", "k"): 2, ("a.log", None): 1, ("b.log", "k"): 1, ("c.log", "k"): 1
    }  # fmt: skip
    clusters = {"a.log": "east", "b.log": "east", "c.log": "west"}
    few = unknown_rows(pa.Table.from_pylist(rows, schema=UNKNOWN_SCHEMA), 64)
    assert same_rows(with_unknown_id(unknown_in_files(arrow(spark, rows, UNKNOWN_SCHEMA), 64)), few)
    named = with_cluster(in_files, clusters).withColumn("version", F.lit(None).cast("string"))
    assert same_rows(unknown_messages(named), unknown_sums(few, clusters))
    summed = {(row["cluster"], row["logger"]): row for row in unknown_messages(named).toArrow().to_pylist()}
    assert summed.keys() == {("east", "k"), ("east", None), ("west", "k")}
    east = summed["east", "k"]
    assert (east["count"], east["first_at"], east["last_at"]) == (3, at(3), at(9))
    assert (east["sample"], east["file"], east["line"], east["byte_offset"]) == ("a.log:20", "a.log", 21, 20)
    assert east["unknown_message_id"] == make_id("unknown", "east", "k", None, "x <*>")


@pytest.mark.spark
def test_few_unreadable_records_are_named_as_many(spark: SparkSession) -> None:
    rows = [
        {"file": file, "file_id": "i", "line": 1, "byte_offset": place, "byte_length": 9, "reason": "r", "text": "t"}
        for file, place in (("a", 0), ("a", 9), ("b", 0))
    ]
    by_spark = rejected_records(with_cluster(arrow(spark, rows, REJECTED_SCHEMA), {"a": "east"}))
    assert same_rows(by_spark, rejected_rows(with_clusters(pa.Table.from_pylist(rows, schema=REJECTED_SCHEMA), {"a": "east"})))


@pytest.mark.spark
def test_who_was_seen_where_is_the_same_in_one_process(spark: SparkSession) -> None:
    member = "app-00000000-0000-4000-8000-000000000001"
    rows = [
        event("s.log", 0, 1, group="g", member_id=member, file_time_max_at=at(1)),
        event("s.log", 1, 9, group="g", member_id=member[:-1] + "2", file_time_max_at=at(9)),
        event("s.log", 5, 9, group="g", member_id="1WmGz6tDT1eMh7Qx0a0w5A", file_time_max_at=at(99)),
        event("s.log", 2, 9, group="g", fields=f'{{"reason":"x","reason_member_id":"{member}"}}', file_time_max_at=at(12)),
        event("s.log", 3, 9, group="g", file_time_max_at=at(13)),
        event("s.log", 4, None, group="g", member_id=member),
        event("a.log", 0, 2, group="g", client_id="app", fields='{"client_number":2,"why":"y"}', witness="client", file_time_max_at=at(2)),
        event("b.log", 0, 2, group="g", witness="client", file_time_max_at=at(3)),
        event("a.log", 1, 4, event="ClientPollTimedOut", client_id="app", witness="client", file_time_max_at=at(4)),
    ]
    alone = sorted(sightings_in([pa.RecordBatch.from_pylist(rows, schema=EVENT_SCHEMA)]), key=repr)
    frame = arrow(spark, rows, EVENT_SCHEMA)
    assert sorted(sightings_of_all(frame), key=repr) == alone
    assert [(each.file, each.client_id, each.client_number, each.member_id) for each in alone] == [
        ("a.log", "app", 2, None),
        ("b.log", None, None, None),
        ("s.log", "app", None, None),
    ]
    # A line without a time stands before the first one of its file, so it opens the range.
    assert (alone[-1].first_us, alone[-1].last_us) == (0, micros(at(12)))
    assert events_without_group_in(pa.RecordBatch.from_pylist(rows, schema=EVENT_SCHEMA))["file"].to_pylist() == ["a.log"]


def batches_of(keys: list[tuple[str, str]], sizes: list[int]) -> Iterator[pa.RecordBatch]:
    """Rows with these keys, numbered, in batches of these sizes."""
    start = 0
    for size in [*sizes, len(keys)]:
        part = keys[start : start + size]
        if part:
            yield pa.RecordBatch.from_pydict(
                {"cluster": [c for c, _ in part], "group": [g for _, g in part], "number": list(range(start, start + len(part)))}
            )
        start += len(part)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["g", "h", ""]))).map(sorted),
    st.lists(st.integers(min_value=1, max_value=4), max_size=6),
)
def test_each_key_comes_once_with_all_its_rows_in_order(keys: list[tuple[str, str]], sizes: list[int]) -> None:
    found = [
        (key, [number for part in parts for number in part["number"].to_pylist()]) for key, parts in cut_at_keys(batches_of(keys, sizes))
    ]
    assert [key for key, _ in found] == sorted(set(keys))
    assert found == [(key, [number for number, own in enumerate(keys) if own == key]) for key in sorted(set(keys))]


def told(cluster: str, group: str, batches: Iterator[pa.RecordBatch]) -> Iterator[dict[str, list[Divergence]]]:
    """A replay that says of each event when and where it was, in the order that it was told."""
    rows = []
    for batch in batches:
        for row in batch.to_pylist():
            place = Evidence(row["file"], row["line"], row["byte_offset"], row["text"] or "")
            at_us = None if row["at"] is None else int(row["at"].timestamp() * 1_000_000)
            rows.append(Divergence(cluster, "kafka", make_id("t", group, row["line"]), group, at_us, str(len(rows)), row["file"], [place]))
    yield {"divergences": rows, "rebalances": []}


@pytest.mark.spark
def test_groups_are_replayed_whole_and_in_order(spark: SparkSession) -> None:
    rows = [
        event("b", 0, 5, group="g", file_time_max_at=at(5)),
        event("a", 10, 5, group="g", file_time_max_at=at(5)),
        event("a", 9, 5, group="g", file_time_max_at=at(5)),
        event("c", 0, None, group="g"),
        event("b", 5, 1, group="g", file_time_max_at=at(6)),
        event("a", 20, 9, group="h", file_time_max_at=at(9)),
        event("a", 30, 9, file_time_max_at=at(9)),
        event("a", 40, 9, group="g", event=None, file_time_max_at=at(9)),
    ]
    rows += [event("big", place, place, group="big 世界", file_time_max_at=at(place)) for place in range(25_000)]
    frame = with_cluster(arrow(spark, rows[::-1], EVENT_SCHEMA), {"a": "c", "b": "c", "c": "c", "big": "d"}).repartition(5)
    ordered = in_order_of_groups(told)
    found = rows_of_replay("divergences", ordered.by_spark(frame, 2)).toArrow().to_pylist()
    few = ordered.in_process(frame.toArrow(), len(found))
    assert few is not None
    assert sorted(map(repr, few["divergences"].to_pylist())) == sorted(map(repr, found))
    assert ordered.in_process(frame.toArrow(), len(found) - 1) is None
    by_group: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in found:
        by_group.setdefault((row["cluster"], row["group"]), []).append(row)
    for members in by_group.values():
        members.sort(key=lambda row: int(row["expected"]))
    places = {key: [(row["observed"], row["evidence"][0]["byte_offset"]) for row in members] for key, members in by_group.items()}
    assert places.keys() == {("c", "g"), ("c", "h"), ("d", "big 世界")}
    assert places["c", "g"] == [("c", 0), ("a", 9), ("a", 10), ("b", 0), ("b", 5)]
    assert places["c", "h"] == [("a", 20)]
    assert places["d", "big 世界"] == [("big", place) for place in range(25_000)]
    assert by_group["c", "g"][0]["at"] is None
    assert by_group["c", "g"][1]["at"] == at(5)
