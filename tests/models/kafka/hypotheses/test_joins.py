"""Why members join: each condition alone, and each limit met exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.cluster.facts import ClusterFacts, TopicChange
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.hypothesis import INITIAL_DELAY_OVERRUN, LOOK_BACK_US, PROMPT_US, Hypothesis
from models.kafka.hypotheses.joins import (
    first_of_empty,
    had_members,
    has_gone_as_it_came,
    propose_join,
    restarts,
    returned_unseen,
)
from models.kafka.hypotheses.rejoins import FOLLOWUP_US, propose_rejoin
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, HEARD_US
from models.kafka.observations.roster import ClientLog, RosterMember
from models.tolerances import CONNECT_DELAY_US, GROUP_MIN_SESSION_US, PHASE_OVERRUN_US, PROBING_US, STORE_TIMEOUT_US
from models.units import US_PER_MS
from tests.models.kafka.hypotheses.contexts import NOW, PREVIOUS_ENDED, SECOND, act, before, by_client, by_request, context, started, taking
from tests.models.kafka.hypotheses.test_departures import of, shares
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
JOIN, REJOIN = act(K.JOIN, 0, "c"), act(K.REJOIN)
DELAY_US = 3_000 * US_PER_MS
COOPERATIVE = {"assignors": {4: "cooperative-sticky"}}


def joined(lasted: int) -> dict[str, object]:
    return {"joined": line("GenerationStarted", NOW + lasted, node="1", generation=5)}


# -- joins ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "values", "weight"),
    [
        (JOIN, {}, weights.JOIN_TOLD),
        (JOIN, {"clients": {"x"}}, weights.JOIN_TOLD_TWICE),
        (JOIN, {"has_requests": True}, weights.JOIN_TOLD_TWICE),
        (act(K.JOIN, -PROMPT_US, "c"), {}, weights.JOIN_TOLD),
        (act(K.JOIN, -PROMPT_US - 1, "c"), {}, weights.JOIN_UNTOLD),
        (act(K.JOIN, -PROMPT_US - 1, "c"), {"started": started(reason_id="new_member")}, weights.JOIN_TOLD),
        (None, {}, weights.JOIN_UNTOLD),
    ],
)
def test_one_more_member_joins(action: MemberAction | None, values: dict[str, object], weight: weights.Prior) -> None:
    basis = weight.value

    assert shares(propose_join(context(**values), action)) == {  # type: ignore[arg-type]
        Cause.MEMBER_JOIN: round(basis, 6),
        Cause.MEMBER_RESTART: round((1 - basis) / 2, 6),
    }


@pytest.mark.parametrize(
    ("values", "may"),
    [
        ({}, True),
        ({"witness": Witness.CLIENT}, False),
        ({"previous": before()}, False),
        ({"previous": None}, False),
        ({"first": ()}, False),
        ({"last": ()}, False),
        ({"last": ("b", "c")}, False),
    ],
    ids=["all others", "by members", "stable before", "the first", "nobody before", "nobody behind it", "one stayed"],
)
def test_a_generation_that_was_never_stored_may_have_gone_with_its_coordinator(values: dict[str, object], may: bool) -> None:
    unstored = {"witness": Witness.REQUEST, "previous": before(outcome="superseded"), "first": ("a", "b"), "last": ("c",)}
    hypotheses = propose_join(context(**unstored | values), by_request(K.JOIN, who="c"))  # type: ignore[arg-type]

    assert (shares(hypotheses) == of(weights.FIRST_OF_ONE_KNOWN)) is may


def test_who_left_and_came_back_was_restarted() -> None:
    leave, back = act(K.LEAVE, -5), act(K.JOIN, 0, member="A2")
    hypotheses = propose_join(context(leave, back), back)
    assert shares(hypotheses) == {cause: round(weights.CAME_BACK[cause], 6) for cause in (Cause.MEMBER_RESTART, Cause.MEMBER_JOIN)}
    assert hypotheses[0].actions == [back, leave]
    for values in ({"outcome": "empty"}, {"shared": {"a"}}):
        assert propose_join(context(leave, back, **values), back)[0].cause is Cause.MEMBER_JOIN  # type: ignore[arg-type]
    assert propose_join(context(act(K.LEAVE, 5, member="A2"), back), back)[0].cause is Cause.MEMBER_JOIN, "it went as it had come"


@pytest.mark.parametrize(
    ("lost", "values", "weight"),
    [
        (by_client(K.LOST_COORDINATOR, -4, "b"), {}, weights.CAME_TO_ANOTHER),
        (by_client(K.LOST_COORDINATOR, -1, "b"), {}, weights.CAME_TO_ANOTHER),
        (by_client(K.LOST_COORDINATOR, 0, "b"), {}, weights.CAME_BACK),
        (by_client(K.LOST_COORDINATOR, -5, "b"), {}, weights.CAME_BACK),
        (by_client(K.LOST_COORDINATOR, -4, "a"), {}, weights.CAME_BACK),
        (by_client(K.LOST_COORDINATOR, -4, "x"), {}, weights.CAME_BACK),
        (by_client(K.LOST_COORDINATOR, -4, "b"), {"witness": Witness.COORDINATOR}, weights.CAME_BACK),
    ],
    ids=[
        "after the leave",
        "right before",
        "behind the beginning",
        "with the leave",
        "its own",
        "of no member",
        "told by the coordinator",
    ],
)
def test_who_left_a_coordinator_that_others_lost_then_joins_anew(
    lost: MemberAction, values: dict[str, object], weight: weights.Shares
) -> None:
    leave, back = by_client(K.LEAVE, -5), by_client(K.JOIN, 0, member="A2")
    hypotheses = propose_join(context(leave, back, lost, **{"witness": Witness.CLIENT} | values), back)  # type: ignore[arg-type]

    assert shares(hypotheses) == of(weight)


@pytest.mark.parametrize(
    ("departure", "values", "weight"),
    [
        (act(K.EXPIRE, 5), {}, weights.NAMESAKE_EXPIRED),
        (act(K.EXPIRE, 5), {"outcome": "empty"}, None),
        (act(K.EXPIRE, 5, member="A2"), {}, None),
        (act(K.EXPIRE, 5, "b"), {}, None),
        (act(K.LEAVE, 5), {}, None),
    ],
    ids=["a namesake fell silent", "the group went empty", "it went as it had come", "another name", "a namesake left after it"],
)
def test_of_several_by_one_name_one_that_came_may_replace_one_that_fell_silent(
    departure: MemberAction, values: dict[str, object], weight: weights.Shares | None
) -> None:
    back = act(K.JOIN, 0, member="A2")
    found = shares(propose_join(context(back, departure, shared={"a"}, **values), back))  # type: ignore[arg-type]
    assert (found == of(weights.NAMESAKE_EXPIRED)) is (weight is weights.NAMESAKE_EXPIRED)
    assert max(found, key=lambda cause: found[cause]) is (Cause.MEMBER_RESTART if weight else Cause.MEMBER_JOIN)


def test_a_later_line_tells_of_the_former_self() -> None:
    back = act(K.JOIN, 0, member="A2")
    own, former = act(K.LEAVE, 5, member="A2"), act(K.EXPIRE, 6)
    assert propose_join(context(back, own, former), back)[0].cause is Cause.MEMBER_RESTART
    assert propose_join(context(back, own, act(K.EXPIRE, 6, "b")), back)[0].cause is Cause.MEMBER_JOIN
    assert propose_join(context(back, own, by_client(K.EXPIRE, 6)), back)[0].cause is Cause.MEMBER_JOIN


@pytest.mark.parametrize(
    ("arrival", "departure", "same"),
    [
        (act(K.JOIN, 0, "c", member="X"), act(K.LEAVE, 5, "c", member="X"), True),
        (act(K.JOIN, 0, "c", member="X"), act(K.LEAVE, 5, "c", member="Y"), False),
        (act(K.JOIN, 0, "c", member=""), act(K.LEAVE, 5, "c"), True),
        (act(K.JOIN, 5, "c", member=""), act(K.LEAVE, 5, "c"), False),
        (act(K.JOIN, 0, "c"), act(K.LEAVE, 5, "c", member=""), True),
        (act(K.JOIN, 0, "a", member=""), act(K.LEAVE, 5, "a"), False),
        (act(K.JOIN, 0, "a", member=""), act(K.LEAVE, 5, "a", member="A2"), True),
        (act(K.JOIN, 6, "a", member=""), act(K.LEAVE, 5, "a", member="A2"), False),
    ],
)
def test_who_went_is_who_had_come(arrival: MemberAction, departure: MemberAction, same: bool) -> None:
    assert taking(has_gone_as_it_came, context(), arrival, departure) is same
    assert not taking(has_gone_as_it_came, context(last=("c",)), act(K.JOIN, 0, "c", member=""), act(K.LEAVE, 5, "c"))


@pytest.mark.parametrize(
    ("later", "same"),
    [
        ((), True),
        ((by_client(K.JOINED, 6, "c"),), False),
        ((by_client(K.JOINED, 6, "a"),), True),
        ((by_client(K.JOIN, 6, "c"), by_client(K.JOINED, 7, "c")), True),
    ],
    ids=["no answer", "answered", "another is answered", "it asked again"],
)
def test_who_is_answered_has_not_gone_as_it_came(later: tuple[MemberAction, ...], same: bool) -> None:
    """Though one of its name expired meanwhile, which was its former self."""
    arrival, departure = by_client(K.JOIN, 0, "c", member=""), act(K.EXPIRE, 5, "c", member="C1")
    assert taking(has_gone_as_it_came, context(arrival, departure, *later), arrival, departure) is same


def test_others_that_left_and_came_back() -> None:
    gone, back = act(K.LEAVE, 1, "b"), act(K.JOIN, 2, "b", member="B2")
    assert restarts(context(gone, back), "a") == [back, gone]
    assert restarts(context(gone, back), "b") == []
    assert restarts(context(gone, back, shared={"b"}), "a") == []
    assert restarts(context(back), "a") == []
    assert restarts(context(back, act(K.LEAVE, 3, "b", member="B2")), "a") == []


@pytest.mark.parametrize(
    ("arrival", "values", "is_even"),
    [
        (by_client(K.JOIN, 1, "c"), {}, True),
        (by_client(K.JOIN, 0, "c"), {}, False),
        (act(K.JOIN, 1, "c"), {}, False),
        (by_client(K.JOIN, 1, "c"), {"last": ("a", "b", "c"), "members_after": 3}, False),
        (by_client(K.JOIN, 1, "c"), {"started": started(reason_id="new_member")}, False),
    ],
    ids=["behind", "at the same time", "by the coordinator", "nobody is gone", "told"],
)
def test_a_request_logged_behind_the_beginning_may_follow_a_leave(arrival: MemberAction, values: dict[str, object], is_even: bool) -> None:
    values = {"last": ("a", "c"), "tell_joins": {"a", "b", "c"}} | values

    assert (shares(propose_join(context(arrival, **values), arrival)) == of(weights.JOINED_AS_ANOTHER_WENT)) is is_even  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("instance", "outcome", "witness", "name", "is_replaced"),
    [
        ("i", "superseded", Witness.CLIENT, "b", True),
        ("i", "open", Witness.CLIENT, "b", True),
        ("i", "stable", Witness.CLIENT, "b", False),
        ("i", "superseded", Witness.COORDINATOR, "b", False),
        (None, "superseded", Witness.CLIENT, "b", False),
        ("i", "superseded", Witness.CLIENT, "d", False),
    ],
)
def test_a_static_member_that_comes_back_before_it_is_assigned_is_replaced(
    instance: str | None, outcome: str, witness: Witness, name: str, is_replaced: bool
) -> None:
    arrival = by_client(K.JOIN, who=name, member="B2", instance=instance)
    generations = {3: {"a": "A", "b": "B"}, 4: {"a": "A"}, 5: {"a": "A", name: "B2"}}
    refused = by_client(K.SYNC_FAILED, 5, "a", why="REBALANCE_IN_PROGRESS")
    values: dict[str, object] = {"generations": generations, "witness": witness, "previous": before(outcome=outcome)}
    rebalance = context(arrival, refused, **values)  # type: ignore[arg-type]

    assert shares(propose_join(context(arrival, **values), arrival)) != of(weights.STATIC_BACK_BEFORE_SYNC)  # type: ignore[arg-type]
    assert (shares(propose_join(rebalance, arrival)) == of(weights.STATIC_BACK_BEFORE_SYNC)) is is_replaced
    for count, is_still in ((2, is_replaced), (1, False)):  # one that is out of a generation whose members are all known joins anew
        known = context(arrival, refused, **values, members_before=count)  # type: ignore[arg-type]
        assert (shares(propose_join(known, arrival)) == of(weights.STATIC_BACK_BEFORE_SYNC)) is is_still


def test_a_known_member_that_joins_by_members_logs_returned() -> None:
    back = by_client(K.JOIN)
    expected = of(weights.RETURNED_UNSEEN)
    assert shares(propose_join(context(back, witness=Witness.CLIENT), back)) == expected
    assert shares(propose_join(context(back), back)) != expected
    assert shares(propose_join(context(back, witness=Witness.CLIENT, shared={"a"}), back)) != expected
    assert shares(propose_join(context(JOIN, witness=Witness.CLIENT), JOIN)) != expected
    assert shares(propose_join(context(witness=Witness.CLIENT), None)) != expected


@pytest.mark.parametrize(
    ("assignors", "instance", "other"),
    [
        ({4: "range", 5: "sticky"}, "i", True),
        ({4: "range", 5: "range"}, "i", False),
        ({4: "range", 5: "sticky"}, None, False),
        ({4: "range"}, "i", False),
        ({5: "range"}, "i", False),
    ],
)
def test_a_static_member_may_choose_another_assignor(assignors: dict[int, str], instance: str | None, other: bool) -> None:
    arrivals = [act(K.JOIN, instance=instance)]

    assert returned_unseen(context(assignors=assignors), arrivals) is (
        weights.RETURNED_WITH_ANOTHER_ASSIGNOR if other else weights.RETURNED_UNSEEN
    )
    assert returned_unseen(context(**{"last": ("a",)} | joined(60 * SECOND)), arrivals) is weights.RETURNED_BEFORE_EVICTION  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "lasted", "values", "is_answered"),
    [
        (by_client(K.JOIN, 1, "c"), CLOCK_TOLERANCE_US, {}, True),
        (by_client(K.JOIN, 1, "c"), CLOCK_TOLERANCE_US + 1, {}, False),
        (by_client(K.JOIN, 2, "c"), CLOCK_TOLERANCE_US, {}, False),
        (by_client(K.REJOIN, 1, "c"), CLOCK_TOLERANCE_US, {}, False),
        (by_client(K.JOIN, 1, "c"), CLOCK_TOLERANCE_US, {"witness": Witness.REQUEST}, False),
        (by_client(K.JOIN, 1, "c"), -1, {}, False),
    ],
    ids=["at once", "later", "it came later", "a known member", "told by requests", "stamps of whole seconds"],
)
def test_who_is_answered_at_once_found_nobody(action: MemberAction, lasted: int, values: dict[str, object], is_answered: bool) -> None:
    values = {"witness": Witness.CLIENT, "clients": {"c"}, "first": (), "last": ("c",), "started": started(1)} | joined(1 + lasted) | values
    new = {Cause.NEW_GROUP: round(weights.FOUND_NOBODY.value, 6), Cause.MEMBER_JOIN: round(1 - weights.FOUND_NOBODY.value, 6)}

    assert (shares(first_of_empty(context(action, state_before=State.EMPTY, **values), [action], 0.8)) == new) is is_answered  # type: ignore[arg-type]
    found = shares(propose_join(context(action, state_before=None, **values), action))  # type: ignore[arg-type]
    assert (found == new) is is_answered


@pytest.mark.parametrize(
    ("values", "weight"),
    [
        ({}, None),
        ({"witness": Witness.CLIENT}, weights.FIRST_OF_ONE_KNOWN),
        ({"witness": Witness.CLIENT, "clients": {"a"}}, weights.FIRST_OF_ONE_KNOWN),
        ({"witness": Witness.CLIENT, "clients": {"a", "b"}}, weights.FIRST_OF_KNOWN),
        ({"witness": Witness.CLIENT, "generation_before": 0}, None),
        ({"witness": Witness.CLIENT, "members_after": 1, "last": ("c",)}, None),
        ({"witness": Witness.CLIENT, "members_after": 2, "last": ("c", "d")}, weights.FIRST_OF_ONE_KNOWN),
    ],
)
def test_the_first_of_an_empty_group(values: dict[str, object], weight: weights.Shares | None) -> None:
    rebalance = context(JOIN, state_before=State.EMPTY, **values)  # type: ignore[arg-type]

    assert shares(first_of_empty(rebalance, [JOIN], 0.9)) == (of(weight) if weight else {Cause.NEW_GROUP: 0.9})
    first = {Cause.NEW_GROUP: round(weights.FIRST_MEMBER.value, 6)}
    assert shares(propose_join(rebalance, JOIN)) == (of(weight) if weight else first)


NEWCOMER = by_client(K.JOIN, 0, "c", member="")
SILENT = {"witness": Witness.CLIENT, "tell_joins": {"a", "b", "c"}, "clients": {"a", "b", "c"}, "last": ("a", "c")}


@pytest.mark.parametrize(
    ("values", "actions", "doubted"),
    [
        ({}, [], True),
        ({"joined": line("GenerationStarted", NOW + HEARD_US, node="1", generation=5)}, [], True),
        ({"joined": line("GenerationStarted", NOW + HEARD_US + 1, node="1", generation=5)}, [], False),
        ({"last": ("a", "b", "c")}, [], False),
        ({"witness": Witness.REQUEST}, [], False),
        ({}, [by_client(K.STEP, -GROUP_MIN_SESSION_US, "b")], True),
        ({}, [by_client(K.STEP, 1 - GROUP_MIN_SESSION_US, "b")], False),
        ({}, [by_client(K.CLOSE, HEARD_US - GROUP_MIN_SESSION_US, "b")], True),
        ({}, [by_client(K.CLOSE, 1 + HEARD_US - GROUP_MIN_SESSION_US, "b")], False),
        ({}, [by_client(K.REJOIN, 5, "b")], False),
        ({}, [by_client(K.FENCED, 60 * SECOND, "b")], True),
        ({}, [by_client(K.STEP, -9, "a")], True),
    ],
    ids=[
        "gone without a line",
        "a short phase",
        "waited for",
        "still a member",
        "by requests",
        "silent for a session",
        "alive before",
        "closed long before",
        "closed before",
        "alive meanwhile",
        "back later",
        "another one alive",
    ],
)
def test_who_joins_as_another_may_have_expired_did_not_surely_begin_it(
    values: dict[str, object], actions: list[MemberAction], doubted: bool
) -> None:
    rebalance = context(*actions, NEWCOMER, **SILENT | values)  # type: ignore[arg-type]

    assert (shares(propose_join(rebalance, NEWCOMER)) == of(weights.APPEARED_AND_SILENT)) is doubted


OLD = {"witness": Witness.CLIENT, "outcome": "open", "joined": None, "ended_at": None, "generation_after": None, "last": ()}


@pytest.mark.parametrize(
    ("values", "actions", "doubted"),
    [
        ({}, [], True),
        ({"outcome": "stable"}, [], False),
        ({"leaves_logged": True}, [], False),
        ({"witness": Witness.REQUEST}, [], False),
        ({}, [by_client(K.REBALANCE_NOTICED, SECOND, "b")], False),
        ({}, [by_client(K.STEP, -SECOND, "b")], True),
        ({}, [by_client(K.STEP, SECOND, "c")], True),
    ],
    ids=["open", "answered", "leaves are logged", "by requests", "one heard of it", "one was alive before", "its own"],
)
def test_a_join_that_nobody_answers_may_find_an_empty_group(values: dict[str, object], actions: list[MemberAction], doubted: bool) -> None:
    rebalance = context(*actions, NEWCOMER, **OLD | values)  # type: ignore[arg-type]

    assert (shares(propose_join(rebalance, NEWCOMER)) == of(weights.JOINED_UNANSWERED)) is doubted


def test_where_a_library_logs_leaves_a_join_that_nobody_answers_finds_who_did_not_leave() -> None:
    rebalance = context(NEWCOMER, **OLD)  # type: ignore[arg-type]
    for library, doubted in (("java", True), ("ruby_kafka", False)):
        rebalance.roster.logs["a"] = ClientLog("a.log", library)

        assert (shares(propose_join(rebalance, NEWCOMER)) == of(weights.JOINED_UNANSWERED)) is doubted, library


LONG = {"joined": line("GenerationStarted", NOW + 10 * SECOND, node="1", generation=5), "first": ("a", "b", "d"), "tell_joins": {*"abcd"}}


@pytest.mark.parametrize(
    ("actions", "doubted"),
    [
        ([by_client(K.REBALANCE_NOTICED, SECOND, "d")], True),
        ([by_client(K.WANTS_REJOIN, SECOND, "d", why="group is already rebalancing")], True),
        ([by_client(K.WANTS_REJOIN, SECOND, "d", why="its own")], False),
        ([by_client(K.REBALANCE_NOTICED, SECOND, "a")], False),
        ([by_client(K.REBALANCE_NOTICED, -1, "d")], False),
        ([by_client(K.REBALANCE_NOTICED, SECOND, "b"), by_client(K.REBALANCE_NOTICED, SECOND, "d")], False),
    ],
    ids=["heard", "heard, by its wish", "wishes it for itself", "who stays", "before", "both"],
)
def test_beside_one_that_was_waited_for_another_may_have_expired_before(actions: list[MemberAction], doubted: bool) -> None:
    rebalance = context(*actions, NEWCOMER, **SILENT | LONG)  # type: ignore[arg-type]

    assert (shares(propose_join(rebalance, NEWCOMER)) == of(weights.APPEARED_AND_SILENT)) is doubted


UNKNOWN = {"state_before": None, "first": (), "last": ()}


@pytest.mark.parametrize(
    ("lasted", "values", "weight"),
    [
        (DELAY_US, {}, weights.AS_FROM_EMPTY),
        (DELAY_US - 1, {}, weights.MID_LIFE),
        (DELAY_US + round(DELAY_US * INITIAL_DELAY_OVERRUN), {}, weights.AS_FROM_EMPTY),
        (DELAY_US + round(DELAY_US * INITIAL_DELAY_OVERRUN) + 1, {}, weights.MID_LIFE),
        (2 * DELAY_US, {}, weights.MID_LIFE),
        (9, {"members_after": 1}, weights.AS_FROM_EMPTY),
        (9, {"members_after": 2}, weights.MID_LIFE),
        (9, {"members_after": 0}, weights.AS_FROM_EMPTY),
        (DELAY_US, {"facts": ClusterFacts(initial_delay_ms=0)}, weights.MID_LIFE),
    ],
)
def test_a_join_in_an_unknown_state(lasted: int, values: dict[str, object], weight: weights.Prior) -> None:
    hypotheses = propose_join(context(JOIN, **UNKNOWN | joined(lasted) | values), JOIN)  # type: ignore[arg-type]

    assert shares(hypotheses) == {Cause.NEW_GROUP: round(weight.value, 6), Cause.MEMBER_JOIN: round(1 - weight.value, 6)}


def test_more_members_make_the_delay_longer() -> None:
    other = act(K.JOIN, 5, "d")
    for lasted, weight in ((2 * DELAY_US, weights.AS_FROM_EMPTY), (3 * DELAY_US, weights.MID_LIFE)):
        hypotheses = propose_join(context(JOIN, other, **UNKNOWN | joined(lasted)), JOIN)  # type: ignore[arg-type]
        assert shares(hypotheses)[Cause.NEW_GROUP] == round(weight.value, 6)
    hypotheses = propose_join(context(JOIN, other, **UNKNOWN | joined(9) | {"members_after": 2}), JOIN)  # type: ignore[arg-type]
    assert shares(hypotheses)[Cause.NEW_GROUP] == round(weights.AS_FROM_EMPTY.value, 6)


@pytest.mark.parametrize(
    ("values", "capped"),
    [
        ({"witness": Witness.CLIENT, "clients": {"c"}}, True),
        ({"witness": Witness.CLIENT, "clients": {"c", "d"}}, False),
        ({"witness": Witness.CLIENT, "clients": {"c"}, "generation_before": 0}, False),
        ({"clients": {"c"}}, False),
    ],
)
def test_one_log_alone_does_not_tell_of_others(values: dict[str, object], capped: bool) -> None:
    hypotheses = propose_join(context(JOIN, **UNKNOWN | joined(DELAY_US) | values), JOIN)  # type: ignore[arg-type]
    least = min(weights.AS_FROM_EMPTY.value, weights.FIRST_OF_ONE_KNOWN[Cause.NEW_GROUP])

    assert shares(hypotheses)[Cause.NEW_GROUP] == round(least if capped else weights.AS_FROM_EMPTY.value, 6)


def test_who_was_evicted_comes_back() -> None:
    expected = of(weights.RETURNED_BEFORE_EVICTION)
    evicted = act(K.EVICT, 5, "c")
    assert shares(propose_join(context(JOIN, evicted, **UNKNOWN), JOIN)) == expected  # type: ignore[arg-type]
    assert shares(propose_join(context(JOIN, evicted, shared={"c"}, **UNKNOWN), JOIN)) != expected  # type: ignore[arg-type]
    assert shares(propose_join(context(JOIN, act(K.EVICT, 5, "d"), **UNKNOWN), JOIN)) != expected  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("action", "had"),
    [
        (act(K.JOIN, CLOCK_TOLERANCE_US, "c", state="Stable"), True),
        (act(K.JOIN, CLOCK_TOLERANCE_US + 1, "c", state="Stable"), False),
        (act(K.JOIN, 1 - CLOCK_TOLERANCE_US, "c", state="Stable"), True),
        (act(K.JOIN, -CLOCK_TOLERANCE_US, "c", state="Stable"), False),
        (act(K.JOIN, 0, "c", state="Empty"), False),
        (by_client(K.REBALANCE_NOTICED, 0), True),
        (by_client(K.REBALANCE_NOTICED, -1), False),
        (by_client(K.WANTS_REJOIN, 5, why="other"), False),
        (act(K.EVICT, 5, "d"), True),
        (by_client(K.REVOKE, 0), True),
        (by_client(K.REVOKE, 1), False),
        (by_client(K.REVOKE, 1 - LOOK_BACK_US), True),
        (by_client(K.REVOKE, -LOOK_BACK_US), False),
        (by_client(K.REVOKE, 0, partitions=[]), False),
    ],
)
def test_lines_show_that_a_group_had_members(action: MemberAction, had: bool) -> None:
    assert had_members(context(action, **UNKNOWN).phase) is had  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", [K.LEAVE, K.FENCED, K.POLL_TIMEOUT])
def test_who_gave_up_partitions_may_have_gone(kind: ActionKind) -> None:
    assert not had_members(context(by_client(K.REVOKE), by_client(kind, -9), **UNKNOWN).phase)  # type: ignore[arg-type]
    assert had_members(context(by_client(K.REVOKE), by_client(kind, -LOOK_BACK_US), **UNKNOWN).phase)  # type: ignore[arg-type]


@pytest.mark.parametrize(("who", "at", "had"), [("a", -5, False), ("a", -10, True), ("b", -5, True)])
def test_who_was_assigned_since_gave_up_partitions_for_an_earlier_generation(who: str, at: int, had: bool) -> None:
    actions = [by_client(K.REVOKE, -9, "a"), by_client(K.ASSIGNED, at, who)]

    assert had_members(context(*actions, **UNKNOWN).phase) is had  # type: ignore[arg-type]


@pytest.mark.parametrize(("why", "had"), [("UNKNOWN_MEMBER_ID", False), ("MEMBER_ID_REQUIRED", True), (None, True)])
def test_who_is_refused_as_unknown_gave_up_partitions_of_a_group_that_may_be_empty(why: str | None, had: bool) -> None:
    assert had_members(context(by_client(K.REVOKE, -2), by_client(K.JOIN_FAILED, -1, why=why), **UNKNOWN).phase) is had  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("gone", "held"),
    [
        (act(K.LEAVE, 9 * SECOND), True),
        (act(K.LEAVE, 9 * SECOND - PHASE_OVERRUN_US), True),
        (act(K.LEAVE, 9 * SECOND - PHASE_OVERRUN_US - 1), False),
        (by_client(K.LEAVE, 9 * SECOND), False),
        (act(K.LEAVE, 9 * SECOND, "c"), False),
    ],
)
def test_a_phase_that_ends_as_one_goes_had_members(gone: MemberAction, held: bool) -> None:
    facts = ClusterFacts(initial_delay_ms=7)
    hypotheses = propose_join(context(JOIN, gone, facts=facts, **UNKNOWN | joined(9 * SECOND)), JOIN)  # type: ignore[arg-type]

    assert (shares(hypotheses)[Cause.NEW_GROUP] == round(weights.HELD_UNTIL_ONE_WENT.value, 6)) is held


# -- rejoins --------------------------------------------------------------------------------------------------------


def rejoin(*actions: MemberAction, action: MemberAction | None = REJOIN, **values: object) -> list[Hypothesis]:
    return propose_rejoin(context(*actions, **values), action)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("why", "expected"),
    [
        ("need to revoke partitions [x]", {Cause.COOPERATIVE_FOLLOWUP: weights.FOLLOWUP_TOLD.value}),
        (
            "cached metadata has changed",
            {Cause.METADATA_CHANGE: weights.METADATA_TOLD.value, Cause.SUBSCRIPTION_CHANGE: 1 - weights.METADATA_TOLD.value},
        ),
        ("connect worker requested rejoin", weights.CONNECT_REJOIN.of),
        ("words of its own", {Cause.UNKNOWN: weights.OWN_REASON.value}),
        ("not provided", weights.REJOINED_UNTOLD.of),
        ("encountered a fault", weights.REJOINED_UNTOLD.of),
        (None, weights.REJOINED_UNTOLD.of),
    ],
)
def test_a_reason_tells_why_a_member_rejoins(why: str | None, expected: dict[Cause, float]) -> None:
    expected = {cause: round(share, 6) for cause, share in expected.items()}
    assert shares(rejoin(action=act(K.REJOIN, why=why))) == expected
    if why is not None:
        assert shares(rejoin(by_client(K.WANTS_REJOIN, -5, why=why))) == expected


@pytest.mark.parametrize(
    ("at", "who", "counts"),
    [
        (CLOCK_TOLERANCE_US, "a", True),
        (CLOCK_TOLERANCE_US + 1, "a", False),
        (CLOCK_TOLERANCE_US - LOOK_BACK_US, "a", True),
        (CLOCK_TOLERANCE_US - LOOK_BACK_US - 1, "a", False),
        (0, "b", False),
    ],
)
def test_the_members_log_tells_why_it_rejoins(at: int, who: str, counts: bool) -> None:
    wish = by_client(K.WANTS_REJOIN, at, who, why="words of its own")
    assert (
        shares(rejoin(wish, previous_joined_at=NOW - 2 * LOOK_BACK_US)) == {Cause.UNKNOWN: round(weights.OWN_REASON.value, 6)}
    ) is counts


def test_all_that_revoke_are_named() -> None:
    wishes = [by_client(K.WANTS_REJOIN, at, who, why="need to revoke partitions") for at, who in ((1, "a"), (2, "b"), (3, "b"))]
    other = by_client(K.WANTS_REJOIN, 4, "c", why="other")

    assert rejoin(*wishes, other, action=act(K.REJOIN, why="need to revoke partitions"))[0].actions[1:] == [wishes[1]]


@pytest.mark.parametrize(
    ("at", "began", "changed"),
    [
        (0, 9, True),
        (CLOCK_TOLERANCE_US, 9, True),
        (CLOCK_TOLERANCE_US + 1, 9, False),
        (-LOOK_BACK_US, LOOK_BACK_US + 9, True),
        (-LOOK_BACK_US - 1, LOOK_BACK_US + 9, False),
        (-5, 5, False),
        (-4, 5, True),
    ],
)
def test_connectors_changed_right_before(at: int, began: int, changed: bool) -> None:
    previous = before(started=line("RebalanceStarted", NOW - began))
    expected = {Cause.CONNECTOR_CONFIG_CHANGE: round(weights.WORK_CHANGED.value, 6)}

    assert (shares(rejoin(work_changed_at=[NOW + at], previous=previous)) == expected) is changed
    assert (shares(rejoin(work_changed_at=[NOW], previous=None)) == expected) is True


@pytest.mark.parametrize(
    ("ago", "began", "due"),
    [
        (0, SECOND, True),
        (FOLLOWUP_US, 2 * FOLLOWUP_US, True),
        (FOLLOWUP_US + 1, 2 * FOLLOWUP_US, False),
        (-CLOCK_TOLERANCE_US, SECOND, True),
        (-CLOCK_TOLERANCE_US - 1, SECOND, False),
        (5, CLOCK_TOLERANCE_US + 5, False),
        (5, CLOCK_TOLERANCE_US + 6, True),
    ],
)
def test_connects_wait_for_a_lost_worker_ends(ago: int, began: int, due: bool) -> None:
    previous = before(started=line("RebalanceStarted", NOW - began))
    expected = {Cause.SCHEDULED_REBALANCE: round(weights.WORK_DUE.value, 6)}

    assert (shares(rejoin(work_due_at=[NOW - ago], previous=previous)) == expected) is due
    assert (shares(rejoin(work_due_at=[NOW], previous=None)) == expected) is True


def test_a_member_rejoins_after_a_load() -> None:
    loaded = {"load_before": line("GroupLoaded", NOW - 9)}
    lost = before(outcome="coordinator_lost")
    assert shares(rejoin(previous=lost, **loaded)) == of(weights.BACK_AFTER_INTERRUPTION)  # type: ignore[arg-type]
    for reason, weight in (("leader_rejoin", weights.BACK_AFTER_ITS_OWN_REBALANCE), ("leave", weights.BACK_AFTER_INTERRUPTION)):
        lost = before(outcome="coordinator_lost", started=line("RebalanceStarted", NOW - SECOND, reason_id=reason))
        assert shares(rejoin(previous=lost, **loaded)) == of(weight)  # type: ignore[arg-type]
    unstarted = before(outcome="coordinator_lost", started=None)
    assert shares(rejoin(previous=unstarted, **loaded)) == of(weights.BACK_AFTER_INTERRUPTION)  # type: ignore[arg-type]
    assert shares(rejoin(previous=before(generation_after=3), **loaded)) == of(weights.BACK_AFTER_LOAD)  # type: ignore[arg-type]
    assert shares(rejoin(previous=before(outcome="superseded"), **loaded)) == of(weights.BACK_AFTER_LOAD)  # type: ignore[arg-type]
    assert shares(rejoin(previous=None, **loaded)) == of(weights.BACK_AFTER_LOAD)  # type: ignore[arg-type]
    assert shares(rejoin(**loaded)) == of(weights.REJOINED_UNTOLD)  # type: ignore[arg-type]
    assert Cause.SUBSCRIPTION_CHANGE in shares(rejoin(by_client(K.SUBSCRIBE, -5), previous=None, **loaded))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("began", "generation", "assignor", "weight"),
    [
        (FOLLOWUP_US, 4, "cooperative-sticky", None),
        (FOLLOWUP_US + 1, 4, "cooperative-sticky", weights.BACK_AFTER_INTERRUPTION),
        (-1, 4, "cooperative-sticky", weights.BACK_AFTER_INTERRUPTION),
        (FOLLOWUP_US, 4, "range", weights.BACK_AFTER_INTERRUPTION),
        (FOLLOWUP_US, 3, "cooperative-sticky", weights.SAME_TOPICS),
    ],
    ids=["a second phase", "later", "before the assignment", "eager", "of another generation"],
)
def test_what_a_lost_coordinator_cut_off_begins_again(began: int, generation: int, assignor: str, weight: weights.Shares | None) -> None:
    """No line tells of the next one's load, where requests alone are there."""
    settled_at = NOW - 9 * SECOND
    lost = before(outcome="coordinator_lost", generation_before=generation, started=line("RebalanceStarted", settled_at + began))
    known = {"synced_at": {4: settled_at}, "assignors": {4: assignor}, "asked_topics": {"a": ("t",)}}
    found = shares(rejoin(previous=lost, **known))  # type: ignore[arg-type]

    assert found == of(weight) if weight is not None else found[Cause.COOPERATIVE_FOLLOWUP] == round(weights.FOLLOWUP_COOPERATIVE.value, 6)


