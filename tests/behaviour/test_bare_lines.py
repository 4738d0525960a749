"""Lines that lack what they are about, as torn ones and other wordings do: nothing fails, and they tell nothing that they don't hold."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from models.event_kinds import EVENTS
from models.events import Event, LogPosition, Witness
from models.kafka.cluster.fact_rows import fact_rows
from models.kafka.cluster.facts import CLUSTER_EVENTS, learn
from models.kafka.partitions.event_fields import PARTITION_EVENTS
from models.rocketmq.event_partitions import ROCKET_EVENTS
from models.rocketmq.rocketmq_history import history_of_groups
from tests.models.kafka.outages.whole_replay import replay_outages
from tests.models.rocketmq.event_parts import EventParts
from tests.replaying import replay_group

AT = 1_000_000_000


def bare(name: str) -> Iterator[Event]:
    """The event without fields, with and without the columns that it may have; then with columns, and its fields as null."""
    kind = EVENTS[name]
    for columns, fields in product(
        ({}, {"topic": "t", "partition": 0}, {"node": "1"}, {"topic": "t", "partition": 0, "node": "1"}), ({}, dict.fromkeys(kind.fields))
    ):
        known = {key: value for key, value in columns.items() if key in kind.fields}
        group = {"group": "g"} if "group" in kind.fields else {}
        place = LogPosition(f"{kind.witness.value}.log", 1, 0)
        fields = {key: value for key, value in fields.items() if key not in Event.__slots__}
        yield Event(name, AT, AT, place, Witness(kind.witness), "", name, fields=fields, **known, **group)


@pytest.mark.parametrize("name", sorted(PARTITION_EVENTS))
def test_of_partitions_and_brokers(name: str) -> None:
    for event in bare(name):
        found = replay_outages("c", [event], {}, learn([event] if name in CLUSTER_EVENTS else []))
        assert found.partition_outages == []
        assert found.under_replicated_spans == []


@pytest.mark.parametrize("name", sorted(CLUSTER_EVENTS))
def test_of_clusters(name: str) -> None:
    for event in bare(name):
        facts = learn([event])
        assert facts.departures == []
        assert facts.deletions == []
        fact_rows(facts)
        replay_outages("c", [], {}, facts)


@pytest.mark.parametrize("name", sorted(name for name, kind in EVENTS.items() if "group" in kind.fields and name not in ROCKET_EVENTS))
def test_of_groups(name: str) -> None:
    for event in bare(name):
        for row in replay_group("c", "g", [event], learn([])).rebalances:
            assert row.confidence <= 0.994


@pytest.mark.parametrize("name", sorted(ROCKET_EVENTS))
def test_of_rocketmq(name: str) -> None:
    for event in bare(name):
        assert [row for part in history_of_groups("c", EventParts([event])) for row in part.queue_ownership] == []
