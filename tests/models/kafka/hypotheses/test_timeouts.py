"""Durations that equal timeouts: each limit met exactly."""

from __future__ import annotations

import pytest

from models.causes import Cause
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.phase_deadline import LAST_MOMENT_US, TIMEOUT_TOLERANCE_US
from models.kafka.hypotheses.context.timeouts_in_force import LIKE_IT_MAX, POLL_TIMEOUT_TO_LEAVE_US
from models.kafka.hypotheses.coordinator_changes import MOVED_US, follows_load, had_coordinator_moved
from models.kafka.hypotheses.evictions import evicted_unlogged, is_echo
from models.kafka.hypotheses.last_polls import has_polled_in_time
from models.kafka.hypotheses.measurements import numbers_of
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.roster import RosterMember
from models.kafka.reconstruction.classic_states import RebalanceWindow
from models.tolerances import (
    CONNECT_DELAY_US,
    DEFAULT_SESSION_TIMEOUTS_MS,
    ECHO_SLACK_US,
    PHASE_OVERRUN_US,
    PHASE_UNDERRUN_US,
    POLL_SLACK_US,
    PROBING_US,
    STORE_SLACK_US,
    STORE_TIMEOUT_US,
    WHOLE_SECONDS_MIN_US,
)
from models.units import US_PER_MS
from tests.models.kafka.hypotheses.contexts import NOW, SECOND, act, before, by_client, context, taking
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
A = RosterMember("A", "a", session_timeout_ms=10_000, rebalance_timeout_ms=60_000)
B = RosterMember("B", "b", session_timeout_ms=30_000, rebalance_timeout_ms=40_000)
SESSION_US = 30_000 * US_PER_MS


def ended(lasted: int) -> dict[str, object]:
    """A join phase of this length."""
    return {"joined": line("GenerationStarted", NOW + lasted, node="1", generation=5)}


def ended_before(lag: int, **values: object) -> RebalanceWindow:
    """A rebalance before whose assignment came this long before."""
    return before(ended_at=NOW - lag, **values)


def test_the_longest_timeouts_of_members_count() -> None:
    assert context(members=[A, B]).timeouts.longest_rebalance_us == 60_000 * US_PER_MS
    assert context(members=[A, B], first=("b",)).timeouts.longest_rebalance_us == 40_000 * US_PER_MS
    assert context().timeouts.longest_rebalance_us is None
    assert context(facts=ClusterFacts(rebalance_timeout_ms=7)).timeouts.longest_rebalance_us == 7_000
    assert context(members=[A, B]).timeouts.longest_session_us == SESSION_US
    assert context(settings={"a": {"session_timeout_ms": 7}, "b": {"other": 9}}).timeouts.longest_session_us == 7_000
    assert context(facts=ClusterFacts(session_timeout_ms=7)).timeouts.longest_session_us == 7_000
    assert context().timeouts.longest_session_us == DEFAULT_SESSION_TIMEOUTS_MS[0] * US_PER_MS


@pytest.mark.parametrize(
    ("at", "why", "who", "moved"),
    [
        (0, "NOT_COORDINATOR", "a", True),
        (-MOVED_US, "NOT_COORDINATOR", "a", True),
        (-MOVED_US - 1, "NOT_COORDINATOR", "a", False),
        (1, "NOT_COORDINATOR", "a", False),
        (0, "other", "a", False),
        (0, None, "a", False),
        (0, "NOT_COORDINATOR", "b", False),
    ],
)
def test_a_member_heard_of_another_coordinator(at: int, why: str | None, who: str, moved: bool) -> None:
    removed = act(K.FENCED)

    assert had_coordinator_moved(context(removed, act(K.LOST_COORDINATOR, at, who, why=why)).phase, removed) is moved
    assert not had_coordinator_moved(context(removed, act(K.START, at, who, why=why)).phase, removed)


