"""Clocks of brokers: found by what several nodes log, corrected, and left alone where nothing is proven."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path

import pytest

from models.events import Event
from models.kafka.partitions.broker_clocks import FAR_US, SAMPLES_MAX, BrokerClockBounds, BrokerClocks, narrow_bounds, on_one_clock
from tests.models.kafka.outages.test_outages import STORIES, event_of, events_of, find, show

SECOND = 1_000_000
STORY = next(path for path in STORIES if path.stem == "clock_ahead")


def shifted(events: Iterable[Event], node: str, seconds: float) -> list[Event]:
    """The same lines as a node with another clock would have written them."""
    by = round(seconds * SECOND)
    moved = [
        dataclasses.replace(event, at_us=(event.at_us or 0) + by, order_us=event.order_us + by)
        if event.place.file.startswith(f"{node}/")
        else event
        for event in events
    ]
    return sorted(moved, key=lambda event: (event.order_us, event.place.file, event.place.byte_offset))


def story(path: Path) -> list[Event]:
    return events_of(path.read_text(encoding="utf-8").partition("----\n")[0])


@pytest.mark.parametrize("seconds", [-75.0, 0.0, 45.0, 600.0, -600.0])
def test_outages_are_the_same_whatever_the_clock_of_a_broker_says(seconds: float) -> None:
    """The story is 75 s ahead already; -75 puts its clock right."""

    def told(events: list[Event]) -> list[str]:
        return [line for line in show(find(events)) if line.startswith(("outage", "broker"))]

    assert told(shifted(story(STORY), "2", seconds)) == told(story(STORY))
    found = find(shifted(story(STORY), "2", seconds)).divergences
    assert [each.observed.split(" s ")[1] for each in found] == (
        [] if seconds == -75 else [f"{'ahead' if seconds > -75 else 'behind'}; its times were corrected"]
    )
    assert all(each.group is None and len(each.evidence) == 2 for each in found)


@pytest.mark.parametrize("path", [path for path in STORIES if path.stem != "clock_ahead"], ids=lambda path: path.stem)
def test_clocks_that_agree_are_left_alone(path: Path) -> None:
    assert find(story(path)).divergences == []


def fetchers(seconds: float, node: str, *names: str, epoch: int) -> Event:
    inside = ", ".join(f"{name} -> InitialFetchState(BrokerEndPoint(id=1, host=10.0.0.1:9092),{epoch},0)" for name in names)
    line = f"{seconds} {node}/server [ReplicaFetcherManager on broker {node}] Added fetcher to broker 1 for partitions HashMap({inside})"
    return event_of(line, round(seconds * 1000))


def clocks_of(events: Iterable[Event]) -> BrokerClocks:
    clocks = BrokerClocks()
    for event in events:
        clocks.feed(event)
    return clocks


def test_brokers_alone_are_compared_where_they_take_up_the_same_epochs_again_and_again() -> None:
    moments = [10.0, 60.0, 110.0, 160.0]
    both = [fetchers(at + late, node, "a-0", epoch=epoch) for epoch, at in enumerate(moments) for node, late in (("2", 0.0), ("3", 30.2))]
    (found,) = clocks_of(both).skews()
    assert (found.node, found.reference, found.ahead) == ("3", "2", 30_200_000)


def test_a_broker_that_starts_takes_up_all_epochs_at_once_and_has_no_other_clock_for_it() -> None:
    names = [f"a-{number}" for number in range(20)]
    events = [fetchers(float(number), "2", name, epoch=0) for number, name in enumerate(names)]
    assert clocks_of([*events, fetchers(40.0, "3", *names, epoch=0)]).skews() == []


def test_how_many_epochs_are_held_is_limited_and_the_choice_does_not_depend_on_order() -> None:
    names = [f"t-{number}" for number in range(5 * SAMPLES_MAX)]
    there, back = clocks_of([fetchers(1.0, "2", *names, epoch=0)]), clocks_of([fetchers(1.0, "2", *reversed(names), epoch=0)])
    assert there._epochs.learned.keys() == back._epochs.learned.keys()
    assert SAMPLES_MAX / 4 < len(there._epochs.learned) <= SAMPLES_MAX


def test_events_are_put_in_order_by_one_clock() -> None:
    events = story(STORY)
    ordered = list(on_one_clock(events, {"2": 75 * SECOND}, {event.place.file: event.place.file[0] for event in events}))
    assert [event.order_us for event in ordered] == sorted(event.order_us for event in ordered)
    assert [event.place.line for event in ordered] == [event.place.line for event in shifted(events, "2", -75)]


def test_a_controller_s_epoch_is_known_to_others_only_after_its_election() -> None:
    lines = [
        "10 101/controller [QuorumController id=101] Becoming the active controller at epoch 3, next write offset 1.",
        "11 101/controller [QuorumController id=101] Registering a new incarnation of broker 1. Previous incarnation ID was"
        " 6OxTHzQFSiC8vMf5pU_KWw; new incarnation ID is HGQef8yRTTatswyaE-plUw. Generated 0 record(s) to clean up previous incarnations."
        " Broker epoch will become 755.",
        "2 100/controller [QuorumController id=100] Renouncing the leadership due to a metadata log event. We were the leader at epoch 2,"
        " but in the new epoch 3, the leader is 101. Reverting to last stable offset 1188.",
    ]
    (found,) = clocks_of(event_of(line, number) for number, line in enumerate(lines)).skews()
    assert (found.node, found.reference, found.ahead) == ("100", "101", -8 * SECOND)


def test_a_clock_that_was_set_meanwhile_is_not_corrected() -> None:
    bounds = BrokerClockBounds()
    bounds.above(-3 * SECOND, ())
    bounds.below(4 * SECOND, ())
    assert bounds.skew == 0


def test_zones_are_no_clocks() -> None:
    started = event_of("1.000 1/server [KafkaServer id=1] started", 1)
    later = dataclasses.replace(started, at_us=started.order_us + 2 * FAR_US)
    found: dict[str, BrokerClockBounds] = {}
    narrow_bounds(found, "1", later, started, is_above=True)
    assert found == {}