@pytest.mark.parametrize(
    ("actions", "values", "share"),
    [
        ([by_client(K.LOST_COORDINATOR, -9)], {}, 0.7),
        ([by_client(K.LOST_COORDINATOR, -9)], {"previous_joined_at": NOW - STORE_TIMEOUT_US}, 0.7),
        ([by_client(K.LOST_COORDINATOR, -9)], {"previous_joined_at": NOW - STORE_TIMEOUT_US + 1}, 0.3),
        ([by_client(K.LOST_COORDINATOR, -9)], {"previous": before()}, None),
        ([by_client(K.LOST_COORDINATOR, -9)], {"previous": None}, None),
        ([by_client(K.LOST_COORDINATOR, -9)], {"witness": Witness.REQUEST}, None),
        ([by_client(K.LOST_COORDINATOR, -9, "b")], {}, None),
        ([by_client(K.LOST_COORDINATOR, -61 * SECOND)], {}, None),
        ([by_client(K.SYNCED, -20), by_client(K.LOST_COORDINATOR, -9)], {}, None),
        ([by_client(K.SYNCED, -20, "b"), by_client(K.LOST_COORDINATOR, -9)], {}, 0.7),
        ([], {}, None),
    ],
)
def test_a_sync_without_an_answer_leaves_room_for_a_failed_write(
    actions: list[MemberAction], values: dict[str, object], share: float | None
) -> None:
    unanswered = {"previous": before(outcome="superseded"), "previous_joined_at": NOW - 60 * SECOND, "witness": Witness.CLIENT}
    found = shares(rejoin(*actions, asked_topics={"a": ("t",)}, **unanswered | values))  # type: ignore[arg-type]

    assert found.get(Cause.ASSIGNMENT_STORE_FAILED) == share
    assert found[Cause.METADATA_CHANGE] == round(weights.SAME_TOPICS[Cause.METADATA_CHANGE] * (1 - (share or 0)), 6)


