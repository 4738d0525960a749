"""What is known of one rebalance: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.events import Event, Witness
from models.kafka.cluster.facts import ClusterFacts, NodeChange
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.join_phase import is_logged_after_effect
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext, evidence_events
from models.kafka.hypotheses.context.stated_reasons import listed_actions, named_action, reason_id_in, reason_in
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, EFFECT_US, LATE_LOGGING_US, STRAGGLER_US
from models.kafka.observations.roster import RosterMember
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.units import FOREVER
from tests.models.kafka.hypotheses.contexts import (
    ENDED,
    JOINED,
    NOW,
    PREVIOUS_JOINED,
    SECOND,
    act,
    before,
    by_client,
    by_request,
    context,
    started,
)
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
PHASE = JOINED - NOW
AFTER_PREVIOUS = PREVIOUS_JOINED - NOW


def test_a_rebalance_starts_with_its_first_line() -> None:
    assert context().phase.start == NOW
    assert context(started=None).phase.start == JOINED
    assert context(started=None, joined=None).phase.start == ENDED
    assert context(started=None, joined=None, ended_at=None).phase.start == 0


@pytest.mark.parametrize(
    ("outcome", "ended_at", "joined_at", "expected"),
    [
        ("coordinator_lost", 20, 10, 20),
        ("coordinator_lost", 10, 20, 20),
        ("coordinator_lost", None, 10, 10),
        ("stable", 20, 10, 10),
        ("stable", 20, None, -FOREVER),
        ("coordinator_lost", 20, None, 20),
    ],
)
def test_a_phase_begins_as_the_last_one_ended(outcome: str, ended_at: int | None, joined_at: int | None, expected: int) -> None:
    previous = before(outcome=outcome, ended_at=ended_at)

    assert context(previous=previous, previous_joined_at=joined_at).phase.previous_end == expected
    assert context(previous=None, previous_joined_at=joined_at).phase.previous_end == (joined_at if joined_at is not None else -FOREVER)


def test_a_phase_ends_with_its_generation() -> None:
    assert context().phase.end == JOINED
    assert context(outcome="empty").phase.end == JOINED + STRAGGLER_US
    assert context(joined=None).phase.end == ENDED
    assert context(joined=None, ended_at=None).phase.end == FOREVER
    following = before(at=30 * SECOND)
    for outcome, end in (("coordinator_lost", following.began), ("empty", following.began), ("open", FOREVER)):
        assert context(joined=None, ended_at=None, outcome=outcome, following=following).phase.end == end


@pytest.mark.parametrize(("at", "inside"), [(AFTER_PREVIOUS, False), (AFTER_PREVIOUS + 1, True), (PHASE, True), (PHASE + 1, False)])
def test_actions_of_a_rebalance_stand_between_two_phases(at: int, inside: bool) -> None:
    assert bool(list(context(act(K.JOIN, at)).phase.actions_of(K.JOIN, K.LEAVE))) is inside
    assert list(context(act(K.JOIN, at)).phase.actions_of(K.LEAVE)) == []
    assert list(context(act(K.JOIN, at), act(K.LEAVE, at)).phase.actions_of(K.LEAVE)) == ([act(K.LEAVE, at)] if inside else [])


@pytest.mark.parametrize(
    ("at", "next_at", "inside"),
    [
        (-CLOCK_TOLERANCE_US, None, False),
        (1 - CLOCK_TOLERANCE_US, None, True),
        (PHASE + LATE_LOGGING_US, None, True),
        (PHASE + LATE_LOGGING_US + 1, None, False),
        (PHASE + 9, PHASE + 9, False),
        (PHASE + 9, PHASE + 10, True),
    ],
)
def test_some_leaves_are_logged_after_their_effect(at: int, next_at: int | None, inside: bool) -> None:
    leave = act(K.LEAVE, at, name="MemberLeft", session_timeout_ms=9)
    following = context(started=started(next_at)).window if next_at is not None else None

    assert is_logged_after_effect(leave)
    assert not is_logged_after_effect(act(K.LEAVE, at, name="MemberLeft"))
    assert not is_logged_after_effect(act(K.LEAVE, at, session_timeout_ms=9))
    assert bool(list(context(leave, following=following).phase.actions_of(K.LEAVE))) is inside


@pytest.mark.parametrize(
    ("action", "effective"),
    [
        (act(K.LEAVE), True),
        (act(K.LEAVE, node="1"), True),
        (act(K.LEAVE, node="2"), False),
        (by_client(K.LEAVE, node="2"), True),
        (act(K.LEAVE, -EFFECT_US), True),
        (act(K.LEAVE, -EFFECT_US - 1), False),
        (act(K.LEAVE, who="c"), True),
        (by_client(K.LEAVE, who="c"), False),
    ],
)
def test_a_departure_counts_that_the_coordinator_knew(action: MemberAction, effective: bool) -> None:
    assert context(action).departures.is_effective(action) is effective


@pytest.mark.parametrize(
    ("leave", "ended_how", "effective"),
    [
        (by_client(K.LEAVE), "expired", False),
        (by_client(K.LEAVE), "evicted", False),
        (by_client(K.LEAVE), "left", True),
        (by_client(K.LEAVE), "open", True),
        (by_client(K.LEAVE, member="A2"), "expired", True),
        (act(K.LEAVE), "expired", True),
    ],
)
def test_who_the_coordinator_had_removed_does_not_leave(leave: MemberAction, ended_how: str, effective: bool) -> None:
    """A process that was cut off says so as it closes, under an id that nobody knows any more."""
    member = RosterMember("A", client_id="a", ended_how=ended_how)
    assert context(leave, members=[member]).departures.is_effective(leave) is effective


@pytest.mark.parametrize(("joined_at", "effective"), [(1, True), (2, False), (3, False)])
def test_who_joined_meanwhile_may_leave(joined_at: int, effective: bool) -> None:
    leave = by_client(K.LEAVE, 2, "c")

    assert context(act(K.JOIN, joined_at, "c"), leave, last=("a", "b", "c")).departures.is_effective(leave) is effective
    assert context(leave, first=()).departures.is_effective(leave)


def test_members_of_both_generations() -> None:
    assert context().members.before == {"a": "A", "b": "B"}
    assert context(state_before=State.EMPTY).members.before == {}
    assert context(generation_before=None).members.before == {}
    assert context(generation_after=None).members.after == {}
    assert [context(members_after=count).members.are_all_known_after for count in (None, 0, 1, 2, 3)] == [False, False, False, True, False]
    assert not context(members_after=0, last=()).members.are_all_known_after


# -- who is new ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "values", "new"),
    [
        (act(K.JOIN), {}, True),
        (act(K.LEAVE), {}, False),
        (by_request(K.REJOIN), {}, False),
        (by_request(K.REJOIN, member=""), {}, False),
        (by_request(K.REJOIN, member="X"), {}, True),
        (by_request(K.REJOIN, member="X"), {"first": ()}, False),
        (by_request(K.REJOIN, member="X"), {"first_generation": {"X": 4}}, False),
        (by_request(K.REJOIN, member="X"), {"first_generation": {"X": 5}}, True),
        (by_request(K.REJOIN, member="X"), {"first_generation": {"X": 4}, "state_before": State.EMPTY}, True),
        (by_request(K.REJOIN, member="X"), {"first_generation": {"X": 4}, "generation_before": None}, False),
    ],
)
def test_a_new_member_was_not_in_the_generation_before(action: MemberAction, values: dict[str, object], new: bool) -> None:
    assert context(action, **values).members.is_new(action) is new  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("answer", "new"),
    [
        ({"error_code": 79}, True),
        ({"error_code": 79, "member": "Y"}, False),
        ({"error_code": 0}, False),
    ],
    ids=["its id alone", "another id", "no error"],
)
def test_who_asks_by_the_id_that_it_was_given_alone_is_new(answer: dict[str, object], new: bool) -> None:
    """Also where nobody is known of the generation before."""
    asked = by_request(K.JOIN, -5, **{"member": "X", **answer})
    assert context(asked, by_request(K.REJOIN, member="X"), first=()).members.is_new(by_request(K.REJOIN, member="X")) is new


def _with_ids(last: str | None, **values: object) -> RebalanceContext:
    return context(by_client(K.REJOIN), generations={4: {"a": "A"}, 5: {"a": last} if last else {}}, **values)  # type: ignore[arg-type]


def test_a_client_with_another_id_is_new() -> None:
    action = by_client(K.REJOIN)
    assert _with_ids("A2").members.is_new(action)
    assert not _with_ids("A").members.is_new(action)
    assert not _with_ids(None).members.is_new(action)
    assert not _with_ids("A2", shared={"a"}).members.is_new(action)
    assert not _with_ids("A2").members.is_new(by_request(K.REJOIN))
    assert not _with_ids("A2", members=[RosterMember("A2", instance_id="i")]).members.is_new(action)
    assert _with_ids("A2", members=[RosterMember("A2")]).members.is_new(action)


OUT_SINCE = {"generations": {4: {"b": "B"}, 5: {"a": "A2", "b": "B"}}, "tell_joins": {"a"}, "first_generation": {"A": 1, "A2": 5, "B": 1}}
OF_A = [RosterMember("A", client_id="a"), RosterMember("A2", client_id="a")]


@pytest.mark.parametrize(
    ("values", "new"),
    [
        ({}, True),
        ({"tell_joins": set()}, False),
        ({"generations": {4: {"a": "A", "b": "B"}, 5: {"a": "A", "b": "B"}}}, False),
        ({"generations": {4: {}, 5: {"a": "A2"}}}, False),
        ({"generations": {5: {"a": "A2"}}}, True),
        ({"generations": {4: {"b": "B"}, 5: {"b": "B"}}}, False),
        ({"first_generation": {"A": 1, "A2": 4}}, False),
        ({"first_generation": {"A2": 5}}, False),
    ],
    ids=["out since long", "tells no joins", "in it", "unknown", "not seen", "not back", "not anew", "log begins here"],
)
def test_a_client_is_new_that_was_out_for_longer_than_generations_are_known(values: dict[str, object], new: bool) -> None:
    action = by_client(K.REJOIN, member="")

    assert context(action, members=OF_A, **OUT_SINCE | values).members.is_new(action) is new  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "at", "why", "new"),
    [
        ({"previous": None, "first": ()}, -5, "other", False),
        ({"previous": None, "first": ()}, -5, "MEMBER_ID_REQUIRED", True),
        ({"previous": None, "first": ()}, 0, "MEMBER_ID_REQUIRED", True),
        ({"previous": None, "first": ()}, 1, "MEMBER_ID_REQUIRED", False),
        ({"first": ()}, 1, "other", True),
    ],
)
def test_a_client_had_its_id_before_its_log_begins(values: dict[str, object], at: int, why: str, new: bool) -> None:
    action = by_client(K.REJOIN, member="X")
    rebalance = context(action, by_client(K.JOIN_FAILED, at, why=why), first_generation={"X": 5}, **values)  # type: ignore[arg-type]

    assert rebalance.members.is_new(action) is new
    other = context(action, by_client(K.JOIN_FAILED, -5, "b", why="MEMBER_ID_REQUIRED"), first_generation={"X": 5}, previous=None, first=())
    assert not other.members.is_new(action)


@pytest.mark.parametrize(
    ("generations", "kind", "missed"),
    [
        ({3: {"a": "A"}, 4: {}}, K.REJOIN, True),
        ({3: {"a": "A", "b": "B"}, 4: {}}, K.REJOIN, False),
        ({3: {"a": "A", "b": "B"}, 4: {"b": "B"}}, K.REJOIN, True),
        ({3: {"a": "A", "b": "B"}, 4: {}}, K.LEAVE, True),
        ({4: {"a": "A"}}, K.REJOIN, False),
        ({5: {"a": "A"}}, K.REJOIN, False),
        ({}, K.REJOIN, False),
    ],
)
def test_a_member_missed_the_generation_before(generations: dict[int, dict[str, str]], kind: ActionKind, missed: bool) -> None:
    action = by_client(kind)
    assert context(action, generations=generations, tell_joins={"a"}).members.has_missed_generation(action) is missed
    assert not context(action, generations=generations).members.has_missed_generation(action)
    assert not context(action, generations=generations, tell_joins={"a"}, generation_before=None).members.has_missed_generation(action)
    told = context(action, act(K.EXPIRE), generations=generations, tell_joins={"a"})
    assert not told.members.has_missed_generation(action)
    of_others = context(action, act(K.EXPIRE, who="b"), generations=generations, tell_joins={"a"})
    assert of_others.members.has_missed_generation(action) is missed
    by_clients = context(action, act(K.EXPIRE), generations=generations, tell_joins={"a"}, witness=Witness.CLIENT)
    assert by_clients.members.has_missed_generation(action) is missed
    if missed:
        assert context(action, generations=generations, tell_joins={"a"}).members.is_new(action) is (kind is K.REJOIN)


@pytest.mark.parametrize(("ended_in", "missed"), [({"a": 3}, True), ({"a": 2}, False), ({"b": 3}, False), ({"a": 4}, False)])
def test_whom_the_coordinator_removed_since_its_last_generation_missed_the_next(ended_in: dict[str, int], missed: bool) -> None:
    """Others were in that generation, and nobody's log tells of the next."""
    action, generations = by_client(K.REJOIN), {3: {"a": "A", "b": "B"}, 4: {}}
    rebalance = context(action, generations=generations, tell_joins={"a"}, ended_in=ended_in)

    assert rebalance.members.has_missed_generation(action) is missed


