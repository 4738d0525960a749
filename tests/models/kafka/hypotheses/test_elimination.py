"""Causes that remain where no line names one: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.cluster.facts import ClusterFacts, NodeChange, TopicChange
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.assignment_write import AT_ONCE_US, NOT_STORED, TROUBLE_US
from models.kafka.hypotheses.context.phase_deadline import TIMEOUT_TOLERANCE_US
from models.kafka.hypotheses.coordinator_changes import MOVED_US
from models.kafka.hypotheses.elimination import by_elimination, start_not_seen
from models.kafka.hypotheses.hypothesis import INITIAL_DELAY_OVERRUN, LOOK_BACK_US, Hypothesis
from models.kafka.hypotheses.members_alone import last_heard
from models.kafka.hypotheses.removals import LINE_LAG_US, by_removed_members, heard_too_late
from models.kafka.observations.actions import GIVEN_ID, ActionKind, MemberAction
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, HEARD_US
from models.kafka.observations.roster import RosterMember
from models.tolerances import GROUP_MIN_SESSION_US, STORE_SLACK_US, STORE_TIMEOUT_US
from models.units import US_PER_MS
from tests.models.kafka.hypotheses.contexts import JOINED, NOW, PREVIOUS_JOINED, SECOND, act, before, by_client, by_request, context
from tests.models.kafka.hypotheses.test_departures import of, shares, who
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
UNKNOWN_MEMBER = "UNKNOWN_MEMBER_ID"
BY_CLIENT = {"witness": Witness.CLIENT}
NAMELESS = {"witness": Witness.CLIENT, "generation_before": None, "outcome": "open"}


def eliminate(*actions: MemberAction, **values: object) -> list[Hypothesis]:
    return by_elimination(context(*actions, **values))  # type: ignore[arg-type]


def joined(lasted: int) -> dict[str, object]:
    return {"joined": line("GenerationStarted", NOW + lasted, node="1", generation=5)}


def fenced(at: int = 0, name: str = "a", **values: object) -> MemberAction:
    return by_client(K.FENCED, at, name, **{"why": UNKNOWN_MEMBER} | values)


# -- groups that went empty, and members that vanished --------------------------------------------------------------


def test_nobody_was_in_an_empty_group() -> None:
    assert shares(eliminate(state_before=State.EMPTY)) == {Cause.NEW_GROUP: round(weights.FIRST_OF_EMPTY.value, 6)}


@pytest.mark.parametrize("members", [1, 2])
def test_why_a_group_went_empty(members: int) -> None:
    late = weights.EMPTIED_BY_LATE_POLLS
    by_will = {Cause.MEMBER_LEAVE: round(weights.EMPTIED_BY_LEAVE.value - late.value, 6), Cause.POLL_TIMEOUT: round(late.value, 6)}
    values = {"outcome": "empty", "members_before": members, "last": ()}
    leave, expiry = act(K.LEAVE, 5), act(K.EXPIRE, 5, "b")
    assert shares(eliminate(**values)) == by_will
    assert shares(eliminate(leave, expiry, **values)) == by_will
    assert who(eliminate(leave, expiry, **values), Cause.MEMBER_LEAVE) == ["a"]
    assert shares(eliminate(expiry, **values)) == of(weights.EMPTIED_BY_EXPIRY)
    assert who(eliminate(expiry, **values), Cause.SESSION_TIMEOUT) == ["b"]
    assert sum(len(hypothesis.actions) for hypothesis in eliminate(expiry, **values)) == 1


TIMEOUT = ClusterFacts(rebalance_timeout_ms=60_000)


@pytest.mark.parametrize(
    ("actions", "values", "vanished"),
    [
        ([act(K.LEAVE, 5, "b")], {}, True),
        ([], {"tell_joins": {"b"}}, True),
        ([act(K.LEAVE, 5, "b"), act(K.JOIN, 6, "c")], {}, False),
        ([], {}, False),
        ([act(K.LEAVE, 5, "b")], {"facts": TIMEOUT} | joined(60 * SECOND - TIMEOUT_TOLERANCE_US), False),
        ([act(K.LEAVE, 5, "b")], {"facts": TIMEOUT} | joined(60 * SECOND - TIMEOUT_TOLERANCE_US - 1), True),
        ([act(K.LEAVE, 5, "b")], {"facts": TIMEOUT} | joined(90 * SECOND), False),
        ([act(K.LEAVE, 5, "b")], {"facts": TIMEOUT, "joined": None, "ended_at": None}, True),
    ],
)
def test_members_vanish(actions: list[MemberAction], values: dict[str, object], vanished: bool) -> None:
    hypotheses = eliminate(*actions, **{"last": ("a",)} | values)

    assert (shares(hypotheses) == of(weights.VANISHED)) is vanished
    if vanished:
        assert {name for cause in weights.VANISHED.of for name in who(hypotheses, cause)} == {"b"}


@pytest.mark.parametrize(("lag", "is_at_once"), [(0, True), (AT_ONCE_US, True), (AT_ONCE_US + 1, False), (-1, False)])
def test_a_write_fails_at_once(lag: int, is_at_once: bool) -> None:
    expected, heads = of(weights.STORE_FAILED_AT_ONCE), {"members_before": 2, "members_after": 2}
    assert (shares(eliminate(previous=before(ended_at=NOW - lag), **heads)) == expected) is is_at_once
    assert shares(eliminate(previous=before(ended_at=NOW - lag, outcome="superseded"), **heads)) != expected
    assert shares(eliminate(previous=None, **heads)) != expected


@pytest.mark.parametrize(
    ("heads", "lags", "weight"),
    [
        ((2, 2), [9], weights.STORE_FAILED_AT_ONCE),
        ((2, 3), [9], weights.FOLLOWED_AT_ONCE),
        ((3, 2), [9], weights.FOLLOWED_AT_ONCE),
        ((None, None), [9], weights.FOLLOWED_AT_ONCE),
        ((None, None), [9, SECOND], weights.FOLLOWED_AT_ONCE),
        ((None, None), [9, AT_ONCE_US], weights.STORE_FAILED_AT_ONCE),
        ((None, None), [0, 9], weights.STORE_FAILED_AT_ONCE),
        ((2, 3), [0, 9], weights.STORE_FAILED_AT_ONCE),
    ],
)
def test_a_write_that_fails_at_once_fails_again_or_leaves_as_many(
    heads: tuple[int | None, int | None], lags: list[int], weight: weights.Shares
) -> None:
    values = {"members_before": heads[0], "members_after": heads[1], "lags": lags}

    assert shares(eliminate(previous=before(ended_at=NOW - 9, state_before=State.EMPTY), **values)) == of(weight)
    assert shares(eliminate(previous=before(ended_at=NOW - 9), **values)) == of(weights.STORE_FAILED_AT_ONCE), "nobody is new"


DELAY_US = 3 * SECOND
OVERRUN_US = round(DELAY_US * INITIAL_DELAY_OVERRUN)


@pytest.mark.parametrize(
    ("lasted", "values", "is_initial"),
    [
        (DELAY_US, {}, True),
        (DELAY_US + OVERRUN_US, {}, True),
        (DELAY_US + OVERRUN_US + 1, {}, False),
        (DELAY_US - 1, {}, False),
        (DELAY_US, {"facts": ClusterFacts(initial_delay_ms=0)}, False),
        (DELAY_US, {"state_before": State.STABLE}, False),
    ],
)
def test_an_initial_delay_shows_a_new_group(lasted: int, values: dict[str, object], is_initial: bool) -> None:
    first = act(K.JOIN, 5, "c")
    hypotheses = eliminate(first, **{"state_before": None, "first": (), "last": ()} | joined(lasted) | values)

    assert (shares(hypotheses) == of(weights.ONE_INITIAL_DELAY)) is is_initial
    assert not is_initial or (who(hypotheses, Cause.NEW_GROUP) == ["c"] and sum(len(each.actions) for each in hypotheses) == 1)
    heard = by_client(K.REBALANCE_NOTICED, 5)
    assert shares(eliminate(first, heard, **{"state_before": None, "first": (), "last": ()} | joined(lasted) | values)) != of(
        weights.ONE_INITIAL_DELAY
    )


# -- members' logs alone -------------------------------------------------------------------------------------------


def test_after_a_move_members_rejoin() -> None:
    loaded = {"load_before": line("GroupLoaded", NOW - 9), **BY_CLIENT}
    assert shares(eliminate(**loaded)) == of(weights.AFTER_MOVE)
    assert shares(eliminate(act(K.LEAVE, 5, "b"), last=("a",), **loaded)) != of(weights.AFTER_MOVE)
    assert shares(eliminate(by_client(K.JOIN, 5, "c"), **loaded)) != of(weights.AFTER_MOVE)
    assert shares(eliminate(last=("a",), tell_joins={"b"}, **loaded)) != of(weights.AFTER_MOVE)
    assert shares(eliminate(last=("a", "b", "c"), clients={"c"}, **loaded)) != of(weights.AFTER_MOVE)
    assert shares(eliminate(load_before=loaded["load_before"])) != of(weights.AFTER_MOVE)


def test_a_known_member_that_joins_anew_returned() -> None:
    assert shares(eliminate(by_client(K.JOIN, 5), **BY_CLIENT)) == of(weights.RETURNED_UNSEEN)
    assert shares(eliminate(by_client(K.JOIN, 5), shared={"a"}, **BY_CLIENT)) != of(weights.RETURNED_UNSEEN)


def test_new_members_appeared_or_joined() -> None:
    newcomer = by_client(K.JOIN, 5, "c")
    hypotheses = eliminate(newcomer, **BY_CLIENT)
    assert shares(hypotheses) == of(weights.APPEARED)
    assert who(hypotheses, Cause.MEMBER_JOIN) == ["c"]
    assert shares(eliminate(last=("a", "b", "c"), clients={"c"}, **BY_CLIENT)) == of(weights.APPEARED)
    silent = eliminate(newcomer, last=("a", "c"), tell_joins={"b"}, **BY_CLIENT)
    assert shares(silent) == of(weights.APPEARED_AND_SILENT)
    assert who(silent, Cause.MEMBER_JOIN) == ["c"]
    assert who(silent, Cause.MEMBER_LEAVE) in ([], ["b"])
    assert shares(eliminate(newcomer, first=(), **BY_CLIENT)) != of(weights.APPEARED)
    assert shares(eliminate(newcomer, act(K.LEAVE, 5, "b"), **BY_CLIENT)) != of(weights.APPEARED)


SILENT = {"last": ("a",), "tell_joins": {"b"}, **BY_CLIENT}


@pytest.mark.parametrize(
    ("at", "name", "closed"),
    [
        (0, "b", True),
        (CLOCK_TOLERANCE_US, "b", True),
        (CLOCK_TOLERANCE_US + 1, "b", False),
        (1 - LOOK_BACK_US, "b", True),
        (-LOOK_BACK_US, "b", False),
        (0, "a", False),
    ],
)
def test_who_was_closed_left(at: int, name: str, closed: bool) -> None:
    hypotheses = eliminate(by_client(K.CLOSE, at, name), **SILENT)

    assert (shares(hypotheses) == {Cause.MEMBER_LEAVE: round(weights.CLOSED_AS_IT_WENT.value, 6)}) is closed


@pytest.mark.parametrize(
    ("values", "weight"),
    [
        ({}, weights.SILENT),
        ({"leaves_logged": True}, weights.SILENT_WHERE_LEAVES_ARE_LOGGED),
        ({"leaves_logged": True, "tell_joins": set(), "members_after": 1}, weights.SILENT),
        ({"members": [RosterMember("B", "b", "i")]}, weights.SILENT_WHERE_LEAVES_ARE_LOGGED),
    ],
)
def test_who_is_silent_expired_or_left(values: dict[str, object], weight: weights.Shares) -> None:
    hypotheses = eliminate(**SILENT | values)

    assert shares(hypotheses) == of(weight)
    assert {(action.kind, hypothesis.cause is Cause.SESSION_TIMEOUT) for hypothesis in hypotheses for action in hypothesis.actions} <= {
        (K.EXPIRE, True), (K.LEAVE, False),
    }  # fmt: skip


def lose(who: str, at: int = -20 * SECOND) -> MemberAction:
    return by_client(K.LOST_COORDINATOR, at, who)


@pytest.mark.parametrize(
    ("actions", "values", "was_dead"),
    [
        ([lose("a"), lose("c")], {}, True),
        ([lose("a"), lose("c", -HEARD_US)], {}, True),
        ([lose("a"), lose("c", 1 - HEARD_US)], {}, False),
        ([lose("a")], {}, False),
        ([lose("a"), lose("c"), lose("b")], {}, False),
        ([lose("a"), lose("c"), lose("b", -30 * SECOND)], {}, True),
        ([lose("a"), lose("c"), by_client(K.SUBSCRIBE, -20 * SECOND, "b")], {}, False),
        ([lose("a"), lose("c")], {"clients": {"a", "c"}}, False),
        ([lose("a")], {"clients": {"a", "b"}}, False),
    ],
    ids=[
        "all others", "long enough before", "too late to tell", "not all", "it, too", "it lost one before", "it was heard", "without a log",
        "one other",
    ],
)  # fmt: skip
def test_who_missed_a_coordinators_loss_was_dead(actions: list[MemberAction], values: dict[str, object], was_dead: bool) -> None:
    group = SILENT | {"first": ("a", "b", "c"), "last": ("a", "c"), "clients": {"a", "b", "c"}, "tell_joins": {"a", "b", "c"}}
    hypotheses = eliminate(*actions, **group | values)

    assert (shares(hypotheses) == of(weights.SILENT_WHERE_LEAVES_ARE_LOGGED)) is was_dead


@pytest.mark.parametrize(
    ("ago", "logged", "weight"),
    [
        (GROUP_MIN_SESSION_US - LINE_LAG_US, False, weights.SILENT),
        (GROUP_MIN_SESSION_US - LINE_LAG_US - 1, False, weights.VANISHED),
        (GROUP_MIN_SESSION_US - LINE_LAG_US - 1, True, weights.SILENT_TOO_BRIEFLY_TO_EXPIRE),
        (-1, False, weights.SILENT),
    ],
)
def test_who_was_heard_just_before_did_not_expire(ago: int, logged: bool, weight: weights.Shares) -> None:
    assert shares(eliminate(by_client(K.SUBSCRIBE, -ago, "b"), leaves_logged=logged, **SILENT)) == of(weight)


def test_the_last_action_of_a_member() -> None:
    rebalance = context(by_client(K.SUBSCRIBE, -9), by_client(K.SUBSCRIBE, 0), by_client(K.SUBSCRIBE, 1), by_client(K.SUBSCRIBE, 0, "b"))

    assert last_heard(rebalance.phase, act(K.LEAVE)) == NOW
    assert last_heard(rebalance.phase, act(K.LEAVE, who="c")) == 0
    assert last_heard(context(by_client(K.SUBSCRIBE, -9)).phase, act(K.LEAVE)) == NOW - 9


@pytest.mark.parametrize(("lost_in", "lost"), [([5], True), ([4], False), ([], False)])
def test_connect_waits_for_a_lost_worker(lost_in: list[int], lost: bool) -> None:
    assert (shares(eliminate(work_lost_in=lost_in, **BY_CLIENT)) == of(weights.WORKER_LOST)) is lost


@pytest.mark.parametrize(
    ("actions", "values", "back"),
    [
        ([fenced(5), by_client(K.JOINED, 9)], {}, True),
        ([by_client(K.JOIN_FAILED, 5, why=UNKNOWN_MEMBER), by_client(K.JOINED, 9)], {}, True),
        ([by_client(K.JOIN_FAILED, 5, why="other"), by_client(K.JOINED, 9)], {}, False),
        ([by_client(K.JOIN_FAILED, 5), by_client(K.JOINED, 9)], {}, False),
        ([fenced(5)], {}, False),
        ([fenced(5), by_client(K.JOINED, 9, "b")], {}, False),
        ([fenced(5), by_client(K.JOINED, 9)], {"first": ("x",), "last": ("x",)}, False),
    ],
)
def test_who_was_removed_came_back(actions: list[MemberAction], values: dict[str, object], back: bool) -> None:
    hypotheses = eliminate(*actions, **{"first": (), "last": ("a",), **BY_CLIENT} | values)

    assert (shares(hypotheses) == of(weights.RETURNED_UNSEEN)) is back


@pytest.mark.parametrize(
    ("action", "values", "late"),
    [
        (by_client(K.POLL_TIMEOUT, 0), BY_CLIENT, True),
        (by_client(K.POLL_TIMEOUT, 0), {}, False),
        (by_client(K.POLL_TIMEOUT, 0, instance="i"), BY_CLIENT, False),
        (by_client(K.POLL_TIMEOUT, CLOCK_TOLERANCE_US), BY_CLIENT, True),
        (by_client(K.POLL_TIMEOUT, CLOCK_TOLERANCE_US + 1), BY_CLIENT, False),
        (by_client(K.POLL_TIMEOUT, 1 - CLOCK_TOLERANCE_US), BY_CLIENT, True),
        (by_client(K.POLL_TIMEOUT, -CLOCK_TOLERANCE_US), BY_CLIENT, False),
        (by_client(K.POLL_TIMEOUT, 6), BY_CLIENT | joined(5), False),
        (by_client(K.POLL_TIMEOUT, 5), BY_CLIENT | joined(5), True),
    ],
)
def test_a_late_poll_began_it(action: MemberAction, values: dict[str, object], late: bool) -> None:
    sure = weights.POLL_TIMEOUT_NOTICED.value
    expected = {Cause.POLL_TIMEOUT: round(sure, 6), Cause.MEMBER_LEAVE: round(1 - sure, 6)}

    assert (shares(eliminate(action, **values)) == expected) is late


@pytest.mark.parametrize(
    ("at", "instance", "values", "names"),
    [
        (99 * SECOND, None, {}, ["a", "b"]),
        (99 * SECOND, "i", {}, ["a"]),
        (99 * SECOND, None, {"generation_before": 4}, ["a"]),
        (99 * SECOND, None, {"ended_at": NOW + 100 * SECOND}, ["a", "b"]),
        (99 * SECOND, None, {"ended_at": NOW + 99 * SECOND}, ["a"]),
    ],
)
def test_nameless_logs_tell_all_late_polls(at: int, instance: str | None, values: dict[str, object], names: list[str]) -> None:
    actions = (by_client(K.POLL_TIMEOUT), by_client(K.POLL_TIMEOUT, 1), by_client(K.POLL_TIMEOUT, at, "b", instance=instance))
    hypotheses = eliminate(*actions, **NAMELESS | {"joined": None, "ended_at": None} | values)

    assert who(hypotheses, Cause.POLL_TIMEOUT)[:1] + [name for name in who(hypotheses, Cause.POLL_TIMEOUT)[1:] if name == "b"] == names


# -- removals ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "others", "values", "removed"),
    [
        (fenced(9), [], {}, ["a"]),
        (fenced(-9), [], {}, ["a"]),
        (fenced(9, why="other"), [], {}, []),
        (fenced(9, "c"), [], {}, []),
        (fenced(9), [], {"last": ("a",)}, []),
        (fenced(9), [], {"shared": {"a"}}, []),
        (fenced(9), [act(K.LEAVE, 5)], {}, []),
        (fenced(PREVIOUS_JOINED - NOW), [], {}, []),
        (fenced(PREVIOUS_JOINED - NOW + 1), [], {}, ["a"]),
        (fenced(9), [by_client(K.JOINED, 5, "x", generation=5)], {}, []),
        (fenced(9), [by_client(K.JOINED, 5, "x", generation=4)], {}, ["a"]),
        (fenced(9), [by_client(K.JOINED, 5, "x", generation=5)], {"generation_after": None}, []),
        (fenced(9), [by_client(K.JOINED, 5, "x", generation=4)], {"generation_after": None}, ["a"]),
        (fenced(9, "c"), [], {"generation_before": None, "outcome": "empty"}, ["c"]),
        (fenced(9, "c"), [], {"generation_before": None}, []),
        (fenced(0, "c"), [], {"generation_before": None, "outcome": "open"}, ["c"]),
        (fenced(1, "c"), [], {"generation_before": None, "outcome": "open"}, []),
    ],
)
def test_members_hear_too_late_that_they_were_removed(
    action: MemberAction, others: list[MemberAction], values: dict[str, object], removed: list[str]
) -> None:
    expiries = heard_too_late(context(action, *others, **{"last": ("b",), **BY_CLIENT} | values))  # type: ignore[arg-type]

    assert [expiry.client_id for expiry in expiries] == removed
    assert {(expiry.kind, expiry.at) for expiry in expiries} <= {(K.EXPIRE, min(action.at, NOW))}


def test_each_is_removed_once_and_by_the_id_it_had() -> None:
    (expiry,) = heard_too_late(context(fenced(5, member="X"), fenced(6), last=("b",), **BY_CLIENT))  # type: ignore[arg-type]
    assert expiry.member_id == "A"
    nobody = by_client(K.FENCED, 0, None, why=UNKNOWN_MEMBER)
    assert len(heard_too_late(context(nobody, **NAMELESS))) == 1  # type: ignore[arg-type]
    assert heard_too_late(context(nobody, **BY_CLIENT)) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("actions", "values", "weight"),
    [
        ([fenced(5)], {}, weights.HEARD_TOO_LATE),
        ([fenced(5), fenced(6, "b")], {}, weights.HEARD_TOO_LATE_TOGETHER),
        ([fenced(5), by_client(K.LOST_COORDINATOR, -5, why="NOT_COORDINATOR")], {}, weights.HEARD_AFTER_FAILOVER),
        ([fenced(0), by_client(K.LOST_COORDINATOR, -MOVED_US - 1, why="NOT_COORDINATOR")], {}, weights.HEARD_TOO_LATE),
        ([by_client(K.REBALANCE_NOTICED, -60 * SECOND), fenced(0)], {"facts": TIMEOUT}, weights.HEARD_AFTER_JOIN_PHASE),
        ([by_client(K.REBALANCE_NOTICED, 1 - 60 * SECOND), fenced(0)], {"facts": TIMEOUT}, weights.HEARD_TOO_LATE),
        ([by_client(K.REBALANCE_NOTICED, -60 * SECOND, "b"), fenced(0)], {"facts": TIMEOUT}, weights.HEARD_TOO_LATE),
        ([by_client(K.REBALANCE_NOTICED, PREVIOUS_JOINED - NOW), fenced(0)], {"facts": TIMEOUT}, weights.HEARD_TOO_LATE),
        ([by_client(K.JOINED, LINE_LAG_US - GROUP_MIN_SESSION_US), fenced(0)], {}, weights.HEARD_TOO_LATE),
        ([by_client(K.JOINED, LINE_LAG_US - GROUP_MIN_SESSION_US + 1), fenced(0)], {}, weights.REMOVED_TOO_SOON_TO_EXPIRE),
        ([by_client(K.SYNCED, -9), fenced(0)], {}, weights.REMOVED_TOO_SOON_TO_EXPIRE),
        ([by_client(K.ASSIGNED, -9), fenced(0)], {}, weights.REMOVED_TOO_SOON_TO_EXPIRE),
        ([by_client(K.SYNCED, -9, "b"), fenced(0)], {}, weights.HEARD_TOO_LATE),
        ([by_client(K.SYNCED, 0), fenced(0)], {}, weights.HEARD_TOO_LATE),
        ([by_client(K.START, -9), fenced(0)], {}, weights.HEARD_TOO_LATE),
    ],
)
def test_why_members_were_removed(actions: list[MemberAction], values: dict[str, object], weight: weights.Shares) -> None:
    rebalance = context(*actions, **{"last": (), **BY_CLIENT} | values)  # type: ignore[arg-type]

    assert shares(by_removed_members(rebalance)) == of(weight)
    assert shares(by_elimination(rebalance)) == of(weight)
    rebalance.window.witness = Witness.COORDINATOR
    assert by_removed_members(rebalance) == []


@pytest.mark.parametrize(
    ("at", "why", "values", "late"),
    [
        (0, UNKNOWN_MEMBER, {}, True),
        (1, UNKNOWN_MEMBER, {}, False),
        (0, "other", {}, False),
        (0, UNKNOWN_MEMBER, {"generation_before": 4}, False),
        (0, UNKNOWN_MEMBER, {"outcome": "stable"}, False),
    ],
)
def test_refused_commits_alone_show_that_a_group_went_on(at: int, why: str, values: dict[str, object], late: bool) -> None:
    hypotheses = by_removed_members(context(by_client(K.COMMIT_REFUSED, at, why=why), **NAMELESS | values))  # type: ignore[arg-type]

    assert shares(hypotheses) == (of(weights.COMMIT_CAME_TOO_LATE) if late else {})
    assert who(hypotheses, Cause.MEMBER_JOIN) == []
    assert {name for cause in weights.COMMIT_CAME_TOO_LATE.of for name in who(hypotheses, cause)} == ({"a"} if late else set())


# -- starts and writes -----------------------------------------------------------------------------------------------


def test_a_start_that_was_not_seen() -> None:
    hypotheses = start_not_seen(context(started=None))
    assert hypotheses[0].cause is Cause.UNKNOWN
    assert round(sum(hypothesis.probability for hypothesis in hypotheses), 6) <= 1
    assert shares(hypotheses)[Cause.UNKNOWN] == round(weights.START_NOT_SEEN.value, 6)
    assert shares(start_not_seen(context(outcome="empty"))) == of(weights.START_NOT_SEEN_EMPTY)
    expired = start_not_seen(context(act(K.EXPIRE), outcome="empty"))
    assert shares(expired) == of(weights.EXPIRED_WHILE_REBALANCING)
    assert who(expired, Cause.SESSION_TIMEOUT) == ["a"]


def refused(at: int, witness: Witness = Witness.CLIENT, why: str = NOT_STORED, **values: object) -> MemberAction:
    return act(K.SYNC_FAILED, at, witness=witness, why=why, **values)  # type: ignore[arg-type]


PHASE = {"previous_joined_at": NOW - 60 * SECOND}
GIVEN_UP = -60 * SECOND + STORE_TIMEOUT_US
SUPERSEDED = {"previous": before(outcome="superseded"), **BY_CLIENT, **PHASE}


@pytest.mark.parametrize(
    ("action", "values", "given_up"),
    [
        (refused(-9), SUPERSEDED, True),
        (refused(-9, why="other"), SUPERSEDED, False),
        (refused(GIVEN_UP - CLOCK_TOLERANCE_US, why="other"), SUPERSEDED, True),
        (refused(GIVEN_UP - CLOCK_TOLERANCE_US - 1, why="other"), SUPERSEDED, False),
        (refused(GIVEN_UP + STORE_SLACK_US, why="other"), SUPERSEDED, True),
        (refused(GIVEN_UP + STORE_SLACK_US + 1, why="other"), SUPERSEDED, False),
        (refused(CLOCK_TOLERANCE_US), SUPERSEDED, True),
        (refused(CLOCK_TOLERANCE_US + 1), SUPERSEDED, False),
        (refused(5), SUPERSEDED | {"joined": line("GenerationStarted", NOW + 5)}, True),
        (refused(5), SUPERSEDED | {"joined": line("GenerationStarted", NOW + 4)}, False),
        (refused(-60 * SECOND), SUPERSEDED, False),
        (refused(-9), PHASE, False),
        (refused(-9), PHASE | BY_CLIENT, False),
        (refused(-9, Witness.REQUEST), PHASE, True),
        (refused(-9, Witness.REQUEST, "other"), PHASE, False),
        (refused(-9, Witness.REQUEST, "other", total_ms=STORE_TIMEOUT_US / US_PER_MS), PHASE, True),
        (refused(-9, Witness.REQUEST, "other", total_ms=STORE_TIMEOUT_US / US_PER_MS - 1), PHASE, False),
        (refused(-9, Witness.REQUEST, "other", total_ms=(STORE_TIMEOUT_US + STORE_SLACK_US) / US_PER_MS), PHASE, True),
        (refused(-9, Witness.REQUEST, "other", total_ms=(STORE_TIMEOUT_US + STORE_SLACK_US) / US_PER_MS + 1), PHASE, False),
        (refused(-9, Witness.REQUEST), {"previous_joined_at": None}, False),
        (refused(-9, Witness.REQUEST, generation=4), PHASE, True),
        (refused(-9, Witness.REQUEST, generation=22), PHASE, False),
        (refused(-9, Witness.REQUEST), PHASE | {"previous": before(generation_before=21, generation_after=22)}, False),
    ],
)
def test_a_sync_was_refused_because_its_write_failed(action: MemberAction, values: dict[str, object], given_up: bool) -> None:
    rebalance = context(action, **values)  # type: ignore[arg-type]

    assert rebalance.write.was_given_up is given_up
    assert rebalance.write.has_failed_silently is given_up or not given_up
    assert (shares(by_elimination(rebalance)) == of(weights.STORE_FAILED_AT_ONCE)) is given_up


@pytest.mark.parametrize(
    ("join", "given_up"),
    [
        (by_client(K.JOIN, GIVEN_UP, "c"), False),
        (by_client(K.JOIN, GIVEN_UP - CLOCK_TOLERANCE_US + 1, "c"), False),
        (by_client(K.JOIN, GIVEN_UP - CLOCK_TOLERANCE_US, "c"), True),
        (by_client(K.JOIN, GIVEN_UP + 1, "c"), True),
        (by_client(K.JOIN, GIVEN_UP), True),
        (by_client(K.REJOIN, GIVEN_UP, "b"), True),
    ],
    ids=["then", "just before", "earlier", "later", "of itself", "of an old member"],
)
def test_a_new_process_that_joins_just_then_may_be_why_a_sync_was_refused(join: MemberAction, given_up: bool) -> None:
    sync = refused(GIVEN_UP, why="REBALANCE_IN_PROGRESS")
    assert context(*sorted((join, sync), key=lambda action: action.at), **SUPERSEDED).write.was_given_up is given_up  # type: ignore[arg-type]
    told = refused(GIVEN_UP)  # by its error
    assert context(*sorted((join, told), key=lambda action: action.at), **SUPERSEDED).write.was_given_up  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "given_up"), [("c", False), ("a", True)])
def test_a_request_to_join_just_then_may_be_why_a_sync_that_took_so_long_was_refused(name: str, given_up: bool) -> None:
    sync = refused(-9, Witness.REQUEST, "other", total_ms=STORE_TIMEOUT_US / US_PER_MS)
    assert context(by_request(K.JOIN, -9, name), sync, **PHASE).write.was_given_up is given_up  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("request_to_join", "answer", "given_up"),
    [
        (by_request(K.JOIN, GIVEN_UP, "c", error_code=79), None, True),
        (by_request(K.JOIN, GIVEN_UP, "c", error_code=0), None, False),
        (by_client(K.JOIN, GIVEN_UP, "c"), by_client(K.JOIN_FAILED, GIVEN_UP + 5, "c", why="MEMBER_ID_REQUIRED"), True),
        (by_client(K.JOIN, GIVEN_UP, "c"), by_client(K.WANTS_REJOIN, GIVEN_UP + 5, "c", why=GIVEN_ID), True),
        (by_client(K.JOIN, GIVEN_UP, "c"), by_client(K.WANTS_REJOIN, GIVEN_UP, "c", why=GIVEN_ID), False),
        (by_client(K.JOIN, GIVEN_UP, "c"), by_client(K.WANTS_REJOIN, GIVEN_UP + 5, "d", why=GIVEN_ID), False),
        (by_client(K.JOIN, GIVEN_UP, "c"), by_client(K.WANTS_REJOIN, GIVEN_UP + 5, "c", why="other"), False),
    ],
    ids=["request", "joined", "refused", "asks again", "asked again before", "another", "another reason"],
)
def test_a_request_that_is_answered_with_an_id_alone_begins_nothing(
    request_to_join: MemberAction, answer: MemberAction | None, given_up: bool
) -> None:
    """Only the next request joins, which is sent with the id (KIP-394)."""
    sync = refused(GIVEN_UP, why="REBALANCE_IN_PROGRESS")
    actions = [request_to_join, sync, *([answer] if answer else [])]
    assert context(*actions, **SUPERSEDED).write.was_given_up is given_up  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("away", "instance", "values", "given_up"),
    [
        (-CLOCK_TOLERANCE_US, "i", {}, False),
        (-CLOCK_TOLERANCE_US - 1, "i", {}, True),
        (-CLOCK_TOLERANCE_US, None, {}, True),
        (-CLOCK_TOLERANCE_US, "i", {"leaders": {4: "a"}}, True),
        (-CLOCK_TOLERANCE_US, "i", {"leaders": {4: "b"}}, False),
    ],
    ids=["at once", "as a join phase ended", "a dynamic member", "its leader", "another's follower"],
)
def test_a_static_member_that_was_let_in_at_once_does_not_show_when_the_others_asked_for_assignments(
    away: int, instance: str | None, values: dict[str, object], given_up: bool
) -> None:
    join = by_client(K.JOIN, away - 60 * SECOND, instance=instance)
    joined = by_client(K.JOINED, -60 * SECOND, instance=instance, generation=4)
    sync = refused(GIVEN_UP, why="REBALANCE_IN_PROGRESS")

    earlier = {"previous_joined_at": NOW - 60 * SECOND}
    assert context(join, joined, sync, **SUPERSEDED | earlier | values).write.was_given_up is given_up  # type: ignore[arg-type]
    other = by_client(K.JOINED, -60 * SECOND, "b", generation=4)
    assert context(join, joined, other, sync, **SUPERSEDED | earlier | values).write.was_given_up  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lost_at", "found_at", "names", "nodes", "answered"),
    [
        (AT_ONCE_US, AT_ONCE_US, ("a", "a"), ("1", "1"), True),
        (AT_ONCE_US + 1, AT_ONCE_US + 2, ("a", "a"), ("1", "1"), False),
        (9, 8, ("a", "a"), ("1", "1"), False),
        (9, 9, ("a", "b"), ("1", "1"), False),
        (9, 9, ("c", "c"), ("1", "1"), False),
        (9, 9, ("a", "a"), ("1", "2"), False),
        (9, 9, ("a", "a"), (None, None), False),
        (STORE_TIMEOUT_US, STORE_TIMEOUT_US, ("a", "a"), ("1", "1"), True),
        (STORE_TIMEOUT_US + STORE_SLACK_US + 1, STORE_TIMEOUT_US + SECOND, ("a", "a"), ("1", "1"), False),
    ],
)
def test_members_lose_their_coordinator_instead_of_an_assignment(
    lost_at: int, found_at: int, names: tuple[str, str], nodes: tuple[str | None, str | None], answered: bool
) -> None:
    lost = by_client(K.LOST_COORDINATOR, lost_at - 60 * SECOND, names[0], node=nodes[0])
    found = by_client(K.START, found_at - 60 * SECOND, names[1], node=nodes[1])

    assert context(lost, found, **SUPERSEDED).write.was_given_up is answered  # type: ignore[arg-type]


LATER = {"previous_joined_at": NOW - STORE_TIMEOUT_US, "has_assignments": True}
ALL_ASK = [by_client(K.REJOIN, 0), by_client(K.REJOIN, 9, "b")]


@pytest.mark.parametrize(
    ("actions", "values", "given_up"),
    [
        (ALL_ASK, {}, True),
        (ALL_ASK, {"previous_joined_at": NOW - STORE_TIMEOUT_US - STORE_SLACK_US}, True),
        (ALL_ASK, {"previous_joined_at": NOW - STORE_TIMEOUT_US - STORE_SLACK_US - 1}, False),
        (ALL_ASK, {"previous_joined_at": NOW - STORE_TIMEOUT_US + CLOCK_TOLERANCE_US + 1}, False),
        (ALL_ASK, {"has_assignments": False}, False),
        (ALL_ASK[:1], {}, False),
        (ALL_ASK[:1], {"first": ("a",), "last": ("a",)}, False),
        ([*ALL_ASK, by_client(K.ASSIGNED, -9)], {}, False),
        ([*ALL_ASK, by_client(K.REBALANCE_NOTICED, -9)], {}, False),
        ([*ALL_ASK, by_client(K.LEAVE, -1, "b")], {}, False),
        ([*ALL_ASK, by_client(K.JOIN, -1, "c")], {}, False),
        (ALL_ASK, {"last": ("a",), "tell_joins": {"b"}}, False),
        (ALL_ASK, {"previous": before(outcome="stable")}, False),
    ],
)
def test_all_members_that_join_again_untold_were_refused_their_sync(
    actions: list[MemberAction], values: dict[str, object], given_up: bool
) -> None:
    assert context(*actions, **SUPERSEDED | LATER | values).write.was_given_up is given_up  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lag", "just"),
    [
        (STORE_TIMEOUT_US - 1, False),
        (STORE_TIMEOUT_US, True),
        (STORE_TIMEOUT_US + STORE_SLACK_US, True),
        (STORE_TIMEOUT_US + STORE_SLACK_US + 1, False),
    ],
)
def test_a_write_is_given_up_after_a_timeout(lag: int, just: bool) -> None:
    previous = before(ended_at=NOW - lag)
    trouble = ClusterFacts(node_changes=[NodeChange(NOW - TROUBLE_US, "1", "stopped", line("BrokerStopped", NOW))])
    rhythm = {"lags": [STORE_TIMEOUT_US, lag]}
    assert context(previous=previous, facts=trouble).write.may_have_failed_in_trouble is just
    assert context(previous=previous, **rhythm).write.has_failed_silently is just  # type: ignore[arg-type]
    assert not context(previous=previous).write.has_failed_silently
    told = refused(CLOCK_TOLERANCE_US, why="REBALANCE_IN_PROGRESS")
    assert context(told, previous=previous).write.has_failed_silently is just
    assert not context(refused(CLOCK_TOLERANCE_US + 1, why="x"), previous=previous).write.has_failed_silently
    for values in ({"last": ("a",), "tell_joins": {"b"}}, {"last": ("a", "b", "c"), "clients": {"c"}}):
        assert not context(previous=previous, facts=trouble, **values).write.may_have_failed_in_trouble  # type: ignore[arg-type]
        assert not context(previous=previous, **rhythm | values).write.has_failed_silently  # type: ignore[arg-type]
    early = ClusterFacts(node_changes=[NodeChange(NOW - TROUBLE_US - 1, "1", "stopped", line("BrokerStopped", NOW))])
    assert not context(previous=previous, facts=early).write.may_have_failed_in_trouble


@pytest.mark.parametrize(
    ("action", "answered"),
    [
        (by_client(K.ASSIGNED, -5 * SECOND), True),
        (by_client(K.SYNCED, -5 * SECOND), True),
        (by_client(K.ASSIGNED, -CLOCK_TOLERANCE_US - 1), True),
        (by_client(K.ASSIGNED, -CLOCK_TOLERANCE_US), False),
        (by_client(K.ASSIGNED, -7 * SECOND), False),
        (by_client(K.JOINED, -5 * SECOND), False),
        (by_request(K.SYNCED, -5 * SECOND), False),
    ],
)
def test_an_assignment_that_a_member_got_was_written(action: MemberAction, answered: bool) -> None:
    """A rhythm of commit timeouts may be one of restarts."""
    values = {"previous": before(ended_at=NOW - STORE_TIMEOUT_US), "previous_joined_at": NOW - 6 * SECOND}
    rebalance = context(action, lags=[STORE_TIMEOUT_US, STORE_TIMEOUT_US], **values)  # type: ignore[arg-type]

    assert rebalance.write.has_failed_silently is not answered


@pytest.mark.parametrize(
    ("lag", "why", "failed"),
    [
        (0, "NOT_COORDINATOR", True),
        (STORE_TIMEOUT_US + STORE_SLACK_US, "NOT_COORDINATOR", True),
        (STORE_TIMEOUT_US + STORE_SLACK_US + 1, "NOT_COORDINATOR", False),
        (-1, "NOT_COORDINATOR", False),
        (9, "other", False),
        (9, None, False),
    ],
)
def test_members_are_told_that_an_assignment_was_not_stored(lag: int, why: str | None, failed: bool) -> None:
    action = by_client(K.SYNC_FAILED, -9, why=why)
    assert context(action, previous=before(ended_at=NOW - lag), **PHASE).write.has_failed_silently is failed  # type: ignore[arg-type]
    for values in ({"outcome": "superseded"}, {"ended_at": None}):
        assert not context(action, previous=before(**{"ended_at": NOW - lag} | values), **PHASE).write.has_failed_silently  # type: ignore[arg-type]
    assert not context(action, previous=None, **PHASE).write.has_failed_silently  # type: ignore[arg-type]


# -- usual shares ----------------------------------------------------------------------------------------------------


def test_usual_shares_and_what_changes_them() -> None:
    usual = {"previous": before(ended_at=NOW - 77 * SECOND)}
    assert shares(eliminate(**usual)) == of(weights.USUAL)
    topics = ClusterFacts(topic_changes=[TopicChange(NOW - 9, "t", "created", line("TopicCreated", NOW - 9))])
    assert shares(eliminate(facts=topics, **usual)) == of(weights.USUAL) | of(weights.AFTER_TOPIC_CHANGE)
    expired = eliminate(act(K.EXPIRE, 9, "b"), by_request(K.JOIN, 9, "c"), **usual)
    assert shares(expired) == of(weights.USUAL) | of(weights.EXPIRED_MEANWHILE)
    assert (who(expired, Cause.MEMBER_RESTART), sum(len(each.actions) for each in expired)) == (["b"], 1)
    unknown = {"state_before": None, **joined(9)}
    assert shares(eliminate(**usual | unknown))[Cause.NEW_GROUP] == round(weights.UNKNOWN_STATE_NEW_GROUP.value, 6)
    timed_out = eliminate(previous=before(ended_at=NOW - STORE_TIMEOUT_US))
    assert shares(timed_out)[Cause.ASSIGNMENT_STORE_FAILED] == round(weights.ONCE_AFTER_STORE_TIMEOUT.value, 6)


@pytest.mark.parametrize(("often", "index"), [(1, 0), (2, 1), (99, -1)])
def test_a_rhythm_of_late_polls_is_their_cause(often: int, index: int) -> None:
    rhythm = {"previous": before(ended_at=NOW - 60 * SECOND), "lags": [60 * SECOND] * often}
    hypotheses = eliminate(**rhythm)
    share = weights.POLL_RHYTHM[index].value
    assert shares(hypotheses)[Cause.POLL_TIMEOUT] == round(share, 6)
    assert round(sum(shares(hypotheses).values()), 4) == 1
    others = {cause: value for cause, value in weights.USUAL.of.items() if cause is not Cause.POLL_TIMEOUT}
    assert shares(hypotheses) == {
        cause: round(value * (1 - share) / sum(others.values()), 6) for cause, value in others.items()
    } | {Cause.POLL_TIMEOUT: round(share, 6)}  # fmt: skip
    topics = ClusterFacts(topic_changes=[TopicChange(NOW - 9, "t", "created", line("TopicCreated", NOW - 9))])
    assert shares(eliminate(facts=topics, **rhythm)) == of(weights.USUAL) | of(weights.AFTER_TOPIC_CHANGE)
    assert JOINED > NOW