@pytest.mark.parametrize(
    ("actions", "values", "weight"),
    [
        ([by_client(K.LOST_COORDINATOR, -9)], {}, weights.BACK_AFTER_LOAD),
        ([by_client(K.LOST_COORDINATOR, -9, "b")], {}, weights.SAME_TOPICS),
        ([by_client(K.LOST_COORDINATOR, -9)], {"previous_joined_at": None}, weights.SAME_TOPICS),
        ([by_client(K.SYNCED, -20), by_client(K.LOST_COORDINATOR, -9)], {}, weights.SAME_TOPICS),
        ([by_client(K.ASSIGNED, -20), by_client(K.LOST_COORDINATOR, -9)], {}, weights.SAME_TOPICS),
        ([by_client(K.SYNCED, -20, "b"), by_client(K.LOST_COORDINATOR, -9)], {}, weights.BACK_AFTER_LOAD),
        ([by_client(K.SUBSCRIBE, -20), by_client(K.LOST_COORDINATOR, -9)], {}, None),
        ([], {}, weights.SAME_TOPICS),
    ],
    ids=["its own", "another's", "join phase not known", "synced", "assigned", "another synced", "subscribed", "none lost"],
)
def test_a_member_whose_sync_its_lost_coordinator_left_unanswered_rejoins_at_the_next(
    actions: list[MemberAction], values: dict[str, object], weight: weights.Shares | None
) -> None:
    """The lost one has logged the leader's assignment."""
    loaded = line("GroupLoaded", NOW - 5, node="2")
    stable = {"load_before": loaded, "previous_joined_at": NOW - 60 * SECOND, "asked_topics": {"a": ("t",)}}
    found = shares(rejoin(*actions, **stable | values))  # type: ignore[arg-type]

    assert found == of(weight) if weight is not None else found[Cause.SUBSCRIPTION_CHANGE] == weights.SUBSCRIBED.value


