"""Excerpts of tickets: logs that begin amid a generation, lines in odd order or of one moment, and lines without any time.

Kinds after confluentinc/librdkafka 568, 3396 and 4783, ah-/rdkafka-dotnet 61, confluent-kafka-python 552, rust-rdkafka (client.rs),
kcat (kcat.c, rebalance_cb), strimzi-kafka-operator 11475, and spring-kafka 2337.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from models.rows import Rebalance
from tests.behaviour.test_pasted_excerpts import OFFSETS, PREPARING, excerpt, scala, worker


class Row(NamedTuple):
    """What is said of one rebalance."""

    generations: tuple[int | None, int | None]
    seconds: float | None
    outcome: str
    cause: str


def said(row: Rebalance) -> Row:
    lasted = row.duration_seconds if row.duration_seconds is not None else row.at_least_seconds
    return Row((row.generation_before, row.generation_after), None if lasted is None else round(lasted, 1), row.outcome, row.cause)


RD = "rdkafka#consumer-1| [thrd:main]: "
OWN, OTHER = "rdkafka-6d6d6d6d-0000-4000-8000-6d6d6d6d6d6d", "rdkafka-5c5c5c5c-0000-4000-8000-5c5c5c5c5c5c"


def rdkafka(*lines: tuple[float, str, str]) -> tuple[str, ...]:
    return tuple(f"%7|{1710634030 + second:.3f}|{facility}|{RD}{message}" for second, facility, message in lines)


def rust(*lines: tuple[int, str, str]) -> tuple[str, ...]:
    """By env_logger, whose times are seconds."""
    return tuple(
        f"[2029-05-30T18:08:{second:02d}Z DEBUG rdkafka::client] librdkafka: {fac} [thrd:main]: {text}" for second, fac, text in lines
    )


def answer(generation: int, *, leads: bool = False, is_old: bool = False) -> str:
    leader = f"{OWN} (me)" if leads else OTHER
    members = f"{int(leads)} members in group" if is_old else f"member metadata count {int(leads)}"
    return f"JoinGroup response: GenerationId {generation}, Protocol range, LeaderId {leader}, my MemberId {OWN}, {members}: (no error)"


STEADY = (
    'Group "mill" heartbeat error response in state up (join-state steady, 1 partition(s) assigned): Broker: Group rebalance in progress'
)
STARTED = (
    'Group "mill" heartbeat error response in state up (join state started, 1 partition(s) assigned): Broker: Group rebalance in progress'
)
TOO_LATE = "Application maximum poll interval (6000ms) exceeded by 55ms"
LATE = f"{TOO_LATE} (adjust max.poll.interval.ms for long-running message processing): leaving group"
BEAT = 'GroupCoordinator/8: Heartbeat for group "mill" generation id {}'
SYNCED = "SyncGroup response: Success (45 bytes of MemberState data)"
REFUSED = 'Group "mill": synchronization failed: Broker: Group rebalance in progress: rejoining'
WAIT_JOIN = 'Group "mill" changed join state init -> wait-join (v1, state up)'
DOTNET = "7|2029-10-15 09:{}|rdkafka#consumer-1|{}| {}"
RUBY = "rdkafka: [thrd:main]: "
JAVA_BEAT = f"Sending Heartbeat request with generation 22 and member id {OWN} to coordinator kb2:9092 (id: 2147483645 rack: null)"
JAVA = "2029-04-02 10:15:{} INFO 7 --- [main] o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer clientId=mill-1, groupId=mill] {}"
LEAVES = (
    f"Member {OWN} sending LeaveGroup request to coordinator kb2:9092 (id: 2147483645 rack: null) due to consumer poll timeout has expired."
)
BARE = "[Consumer clientId=mill-1, groupId=mill] "

CASES: dict[str, tuple[tuple[str, ...], list[Row]]] = {
    "the answer to SyncGroup ends a rebalance, where no line of the state does": (
        rdkafka((0, "HEARTBEAT", STARTED), (0.03, "CGRPJOINSTATE", WAIT_JOIN), (4, "JOINGROUP", answer(9)), (4.2, "SYNCGROUP", SYNCED)),
        [Row((8, 9), 4.2, "stable", "member_join")],
    ),
    "so do the states of the first versions": (
        (
            f"1656576794.650 RDKAFKA-7-HEARTBEAT: rdkafka#consumer-1: {STARTED}",
            '1656576794.751 RDKAFKA-7-CGRPJOINSTATE: rdkafka#consumer-1: Group "mill" changed join state init -> wait-join',
            f"1656576821.360 RDKAFKA-7-JOINGROUP: rdkafka#consumer-1: {answer(9, is_old=True)}",
            '1656576821.370 RDKAFKA-7-CGRPJOINSTATE: rdkafka#consumer-1: Group "mill" changed join state wait-sync -> wait-rebalance_cb',
        ),
        [Row((8, 9), 26.7, "stable", "member_join")],
    ),
    "a SyncGroup that is refused shows the next rebalance, from then on": (
        (
            DOTNET.format(
                "13:58.648", "SYNCGROUP", "SyncGroup response: Broker: Group rebalance in progress (0 bytes of MemberState data)"
            ),
            DOTNET.format("13:58.648", "GRPSYNC", REFUSED),
            DOTNET.format("14:02.255", "JOINGROUP", answer(7646, is_old=True)),
            DOTNET.format("14:02.451", "GRPSYNC", REFUSED),
            DOTNET.format("14:06.061", "JOINGROUP", answer(7647, is_old=True)),
        ),
        [Row((7645, 7646), None, "superseded", "member_join"), Row((7646, 7647), 3.6, "open", "member_join")],
    ),
    "the same by a program in Rust": (
        rust((43, "HEARTBEAT", STEADY), (46, "JOINGROUP", answer(9)), (46, "SYNCGROUP", SYNCED)),
        [Row((8, 9), 3.0, "stable", "member_join")],
    ),
    "a heartbeat tells the generation that a late poll ends, and the return is another": (
        rdkafka(
            *((0, "HEARTBEAT", BEAT.format(22)), (4.5, "MAXPOLL", LATE), (4.5, "LEAVE", 'Group "mill": leave (in state up)')),
            *((20, "CGRPJOINSTATE", WAIT_JOIN), (23, "JOINGROUP", answer(24, leads=True, is_old=True)), (23, "SYNCGROUP", SYNCED)),
        ),
        [Row((22, None), None, "superseded", "poll_timeout"), Row((23, 24), 3.0, "stable", "new_group")],
    ),
    "so does one of a client in Java": (
        tuple(
            JAVA.format(second, message)
            for second, message in (
                *(
                    ("10.520", JAVA_BEAT),
                    ("14.521", LEAVES),
                    ("14.522", "Resetting generation due to: consumer pro-actively leaving the group"),
                ),
                *(("30.100", "(Re-)joining group"), ("33.110", "Successfully joined group with generation 24")),
            )
        ),
        [Row((22, None), None, "superseded", "poll_timeout"), Row((23, 24), 3.0, "open", "new_group")],
    ),
    "a group whose other member leads is not empty as one leaves": (
        rdkafka((0, "HEARTBEAT", STEADY), (3, "JOINGROUP", answer(9)), (3, "SYNCGROUP", SYNCED), (300, "MAXPOLL", LATE)),
        [Row((8, 9), 3.0, "stable", "member_join"), Row((9, None), 0.0, "open", "poll_timeout")],
    ),
    "what a worker's assignment says waits until then": (
        worker(
            (
                "11.030",
                "Joined group at generation 88 with protocol version 2 and got assignment: Assignment{error=0} with rebalance delay: 30000",
            ),
            *(("41.045", "Rebalance started"), ("41.046", "(Re-)joining group")),
            ("41.990", f"Successfully joined group with generation Generation{{generationId=89, memberId='{OWN}', protocol='sessioned'}}"),
            ("42.030", f"Successfully synced group in generation Generation{{generationId=89, memberId='{OWN}', protocol='sessioned'}}"),
        ),
        [Row((88, 89), 1.0, "stable", "scheduled_rebalance")],
    ),
    "without times, what comes first began it": (
        (
            *(RUBY + BEAT.format(31), RUBY + STEADY, RUBY + 'Group "mill" changed join state init -> wait-join (state up)'),
            *(RUBY + answer(32), RUBY + SYNCED, RUBY + 'Group "mill" changed join state wait-sync -> wait-assign-call (state up)'),
        ),
        [Row((31, 32), None, "stable", "member_join")],
    ),
    "without times, what comes later did not begin it": (
        (
            BARE + "Successfully joined group with generation 9",
            BARE + "Setting newly assigned partitions [a-0]",
            BARE + LEAVES,
        ),
        [Row((8, 9), None, "stable", "member_join"), Row((9, None), None, "empty", "poll_timeout")],
    ),
    "what kcat prints has no times": (
        (
            f"% Group mill rebalanced (memberid {OWN}): assigned: corn [0], corn [1]",
            "% Reached end of topic corn [0] at offset 12",
            f"% Group mill rebalanced (memberid {OWN}): revoked: corn [0], corn [1]",
            f"% Group mill rebalanced (memberid {OWN}): assigned: corn [0]",
        ),
        [Row((None, None), None, "stable", "member_join"), Row((None, None), None, "stable", "member_join")],
    ),
    "a message may begin with a name": (
        (
            f"Member {OWN} in group mill has failed, removing it from the group",
            f"{PREPARING} 4 {OFFSETS} (reason: removing member {OWN} on heartbeat expiration)",
        ),
        [Row((4, None), None, "open", "session_timeout")],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_rebalances_are_those_of_the_excerpt(tmp_path: Path, name: str) -> None:
    lines, expected = CASES[name]
    rows = sorted(excerpt(tmp_path, *lines).rebalances, key=lambda row: (row.began, row.generation_before or 0))
    assert [said(row) for row in rows] == expected
    assert all(row.cause in {"session_timeout", "poll_timeout"} for row in rows if row.confidence > 0.9)


def test_who_comes_back_may_have_begun_the_next_rebalance(tmp_path: Path) -> None:
    lines = rdkafka(
        *((4.5, "MAXPOLL", LATE), (4.5, "LEAVE", 'Group "mill": leave (in state up)'), (20, "CGRPJOINSTATE", WAIT_JOIN)),
        *((23, "JOINGROUP", answer(24, leads=True, is_old=True)), (23, "SYNCGROUP", SYNCED)),
    )
    (row,) = excerpt(tmp_path, *lines).rebalances
    assert (row.cause, row.confidence < 0.9) == ("poll_timeout", True)


def test_a_late_poll_of_no_group_is_told(tmp_path: Path) -> None:
    told_of = excerpt(tmp_path, LEAVES)
    assert list(told_of.rebalances) == []
    assert any("exceeded max.poll.interval.ms" in incident.headline for incident in told_of.incidents)


@pytest.mark.parametrize(("lasted", "kind"), [("20:41.045", "slow_member"), ("22:41.045", "stuck")], ids=["right after", "minutes later"])
def test_only_the_phase_that_lasts_is_stuck(tmp_path: Path, lasted: str, kind: str) -> None:
    lines = scala(
        ("15:41.042", 2, f"{PREPARING} 70 {OFFSETS} (reason: Adding new member saw-b with group instance id None)"),
        ("20:41.044", 2, "Group mill removed dynamic members who haven't joined: Set(saw-a)"),
        ("20:41.045", 2, "Stabilized group mill generation 71 (__consumer_offsets-0) with 1 members"),
        (lasted, 2, "Removed 0 expired offsets in 0 milliseconds."),
    )
    assert [incident.kind for incident in excerpt(tmp_path, *lines).incidents] == [kind]


def test_of_rebalances_without_times_no_span_is_told(tmp_path: Path) -> None:
    lines = CASES["without times, what comes later did not begin it"][0]
    (headline,) = [incident.headline for incident in excerpt(tmp_path, *lines).incidents]
    assert "stopped for an unknown time" in headline
    assert " in 0 ms" not in headline