# -- joiners ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("actions", "values", "joiners"),
    [
        ([act(K.JOIN, 0, "c"), act(K.JOIN, 5, "c")], {}, {"c": 0}),
        ([act(K.JOIN, 0, None)], {}, {}),
        ([act(K.REJOIN, 0, "a")], {}, {}),
        ([act(K.JOIN, 0, "c")], {"members_after": 2}, {}),
        ([act(K.JOIN, 0, "c")], {"members_after": 3}, {"c": 0}),
        ([act(K.JOIN, 0, "b")], {"members_after": 2}, {"b": 0}),
        ([by_client(K.JOIN, 0, "c", why="MEMBER_ID_REQUIRED"), act(K.ID_EXPIRED, 5, "c")], {}, {}),
        ([by_client(K.JOIN, 0, "c"), act(K.ID_EXPIRED, 5, "c")], {}, {"c": 0}),
        ([act(K.JOIN, 0, "c", instance="i")], {}, {"c": 0}),
        ([act(K.JOIN, -EFFECT_US, "c", instance="i")], {}, {"c": -EFFECT_US}),
        ([act(K.JOIN, -EFFECT_US - 1, "c", instance="i")], {}, {}),
        ([act(K.JOIN, -EFFECT_US - 1, "c")], {}, {"c": -EFFECT_US - 1}),
        ([act(K.JOIN, 0, "c", instance="i"), act(K.JOINED, 0, "c", generation=4)], {}, {}),
        ([act(K.JOIN, 0, "c", instance="i"), act(K.JOINED, 5, "c", generation=5)], {}, {"c": 0}),
        ([act(K.JOIN, 5, "c", instance="i"), act(K.JOINED, 4, "c", generation=4)], {}, {"c": 5}),
        ([act(K.JOIN, 0, "c", instance="i"), act(K.LEAVE, 5, "c", generation=4)], {}, {"c": 0}),
        ([act(K.JOIN, 0, "b", "B2"), act(K.JOINED, 5, "b", generation=4)], {}, {}),
        ([act(K.JOIN, 0, "b", "B2"), act(K.JOINED, 5, "b", generation=5)], {}, {"b": 0}),
        ([act(K.JOIN, 0, "b", "B2"), act(K.JOINED, 5, "b", generation=4)], {"shared": {"b"}}, {"b": 0}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c", generation=4)], {}, {"c": 0}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 0, "c", generation=6)], {}, {}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c", generation=5)], {}, {"c": 0}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c")], {}, {"c": 0}),
        ([act(K.JOIN, 0, "c"), act(K.LEAVE, 5, "c", generation=6)], {}, {"c": 0}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c", generation=6)], {"shared": {"c"}}, {"c": 0}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c", generation=6)], {"last": ("c",)}, {"c": 0}),
        ([act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c", generation=6)], {"generation_after": None}, {"c": 0}),
    ],
)
def test_joiners_are_the_first_joins_of_new_members(
    actions: list[MemberAction], values: dict[str, object], joiners: dict[str, int]
) -> None:
    rebalance = context(*actions, **values)  # type: ignore[arg-type]

    assert {actor: action.at - NOW for actor, action in rebalance.arrivals.by_actor.items()} == joiners


