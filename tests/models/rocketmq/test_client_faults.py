"""Faults that lines of remoting clients and brokers tell of, without any rebalance."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import parsers.catalogue
from models.rocketmq.observations.fault_lines import LIMITS
from models.units import US_PER_SECOND
from tests.models.rocketmq.script import SECOND, START, Logs, two_clients

LAST_OF_NOTHING = 10_000
"""A time after which nothing is still so, in seconds."""


def told(logs: Logs, until: float = LAST_OF_NOTHING) -> list[tuple[str, list[str], float, float | None]]:
    return [
        (
            each.kind,
            each.members,
            ((each.started_at or 0) - START) / SECOND,
            None if each.ended_at is None else (each.ended_at - START) / SECOND,
        )
        for each in logs.history(until).conditions
    ]


def complaints(fault: str, *times: float, who: str = "c1", **fields: object) -> Logs:
    logs = two_clients()
    for at in times:
        logs.say(who, at, "RocketClientTrouble", fault=fault, **fields)
    return logs


OF_CLIENTS = sorted(LIMITS.keys() - {"consumption_disabled", "offset_reset"})


def enough(fault: str) -> list[float]:
    """Times of just as many lines as make a fault, from the hundredth second on."""
    limits = LIMITS[fault]
    span, step = limits.least_us / US_PER_SECOND, limits.apart_us / US_PER_SECOND
    times = [100 + step * number for number in range(max(limits.least_lines, 1))]
    while times[-1] - 100 < span:
        times.append(min(times[-1] + step, 100 + span))
    return times


@pytest.mark.parametrize("fault", OF_CLIENTS)
def test_a_fault_lasts_as_long_as_its_client_complains(fault: str) -> None:
    times = enough(fault)

    assert told(complaints(fault, *times, group="billing")) == [(fault, ["c1"], 100.0, times[-1])]


@pytest.mark.parametrize("fault", [name for name in OF_CLIENTS if LIMITS[name].least_lines > 1])
def test_fewer_or_rarer_lines_are_no_fault(fault: str) -> None:
    times = enough(fault)
    apart = LIMITS[fault].apart_us / US_PER_SECOND

    assert told(complaints(fault, *times[: LIMITS[fault].least_lines - 1], group="billing")) == []
    assert told(complaints(fault, *[100 + (apart + 1) * number for number in range(len(times))], group="billing")) == []


@pytest.mark.parametrize("fault", [name for name in OF_CLIENTS if LIMITS[name].least_us])
def test_a_fault_that_passes_at_once_is_none(fault: str) -> None:
    times = [100 + number / 1000 for number in range(LIMITS[fault].least_lines)]

    assert told(complaints(fault, *times, group="billing")) == []


def test_a_fault_is_open_while_its_next_line_may_still_come() -> None:
    logs = complaints("lock_missing", 100, 120, 140, group="billing")

    assert told(logs, until=180) == [("lock_missing", ["c1"], 100.0, None)]
    assert told(logs, until=190) == [("lock_missing", ["c1"], 100.0, 140.0)]


def test_what_is_over_with_its_line_is_never_open() -> None:
    assert told(complaints("offset_out_of_range", 100, group="billing"), until=101) == [("offset_out_of_range", ["c1"], 100.0, 100.0)]


def test_a_line_without_a_group_is_of_all_consumers_of_its_process() -> None:
    logs = complaints("name_server_unreachable", 100, 130)
    logs.say("c1", 90, "RocketConsumerStarting", group="audit", model="CLUSTERING")

    groups = {each.group for each in logs.history(LAST_OF_NOTHING).conditions}
    assert groups == {"audit", "billing"}


def test_a_line_about_a_topic_is_of_the_consumers_that_read_it() -> None:
    logs = two_clients()
    logs.say("c1", 90, "RocketConsumerStarting", group="audit", model="CLUSTERING")
    for at in (100, 120, 140):
        logs.say("c1", at, "RocketClientTrouble", fault="lock_missing", topic="orders", partition=0, broker="broker-a")

    assert [each.group for each in logs.history(LAST_OF_NOTHING).conditions] == ["billing"]


def test_clients_that_complain_together_have_one_fault() -> None:
    logs = complaints("route_missing", 100, 130, group="billing", topic="more")
    for at in (110, 140):
        logs.say("c2", at, "RocketClientTrouble", fault="route_missing", group="billing", topic="others")

    (found,) = logs.history(LAST_OF_NOTHING).conditions
    assert found.members == ["c1", "c2"]
    assert found.detail.topics == ("more", "others")  # type: ignore[union-attr]
    assert found.detail.line_count == 4  # type: ignore[union-attr]


@pytest.mark.parametrize("topic", ["%RETRY%billing", "TBW102"])
def test_topics_that_need_not_exist_are_not_missed(topic: str) -> None:
    assert told(complaints("route_missing", 100, 130, 160, group="billing", topic=topic)) == []


def test_a_refused_lock_is_a_missing_one() -> None:
    logs = two_clients()
    for at in (100, 120, 140):
        logs.say(
            "c1", at, "RocketQueueLockAsked", group="billing", topic="orders", partition=0, broker="broker-a", outcome="Failed",
            fault="lock_missing",
        )  # fmt: skip

    assert told(logs) == [("lock_missing", ["c1"], 100.0, 140.0)]


def test_a_broker_that_switches_a_group_off_leaves_it_so() -> None:
    logs = two_clients()
    logs.say("broker", 100, "RocketGroupAdministered", group="billing", fault="consumption_disabled")

    assert told(logs) == [("consumption_disabled", [], 100.0, None)]


def test_an_offset_that_was_reset_is_not_out_of_range() -> None:
    logs = complaints("offset_out_of_range", 103, 300, group="billing")
    logs.say("broker", 100, "RocketOffsetReset", group="billing", topic="orders", fault="offset_reset")

    assert told(logs) == [("offset_reset", [], 100.0, 100.0), ("offset_out_of_range", ["c1"], 300.0, 300.0)]


def test_each_fault_of_a_client_is_an_incident_of_its_own() -> None:
    logs = complaints("listener_failed", 12, 13, 14, group="billing")
    logs.say("broker", 100, "RocketOffsetReset", group="billing", topic="orders", fault="offset_reset")

    found = {each.kind: (each.severity, each.rebalance_count) for each in logs.history(LAST_OF_NOTHING).incidents}
    assert found == {"autoscaling": ("info", 2), "listener_failed": ("warning", 0), "offset_reset": ("info", 0)}


def test_a_fault_of_the_group_is_an_incident_only_where_no_rebalance_is_beside_it() -> None:
    logs = two_clients()
    for at in (5, 200):
        for later in (0, 40):
            logs.say("pop", at + later, "RocketPopStalled", why="unacknowledged", group="billing", topic="orders", partition=0)
    history = logs.history(LAST_OF_NOTHING)

    assert [each.kind for each in history.conditions] == ["consumption_stalled", "consumption_stalled"]
    assert [(each.kind, each.severity, each.rebalance_count) for each in history.incidents] == [
        ("autoscaling", "warning", 2),
        ("consumption_stalled", "warning", 0),
    ]


def test_the_catalogue_names_these_faults_and_no_others() -> None:
    folder = Path(parsers.catalogue.__file__).parent
    words = {word for path in folder.rglob("*.yaml") for word in re.findall(r'"fault": "(\w+)"', path.read_text(encoding="utf-8"))}

    assert words == set(LIMITS)
