"""Outages as incidents, the groups that they stop, and rebalances that point to them."""

from __future__ import annotations

import dataclasses
import itertools

import pytest

from models.events import Event, LogPosition, Witness
from models.incidents.episodes import EPISODE_GAP_SECONDS
from models.incidents.headline_facts import AbsenceFacts, LossConsequences, OutageFacts
from models.kafka.cluster.facts import learn
from models.kafka.outages.affected_groups import Readers
from models.kafka.outages.outage_incidents import departures_of, harmless, losses_of, outage_incidents, point_to_outages, takeover_incidents
from models.kafka.partitions.brokers import Brokers
from models.rows import BrokerOutage, Conformance, CoordinatorMove, LeaderMove, PartitionOutage, Rebalance

SECOND = 1_000_000


def outage(topic: str, begin: float, end: float | None, *, at_risk: bool = False, lost: str = "2") -> PartitionOutage:
    return PartitionOutage(
        "c", "kafka", f"{topic}-{begin}", topic, 0, round(begin * SECOND), None if end is None else round(end * SECOND), "isr_lost",
        "open" if end is None else "replica_returned", [lost], [lost], [lost], 0, lost, None if end is None else lost,
        at_risk if end is not None else None, [f"reader of {topic}"], None, [],
    )  # fmt: skip


def rebalance(started: float, cause: str, root_cause: str | None) -> Rebalance:
    return Rebalance(
        "c", "kafka", "r", "g", None, "classic", None, None, 1, 2, round(started * SECOND), None, None, None, None, None, None, None, None,
        "stable", cause, root_cause, 1.0, {}, None, [], [], None, None, None, None, None, Conformance(), None, None, [], None,
    )  # fmt: skip


def test_outages_that_follow_each_other_are_one_incident() -> None:
    found = outage_incidents([outage("b", 40, 60), outage("a", 10, 50), outage("late", 1000, 1010, lost="3")], EPISODE_GAP_SECONDS)
    assert [(each.severity, each.groups, each.started_at, each.ended_at, each.stopped_seconds) for each in found] == [
        ("critical", ["reader of a", "reader of b"], 10 * SECOND, 60 * SECOND, 50.0),
        ("critical", ["reader of late"], 1000 * SECOND, 1010 * SECOND, 10.0),
    ]
    assert found[0].headline == OutageFacts(("2",), (), frozenset({("a", 0), ("b", 0)}), 40.0, 0, 0)
    assert found[0].outage_ids == ["a-10", "b-40"]


def test_a_failed_directory_is_no_broker_that_went() -> None:
    failed = dataclasses.replace(outage("a", 10, 50), cause="log_dir_failed", lost_brokers=[], leader_before="2")
    (found,) = outage_incidents([failed], EPISODE_GAP_SECONDS)
    assert found.headline == OutageFacts((), ("2",), frozenset({("a", 0)}), 40.0, 0, 0)
    (found,) = outage_incidents([failed, outage("b", 40, 60, lost="3")], EPISODE_GAP_SECONDS)
    assert found.headline == OutageFacts(("3",), ("2",), frozenset({("a", 0), ("b", 0)}), 40.0, 0, 0)


def test_an_open_outage_holds_all_that_follows() -> None:
    (found,) = outage_incidents([outage("a", 10, None), outage("b", 5000, 5001)], EPISODE_GAP_SECONDS)
    assert (found.ended_at, found.severity) == (None, "critical")
    assert found.headline.longest_seconds is None


def test_a_takeover_is_no_alarm() -> None:
    (found,) = outage_incidents([outage("a", 10, 10.3)], EPISODE_GAP_SECONDS)
    assert found.severity == "warning"
    (found,) = outage_incidents([outage("a", 10, 10.3, at_risk=True)], EPISODE_GAP_SECONDS)
    assert found.severity == "critical"


def away(node: str, down: float, up: float | None, how: str = "killed") -> BrokerOutage:
    return BrokerOutage("c", "kafka", f"{node}-{down}", node, round(down * SECOND), None if up is None else round(up * SECOND), how, [])


def moved(node: str, at: float, partition: int = 0) -> LeaderMove:
    return LeaderMove("c", "kafka", f"m{partition}", "orders", partition, node, "1", round(at * SECOND), 3, None, None, [])