@pytest.mark.parametrize(
    ("loaded", "previous", "follows"),
    [
        (0, None, True),
        (SESSION_US, None, True),
        (SESSION_US + 1, None, False),
        (-1, None, False),
        (9, 9, True),
        (9, 8, False),
        (9, 10, True),
        (None, None, False),
    ],
)
def test_a_rebalance_follows_a_load_within_a_session(loaded: int | None, previous: int | None, follows: bool) -> None:
    load = line("GroupLoaded", NOW - loaded) if loaded is not None else None
    ended_at = NOW - previous if previous is not None else None

    assert taking(follows_load, context(members=[B], load_before=load, previous_ended_at=ended_at)) is follows


@pytest.mark.parametrize(
    ("over", "known", "expected"),
    [
        (0, True, True),
        (TIMEOUT_TOLERANCE_US, True, True),
        (-TIMEOUT_TOLERANCE_US, True, True),
        (TIMEOUT_TOLERANCE_US + 1, True, False),
        (-TIMEOUT_TOLERANCE_US - 1, True, False),
        (-PHASE_UNDERRUN_US, False, True),
        (-PHASE_UNDERRUN_US - 1, False, False),
        (PHASE_OVERRUN_US, False, True),
        (PHASE_OVERRUN_US + 1, False, False),
    ],
)
def test_a_phase_ends_by_its_timeout(over: int, known: bool, expected: bool) -> None:
    timeout = 60_000 * US_PER_MS
    values = {"members": [A, B] if known else [], "members_after": 1, "last": ("a",)} | ended(timeout + over)

    assert context(**values).deadline.passed_after_us == (timeout if expected else None)  # type: ignore[arg-type]
    for change in ({"started": None}, {"joined": None}, {"state_before": State.EMPTY}, {"outcome": "empty"}):
        assert context(**values | change).deadline.passed_after_us is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lasted", "members_after", "expected"),
    [
        (WHOLE_SECONDS_MIN_US, None, WHOLE_SECONDS_MIN_US),
        (WHOLE_SECONDS_MIN_US - 1, None, None),
        (WHOLE_SECONDS_MIN_US + SECOND - PHASE_UNDERRUN_US, None, WHOLE_SECONDS_MIN_US + SECOND),
        (WHOLE_SECONDS_MIN_US + SECOND - PHASE_UNDERRUN_US - 1, None, None),
        (WHOLE_SECONDS_MIN_US + PHASE_OVERRUN_US, None, WHOLE_SECONDS_MIN_US),
        (WHOLE_SECONDS_MIN_US + PHASE_OVERRUN_US + 1, None, None),
        (WHOLE_SECONDS_MIN_US, 2, None),
    ],
)
def test_whole_seconds_reveal_a_timeout(lasted: int, members_after: int | None, expected: int | None) -> None:
    assert context(last=("a",), members_after=members_after, **ended(lasted)).deadline.passed_after_us == expected  # type: ignore[arg-type]


