"""Each topic of a group comes back whole and in its order, whatever went to disk meanwhile, and so does the rest."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from models.event_kinds import EVENTS
from models.events import Event
from models.rocketmq.event_partitions import BY_TOPIC, HEEDED, Parts
from parsers.schema import EVENT_SCHEMA
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.schema.row_conversion import events_of
from tests.models.rocketmq.event_parts import EventParts

NAMES = ["RocketQueueAdded", "RocketShareChanged", "RocketLockTaken", "RocketNotified", "RocketRouteChanged", "RocketConnectionOpened"]

ROWS = st.lists(
    st.tuples(
        st.sampled_from(NAMES), st.sampled_from(["f", "g", "h"]), st.sampled_from(["a", "b", None]), st.sampled_from(["t", "u", None])
    ),
    max_size=40,
)


def batches(rows: list[tuple[str, str, str | None, str | None]], size: int) -> Iterator[pa.RecordBatch]:
    """File by file, as logs are read."""
    told: list[dict[str, Any]] = [
        dict.fromkeys(EVENT_SCHEMA.names)
        | {
            "event": name,
            "file": file,
            "group": group,
            "topic": topic,
            "line": number + 1,
            "byte_offset": 100 * number,
            "witness": EVENTS[name].witness.value,
            "system": "rocketmq",
            "message": "m",
            "text": f"line {number}",
        }
        for number, (name, file, group, topic) in enumerate(sorted(rows, key=lambda row: row[1]))
    ]
    for start in range(0, len(told), size):
        yield pa.RecordBatch.from_pylist(told[start : start + size], schema=EVENT_SCHEMA)


def places(events: Iterator[Event]) -> list[tuple[str, int]]:
    return [(event.place.file, event.place.byte_offset) for event in events]


def told(parts: Parts) -> tuple[Any, ...]:
    return places(parts.rest()), places(parts.rest({"f", "h"})), [(key, places(parts.events_of(key))) for key in parts.topics()]


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(ROWS, st.integers(1, 7), st.sampled_from([0, 800, 1 << 30]))
def test_parts_are_those_of_events_at_hand(rows: list[tuple[str, str, str | None, str | None]], size: int, limit: int) -> None:
    with RocketStore(limit) as store:
        for batch in batches(rows, size):
            store.add(batch)
        found = [told(parts) for _, parts in store.clusters(lambda _: "one")]

    at_hand = EventParts(event for batch in batches(rows, 7) for event in events_of(batch))
    assert found == ([told(at_hand)] if any(name in HEEDED for name, *_ in rows) else [])


@pytest.mark.parametrize("limit", [0, 1 << 30])
def test_clusters_are_told_apart_by_their_files(limit: int) -> None:
    rows = [("RocketQueueAdded", file, "a", "t") for file in "fgh"] + [("RocketNotified", file, "a", None) for file in "fgh"]
    with RocketStore(limit) as store:
        for batch in batches(rows, 2):
            store.add(batch)
        found = dict(store.clusters(lambda file: "one" if file in "fg" else "two"))

        assert {event.place.file for event in found["one"].rest()} == {"f", "g"}
        assert {event.place.file for event in found["two"].events_of(("a", "t"))} == {"h"}


def test_what_is_read_by_topic_names_a_group_and_a_topic() -> None:
    assert BY_TOPIC <= HEEDED
    assert all({"group", "topic"} <= EVENTS[name].fields for name in BY_TOPIC)