@pytest.mark.parametrize(
    ("absences", "told"),
    [
        (
            [away("2", 10, 30)],
            [("warning", 30, AbsenceFacts(("2",), ("2",), "killed", 20.0, 2))],
        ),
        (
            [away("2", 10, 30, "controlled"), away("3", 40, 55, "controlled")],
            [("info", 55, AbsenceFacts(("2", "3"), ("2", "3"), "controlled", 20.0, 2))],
        ),
        (
            [away("2", 10, 30, "controlled"), away("3", 40, None)],
            [("warning", None, AbsenceFacts(("2", "3"), ("2",), None, 20.0, 2))],
        ),
        (
            [away("2", 10, 30), away("2", 5000, 5001, "session_expired")],
            [
                ("warning", 30, AbsenceFacts(("2",), ("2",), "killed", 20.0, 2)),
                ("warning", 5001, AbsenceFacts(("2",), ("2",), "session_expired", 1.0, 0)),
            ],
        ),
        (
            [away("5", 6000, None, "fenced"), away("6", 6001, None, "fenced")],
            [("warning", None, AbsenceFacts(("5", "6"), (), "fenced", None, 0))],
        ),
        (
            [away("5", 6000, 6010, "fenced"), away("5", 6020, None, "fenced"), away("6", 6001, 6006, "fenced")],
            [("warning", None, AbsenceFacts(("5", "6"), ("6",), "fenced", 5.0, 0))],
        ),
        ([away("7", 300, 400)], []),  # the outage at 301 tells of it
    ],
)
def test_brokers_that_go_without_an_outage_are_told_too(
    absences: list[BrokerOutage], told: list[tuple[str, float | None, AbsenceFacts]]
) -> None:
    moves = [moved("2", 11), moved("2", 9.5, 1), moved("9", 11, 2)]
    found = takeover_incidents(harmless(absences, [outage("a", 301, 302, lost="7")]), moves, EPISODE_GAP_SECONDS)
    assert [(each.severity, each.ended_at and each.ended_at / SECOND, each.headline) for each in found] == told
    assert all(each.kind == "broker_outage" and each.outage_ids for each in found)


def test_groups_that_read_a_topic_and_groups_whose_coordinator_it_is() -> None:
    readers = Readers()
    readers.note("billing", {"topics": ["orders"]}, 1)
    readers.note("search", {"partitions": ["orders-3", "my-topic-0"]}, 1)
    readers.note("odd", {"topics": "not a list", "partitions": [3, "no number-x"]}, 1)
    readers.note_home("billing", 7, 1)
    assert readers.blocked_groups("orders", 0) == ["billing", "search"]
    assert readers.blocked_groups("my-topic", 5) == ["search"]
    assert readers.blocked_groups("__consumer_offsets", 7) == ["billing"]
    assert readers.blocked_groups("__consumer_offsets", 8) == readers.blocked_groups("unread", 0) == []


@pytest.mark.parametrize("times", list(itertools.permutations((20, 10, 30))))
def test_a_group_reads_a_topic_from_the_first_line_on_that_says_so_in_whatever_order_lines_come(times: tuple[int, ...]) -> None:
    readers = Readers()
    for at in times:
        readers.note("billing", {"topics": ["orders"], "partitions": ["orders-0", "orders-1"]}, at)
        readers.note_home("billing", 7, at)
    readers.note("search", {"topics": ["orders"]}, 20)
    assert readers.by_topic == {"orders": {"billing": 10, "search": 20}}
    assert readers.by_offsets_partition == {7: {"billing": 10}}
    assert [readers.blocked_groups("orders", 0, until) for until in (9, 10, 19, 20, None)] == [
        [], ["billing"], ["billing"], ["billing", "search"], ["billing", "search"]
    ]  # fmt: skip
    assert [readers.blocked_groups("__consumer_offsets", 7, until) for until in (9, 10)] == [[], ["billing"]]


def departure(at: float) -> Event:
    micros = round(at * SECOND)
    place = LogPosition("controller.log", 1, 0)
    return Event(
        "BrokersFailed", micros, micros, place, Witness.CONTROLLER, text="Broker failure callback for 2", fields={"brokers": ["2"]}
    )


def test_rebalances_after_a_lost_coordinator_name_the_loss() -> None:
    departures = learn([departure(100)]).departures
    moved, expired, other, before = (
        rebalance(101, "coordinator_failover", "coordinator_failover"),
        rebalance(130, "session_timeout", "coordinator_failover"),
        rebalance(102, "member_join", None),
        rebalance(99, "coordinator_failover", "coordinator_failover"),
    )
    untouched = dataclasses.asdict(other)
    point_to_outages([moved, expired, other, before], departures)
    assert (moved.root_cause, expired.root_cause, before.root_cause) == ("broker_outage", "coordinator_failover", "coordinator_failover")
    assert [each.text for each in (*moved.evidence, *expired.evidence)] == ["Broker failure callback for 2"] * 2
    assert before.evidence == []
    assert dataclasses.asdict(other) == untouched


