"""Why members go: each condition alone, and each limit met exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models import weights
from models.causes import Cause
from models.events import Witness
from models.kafka.hypotheses.context.departed_members import CLOSE_TIMEOUT_US, CLOSED_AT_DEBUG, FREED_US
from models.kafka.hypotheses.departures import has_whole_group_left, is_static, kind_of_leave, propose_departure, propose_expiry
from models.kafka.hypotheses.hypothesis import CLIENT_LOG, LOOK_BACK_US, PROMPT_US, Hypothesis
from models.kafka.hypotheses.last_polls import COMMIT_RHYTHM_US
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import RosterMember
from tests.models.kafka.hypotheses.contexts import NOW, SECOND, act, before, by_client, context, started
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
LEAVE = act(K.LEAVE)
Shares = dict[Cause, float]


def shares(hypotheses: list[Hypothesis]) -> Shares:
    return {hypothesis.cause: round(hypothesis.probability, 6) for hypothesis in hypotheses}


def of(weight: weights.Shares) -> Shares:
    return {cause: round(share, 6) for cause, share in weight.of.items()}


def who(hypotheses: list[Hypothesis], cause: Cause) -> list[str | None]:
    return [action.client_id for hypothesis in hypotheses if hypothesis.cause is cause for action in hypothesis.actions]


def late(poll: weights.Prior) -> Shares:
    return {Cause.MEMBER_LEAVE: round(weights.LEFT.value - poll.value, 6), Cause.POLL_TIMEOUT: round(poll.value, 6)}


# -- kinds of leaves -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("why", "cause"),
    [
        ("consumer poll timeout has expired.", Cause.POLL_TIMEOUT),
        ("removed by an admin", Cause.ADMIN_REMOVAL),
        ("the consumer is being closed", Cause.MEMBER_LEAVE),
    ],
)
def test_the_clients_reason_tells_how_it_left(why: str, cause: Cause) -> None:
    told = {cause: round(weights.LEAVE_REASON.value, 6)}
    leave = act(K.LEAVE, why=why)
    assert shares(kind_of_leave(context(), "a", leave)) == told
    assert shares(kind_of_leave(context(by_client(K.LEAVE, why=why)), "a", LEAVE)) == told
    assert shares(kind_of_leave(context(by_client(K.LEAVE, who="b", why=why)), "a", LEAVE)) != told


def test_a_reason_of_its_own_is_told() -> None:
    assert shares(kind_of_leave(context(), "a", act(K.LEAVE, why="maintenance"))) == of(weights.OWN_LEAVE_REASON)
    assert shares(kind_of_leave(context(), "a", act(K.LEAVE, why="not provided"))) == late(weights.POLLED_LATE)
    assert shares(kind_of_leave(context(), None, None)) == late(weights.POLLED_LATE)


@pytest.mark.parametrize(
    ("noticed", "is_noticed"),
    [
        (by_client(K.POLL_TIMEOUT, -LOOK_BACK_US), True),
        (by_client(K.POLL_TIMEOUT, -LOOK_BACK_US - 1), False),
        (by_client(K.POLL_TIMEOUT, LOOK_BACK_US), True),
        (by_client(K.POLL_TIMEOUT, 0, "b"), False),
        (by_client(K.POLL_TIMEOUT, -PROMPT_US, None), True),
        (by_client(K.POLL_TIMEOUT, PROMPT_US, None), True),
        (by_client(K.POLL_TIMEOUT, -PROMPT_US - 1, None), False),
    ],
)
def test_a_client_notices_its_late_poll(noticed: MemberAction, is_noticed: bool) -> None:
    (first, *others) = kind_of_leave(context(noticed), "a", LEAVE)

    assert (first.cause is Cause.POLL_TIMEOUT, first.supporting_actions) == (is_noticed, [noticed] if is_noticed else [])
    assert bool(others) is not is_noticed


def test_static_members_that_left_were_removed() -> None:
    assert shares(kind_of_leave(context(), "a", act(K.LEAVE, instance="i"))) == of(weights.STATIC_LEFT)
    assert is_static(context(members=[RosterMember("A", instance_id="i")]).roster, LEAVE)
    assert not is_static(context(members=[RosterMember("A")]).roster, LEAVE)
    assert not is_static(context(members=[RosterMember("B", instance_id="i")]).roster, LEAVE)
    assert not is_static(context().roster, LEAVE)


@pytest.mark.parametrize(
    ("at", "actor", "commits"),
    [(0, "a", False), (1, "a", True), (LOOK_BACK_US, "a", True), (LOOK_BACK_US + SECOND, "a", False), (1, "b", False)],
)
def test_who_commits_after_its_leave_was_not_closed(at: int, actor: str, commits: bool) -> None:
    refused = by_client(K.COMMIT_REFUSED, at, actor)
    expected = weights.LEFT_AND_COMMITS if commits else weights.LOG_OF_SILENT_LIBRARY

    assert shares(kind_of_leave(context(refused, silent={"a"}), "a", LEAVE)) == of(expected)
    assert shares(kind_of_leave(context(refused, silent={"a"}), "a", None)) == of(weights.LOG_OF_SILENT_LIBRARY)


@pytest.mark.parametrize(
    ("actions", "unasked"),
    [
        ([], False),
        ([by_client(K.JOIN, 5)], True),
        ([act(K.JOIN, 5)], False),
        ([by_client(K.JOIN, 5, "b")], False),
        ([by_client(K.JOIN, 0)], False),
        ([by_client(K.REJOIN, 5)], True),
        ([by_client(K.UNSUBSCRIBE, 5), by_client(K.JOIN, 6)], False),
        ([by_client(K.UNSUBSCRIBE, LOOK_BACK_US + 1), by_client(K.JOIN, LOOK_BACK_US + 2)], False),
        ([by_client(K.CLOSE, -LOOK_BACK_US), by_client(K.JOIN, 6)], False),
        ([by_client(K.CLOSE, -LOOK_BACK_US - 1), by_client(K.JOIN, 6)], True),
        ([by_client(K.CLOSE, LOOK_BACK_US)], False),
        ([by_client(K.CLOSE, LOOK_BACK_US + 1)], True),
        ([by_client(K.LOST_COORDINATOR, LOOK_BACK_US), by_client(K.CLOSE, LOOK_BACK_US + 1)], False),
        ([by_client(K.LEAVE_UNANSWERED, LOOK_BACK_US), by_client(K.CLOSE, LOOK_BACK_US + 1)], False),
        ([by_client(K.START, 5), by_client(K.JOIN, 6)], False),
        ([by_client(K.CLOSE, -LOOK_BACK_US - 1), by_client(K.START, 5)], True),
        ([by_client(K.CLOSE, -LOOK_BACK_US - 1, "b"), by_client(K.START, 5)], False),
        ([by_client(K.LOST_COORDINATOR, 4), by_client(K.START, 5), by_client(K.JOIN, 6)], True),
        ([by_client(K.LOST_COORDINATOR, 4), by_client(K.START, 5), by_client(K.START, 6), by_client(K.JOIN, 7)], False),
        ([by_client(K.LOST_COORDINATOR, 3), by_client(K.SUBSCRIBE, 4), by_client(K.START, 5), by_client(K.JOIN, 6)], False),
        ([by_client(K.SUBSCRIBE, 3), by_client(K.LOST_COORDINATOR, 4), by_client(K.START, 5), by_client(K.JOIN, 6)], True),
    ],
)
def test_a_process_that_joins_again_unasked_polled_late(actions: list[MemberAction], unasked: bool) -> None:
    expected = weights.REJOINED_UNASKED if unasked else weights.OWN_LOG_SILENT

    assert shares(kind_of_leave(context(*actions, clients={"a"}), "a", LEAVE)) == of(expected)


def test_a_rejoin_of_several_with_one_name_tells_nothing() -> None:
    assert shares(kind_of_leave(context(by_client(K.REJOIN, 5), clients={"a"}, shared={"a"}), "a", LEAVE)) == of(weights.OWN_LOG_SILENT)
    assert shares(kind_of_leave(context(by_client(K.JOIN, 5), clients={"a"}, shared={"a"}), "a", LEAVE)) == of(weights.REJOINED_UNASKED)


@pytest.mark.parametrize(
    ("quiet", "weight"),
    [
        (0, weights.COMMITTED_IN_TIME),
        (60 * SECOND - 1, weights.COMMITTED_IN_TIME),
        (60 * SECOND, weights.COMMITTED_ONE_INTERVAL_AGO),
        (60 * SECOND + COMMIT_RHYTHM_US, weights.COMMITTED_ONE_INTERVAL_AGO),
        (60 * SECOND + COMMIT_RHYTHM_US + 1, weights.POLLED_LATE),
        (None, weights.POLLED_LATE),
    ],
)
def test_commits_show_until_when_a_member_polled(quiet: int | None, weight: weights.Prior) -> None:
    member, committed_at = RosterMember("A", "a", rebalance_timeout_ms=60_000), {} if quiet is None else {"A": NOW - quiet, "B": NOW}
    group = context(members=[member], committed_at=committed_at, previous=None)
    assert shares(kind_of_leave(group, "a", LEAVE)) == late(weight)
    assert shares(kind_of_leave(context(committed_at=committed_at, previous=None), "a", LEAVE)) == late(weights.POLLED_LATE)


def closed(at: int, who: str = "a", message: str = CLOSED_AT_DEBUG) -> MemberAction:
    close = by_client(K.CLOSE, at, who)
    return replace(close, event=replace(close.event, message=message))


ANSWERED = by_client(K.LEAVE_ANSWERED, 3)


@pytest.mark.parametrize(
    ("actions", "weight"),
    [
        ([ANSWERED, closed(3 + FREED_US)], weights.OWN_LOG_SILENT),
        ([ANSWERED, closed(4 + FREED_US)], weights.CLOSED_LATER),
        ([ANSWERED, closed(4 + FREED_US, message="kafka.client.other")], weights.OWN_LOG_SILENT),
        ([ANSWERED, closed(4 + FREED_US, "b")], weights.OWN_LOG_SILENT),
        ([ANSWERED, closed(5), closed(4 + FREED_US)], weights.OWN_LOG_SILENT),
        ([closed(4 + FREED_US)], weights.OWN_LOG_SILENT),
    ],
    ids=["at once", "later", "by a line of another level", "another", "at once, and again", "without an answer"],
)
def test_a_consumer_that_is_closed_long_after_its_leave_polled_too_late(actions: list[MemberAction], weight: weights.Shares) -> None:
    leave = by_client(K.LEAVE)
    group = context(leave, *actions, clients={"a"}, leaves_logged=True)

    assert shares(kind_of_leave(group, "a", leave)) == of(weight)


CLOSES = by_client(K.LEAVE, why="the consumer is being closed")


BY_MEMBERS = {"witness": Witness.CLIENT, "started": replace(started(), witness=Witness.CLIENT)}
JOINS_AGAIN, LOSES = by_client(K.JOIN, 3), by_client(K.LOST_COORDINATOR, 5)


@pytest.mark.parametrize(
    ("leave", "actions", "doubt"),
    [
        (CLOSES, [closed(5)], weights.LEFT_UNANSWERED),
        (CLOSES, [closed(CLOSE_TIMEOUT_US)], weights.LEFT_UNANSWERED),
        (CLOSES, [closed(CLOSE_TIMEOUT_US + CLOCK_TOLERANCE_US + 1)], None),
        (CLOSES, [closed(5, message="kafka.client.other")], None),
        (CLOSES, [closed(5, "b")], None),
        (CLOSES, [by_client(K.LEAVE_ANSWERED, 3), closed(5)], None),
        (CLOSES, [by_client(K.LEAVE_ANSWERED, 3, "b"), closed(5)], weights.LEFT_UNANSWERED),
        (act(K.LEAVE), [closed(5)], None),
        (CLOSES, [by_client(K.LEAVE_UNANSWERED, CLOSE_TIMEOUT_US)], weights.LEFT_UNANSWERED),
        (CLOSES, [LOSES], weights.LEFT_UNANSWERED),
        (CLOSES, [JOINS_AGAIN, LOSES], weights.LEFT_PERHAPS_UNANSWERED),
        (CLOSES, [by_client(K.LEAVE_ANSWERED, 3), LOSES], None),
        (CLOSES, [by_client(K.LOST_COORDINATOR, 5, "b")], None),
    ],
    ids=[
        "closed", "closed at last", "too late", "no line at DEBUG", "another", "answered", "another was answered", "the coordinator's",
        "time for the close was up", "connection ended", "connection ended of either of two", "connection ended after the answer",
        "another's connection ended",
    ],
)  # fmt: skip
def test_who_closes_without_an_answer_to_its_leave_may_have_been_cut_off(
    leave: MemberAction, actions: list[MemberAction], doubt: weights.Prior | None
) -> None:
    found = shares(propose_departure(context(leave, *actions, last=("b",), **BY_MEMBERS), leave))  # type: ignore[arg-type]

    assert found.get(Cause.SESSION_TIMEOUT) == (doubt and doubt.value)


@pytest.mark.parametrize(
    ("began_at", "witness", "is_sure"),
    [
        (CLOCK_TOLERANCE_US, Witness.COORDINATOR, True),
        (-CLOCK_TOLERANCE_US, Witness.COORDINATOR, True),
        (CLOCK_TOLERANCE_US + 1, Witness.COORDINATOR, False),
        (0, Witness.CLIENT, False),
    ],
)
def test_a_leave_without_an_answer_came_if_the_coordinator_began_at_once(began_at: int, witness: Witness, is_sure: bool) -> None:
    began = replace(started(began_at), witness=witness)
    found = propose_departure(context(CLOSES, LOSES, started=began, witness=witness, last=("b",)), CLOSES)

    assert (Cause.SESSION_TIMEOUT not in shares(found)) is is_sure


def test_a_leave_without_an_answer_keeps_its_reason() -> None:
    leave = by_client(K.LEAVE, why="consumer poll timeout has expired.")
    found = shares(propose_departure(context(leave, closed(5), last=("b",), **BY_MEMBERS), leave))  # type: ignore[arg-type]

    assert found.keys() == {Cause.SESSION_TIMEOUT, Cause.POLL_TIMEOUT}


def test_who_polled_late_lives_on_and_may_lose_its_coordinator_later() -> None:
    leave = by_client(K.LEAVE, why="consumer poll timeout has expired.")
    found = shares(propose_departure(context(leave, LOSES, last=("b",), **BY_MEMBERS), leave))  # type: ignore[arg-type]

    assert found.keys() == {Cause.POLL_TIMEOUT}


@pytest.mark.parametrize(
    ("answer", "went"),
    [(None, True), (by_client(K.LEAVE_ANSWERED, 3), True), (by_client(K.LEAVE_ANSWERED, 3, why="not aware of this member"), False)],
    ids=["no answer is told", "taken", "refused"],
)
def test_a_leave_that_was_refused_had_no_effect(answer: MemberAction | None, went: bool) -> None:
    rebalance = context(*filter(None, [CLOSES, answer]))

    assert ("a" in rebalance.departures.by_actor) is went


def test_a_leave_without_a_word() -> None:
    member = RosterMember("A", "a", rebalance_timeout_ms=60_000)
    assert shares(kind_of_leave(context(act(K.JOIN, -9), members=[member]), "a", LEAVE)) == late(weights.POLLED_IN_TIME)
    rhythm = {"previous": before(ended_at=NOW - 300 * SECOND)}
    assert shares(kind_of_leave(context(**rhythm), "a", LEAVE)) == late(weights.LEAVE_RHYTHM[0])  # type: ignore[arg-type]
    many = {"lags": [300 * SECOND] * 99}
    assert shares(kind_of_leave(context(**rhythm | many), "a", LEAVE)) == late(weights.LEAVE_RHYTHM[-1])  # type: ignore[arg-type]
    closed = {"outcome": "empty", "members_before": 2}
    assert shares(kind_of_leave(context(**rhythm | closed), "a", LEAVE)) == late(weights.EMPTIED_BY_LATE_POLLS)  # type: ignore[arg-type]
    assert shares(kind_of_leave(context(act(K.JOIN, 1)), "a", LEAVE)) == late(weights.POLLED_LATE_CAME_BACK)
    assert shares(kind_of_leave(context(act(K.JOIN, 1)), "a", None)) == late(weights.POLLED_LATE_CAME_BACK)
    assert shares(kind_of_leave(context(act(K.JOIN, 0)), "a", LEAVE)) == late(weights.POLLED_LATE)
    assert shares(kind_of_leave(context(act(K.JOIN, 1, "b")), "a", LEAVE)) == late(weights.POLLED_LATE)


@pytest.mark.parametrize(
    ("outcome", "count", "whole"), [("empty", 2, True), ("empty", 1, False), ("empty", None, False), ("stable", 2, False)]
)
def test_a_whole_group_left(outcome: str, count: int | None, whole: bool) -> None:
    assert has_whole_group_left(context(outcome=outcome, members_before=count).phase) is whole


# -- leaves and returns --------------------------------------------------------------------------------------------


def test_who_left_and_was_seen_back_was_restarted() -> None:
    back = act(K.JOIN, 5, member="A2")
    sure, late = weights.LEFT_AND_SEEN_BACK.value, weights.LATE_AND_BACK_UNLOGGED.value
    by_will = {Cause.MEMBER_LEAVE: round(1 - sure, 6)}
    hypotheses = propose_departure(context(LEAVE, back), LEAVE)
    unlogged = {Cause.MEMBER_RESTART: round(sure - late, 6), Cause.POLL_TIMEOUT: late}
    assert shares(hypotheses) == unlogged | by_will
    assert hypotheses[-1].settled_by is CLIENT_LOG
    assert shares(propose_departure(context(LEAVE, back, clients={"a"}), LEAVE)) == {Cause.MEMBER_RESTART: sure} | by_will
    assert hypotheses[0].actions == [LEAVE, back]
    assert propose_departure(context(LEAVE, back), None)[0].actions == [LEAVE, back]
    for values in ({"outcome": "empty"}, {"shared": {"a"}}):
        assert round(sure, 6) not in shares(propose_departure(context(LEAVE, back, **values), LEAVE)).values()  # type: ignore[arg-type]
    removed = act(K.LEAVE, why="removed by an admin")
    assert round(sure, 6) not in shares(propose_departure(context(removed, back), removed)).values()


@pytest.mark.parametrize(
    ("other", "returned", "is_even"),
    [
        (by_client(K.LEAVE, 60_000, "b", why="the consumer is being closed"), "a", True),
        (by_client(K.LEAVE, 60_000, "b", why="the consumer is being closed"), "b", True),
        (by_client(K.LEAVE, 60_001, "b", why="the consumer is being closed"), "a", False),
        (act(K.LEAVE, 60_000, "b"), "a", False),
    ],
    ids=["the first came back", "the second came back", "later", "by the coordinator's order"],
)
def test_of_two_that_left_at_once_either_was_first(other: MemberAction, returned: str, is_even: bool) -> None:
    leave, back = by_client(K.LEAVE, why="the consumer is being closed"), by_client(K.JOIN, SECOND, returned, member=f"{returned.upper()}2")
    rebalance = context(leave, other, back, last=(returned, "c"), first=("a", "b", "c"), witness=Witness.CLIENT)

    hypotheses = propose_departure(rebalance, leave)

    assert (shares(hypotheses) == of(weights.LEFT_TOGETHER)) is is_even
    if is_even:
        assert who(hypotheses, Cause.MEMBER_RESTART)[:2] == [returned, returned]
        assert set(who(hypotheses, Cause.MEMBER_LEAVE)) == {"a", "b"}


@pytest.mark.parametrize("shared", ["a", "b"])
def test_names_that_several_have_do_not_tell_who_came_back(shared: str) -> None:
    leave, other = by_client(K.LEAVE), by_client(K.LEAVE, 5, "b")
    back = by_client(K.JOIN, SECOND, "a", member="A2")

    hypotheses = propose_departure(context(leave, other, back, witness=Witness.CLIENT, shared={shared}), leave)

    assert shares(hypotheses) != of(weights.LEFT_TOGETHER)


def test_of_two_that_both_came_back_the_first_was_restarted() -> None:
    leave, other = by_client(K.LEAVE), by_client(K.LEAVE, 5, "b")
    back = [by_client(K.JOIN, SECOND, name, member=f"{name.upper()}2") for name in "ab"]

    hypotheses = propose_departure(context(leave, other, *back, witness=Witness.CLIENT), leave)

    assert hypotheses[0].cause is Cause.MEMBER_RESTART
    assert hypotheses[0].probability == weights.LEFT_AND_SEEN_BACK.value - weights.LATE_AND_BACK_UNLOGGED.value


def test_who_polled_late_and_came_back_is_the_same_process() -> None:
    leave = act(K.LEAVE, why="poll timeout has expired")
    back = act(K.JOIN, 5, member="A2")
    share = weights.LATE_AND_SEEN_BACK.value
    told = weights.LEAVE_REASON.value
    assert shares(propose_departure(context(leave, back), leave)) == {
        Cause.POLL_TIMEOUT: round(told * (1 - share), 6),
        Cause.MEMBER_RESTART: round(share, 6),
    }
    for values in ({"outcome": "empty"}, {"witness": Witness.CLIENT, "joined": None}):
        assert shares(propose_departure(context(leave, back, **values), leave)) == {Cause.POLL_TIMEOUT: round(told, 6)}  # type: ignore[arg-type]
    assert shares(propose_departure(context(leave), leave)) == {Cause.POLL_TIMEOUT: round(told, 6)}
    seen = context(leave, back, witness=Witness.CLIENT)
    assert Cause.MEMBER_RESTART in shares(propose_departure(seen, leave))


def test_who_left_in_the_same_way_stands_behind_the_first() -> None:
    other, another = act(K.LEAVE, -1, "b"), act(K.LEAVE, 1, "c", why="removed by an admin")
    rebalance = context(LEAVE, other, another, first=("a", "b", "c"))
    assert who(propose_departure(rebalance, LEAVE), Cause.MEMBER_LEAVE) == ["a", "b"]
    assert who(propose_departure(rebalance, None), Cause.MEMBER_LEAVE) == ["a", "b"]
    assert who(propose_departure(context(), LEAVE), Cause.MEMBER_LEAVE) == ["a"]
    assert who(propose_departure(context(), None), Cause.MEMBER_LEAVE) == []


@pytest.mark.parametrize(
    ("values", "actions", "share"),
    [
        ({}, [], weights.LEFT_AND_RETURNED),
        ({"clients": {"a"}}, [], None),
        ({"clients": {"b"}}, [], weights.LEFT_AND_RETURNED),
        ({"has_requests": True}, [], None),
        ({"joined": None}, [], None),
        ({"outcome": "empty"}, [], None),
        ({"members_before": 2, "members_after": 2}, [], weights.AS_MANY_AS_BEFORE),
        ({"members_before": 2, "members_after": 2, "last": ("b", "c")}, [act(K.JOIN, 1, "c")], None),
        ({"members_before": 2, "members_after": 2, "last": ()}, [act(K.ID_HANDED_OUT, 1, "c"), act(K.JOIN, 2, "c")], None),
        ({"members_before": 2, "members_after": 2}, [act(K.ID_HANDED_OUT, 1, "c")], None),
        ({"members_before": 2, "members_after": 3}, [act(K.JOIN, 1, "c")], weights.AS_MANY_AS_BEFORE),
        ({"members_before": 3, "members_after": 3}, [act(K.LEAVE, 1, "b"), act(K.JOIN, 1, "c")], weights.FEWER_WENT_THAN_LEFT),
        ({"members_before": 3, "members_after": 2}, [], None),
        ({"members_before": 2, "members_after": 3}, [], weights.FEWER_WENT_THAN_LEFT),
        ({"members_before": 4, "members_after": 3}, [act(K.LEAVE, 1, "b")], weights.FEWER_WENT_THAN_LEFT),
        ({"members_before": 4, "members_after": 2}, [act(K.LEAVE, 1, "b")], None),
        ({"members_before": 2}, [], weights.LEFT_AND_RETURNED),
        ({"members_after": 2}, [], weights.LEFT_AND_RETURNED),
        ({}, [act(K.ID_HANDED_OUT, 5)], weights.HANDED_A_NEW_ID),
        ({}, [act(K.ID_HANDED_OUT, 0)], weights.HANDED_A_NEW_ID),
        ({"members_before": 3, "members_after": 2}, [act(K.ID_HANDED_OUT, 5)], weights.HANDED_A_NEW_ID),
        ({"members_before": 3, "members_after": 2}, [act(K.ID_HANDED_OUT, 3 * SECOND)], None),
        ({"members_before": 3, "members_after": 3}, [act(K.ID_HANDED_OUT, 3 * SECOND)], weights.HANDED_A_NEW_ID),
        ({}, [act(K.ID_HANDED_OUT, -1)], weights.LEFT_AND_RETURNED),
        ({}, [act(K.ID_HANDED_OUT, 5, "b")], weights.LEFT_AND_RETURNED),
        ({"has_requests": True, "shared": {"a"}}, [], weights.LEFT_AND_RETURNED),
        ({"outcome": "coordinator_lost", "joined": None, "has_requests": True}, [], weights.LEFT_AND_RETURNED),
        ({"outcome": "coordinator_lost", "joined": None, "clients": {"a"}}, [], None),
    ],
)
def test_a_return_may_be_unlogged(values: dict[str, object], actions: list[MemberAction], share: weights.Prior | None) -> None:
    hypotheses = propose_departure(context(LEAVE, *actions, **values), LEAVE)  # type: ignore[arg-type]

    assert shares(hypotheses).get(Cause.MEMBER_RESTART) == (round(share.value, 6) if share else None)
    assert shares(hypotheses)[Cause.MEMBER_LEAVE] < weights.LEFT.value or share is None


def test_where_nobody_is_named_any_log_would_tell() -> None:
    assert Cause.MEMBER_RESTART in shares(propose_departure(context(act(K.ID_HANDED_OUT, 5)), None))
    assert Cause.MEMBER_RESTART not in shares(propose_departure(context(clients={"b"}), None))


# -- expiries -------------------------------------------------------------------------------------------------------


def expiry(at: int = 0, name: str = "a", **values: object) -> MemberAction:
    return act(K.EXPIRE, at, name, **values)  # type: ignore[arg-type]


def test_who_expired_and_was_seen_back_was_restarted() -> None:
    back = act(K.JOIN, 5, member="A2")
    for gone, weight in ((expiry(), weights.EXPIRED_AND_SEEN_BACK), (expiry(doubt_us=5), weights.EXPIRED_SOMETIME_AND_SEEN_BACK)):
        hypotheses = propose_expiry(context(gone, back), gone)
        assert shares(hypotheses) == {Cause.MEMBER_RESTART: round(weight.value, 6), Cause.SESSION_TIMEOUT: round(1 - weight.value, 6)}
        assert (hypotheses[0].actions, hypotheses[1].actions) == ([gone, back], [gone])
    assert propose_expiry(context(expiry(), back, outcome="empty"), expiry())[0].cause is Cause.SESSION_TIMEOUT


@pytest.mark.parametrize(("doubt_us", "weight"), [(0, weights.EXPIRED), (None, weights.EXPIRED), (5, weights.EXPIRED_SOMETIME)])
def test_how_sure_an_expiry_is(doubt_us: int | None, weight: weights.Prior) -> None:
    gone = expiry(doubt_us=doubt_us)
    assert shares(propose_expiry(context(gone, has_requests=True), gone)) == {Cause.SESSION_TIMEOUT: round(weight.value, 6)}
    assert shares(propose_expiry(context(gone), gone))[Cause.MEMBER_RESTART] == round(weights.EXPIRED_AND_RETURNED.value, 6)
    assert shares(propose_expiry(context(has_requests=True), None)) == {Cause.SESSION_TIMEOUT: round(weights.EXPIRED.value, 6)}


def test_an_echo_of_an_eviction_is_one() -> None:
    previous = before(started=line("RebalanceStarted", NOW - 60 * SECOND - 9), joined=line("GenerationStarted", NOW - 9))

    assert shares(propose_expiry(context(expiry(), previous=previous), expiry())) == of(weights.ECHO_OF_EVICTION)


def test_all_that_expired_are_named() -> None:
    first, second = expiry(-2, "b"), expiry(-1)
    assert who(propose_expiry(context(first, second), second), Cause.SESSION_TIMEOUT) == ["a", "b"]
    assert who(propose_expiry(context(first, second), None), Cause.SESSION_TIMEOUT) == ["b", "a"]
    assert who(propose_expiry(context(), expiry()), Cause.SESSION_TIMEOUT) == ["a"]
    named = expiry(0, member="A9")
    assert who(propose_expiry(context(first, second), named), Cause.SESSION_TIMEOUT) == ["a", "b"]
    assert who(propose_expiry(context(), None), Cause.SESSION_TIMEOUT) == []


def test_of_a_shared_name_each_id_is_a_member() -> None:
    first, second, named = expiry(-2, member="A1"), expiry(-1, member="A2"), expiry(0, member="A3")
    hypotheses = propose_expiry(context(first, second, shared={"a"}), named)

    assert [action.member_id for action in hypotheses[0].actions] == ["A3", "A1", "A2"]
    hypotheses = propose_expiry(context(first, second, shared={"a"}), second)
    assert [action.member_id for action in hypotheses[0].actions] == ["A2", "A1"]
    hypotheses = propose_expiry(context(first, second), second)
    assert [action.member_id for action in hypotheses[0].actions] == ["A1"]


# -- who came back and stopped again -------------------------------------------------------------------------------

BACK, STOPPED = act(K.JOIN, SECOND, "a", member="A2"), act(K.LEAVE, 2 * SECOND, "a", member="A2")
AGAIN = {"last": ("b",), "members_after": 1}


@pytest.mark.parametrize(
    ("actions", "values", "restarted"),
    [
        ([BACK, STOPPED], {}, True),
        ([BACK, act(K.EXPIRE, 2 * SECOND, "a", member="A2")], {}, True),
        ([BACK], {}, False),
        ([STOPPED], {}, False),
        ([BACK, act(K.LEAVE, 2 * SECOND, "a")], {}, False),
        ([act(K.JOIN, SECOND, "a", member="A2", error_code=79), STOPPED], {}, False),
        ([act(K.JOIN, 3 * SECOND + 1, "a", member="A2"), act(K.LEAVE, 3 * SECOND + 2, "a", member="A2")], {}, False),
        ([BACK, STOPPED], {"outcome": "coordinator_lost"}, False),
    ],
    ids=["left", "expired", "too late", "no request", "left once", "given an id", "in the next phase", "coordinator lost"],
)
def test_who_came_back_and_stopped_again_was_restarted(actions: list[MemberAction], values: dict[str, object], restarted: bool) -> None:
    for gone, propose in ((LEAVE, propose_departure), (expiry(), propose_expiry)):
        hypotheses = propose(context(gone, *actions, **AGAIN | values), gone)  # type: ignore[arg-type]
        assert (hypotheses[0].cause is Cause.MEMBER_RESTART) is restarted


@pytest.mark.parametrize(
    ("actions", "values", "is_in_its_place"),
    [
        ([BACK], {}, True),
        ([BACK, STOPPED], {"last": ("b",)}, True),
        ([], {}, False),
        ([act(K.JOIN, SECOND, "b", member="B2")], {}, False),
        ([BACK], {"shared": {"b"}}, False),
        ([BACK], {"outcome": "empty"}, False),
    ],
    ids=["came", "came and stopped", "nobody", "another name", "a name of one alone", "none stayed"],
)
def test_of_several_by_one_name_one_that_came_may_be_in_the_place_of_one_that_went(
    actions: list[MemberAction], values: dict[str, object], is_in_its_place: bool
) -> None:
    for gone, propose in ((LEAVE, propose_departure), (expiry(), propose_expiry)):
        hypotheses = propose(context(gone, *actions, **{"shared": {"a"}} | values), gone)  # type: ignore[arg-type]
        assert (shares(hypotheses).get(Cause.MEMBER_RESTART) == weights.NAMESAKE_CAME.value) is is_in_its_place
        if is_in_its_place:
            assert hypotheses[0].actions == [gone, BACK]


def test_a_name_that_any_program_may_have_tells_less_of_who_came() -> None:
    back = act(K.JOIN, SECOND, "rdkafka", member="A2")
    for gone, propose in ((act(K.LEAVE, 0, "rdkafka"), propose_departure), (expiry(0, "rdkafka"), propose_expiry)):
        hypotheses = propose(context(gone, back, first=("rdkafka", "b"), last=("rdkafka", "b")), gone)
        assert shares(hypotheses)[Cause.MEMBER_RESTART] == weights.NAMELESS_CAME.value


def test_of_several_by_one_name_one_that_polled_late_is_none_that_came() -> None:
    late = act(K.LEAVE, why="poll timeout has expired")

    assert propose_departure(context(late, BACK, shared={"a"}), late)[0].cause is Cause.POLL_TIMEOUT


@pytest.mark.parametrize(
    ("family", "leaves_logged", "weight"),
    [
        ("kafka.client", False, weights.LOG_OF_SILENT_LIBRARY),
        ("kafka.client", True, weights.OWN_LOG_SILENT),
        ("kafka.librdkafka", False, weights.OWN_LOG_SILENT),
    ],
)
def test_the_log_of_a_client_too_old_to_tell_of_leaves_tells_of_no_late_poll(
    family: str, leaves_logged: bool, weight: weights.Shares
) -> None:
    rebalance = context(LEAVE, clients={"a"}, leaves_logged=leaves_logged)
    rebalance.roster.note_log("a", "a.log", family)

    assert shares(kind_of_leave(rebalance, "a", LEAVE)) == of(weight)
