"""What triggered a rebalance: each condition alone, and each limit met exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from models import weights
from models.causes import Cause
from models.events import LogPosition, Witness
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.assignment_write import AT_ONCE_US, NOT_STORED
from models.kafka.hypotheses.hypothesis import LOOK_BACK_US, PROMPT_US, Hypothesis
from models.kafka.hypotheses.ranking import EXPIRY_LAG_US, Ranking, find_trigger, rank, trigger_text
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US, HEARD_US, LATE_LOGGING_US, STAMP_US
from models.tolerances import GROUP_MIN_SESSION_US, STORE_TIMEOUT_US
from tests.models.kafka.hypotheses.contexts import NOW, SECOND, act, before, by_client, by_request, context, started
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
TOLD = "group is already rebalancing"


@pytest.mark.parametrize(
    ("action", "triggers"),
    [
        (act(K.EXPIRE, -EXPIRY_LAG_US), True),
        (act(K.EXPIRE, -EXPIRY_LAG_US - 1), False),
        (act(K.EXPIRE, 0), True),
        (act(K.EXPIRE, 1), False),
        (act(K.JOIN, CLOCK_TOLERANCE_US, "c"), True),
        (act(K.JOIN, CLOCK_TOLERANCE_US + 1, "c"), False),
        (act(K.JOIN, -PROMPT_US, "c"), True),
        (act(K.JOIN, -2 * EXPIRY_LAG_US, "c"), True),
        (act(K.JOIN, -2 * EXPIRY_LAG_US - 1, "c"), False),
        (act(K.REJOIN, -PROMPT_US), True),
        (act(K.REJOIN, -PROMPT_US - 1), False),
        (act(K.LEAVE, 0), True),
        (act(K.LEAVE, 0, "c"), False),
        (act(K.REPLACE, 0, "c"), True),
        (act(K.SUBSCRIBE, 0), False),
        (act(K.JOIN, 0), True),
        (by_client(K.JOIN, 0, member=""), True),
        (act(K.JOIN, 0, instance="i"), True),
    ],
)
def test_some_action_right_before_triggers_a_rebalance(action: MemberAction, triggers: bool) -> None:
    assert find_trigger(context(action)) == (action if triggers else None)


def test_the_earliest_prompt_request_counts_or_the_last_late_one() -> None:
    early, late = act(K.JOIN, -PROMPT_US - 9, "c"), act(K.JOIN, -PROMPT_US - 5, "d")
    first, second = act(K.JOIN, -9, "e"), act(K.JOIN, -5, "f")
    assert find_trigger(context(early, late, first, second)) == first
    assert find_trigger(context(early, late)) == late
    assert find_trigger(context(early, act(K.EXPIRE, -1), first)) == act(K.EXPIRE, -1)
    assert find_trigger(context(act(K.LEAVE, 0, "c"), first=())) == act(K.LEAVE, 0, "c")


def test_requests_that_reached_the_coordinator_are_ordered_by_it() -> None:
    """A client's line stands before its request, and another's request may come between the two."""
    said, asked = by_client(K.JOIN, -9, "c"), by_request(K.JOIN, -5, "c")
    before_it, after_it = by_request(K.LEAVE, -7), by_request(K.LEAVE, -3)
    assert find_trigger(context(said, before_it, asked)) == before_it
    assert find_trigger(context(said, asked, after_it)) == asked
    assert find_trigger(context(said, before_it)) == said


@pytest.mark.parametrize(
    ("told", "triggers"),
    [
        ([by_client(K.REBALANCE_NOTICED, -5)], False),
        ([by_client(K.WANTS_REJOIN, -5, why=TOLD)], False),
        ([by_client(K.WANTS_REJOIN, -5, why="own")], True),
        ([by_client(K.WANTS_REJOIN, -6, why="own"), by_client(K.REBALANCE_NOTICED, -5)], True),
        ([by_client(K.REBALANCE_NOTICED, -5, "b")], True),
        ([by_client(K.REBALANCE_NOTICED, 0)], False),
        ([by_client(K.REBALANCE_NOTICED, 1)], True),
        ([by_client(K.REBALANCE_NOTICED, -6), by_client(K.JOINED, -5)], True),
        ([by_client(K.REBALANCE_NOTICED, -5), by_client(K.JOINED, -5)], False),
        ([by_client(K.REBALANCE_NOTICED, -6), by_client(K.JOINED, -5, "b")], False),
        ([by_client(K.REBALANCE_NOTICED, -6), by_client(K.JOINED, 0)], False),
        ([by_client(K.SYNC_FAILED, -5, why="REBALANCE_IN_PROGRESS")], False),
        ([by_client(K.SYNC_FAILED, -5, why="other")], True),
    ],
)
def test_who_was_told_to_rejoin_triggers_nothing(told: list[MemberAction], triggers: bool) -> None:
    rejoin = by_request(K.REJOIN)

    assert (find_trigger(context(*told, rejoin)) is not None) is triggers


@pytest.mark.parametrize(("ended", "triggers"), [(0, False), (-1, True)], ids=["within the rebalance before", "behind it"])
def test_who_rejoined_as_it_was_told_and_missed_the_generation_triggers_nothing(ended: int, triggers: bool) -> None:
    """It left since. One that asks behind the rebalance before may be new."""
    told, rejoin = by_client(K.REBALANCE_NOTICED, -5, "c"), by_client(K.REJOIN, 0, "c", member="C2")
    values = {"previous_joined_at": NOW + ended, "tell_joins": {"c"}, "generations": {3: {"c": "C2"}, 4: {"a": "A", "b": "B"}}}
    found = context(by_client(K.JOINED, -9, "c"), told, rejoin, **values)  # type: ignore[arg-type]

    assert found.members.is_new(rejoin)
    assert (find_trigger(found) is not None) is triggers


@pytest.mark.parametrize(
    ("joined", "generation_after", "triggers"),
    [
        (act(K.JOINED, -5, generation=5), 5, False),
        (act(K.JOINED, -5, generation=4), 5, True),
        (act(K.JOINED, 0, generation=5), 5, True),
        (act(K.JOINED, -5, "b", generation=5), 5, True),
        (act(K.JOINED, -5, generation=None), None, True),
    ],
)
def test_who_had_joined_the_next_generation_triggers_nothing(joined: MemberAction, generation_after: int | None, triggers: bool) -> None:
    assert (find_trigger(context(joined, by_request(K.REJOIN), generation_after=generation_after)) is not None) is triggers


@pytest.mark.parametrize(
    ("values", "actions", "triggers"),
    [
        ({}, [], True),
        ({"last": ("a",), "tell_joins": {"b"}}, [], False),
        ({}, [act(K.LEAVE, 5, "b")], False),
        ({"last": ("a", "b", "c"), "clients": {"c"}}, [], False),
        ({"last": ("a",), "tell_joins": {"b"}}, [by_client(K.WANTS_REJOIN, 0, why="own")], True),
        ({"last": ("a",), "tell_joins": {"b"}}, [by_client(K.WANTS_REJOIN, 0, "c", why="own")], False),
    ],
)
def test_a_member_without_a_reason_follows_others(values: dict[str, object], actions: list[MemberAction], triggers: bool) -> None:
    rejoin = by_request(K.REJOIN)
    rebalance = context(*actions, rejoin, witness=Witness.CLIENT, **values)  # type: ignore[arg-type]
    assert (find_trigger(rebalance) == rejoin) is triggers
    assert find_trigger(context(*actions, rejoin, **values)) == rejoin  # type: ignore[arg-type]


BEHIND_A_LOSS = by_client(K.REJOIN, -5, event=replace(by_client(K.REJOIN, -5).event, place=LogPosition("a.log", 2, NOW)))


@pytest.mark.parametrize(
    ("action", "others", "triggers"),
    [
        (by_request(K.JOIN, -5, "c", error_code=27), [], False),
        (by_request(K.JOIN, -5, "c", error_code=0), [], True),
        (by_request(K.JOIN, -5, "c", error_code=79), [], False),
        (by_request(K.JOIN, 0, "c", error_code=27), [], True),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -4, "c")], False),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -5, "c")], False),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -6, "c")], True),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -1, "c")], False),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, 0, "c")], True),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -4, "d")], True),
        (by_client(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -4, "c", why="MEMBER_ID_REQUIRED")], True),
        (act(K.JOIN, -5, "c"), [by_client(K.JOIN_FAILED, -4, "c")], True),
        (act(K.JOIN, -5, "c", instance="i"), [act(K.JOINED, -4, "c", generation=4)], False),
        (act(K.JOIN, -5, "c"), [act(K.JOINED, -4, "c", generation=4)], True),
        (by_client(K.REJOIN, -5), [by_client(K.JOINED, -4, generation=4)], False),
        (act(K.REJOIN, -5), [act(K.JOINED, -4, generation=5)], True),
        (by_client(K.REJOIN, -5), [by_client(K.JOINED, -4, "b", generation=4)], True),
        (by_request(K.REJOIN, -5), [by_request(K.JOINED, -5, generation=4)], False),
        (BEHIND_A_LOSS, [by_client(K.LOST_COORDINATOR, -5), by_client(K.JOINED, -4, generation=4)], False),
    ],
)
def test_a_join_that_was_refused_or_answered_at_once_triggers_nothing(
    action: MemberAction, others: list[MemberAction], triggers: bool
) -> None:
    assert find_trigger(context(action, *others)) == (action if triggers else None)


@pytest.mark.parametrize(("away", "same"), [(CLOCK_TOLERANCE_US, True), (CLOCK_TOLERANCE_US + 1, False)])
def test_the_request_log_tells_the_same_action(away: int, same: bool) -> None:
    first = by_client(K.JOIN, -CLOCK_TOLERANCE_US, "c")
    request = by_request(K.JOIN, -CLOCK_TOLERANCE_US + away, "c")

    assert find_trigger(context(first, request)) == (request if same else first)
    assert find_trigger(context(first, by_request(K.JOIN, 0, "d"))) == first
    certain = act(K.JOIN, -CLOCK_TOLERANCE_US, "c")
    assert find_trigger(context(certain, request)) == certain


SAYS = by_client(K.REJOIN, -9, "a")


@pytest.mark.parametrize(
    ("requests", "triggers"),
    [
        ([], True),
        ([by_request(K.REJOIN, -8, "a", error_code=25)], False),
        ([by_request(K.REJOIN, -8, "a", error_code=0)], True),
        ([by_request(K.REJOIN, -8, "a", error_code=79)], True),
        ([by_request(K.REJOIN, -8, "b", error_code=25)], True),
        ([by_request(K.REJOIN, -9 - CLOCK_TOLERANCE_US, "a", error_code=25)], False),
        ([by_request(K.REJOIN, -10 - CLOCK_TOLERANCE_US, "a", error_code=25)], True),
        ([by_request(K.REJOIN, -30, "a", error_code=25), by_request(K.REJOIN, -8, "a", error_code=0)], True),
    ],
    ids=["untold", "refused", "answered", "given an id", "another's", "at the limit", "long before", "refused before"],
)
def test_a_join_of_which_the_request_log_says_that_it_was_refused_triggers_nothing(requests: list[MemberAction], triggers: bool) -> None:
    trigger = find_trigger(context(*requests, SAYS))

    assert (trigger is not None and context().phase.actor(trigger) == "a") is triggers


def test_a_member_that_missed_a_generation_leaves_in_vain() -> None:
    leave = by_client(K.LEAVE, 0)
    known = {"generations": {3: {"a": "A"}, 4: {"a": "A", "b": "B"}}, "tell_joins": {"a"}}

    assert find_trigger(context(leave, **known)) == leave  # type: ignore[arg-type]
    assert find_trigger(context(leave, **known | {"generations": {3: {"a": "A"}, 4: {"b": "B"}}})) is None  # type: ignore[arg-type]


# -- others without a log ------------------------------------------------------------------------------------------


def rivals(*actions: MemberAction, **values: object) -> set[Cause]:
    ranking = rank(context(*actions, **{"witness": Witness.CLIENT, "clients": {"a", "b"}} | values))  # type: ignore[arg-type]
    return {
        hypothesis.cause for hypothesis in ranking.hypotheses if hypothesis.settled_by == "server.log at INFO" and not hypothesis.actions
    }


@pytest.mark.parametrize(
    ("values", "unseen"),
    [
        ({}, True),
        ({"witness": Witness.COORDINATOR}, False),
        ({"generation_before": None}, False),
        ({"state_before": State.EMPTY}, False),
        ({"members_after": 2, "members_before": 2}, False),
        ({"members_after": 2, "members_before": 3}, True),
        ({"members_after": 3, "members_before": 2}, True),
        ({"members_after": 2, "previous": before(members_after=2)}, False),
        ({"members_after": 2, "previous": before(members_after=3)}, True),
        ({"members_after": 2, "previous": before(members_after=2, generation_after=3)}, True),
        ({"members_after": 2, "members_before": 2, "clients": {"a"}}, True),
    ],
)
def test_others_may_have_begun_it_unless_all_are_known(values: dict[str, object], unseen: bool) -> None:
    rejoin = by_client(K.REJOIN, 0)

    assert (Cause.MEMBER_LEAVE in rivals(rejoin, **values)) is unseen


@pytest.mark.parametrize(
    ("values", "weight"),
    [
        ({}, weights.SEEN_FIRST_OF_ALL),
        ({"clients": {"a", "b", "c"}}, None),
        ({"generations": {4: {"a": "A", "b": "B"}, 5: {"a": "A", "b": "B2", "c": "C"}}}, weights.SEEN_FIRST),
        ({"members_after": None}, weights.SEEN_FIRST),
        ({"members_before": None}, weights.SEEN_FIRST),
    ],
    ids=["stayed", "has a log", "came back under another id", "others may be there", "others may have been there"],
)
def test_a_member_without_a_log_that_stayed_is_less_of_a_rival(values: dict[str, object], weight: weights.Prior | None) -> None:
    known = {"witness": Witness.CLIENT, "clients": {"a", "c"}, "last": ("a", "b", "c"), "members_before": 2, "members_after": 3}
    ranking = rank(context(by_client(K.JOIN, 0, "c"), **known | values))  # type: ignore[arg-type]

    doubts = [each.probability for each in ranking.hypotheses if each.cause is Cause.MEMBER_LEAVE]
    assert doubts == ([pytest.approx(1 - weight.value)] if weight else [])


GAP = (by_client(K.ASSIGNED, -99 * SECOND, "a", partitions=["x-0"]), by_client(K.ASSIGNED, -99 * SECOND, "b", partitions=["x-2"]))


@pytest.mark.parametrize("trigger", [by_client(K.LEAVE, 0), by_client(K.JOIN, 0, "c")], ids=["leave", "join"])
def test_a_partition_that_no_member_got_shows_that_others_may_have_begun_it(trigger: MemberAction) -> None:
    known = {"witness": Witness.CLIENT, "clients": {"a", "b", "c"}, "assignors": {4: "range"}, "last": ("b", "c")}
    ranking = rank(context(trigger, *GAP, **known))  # type: ignore[arg-type]

    assert ranking.best.probability <= weights.SEEN_FIRST.value
    assert [action for action in ranking.best.supporting_actions if action in GAP] == list(GAP)
    assert rank(context(trigger, **known)).best.probability > weights.SEEN_FIRST.value  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("values", "actions", "cause"),
    [
        ({}, [], Cause.SESSION_TIMEOUT),
        ({}, [by_client(K.LEAVE, 5, "b")], None),
        ({}, [by_client(K.POLL_TIMEOUT, 5, "b")], None),
        ({}, [by_client(K.LEAVE, 600 * SECOND, "b")], Cause.SESSION_TIMEOUT),
        ({"outcome": "stable"}, [], None),
        ({"witness": Witness.COORDINATOR}, [], None),
    ],
    ids=["silent", "left", "polled late", "left a later generation", "no empty group", "told by its coordinator"],
)
def test_who_did_not_leave_a_group_that_went_empty_may_have_expired_first(
    values: dict[str, object], actions: list[MemberAction], cause: Cause | None
) -> None:
    following = before(60 * SECOND, generation_before=5)
    emptied = {"outcome": "empty", "joined": None, "ended_at": None, "last": (), "witness": Witness.CLIENT, "clients": {"a", "b"}}
    leave = by_client(K.LEAVE, 0, why="the consumer is being closed")
    ranking = rank(context(leave, *actions, following=following, **emptied | values))  # type: ignore[arg-type]

    assert ranking.best.cause is Cause.MEMBER_LEAVE
    assert (Cause.SESSION_TIMEOUT in [each.cause for each in ranking.hypotheses]) is (cause is not None)
    assert (ranking.best.probability <= weights.SEEN_FIRST.value) is (cause is not None)


@pytest.mark.parametrize(
    ("values", "actions", "has_expired"),
    [
        ({}, [], True),
        ({"last": ("a", "b")}, [], False),
        ({}, [by_client(K.JOINED, -SECOND, "b")], False),
        ({}, [act(K.LEAVE, 5, "b")], False),
        ({"witness": Witness.REQUEST}, [], False),
        ({"joined": line("GenerationStarted", NOW + HEARD_US + 1, node="1", generation=5)}, [], False),
    ],
    ids=["gone and not awaited", "still there", "alive before", "left", "told by requests", "perhaps awaited"],
)
def test_members_that_are_gone_without_being_awaited_expired_before_another_rejoined(
    values: dict[str, object], actions: list[MemberAction], has_expired: bool
) -> None:
    wish = by_client(K.WANTS_REJOIN, -9, why="cached metadata has changed")
    at_once = {"joined": line("GenerationStarted", NOW + 9, node="1", generation=5), "last": ("a",), "tell_joins": {"a", "b"}}
    rebalance = context(*actions, wish, by_client(K.REJOIN), **{"witness": Witness.CLIENT} | at_once | values)  # type: ignore[arg-type]
    ranking = rank(rebalance)

    assert (ranking.best.cause is Cause.SESSION_TIMEOUT) is has_expired
    assert ([action.client_id for action in ranking.best.actions if action.kind is K.EXPIRE] == ["b"]) is has_expired


@pytest.mark.parametrize(("generation", "who", "unseen"), [(3, "d", True), (5, "d", True), (6, "d", False), (3, "a", False)])
def test_a_member_without_a_log_that_was_there_before_may_have_begun_it(generation: int, who: str, unseen: bool) -> None:
    generations = {4: {"a": "A", "b": "B"}, 5: {"b": "B"}}
    generations[generation] = {**generations.get(generation, {}), who: who.upper()}
    rebalance = context(by_client(K.LEAVE, 0), witness=Witness.CLIENT, clients={"a", "b"}, generations=generations)

    assert (rank(rebalance).best.probability <= weights.SEEN_FIRST.value) is unseen


@pytest.mark.parametrize(
    ("at", "lag", "failed"),
    [(9, AT_ONCE_US, True), (9, AT_ONCE_US + 1, False), (0, AT_ONCE_US, False), (-9, AT_ONCE_US, False)],
)
def test_who_asks_right_behind_a_beginning_right_behind_an_assignment_did_not_begin_it(at: int, lag: int, failed: bool) -> None:
    join = by_client(K.JOIN, at, "c")
    rebalance = context(join, previous=before(ended_at=NOW - lag), previous_ended_at=NOW - lag, last=("a", "b", "c"))

    assert (rank(rebalance).best.cause is Cause.ASSIGNMENT_STORE_FAILED) is failed


@pytest.mark.parametrize(
    ("action", "lags", "failed"),
    [
        (by_client(K.JOIN, 0, "c"), [0, 0], True),
        (by_client(K.JOIN, 0, "c"), [0], False),
        (by_client(K.JOIN, -1, "c"), [0, 0], False),
        (act(K.JOIN, 0, "c"), [0, 0], False),
    ],
    ids=["in a row", "once", "before it", "by the coordinator"],
)
def test_who_asks_as_a_write_fails_again_did_not_begin_it(action: MemberAction, lags: list[int], failed: bool) -> None:
    previous = before(ended_at=NOW, state_before=State.STABLE)
    best = rank(context(action, previous=previous, previous_ended_at=NOW, lags=lags, last=("a", "b", "c"))).best

    assert (best.cause is Cause.ASSIGNMENT_STORE_FAILED) is failed


@pytest.mark.parametrize(
    ("refusal", "failed"),
    [
        (by_request(K.SYNC_FAILED, 0, why=NOT_STORED, generation=4), True),
        (by_request(K.SYNC_FAILED, 0, why=NOT_STORED, generation=3), False),
        (by_request(K.SYNC_FAILED, 0, why="REBALANCE_IN_PROGRESS", generation=4), False),
        (by_client(K.SYNC_FAILED, 0, why=NOT_STORED, generation=4), False),
    ],
    ids=["not stored", "an older one", "another error", "by a client"],
)
def test_an_answer_that_nothing_was_stored_says_what_began_it_whoever_joins_just_then(refusal: MemberAction, failed: bool) -> None:
    best = rank(context(by_request(K.JOIN, 0, "c"), refusal, last=("a", "b", "c"))).best

    assert best.cause is (Cause.ASSIGNMENT_STORE_FAILED if failed else Cause.MEMBER_JOIN)


@pytest.mark.parametrize("kind", [K.WANTS_REJOIN, K.REVOKE])
def test_a_member_that_gave_up_partitions_at_once_asks_for_its_own_reason(kind: K) -> None:
    actions = (by_client(kind, 0, "a"), by_client(K.REJOIN, 9, "a"))
    rebalance = context(*actions, previous=before(ended_at=NOW), previous_ended_at=NOW)
    other = context(by_client(kind, 0, "b"), actions[1], previous=before(ended_at=NOW), previous_ended_at=NOW)

    assert rank(rebalance).best.cause is not Cause.ASSIGNMENT_STORE_FAILED
    assert rank(other).best.cause is Cause.ASSIGNMENT_STORE_FAILED


@pytest.mark.parametrize(("others_act", "clients", "unseen"), [(False, {"a", "b"}, False), (True, {"a", "b"}, True), (False, {"a"}, True)])
def test_who_leaves_began_it_unless_others_act(others_act: bool, clients: set[str], unseen: bool) -> None:
    assert bool(rivals(by_client(K.LEAVE, 0), others_act=others_act, clients=clients, last=("b",))) is unseen


@pytest.mark.parametrize(
    ("values", "unseen"),
    [
        ({"joined": None}, True),
        ({}, False),
        ({"joined": None, "first": ("a", "b"), "clients": {"a", "b"}}, False),
    ],
)
def test_one_log_does_not_show_who_began_a_rebalance_that_no_line_ends(values: dict[str, object], unseen: bool) -> None:
    values = {"outcome": "superseded", "first": ("a",), "clients": {"a"}, "last": (), "members_after": None} | values

    assert bool(rivals(by_client(K.LEAVE, 0), **values)) is unseen


@pytest.mark.parametrize(
    ("first", "second", "late"), [(HEARD_US, HEARD_US + 9, False), (HEARD_US + 1, HEARD_US + 9, True), (HEARD_US + 1, None, False)]
)
def test_a_leave_that_others_hear_of_late_reached_nobody(first: int, second: int | None, late: bool) -> None:
    notices = [by_client(K.REBALANCE_NOTICED, first, "b")]
    notices += [by_client(K.WANTS_REJOIN, second, "c", why=TOLD)] if second is not None else []
    values = {"members_after": 2, "members_before": 3, "first": ("a", "b", "c"), "last": ("b", "c"), "clients": {"a", "b", "c"}}

    assert bool(rivals(by_client(K.LEAVE, 0), *notices, joined=None, ended_at=None, **values)) is late


CLOSED = by_client(K.LEAVE, 0, why="the consumer is being closed")
CAME = by_client(K.JOIN, 9, "b", member="B2")


@pytest.mark.parametrize(
    ("actions", "values", "rival"),
    [
        ([CAME], {}, Cause.MEMBER_RESTART),
        ([CAME, by_client(K.JOIN, 9, "c")], {}, Cause.MEMBER_JOIN),
        ([CAME, by_client(K.REBALANCE_NOTICED, SECOND, "b")], {}, None),
        ([CAME, by_client(K.WANTS_REJOIN, 5, "b", why=TOLD)], {}, None),
        ([CAME, by_client(K.WANTS_REJOIN, 5, "b", why="own")], {}, Cause.MEMBER_RESTART),
        ([], {}, None),
        ([CAME], {"first": ("a",)}, None),
        ([CAME], {"witness": Witness.REQUEST}, None),
    ],
    ids=["came back", "new", "heard", "told", "of its own", "nobody came", "alone", "by requests"],
)
def test_a_leave_that_nobody_heard_of_may_have_reached_nobody(
    actions: list[MemberAction], values: dict[str, object], rival: Cause | None
) -> None:
    known = {"witness": Witness.CLIENT, "clients": {"a", "b", "c"}, "last": ("b",)}
    ranking = rank(context(CLOSED, *actions, **known | values))  # type: ignore[arg-type]

    unsure = [each.cause for each in ranking.hypotheses if each.settled_by == "server.log at INFO" and not each.actions]
    assert unsure == ([rival] if rival else [])


@pytest.mark.parametrize(
    ("lag", "values", "unseen"),
    [
        (HEARD_US, {}, True),
        (HEARD_US + 1, {}, False),
        (HEARD_US, {"members_before": 2, "members_after": 1}, False),
        (HEARD_US, {"members_before": 3, "members_after": 1}, True),
    ],
    ids=["no heartbeat yet", "a heartbeat since", "all are known", "one is not"],
)
def test_others_may_have_come_before_a_leave_since_the_last_heartbeats(lag: int, values: dict[str, object], unseen: bool) -> None:
    soon = {"previous_joined_at": NOW - lag, "last": ("b",)}

    assert (Cause.MEMBER_JOIN in rivals(CLOSED, **soon | values)) is unseen
    assert not rivals(by_client(K.JOIN, 0, "c"), **soon | {"clients": {"a", "b", "c"}, "last": ("a", "b", "c")})


@pytest.mark.parametrize(
    ("values", "is_gone"),
    [
        ({"members_after": 3}, True),
        ({"members_after": 4}, False),
        ({"members_after": 3, "tell_joins": {"a", "b"}}, False),
        ({"members_after": 3, "assignors": {}}, False),
        ({"members_after": 3, "joined": line("GenerationStarted", NOW + HEARD_US + 1, node="1", generation=5)}, False),
    ],
    ids=["out of the generation", "perhaps still in it", "perhaps the newcomer", "no gap", "perhaps awaited"],
)
def test_a_member_without_a_log_may_have_gone_before_another_joined(values: dict[str, object], is_gone: bool) -> None:
    known = {"witness": Witness.CLIENT, "clients": {"a", "b", "c"}, "tell_joins": {"a", "b", "c"}, "assignors": {4: "range"}}
    rebalance = context(by_client(K.JOIN, 0, "c"), *GAP, last=("a", "b", "c"), **known | values)  # type: ignore[arg-type]

    ranking = rank(rebalance)

    assert ({each.cause: each.probability for each in ranking.hypotheses} == dict(weights.APPEARED_AND_SILENT.of)) is is_gone


@pytest.mark.parametrize(
    ("sign", "joined_at", "began"),
    [
        (None, NOW + HEARD_US, True),
        (-9 * SECOND, NOW + HEARD_US, True),
        (-5 * SECOND, NOW + HEARD_US, False),
        (None, NOW + HEARD_US + 1, False),
    ],
    ids=["silent", "silent for a session", "alive", "awaited"],
)
def test_who_leaves_may_be_second_to_one_that_fell_silent(sign: int | None, joined_at: int, began: bool) -> None:
    """Nobody waited for it, so that its session was over before the leave or soon after."""
    known = {
        "witness": Witness.CLIENT,
        "clients": {"a", "b", "c"},
        "tell_joins": {"a", "b", "c"},
        "joined": line("GenerationStarted", joined_at, node="1", generation=5),
    }
    signs = [] if sign is None else [by_client(K.REVOKE, sign, "b")]
    ranking = rank(context(CLOSED, *signs, first="abc", last="c", members_before=3, members_after=1, **known))

    shares = {each.cause: each.probability for each in ranking.hypotheses}
    assert (shares.get(Cause.SESSION_TIMEOUT) == weights.LEFT_AFTER_EXPIRY[Cause.SESSION_TIMEOUT]) is began
    assert (shares[Cause.MEMBER_LEAVE] > 0.9) is not began


@pytest.mark.parametrize(
    ("told", "at", "share"),
    [
        (K.LEAVE_ANSWERED, 5, weights.LEFT_AFTER_ONE_UNKNOWN),
        (K.FENCED, 5, weights.LEFT_AFTER_ONE_UNKNOWN),
        (K.LEAVE_ANSWERED, SECOND, weights.LEFT_AFTER_EXPIRY),
    ],
    ids=["leaves", "sends a heartbeat", "leaves later"],
)
def test_whom_the_coordinator_knows_no_more_expired_before(told: K, at: int, share: weights.Shares) -> None:
    """By then the rebalance had begun."""
    known = {
        "witness": Witness.CLIENT,
        "clients": {"a", "b", "c"},
        "tell_joins": {"a", "b", "c"},
        "joined": line("GenerationStarted", NOW + HEARD_US, node="1", generation=5),
    }
    unknown = [by_client(K.LEAVE, at - 4, "b"), by_client(told, at, "b", why="The coordinator is not aware of this member.")]
    actions = unknown if told is K.LEAVE_ANSWERED else unknown[1:]
    ranking = rank(context(CLOSED, *actions, first="abc", last="c", members_before=3, members_after=1, **known))

    shares = {each.cause: each.probability for each in ranking.hypotheses}
    assert shares[Cause.SESSION_TIMEOUT] == share[Cause.SESSION_TIMEOUT]


@pytest.mark.parametrize(
    ("sign", "are_told", "share"),
    [
        (-5 * SECOND, False, weights.APPEARED_AS_ONE_LEFT_UNLOGGED),
        (-9 * SECOND, False, weights.APPEARED_AND_SILENT),
        (-5 * SECOND, True, None),
    ],
    ids=["alive just before", "silent", "leaves are logged"],
)
def test_one_may_have_left_unlogged_before_another_joined(sign: int, are_told: bool, share: weights.Shares | None) -> None:
    """Nobody waited for it, so that it was gone before or soon after."""
    known = {
        "witness": Witness.CLIENT,
        "clients": {"a", "b", "c"},
        "tell_joins": {"a", "b", "c"},
        "leaves_logged": are_told,
        "joined": line("GenerationStarted", NOW + HEARD_US, node="1", generation=5),
    }
    ranking = rank(context(by_client(K.JOIN, 0, "c"), by_client(K.REVOKE, sign, "b"), first="ab", last="ac", **known))

    shares = {each.cause: each.probability for each in ranking.hypotheses}
    assert shares[Cause.MEMBER_JOIN] > 0.9 if share is None else shares == dict(share.of)


# -- one moment ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("request_at", "expiry_at", "values", "is_even"),
    [
        (0, STAMP_US, {}, True),
        (0, STAMP_US + 1, {}, False),
        (0, 0, {}, True),
        (-STAMP_US, 0, {}, True),
        (STAMP_US, 0, {}, True),
        (0, 5, {"started": started(reason_id="new_member", reason_member_id="C")}, False),
        (0, 5, {"state_before": State.EMPTY}, False),
    ],
    ids=["at the limit", "later", "at once", "before", "behind", "told", "of an empty group"],
)
@pytest.mark.parametrize(
    ("request_", "cause"), [(by_request(K.JOIN, 0, "c"), Cause.MEMBER_JOIN), (by_request(K.LEAVE, 0, "b"), Cause.MEMBER_LEAVE)]
)
def test_a_request_log_does_not_order_what_happens_in_one_moment(
    request_: MemberAction, cause: Cause, request_at: int, expiry_at: int, values: dict[str, object], is_even: bool
) -> None:
    asked = replace(request_, at=NOW + request_at)
    gone = by_request(K.EXPIRE, expiry_at)
    ranking = rank(context(asked, gone, **{"witness": Witness.REQUEST, "last": ("c",)} | values))  # type: ignore[arg-type]

    causes = {each.cause: each.probability for each in ranking.hypotheses}
    is_shared = {cause, Cause.SESSION_TIMEOUT} <= causes.keys() and max(causes.values()) <= 1 / 2
    assert is_shared is is_even


def test_the_coordinator_orders_what_happens_in_one_moment() -> None:
    ranking = rank(context(act(K.JOIN, 0, "c"), act(K.EXPIRE, 5), last=("b", "c")))

    assert ranking.best.cause is Cause.MEMBER_JOIN
    assert ranking.best.probability > 1 / 2


@pytest.mark.parametrize(
    ("doubts", "values", "expired_first"),
    [
        ({"b": 4}, {}, 3 / 4),
        ({"b": 2}, {}, 1 / 2),
        ({"b": 1}, {}, None),
        ({"b": 0}, {}, None),
        ({"c": 4}, {}, None),
        ({"x": 4}, {}, None),
        ({"a": 2, "b": 2}, {}, 3 / 4),
        ({"b": 4}, {"started": started(reason_id="new_member", reason_member_id="C")}, None),
    ],
    ids=["three of four seconds before", "one of two", "behind", "no doubt", "its own", "no member", "two", "told"],
)
def test_a_session_that_began_at_an_unknown_time_may_have_ended_before_a_request(
    doubts: dict[str, int], values: dict[str, object], expired_first: float | None
) -> None:
    gone = [by_request(K.EXPIRE, SECOND, who, doubt_us=doubt * SECOND) for who, doubt in doubts.items()]
    told = {"witness": Witness.REQUEST, "last": ("c",), "has_requests": True}
    ranking = rank(context(by_request(K.JOIN, 0, "c"), *gone, **told | values))  # type: ignore[arg-type]

    found = {each.cause: each.probability for each in ranking.hypotheses}
    sure = weights.EXPIRED_SOMETIME.value
    assert found.get(Cause.SESSION_TIMEOUT, 0.0) == pytest.approx((expired_first or 0.0) * sure)
    assert found[Cause.MEMBER_JOIN] == pytest.approx((1 - (expired_first or 0.0)) * weights.JOIN_TOLD.value, rel=0.01)


@pytest.mark.parametrize(
    ("request_", "cause"),
    [
        (by_request(K.REJOIN, 0, "c"), Cause.MEMBER_JOIN),
        (by_request(K.JOIN, 0, "c"), Cause.MEMBER_JOIN),
        (by_request(K.REJOIN), Cause.ASSIGNMENT_STORE_FAILED),
    ],
    ids=["a new member by its id", "a new member", "an old one"],
)
def test_a_new_member_begins_a_rebalance_also_when_a_write_may_have_failed(request_: MemberAction, cause: Cause) -> None:
    rebalance = context(request_, last=("a", "b", "c"), witness=Witness.REQUEST, has_requests=True)
    rebalance.write.__dict__["was_given_up"] = True

    assert rank(rebalance).best.cause is cause


ASKED = by_client(K.REJOIN, -10 * SECOND, "b")
LATE = -10 * SECOND + STORE_TIMEOUT_US


def refused(at: int, who: str = "b", why: str = NOT_STORED) -> MemberAction:
    return by_client(K.JOIN_FAILED, at, who, why=why)


@pytest.mark.parametrize(
    ("actions", "values", "doubted"),
    [
        ([ASKED, refused(LATE)], {}, True),
        ([ASKED, refused(LATE - 1)], {}, False),
        ([ASKED, refused(LATE, why="NOT_COORDINATOR")], {}, False),
        ([ASKED, refused(LATE, "c")], {}, False),
        ([by_client(K.REJOIN, -10 * SECOND), refused(LATE, "a")], {}, False),
        ([ASKED, by_client(K.REJOIN, LATE - 9, "b"), refused(LATE)], {}, False),
        ([ASKED, refused(LATE)], {"started": started(reason_id="new_member", reason_member_id="A")}, False),
    ],
    ids=["a commit timeout later", "too soon", "another error", "another's", "its own", "asked again", "told"],
)
def test_a_request_whose_write_was_not_confirmed_may_have_begun_it(
    actions: list[MemberAction], values: dict[str, object], doubted: bool
) -> None:
    wish = by_client(K.WANTS_REJOIN, -9, why="cached metadata has changed")
    asked = by_client(K.WANTS_REJOIN, -11 * SECOND, "b", why="subscription has changed")
    told = {"witness": Witness.CLIENT, "clients": {"a", "b"}}
    ranking = rank(context(asked, *actions, wish, by_client(K.REJOIN), **told | values))  # type: ignore[arg-type]

    found = {each.cause: each.probability for each in ranking.hypotheses}
    assert (found.get(Cause.SUBSCRIPTION_CHANGE, 0.0) >= weights.WRITTEN_LATE.value / 2) is doubted


BACK = by_client(K.JOIN, SECOND, "b", member="B2")


@pytest.mark.parametrize("moved", [by_client(K.LEAVE), by_client(K.JOIN, 0, "c", member="")], ids=["left", "joined"])
@pytest.mark.parametrize(
    ("actions", "values", "doubted"),
    [
        ([BACK], {}, True),
        ([by_client(K.JOIN, SECOND, "b", member="")], {}, True),
        ([by_client(K.JOIN, SECOND, "b")], {"generations": {4: {"a": "A", "b": "B"}, 5: {"a": "A", "b": "B", "c": "C"}}}, False),
        ([by_client(K.JOIN, SECOND, "b", member="B2", instance="i")], {}, True),
        ([by_client(K.STEP, -SECOND, "b"), BACK], {}, False),
        ([by_client(K.STEP, -GROUP_MIN_SESSION_US, "b"), BACK], {}, True),
        ([by_client(K.REBALANCE_NOTICED, 9, "b"), BACK], {}, False),
        ([by_client(K.EXPIRE, 9, "b"), BACK], {}, False),
        ([BACK], {"witness": Witness.REQUEST}, False),
        ([BACK], {"shared": {"b"}}, False),
        ([BACK], {"joined": line("GenerationStarted", NOW + HEARD_US + 1, node="1", generation=5)}, False),
    ],
    ids=[
        "another process", "without an id", "the same member", "static", "alive before", "silent for a session", "heard of it",
        "expired", "by requests", "one of several by its name", "perhaps awaited",
    ],
)  # fmt: skip
def test_who_came_back_after_a_silence_may_have_expired_before_another_acted(
    actions: list[MemberAction], values: dict[str, object], doubted: bool, moved: MemberAction
) -> None:
    known = {"witness": Witness.CLIENT, "clients": {"a", "b", "c"}, "generations": {4: {"a": "A", "b": "B"}, 5: {"b": "B2", "c": "C"}}}
    at_once = {"joined": line("GenerationStarted", NOW + HEARD_US, node="1", generation=5)}
    ranking = rank(context(moved, *actions, **known | at_once | values))  # type: ignore[arg-type]

    back = [
        each.probability
        for each in ranking.hypotheses
        if each.cause is Cause.MEMBER_RESTART and BACK.client_id in {a.client_id for a in each.actions}
    ]
    assert (pytest.approx(weights.MOVED_AS_ONE_CAME_BACK[Cause.MEMBER_RESTART]) in back) is doubted


@pytest.mark.parametrize(
    ("asked", "joined_at", "began"),
    [(0, 2 * HEARD_US, True), (LATE_LOGGING_US, 2 * HEARD_US, False), (0, 2 * HEARD_US + 1, False)],
    ids=["as the last one asked", "later", "too late for a heartbeat"],
)
def test_a_phase_that_ends_as_the_last_member_hears_of_it_waited_for_nobody_else(asked: int, joined_at: int, began: bool) -> None:
    known = {"witness": Witness.CLIENT, "clients": {"a", "b", "c"}, "tell_joins": {"a", "b", "c"}}
    over = line("GenerationStarted", NOW + joined_at, node="1", generation=5)
    heard = by_client(K.REJOIN, joined_at - asked, "c")
    ranking = rank(context(CLOSED, heard, first="abc", last="c", members_before=3, members_after=1, joined=over, **known))

    assert (Cause.SESSION_TIMEOUT in {each.cause for each in ranking.hypotheses}) is began


@pytest.mark.parametrize(
    ("later", "of", "is_even"),
    [(0, by_request, True), (STAMP_US, by_request, True), (STAMP_US + 1, by_request, False), (0, act, False)],
    ids=["at once", "at the limit", "later", "told by the coordinator"],
)
@pytest.mark.parametrize("returns", ["a", "b"])
def test_of_sessions_that_end_at_once_either_may_be_the_one_that_came_back(
    returns: str, later: int, of: Callable[..., MemberAction], is_even: bool
) -> None:
    """One answer renewed both; who comes back was restarted only if it was the first."""
    back = replace(by_request(K.JOIN, 3 * STAMP_US, returns), member_id=f"{returns.upper()}-2")
    ranking = rank(context(of(K.EXPIRE, 0, "a"), of(K.EXPIRE, later, "b"), back, last=("c", returns), witness=Witness.REQUEST))

    causes = {each.cause: each.probability for each in ranking.hypotheses}
    assert (max(causes.values()) < 0.6) is is_even
    assert {Cause.SESSION_TIMEOUT, Cause.MEMBER_RESTART} <= causes.keys() or not is_even


def test_one_of_several_sessions_that_end_at_once_counts_as_much_as_each_other() -> None:
    back = replace(by_request(K.JOIN, 3 * STAMP_US, "a"), member_id="A-2")
    gone = [by_request(K.EXPIRE, 0, name) for name in "abd"]
    ranking = rank(context(*gone, back, first="abcd", last="ca", witness=Witness.REQUEST))

    shares = {each.cause: each.probability for each in ranking.hypotheses}
    assert weights.EXPIRED_AND_SEEN_BACK.value / 3 <= shares[Cause.MEMBER_RESTART] < 1 / 2 < shares[Cause.SESSION_TIMEOUT]


# -- ranks ---------------------------------------------------------------------------------------------------------


def test_probabilities_add_up_to_one_at_most() -> None:
    for rebalance in (context(), context(act(K.JOIN, 0, "c")), context(started=None), context(state_before=None), context(outcome="empty")):
        ranking = rank(rebalance)
        shares = [hypothesis.probability for hypothesis in ranking.hypotheses]
        assert shares == sorted(shares, reverse=True)
        assert sum(shares) <= 1 + 1e-9
        assert min(shares) > 0


def test_a_reason_decides() -> None:
    ranking = rank(context(act(K.LEAVE, 0, "b"), started=started(reason_id="static_member_update", reason_member_id="A")))

    assert ranking.best.cause is Cause.STATIC_MEMBER_REPLACED
    assert ranking.trigger is not None
    assert ranking.trigger.member_id == "A"


# -- texts ---------------------------------------------------------------------------------------------------------


def test_the_text_of_a_trigger() -> None:
    def text(action: MemberAction | None, *actions: MemberAction, **values: object) -> str | None:
        return trigger_text(context(*actions, **values).phase, Ranking([Hypothesis(Cause.UNKNOWN, 1.0)], action))  # type: ignore[arg-type]

    assert text(None, started=started(reason="words")) == "words"
    assert text(None) is None
    assert text(act(K.JOIN, reason="asked")) == "asked"
    assert text(act(K.JOIN, text="x" * 300)) == "x" * 300
    assert text(act(K.JOIN, text="x" * 301)) == "x" * 300
    assert text(act(K.JOIN)) is None
    wish = by_client(K.WANTS_REJOIN, -5, why="own")
    assert text(act(K.REJOIN, text="line"), wish, witness=Witness.CLIENT) == "client reason: own"
    assert text(act(K.REJOIN, text="line"), wish) == "line"
    assert text(act(K.JOIN, text="line"), wish, witness=Witness.CLIENT) == "line"
    assert text(act(K.REJOIN, who="b", text="line"), wish, witness=Witness.CLIENT) == "line"
    later = by_client(K.WANTS_REJOIN, -3, why="later")
    assert text(act(K.WANTS_REJOIN), wish, later, witness=Witness.CLIENT) == "client reason: later"


@pytest.mark.parametrize(("at", "counts"), [(-LOOK_BACK_US, False), (1 - LOOK_BACK_US, True), (1, True), (2, False)])
def test_a_wish_stands_before_its_request(at: int, counts: bool) -> None:
    wish = by_client(K.WANTS_REJOIN, at, why="own")
    ranking = Ranking([Hypothesis(Cause.UNKNOWN, 1.0)], act(K.REJOIN, text="line"))

    assert (
        trigger_text(context(wish, witness=Witness.CLIENT, previous_joined_at=NOW - 2 * LOOK_BACK_US).phase, ranking) != "line"
    ) is counts