METADATA, SUBSCRIPTION = "cached metadata has changed", "subscription has changed"


@pytest.mark.parametrize(
    ("wishes", "why", "causes"),
    [
        ([METADATA, SUBSCRIPTION], None, [Cause.METADATA_CHANGE, Cause.SUBSCRIPTION_CHANGE]),
        ([SUBSCRIPTION, METADATA], None, [Cause.SUBSCRIPTION_CHANGE, Cause.METADATA_CHANGE]),
        ([METADATA, SUBSCRIPTION], "not provided", [Cause.METADATA_CHANGE, Cause.SUBSCRIPTION_CHANGE]),
        ([METADATA, SUBSCRIPTION], METADATA, [Cause.METADATA_CHANGE]),
        ([METADATA, METADATA], None, [Cause.METADATA_CHANGE]),
        ([METADATA, "group is already rebalancing"], None, [Cause.METADATA_CHANGE]),
    ],
)
def test_one_request_may_have_two_reasons_by_its_clients_log(wishes: list[str], why: str | None, causes: list[Cause]) -> None:
    told = [by_client(K.WANTS_REJOIN, number - 9, why=text) for number, text in enumerate(wishes)]
    hypotheses = rejoin(*told, action=act(K.REJOIN, why=why))

    sure = [each for each in hypotheses if each.probability > 0.1]
    assert [each.cause for each in sure] == causes
    assert {each.probability for each in sure} == {weights.METADATA_TOLD.value / len(causes)}