def brokers_that_went(*departures: tuple[str, float]) -> Brokers:
    brokers = Brokers()
    for node, at in departures:
        brokers.note_departure(node, round(at * SECOND), departure(at))
    return brokers


def offsets_move(partition: int, at: float, from_node: str) -> LeaderMove:
    return LeaderMove(
        "c", "kafka", f"{partition}-{at}", "__consumer_offsets", partition, from_node, "3", round(at * SECOND), 1, None, True, []
    )


def test_an_outage_names_groups_that_lost_their_coordinator_and_the_rebalances_that_followed() -> None:
    readers = Readers()
    for group, partition in (("moved", 7), ("moved too", 7), ("stayed", 8)):
        readers.note_home(group, partition, 1)
    followed = rebalance(104, "coordinator_failover", "broker_outage")
    followed.group, followed.rebalance_id = "moved", "behind it"
    unrelated = rebalance(105, "session_timeout", "coordinator_failover")
    unrelated.group, unrelated.rebalance_id = "stayed", "another coordinator"
    late = rebalance(900, "session_timeout", "coordinator_failover")
    late.group, late.rebalance_id = "moved", "long after"
    readers.note_rebalances([followed, unrelated, late, rebalance(106, "member_join", None)])
    rows = [outage("orders", 100, 140)]
    losses = losses_of(brokers_that_went(("2", 100), ("9", 101)), [offsets_move(7, 100.5, "2"), offsets_move(8, 500, "2")], rows, readers)
    (found,) = outage_incidents(rows, EPISODE_GAP_SECONDS, losses, sorted(readers.following))
    assert found.rebalance_ids == ["behind it"]
    assert found.rebalance_count == 1
    assert found.groups == ["moved", "moved too", "reader of orders"]
    assert found.headline.consequences == LossConsequences(2, 1)


def test_without_a_word_about_offsets_partitions_all_rebalances_after_a_loss_followed_it() -> None:
    readers = Readers()
    readers.note_rebalances([rebalance(104, "coordinator_failover", "broker_outage")])
    rows = [outage("orders", 100, 140)]
    (found,) = outage_incidents(
        rows, EPISODE_GAP_SECONDS, losses_of(brokers_that_went(("2", 100)), [], rows, readers), sorted(readers.following)
    )
    assert (found.rebalance_ids, found.groups) == (["r"], ["g", "reader of orders"])


def test_only_the_departure_of_the_coordinator_s_former_broker_stands_behind_a_rebalance() -> None:
    known = learn([departure(100), departure(101)]).departures
    departures = [dataclasses.replace(each, node=node) for each, node in zip(known, "23", strict=True)]
    row = rebalance(102, "coordinator_failover", "coordinator_failover")
    moved = CoordinatorMove("c", "kafka", "m", "g", 7, "2", "1", None, 101 * SECOND, None, [])
    point_to_outages([row], departures, [moved])
    assert (row.root_cause, [each.at for each in departures if each.node == "2"]) == ("broker_outage", [100 * SECOND])
    other = rebalance(102, "coordinator_failover", "coordinator_failover")
    point_to_outages([other], [each for each in departures if each.node == "3"], [moved])
    assert (other.root_cause, other.evidence) == ("coordinator_failover", [])


def test_a_broker_that_a_new_controller_does_not_find_has_gone() -> None:
    def found(at: float, live: list[str], removed: list[str]) -> Event:
        micros = round(at * SECOND)
        fields = {"live": live, "removed": removed, "added": [], "bounced": []}
        return Event("BrokersChanged", micros, micros, LogPosition("controller.log", round(at), 0), Witness.CONTROLLER, fields=fields)

    facts = learn([found(1, ["1", "2", "3", "4"], []), found(50, ["1", "3"], ["4"]), found(90, ["1", "2", "3"], [])])
    assert sorted((each.node, each.at) for each in facts.departures) == [("2", 50 * SECOND), ("4", 50 * SECOND)]


def test_a_broker_that_says_that_it_stops_has_gone_where_no_controller_tells() -> None:
    place = LogPosition("server.log", 1, 0)
    stop = Event("BrokerStopping", 100 * SECOND, 100 * SECOND, place, Witness.BROKER, node="2")
    assert [(each.node, each.at) for each in departures_of(learn([stop]))] == [("2", 100 * SECOND)]
