"""Seconds of waiting, each booked once among those that were waited for."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.downtime import Wait, Waits, shared_out, waited_seconds, waiting_parts
from models.units import US_PER_SECOND

S = US_PER_SECOND


@dataclass(frozen=True)
class Item:
    """A rebalance that lasted from one second to another."""

    start: int
    end: int
    blockers: str
    protocol: str = "classic"
    outcome: str = "stable"
    join: float | None = None
    cluster: str = "c"
    group: str = "orders"
    reconcile_seconds: float | None = None
    at_least_seconds: float | None = None

    @property
    def started_at(self) -> int:
        return self.start * S

    @property
    def joined_at(self) -> int:
        return self.end * S

    @property
    def join_seconds(self) -> float | None:
        return self.join if self.join is not None else float(self.end - self.start)

    @property
    def duration_seconds(self) -> float:
        return float(self.end - self.start)


SHARES = [
    ([(0, 10, "a")], {"a": 10}),
    ([(0, 10, "ab")], {"a": 5, "b": 5}),
    ([(0, 10, "a"), (4, 10, "a")], {"a": 10}),
    ([(0, 10, "a"), (4, 14, "b")], {"a": 7, "b": 7}),
    ([(0, 10, "a"), (10, 12, "a")], {"a": 12}),
    ([(0, 10, "ab"), (0, 10, "a")], {"a": 20 / 3, "b": 10 / 3}),
]


def booked(items: list[Item]) -> dict[str, float]:
    waits: Waits[str] = Waits()
    for item in items:
        waits.add(item, str)
    return {name: seconds for name, seconds in waits.seconds().items() if seconds}


@pytest.mark.parametrize(("spans", "seconds"), SHARES)
def test_each_second_is_booked_once(spans: list[tuple[int, int, str]], seconds: dict[str, float]) -> None:
    assert booked([Item(*span, protocol="consumer") for span in spans]) == pytest.approx(seconds)


def test_classic_rebalances_are_summed_up_without_being_kept() -> None:
    waits: Waits[str] = Waits()
    for span in ((0, 10, "ab"), (10, 14, "b")):
        waits.add(Item(*span), str)
    assert not waits.kept
    assert waits.seconds() == pytest.approx({"a": 5, "b": 9})


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_whoever_was_waited_for_no_time_at_all_has_no_seconds(protocol: str) -> None:
    waits: Waits[str] = Waits()
    for span in ((4, 4, "a"), (4, 4, "bc")):
        waits.add(Item(*span, protocol=protocol), str)
    assert waits.seconds() == {"a": 0.0, "b": 0.0, "c": 0.0}


def test_groups_that_wait_at_the_same_time_wait_apart() -> None:
    items = [Item(0, 10, "a", "consumer"), Item(0, 10, "b", "consumer", group="payments")]
    assert booked(items) == pytest.approx({"a": 10, "b": 10})


PARTS = [("ab", {"a": 0.5, "b": 0.5}), ("aab", {"a": 2 / 3, "b": 1 / 3}), ("", {})]


@pytest.mark.parametrize(("people", "expected"), PARTS)
def test_all_that_may_have_been_waited_for_have_equal_parts(people: str, expected: dict[str, float]) -> None:
    assert waiting_parts(people, str) == pytest.approx(expected)


WAITED = [
    (Item(0, 10, ""), 0.0),
    (Item(0, 10, "a", join=8.0), 8.0),
    (Item(0, 10, "a", join=8.0, outcome="superseded"), 10.0),
    (Item(0, 10, "a", join=8.0, outcome="open"), 10.0),
    (Item(0, 10, "a", join=8.0, reconcile_seconds=3.0), 3.0),
]


@pytest.mark.parametrize(("item", "seconds"), WAITED)
def test_the_wait_is_the_join_phase_or_all_of_it_where_the_leader_is_awaited(item: Item, seconds: float) -> None:
    assert waited_seconds(item) == seconds


SPANS = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.sets(st.sampled_from("abc"), min_size=1)), max_size=8)


@given(SPANS)
def test_all_shares_add_up_to_the_time_that_was_waited(spans: list[tuple[int, int, set[str]]]) -> None:
    waits = [Wait(min(a, b), max(a, b), waiting_parts(sorted(names), str)) for a, b, names in spans]
    instants = {at for wait in waits for at in range(wait.begin, wait.end)}
    assert sum(shared_out(waits).values()) == pytest.approx(len(instants))