def test_connect_plans_its_rebalances() -> None:
    planned = before(ended_at=NOW - CONNECT_DELAY_US)
    told = act(K.REJOIN, why="connect worker requested rejoin")
    assert shares(rejoin(action=told, previous=planned)) == of(weights.CONNECT_PLANNED)
    assert shares(rejoin(protocol_type="connect")) == of(weights.CONNECT_REJOIN)
    followed = {"protocol_type": "connect", "previous_ended_at": NOW - 9, **COOPERATIVE}
    assert shares(rejoin(**followed)) == of(weights.CONNECT_FOLLOWUP)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "lag", "reason", "weight"),
    [
        ("app-streamthread-1-consumer", PROBING_US, None, weights.PROBING_IN_TIME),
        ("app-StreamThread-1-consumer", PROBING_US, None, weights.PROBING_IN_TIME),
        ("app-streamthread-1-consumer", PROBING_US - 1, None, weights.REJOINED_UNTOLD),
        ("other", PROBING_US, None, weights.REJOINED_UNTOLD),
        ("connect-1", CONNECT_DELAY_US, "leave", weights.CONNECT_IN_TIME),
        ("connect-1", CONNECT_DELAY_US, "heartbeat_expiration", weights.CONNECT_IN_TIME),
        ("connect-1", CONNECT_DELAY_US, "new_member", weights.REJOINED_UNTOLD),
        ("connect-1", CONNECT_DELAY_US - 1, "leave", weights.REJOINED_UNTOLD),
        ("other", CONNECT_DELAY_US, "leave", weights.REJOINED_UNTOLD),
    ],
)
def test_libraries_plan_when_they_rejoin(name: str, lag: int, reason: str | None, weight: weights.Shares) -> None:
    previous = before(ended_at=NOW - lag, started=line("RebalanceStarted", NOW - lag - SECOND, reason_id=reason))

    assert shares(rejoin(action=act(K.REJOIN, who=name), previous=previous)) == of(weight)
    assert shares(rejoin(action=act(K.REJOIN, who=name), previous=None)) == of(weights.REJOINED_UNTOLD)


