"""Words for troubles of clients without a group."""

from __future__ import annotations

from models.incidents.fault_facts import UnattributedTrouble
from models.kafka.observations.unattributed_troubles import CLIENT_TROUBLES, REPORTED_TROUBLES
from pipelines.headlines.unattributed_troubles import NOTES_MAX, OWN_WORDS, REPORTED_WORDS, trouble_notes

UNNAMED = "no line names its group, so that no rebalance is told"

TOLD = {
    UnattributedTrouble("rdkafka", "ClientPollTimedOut", 1): f"rdkafka exceeded max.poll.interval.ms and left its group; {UNNAMED}",
    UnattributedTrouble("rdkafka", "ClientLost", 3, log_count=2): f"rdkafka lost its partitions 3 times (2 logs); {UNNAMED}",
    UnattributedTrouble(None, "no_broker", 1, is_reported=True): f"as its program tells, a client reached no broker; {UNNAMED}",
    UnattributedTrouble(None, "fenced", 3, is_reported=True): (
        f"as its program tells, a consumer was fenced by another consumer with its group.instance.id 3 times; {UNNAMED}"
    ),
}


def test_each_trouble_has_words() -> None:
    assert OWN_WORDS.keys() == CLIENT_TROUBLES
    assert REPORTED_WORDS.keys() == REPORTED_TROUBLES


def test_a_note_names_the_log() -> None:
    assert trouble_notes([("app.log", UnattributedTrouble(None, "ClientRevoked", 2))]) == [
        f"app.log: a consumer gave its partitions up 2 times; {UNNAMED}"
    ]


def test_beyond_the_limit_troubles_are_counted() -> None:
    many = [("app.log", UnattributedTrouble(f"c-{number:02}", "ClientRevoked", 1)) for number in range(NOTES_MAX + 3)]

    first, *others = trouble_notes(many)
    assert first == "3 more troubles of consumers are of groups that no line names"
    assert len(others) == NOTES_MAX