@pytest.mark.parametrize(
    ("following", "is_joiner"),
    [
        (before(generation_before=5, generation_after=6), False),
        (before(generation_before=6, generation_after=7), True),
        (before(generation_before=4, generation_after=None), True),
        (before(generation_before=None), True),
        (None, True),
    ],
    ids=["the next begins with what this one made", "that of the answer", "the same again", "unknown", "none follows"],
)
def test_the_next_rebalance_tells_which_generation_this_one_made(following: RebalanceWindow | None, is_joiner: bool) -> None:
    asked, answered = act(K.JOIN, 0, "c"), act(K.JOINED, 5, "c", generation=6)

    assert bool(context(asked, answered, generation_after=None, joined=None, following=following).arrivals.by_actor) is is_joiner


@pytest.mark.parametrize(("away", "late"), [(0, True), (CLOCK_TOLERANCE_US - 1, True), (CLOCK_TOLERANCE_US, False), (-1, False)])
def test_who_asked_as_the_last_phase_ended_came_too_late(away: int, late: bool) -> None:
    at = AFTER_PREVIOUS - away
    asked, answered = act(K.JOIN, at, "c"), act(K.JOINED, 5, "c", generation=5)

    assert bool(context(asked, answered).arrivals.late) is late
    assert context(asked, act(K.JOINED, 5, "c", generation=4)).arrivals.late == []