@pytest.mark.parametrize(
    ("at", "who", "subscribed"),
    [
        (0, "a", True),
        (CLOCK_TOLERANCE_US, "a", True),
        (CLOCK_TOLERANCE_US + 1, "a", False),
        (PREVIOUS_ENDED - NOW, "a", False),
        (PREVIOUS_ENDED - NOW + 1, "a", True),
        (0, "b", False),
    ],
)
def test_a_member_subscribed_since_the_last_rebalance(at: int, who: str, subscribed: bool) -> None:
    weight = weights.SUBSCRIBED.value
    expected = {Cause.SUBSCRIPTION_CHANGE: round(weight, 6), Cause.METADATA_CHANGE: round(1 - weight, 6)}

    assert (shares(rejoin(by_client(K.SUBSCRIBE, at, who))) == expected) is subscribed


def _changed() -> ClusterFacts:
    return ClusterFacts(topic_changes=[TopicChange(NOW - 9, "t", "created", line("TopicCreated", NOW - 9))])


@pytest.mark.parametrize(
    ("values", "changed", "index"),
    [
        ({"clients": {"a"}}, True, 0),
        ({"patterns": {"a"}}, True, 1),
        ({"patterns": {"a"}, "clients": {"a"}}, False, 1),
        ({"clients": {"b"}}, True, 2),
        ({}, True, 2),
        ({"clients": {"a"}}, False, 3),
        ({"patterns": {"b"}}, False, 3),
    ],
)
def test_a_subscription_that_is_said_to_have_changed(values: dict[str, object], changed: bool, index: int) -> None:
    facts = _changed() if changed else ClusterFacts()
    share = weights.SAID_SUBSCRIPTION_CHANGED[index].value
    hypotheses = rejoin(action=act(K.REJOIN, why="the subscription has changed"), facts=facts, **values)  # type: ignore[arg-type]

    assert shares(hypotheses) == {Cause.METADATA_CHANGE: round(share, 6), Cause.SUBSCRIPTION_CHANGE: round(1 - share, 6)}


