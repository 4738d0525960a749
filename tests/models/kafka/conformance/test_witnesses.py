"""What requests and clients add to a coordinator's lines: when somebody joined, synced, was heard of, and what was voted for."""

from __future__ import annotations

from typing import Any

import pytest

from models.events import Event, Witness
from models.kafka.conformance.group_view import CERTAIN, INFERRED, UNKNOWN, Fact, MemberView, TimerView, View
from models.kafka.conformance.witnesses import Witnesses
from models.kafka.coordinator.protocol.group_states import State
from models.units import US_PER_MS
from tests.models.kafka.conformance.test_tracker import line

PHASE, WAIT, REST = State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE, State.STABLE
OPEN: Fact[bool] = Fact(None, UNKNOWN)


def request(at_ms: int, name: str, **fields: Any) -> Event:
    return line(at_ms, name, witness=Witness.REQUEST, **{"total_ms": 0, "error_code": 0, **fields})


def client(at_ms: int, name: str, **fields: Any) -> Event:
    return line(at_ms, name, witness=Witness.CLIENT, **fields)


def view(state: State, *members: str | None, generation: int | None = 4, timers: tuple[TimerView, ...] = ()) -> View:
    people = tuple(MemberView(member, None, INFERRED, OPEN, OPEN, OPEN) for member in members)
    count: Fact[int] = Fact(len(members), INFERRED)
    unknown: Any = Fact(None, UNKNOWN)
    return View(Fact(state, CERTAIN), Fact(generation, CERTAIN), unknown, count, people, unknown, unknown, unknown, unknown, timers, 0)


def seen(*events: Event) -> Witnesses:
    witnesses = Witnesses()
    for event in events:
        witnesses.take(event)
    return witnesses


def applied(witnesses: Witnesses, shown: View, at_ms: int, began_ms: int) -> View:
    return witnesses.applied(shown, at_ms * US_PER_MS, began_ms * US_PER_MS)


ANSWERS = {
    "a JoinGroup in this phase": ([request(1_200, "JoinGroupCompleted", member_id="a")], PHASE, (True, CERTAIN)),
    "a JoinGroup that came before it was answered": (
        [request(9_000, "JoinGroupCompleted", member_id="a", total_ms=7_500)],
        PHASE,
        (True, CERTAIN),
    ),
    "a JoinGroup to come": ([request(3_000, "JoinGroupCompleted", member_id="a")], PHASE, (False, CERTAIN)),
    "a JoinGroup of the phase before": ([request(500, "JoinGroupCompleted", member_id="a")], PHASE, (None, UNKNOWN)),
    "a JoinGroup a moment before the line of the phase": ([request(999, "JoinGroupCompleted", member_id="a")], PHASE, (True, CERTAIN)),
    "a JoinGroup of another member": ([request(1_200, "JoinGroupCompleted", member_id="b")], PHASE, (None, UNKNOWN)),
    "a JoinGroup by the id that was asked for": (
        [request(1_200, "JoinGroupCompleted", request_member_id="a", error_code=27)],
        PHASE,
        (True, CERTAIN),
    ),
    "a client that says it joins": ([client(1_200, "ClientJoinSent", member_id="a")], PHASE, (True, INFERRED)),
    "a request beside a client": (
        [client(1_100, "ClientJoinSent", member_id="a"), request(1_200, "JoinGroupCompleted", member_id="a")],
        PHASE,
        (True, CERTAIN),
    ),
    "a JoinGroup when SyncGroup is awaited": ([request(1_200, "JoinGroupCompleted", member_id="a")], WAIT, (None, UNKNOWN)),
    "a SyncGroup of this generation": ([request(1_200, "SyncGroupCompleted", member_id="a", generation=4)], WAIT, (True, CERTAIN)),
    "a SyncGroup at rest": ([request(1_200, "SyncGroupCompleted", member_id="a", generation=4)], REST, (True, CERTAIN)),
    "a SyncGroup of the generation before": (
        [request(1_200, "SyncGroupCompleted", member_id="a", generation=3)],
        WAIT,
        (None, UNKNOWN),
    ),
    "a SyncGroup that was refused": (
        [request(1_200, "SyncGroupCompleted", member_id="a", generation=4, error_code=25)],
        WAIT,
        (None, UNKNOWN),
    ),
    "a SyncGroup to come": ([request(3_000, "SyncGroupCompleted", member_id="a", generation=4)], WAIT, (False, CERTAIN)),
    "a client that sends SyncGroup": ([client(1_200, "ClientSyncSent", member_id="a", generation=4)], WAIT, (True, INFERRED)),
    "the first of two SyncGroups": (
        [
            request(1_200, "SyncGroupCompleted", member_id="a", generation=4),
            request(3_000, "SyncGroupCompleted", member_id="a", generation=4),
        ],
        WAIT,
        (True, CERTAIN),
    ),
    "a SyncGroup in a join phase": ([request(1_200, "SyncGroupCompleted", member_id="a", generation=4)], PHASE, (None, UNKNOWN)),
}


