"""Members without a log, shown by partitions that nobody else got."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import weights
from models.events import Witness
from models.kafka.hypotheses.ranking import rank
from models.kafka.hypotheses.unlogged_members import gaps_in_assignment
from models.kafka.observations.actions import ActionKind, MemberAction
from tests.models.kafka.hypotheses.contexts import NOW, SECOND, before, by_client, context, started, taking
from tests.models.kafka.reconstruction.lines import line

RANGE = {"assignors": {4: "range"}}


def assigned(who: str, *partitions: str, at: int = -99 * SECOND) -> MemberAction:
    return by_client(ActionKind.ASSIGNED, at, who, partitions=list(partitions))


@pytest.mark.parametrize(
    ("of_a", "of_b", "gap"),
    [
        (("x-0",), ("x-2",), True),
        (("x-1",), (), True),
        (("x-0", "y-1"), ("x-1",), True),
        (("x-0",), ("x-1",), False),
        (("x-1",), ("x-0",), False),
        (("x-0", "y-0"), ("x-1",), False),
        ((), (), False),
        (("x-first",), ("x-0",), False),
        (("x-0",), ("x-9999999999",), False),
    ],
    ids=["between", "first", "of one topic", "none", "in any order", "of none", "nothing", "no number", "beyond numbers"],
)
def test_a_partition_below_the_highest_is_somebodys(of_a: tuple[str, ...], of_b: tuple[str, ...], gap: bool) -> None:
    actions = [assigned("a", *of_a), assigned("b", *of_b)]

    assert taking(gaps_in_assignment, context(*actions, **RANGE)) == (actions if gap else [])  # type: ignore[arg-type]


@pytest.mark.parametrize(("last", "gap"), [({}, False), ({"x": 0}, True)])
def test_who_has_no_partition_at_all_leaves_them_to_others(last: dict[str, int], gap: bool) -> None:
    rebalance = context(assigned("a"), assigned("b"), **RANGE, last_partitions=last)  # type: ignore[arg-type]

    assert bool(taking(gaps_in_assignment, rebalance)) is gap


@pytest.mark.parametrize(("last", "gap"), [({}, False), ({"x": 1}, False), ({"x": 2}, True), ({"y": 2}, False)])
def test_a_partition_that_anybody_had_is_somebodys(last: dict[str, int], gap: bool) -> None:
    actions = [assigned("a", "x-0"), assigned("b", "x-1")]

    assert bool(taking(gaps_in_assignment, context(*actions, **RANGE, last_partitions=last))) is gap  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "gap"),
    [
        ({"assignors": {4: "roundrobin"}}, True),
        ({"assignors": {4: "sticky"}}, True),
        ({"assignors": {4: "cooperative-sticky"}}, False),
        ({"assignors": {4: "own-assignor"}}, False),
        ({"assignors": {5: "range"}}, False),
        (RANGE | {"generation_before": None}, False),
        (RANGE | {"previous_joined_at": None}, False),
        (RANGE | {"first": ("a", "b", "c")}, False),
        (RANGE | {"first": ()}, False),
    ],
)
def test_it_is_certain_only_where_the_assignor_gives_out_all_and_each_member_tells(values: dict[str, object], gap: bool) -> None:
    assert bool(taking(gaps_in_assignment, context(assigned("a", "x-0"), assigned("b", "x-2"), **values))) is gap  # type: ignore[arg-type]


def given_up(who: str, *partitions: str, at: int = 2) -> MemberAction:
    return by_client(ActionKind.REVOKE, at, who, partitions=list(partitions))


HEARD = by_client(ActionKind.REBALANCE_NOTICED, 1, "b")


@pytest.mark.parametrize(
    ("actions", "values", "gap"),
    [
        ([HEARD, given_up("b", "x-2")], {}, True),
        ([given_up("b", "x-2")], {}, False),
        ([HEARD, given_up("b", "x-1")], {}, False),
        ([HEARD, given_up("b")], {}, True),
        ([given_up("a")], {}, True),
        ([HEARD, given_up("a", "x-0")], {}, False),
        ([HEARD, given_up("b", "x-2", at=0)], {}, False),
        ([HEARD, by_client(ActionKind.REJOIN, 2, "b"), given_up("b", "x-2", at=3)], {}, False),
        ([HEARD, given_up("b", "x-2")], {"assignors": {4: "cooperative-sticky"}}, False),
    ],
    ids=[
        "all",
        "unasked",
        "another",
        "nothing",
        "nothing as it first joins",
        "who did not hear",
        "before",
        "behind its request",
        "told otherwise",
    ],
)
def test_who_gives_up_all_as_it_hears_of_a_rebalance_has_an_eager_assignor(
    actions: list[MemberAction], values: dict[str, object], gap: bool
) -> None:
    rebalance = context(assigned("a", "x-0"), assigned("b", "x-2"), *actions, **values)  # type: ignore[arg-type]

    assert bool(taking(gaps_in_assignment, rebalance)) is gap


@pytest.mark.parametrize(("at", "gap"), [(-100 * SECOND, False), (1 - 100 * SECOND, True), (0, True), (1, False)])
def test_assignments_of_the_generation_count(at: int, gap: bool) -> None:
    assert bool(taking(gaps_in_assignment, context(assigned("a", "x-0"), assigned("b", "x-2", at=at), **RANGE))) is gap  # type: ignore[arg-type]


def test_an_assignment_without_partitions_in_its_line_tells_nothing() -> None:
    silent = by_client(ActionKind.ASSIGNED, -99 * SECOND, "b")

    assert taking(gaps_in_assignment, context(assigned("a", "x-1"), silent, **RANGE)) == []  # type: ignore[arg-type]


CLOSED = by_client(ActionKind.LEAVE, why="the consumer is being closed")


@pytest.mark.parametrize(
    ("others", "joined_at", "is_sure"),
    [
        (("a", "b"), -SECOND, False),
        (("a", "b"), -9 * SECOND, True),
        (("a",), -SECOND, True),
    ],
    ids=["soon", "after a heartbeat", "nobody else"],
)
def test_one_without_a_log_that_was_there_before_may_come_as_the_last_member_goes(
    others: tuple[str, ...], joined_at: int, is_sure: bool
) -> None:
    known = {"clients": {"a"}, "tell_joins": {"a"}, "generations": {3: dict.fromkeys(others, "M"), 4: {"a": "A"}}}
    window = {"witness": Witness.CLIENT, "started": replace(started(), witness=Witness.CLIENT), "outcome": "empty", "joined": None}
    counts = {"members_before": 1, "members_after": 0}
    previous = before(joined_at, joined=line("GenerationStarted", NOW + joined_at, node="1", generation=4), ended_at=NOW + joined_at)
    group = context(CLOSED, previous=previous, previous_joined_at=NOW + joined_at, **known, **window, **counts)

    assert (rank(group).hypotheses[0].probability > weights.SEEN_FIRST.value) is is_sure
