"""What a rebalance cost, and the numbers that advice speaks of: told by clients' own lines and by refused commits."""

from __future__ import annotations

import pytest

from models.rows import Rebalance
from tests.models.kafka.groups.script import events_of, replay

SETTLED = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.0 GenerationStarted generation=1 member_count=2
4.1 AssignmentReceived generation=1 member_id=a#1 member_count=2
4.11 ClientJoined client_id=a member_id=a#1 generation=1 protocol={protocol}
4.12 ClientJoined client_id=b member_id=b#1 generation=1 protocol={protocol}
4.2 ClientAssigned client_id=a partitions=t-0,t-1
4.2 ClientAssigned client_id=b partitions=t-2,t-3
"""
REJOINED = """
20.0 RebalanceStarted generation=1 reason_id={reason} reason_member_id=b#1
20.5 ClientRevoked client_id=a partitions={given}
22.0 GenerationStarted generation=2 member_count=2
22.1 AssignmentReceived generation=2 member_id=a#1 member_count=2
22.11 ClientJoined client_id=a member_id=a#1 generation=2 protocol={protocol}
22.12 ClientJoined client_id=b member_id=b#1 generation=2 protocol={protocol}
22.5 ClientAssigned client_id=a partitions={kept}
22.5 ClientAssigned client_id=b partitions={taken}
"""


def last_of(story: str) -> Rebalance:
    return replay(events_of(story.splitlines())).rebalances[-1]


def test_under_an_eager_assignor_all_members_and_partitions_stand_still() -> None:
    story = SETTLED.format(protocol="range") + REJOINED.format(
        protocol="range", reason="leader_rejoin", given="t-0,t-1", kept="t-0", taken="t-1,t-2,t-3"
    ).replace("20.5 ClientRevoked client_id=a", "20.5 ClientRevoked client_id=b partitions=t-2,t-3\n20.5 ClientRevoked client_id=a")
    row = last_of(story)
    assert row.member_seconds_stopped == pytest.approx(2 * 2.1)
    assert row.partition_seconds_stopped == pytest.approx(4 * 2.0)


def test_under_a_cooperative_assignor_only_what_moves_stands_still() -> None:
    story = SETTLED.format(protocol="cooperative-sticky") + REJOINED.format(
        protocol="cooperative-sticky", reason="leader_rejoin", given="t-1", kept="", taken="t-1"
    )
    row = last_of(story)
    assert row.member_seconds_stopped == pytest.approx(2.0)
    assert row.partition_seconds_stopped == pytest.approx(2.0)


STREAMS = """
4.9 ClientThreadState client_id=a from_state=PARTITIONS_ASSIGNED to_state=RUNNING
4.9 ClientThreadState client_id=b from_state=PARTITIONS_ASSIGNED to_state=RUNNING
20.5 ClientThreadState client_id=a from_state=RUNNING to_state=PARTITIONS_REVOKED
22.5 ClientThreadState client_id=a from_state=PARTITIONS_REVOKED to_state=PARTITIONS_ASSIGNED
22.6 ClientThreadState client_id=b from_state=RUNNING to_state=PARTITIONS_ASSIGNED
31.5 ClientThreadState client_id=a from_state=PARTITIONS_ASSIGNED to_state=RUNNING
32.6 ClientThreadState client_id=b from_state=PARTITIONS_ASSIGNED to_state=RUNNING
"""


def test_threads_of_streams_stand_still_until_their_state_is_restored() -> None:
    moved = REJOINED.format(protocol="stream", reason="leader_rejoin", given="t-1", kept="", taken="t-1")
    story = SETTLED.format(protocol="stream") + moved
    assert last_of(story + STREAMS).member_seconds_stopped == pytest.approx(11.0 + 10.0)
    unfinished = "\n".join(STREAMS.splitlines()[:-1])
    assert last_of(story + unfinished).member_seconds_stopped is None


def test_the_next_rebalance_counts_what_is_left_of_a_restoration() -> None:
    moved = REJOINED.format(protocol="stream", reason="leader_rejoin", given="t-1", kept="", taken="t-1")
    story = SETTLED.format(protocol="stream") + moved
    again = """
