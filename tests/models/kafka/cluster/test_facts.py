"""Which facts of a cluster a state of a group's replay rests on: those of its time, and settings."""

from __future__ import annotations

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.cluster.fact_fingerprints import fingerprint_facts
from models.kafka.cluster.fact_rows import fact_rows
from models.kafka.cluster.facts import ClusterFacts, learn
from parsers.catalogue.catalogue import catalogue
from tests.models.kafka.groups.script import events_of, replay

US = 1_000_000
UNTIL = 100 * US


def event(name: str, at: int, **values: object) -> Event:
    common = {key: values.pop(key) for key in ("node", "topic", "partition") if key in values}
    return Event(name, at * US, at * US, LogPosition("server.log", at, at), Witness.BROKER, fields=values, **common)  # type: ignore[arg-type]


def known(*events: Event, **events_without_group: list[Event]) -> str:
    facts = learn([event("BrokerStarting", 10, node="1"), event("PartitionLoaded", 11, node="1", partition=3), *events], "c")
    facts.attributed_events = events_without_group
    return fingerprint_facts(facts).until(UNTIL)


KINDS = {
    "starts": lambda at: event("BrokerStarting", at, node="2"),
    "loads": lambda at: event("PartitionLoaded", at, node="2", partition=3),
    "topics": lambda at: event("PartitionsAdded", at, topic="orders"),
    "departures": lambda at: event("BrokerFenced", at, broker="2"),
    "deletions": lambda at: event("GroupsDeleted", at, groups=["g"]),
    "leaders": lambda at: event("LeaderReplaced", at, partition=3),
    "kept": lambda at: event("StaticMemberKept", at, partition=3),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_happened_before_counts_and_what_happened_later_does_not(kind: str) -> None:
    assert known(KINDS[kind](101)) == known()
    assert known(KINDS[kind](100)) != known()


def test_lines_that_were_brought_to_a_group_count_by_their_time() -> None:
    assert known(g=[event("ClientJoining", 101)]) == known(h=[]) == known()
    assert known(g=[event("ClientJoining", 100)]) != known()


@pytest.mark.parametrize("setting", [{"initial_rebalance_delay_ms": 0}, {"offsets_retention_minutes": 60}, {"offsets_partitions": 9}])
def test_settings_count_whenever_they_were_told_and_the_end_of_the_logs_does_not(setting: dict[str, int]) -> None:
    assert known(event("BrokerConfigured", 500, node="1", **setting)) != known()
    facts = ClusterFacts("c", logs_end=1)
    assert fingerprint_facts(facts) == fingerprint_facts(ClusterFacts("c", logs_end=2))


def test_one_look_at_the_facts_tells_of_each_time() -> None:
    events = [
        event(name, at, node="1", topic="orders", partition=at) for at in (10, 20, 20, 30) for name in ("TopicCreated", "KafkaVersion")
    ]
    whole = fingerprint_facts(learn(events, "c"))
    for until in (5, 10, 15, 20, 25, 30, 35):
        part = learn([each for each in events if each.order_us <= until * US], "c")
        assert whole.until(until * US) == fingerprint_facts(part).until(until * US) == fingerprint_facts(part).fingerprints[-1]
    assert len(set(whole.fingerprints)) == 5


def line(message: str, second: int) -> Event:
    found = catalogue().match("org.apache.kafka.coordinator.group.GroupConfig", message)
    assert found is not None
    assert found.event == "GroupSettingCapped"
    at = second * US
    return Event(found.event, at, at, LogPosition("server.log", second, second), Witness.COORDINATOR, fields=found.fields, **found.columns)


BELOW = (
    "The group config '{}' for group 'orders' has value {} which is below the broker's allowed minimum {}."
    " The effective value will be capped to {}."
)
EXCEEDS = (
    "The group config '{}' for group 'orders' has value {} which exceeds the broker's allowed maximum {}."
    " The effective value will be capped to {}."
)


@pytest.mark.parametrize(
    ("lines", "in_force"),
    [
        ([(1, BELOW.format("consumer.session.timeout.ms", 1000, 45000, 45000))], 45_000),
        ([(1, EXCEEDS.format("share.session.timeout.ms", 90000, 60000, 60000))], 60_000),
        ([(1, EXCEEDS.format("consumer.heartbeat.interval.ms", 90000, 15000, 15000))], None),
        (
            [
                (2, EXCEEDS.format("consumer.session.timeout.ms", 90000, 60000, 60000)),
                (1, BELOW.format("consumer.session.timeout.ms", 1000, 45000, 45000)),
            ],
            60_000,
        ),
        ([], None),
    ],
)
def test_a_capped_session_timeout_is_in_force(lines: list[tuple[int, str]], in_force: int | None) -> None:
    facts = learn([line(message, second) for second, message in lines], "c")
    assert facts.session_ms_of("orders") == in_force
    assert facts.session_ms_of("payments") is None
    assert (fingerprint_facts(facts) != fingerprint_facts(ClusterFacts("c"))) is bool(lines)
    told = [(row.kind, row.subject) for row in fact_rows(facts)]
    assert told == [("timeout", "orders")] * len(facts.capped)


OF_PROTOCOLS = "0.5 BrokerConfigured node=1 consumer_session_timeout_ms=20000 share_session_timeout_ms=30000"
JOINED = """
1.0 {joined} member_id=a#1 client_id=a group_type={protocol}
1.0 GroupEpochBumped generation=1 group_type={protocol}
"""


@pytest.mark.parametrize(("protocol", "session_ms"), [("consumer", 20_000), ("share", 30_000), ("streams", None)])
def test_brokers_set_the_session_timeouts_of_the_newer_protocols(protocol: str, session_ms: int | None) -> None:
    story = OF_PROTOCOLS + JOINED.format(joined="ModernMemberJoined", protocol=protocol)
    (member,) = replay(events_of(story.splitlines())).member_sessions
    assert member.session_timeout_ms == session_ms
