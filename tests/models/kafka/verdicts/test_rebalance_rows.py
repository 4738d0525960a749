"""Rows of rebalances, from single windows: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.events import Event, Witness
from models.kafka.cluster.facts import ClusterFacts, DamagedLog
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.hypothesis import DecidingEvidence
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.verdicts.history import GroupHistory
from models.kafka.verdicts.missing_evidence import MARGIN_US, settled_by
from models.kafka.verdicts.rebalance_rows import VerdictWriter
from models.rows import Rebalance
from models.weights import UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE
from tests.models.kafka.hypotheses.contexts import ENDED, JOINED, NOW, SECOND, act, by_client, context, started
from tests.models.kafka.reconstruction.lines import line

K = ActionKind


def write(*actions: MemberAction, facts: ClusterFacts | None = None, **values: object) -> GroupHistory:
    rebalance, history = context(*actions, facts=facts, **values), GroupHistory()  # type: ignore[arg-type]
    VerdictWriter("test", "orders", rebalance.facts, rebalance.roster).add_rebalance(rebalance, history)
    return history


def row_of(*actions: MemberAction, **values: object) -> Rebalance:
    (row,) = write(*actions, **values).rebalances  # type: ignore[arg-type]
    return row


def at(us: int, name: str = "GenerationStarted", node: str = "1") -> Event:
    return line(name, NOW + us, node=node, generation=5)


def test_the_times_of_a_rebalance() -> None:
    row = row_of(ended=at(4 * SECOND, "AssignmentReceived"))

    assert (row.started_at, row.joined_at, row.ended_at) == (NOW, JOINED, ENDED)
    assert (row.join_seconds, row.sync_seconds, row.duration_seconds, row.initial_delay_seconds) == (3.0, 1.0, 4.0, 0.0)
    assert row_of(ended=at(4 * SECOND, "AssignmentReceived"), outcome="superseded").sync_seconds is None
    assert (row_of(started=None).join_seconds, row_of(started=None).initial_delay_seconds) == (None, None)
    unseen = {"joined": None, "generation_before": None, "witness": Witness.CLIENT, "outcome": "superseded"}
    assert row_of(ended=at(4 * SECOND), **unseen).ended_at is None


def test_a_clock_that_was_set_back_tells_no_lengths() -> None:
    history = write(joined=at(-SECOND), ended=at(4 * SECOND))
    (row,) = history.rebalances
    assert (row.join_seconds, row.duration_seconds, row.joined_at, row.sync_seconds) == (None, None, NOW, 5.0)
    assert [divergence.observed.partition(" s ")[0] for divergence in history.divergences] == ["it went back by 1.000"]
    assert write(joined=at(0), ended=at(4 * SECOND)).divergences == []
    assert write(joined=at(-SECOND, node="2"), ended=at(4 * SECOND)).divergences == []
    late = write(joined=at(5 * SECOND), ended=at(4 * SECOND)).rebalances[0]
    assert (late.join_seconds, late.sync_seconds, late.duration_seconds) == (5.0, None, None)
    jump = write(joined=None, ended=at(-SECOND)).rebalances[0]
    assert (jump.join_seconds, jump.duration_seconds) == (None, None)


@pytest.mark.parametrize(
    ("lasted", "step_ms", "delay"),
    [(1, 3_000, 1.0), (3, 3_000, 3.0), (4, 3_000, 3.0), (6, 3_000, 6.0), (7, 3_000, 6.0), (7, 0, 0.0)],
)
def test_an_initial_delay_has_whole_steps(lasted: int, step_ms: int, delay: float) -> None:
    values = {"joined": at(lasted * SECOND), "facts": ClusterFacts(initial_delay_ms=step_ms)}

    assert row_of(state_before=State.EMPTY, **values).initial_delay_seconds == delay
    assert row_of(**values).initial_delay_seconds == 0.0


def test_members_are_counted_or_known_by_name() -> None:
    row = row_of(first=("a",), last=("a", "b"))
    assert (row.members_before, row.members_after) == (1, 2)
    row = row_of(first=("a",), last=("a", "b"), members_before=7, members_after=0)
    assert (row.members_before, row.members_after) == (7, 0)
    row = row_of(first=(), last=())
    assert (row.members_before, row.members_after) == (None, None)


def test_offenders_are_who_acted() -> None:
    join, leave = act(K.JOIN, 0, "c"), act(K.LEAVE, 0, "b")
    row = row_of(join)
    assert [(person.client_id, person.member_id, person.reason, person.first) for person in row.offenders] == [("c", "C", "joined", True)]
    assert [person.reason for person in row_of(leave, members_after=1, last=("a",)).offenders] == ["left"]
    unnamed = by_client(K.JOIN, 0, "c", member="")
    assert row_of(unnamed, last=("a", "b", "c")).offenders[0].member_id == "C"
    rejoin = by_client(K.REJOIN, 0, "a", member="")
    assert row_of(rejoin).offenders[0].member_id == "A"
    failover = row_of(started=started(reason_id="over_capacity_on_load"))
    assert (failover.cause, failover.offenders) == ("coordinator_failover", [])
    emptied = row_of(act(K.LEAVE, 0), act(K.LEAVE, 5, "b"), outcome="empty", last=(), members_before=2)
    assert [person.client_id for person in emptied.offenders] == ["a", "b"]
    assert [person.first for person in emptied.offenders] == [True, False]
    late = row_of(act(K.LEAVE, 0, "b", why="poll timeout has expired"), last=("a",))
    assert [person.reason for person in late.offenders] == ["exceeded its poll interval"]
    removed = row_of(act(K.LEAVE, 0, "b", why="removed by an admin"), last=("a",))
    assert [person.reason for person in removed.offenders] == ["was removed by an administrator"]
    restarted = row_of(act(K.LEAVE, 0), act(K.JOIN, 5, member="A2"))
    assert (restarted.cause, [person.client_id for person in restarted.offenders]) == ("member_restart", ["a"])


def test_all_members_have_a_role() -> None:
    leave, join = act(K.LEAVE, 0, "b"), act(K.JOIN, 5, "c")
    history = write(leave, join, act(K.EVICT, 9, "d"), first=("a", "b", "d"), last=("a", "c"))
    assert {member.client_id or member.member_id: member.role for member in history.rebalance_members} == {
        "A": "bystander", "b": "trigger", "c": "joined", "d": "blocker",
    }  # fmt: skip
    members = {member.client_id or member.member_id: member for member in history.rebalance_members}
    assert [members[name].is_first_of_role for name in ("A", "b", "c", "d")] == [False, True, False, False]
    assert (members["c"].session_before, members["c"].session_after, members["A"].session_before) == (None, "C", "A")
    assert (members["c"].join_delay_seconds, members["A"].join_delay_seconds) == (5e-06, None)
    gone = write(act(K.JOIN, 0, "c"), act(K.LEAVE, 9, "b"), last=("a",)).rebalance_members
    assert {member.client_id or member.member_id: member.role for member in gone}["b"] == "left"


def test_advice_is_of_the_reason_or_root_or_cause() -> None:
    assert row_of(act(K.JOIN, 0, "c")).advice_id == "member_join"
    assert row_of(started=started(reason_id="over_capacity_on_load")).advice_id not in {"coordinator_failover", ""}
    slow = row_of(by_client(K.REJOIN, 9), joined=at(30 * SECOND), members_before=2)
    assert (slow.root_cause, slow.advice_id) == ("slow_processing", "slow_processing")


def test_a_sure_verdict_names_no_file() -> None:
    sure = row_of(act(K.REPLACE, 0, "c"))
    assert (sure.confidence >= 0.9, sure.settled_by) == (True, None)
    doubtful = row_of(act(K.LEAVE, 0, "b"), last=("a",))
    assert doubtful.settled_by is not None
    assert doubtful.settled_by.startswith("client log at INFO of b between")
    nobody = row_of()
    assert nobody.settled_by is not None
    assert nobody.settled_by.startswith("kafka-request.log at DEBUG of broker 1 between")


@pytest.mark.parametrize(("outcome", "seconds"), [("open", 9.0), ("stable", None)])
def test_an_open_rebalance_lasts_at_least_until_the_logs_end(outcome: str, seconds: float | None) -> None:
    writer = VerdictWriter("test", "orders", ClusterFacts(), Roster(), logs_end=NOW + 9 * SECOND)
    row = row_of(outcome=outcome)
    writer.extend_open([row], lambda _: 0)
    assert row.at_least_seconds == seconds
    untold = row_of(by_client(K.POLL_TIMEOUT), outcome="open", witness=Witness.CLIENT, generation_before=None, generation_after=None)
    writer.extend_open([untold], lambda _: NOW + 12 * SECOND)
    assert (untold.cause, untold.at_least_seconds) == ("poll_timeout", None)
    named = row_of(by_client(K.POLL_TIMEOUT), outcome="open", witness=Witness.CLIENT, generation_after=None)
    writer.extend_open([named], lambda _: NOW + 12 * SECOND)
    assert named.at_least_seconds == 12.0
    row = row_of(outcome="open")
    row.protocol = "consumer"
    writer.extend_open([row], lambda _: 0)
    assert row.at_least_seconds is None


def _damage(file: str, first: int, last: int) -> ClusterFacts:
    return ClusterFacts(damaged=[DamagedLog(NOW + first, NOW + last, file, started())])


@pytest.mark.parametrize(
    ("file", "first", "last", "damaged"),
    [
        ("a.log", 0, 0, True),
        ("a.log", -9, -1, False),
        ("a.log", JOINED - NOW, 9 * SECOND, True),
        ("a.log", JOINED - NOW + 1, 9 * SECOND, False),
        ("b.log", 0, 0, False),
    ],
)
def test_a_damaged_file_makes_verdicts_less_sure(file: str, first: int, last: int, damaged: bool) -> None:
    join = act(K.JOIN, 0, "c")
    plain, weighed = row_of(join), row_of(join, facts=_damage(file, first, last))
    share = UNCHANGED_VERDICTS_OF_A_DAMAGED_FILE if damaged else 1

    assert weighed.confidence == round(plain.confidence * share, 6)
    assert weighed.alternatives == {cause: round(value * share, 6) for cause, value in plain.alternatives.items()}
    assert (weighed.settled_by == f"an undamaged copy of {file}") is damaged


def test_sessions_of_members() -> None:
    join = act(K.JOIN, 0, "c")
    rebalance = context(
        join,
        members=[RosterMember("C", "c", first_seen_at=NOW, session_timeout_ms=9), RosterMember("A", "a")],
        members_before=2,
        members_after=3,
    )
    writer, history = VerdictWriter("test", "orders", ClusterFacts(), rebalance.roster), GroupHistory()
    writer.add_rebalance(rebalance, history)
    members = list(rebalance.roster.members.values())
    first, second = writer.sessions(members, {"a": {"session_timeout_ms": 5, "max_poll_interval_ms": 6}})

    assert (first.member_id, first.rebalances_caused, first.session_timeout_ms) == ("A", 0, 5)
    assert (second.member_id, second.rebalances_caused, second.session_timeout_ms) == ("C", 1, 9)
    writer.forget(members)
    assert [session.rebalances_caused for session in writer.sessions(members, {})] == [0, 0]


def test_earlier_departures_are_measured_until_the_member_is_back() -> None:
    rebalance = context(act(K.LEAVE, 0, "b"), last=("a",))
    writer, history = VerdictWriter("test", "orders", ClusterFacts(), rebalance.roster), GroupHistory()
    writer.add_rebalance(rebalance, history)
    back = context(act(K.JOIN, 9 * SECOND, "b"), first=("a",), started=started(9 * SECOND), joined=at(10 * SECOND))
    writer.add_rebalance(back, history)
    assert history.rebalances[-1].measurements_ms["absent_ms"] == 9_000
    again = context(act(K.JOIN, 19 * SECOND, "b"), first=("a",), started=started(19 * SECOND), joined=at(20 * SECOND))
    writer.add_rebalance(again, history)
    assert "absent_ms" not in history.rebalances[-1].measurements_ms


# -- files that would settle a doubt ---------------------------------------------------------------------------------

MINUTE = 60 * SECOND


@pytest.mark.parametrize(
    ("began", "until", "words"),
    [
        (10 * MINUTE + MARGIN_US, None, "between 1970-01-01 00:10 and 00:11 UTC"),
        (10 * MINUTE + MARGIN_US - 1, None, "between 1970-01-01 00:09 and 00:11 UTC"),
        (10 * MINUTE + MARGIN_US, 11 * MINUTE - MARGIN_US - 1, "between 1970-01-01 00:10 and 00:11 UTC"),
        (10 * MINUTE + MARGIN_US, 11 * MINUTE - MARGIN_US, "between 1970-01-01 00:10 and 00:12 UTC"),
        (1_439 * MINUTE, 1_439 * MINUTE, "between 1970-01-01 23:58 and 1970-01-02 00:00 UTC"),
    ],
)
def test_a_period_has_whole_minutes_and_a_margin(began: int, until: int | None, words: str) -> None:
    assert settled_by(DecidingEvidence.REQUEST_LOG, "1", None, began, until).partition("broker 1 ")[2] == words


def test_without_a_time_or_name_a_file_alone_is_named() -> None:
    assert (
        settled_by(DecidingEvidence.APPLICATION, None, None, None, None) == "source code of the application, which asked for the rebalance"
    )
    assert settled_by(DecidingEvidence.EARLIER_LINES, None, None, None, None) == "server.log at INFO of the group's coordinator"
    assert settled_by(DecidingEvidence.CLIENT_LOG, None, "c", None, None) == "client log at INFO of c"
