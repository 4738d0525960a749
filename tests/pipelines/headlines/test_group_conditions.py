"""Headlines about Kafka groups without rebalances: facts and the words for them."""

from __future__ import annotations

import pytest

from models.incidents.headline_facts import (
    ApartFacts,
    DiskFacts,
    EmptinessFacts,
    HeadlineFacts,
    LastDeliveryFacts,
    LoadFacts,
    MoveFacts,
    PauseFacts,
    RefusalFacts,
    RemovalFacts,
    RestorationFacts,
    SharePartitionFacts,
    StaticReturnFacts,
    StaticTakeoverFacts,
    TopologyFacts,
)
from pipelines.headlines.headlines import headline

LAST = "failed on every delivery attempt but the last, after which a record is archived"
RETURNED = "and took their places; no rebalance followed"
TOLD: dict[HeadlineFacts, str] = {
    PauseFacts("1", 12, ("a", "b", "c"), 0.15): (
        "broker 1 most likely stood still, or nothing reached it: "
        "12 members of 3 groups (a, b, c) missed their session timeout within 150 ms"
    ),
    PauseFacts(None, 12, tuple("abcdefg"), 0.15): (
        "a coordinator most likely stood still, or nothing reached it: "
        "12 members of 7 groups (a, b, c, d, e and 2 more) missed their session timeout within 150 ms"
    ),
    MoveFacts("orders", "1", "2", 0.76): (
        "orders: its coordinator moved from broker 1 to broker 2 and was away for 760 ms; no rebalance followed"
    ),
    LoadFacts("1", (21,), 180.0): ("broker 1 took 3 min to load __consumer_offsets-21; no group there could join or commit until then"),
    LoadFacts(None, (2, 21), 180.0): (
        "a broker took up to 3 min to load each of 2 partitions of __consumer_offsets; no group there could join or commit until then"
    ),
    RestorationFacts("orders", 2, 600.0, is_open=True): (
        "orders: 2 threads restored state for at least 10 min after the start, and processed nothing of what they had been assigned"
    ),
    ApartFacts("orders", 1, 600.0): "orders: 1 client found no coordinator for 10 min, and could not join or commit meanwhile",
    ApartFacts("orders", 2, 90.0): "orders: 2 clients found no coordinator for 1 min 30 s, and could not join or commit meanwhile",
    ApartFacts("orders", 1, 90.0, "name not resolved", is_open=True): (
        "orders: 1 client found no coordinator for at least 1 min 30 s, as names of brokers were not resolved (DNS), "
        "and could not join or commit meanwhile"
    ),
    DiskFacts(
        "1", ("/data",)
    ): "the disk of broker 1 was full (/data); its log directory fails, and the broker gives up the replicas there",
    DiskFacts(None, ()): "the disk of a broker was full; its log directory fails, and the broker gives up the replicas there",
    RefusalFacts("orders", "b", "assignor_failed", 3): "orders: the assignor failed in b 3 times, so that no member was assigned anything",
    RefusalFacts("orders", None, "assignor_failed", 1): "orders: the assignor failed, so that no member was assigned anything",
    RefusalFacts("orders", "b", "client_failed", 2): "orders: b stopped on an error of its own 2 times",
    RefusalFacts("orders", "b", "shutdown_requested", 3): ("orders: b had all instances of the application stop, after an error"),
    RefusalFacts("orders", "b", "not_authenticated", 1): "orders: b and the brokers did not accept each other, by TLS or SASL",
    MoveFacts("orders", None, "2", None): "orders: its coordinator moved from another broker to broker 2; no rebalance followed",
    RefusalFacts("orders", "b", "group_full", 3): "orders: b was refused 3 times; the group has as many members as group.max.size allows",
    RefusalFacts("orders", None, "not_authorized", 1): "orders: a consumer that no line names was refused; it may not read as this group",
    RefusalFacts("orders", "b", "inconsistent_protocol", 1): (
        "orders: b was refused; it offers no assignor or protocol type that the other members offer"
    ),
    RefusalFacts("orders", "b", "session_timeout_refused", 1): (
        "orders: b was refused; its session timeout is outside of the broker's bounds"
    ),
    RefusalFacts("orders", "b", "static_member_fenced", 1): "orders: b was refused; another consumer has its group.instance.id",
    EmptinessFacts("orders", 9890.0, "session_timeout", "pay-1", 2, is_inferred=False): (
        "orders: without members for 2 h 44 min, and still so when the logs end, so nobody consumes; "
        "pay-1 missed its session timeout, and 2 other members did so, too"
    ),
    EmptinessFacts("orders", 330.0, "poll_timeout", None, 0, is_inferred=True): (
        "orders: as far as its members' logs show, without members for 5 min 30 s, and still so when the logs end, so nobody consumes"
    ),
    TopologyFacts("app", "internal_topics_missing", "a, b"): "app: nobody gets tasks; internal topics are missing (a, b)",
    TopologyFacts("app", "source_topics_missing", None): "app: nobody gets tasks; source topics are missing (not named)",
    TopologyFacts("app", "partitions_differ", "t"): (
        "app: nobody gets tasks; a topic has another number of partitions than its topology needs (t)"
    ),
    LastDeliveryFacts("share", "t-0", "7", 0): f"share: offset 7 of t-0 {LAST}",
    LastDeliveryFacts("share", "t-0", "7", 2): f"share: offset 7 of t-0 and 2 other records {LAST}",
    SharePartitionFacts("share", "t-0", "not_initialised", 1): "share: nobody gets records of t-0, as its stored state could not be read",
    SharePartitionFacts("share", "t-0", "not_stored", 2): (
        "share: what members acknowledged of t-0 could not be stored, so that records may come again (2 times)"
    ),
    SharePartitionFacts("share", "t-0", "not_released", 1): (
        "share: records of t-0 stayed with a member although its acquisition lock had run out"
    ),
    SharePartitionFacts("share", "topic id A, partition 2", "refused", 1): (
        "share: acknowledgements of records of topic id A, partition 2 were refused, mostly as their acquisition lock had run out"
    ),
    SharePartitionFacts("share", "t-0", "lock_expired", 3): (
        "share: records of t-0 were acknowledged after their acquisition lock had run out, and are delivered again (3 times)"
    ),
    StaticReturnFacts("meters", ("m-0", "m-1", "m-2"), 3): f"meters: static members m-0, m-1, m-2 came back in time {RETURNED}",
    StaticReturnFacts("meters", ("m-0", "m-1", "m-2", "m-3"), 5): (
        f"meters: static members m-0, m-1, m-2 and 1 more came back in time 5 times {RETURNED}"
    ),
    StaticTakeoverFacts("meters", "pay-0", 4): (
        "meters: the place of pay-0 was taken over 4 times, without a rebalance; "
        "its process starts again and again, or two consumers have this group.instance.id"
    ),
    RemovalFacts("g", on_request=False, empty_seconds=None, had_offsets=True): "g was removed; its committed offsets are lost",
    RemovalFacts("g", on_request=False, empty_seconds=30.0, had_offsets=False): (
        "g was removed, 30 s after its last member went; its committed offsets are lost, if it had any"
    ),
    RemovalFacts("g", on_request=True, empty_seconds=273_600.0, had_offsets=True): (
        "g was deleted on request, 3 d 4 h after its last member went; its committed offsets are lost"
    ),
}


@pytest.mark.parametrize(("facts", "text"), TOLD.items(), ids=TOLD.values())
def test_a_condition_is_told(facts: HeadlineFacts, text: str) -> None:
    assert headline(facts) == text