def _node(at: int, node: str, kind: str) -> NodeChange:
    return NodeChange(NOW + at, node, kind, line("BrokerStarting", NOW + at, node=node))


@pytest.mark.parametrize(
    ("action", "others", "facts", "joins"),
    [
        (act(K.JOIN, 9, "c", node="1"), [], [], True),
        (act(K.JOIN, 9, "c", node="2"), [], [], False),
        (by_request(K.JOIN, 9, "c", node="2"), [], [], True),
        (by_client(K.JOIN, 9, "c"), [by_client(K.START, 9, "c", node="2")], [], False),
        (by_client(K.JOIN, 9, "c"), [by_client(K.START, 10, "c", node="2")], [], True),
        (by_client(K.JOIN, 9, "c"), [by_client(K.START, 5, "c", node="2"), by_client(K.START, 6, "c", node="1")], [], True),
        (by_client(K.JOIN, 9, "c"), [by_client(K.START, 5, "d", node="2")], [], True),
        (act(K.JOIN, 9, "c"), [], [_node(5, "1", "starting")], False),
        (act(K.JOIN, 9, "c"), [], [_node(5, "1", "stopped")], True),
        (act(K.JOIN, 9, "c"), [], [_node(5, "2", "starting")], True),
    ],
)
def test_after_a_coordinator_was_lost_joins_go_to_the_next(
    action: MemberAction, others: list[MemberAction], facts: list[NodeChange], joins: bool
) -> None:
    known = ClusterFacts(node_changes=facts)

    assert ("c" in context(action, *others, facts=known, outcome="coordinator_lost").arrivals.by_actor) is joins
    assert "c" in context(action, *others, facts=known).arrivals.by_actor


