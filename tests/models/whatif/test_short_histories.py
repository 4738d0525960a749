"""What-if on histories of a few lines: each mechanism by itself."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.rows import Rebalance, RebalanceMember
from models.whatif.comparison import RebalanceChange
from models.whatif.configuration import Configuration
from models.whatif.outlook import WhatIfResult
from tests.models.kafka.groups.script import events_of, replay
from tests.models.whatif.outlooks import what_if_results

BEGUN = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.0 GenerationStarted generation=1 member_count=2
4.1 AssignmentReceived generation=1 member_id=a#1 member_count=2
"""
POLLED_LATE = """
400.0 RebalanceStarted generation=1 reason_id=leave reason_member_id=b#1 client_reason="consumer poll timeout has expired"
401.0 GenerationStarted generation=2 member_count=1
401.1 AssignmentReceived generation=2 member_id=a#1 member_count=1
410.0 RebalanceStarted generation=2 reason_id=new_member reason_member_id=b#2
411.0 GenerationStarted generation=3 member_count=2
411.1 AssignmentReceived generation=3 member_id=a#1 member_count=2
"""
KILLED_AND_STARTED = """
20.0 RebalanceStarted generation=1 reason_id=new_member reason_member_id=b#1
21.0 GenerationStarted generation=2 member_count=3
21.1 AssignmentReceived generation=2 member_id=a#1 member_count=3
80.0 RebalanceStarted generation=2 reason_id=new_member reason_member_id=b#2
100.0 MemberFailed member_id=b#1
100.0 GenerationStarted generation=3 member_count=3
100.1 AssignmentReceived generation=3 member_id=a#1 member_count=3
"""
FOLLOWED_UP = """
60.0 RebalanceStarted generation=1 reason_id=new_member reason_member_id=c#1
61.0 GenerationStarted generation=2 member_count=3
61.1 AssignmentReceived generation=2 member_id=a#1 member_count=3
61.2 RebalanceStarted generation=2 reason_id=leader_rejoin reason_member_id=a#1 client_reason="need to revoke partitions and re-join"
62.0 GenerationStarted generation=3 member_count=3
62.1 AssignmentReceived generation=3 member_id=a#1 member_count=3
"""
JOINED_LATER = """
7.0 RebalanceStarted generation=1 reason_id=new_member reason_member_id=c#1
7.5 GenerationStarted generation=2 member_count=3
7.6 AssignmentReceived generation=2 member_id=a#1 member_count=3
"""
RESTARTED_IN_TURN = """
60.0 RebalanceStarted generation=1 reason_id=leave reason_member_id=a#1 client_reason="the consumer is being closed"
61.0 GenerationStarted generation=2 member_count=1
61.1 AssignmentReceived generation=2 member_id=b#1 member_count=1
61.5 RebalanceStarted generation=2 reason_id=new_member reason_member_id=a#2
62.0 GenerationStarted generation=3 member_count=2
62.1 AssignmentReceived generation=3 member_id=b#1 member_count=2
62.2 RebalanceStarted generation=3 reason_id=leave reason_member_id=b#1 client_reason="the consumer is being closed"
63.0 GenerationStarted generation=4 member_count=1
63.1 AssignmentReceived generation=4 member_id=a#2 member_count=1
64.0 RebalanceStarted generation=4 reason_id=new_member reason_member_id=b#2
65.0 GenerationStarted generation=5 member_count=2
65.1 AssignmentReceived generation=5 member_id=a#2 member_count=2
"""


def rows(story: str, **numbers: float) -> list[Rebalance]:
    found = replay(events_of((BEGUN + story).splitlines())).rebalances
    return [replace(row, measurements_ms={**row.measurements_ms, **numbers}) for row in found]


def answer(found: list[Rebalance], configuration: Configuration, members: list[RebalanceMember] | None = None) -> WhatIfResult:
    (outlook,) = what_if_results(found, members or [], configuration)
    return outlook


def changes(found: list[Rebalance], configuration: Configuration) -> list[RebalanceChange]:
    return answer(found, configuration).changes


@pytest.mark.parametrize(
    ("numbers", "allowed_ms", "effect"),
    [
        ({}, 312_000, "avoided"),
        ({}, 305_000, "later"),
        ({"max_poll_interval_ms": 300_000}, 312_000, "avoided"),
        ({"max_poll_interval_ms": 60_000}, 72_000, "avoided"),
    ],
)
def test_who_polls_again_in_time_does_not_leave(numbers: dict[str, float], allowed_ms: int, effect: str) -> None:
    found = changes(rows(POLLED_LATE, **numbers), Configuration(max_poll_interval_ms=allowed_ms))
    assert [each.effect for each in found[:2]] == ["same", effect]
    assert (found[2].effect == "avoided") is (effect == "avoided")


