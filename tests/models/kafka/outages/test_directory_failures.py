"""What is held of failed log directories is bounded, whatever a broker's log says."""

from __future__ import annotations

from models.events import Event, LogPosition, Witness
from models.kafka.partitions.brokers import DIRECTORIES_MAX, SAME_DEPARTURE_US, Brokers


def failed(number: int) -> Event:
    """A line about another directory, long after the one before."""
    place = LogPosition("server.log", number + 1, number)
    at = number * (SAME_DEPARTURE_US + 1)
    return Event("LogDirFailed", at, at, place, Witness.BROKER, node="2", fields={"folder": f"/data/{number}"})


def test_failures_without_a_start_between_them_are_told_as_one_beyond_a_number() -> None:
    brokers = Brokers()
    for number in range(10 * DIRECTORIES_MAX):
        brokers.directory_failed("2", failed(number))
    held = list(brokers.all_dir_failures())

    assert len(held) == DIRECTORIES_MAX
    assert max(len(each.folders) for each in held) <= DIRECTORIES_MAX
    assert all(each.ended_at is None for each in held)


def test_a_start_ends_them_and_the_next_failure_is_another() -> None:
    brokers = Brokers()
    brokers.directory_failed("2", failed(0))
    assert brokers.directories_tried_again("2", 5)
    assert not brokers.directories_tried_again("2", 6)
    brokers.directory_failed("2", failed(0))

    assert [each.ended_at for each in brokers.all_dir_failures()] == [5, None]
