"""Root causes of what started a rebalance: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.causes import Cause
from models.events import Witness
from models.incidents.person_reasons import (
    GHOST,
    HEARD_OF_NOTHING,
    LATE,
    NEVER_SYNCED,
    REASON_EVICTED,
    REASON_EXPIRED_MEANWHILE,
    REJOINED_LAST,
    SYNCED_LATE,
)
from models.kafka.cluster.expiry_bursts import BURST_US, LOAD_US, ExpiryBurst
from models.kafka.cluster.facts import ClusterFacts, Load
from models.kafka.hypotheses.coordinator_changes import MOVED_US
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.line_delays import HEARD_US
from models.kafka.observations.roster import RosterMember
from models.kafka.verdicts.lone_pauses import RETURNED_US
from models.kafka.verdicts.root_causes import (
    CAUSED_TAKEOVER_US,
    CUT_OFF_US,
    HARMFUL_WAIT_US,
    RETURN_US,
    behind_the_wait,
    in_burst,
    root_cause,
)
from models.rows import Person
from models.tolerances import USUAL_SESSION_TIMEOUTS_MS
from models.units import US_PER_MS
from tests.models.kafka.hypotheses.contexts import NOW, SECOND, act, before, by_client, context
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
SESSION_US = 30 * SECOND
A = RosterMember("A", "a", session_timeout_ms=30_000)
EXPIRY = act(K.EXPIRE)


def root(*others: MemberAction, cause: Cause = Cause.SESSION_TIMEOUT, action: MemberAction = EXPIRY, **values: object) -> str | None:
    return root_cause(context(action, *others, **{"members": [A]} | values), cause, [action])  # type: ignore[arg-type]


# -- waits ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "values", "expected"),
    [
        (GHOST, {}, "ghost_member"),
        (REASON_EXPIRED_MEANWHILE, {}, "session_timeout"),
        (REASON_EVICTED, {}, "slow_processing"),
        (f"{REJOINED_LAST}: {HEARD_OF_NOTHING} 9.0 s", {}, "client_pause"),
        (LATE, {}, "slow_processing"),
        (LATE, {"witness": Witness.CLIENT}, None),
        (REASON_EVICTED, {"witness": Witness.CLIENT}, "slow_processing"),
        (NEVER_SYNCED, {}, None),
        (NEVER_SYNCED, {"ended_at": NOW + HARMFUL_WAIT_US}, "sync_timeout"),
        (SYNCED_LATE, {"ended_at": NOW + HARMFUL_WAIT_US}, "slow_assignment"),
        (SYNCED_LATE, {"ended_at": NOW + HARMFUL_WAIT_US - 1}, None),
        ("other", {}, None),
    ],
)
def test_a_harmful_wait_has_a_root_cause(reason: str, values: dict[str, object], expected: str | None) -> None:
    blockers = [Person(None, None, None, None, reason)]
    window = {"joined": line("GenerationStarted", NOW + HARMFUL_WAIT_US), "ended_at": NOW}
    assert behind_the_wait(context(**window | values).phase, blockers) == expected  # type: ignore[arg-type]
    assert root_cause(context(**window | values), Cause.UNKNOWN, [], blockers) == expected  # type: ignore[arg-type]
    assert behind_the_wait(context(**window | values).phase, []) is None  # type: ignore[arg-type]
    if reason not in {NEVER_SYNCED, SYNCED_LATE}:
        short = {"joined": line("GenerationStarted", NOW + HARMFUL_WAIT_US - 1)}
        assert behind_the_wait(context(**window | values | short).phase, blockers) is None  # type: ignore[arg-type]
        assert behind_the_wait(context(**window | values | {"joined": None}).phase, blockers) is None  # type: ignore[arg-type]


# -- coordinators ----------------------------------------------------------------------------------------------------


def test_some_causes_are_roots_themselves() -> None:
    assert root(cause=Cause.SCHEDULED_REBALANCE) == "cooperative_followup"
    assert root(cause=Cause.ASSIGNMENT_STORE_FAILED) == "assignment_store_failed"
    assert root(cause=Cause.COORDINATOR_FAILOVER) == "coordinator_failover"
    assert root(cause=Cause.MEMBER_JOIN) is None


def test_what_was_interrupted_begins_again() -> None:
    lost = before(outcome="coordinator_lost", generation_before=4, ended_at=NOW - 9)
    assert root(cause=Cause.MEMBER_JOIN, previous=lost) == "coordinator_failover"
    assert root(cause=Cause.MEMBER_JOIN, previous=before(generation_before=4)) is None
    assert root(cause=Cause.MEMBER_JOIN, previous=before(outcome="coordinator_lost", generation_before=3)) is None
    assert root(cause=Cause.MEMBER_JOIN, previous=None) is None


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (Cause.MEMBER_RESTART, True),
        (Cause.METADATA_CHANGE, True),
        (Cause.POLL_TIMEOUT, True),
        (Cause.MEMBER_JOIN, False),
        (Cause.SUBSCRIPTION_CHANGE, False),
    ],
)
def test_members_act_as_their_group_was_loaded(cause: Cause, expected: bool) -> None:
    values = {"load_before": line("GroupLoaded", NOW - 9), "previous_ended_at": None, "action": act(K.LEAVE)}

    assert root(cause=cause, **values) == ("coordinator_failover" if expected else None)  # type: ignore[arg-type]
    assert root(cause=cause, **values | {"load_before": None}) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("away", "moved"), [(MOVED_US, True), (MOVED_US + 1, False)])
def test_who_hears_of_its_removal_had_heard_of_another_coordinator(away: int, moved: bool) -> None:
    for name, is_told in (("ClientHeartbeatFailed", True), ("Note", False)):
        heard = by_client(K.EXPIRE, name=name)
        lost = by_client(K.LOST_COORDINATOR, -away, why="NOT_COORDINATOR")
        assert (root(lost, action=heard) == "coordinator_failover") is (moved and is_told)
        assert root(lost, action=heard, cause=Cause.MEMBER_LEAVE) is None


def found(node: str | None, at: int, who: str = "b", kind: ActionKind = K.START) -> MemberAction:
    return by_client(kind, at, who, event=line("ClientCoordinatorFound", NOW + at, Witness.CLIENT, node=node, client_id=who))


def lost(node: str | None, at: int, who: str = "b") -> MemberAction:
    return found(node, at, who, K.LOST_COORDINATOR)


@pytest.mark.parametrize(
    ("contacts", "moved"),
    [
        ([lost("1", -40 * SECOND), found("2", -SESSION_US)], True),
        ([lost("1", -40 * SECOND), found("2", -SESSION_US - HEARD_US)], True),
        ([lost("1", -40 * SECOND), found("2", -SESSION_US - HEARD_US - 1)], False),
        ([lost("1", -40 * SECOND), found("2", -SESSION_US + CAUSED_TAKEOVER_US)], True),
        ([lost("1", -40 * SECOND), found("2", -SESSION_US + CAUSED_TAKEOVER_US + 1)], False),
        ([lost("1", -40 * SECOND), found("1", -SESSION_US)], False),
        ([lost(None, -40 * SECOND), found("2", -SESSION_US)], False),
        ([lost("1", -40 * SECOND), found(None, -SESSION_US)], False),
        ([found("2", -SESSION_US)], False),
        ([lost("1", -40 * SECOND, "a"), found("2", -SESSION_US)], False),
        ([lost("1", -40 * SECOND, "x"), found("2", -SESSION_US, "x")], False),
        ([lost("1", -40 * SECOND), found("1", -35 * SECOND), found("2", -SESSION_US)], False),
    ],
    ids=[
        "a session before", "heard at the next heartbeat", "too long before", "found late", "too late", "the same again",
        "lost an unknown one", "found an unknown one", "lost none", "another lost it", "no member", "found again before",
    ],
)  # fmt: skip
def test_an_expiry_one_session_after_members_found_another_coordinator(contacts: list[MemberAction], moved: bool) -> None:
    expiry = by_client(K.EXPIRE)

    assert (root(*contacts, action=expiry, witness=Witness.CLIENT) == "coordinator_failover") is moved
    assert root(*contacts, action=expiry, cause=Cause.MEMBER_LEAVE, witness=Witness.CLIENT) is None
    assert root(*contacts, action=expiry) is None


@pytest.mark.parametrize(
    ("after", "loaded"), [(-SECOND // 2 - 1, False), (-SECOND // 2, True), (0, True), (SECOND, True), (SECOND + 1, False)]
)
def test_an_expiry_one_session_after_a_load(after: int, loaded: bool) -> None:
    load = line("GroupLoaded", NOW - SESSION_US - after)
    assert (root(load_before=load) == "coordinator_failover") is loaded
    settings = {"members": [], "settings": {"a": {"session_timeout_ms": 30_000}}}
    assert (root(load_before=load, **settings) == "coordinator_failover") is loaded  # type: ignore[arg-type]
    facts = ClusterFacts(session_timeout_ms=30_000)
    assert (root(load_before=load, members=[], facts=facts) == "coordinator_failover") is loaded
    assert (root(load_before=load, members=[]) == "coordinator_failover") is loaded, "30 s is usual"
    assert root(load_before=load, members=[RosterMember("A", session_timeout_ms=77_000)]) is None


@pytest.mark.parametrize(
    ("ago", "node", "former"),
    [(0, "2", True), (SESSION_US, "2", True), (SESSION_US + SECOND + 1, "2", False), (-1, "2", False), (9, "1", False), (9, None, False)],
)
def test_an_expiry_at_the_former_coordinator(ago: int, node: str | None, former: bool) -> None:
    assert (root(load_before=line("GroupLoaded", NOW - ago, node=node)) == "coordinator_failover") is former


def test_unknown_sessions_are_long() -> None:
    longest = USUAL_SESSION_TIMEOUTS_MS[-1] * US_PER_MS
    other = {"members": []}
    assert root(load_before=line("GroupLoaded", NOW - longest + 5 * SECOND, node="2"), **other) == "coordinator_failover"  # type: ignore[arg-type]
    assert root(load_before=line("GroupLoaded", NOW - longest - 2 * SECOND, node="2"), **other) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("at", "lost"),
    [
        (-SECOND, True),
        (-SECOND - 1, False),
        (SESSION_US // 3 + CAUSED_TAKEOVER_US, True),
        (SESSION_US // 3 + CAUSED_TAKEOVER_US + 1, False),
    ],
)
def test_who_fell_silent_as_a_broker_was_lost(at: int, lost: bool) -> None:
    load = Load(NOW - SESSION_US + at, "2", 7, True, line("GroupLoaded", NOW))
    facts = ClusterFacts(takeovers=[load])
    assert (root(facts=facts) == "coordinator_failover") is lost
    assert root(facts=facts, action=act(K.LEAVE)) is None
    usual = Load(NOW - USUAL_SESSION_TIMEOUTS_MS[1] * US_PER_MS - SECOND, "2", 7, True, line("GroupLoaded", NOW))
    assert root(facts=ClusterFacts(takeovers=[usual]), members=[]) == "coordinator_failover"


# -- pauses of coordinators ------------------------------------------------------------------------------------------


def burst(at: int = 0, until: int = 0) -> ClusterFacts:
    return ClusterFacts(expiry_bursts=[ExpiryBurst(NOW + at, NOW + until, "1", ("orders", "bills"), 4, (), "orders")])


@pytest.mark.parametrize(("at", "inside"), [(-1, False), (0, True), (9 + BURST_US, True), (10 + BURST_US, False)])
def test_an_expiry_is_one_of_a_burst(at: int, inside: bool) -> None:
    facts = burst(0, 9)
    assert in_burst(facts, "orders", NOW + at) is inside
    assert not in_burst(facts, "other", NOW + at)
    assert not in_burst(facts, None, NOW + at)


def test_several_groups_expired_at_once() -> None:
    assert root(facts=burst()) == "coordinator_pause"
    assert root(facts=burst(), cause=Cause.MEMBER_RESTART) == "coordinator_pause"
    assert root(facts=burst(), cause=Cause.MEMBER_LEAVE) is None
    assert root(facts=burst(), action=act(K.LEAVE)) is None
    assert root(facts=burst(9, 9)) is None


@pytest.mark.parametrize(
    ("outcome", "ago", "forms"),
    [("empty", RETURN_US, True), ("empty", RETURN_US + 1, False), ("stable", RETURN_US, False), ("empty", None, False)],
)
def test_a_group_forms_after_a_burst(outcome: str, ago: int | None, forms: bool) -> None:
    begun = line("RebalanceStarted", NOW - ago) if ago is not None else None
    facts = burst(-(ago or 0), -(ago or 0))
    previous = before(outcome=outcome, started=begun)

    assert (root(cause=Cause.NEW_GROUP, action=act(K.JOIN), previous=previous, facts=facts) == "coordinator_pause") is forms
    assert root(cause=Cause.NEW_GROUP, action=act(K.JOIN), previous=None, facts=facts) is None
    assert root(cause=Cause.NEW_GROUP, action=act(K.JOIN), previous=previous) is None


def expired(*names: str, at: int = 0) -> list[MemberAction]:
    return [act(K.EXPIRE, at, name) for name in names]


def back(*names: str, at: int = RETURNED_US, kind: ActionKind = K.JOIN) -> list[MemberAction]:
    return [act(kind, at, name) for name in names]


@pytest.mark.parametrize(
    ("actions", "loads", "alive"),
    [
        ([*expired("a", "b", "c"), *back("a", "b", "c")], [], True),
        ([*expired("a", "b", "c"), *back("a", "b", "c", kind=K.ID_HANDED_OUT)], [], True),
        ([*expired("a", "b", "c"), *back("a", "b", "c", kind=K.SUBSCRIBE)], [], False),
        ([*expired("a", "b"), *back("a", "b")], [], False),
        ([*expired("a", "b", "c"), *back("a", "b")], [], False),
        ([*expired("a", "b", "c"), *back("a", "b"), *back("c", at=RETURNED_US + 1)], [], False),
        ([*expired("a", "b"), *expired("c", at=BURST_US), *back("a", "b", "c")], [], True),
        ([*expired("a", "b"), *expired("c", at=BURST_US + 1), *back("a", "b", "c")], [], False),
        ([*expired("a", "b"), by_client(K.EXPIRE, 0, "c"), *back("a", "b", "c")], [], False),
        ([*expired("a", "b", "c"), *back("a", "b", "c")], [(-LOAD_US, True)], False),
        ([*expired("a", "b", "c"), *back("a", "b", "c")], [(-LOAD_US - 1, True)], True),
        ([*expired("a", "b", "c"), *back("a", "b", "c")], [(-9, False)], True),
        ([*expired("a", "b", "c"), *back("a", "b", "c")], [(1, True)], True),
    ],
)
def test_members_of_one_group_expired_alive(actions: list[MemberAction], loads: list[tuple[int, bool]], alive: bool) -> None:
    facts = ClusterFacts(loads=[Load(NOW + at, "1", 7, is_loaded, line("GroupLoaded", NOW)) for at, is_loaded in loads])
    found = root_cause(context(*actions, facts=facts), Cause.SESSION_TIMEOUT, [])

    assert (found == "coordinator_pause") is alive


# -- clients -----------------------------------------------------------------------------------------------------------


def test_who_was_evicted_before_was_too_busy() -> None:
    times = {"started": line("RebalanceStarted", NOW - 60 * SECOND - 9), "joined": line("GenerationStarted", NOW - 9)}
    assert root(previous=before(**times)) == "slow_processing"
    assert root(previous=before(**times), action=act(K.LEAVE)) is None


@pytest.mark.parametrize(
    ("kind", "cause", "at", "who", "denied"),
    [
        (K.EXPIRE, Cause.SESSION_TIMEOUT, 0, "a", True),
        (K.EXPIRE, Cause.SESSION_TIMEOUT, 0, None, True),
        (K.EXPIRE, Cause.SESSION_TIMEOUT, 0, "b", False),
        (K.EXPIRE, Cause.SESSION_TIMEOUT, 1, "a", False),
        (K.EXPIRE, Cause.SESSION_TIMEOUT, -SESSION_US - RETURN_US, "a", True),
        (K.EXPIRE, Cause.SESSION_TIMEOUT, -SESSION_US - RETURN_US - 1, "a", False),
        (K.LEAVE, Cause.MEMBER_LEAVE, -RETURN_US, "a", True),
        (K.LEAVE, Cause.MEMBER_LEAVE, -RETURN_US - 1, "a", False),
        (K.LEAVE, Cause.MEMBER_RESTART, 0, "a", False),
        (K.JOIN, Cause.MEMBER_LEAVE, 0, "a", False),
    ],
)
def test_members_were_not_authorized(kind: ActionKind, cause: Cause, at: int, who: str | None, denied: bool) -> None:
    assert (root(act(K.DENIED, at, who), cause=cause, action=act(kind)) == "not_authorized") is denied


@pytest.mark.parametrize(
    ("action", "values", "ghost"),
    [
        (act(K.EXPIRE, member="X"), {"clients": {"a"}}, True),
        (act(K.EXPIRE, member="X"), {"clients": {"b"}}, False),
        (act(K.EXPIRE), {"clients": {"a"}}, False),
        (act(K.EXPIRE, member=""), {"clients": {"a"}}, False),
        (act(K.EXPIRE, member="X"), {"clients": {"a"}, "first_generation": {"X": 3}}, False),
        (act(K.EXPIRE, member="X"), {"clients": {"a"}, "first": ("b",)}, False),
        (act(K.LEAVE, member="X"), {"clients": {"a"}}, False),
    ],
)
def test_an_id_that_its_client_gave_up_is_a_ghost(action: MemberAction, values: dict[str, object], ghost: bool) -> None:
    assert (root(action=action, **values) == "ghost_member") is ghost  # type: ignore[arg-type]
    assert root(action=action, cause=Cause.UNKNOWN, **values) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lost", "found", "later", "cut_off"),
    [
        (-9, CUT_OFF_US - 9, [by_client(K.FENCED, CUT_OFF_US)], True),
        (-9, CUT_OFF_US - 10, [by_client(K.FENCED, CUT_OFF_US)], False),
        (-CUT_OFF_US, 0, [by_client(K.FENCED, CUT_OFF_US)], False),
        (-CUT_OFF_US, 1, [by_client(K.FENCED, CUT_OFF_US)], True),
        (-SESSION_US - SECOND, 1, [by_client(K.FENCED, CUT_OFF_US)], True),
        (-SESSION_US - SECOND - 1, 1, [by_client(K.FENCED, CUT_OFF_US)], False),
        (-9, CUT_OFF_US, [by_client(K.SUBSCRIBE, CUT_OFF_US), by_client(K.FENCED, CUT_OFF_US + 1)], False),
        (-9, CUT_OFF_US, [by_client(K.FENCED, CUT_OFF_US, "b")], False),
        (-9, CUT_OFF_US, [], False),
        (-9, None, [by_client(K.FENCED, CUT_OFF_US)], False),
    ],
)
def test_a_process_ran_on_but_was_cut_off(lost: int, found: int | None, later: list[MemberAction], cut_off: bool) -> None:
    others = [by_client(K.LOST_COORDINATOR, lost), *later, *([by_client(K.START, found)] if found is not None else [])]

    assert (root(*others) == "network") is cut_off
    assert root(*others, action=by_client(K.EXPIRE)) != "network"
    assert root(*others, cause=Cause.MEMBER_LEAVE) is None


@pytest.mark.parametrize(
    ("actions", "paused"),
    [
        ([by_client(K.FENCED, 1)], True),
        ([by_client(K.FENCED, RETURN_US)], True),
        ([by_client(K.FENCED, RETURN_US + 1)], False),
        ([by_client(K.FENCED, 0)], False),
        ([by_client(K.FENCED, 1, "b")], False),
        ([by_client(K.SUBSCRIBE, 1), by_client(K.FENCED, 2)], False),
        ([by_client(K.JOIN, 1), by_client(K.FENCED, 2)], False),
        ([by_client(K.SUBSCRIBE, -1), by_client(K.FENCED, 2)], True),
        ([by_client(K.LOST_COORDINATOR, -1), by_client(K.FENCED, 2)], False),
        ([by_client(K.LOST_COORDINATOR, 0), by_client(K.FENCED, 2)], True),
        ([by_client(K.LOST_COORDINATOR, -SESSION_US), by_client(K.FENCED, 2)], True),
        ([by_client(K.LOST_COORDINATOR, 1 - SESSION_US), by_client(K.FENCED, 2)], False),
        ([by_client(K.REVOKE, 1), by_client(K.FENCED, 2)], True),
    ],
)
def test_a_process_was_paused(actions: list[MemberAction], paused: bool) -> None:
    assert (root(*actions) == "client_pause") is paused
    assert root(*actions, cause=Cause.MEMBER_LEAVE) is None


@pytest.mark.parametrize(
    ("actions", "paused"),
    [
        ([], True),
        ([by_client(K.LOST_COORDINATOR, -9)], False),
        ([by_client(K.LOST_COORDINATOR, 0)], False),
        ([by_client(K.LOST_COORDINATOR, 1)], True),
        ([by_client(K.LOST_COORDINATOR, -9, "b")], True),
        ([by_client(K.LOST_COORDINATOR, -CAUSED_TAKEOVER_US - 9), by_client(K.START, -CAUSED_TAKEOVER_US - 1)], True),
        ([by_client(K.LOST_COORDINATOR, -CAUSED_TAKEOVER_US - 9), by_client(K.START, -CAUSED_TAKEOVER_US)], False),
        ([by_client(K.START, -CAUSED_TAKEOVER_US - 9), by_client(K.LOST_COORDINATOR, -CAUSED_TAKEOVER_US - 1)], False),
    ],
)
def test_a_process_hears_that_its_session_ended(actions: list[MemberAction], paused: bool) -> None:
    told = by_client(K.EXPIRE, name="ClientGenerationReset")

    assert (root(*actions, action=told) == "client_pause") is paused