def test_an_initial_delay_is_no_timeout() -> None:
    facts, values = ClusterFacts(initial_delay_ms=6_000), {"last": ("a",)} | ended(6 * SECOND)

    assert context(facts=facts, state_before=None, **values).deadline.passed_after_us is None  # type: ignore[arg-type]
    assert context(facts=facts, **values).deadline.passed_after_us == 6 * SECOND  # type: ignore[arg-type]
    assert context(facts=facts, state_before=None, last=("a",), **ended(7 * SECOND)).deadline.passed_after_us == 7 * SECOND  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("actions", "values", "ends"),
    [
        ([], {}, True),
        ([act(K.LEAVE, 6 * SECOND - LAST_MOMENT_US, "b")], {}, False),
        ([act(K.LEAVE, 6 * SECOND - LAST_MOMENT_US - 1, "b")], {}, True),
        ([act(K.ID_EXPIRED, 6 * SECOND, "c")], {}, False),
        ([act(K.REJOIN, 6 * SECOND)], {}, False),
        ([act(K.JOIN, 6 * SECOND, "c")], {}, True),
        ([act(K.REJOIN, 6 * SECOND - LAST_MOMENT_US - 1)], {}, True),
        ([act(K.REJOIN, 6 * SECOND), act(K.EVICT, 6 * SECOND, "b")], {}, True),
        ([], {"last": ("a", "b")}, False),
        ([], {"last": ("a", "b", "c")}, False),
        ([], {"first": ()}, True),
        ([], {"last": ()}, True),
    ],
)
def test_the_last_one_that_was_missing_may_have_ended_it(actions: list[MemberAction], values: dict[str, object], ends: bool) -> None:
    assert (context(*actions, **{"last": ("a",)} | ended(6 * SECOND) | values).deadline.passed_after_us is not None) is ends  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("after", "evicted"), [(0, False), (1, True), (SESSION_US - ECHO_SLACK_US - 1, True), (SESSION_US - ECHO_SLACK_US, False)]
)
def test_who_expires_within_a_session_was_evicted(after: int, evicted: bool) -> None:
    expiry = act(K.EXPIRE, 40 * SECOND + after, "b")
    values = {"members": [B], "last": ("a",)}
    assert taking(evicted_unlogged, context(expiry, **values | ended(40 * SECOND))) == ([expiry] if evicted else [])  # type: ignore[arg-type]
    assert taking(evicted_unlogged, context(act(K.LEAVE, 40 * SECOND + after, "b"), **values | ended(40 * SECOND))) == []  # type: ignore[arg-type]
    assert taking(evicted_unlogged, context(expiry, **values | ended(41 * SECOND))) == []  # type: ignore[arg-type]
    assert taking(evicted_unlogged, context(expiry, joined=None, members=[B])) == []


@pytest.mark.parametrize(
    ("since", "lasted", "values", "echo"),
    [
        (1, 40 * SECOND, {}, True),
        (0, 40 * SECOND, {}, False),
        (SESSION_US - ECHO_SLACK_US - 1, 40 * SECOND, {}, True),
        (SESSION_US - ECHO_SLACK_US, 40 * SECOND, {}, False),
        (9, 40 * SECOND + TIMEOUT_TOLERANCE_US, {}, True),
        (9, 40 * SECOND + TIMEOUT_TOLERANCE_US + 1, {}, False),
        (9, 40 * SECOND, {"state_before": State.EMPTY}, False),
        (9, 40 * SECOND, {"joined": None}, False),
        (9, 40 * SECOND, {"started": None}, False),
    ],
)
def test_an_expiry_echoes_an_eviction(since: int, lasted: int, values: dict[str, object], echo: bool) -> None:
    previous = before(started=line("RebalanceStarted", NOW - since - lasted), joined=line("GenerationStarted", NOW - since))
    for name, value in values.items():
        setattr(previous, name, value)

    assert taking(is_echo, context(members=[B], previous=previous), act(K.EXPIRE)) is echo
    assert not taking(is_echo, context(members=[B], previous=None), act(K.EXPIRE))


@pytest.mark.parametrize(
    ("lasted", "members_after", "echo"),
    [
        (60 * SECOND, 2, True),
        (60 * SECOND + PHASE_OVERRUN_US + 1, None, False),
        (7 * SECOND, None, True),
        (7 * SECOND, 2, False),
        (7 * SECOND + PHASE_OVERRUN_US, None, True),
        (7 * SECOND + PHASE_OVERRUN_US + 1, None, False),
        (WHOLE_SECONDS_MIN_US, None, True),
        (WHOLE_SECONDS_MIN_US - SECOND, None, False),
    ],
)
def test_usual_timeouts_and_whole_seconds_end_a_phase_before(lasted: int, members_after: int | None, echo: bool) -> None:
    times = {"started": line("RebalanceStarted", NOW - 9 - lasted), "joined": line("GenerationStarted", NOW - 9)}

    assert taking(is_echo, context(previous=before(members_after=members_after, **times)), act(K.EXPIRE)) is echo