def test_changed_topics_are_likely_the_reason() -> None:
    share = weights.TOPIC_CHANGED.value

    assert shares(rejoin(facts=_changed())) == {
        Cause.METADATA_CHANGE: round(share, 6), Cause.SUBSCRIPTION_CHANGE: round(weights.SUBSCRIBED.value - share, 6),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("lag", "previous", "follows"),
    [
        (0, before(), True),
        (FOLLOWUP_US, before(), True),
        (FOLLOWUP_US + 1, before(), False),
        (-1, before(), False),
        (9, before(outcome="superseded"), False),
        (9, before(state_before=State.EMPTY), False),
        (9, None, False),
        (None, before(), False),
    ],
)
def test_a_follow_up_comes_soon(lag: int | None, previous: object, follows: bool) -> None:
    values = {"previous": previous, "previous_ended_at": NOW - lag if lag is not None else None}

    for assignor, weight in (({4: "cooperative-sticky"}, weights.FOLLOWUP_COOPERATIVE), ({}, weights.FOLLOWUP)):
        found = shares(rejoin(assignors=assignor, **values))  # type: ignore[arg-type]
        assert (found.get(Cause.COOPERATIVE_FOLLOWUP) == round(weight.value, 6)) is follows
        assert not follows or found[Cause.METADATA_CHANGE] == round((1 - weight.value) / 2, 6)
    assert Cause.COOPERATIVE_FOLLOWUP not in shares(rejoin(assignors={4: "range"}, **values)) or not follows  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("synced_at", "follows"),
    [
        ({4: NOW - FOLLOWUP_US}, True),
        ({4: NOW - FOLLOWUP_US - 1}, False),
        ({4: NOW + 1}, False),
        ({3: NOW}, False),
    ],
    ids=["soon after its write", "long after", "of a later time", "of another generation"],
)
def test_a_follow_up_comes_soon_after_members_got_an_assignment(synced_at: dict[int, int], follows: bool) -> None:
    """The coordinator has it seconds before, if its write takes so long."""
    found = shares(rejoin(previous=before(), previous_ended_at=NOW - 2 * FOLLOWUP_US, synced_at=synced_at))

    assert (found.get(Cause.COOPERATIVE_FOLLOWUP) == round(weights.FOLLOWUP.value, 6)) is follows


