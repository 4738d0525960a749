"""Rules of what-if one by one, on histories of a few lines."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.rows import Person, Rebalance, RebalanceMember
from models.whatif.outlook import Change, outlooks
from models.whatif.rules import Configuration
from tests.models.kafka.groups.script import events_of, replay

BEGUN = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.0 GenerationStarted generation=1 member_count=2
4.1 AssignmentReceived generation=1 member_id=a#1 member_count=2
"""
POLLED_LATE = """
60.0 RebalanceStarted generation=1 reason_id=leave reason_member_id=b#1 client_reason="consumer poll timeout has expired"
61.0 GenerationStarted generation=2 member_count=1
61.1 AssignmentReceived generation=2 member_id=a#1 member_count=1
70.0 RebalanceStarted generation=2 reason_id=new_member reason_member_id=b#2
71.0 GenerationStarted generation=3 member_count=2
71.1 AssignmentReceived generation=3 member_id=a#1 member_count=2
"""
KILLED_AND_STARTED = """
20.0 RebalanceStarted generation=1 reason_id=new_member reason_member_id=b#1
21.0 GenerationStarted generation=2 member_count=2
21.1 AssignmentReceived generation=2 member_id=a#1 member_count=2
50.0 RebalanceStarted generation=2 reason_id=new_member reason_member_id=b#2
51.0 GenerationStarted generation=3 member_count=3
51.1 AssignmentReceived generation=3 member_id=a#1 member_count=3
60.0 MemberFailed member_id=b#1
60.0 RebalanceStarted generation=3 reason_id=heartbeat_expiration reason_member_id=b#1
61.0 GenerationStarted generation=4 member_count=2
61.1 AssignmentReceived generation=4 member_id=a#1 member_count=2
"""
FOLLOWED_UP = """
60.0 RebalanceStarted generation=1 reason_id=leader_rejoin reason_member_id=a#1 client_reason="need to revoke partitions and re-join"
61.0 GenerationStarted generation=2 member_count=2
61.1 AssignmentReceived generation=2 member_id=a#1 member_count=2
"""
JOINED_LATER = """
7.0 RebalanceStarted generation=1 reason_id=new_member reason_member_id=c#1
7.5 GenerationStarted generation=2 member_count=3
7.6 AssignmentReceived generation=2 member_id=a#1 member_count=3
"""


def rows(story: str) -> list[Rebalance]:
    return replay(events_of((BEGUN + story).splitlines())).rebalances


def changes(found: list[Rebalance], configuration: Configuration, members: list[RebalanceMember] | None = None) -> list[Change]:
    (outlook,) = outlooks(found, members or [], configuration)
    return outlook.changes


@pytest.mark.parametrize(
    ("numbers", "allowed_ms", "effect"),
    [
        ({"polled_after_ms": 400_000}, 500_000, "avoided"),
        ({"polled_after_ms": 400_000}, 350_000, "same"),
        ({"max_poll_interval_ms": 300_000}, 311_000, "avoided"),
        ({"max_poll_interval_ms": 300_000}, 309_000, "same"),
        ({}, 900_000, "same"),
    ],
)
def test_who_polls_again_in_time_does_not_leave(numbers: dict[str, float], allowed_ms: int, effect: str) -> None:
    first, late, back = rows(POLLED_LATE)
    found = changes([first, replace(late, numbers=numbers), back], Configuration(max_poll_interval_ms=allowed_ms))
    assert [each.effect for each in found] == ["same", effect, effect]


def test_a_longer_session_does_not_bring_a_killed_process_back() -> None:
    found = changes(rows(KILLED_AND_STARTED), Configuration(session_timeout_ms=90_000))
    assert [each.effect for each in found] == ["same"] * 4


def test_the_consumer_protocol_has_no_second_rebalance_to_move_partitions() -> None:
    assert changes(rows(FOLLOWED_UP), Configuration(consumer_protocol=True))[-1].effect == "avoided"


def test_who_comes_while_an_empty_group_waits_joins_its_first_rebalance() -> None:
    found = rows(JOINED_LATER)
    assert [each.effect for each in changes(found, Configuration(initial_delay_ms=10_000))] == ["longer", "avoided"]
    assert [each.effect for each in changes(found, Configuration(initial_delay_ms=5_000))][-1] == "same"


def test_waiting_for_who_expires_lasts_as_long_as_the_session() -> None:
    first, last = rows(JOINED_LATER)
    waited = replace(
        last, join_seconds=20.0, duration_seconds=20.1, numbers={"session_timeout_ms": 30_000},
        blockers=[Person("b-1", "b", None, None, "expired while the others waited", True)],
    )  # fmt: skip
    change = changes([first, waited], Configuration(session_timeout_ms=20_000))[-1]
    assert (change.effect, change.rule, change.saved_seconds) == ("shorter", "wait_for_expiry", 10.0)


def test_who_is_back_within_a_rebalance_under_another_id_had_gone_before() -> None:
    first, late, back = rows(POLLED_LATE)
    part = RebalanceMember(
        cluster=late.cluster, system="kafka", rebalance_member_id="x", rebalance_id=late.rebalance_id, group=late.group, member_id="c-2",
        client_id="c", instance_id=None, host=None, role="joined", first=False, join_delay_seconds=0.5, session_before="c-1",
        session_after="c-2",
    )  # fmt: skip
    found = changes([first, late, back], Configuration(static_membership=True), [part])
    assert found[1].effect == "avoided"


def test_groups_of_other_systems_are_left_out() -> None:
    assert outlooks([replace(row, system="rocketmq") for row in rows("")], [], Configuration(cooperative=True)) == []
