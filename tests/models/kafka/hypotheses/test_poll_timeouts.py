"""Clients that polled too late: whose line says so, and how late it was."""

from __future__ import annotations

import pytest

from models.rows import Rebalance
from tests.models.kafka.groups.script import events_of, replay

BEGUN = """
1.000 GenerationStarted generation=1 member_count=3
1.005 ClientJoined client_id=a generation=1
1.005 ClientJoined client_id=c generation=1
1.010 AssignmentReceived generation=1 member_count=3
"""
LEFT = """
60.000 RebalanceStarted generation=1 reason_id=leave reason_member_id=a#1 client_reason="not provided"
60.300 GenerationStarted generation=2 member_count=2
60.310 AssignmentReceived generation=2 member_count=2
"""
BACK = """
75.000 RebalanceStarted generation=2 reason_id=new_member reason_member_id=a#2
75.000 MemberAdded client_id=a member_id=a#2
75.300 GenerationStarted generation=3 member_count=3
75.310 AssignmentReceived generation=3 member_count=3
"""
SETTINGS = "0.9 ClientConfigured client_id=a max_poll_interval_ms=30000"


def left(*lines: str) -> Rebalance:
    """The rebalance that a's leave started, with what clients wrote."""
    rows = replay(events_of("\n".join([BEGUN, LEFT, BACK, SETTINGS, *lines]).splitlines())).rebalances
    return next(row for row in rows if row.generation_before == 1)


def test_of_two_clients_that_polled_too_late_the_one_that_left_is_told_by_its_own_line() -> None:
    row = left("59.500 ClientPollTimedOut client_id=c", "59.900 ClientPollTimedOut client_id=a")
    assert (row.cause, row.confidence) == ("poll_timeout", 0.98)
    assert [line.text for line in row.evidence if "PollTimedOut" in line.text] == ["59.900 ClientPollTimedOut client_id=a"]


def test_how_late_it_polled_counts_from_when_the_client_noticed() -> None:
    """Another one's line, and its own of a later time, are about something else."""
    row = left("58.000 ClientPollTimedOut client_id=c", "59.500 ClientPollTimedOut client_id=a", "90.000 ClientPollTimedOut client_id=a")
    assert row.measurements_ms["polled_after_ms"] == 30_000 + 15_500


def test_another_clients_line_settles_nothing() -> None:
    assert left("59.500 ClientPollTimedOut client_id=c").cause == "member_leave"


LEAVES = "59.990 ClientLeaveSent client_id=a"
SUBSCRIBES = "70.000 ClientSubscribed client_id=a"
SEARCHES = "74.000 ClientCoordinatorFound client_id=a"
JOINS = "74.990 ClientJoinSent client_id=a"


@pytest.mark.parametrize(
    ("lines", "cause"),
    [
        ((LEAVES, JOINS), "poll_timeout"),
        ((LEAVES, SUBSCRIBES, JOINS), "poll_timeout"),
        ((LEAVES, SUBSCRIBES, SEARCHES, JOINS), "member_leave"),
        ((LEAVES, SUBSCRIBES, SEARCHES, JOINS, "90.000 ClientClosed client_id=a"), "poll_timeout"),
        ((LEAVES, "59.995 ClientClosed client_id=a", SUBSCRIBES, SEARCHES, JOINS), "member_leave"),
        ((LEAVES, "59.995 ClientUnsubscribed client_id=a", SUBSCRIBES, JOINS), "member_leave"),
        ((LEAVES, "65.000 ClientUnsubscribed client_id=a", SUBSCRIBES, JOINS), "member_leave"),
    ],
    ids=[
        "goes on",
        "goes on with other topics",
        "another process",
        "another process after a death",
        "another process after a close",
        "unsubscribed",
        "unsubscribed late",
    ],
)
def test_who_goes_on_without_looking_for_its_coordinator_had_polled_too_late(lines: tuple[str, ...], cause: str) -> None:
    """Clients before 2.1 don't say why they leave; a new process has to find its coordinator first."""
    assert left(*lines).cause == cause


@pytest.mark.parametrize(("interval_ms", "confidence", "rival"), [(300_000, 0.96, None), (30_000, 0.9, 0.07)])
def test_who_joined_within_its_poll_interval_left_by_its_own_will(interval_ms: int, confidence: float, rival: float | None) -> None:
    """Joins are sent in poll(), so that the interval can't be over."""
    story = f"""
    1.000 MemberAdded client_id=a member_id=a#1
    1.000 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1 reason_state=Empty
    4.000 GenerationStarted generation=1 member_count=2
    4.010 AssignmentReceived generation=1 member_count=2
    60.000 RebalanceStarted generation=1 reason_id=leave reason_member_id=a#1 client_reason="not provided"
    60.000 MemberLeft client_id=a member_id=a#1 rebalance_timeout_ms={interval_ms} client_reason="not provided"
    60.300 GenerationStarted generation=2 member_count=1
    60.310 AssignmentReceived generation=2 member_count=1
    """
    row = next(row for row in replay(events_of(story.strip().splitlines())).rebalances if row.generation_before == 1)
    assert (row.cause, round(row.confidence, 2), row.alternatives.get("poll_timeout")) == ("member_leave", confidence, rival)