@pytest.mark.parametrize(
    ("nodes", "joins"),
    [
        ({"a": "1", "c": "1"}, True),
        ({"a": "1", "c": "2"}, False),
        ({"c": "2"}, True),
        ({"a": "1"}, True),
        ({"a": "1", "b": "3", "c": "2"}, True),
    ],
    ids=["the same", "the next", "first unknown", "second unknown", "first in doubt"],
)
@pytest.mark.parametrize("witness", [Witness.CLIENT, Witness.REQUEST])
def test_where_no_coordinators_line_names_it_members_tell_which_one_was_lost(witness: Witness, nodes: dict[str, str], joins: bool) -> None:
    finds = [by_client(K.START, 9 if name == "c" else -9, name, node=node) for name, node in nodes.items()]
    rebalance = context(by_client(K.JOIN, 9, "c"), *finds, outcome="coordinator_lost", node=None, witness=witness)

    assert ("c" in rebalance.arrivals.by_actor) is joins


# -- unlogged changes --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "gone"),
    [
        ({"tell_joins": {"a", "b"}}, ["b"]),
        ({"tell_joins": {"a"}}, []),
        ({"members_after": 1}, ["b"]),
        ({"members_after": 2}, []),
        ({"last": (), "tell_joins": {"b"}}, []),
        ({"last": (), "tell_joins": {"b"}, "outcome": "empty"}, ["b"]),
        ({"started": None, "tell_joins": {"b"}}, ["b"]),
        ({"started": None, "joined": None, "tell_joins": {"b"}}, []),
    ],
)
def test_members_that_are_missing_left_unlogged(values: dict[str, object], gone: list[str]) -> None:
    departures = context(**{"last": ("a",)} | values).departures.inferred  # type: ignore[arg-type]

    assert [departure.client_id for departure in departures] == gone
    assert {(departure.kind, departure.member_id) for departure in departures} <= {(K.LEAVE, "B")}
    assert context(act(K.LEAVE, PHASE, "b"), **{"last": ("a",)} | values).departures.inferred == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "new"),
    [
        ({"clients": {"c"}}, ["c"]),
        ({"clients": {"b"}}, []),
        ({"clients": {"c"}, "shared": {"c"}}, []),
        ({"shared": set()}, []),
        ({"clients": {"c"}, "first": ()}, []),
        ({"clients": {"c"}, "joined": None}, ["c"]),
        ({"clients": {"c"}, "joined": None, "started": None}, []),
    ],
)
def test_members_that_are_new_appeared(values: dict[str, object], new: list[str]) -> None:
    last = {"last": ("a", "b", "c")}

    assert [arrival.client_id for arrival in context(**last | values).arrivals.inferred] == new  # type: ignore[arg-type]
    assert context(act(K.JOIN, 0, "c"), **last | values).arrivals.inferred == []  # type: ignore[arg-type]