@pytest.mark.parametrize(("events", "state", "answered"), ANSWERS.values(), ids=ANSWERS)
def test_a_request_tells_who_answered(events: list[Event], state: State, answered: tuple[bool | None, str]) -> None:
    [member] = applied(seen(*events), view(state, "a"), 2_000, 1_000).members
    told, other = (member.rejoined, member.synced) if state is PHASE else (member.synced, member.rejoined)
    assert (told.value, told.certainty) == answered
    assert other == OPEN
    assert (member.awaited.value, member.awaited.certainty) == (None if answered[0] is None else not answered[0], answered[1])


def test_what_a_line_makes_certain_stays() -> None:
    shown = view(PHASE, "a")
    sure = MemberView("a", None, CERTAIN, Fact(False, CERTAIN), OPEN, Fact(True, CERTAIN))
    shown = View(**{name: getattr(shown, name) for name in View.__slots__} | {"members": (sure,)})
    assert applied(seen(request(1_200, "JoinGroupCompleted", member_id="a")), shown, 2_000, 1_000).members == (sure,)


def test_members_without_a_name_are_left_alone() -> None:
    witnesses = seen(request(1_200, "JoinGroupCompleted", member_id="a"))
    shown = view(PHASE, None)
    assert applied(witnesses, shown, 2_000, 1_000).members == shown.members
    assert applied(witnesses, view(PHASE, "a", generation=None), 2_000, 1_000).members == view(PHASE, "a").members


VOTES = {
    "all want the same": ({"a": "range,sticky", "b": "range"}, {"range": 2}),
    "each its first": ({"a": "range,sticky", "b": "sticky,range"}, {"range": 1, "sticky": 1}),
    "what not all support is passed over": ({"a": "range,sticky", "b": "sticky"}, {"sticky": 2}),
    "nothing in common": ({"a": "range", "b": "sticky"}, {}),
    "one has not told": ({"a": "range", "b": ""}, None),
}


@pytest.mark.parametrize(("offered", "votes"), VOTES.values(), ids=VOTES)
def test_members_vote_for_the_first_protocol_that_all_support(offered: dict[str, str], votes: dict[str, int] | None) -> None:
    joins = [request(1_200, "JoinGroupCompleted", member_id=member, protocols=names) for member, names in offered.items()]
    told = applied(seen(*joins), view(REST, *offered), 2_000, 1_000).votes
    assert told == (Fact(None, UNKNOWN) if votes is None else Fact(votes, INFERRED))


def test_an_answer_tells_the_generation_that_began() -> None:
    members = {"members": ["a", "b"], "leader_id": "a", "protocol": "range"}
    witnesses = seen(request(900, "JoinGroupCompleted", member_id="a", response_generation=4, **members))
    assert applied(witnesses, view(WAIT, "a"), 2_000, 1_000).protocol == Fact("range", CERTAIN)
    assert applied(witnesses, view(PHASE, "a"), 2_000, 1_000).protocol == Fact(None, UNKNOWN)
    assert applied(witnesses, view(WAIT, "a", generation=5), 2_000, 1_000).protocol == Fact(None, UNKNOWN)
    started = witnesses.enriched(line(1_000, "GenerationStarted", generation=4))
    assert (started.fields["member_count"], started.fields["roster"]) == (2, ["a", "b"])
    assert witnesses.enriched(line(1_000, "GenerationStarted", generation=4, member_count=3)).fields["member_count"] == 3
    assert witnesses.enriched(line(1_000, "AssignmentReceived", generation=4)).member_id == "a"
    assert witnesses.enriched(line(1_000, "AssignmentReceived", generation=4, member_id="b")).member_id == "b"
    for other in (line(1_000, "GenerationStarted", generation=5), line(1_000, "AssignmentReceived", generation=5)):
        assert witnesses.enriched(other) is other
    assert witnesses.enriched(line(1_000, "GroupEmptied", generation=4)).fields == {}