WISH = by_client(K.WANTS_REJOIN, -4 * SECOND, why="need to revoke partitions [x]")


@pytest.mark.parametrize(
    ("actions", "is_known"),
    [
        ([], False),
        ([by_client(K.REJOIN, -3 * SECOND), by_client(K.LOST_COORDINATOR, -SECOND)], True),
        ([by_client(K.REJOIN, -SECOND), by_client(K.LOST_COORDINATOR, -9)], False),
        ([by_client(K.LOST_COORDINATOR, -SECOND)], False),
        ([by_client(K.REJOIN, -3 * SECOND, "b"), by_client(K.LOST_COORDINATOR, -SECOND, "b")], False),
    ],
    ids=["long ago", "lost", "asked late", "nothing asked", "another's"],
)
def test_a_request_that_was_lost_with_its_coordinator_is_sent_again_as_it_was(actions: list[MemberAction], is_known: bool) -> None:
    again = by_client(K.REJOIN)

    assert (shares(rejoin(WISH, *actions, again, action=again)) == {Cause.COOPERATIVE_FOLLOWUP: weights.FOLLOWUP_TOLD.value}) is is_known


@pytest.mark.parametrize(
    ("reason", "who", "is_sure"),
    [
        ("update_metadata", "B", False),
        ("leader_rejoin", "B", False),
        ("update_metadata", "A", True),
        ("new_member", "B", True),
        (None, None, True),
    ],
)
def test_a_follow_up_behind_another_ones_rejoin_may_be_a_change_that_all_make(reason: str | None, who: str | None, is_sure: bool) -> None:
    began = started(-SECOND, reason_id=reason, reason_member_id=who)
    previous, members = before(started=began), [RosterMember(name.upper(), client_id=name) for name in "ab"]
    rebalance = rejoin(assignors={4: "cooperative-sticky"}, previous=previous, previous_ended_at=NOW - 9, members=members)

    weight = weights.FOLLOWUP_COOPERATIVE if is_sure else weights.FOLLOWUP
    assert shares(rebalance)[Cause.COOPERATIVE_FOLLOWUP] == round(weight.value, 6)


@pytest.mark.parametrize(
    ("asked_at", "weight"),
    [(NOW, weights.ASKED_FOR_OTHER_TOPICS), (NOW - 9, None), (NOW + CLOCK_TOLERANCE_US + 1, None)],
    ids=["by this request", "by the one before", "by a later one"],
)
def test_who_asks_for_other_topics_right_behind_an_assignment_follows_nothing_up(asked_at: int, weight: weights.Shares | None) -> None:
    known = {"assignors": {4: "cooperative-sticky"}, "asked_otherwise_at": {"a": [asked_at]}, "previous_ended_at": NOW - 9}
    found = shares(rejoin(previous=before(started=started(-SECOND)), **known))  # type: ignore[arg-type]

    assert found == of(weight) if weight is not None else Cause.COOPERATIVE_FOLLOWUP in found


@pytest.mark.parametrize(
    ("first", "then", "follows"),
    [((2, 3), (3, 3), True), ((2, 2), (2, 3), False), ((3, 2), (2, 2), False), ((None, 3), (3, 3), False), ((2, None), (None, 3), False)],
    ids=["one came before", "one came with it", "one went", "unknown before", "unknown after"],
)
def test_a_member_rejoins_again_for_those_that_came_with_its_last_step(
    first: tuple[int | None, int | None], then: tuple[int | None, int | None], follows: bool
) -> None:
    """Step by step its partitions go to others; if nobody came, it has nothing left to give up."""
    began = started(-SECOND, reason_id="leader_rejoin", reason_member_id="A")
    previous = replace(before(started=began), previous_ended_at=NOW - SECOND - 9, members_before=first[0], members_after=first[1])
    counts = {"members_before": then[0], "members_after": then[1]}
    members = [RosterMember("A", client_id="a")]
    rebalance = rejoin(assignors={4: "cooperative-sticky"}, previous=previous, previous_ended_at=NOW - 9, members=members, **counts)  # type: ignore[arg-type]

    assert (Cause.COOPERATIVE_FOLLOWUP in shares(rebalance)) is follows


@pytest.mark.parametrize(
    ("values", "weight", "settled"),
    [
        ({"asked_otherwise_at": {"a": [NOW]}}, weights.ASKED_FOR_OTHER_TOPICS, False),
        ({"asked_otherwise_at": {"a": [NOW + CLOCK_TOLERANCE_US]}}, weights.ASKED_FOR_OTHER_TOPICS, False),
        ({"asked_otherwise_at": {"a": [NOW + CLOCK_TOLERANCE_US + 1]}}, weights.REJOINED_UNTOLD, True),
        ({"asked_otherwise_at": {"a": [PREVIOUS_ENDED]}}, weights.REJOINED_UNTOLD, True),
        ({"asked_otherwise_at": {"b": [NOW]}}, weights.REJOINED_UNTOLD, True),
        ({"asked_topics": {"a": ("t",)}}, weights.SAME_TOPICS, False),
        ({"asked_topics": {"b": ("t",)}}, weights.REJOINED_UNTOLD, True),
        ({"clients": {"a"}, "topics": {"a": ("t",)}}, weights.SAME_TOPICS, False),
        ({"clients": {"a"}}, weights.REJOINED_UNTOLD, True),
        ({"topics": {"a": ("t",)}}, weights.REJOINED_UNTOLD, True),
        ({"leaders": {4: "a"}}, weights.LEADER_REJOINED, True),
        ({"leaders": {4: "b"}}, weights.FOLLOWER_REJOINED, True),
        ({"leaders": {5: "a"}}, weights.REJOINED_UNTOLD, True),
        ({"started": started(reason_id="leader_rejoin")}, weights.LEADER_REJOINED, True),
        ({"started": started(reason_id="update_metadata", reason_state="Stable")}, weights.FOLLOWER_REJOINED, True),
        ({"started": started(reason_id="update_metadata"), "leaders": {4: "a"}}, weights.REJOINED_UNTOLD, True),
    ],
)
def test_what_lines_tell_of_a_members_topics(values: dict[str, object], weight: weights.Shares, settled: bool) -> None:
    hypotheses = rejoin(**values)  # type: ignore[arg-type]

    assert shares(hypotheses) == of(weight)
    assert {hypothesis.settled_by is not None for hypothesis in hypotheses} == {settled}