# -- first actions -------------------------------------------------------------------------------------------------


def test_the_first_line_of_each_member_counts_unless_the_coordinator_has_one() -> None:
    first, second, certain = by_client(K.LEAVE, 1), by_client(K.LEAVE, 2), act(K.LEAVE, 3)
    rebalance = context(first, second, act(K.LEAVE, 3, None))
    assert rebalance.phase.first_by_actor(K.LEAVE) == {"a": first}
    assert rebalance.phase.first_by_actor(K.LEAVE) is rebalance.phase.first_by_actor(K.LEAVE)
    assert context(first, certain, act(K.LEAVE, 4)).phase.first_by_actor(K.LEAVE) == {"a": certain}
    assert context(by_client(K.LEAVE, 0, "c")).departures.by_actor == {}
    assert list(context(by_client(K.LEAVE, 0, "c")).phase.first_by_actor(K.LEAVE)) == ["c"]


@pytest.mark.parametrize(("after", "counts"), [(1, False), (EFFECT_US, False), (EFFECT_US + 1, True)])
def test_a_leave_that_the_coordinator_dates_later_is_not_of_this_rebalance(after: int, counts: bool) -> None:
    own, later = by_client(K.LEAVE, PHASE), act(K.LEAVE, PHASE + after)
    assert ("a" in context(own, later).phase.first_by_actor(K.LEAVE)) is counts
    assert "a" in context(own, act(K.LEAVE, PHASE + after, "b")).phase.first_by_actor(K.LEAVE)
    assert "a" in context(own, act(K.EXPIRE, PHASE + after)).phase.first_by_actor(K.LEAVE)
    assert "a" in context(own, by_client(K.LEAVE, PHASE + after)).phase.first_by_actor(K.LEAVE)
    assert "a" in context(act(K.LEAVE, PHASE), later).phase.first_by_actor(K.LEAVE)