@pytest.mark.parametrize(
    ("lag", "rhythm"),
    [(60 * SECOND - 1, 0), (60 * SECOND, 1), (63 * SECOND, 1), (63 * SECOND + 1, 0)],
)
def test_late_polls_have_a_rhythm(lag: int, rhythm: int) -> None:
    previous = ended_before(lag)

    assert context(members=[A], previous=previous).lags.poll_rhythm == rhythm
    assert context(previous=previous).lags.poll_rhythm == rhythm, "60 s is usual"
    assert (
        context(members=[A], previous=previous, lags=[60 * SECOND, 63 * SECOND, 63 * SECOND + 1, 60 * SECOND - 1]).lags.poll_rhythm
        == 2 * rhythm
    )
    assert context(members=[A], previous=before(outcome="superseded", ended_at=NOW - lag)).lags.poll_rhythm == 0
    assert context(members=[A], previous=None).lags.poll_rhythm == 0


@pytest.mark.parametrize(("over", "rhythm"), [(POLL_SLACK_US, 1), (POLL_SLACK_US + 1, 0)])
def test_the_slack_of_a_long_interval_is_bounded(over: int, rhythm: int) -> None:
    assert context(previous=ended_before(300 * SECOND + over)).lags.poll_rhythm == rhythm


@pytest.mark.parametrize(("over", "just"), [(-1, False), (0, True), (STORE_SLACK_US, True), (STORE_SLACK_US + 1, False)])
def test_writes_given_up_have_a_rhythm(over: int, just: bool) -> None:
    lag = STORE_TIMEOUT_US + over
    assert context(previous=ended_before(lag)).lags.store_rhythm == (1 if just else 0)
    lags = [9, STORE_TIMEOUT_US + 1, lag, STORE_TIMEOUT_US + 2, 9, STORE_TIMEOUT_US]
    assert context(previous=ended_before(lag), lags=lags).lags.store_rhythm == (0 if not just else 3 if lag != STORE_TIMEOUT_US else 1)


@pytest.mark.parametrize(("over", "ends"), [(-1, False), (0, True), (POLL_SLACK_US, True), (POLL_SLACK_US + 1, False)])
def test_planned_delays_end(over: int, ends: bool) -> None:
    assert context(previous=ended_before(CONNECT_DELAY_US + over)).lags.ends_planned_delay is ends
    assert context(previous=ended_before(PROBING_US + over)).lags.ends_probing_interval is ends
    assert not context(previous=None).lags.ends_planned_delay
    assert not context(previous=None).lags.ends_probing_interval


# -- polls in time ---------------------------------------------------------------------------------------------

INTERVAL_US = 60 * SECOND


@pytest.mark.parametrize(
    ("began", "polled"),
    [
        (POLL_TIMEOUT_TO_LEAVE_US - INTERVAL_US, False),
        (POLL_TIMEOUT_TO_LEAVE_US - INTERVAL_US + 1, True),
        (0, True),
        (1, False),
    ],
)
def test_each_member_polled_as_the_rebalance_before_began(began: int, polled: bool) -> None:
    previous = before(started=line("RebalanceStarted", NOW + began))
    values = {"members": [A], "previous": previous}

    assert taking(has_polled_in_time, context(**values), act(K.LEAVE), "a") is polled  # type: ignore[arg-type]
    assert taking(has_polled_in_time, context(**values), None, "a") is polled  # type: ignore[arg-type]
    assert not taking(has_polled_in_time, context(**values, first=("b",)), act(K.LEAVE), "a")  # type: ignore[arg-type]
    assert not taking(has_polled_in_time, context(**values), act(K.LEAVE), None)  # type: ignore[arg-type]
    assert not taking(has_polled_in_time, context(previous=previous), act(K.LEAVE), "a")


