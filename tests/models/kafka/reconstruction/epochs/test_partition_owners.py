"""Owners of partitions equal those that are found by looking at all partitions each time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kafka.reconstruction.epochs import partition_owners
from models.kafka.reconstruction.epochs.partition_owners import PartitionOwners

MEMBERS = st.sampled_from(["a", "b", "c"])
PARTITIONS = st.lists(st.builds("{}-{}".format, st.sampled_from(["orders", "bills", "x-y"]), st.integers(0, 4)), max_size=6, unique=True)
STEPS = st.one_of(
    st.tuples(st.just("take"), MEMBERS, PARTITIONS),
    st.tuples(st.just("give"), MEMBERS, PARTITIONS),
    st.tuples(st.just("leave"), MEMBERS, st.just([])),
    st.tuples(st.just("rename"), MEMBERS, st.just([])),
)


@given(st.lists(STEPS, max_size=30))
def test_owners_are_those_of_a_search_over_all_partitions(steps: list[tuple[str, str, list[str]]]) -> None:
    owners, expected, last = PartitionOwners(), dict[str, str](), dict[str, int]()

    for step, member, partitions in steps:
        if step == "take":
            owners.take(member, partitions)
            expected.update(dict.fromkeys(partitions, member))
            for topic in {each.rpartition("-")[0] for each in partitions}:
                last = _last_of(topic, partitions, expected, last)
        elif step == "give":
            owners.give(partitions)
            expected = {each: owner for each, owner in expected.items() if each not in partitions}
        elif step == "leave":
            owners.leave(member)
            expected = {each: owner for each, owner in expected.items() if owner != member}
        else:
            owners.rename(member, f"{member} of before")
            expected = {each: f"{member} of before" if owner == member else owner for each, owner in expected.items()}

        assert owners.owners == expected
        assert {owner: set(those) for owner, those in owners.partitions.items()} == _by_owner(expected)
        assert owners.last == last


def _last_of(topic: str, taken: list[str], owners: dict[str, str], last: dict[str, int]) -> dict[str, int]:
    """What is known of a topic's size after partitions were taken."""
    numbers = {int(each.rpartition("-")[2]) for each in owners if each.rpartition("-")[0] == topic}
    highest = max(int(each.rpartition("-")[2]) for each in taken if each.rpartition("-")[0] == topic)
    if highest <= last.get(topic, -1):
        return last
    others = {name: number for name, number in last.items() if name != topic}
    return {**others, topic: max(numbers)} if len(numbers) == max(numbers) + 1 else others


def _by_owner(owners: dict[str, str]) -> dict[str, set[str]]:
    return {owner: {each for each, other in owners.items() if other == owner} for owner in owners.values()}


def test_the_oldest_partitions_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_owners, "PARTITIONS_MAX", 3)
    owners = PartitionOwners()

    owners.take("a", ["orders-0", "orders-1"])
    owners.take("b", ["orders-2", "orders-3"])

    assert owners.owners == {"orders-1": "a", "orders-2": "b", "orders-3": "b"}
    assert owners.partitions == {"a": {"orders-1": None}, "b": {"orders-2": None, "orders-3": None}}


def test_a_partition_is_new_behind_all_that_a_topic_had() -> None:
    owners = PartitionOwners()
    owners.take("a", ["orders-0", "orders-1", "bills-1"])

    assert owners.is_new("orders-2")
    assert not owners.is_new("orders-1")
    assert not owners.is_new("bills-2"), "bills-0 may belong to others, and so may those behind bills-1"


def test_a_number_has_as_many_digits_as_an_int32() -> None:
    owners = PartitionOwners()
    owners.take("a", ["orders-0", "bills-0"])

    assert owners.is_new("orders-" + "9" * partition_owners.DIGITS_MAX)
    assert not owners.is_new("bills-" + "9" * (partition_owners.DIGITS_MAX + 1))
    assert not owners.is_new("bills-x")
