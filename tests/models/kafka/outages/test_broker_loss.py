"""What would be without a leader if a broker stopped, and where it could go."""

from __future__ import annotations

import pytest

from models.kafka.outages.broker_loss import ClusterLayout, Placement, broker_rows, exposed_by, layouts_of, placement_rows, reassignment

RUNNING = ("1", "2", "3", "10")


def layout(*placements: Placement, running: tuple[str, ...] = RUNNING, gone: tuple[str, ...] = ()) -> ClusterLayout:
    return ClusterLayout("test", list(placements), running, gone)


def placed(topic: str, replicas: str, isr: str | None, leader: str | None) -> Placement:
    return Placement(topic, 0, tuple(replicas.split(",")), None if isr is None else tuple(isr.split(",")), leader, is_sure=True)


@pytest.mark.parametrize(
    ("placement", "why"),
    [
        (placed("lone", "2", "2", "2"), "single_replica"),
        (placed("lone elsewhere", "3", "3", "3"), None),
        (placed("last in sync", "1,2", "2", "2"), "last_in_sync"),
        (placed("last in sync, led by another so far", "1,2", "2", "1"), "last_in_sync"),
        (placed("others in sync", "1,2,3", "2,3", "2"), None),
        (placed("follower out of sync", "1,2,3", "1", "1"), None),
        (placed("nobody said who is in sync", "1,2,3", None, "2"), None),
        (placed("nobody said who is in sync of one", "2", None, None), "single_replica"),
        (placed("has no leader anyway", "2", "2", "-1"), None),
    ],
    ids=lambda value: value.topic if isinstance(value, Placement) else None,
)
def test_who_is_exposed(placement: Placement, why: str | None) -> None:
    assert [each.why for each in exposed_by(layout(placement), "2")] == ([why] if why else [])


def test_in_sync_replicas_that_are_gone_are_no_help() -> None:
    found = exposed_by(layout(placed("pair", "2,3", "2,3", "2"), running=("1", "2"), gone=("3",)), "2")
    assert [(each.why, each.target) for each in found] == [("last_in_sync", ("1",))]


def test_partitions_move_to_brokers_that_hold_least_and_keep_the_replicas_that_stay() -> None:
    found = exposed_by(
        layout(
            placed("a", "2", "2", "2"),
            placed("b", "2", "2", "2"),
            placed("c", "2", "2", "2"),
            placed("d", "3,2", "2", "2"),
            placed("e", "1,3", "1,3", "1"),
        ),
        "2",
    )
    assert [each.target for each in found] == [("10",), ("1",), ("10",), ("3", "1")]


def test_the_reassignment_is_what_the_tool_reads() -> None:
    found = exposed_by(layout(placed("a", "2", "2", "2")), "2")
    assert reassignment(found) == {
        "version": 1,
        "partitions": [{"topic": "a", "partition": 0, "replicas": [1], "log_dirs": ["any"]}],
    }


def test_without_another_broker_there_is_nowhere_to_go() -> None:
    found = exposed_by(layout(placed("a", "2", "2", "2"), running=("2",)), "2")
    assert [each.target for each in found] == [()]
    assert reassignment(found)["partitions"] == []


def test_layouts_come_back_from_their_rows() -> None:
    before = layout(placed("a", "2,3", "2", "2"), placed("b", "1", None, None), running=("1", "2"), gone=("3",))
    assert layouts_of(placement_rows(before), broker_rows(before)) == [before]