def test_a_shorter_interval_than_the_default_is_learned_from_when_the_member_left() -> None:
    story = POLLED_LATE.replace("400.0", "64.0").replace("401.", "65.").replace("410.0", "70.0").replace("411.", "71.")
    told = answer(rows(story), Configuration(max_poll_interval_ms=300_000))
    assert [each.effect for each in told.changes] == ["same", "avoided", "avoided"]
    assert any("max.poll.interval.ms is taken to be 59.95 s" in text for text in told.assumed)


def test_a_longer_session_does_not_bring_a_killed_process_back() -> None:
    found = changes(rows(KILLED_AND_STARTED, session_timeout_ms=30_000), Configuration(session_timeout_ms=45_000))
    assert [each.effect for each in found] == ["same", "same", "longer"]
    assert found[-1].saved_seconds == pytest.approx(-15.0, abs=0.25)


def test_waiting_for_who_expires_lasts_as_long_as_the_session() -> None:
    change = changes(rows(KILLED_AND_STARTED, session_timeout_ms=30_000), Configuration(session_timeout_ms=20_000))[-1]
    assert (change.effect, change.rule) == ("shorter", "wait_for_expiry")
    assert change.saved_seconds == pytest.approx(10.0, abs=0.25)


def test_the_consumer_protocol_has_no_second_rebalance_to_move_partitions() -> None:
    assert changes(rows(FOLLOWED_UP), Configuration(consumer_protocol=True))[-1].effect == "avoided"


def test_who_comes_while_an_empty_group_waits_joins_its_first_rebalance() -> None:
    found = rows(JOINED_LATER)
    assert [each.effect for each in changes(found, Configuration(initial_delay_ms=10_000))] == ["longer", "avoided"]
    assert [each.effect for each in changes(found, Configuration(initial_delay_ms=2_000))][-1] != "avoided"


def test_an_initial_delay_that_outlasts_the_logs_stops_nobody() -> None:
    told = answer(rows(""), Configuration(initial_delay_ms=60_000))
    assert told.saved_seconds == pytest.approx(0.0, abs=0.25)


def test_a_group_of_the_consumer_protocol_has_no_initial_delay() -> None:
    found = [replace(row, protocol="consumer", assignor="uniform") for row in rows(JOINED_LATER)]
    told = answer(found, Configuration(initial_delay_ms=10_000))
    assert {each.effect for each in told.changes} == {"same"}
    assert told.left == told.fewest == len(found)


@pytest.mark.parametrize(("protocol", "kind"), [("share", "share"), ("streams", "streams")])
def test_protocols_that_are_not_run_stay_and_say_so(protocol: str, kind: str) -> None:
    told = answer([replace(row, protocol=protocol) for row in rows(JOINED_LATER)], Configuration(session_timeout_ms=90_000))
    assert {each.effect for each in told.changes} == {"same"}
    assert told.assumed == [f"what would change cannot be known: groups of the {kind} protocol are not simulated"]


def test_connect_workers_are_never_static() -> None:
    found = [replace(row, protocol_type="connect", assignor="sessioned") for row in rows(POLLED_LATE)]
    assert {each.effect for each in changes(found, Configuration(static_membership=True))} == {"same"}


def test_a_group_that_is_full_refuses_more() -> None:
    told = answer(rows(JOINED_LATER), Configuration(max_size=2))
    assert told.changes[-1].rule in {"size_limits", None}
    assert told.left <= len(told.changes)


def test_members_that_do_not_exist_neither_come_nor_go() -> None:
    assert changes(rows(JOINED_LATER), Configuration(instances=2))[-1].effect == "avoided"


def test_a_slower_rolling_restart_takes_longer() -> None:
    found = rows(RESTARTED_IN_TURN, session_timeout_ms=10_000)
    slow = answer(found, Configuration(restart_pause_ms=40_000))
    last = max(slow.runs[1], key=lambda row: row.start_ms)
    assert last.start_ms - max(row.start_ms for row in slow.runs[0]) > 35_000


def test_several_settings_go_together() -> None:
    found = rows(POLLED_LATE, session_timeout_ms=6_000)
    told = changes(found, Configuration(max_poll_interval_ms=312_000, session_timeout_ms=45_000, heartbeat_interval_ms=1_000))
    assert [each.effect for each in told][1:] == ["avoided", "avoided"]


def test_groups_of_other_systems_are_left_out() -> None:
    assert what_if_results([replace(row, system="rocketmq") for row in rows("")], [], Configuration(cooperative=True)) == []
