"""Stops and repeated work, counted from single events: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.events import Event
from models.kafka.verdicts import impact
from models.kafka.verdicts.impact import (
    Impact,
    PartitionPause,
    RebalanceCost,
    RejectedCommit,
    ThreadPause,
    handover_seconds,
    longest_by_giver,
    partition_seconds,
    stopped_if_eager,
)
from tests.models.kafka.reconstruction.lines import client, request

NOW = 10_000_000_000
SECOND = 1_000_000


def feed(*steps: tuple[Event, str | None], skew: int = 0) -> Impact:
    cost = Impact()
    for event, actor in steps:
        cost.feed(event, actor, skew)
    return cost


def gave(at: int, *partitions: str, name: str = "Revoked") -> Event:
    return client(name, NOW + at, partitions=list(partitions))


def took(at: int, *partitions: str) -> Event:
    return client("Assigned", NOW + at, partitions=list(partitions))


def stops(cost: Impact) -> list[tuple[int | None, int, int, str | None]]:
    return [(stop.since - NOW if stop.since is not None else None, stop.until - NOW, stop.count, stop.giver) for stop in cost.stops]


# -- partitions -----------------------------------------------------------------------------------------------------


def test_partitions_stop_until_they_have_a_new_owner() -> None:
    assert stops(feed((gave(0, "t-0", "t-1"), "a"), (took(5, "t-0", "t-1"), "b"))) == [(0, 5, 2, "a")]
    assert stops(feed((gave(0, "t-0", name="Lost"), "a"), (took(5, "t-0"), "b"))) == [(0, 5, 1, "a")]
    assert stops(feed((gave(0, "t-0"), "a"), (took(5, "t-0"), "b"), skew=3)) == [(-3, 2, 1, "a")]
    assert stops(feed((took(0, "t-0"), "a"), (took(5, "t-0"), "b"))) == [(None, 5, 1, "a")]
    assert stops(feed((took(0, "t-0"), "a"), (took(5, "t-0"), "a"))) == []
    assert stops(feed((took(5, "t-0"), "b"))) == []
    assert stops(feed((gave(0, "t-0"), None), (took(5, "t-0"), "b"))) == []
    assert stops(feed((gave(0, "t-0"), "a"), (took(5, "t-0"), "b"), (took(9, "t-0"), "c"))) == [(0, 5, 1, "a"), (None, 9, 1, "b")]


def test_what_another_one_has_is_not_given_up() -> None:
    cost = feed((took(0, "t-0"), "a"), (took(1, "t-0"), "b"), (gave(5, "t-0"), "a"))
    assert cost.refused == [RejectedCommit(NOW + 5, NOW + 1)]
    assert stops(cost) == [(None, 1, 1, "a")]
    assert feed((took(0, "t-0"), "b"), (gave(0, "t-0"), "a")).refused == []
    earliest = feed((took(1, "t-0"), "b"), (took(3, "t-1"), "b"), (gave(5, "t-1", "t-0"), "a"))
    assert earliest.refused == [RejectedCommit(NOW + 5, NOW + 1)]


def test_stops_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impact, "STOPS_HELD_MAX", 2)
    steps: list[tuple[Event, str | None]] = [(took(turn, "t-0"), f"m{turn}") for turn in range(4)]
    cost = feed(*steps[:3])
    assert (len(cost.stops), cost.epoch_cost(NOW, None, is_witnessed=True).member_seconds) == (2, 0.0)
    cost = feed(*steps)
    assert [until for _, until, _, _ in stops(cost)] == [2, 3]
    assert cost.epoch_cost(NOW + 1, None, is_witnessed=True).member_seconds is None
    assert cost.epoch_cost(NOW + 2, None, is_witnessed=True).member_seconds == 0.0
    assert cost.epoch_cost(NOW + 2, None, is_witnessed=False).member_seconds is None


def test_rejections_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(impact, "REFUSED_HELD_MAX", 2)
    failed = [(client("CommitFailed", NOW + turn, error="fenced"), "a") for turn in range(3)]
    assert [rejection.at - NOW for rejection in feed(*failed).refused] == [1, 2]
    assert len(feed(*failed[:2]).refused) == 2


# -- commits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "rejections"),
    [
        ({"error": "ILLEGAL_GENERATION"}, 1),
        ({"error": "the group has already rebalanced"}, 1),
        ({"error": "other"}, 0),
        ({"text": "not aware of this member"}, 1),
        ({}, 0),
    ],
)
def test_a_commit_fails_as_the_group_went_on(values: dict[str, object], rejections: int) -> None:
    cost = feed((client("CommitFailed", NOW, **values), "a"), skew=3)

    assert [rejection.at - NOW for rejection in cost.refused] == [-3] * rejections


@pytest.mark.parametrize(
    ("code", "last", "since", "refused"),
    [
        (0, None, NOW, None),
        (None, None, NOW, None),
        (0, NOW + 3, NOW + 3, None),
        (22, None, None, NOW),
        (25, NOW + 3, None, NOW + 3),
        (82, None, None, NOW),
        (16, None, None, None),
    ],
)
def test_commits_are_accepted_or_refused(code: int | None, last: int | None, since: int | None, refused: int | None) -> None:
    commit = request("OffsetCommit", NOW, error_code=code, last_at_us=last)
    cost = feed((commit, "a"), (client("CommitFailed", NOW + 9, error="fenced"), "a"))

    assert cost.refused[-1] == RejectedCommit(NOW + 9, since)
    assert [rejection.at for rejection in cost.refused[:-1]] == ([refused] if refused else [])
    assert feed((commit, "b"), (client("CommitFailed", NOW + 9, error="fenced"), "a")).refused[-1].since is None


@pytest.mark.parametrize(
    ("began", "until", "seconds"),
    [
        (NOW, None, 5.0),
        (NOW + 5 * SECOND, None, 5.0),
        (NOW + 5 * SECOND + 1, None, None),
        (NOW, NOW + 5 * SECOND, None),
        (NOW, NOW + 5 * SECOND + 1, 5.0),
    ],
)
def test_repeated_work_of_a_rebalance(began: int, until: int | None, seconds: float | None) -> None:
    cost = Impact(refused=[RejectedCommit(NOW + 5 * SECOND, NOW)])

    assert cost.duplicate_seconds(began, until) == seconds
    untold = Impact(refused=[RejectedCommit(NOW + 5 * SECOND, None), RejectedCommit(NOW + 5 * SECOND, NOW + 4 * SECOND)])
    assert untold.duplicate_seconds(NOW + SECOND, None) == 4.0


# -- sums -------------------------------------------------------------------------------------------------------------


def test_sums_over_partitions_and_members() -> None:
    pauses = [
        PartitionPause(NOW, NOW + 2 * SECOND, 3, "a"),
        PartitionPause(NOW, NOW + 5 * SECOND, 1, "a"),
        PartitionPause(NOW, NOW + SECOND, 1, "b"),
        PartitionPause(None, NOW + 7 * SECOND, 1, "c"),
        PartitionPause(NOW, NOW + 7 * SECOND, 1, None),
        PartitionPause(NOW + 9, NOW, 1, None),
    ]

    assert longest_by_giver(pauses) == {"a": 5 * SECOND, "b": SECOND}
    assert handover_seconds(pauses) == 6.0
    assert partition_seconds(pauses[:4], NOW + SECOND) == 6 + 5 + 1 + 6
    assert partition_seconds(pauses[5:], NOW) == 0.0


@pytest.mark.parametrize(("began", "until", "count"), [(NOW + 5, None, 1), (NOW + 6, None, 0), (NOW, NOW + 5, 0), (NOW, NOW + 6, 1)])
def test_stops_within_a_rebalance(began: int, until: int | None, count: int) -> None:
    assert len(Impact(stops=[PartitionPause(NOW, NOW + 5, 1, "a")]).stops_within(began, until)) == count


@pytest.mark.parametrize(
    ("before", "after", "duration", "delay", "expected"),
    [
        (2, 3, 5.0, None, 15.0),
        (3, 2, 5.0, 1.0, 12.0),
        (3, None, 5.0, 6.0, 0.0),
        (None, None, 5.0, None, 0.0),
        (2, 2, None, None, None),
        (None, 1, 5.0, 0.5, 4.5),
    ],
)
def test_all_members_wait_under_an_eager_assignor(
    before: int | None, after: int | None, duration: float | None, delay: float | None, expected: float | None
) -> None:
    assert stopped_if_eager(before, after, duration, delay) == expected


# -- rebalances --------------------------------------------------------------------------------------------------------


def classic(cost: Impact, *actors: str, is_stable: bool = True, assignor: str | None = "range", until: int | None = None) -> RebalanceCost:
    return cost.of_classic(NOW, until, 99.0, actors, is_stable=is_stable, assignor=assignor)


def test_what_a_classic_rebalance_costs() -> None:
    cost = feed((gave(0, "t-0"), "a"), (took(5 * SECOND, "t-0"), "b"), (took(5 * SECOND), "a"))
    assert classic(cost, "a", "b") == RebalanceCost(99.0, 5.0, None)
    assert classic(cost, "a", "b", assignor="cooperative-sticky") == RebalanceCost(5.0, 5.0, None)
    assert classic(cost, "a", "b", is_stable=False) == RebalanceCost(99.0, None, None)
    assert classic(cost, "a", "c") == RebalanceCost(99.0, None, None)
    assert classic(cost) == RebalanceCost(99.0, None, None)
    bare = feed((client("Assigned", NOW), "a"))
    assert classic(bare, "a") == RebalanceCost(99.0, None, None)


def state(at: int, before: str, after: str) -> Event:
    return client("ThreadState", NOW + at * SECOND, from_state=before, to_state=after)


RUNS, REVOKED, ASSIGNED = "RUNNING", "PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED"


@pytest.mark.parametrize(
    ("states", "until", "seconds"),
    [
        ([(1, RUNS, REVOKED), (3, REVOKED, ASSIGNED), (6, ASSIGNED, RUNS)], None, 5.0),
        ([(1, RUNS, ASSIGNED), (6, ASSIGNED, RUNS)], None, 5.0),
        ([(1, RUNS, "PENDING_SHUTDOWN"), (6, "PENDING_SHUTDOWN", RUNS)], None, 0.0),
        ([(1, "CREATED", REVOKED), (6, REVOKED, RUNS)], None, 0.0),
        ([(-3, RUNS, REVOKED), (6, REVOKED, RUNS)], None, 6.0),
        ([(1, RUNS, REVOKED), (6, REVOKED, RUNS)], 4, 3.0),
        ([(1, RUNS, REVOKED), (2, REVOKED, RUNS), (3, RUNS, REVOKED), (6, REVOKED, RUNS)], None, 4.0),
        ([(5, RUNS, REVOKED), (6, REVOKED, RUNS)], 4, 0.0),
        ([(1, RUNS, REVOKED)], None, None),
        ([(1, RUNS, REVOKED)], 4, 3.0),
        ([(5, RUNS, REVOKED)], 4, 0.0),
        ([(-3, RUNS, REVOKED), (-1, REVOKED, RUNS)], None, 0.0),
    ],
)
def test_threads_of_streams_stand_still(states: list[tuple[int, str, str]], until: int | None, seconds: float | None) -> None:
    cost = feed(*((state(*step), "a") for step in states))

    assert classic(cost, "a", until=NOW + until * SECOND if until is not None else None).member_seconds == seconds
    assert classic(cost, "a", "b", until=NOW).member_seconds == 99.0


def test_threads_stand_still_as_long_as_what_they_gave_up() -> None:
    cost = feed(
        (state(1, RUNS, REVOKED), "a"),
        (state(3, REVOKED, RUNS), "a"),
        (gave(0, "t-0"), "a"),
        (took(7 * SECOND, "t-0"), "b"),
        (state(1, RUNS, RUNS), "b"),
    )

    assert classic(cost, "a", "b").member_seconds == 7.0


def test_what_no_later_rebalance_needs_is_forgotten() -> None:
    for before, count in ((NOW + 5, 1), (NOW + 6, 0)):
        cost = Impact([PartitionPause(NOW, NOW + 5, 1, "a")], [RejectedCommit(NOW + 5, None)], pauses=[ThreadPause("a", NOW, NOW + 5)])
        cost.forget(before)
        assert (len(cost.stops), len(cost.refused), len(cost.pauses)) == (count, count, count)