@pytest.mark.parametrize("refused", [{"error_code": 27, "response_generation": 4}, {"response_generation": -1}, {}])
def test_a_refused_join_tells_no_generation(refused: dict[str, int]) -> None:
    witnesses = seen(request(900, "JoinGroupCompleted", member_id="a", members=["a"], leader_id="a", **refused))
    assert not witnesses.rosters
    assert not witnesses.leaders


def test_an_assignment_names_leader_and_roster_unless_the_join_did() -> None:
    sync = request(1_300, "SyncGroupCompleted", member_id="a", generation=4, assigned_members=["a", "c"])
    made = client(1_250, "ClientAssignmentMade", member_id="a", generation=4, assignments="{a=Assignment(x), d=Assignment(y)}")
    assert (seen(sync).leaders, seen(sync).rosters) == ({4: "a"}, {4: ("a", "c")})
    assert seen(made).rosters == {4: ("a", "d")}
    assert seen(sync, made).rosters == {4: ("a", "c")}
    joined = client(1_200, "ClientJoined", member_id="b", generation=4, leader_id="b", protocol="range")
    assert (seen(joined, sync).leaders, seen(joined).protocols) == ({4: "b"}, {4: "range"})


def timer(kind: str, member: str | None = None, *, is_initial: bool = False) -> TimerView:
    return TimerView(kind, member, None, UNKNOWN, is_initial)


TIMEOUTS = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": 60_000}


def test_a_session_ends_so_long_after_the_member_was_last_heard_of() -> None:
    witnesses = seen(
        request(1_000, "JoinGroupCompleted", member_id="a", **TIMEOUTS),
        request(1_500, "SyncGroupCompleted", member_id="a", generation=4),
        request(1_800, "HeartbeatCompleted", member_id="a"),
        request(1_900, "HeartbeatCompleted", member_id="a", error_code=25),
        request(2_500, "OffsetCommitCompleted", member_id="a"),
    )
    shown = view(REST, "a", "b", timers=(timer("session", "a"), timer("session", "b")))

    def told(at_ms: int) -> list[tuple[int | None, str]]:
        return [(each.deadline_ms, each.certainty) for each in applied(witnesses, shown, at_ms, 900).timers]

    assert told(1_200) == [(11_000, INFERRED), (None, UNKNOWN)]
    assert told(1_600) == [(11_500, INFERRED), (None, UNKNOWN)]
    assert told(2_000) == [(11_800, INFERRED), (None, UNKNOWN)]
    assert told(2_500) == [(12_500, INFERRED), (None, UNKNOWN)]
    assert told(900) == [(None, UNKNOWN), (None, UNKNOWN)]


def test_a_join_phase_ends_by_the_longest_timeout() -> None:
    timeouts = {"a": 60_000, "b": 90_000}
    joins = [request(1_000, "JoinGroupCompleted", member_id=name, rebalance_timeout_ms=timeout) for name, timeout in timeouts.items()]
    shown = view(PHASE, "a", "b", timers=(timer("join"), timer("join", is_initial=True), timer("sync")))
    told = applied(seen(*joins), shown, 2_000, 1_500).timers
    assert [(each.deadline_ms, each.certainty) for each in told] == [(91_500, CERTAIN), (None, UNKNOWN), (None, UNKNOWN)]
    [partly, *_] = applied(seen(joins[0]), shown, 2_000, 1_500).timers
    assert (partly.deadline_ms, partly.certainty) == (61_500, INFERRED)