25.5 RebalanceStarted generation=2 reason_id=leader_rejoin reason_member_id=a#1
25.6 GenerationStarted generation=3 member_count=2
25.7 AssignmentReceived generation=3 member_id=a#1 member_count=2
25.8 ClientJoined client_id=a member_id=a#1 generation=3 protocol=stream
25.8 ClientJoined client_id=b member_id=b#1 generation=3 protocol=stream
"""
    rows = replay(events_of((story + STREAMS + again).splitlines())).rebalances
    assert [row.member_seconds_stopped for row in rows[-2:]] == pytest.approx([5.0 + 2.9, 6.0 + 7.1])


def test_without_the_log_of_every_client_partitions_are_not_counted() -> None:
    story = SETTLED.format(protocol="range") + REJOINED.format(
        protocol="range", reason="leader_rejoin", given="t-0,t-1", kept="t-0", taken="t-1,t-2,t-3"
    )
    assert last_of("\n".join(line for line in story.splitlines() if "client_id=b" not in line)).partition_seconds_stopped is None


def test_work_since_the_last_accepted_commit_is_done_twice() -> None:
    story = SETTLED.format(protocol="range") + "\n".join(
        [
            "15.0 OffsetCommitCompleted client_id=b member_id=b#1 generation=1 error_code=0",
            "20.0 RebalanceStarted generation=1 reason_id=heartbeat_expiration reason_member_id=b#1",
            "20.4 GenerationStarted generation=2 member_count=1",
            "20.5 AssignmentReceived generation=2 member_id=a#1 member_count=1",
            "27.5 OffsetCommitCompleted client_id=b member_id=b#1 generation=1 error_code=25",
        ]
    )
    assert last_of(story).duplicate_window == pytest.approx(12.5)
    assert last_of(story.replace("error_code=25", "error_code=0")).duplicate_window is None
    told_by_client = story.replace(
        "27.5 OffsetCommitCompleted client_id=b member_id=b#1 generation=1 error_code=25",
        '27.5 ClientCommitFailed client_id=b error="The coordinator is not aware of this member."',
    )
    assert last_of(told_by_client).duplicate_window == pytest.approx(12.5)


POLLED_LATE = "\n".join(
    [
        "309.0 ClientPollTimedOut client_id=b",
        '309.1 RebalanceStarted generation=1 reason_id=leave reason_member_id=b#1 client_reason="consumer poll timeout has expired."',
        "309.2 GenerationStarted generation=2 member_count=1",
        "309.3 AssignmentReceived generation=2 member_id=a#1 member_count=1",
        "321.0 ClientJoining client_id=b",
        "321.1 RebalanceStarted generation=2 reason_id=new_member reason_member_id=b#2",
    ]
)


def test_a_late_poll_is_measured_against_the_interval_in_force() -> None:
    told = "3.0 ClientConfigured client_id=b session_timeout_ms=45000 max_poll_interval_ms=300000"
    story = "\n".join([told, SETTLED.format(protocol="range"), POLLED_LATE])
    left, joined = replay(events_of(story.splitlines())).rebalances[-2:]
    assert left.cause == "poll_timeout"
    assert left.measurements_ms == {"polled_after_ms": 312_000, "max_poll_interval_ms": 300_000, "session_timeout_ms": 45_000}
    assert joined.measurements_ms["absent_ms"] == 12_000


def test_what_no_witness_tells_is_no_number() -> None:
    story = SETTLED.format(protocol="range") + POLLED_LATE
    left = replay(events_of(story.splitlines())).rebalances[-2]
    assert left.measurements_ms == {}


def test_stretches_that_are_held_no_more_are_not_added_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.kafka.verdicts.impact.STOPS_HELD_MAX", 1)
    story = SETTLED + REJOINED + "23.0 ClientRevoked client_id=a partitions=t-0\n24.0 ClientAssigned client_id=b partitions=t-0\n"
    fields = {"protocol": "cooperative-sticky", "reason": "new_member", "given": "t-0,t-1", "kept": "t-1", "taken": "t-0"}
    assert last_of(story.format(**fields)).partition_seconds_stopped is None
