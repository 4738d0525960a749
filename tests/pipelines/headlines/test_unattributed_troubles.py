"""Notes on troubles of clients without a group."""

from __future__ import annotations

from models.kafka.observations.attribution import CLIENT_TROUBLES, REPORTED_TROUBLES, UnattributedTrouble
from pipelines.headlines.unattributed_troubles import NOTES_MAX, OWN_WORDS, REPORTED_WORDS, trouble_notes


def test_each_trouble_has_words() -> None:
    assert OWN_WORDS.keys() == CLIENT_TROUBLES
    assert REPORTED_WORDS.keys() == REPORTED_TROUBLES


def test_a_note_names_the_client_and_says_how_often() -> None:
    troubles = [
        UnattributedTrouble("app.log", None, "ClientRevoked", 2),
        UnattributedTrouble("app.log", "rdkafka", "ClientPollTimedOut", 1),
        UnattributedTrouble("worker.log", None, "fenced", 3, is_reported=True),
    ]

    assert trouble_notes(troubles) == [
        "app.log: a consumer gave its partitions up 2 times; no line names its group, so that no rebalance is told",
        "app.log: rdkafka exceeded max.poll.interval.ms and left its group; no line names its group, so that no rebalance is told",
        "worker.log: as its program tells, a consumer was fenced by another consumer with its group.instance.id 3 times; "
        "of which group is not said, so that no rebalance is told of it",
    ]


def test_beyond_the_limit_troubles_are_counted() -> None:
    many = [UnattributedTrouble("app.log", f"c-{number:02}", "ClientLost", 1) for number in range(NOTES_MAX + 3)]

    first, *others = trouble_notes(many)
    assert first == "3 more troubles of consumers are of groups that no line names"
    assert len(others) == NOTES_MAX