def test_a_leave_long_before_that_of_the_coordinator_is_another() -> None:
    assert "a" in context(by_client(K.LEAVE, PHASE + 5 - EFFECT_US), act(K.LEAVE, PHASE + 6)).phase.first_by_actor(K.LEAVE)
    assert "a" not in context(by_client(K.LEAVE, PHASE + 6 - EFFECT_US), act(K.LEAVE, PHASE + 6)).phase.first_by_actor(K.LEAVE)


def test_actions_since_a_time_and_of_a_kind() -> None:
    first, second, third = act(K.JOIN, 1), act(K.JOIN, 2, "b"), act(K.JOIN, 3)
    rebalance = context(first, second, third)

    assert rebalance.phase.since(NOW + 1) == [second, third]
    assert rebalance.phase.all_of(K.LEAVE) == ()
    assert rebalance.phase.all_of(K.JOIN) == [first, second, third]


def test_names_that_several_have() -> None:
    rebalance = context(shared={"a"}, clients={"a"})

    assert [rebalance.known.is_ambiguous(actor) for actor in ("a", "b", None, "consumer-1")] == [True, False, False, True]
    assert [rebalance.known.has_client_log(actor) for actor in ("a", "b", None)] == [True, False, False]


# -- reasons -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason_id", "kind"), [("new_member", K.JOIN), ("leave", K.LEAVE), ("heartbeat_expiration", K.EXPIRE), ("leader_rejoin", K.REJOIN)]
)
def test_a_reason_names_a_member(reason_id: str, kind: ActionKind) -> None:
    event = started(reason_id=reason_id, reason="words", reason_member_id="A", reason_instance_id="i", client_reason="why")
    action = named_action(event)

    assert action is not None
    assert (action.kind, action.at, action.member_id, action.instance_id, action.why) == (kind, NOW, "A", "i", "why")
    assert (reason_id_in(event), reason_in(event)) == (reason_id, "words")
    assert named_action(started(reason_id=reason_id)) is None
    listed = listed_actions(K.SYNC_MISSED, started(reason_members=["A", "B"]))
    assert [(each.kind, each.member_id, each.at) for each in listed] == [(K.SYNC_MISSED, "A", NOW), (K.SYNC_MISSED, "B", NOW)]
    assert (reason_id_in(None), reason_in(None)) == (None, None)


def test_evidence_stands_in_order_once() -> None:
    extra: Event = line("MembersNotRejoined", NOW + 2 * SECOND)
    rebalance = context(extra=[extra])
    action = act(K.JOIN, 1)
    events = evidence_events(rebalance.window, [action, action])

    assert [event.time_us - NOW for event in events] == [0, 1, 2 * SECOND, PHASE]