@pytest.mark.parametrize(
    ("join", "polled"),
    [
        (act(K.JOIN, POLL_TIMEOUT_TO_LEAVE_US - INTERVAL_US + 1), True),
        (act(K.REJOIN, POLL_TIMEOUT_TO_LEAVE_US - INTERVAL_US), False),
        (act(K.JOIN, 0), True),
        (act(K.JOIN, 1), False),
        (act(K.JOIN, 0, "b"), False),
        (act(K.SUBSCRIBE, 0), False),
    ],
)
def test_who_joined_had_polled(join: MemberAction, polled: bool) -> None:
    assert taking(has_polled_in_time, context(join, members=[A], previous=None), act(K.LEAVE), "a") is polled


# -- settings ----------------------------------------------------------------------------------------------------


def test_timeouts_are_the_members_own_or_others() -> None:
    other = act(K.LEAVE, who="x", member="X")
    assert context(members=[A, B]).timeouts.session_ms(act(K.LEAVE), "a") == 10_000
    assert context(members=[B]).timeouts.session_ms(act(K.LEAVE), "a") == 30_000
    assert context(members=[A, B]).timeouts.session_ms(None, "b") == 30_000
    assert context(settings={"x": {"session_timeout_ms": 5}, "y": {"session_timeout_ms": 6}}).timeouts.session_ms(other, "y") == 6
    assert context(settings={"x": {"other": 1}, "z": {"session_timeout_ms": 6}}).timeouts.session_ms(other, "y") == 6
    assert context(facts=ClusterFacts(session_timeout_ms=9)).timeouts.session_ms(other, "x") == 9
    assert context().timeouts.session_ms(None, None) is None
    assert context(members=[A, B]).timeouts.max_poll_interval_ms(act(K.LEAVE), "a") == 60_000
    assert context(settings={"x": {"max_poll_interval_ms": 5}}).timeouts.max_poll_interval_ms(other, "x") == 5
    assert context(facts=ClusterFacts(rebalance_timeout_ms=9)).timeouts.max_poll_interval_ms(other, "x") == 9
    capped = line("SettingCapped", NOW, effective=77)
    facts = ClusterFacts(
        capped={("orders", "group.session.timeout.ms"): capped, ("x", "session.timeout.ms"): line("SettingCapped", NOW, effective=1)}
    )
    assert context(members=[A], facts=facts).timeouts.session_ms(act(K.LEAVE), "a") == 77


def test_few_others_are_searched() -> None:
    names = [f"m{number}" for number in range(LIKE_IT_MAX)]
    assert context(members=[A], first=[*names[1:], "a"], last=()).timeouts.max_poll_interval_ms(None, None) == 60_000
    assert context(members=[A], first=[*names, "a"], last=()).timeouts.max_poll_interval_ms(None, None) is None


# -- measurements ------------------------------------------------------------------------------------------------


def numbers(
    cause: Cause, *actions: MemberAction, gone_at: dict[str, int] | None = None, others: tuple[MemberAction, ...] = (), **values: object
) -> dict[str, float]:
    measured = taking(numbers_of, context(*actions, *others, **values), cause, list(actions), gone_at or {})  # type: ignore[arg-type]
    return {name: value for name, value in measured.items() if name.endswith(("after_ms", "silent_ms", "absent_ms"))}


def test_measurements_of_each_cause() -> None:
    values = {"members": [A]}
    expire, leave, rejoin = act(K.EXPIRE), act(K.LEAVE), act(K.JOIN, 7 * SECOND)
    assert numbers(Cause.SESSION_TIMEOUT, expire, others=(rejoin,), **values) == {"silent_ms": 17_000}
    assert numbers(Cause.SESSION_TIMEOUT, expire, others=(act(K.FENCED, 7 * SECOND),), **values) == {"silent_ms": 17_000}
    assert numbers(Cause.SESSION_TIMEOUT, expire, others=(act(K.JOIN, 0), act(K.JOIN, 5, "b"), act(K.START, 5)), **values) == {}
    assert numbers(Cause.SESSION_TIMEOUT, expire, others=(rejoin,)) == {}
    assert numbers(Cause.POLL_TIMEOUT, leave, others=(rejoin,), **values) == {"polled_after_ms": 67_000}
    assert numbers(Cause.POLL_TIMEOUT, leave, others=(act(K.JOIN, 0), act(K.JOIN, 9, "b")), **values) == {}
    assert numbers(Cause.POLL_TIMEOUT, leave, others=(rejoin,)) == {}
    assert numbers(Cause.MEMBER_RESTART, leave, rejoin) == {"absent_ms": 7_000}
    assert numbers(Cause.MEMBER_RESTART, expire, act(K.REJOIN, 8 * SECOND), act(K.JOIN, 9 * SECOND, "b")) == {"absent_ms": 8_000}
    assert numbers(Cause.MEMBER_RESTART, leave) == {}
    assert numbers(Cause.MEMBER_RESTART, rejoin) == {}
    for cause in (Cause.MEMBER_JOIN, Cause.NEW_GROUP):
        assert numbers(cause, rejoin, gone_at={"a": NOW}) == {"absent_ms": 7_000}
        assert numbers(cause, rejoin, gone_at={"b": NOW}) == {}
    assert numbers(Cause.MEMBER_LEAVE, leave, gone_at={"a": NOW}) == {}
    assert numbers(Cause.MEMBER_JOIN, act(K.JOIN, 0), gone_at={"a": NOW + SECOND}) == {}, "never negative"
    assert numbers(Cause.MEMBER_JOIN, act(K.JOIN, 0), gone_at={"a": NOW}) == {"absent_ms": 0}


@pytest.mark.parametrize(
    ("away", "ms"),
    [
        (-POLL_TIMEOUT_TO_LEAVE_US, 67_000 + POLL_TIMEOUT_TO_LEAVE_US // US_PER_MS),
        (POLL_TIMEOUT_TO_LEAVE_US, 67_000 - POLL_TIMEOUT_TO_LEAVE_US // US_PER_MS),
        (-POLL_TIMEOUT_TO_LEAVE_US - 1, 67_000),
    ],
)
def test_the_clients_own_line_dates_a_late_poll(away: int, ms: int) -> None:
    others = (by_client(K.POLL_TIMEOUT, away), by_client(K.POLL_TIMEOUT, away, "b"), act(K.JOIN, 7 * SECOND))
    assert numbers(Cause.POLL_TIMEOUT, act(K.LEAVE), others=others, members=[A]) == {"polled_after_ms": ms}


@pytest.mark.parametrize(
    ("seen", "joined", "known", "in_force"),
    [
        (POLL_TIMEOUT_TO_LEAVE_US - INTERVAL_US + 1, True, True, False),
        (POLL_TIMEOUT_TO_LEAVE_US - INTERVAL_US, True, True, True),
        (0, False, True, True),
        (None, True, True, True),
        (0, True, False, True),
    ],
)
def test_an_interval_that_is_longer_than_the_membership_is_not_in_force(
    seen: int | None, joined: bool, known: bool, in_force: bool
) -> None:
    member = RosterMember("A", "a", rebalance_timeout_ms=60_000, first_seen_at=NOW + seen if seen is not None else None)
    leave = act(K.LEAVE, member="A" if known else "Z")
    values = {"members": [member], "first_generation": {"A": 3} if joined else {}}
    measured = taking(numbers_of, context(leave, **values), Cause.POLL_TIMEOUT, [leave], {})  # type: ignore[arg-type]

    assert ("max_poll_interval_ms" in measured) is in_force


def test_measurements_without_an_action() -> None:
    assert taking(numbers_of, context(members=[A, B]), Cause.UNKNOWN, [], {}) == {
        "session_timeout_ms": 10_000, "max_poll_interval_ms": 60_000, "rebalance_timeout_ms": 60_000,
    }  # fmt: skip
    assert taking(numbers_of, context(last=("a",), **ended(7 * SECOND)), Cause.UNKNOWN, [], {}) == {"rebalance_timeout_ms": 7_000}  # type: ignore[arg-type]
