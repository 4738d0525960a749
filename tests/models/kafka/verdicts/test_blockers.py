"""Members that made others wait: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.events import Event, Witness
from models.incidents.person_reasons import (
    AWAITED_LAST,
    DID_NOT_POLL,
    GHOST,
    HEARD_OF_NOTHING,
    IN_CALLBACK,
    LATE,
    NEVER_SYNCED,
    NOT_BACK,
    NOT_REJOINED,
    NOT_SYNCED,
    REASON_EVICTED,
    REASON_EXPIRED_MEANWHILE,
    REASON_LEFT_MEANWHILE,
    REJOINED_LAST,
    SYNCED_LATE,
)
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.phase_deadline import LAST_MOMENT_US
from models.kafka.hypotheses.hypothesis import PROMPT_US
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.roster import RosterMember
from models.kafka.verdicts.blockers import CANDIDATES_MAX, SLOW_REJOIN_US, UNNAMED_WAIT_US, blockers
from tests.models.kafka.hypotheses.contexts import NOW, PREVIOUS_ENDED, SECOND, act, before, by_client, context, started
from tests.models.kafka.reconstruction.lines import line

K = ActionKind
People = list[tuple[str | None, str]]
SLOW, LONG = SLOW_REJOIN_US, UNNAMED_WAIT_US


def joined(lasted: int, **values: object) -> dict[str, object]:
    """A join phase of this length, whose assignment came at once."""
    event = line("GenerationStarted", NOW + lasted, node="1", generation=5, **values)
    return {"joined": event, "ended_at": NOW + lasted + 9, "members_after": 2}


def ended(at: int) -> ClusterFacts:
    return ClusterFacts(logs_end=NOW + at)


def found(*actions: MemberAction, **values: object) -> People:
    people = blockers(context(*actions, **values))  # type: ignore[arg-type]
    assert [person.first for person in people] == [index == 0 for index in range(len(people))]
    return [(person.client_id or person.member_id, person.reason) for person in people]


# -- evictions -----------------------------------------------------------------------------------------------------


def test_removed_members_are_named() -> None:
    first, second = act(K.EVICT, 0, "a"), act(K.EVICT, 5, "b")
    assert found(first, second) == [("a", REASON_EVICTED), ("b", REASON_EVICTED)]
    assert found(act(K.EVICT, -1)) == []
    assert found(act(K.EVICT, -1), started=None) == [("a", REASON_EVICTED)]
    assert found(started=None) == []


TIMED_OUT = joined(300 * SECOND) | {"members_after": 1, "members_before": 2}


def test_the_length_of_a_join_phase_shows_an_eviction() -> None:
    echo = act(K.EXPIRE, 301 * SECOND, "b")
    assert found(echo, last=("a",), **TIMED_OUT) == [("b", REASON_EVICTED)]
    assert found(last=("a",), **TIMED_OUT) == [("b", REASON_EVICTED)]
    assert found(act(K.LEAVE, 5, "b"), first=("a", "b", "c"), last=("a",), **TIMED_OUT) == [("c", REASON_EVICTED)]
    assert found(last=("a",), **TIMED_OUT | joined(301 * SECOND)) == [(None, LATE)]
    assert found(last=(), **TIMED_OUT) == [("a", f"{REASON_EVICTED}, one of 2"), ("b", f"{REASON_EVICTED}, one of 2")]
    assert found(last=(), **TIMED_OUT | {"members_before": 3}) == [(None, REASON_EVICTED)]
    assert found(last=(), first=("a",), **TIMED_OUT | {"members_before": 1}) == [("a", REASON_EVICTED)]
    assert found(last=(), first=("a",), **TIMED_OUT | {"members_before": None}) == [("a", REASON_EVICTED)]
    assert found(last=(), first=(), **TIMED_OUT) == [(None, REASON_EVICTED)]


@pytest.mark.parametrize(("count", "is_named"), [(CANDIDATES_MAX, True), (CANDIDATES_MAX + 1, False)])
def test_few_candidates_are_named(count: int, is_named: bool) -> None:
    names = [f"m{number}" for number in range(count)]
    people = found(last=(), first=names, **TIMED_OUT | {"members_before": count})

    assert people == ([(name, f"{REASON_EVICTED}, one of {count}") for name in names] if is_named else [(None, REASON_EVICTED)])


@pytest.mark.parametrize(
    ("member", "actions", "candidates"),
    [
        (RosterMember("C", "c", first_seen_at=PREVIOUS_ENDED), [], ["a", "b", "c"]),
        (RosterMember("C", "c", first_seen_at=PREVIOUS_ENDED + 1), [], ["a", "b"]),
        (RosterMember("C", "c"), [], ["a", "b"]),
        (RosterMember("C", "c", first_seen_at=0, ended_how="left"), [], ["a", "b"]),
        (None, [by_client(K.REJOIN, 5)], ["b"]),
        (None, [by_client(K.REJOIN, 0)], ["b"]),
        (None, [by_client(K.REJOIN, 1 - PROMPT_US)], ["b"]),
        (None, [by_client(K.REJOIN, -PROMPT_US)], ["a", "b"]),
        (None, [act(K.LEAVE, 5)], ["b"]),
    ],
)
def test_old_members_that_did_not_rejoin_are_candidates(
    member: RosterMember | None, actions: list[MemberAction], candidates: list[str]
) -> None:
    people = found(*actions, last=(), members=[member] if member else [], **TIMED_OUT | {"members_before": len(candidates)})

    assert [name for name, _ in people] == candidates


def test_who_began_it_has_rejoined() -> None:
    begun = {
        "started": started(reason_id="leader_rejoin", reason_member_id="A"),
        "members": [RosterMember("A", "a"), RosterMember("B", "b")],
    }

    assert found(last=(), **TIMED_OUT | {"members_before": 1}, **begun) == [("b", REASON_EVICTED)]


def _replaced(at: int, **values: object) -> Event:
    return line("LeaderReplaced", NOW + at, **{"instance_id": "i", "member_id": "S"} | values)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("events", "named"),
    [
        ([_replaced(300 * SECOND)], True),
        ([_replaced(300 * SECOND - LAST_MOMENT_US)], True),
        ([_replaced(300 * SECOND - LAST_MOMENT_US - 1)], False),
        ([_replaced(300 * SECOND + 1)], False),
        ([_replaced(300 * SECOND, instance_id=None)], False),
        ([_replaced(300 * SECOND, file="other.log")], False),
        ([_replaced(300 * SECOND), _replaced(300 * SECOND, member_id="T")], False),
        ([_replaced(300 * SECOND), _replaced(300 * SECOND, member_id="A")], True),
        ([_replaced(300 * SECOND), _replaced(300 * SECOND, member_id="T", new_leader="A")], True),
    ],
)
def test_a_static_leader_stays_in_its_group(events: list[Event], named: bool) -> None:
    facts = ClusterFacts(leaders_replaced=events)
    people = blockers(context(last=("a",), members=[RosterMember("A", "a")], facts=facts, **TIMED_OUT))  # type: ignore[arg-type]

    assert [person.reason for person in people] == [NOT_BACK if named else REASON_EVICTED]
    assert blockers(context(last=("a",), facts=facts, **joined(9))) == []  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("lasted", "values", "people"),
    [
        (SLOW, {}, [("b", NOT_BACK)]),
        (SLOW - 1, {}, []),
        (SLOW, {"shared": {"b"}}, []),
        (SLOW, {"last": ()}, []),
    ],
)
def test_members_logs_show_who_was_dropped(lasted: int, values: dict[str, object], people: People) -> None:
    window = {"last": ("a",), "witness": Witness.CLIENT, "state_before": State.STABLE}

    assert found(**window | joined(lasted) | values) == people
    assert ("b", NOT_BACK) not in found(act(K.LEAVE, 5, "b"), **window | joined(lasted) | values)


@pytest.mark.parametrize(
    ("kind", "at", "is_dropped"),
    [(K.REJOIN, SLOW - 9, False), (K.REJOIN, SLOW, False), (K.REJOIN, SLOW + 9, True), (K.REJOIN, -SLOW, True)],
)
def test_who_joined_again_in_time_was_not_dropped(kind: ActionKind, at: int, is_dropped: bool) -> None:
    """No line names the generation of a member whose log breaks off, but its JoinGroup was there before the phase ended."""
    window = {"last": ("a",), "witness": Witness.CLIENT, "state_before": State.STABLE}
    told = found(by_client(kind, at, "b"), by_client(K.REJOIN, SLOW // 2, "a"), **window | joined(SLOW))
    assert (("b", NOT_BACK) in told) == is_dropped


@pytest.mark.parametrize(("other", "is_dropped"), [(K.REJOIN, True), (K.REVOKE, False)], ids=["requests are logged", "they are not"])
def test_who_gave_up_its_partitions_may_be_in_its_callback(other: ActionKind, is_dropped: bool) -> None:
    """Sarama and kafka-go log no JoinGroup; a Java client gives up its partitions and joins again after its callback."""
    window = {"last": ("a",), "witness": Witness.CLIENT, "state_before": State.STABLE}
    told = found(by_client(K.REVOKE, 1, "b"), by_client(other, SLOW // 2, "a"), **window | joined(SLOW))
    assert (("b", NOT_BACK) in told) == is_dropped


# -- rebalances that are open ----------------------------------------------------------------------------------------

OPEN = {"outcome": "open", "joined": None, "ended_at": None, "members_before": 2}


@pytest.mark.parametrize(
    ("end", "values", "people"),
    [
        (LONG, {}, [("a", f"{NOT_REJOINED}, one of 2"), ("b", f"{NOT_REJOINED}, one of 2")]),
        (LONG - 1, {}, []),
        (LONG, {"state_before": State.EMPTY}, []),
    ],
)
def test_members_are_awaited_at_the_logs_end(end: int, values: dict[str, object], people: People) -> None:
    assert found(facts=ended(end), **OPEN | values) == people
    assert found(**OPEN | values) == []


@pytest.mark.parametrize(
    ("after", "leader", "people"),
    [
        (SLOW, "A", [("a", NOT_SYNCED)]),
        (SLOW, None, [(None, NOT_SYNCED)]),
        (SLOW - 1, "A", []),
    ],
)
def test_the_leader_is_awaited_at_the_logs_end(after: int, leader: str | None, people: People) -> None:
    values = {"outcome": "open", "previous": before(leader=leader), "members": [RosterMember("A", "a")]}

    assert found(facts=ended(SLOW + after), **values | joined(SLOW) | {"ended_at": None}) == people
    assert found(facts=ended(SLOW - 1), **values | joined(0) | {"ended_at": None}) == []
    gone = found(act(K.LEAVE, 5), facts=ended(9 * SECOND), **values | joined(SLOW) | {"ended_at": None})
    assert gone == [(None, NOT_SYNCED)]
    unknown = found(facts=ended(9 * SECOND), **values | joined(SLOW) | {"ended_at": None, "previous": None})
    assert unknown == [(None, NOT_SYNCED)]


# -- assignments -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "reason", "named"),
    [
        ("superseded", "pending_sync_expiration", True),
        ("stable", "pending_sync_expiration", False),
        ("superseded", "leave", False),
        ("superseded", None, False),
    ],
)
def test_who_never_synced_is_named_by_the_next_rebalance(outcome: str, reason: str | None, named: bool) -> None:
    event = started(9, reason_id=reason, reason_members=["A", "B"])
    following = context(started=event).window if reason else None

    assert found(outcome=outcome, following=following, **joined(9)) == ([("A", NEVER_SYNCED), ("B", NEVER_SYNCED)] if named else [])


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({}, True),
        ({"outcome": "superseded"}, False),
        ({"ended_at": None}, False),
        ({"ended": line("AssignmentReceived", NOW, generation=5)}, True),
        ({"ended": line("AssignmentReceived", NOW, generation=6)}, False),
        ({"ended": line("AssignmentReceived", NOW)}, True),
        ({"ended_at": NOW + SECOND + 9}, False),
    ],
)
def test_the_leader_synced_late(values: dict[str, object], named: bool) -> None:
    people = found(**joined(SECOND) | {"leader": "A", "ended_at": NOW + 100 * SECOND, "members": [RosterMember("A", "a")]} | values)

    assert people == ([("a", SYNCED_LATE)] if named else [])


# -- members that went, and ids that nobody used ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "at", "lasted", "reason"),
    [
        (K.LEAVE, SLOW, SLOW, REASON_LEFT_MEANWHILE),
        (K.EXPIRE, SLOW, SLOW, REASON_EXPIRED_MEANWHILE),
        (K.ID_EXPIRED, SLOW, SLOW, GHOST),
        (K.LEAVE, SLOW - 1, SLOW, None),
        (K.ID_EXPIRED, SLOW - 1, SLOW, None),
        (K.LEAVE, SLOW, SLOW + LAST_MOMENT_US, REASON_LEFT_MEANWHILE),
        (K.LEAVE, SLOW, SLOW + LAST_MOMENT_US + 1, None),
        (K.ID_EXPIRED, SLOW, SLOW + LAST_MOMENT_US, GHOST),
        (K.ID_EXPIRED, SLOW, SLOW + LAST_MOMENT_US + 1, None),
    ],
)
def test_the_last_one_that_went_completed_the_phase(kind: ActionKind, at: int, lasted: int, reason: str | None) -> None:
    action = act(kind, at, "b")
    people = found(action, **joined(lasted) | {"members_before": 9})

    assert people == ([("b", reason)] if reason else [])
    if kind is not K.ID_EXPIRED:
        assert found(action, **joined(lasted) | {"outcome": "empty"}) == []
        assert found(action, facts=ended(lasted), **OPEN) in ([], people)


def test_nobody_held_up_a_phase_from_empty() -> None:
    assert found(act(K.ID_EXPIRED, SLOW, "b"), **joined(SLOW) | {"state_before": State.EMPTY}) == []
    assert found(act(K.ID_EXPIRED, SLOW, "b"), joined=None, ended_at=None) == []


# -- slow members ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "last", "end", "named"),
    [
        (9, SLOW + 9, SLOW + 9, True),
        (10, SLOW + 9, SLOW + 9, False),
        (9, SLOW + 9, SLOW + 9 + 4 * LAST_MOMENT_US, True),
        (9, SLOW + 9, SLOW + 10 + 4 * LAST_MOMENT_US, False),
        (None, SLOW, SLOW, True),
        (None, SLOW - 1, SLOW, False),
        (-9, SLOW, SLOW, True),
    ],
)
def test_the_last_one_that_rejoined_was_slow(first: int | None, last: int, end: int, named: bool) -> None:
    actions = [by_client(K.REJOIN, last, "b"), *([by_client(K.REJOIN, first)] if first is not None else [])]

    assert found(*actions, **joined(end) | {"members_before": 9}) == ([("b", REJOINED_LAST)] if named else [])


def test_who_gives_up_its_partitions_rejoins() -> None:
    assert found(by_client(K.REJOIN, 9), by_client(K.REVOKE, 5 + SLOW, "b"), **joined(9 + SLOW)) == []
    assert found(by_client(K.REJOIN, 9), by_client(K.REVOKE, 9 + SLOW, "b"), **joined(9 + SLOW)) == [("b", REJOINED_LAST)]
    rejoined = (by_client(K.REJOIN, 9), by_client(K.REJOIN, 10, "b"), by_client(K.REVOKE, 9 + SLOW, "b"))
    assert found(*rejoined, **joined(9 + SLOW) | {"members_before": 9}) == []
    assert found(act(K.JOIN, 9 + SLOW, "b"), **joined(9 + SLOW) | {"members_before": 9}) == [], "it is new"


@pytest.mark.parametrize(
    ("other", "lasted", "values", "people"),
    [
        (9, 9 + SLOW, {}, [("b", AWAITED_LAST)]),
        (10, 9 + SLOW, {}, []),
        (9, 9 + SLOW, {"members_before": 3}, []),
        (9, 9 + SLOW, {"shared": {"b"}}, []),
        (9, 9 + SLOW, {"first": ("a", "b", "c"), "members_before": 3}, []),
        (None, LONG, {"first": ("b",), "members_before": 1}, [("b", AWAITED_LAST)]),
        (None, LONG - 1, {"first": ("b",), "members_before": 1}, []),
        (None, SLOW, {"first": ("b",), "members_before": 1, "clients": {"b"}}, [("b", AWAITED_LAST)]),
        (None, SLOW - 1, {"first": ("b",), "members_before": 1, "clients": {"b"}}, []),
    ],
)
def test_the_one_that_no_line_shows_was_awaited(other: int | None, lasted: int, values: dict[str, object], people: People) -> None:
    actions = [by_client(K.REJOIN, other)] if other is not None else []

    assert found(*actions, **joined(lasted) | {"members_before": 2} | values) == people


@pytest.mark.parametrize(
    ("member", "counts"),
    [
        (RosterMember("C", "c", first_seen_at=PREVIOUS_ENDED), True),
        (RosterMember("C", "c", first_seen_at=PREVIOUS_ENDED + 1), False),
        (RosterMember("C", "c"), False),
        (RosterMember("C", "c", first_seen_at=0, ended_how="left", last_seen_at=NOW), True),
        (RosterMember("C", "c", first_seen_at=0, ended_how="left", last_seen_at=NOW - 1), False),
        (RosterMember("C", "c", first_seen_at=0, ended_how="left"), False),
    ],
)
def test_members_that_were_there_count(member: RosterMember, counts: bool) -> None:
    people = found(by_client(K.REJOIN, 9), first=("a",), members=[member], **joined(9 + SLOW) | {"members_before": 2})

    assert people == ([("c", AWAITED_LAST)] if counts else [])


@pytest.mark.parametrize(
    ("lasted", "values", "late"),
    [
        (LONG, {}, True),
        (LONG - 1, {}, False),
        (LONG, {"outcome": "superseded"}, True),
        (LONG, {"outcome": "coordinator_lost"}, False),
        (LONG, {"joined": None, "ended_at": NOW + LONG}, False),
        (LONG, {"state_before": None, "facts": ClusterFacts(initial_delay_ms=4_000)}, False),
        (LONG, {"state_before": State.STABLE, "facts": ClusterFacts(initial_delay_ms=4_000)}, True),
        (6 * SECOND - 9, {"state_before": None, "facts": ClusterFacts(initial_delay_ms=4_000)}, True),
    ],
)
def test_somebody_was_late(lasted: int, values: dict[str, object], late: bool) -> None:
    assert found(**joined(lasted) | {"members_before": 9} | values) == ([(None, LATE)] if late else [])


# -- what a blockers own log shows -------------------------------------------------------------------------------------


def delay(*actions: MemberAction, **values: object) -> str | None:
    """What is added to the reason of b, which rejoined last."""
    last = by_client(K.REJOIN, 10 * SECOND, "b")
    window = joined(10 * SECOND) | {"members_before": 9, "clients": {"b"}}
    ((name, reason),) = found(*actions, last, by_client(K.REJOIN, 9), **window | values)
    assert (name, reason.partition(": ")[0]) == ("b", REJOINED_LAST)
    return reason.partition(": ")[2] or None


def note(at: int, who: str = "b") -> MemberAction:
    return by_client(K.REBALANCE_NOTICED, at, who)


def revoke(at: int) -> MemberAction:
    return by_client(K.REVOKE, at, "b")


def test_the_longest_gap_tells_where_a_member_was() -> None:
    assert delay(note(6 * SECOND), revoke(7 * SECOND)) == f"{HEARD_OF_NOTHING} 6.0 s"
    assert delay(note(1 * SECOND), revoke(7 * SECOND)) == f"{DID_NOT_POLL} 6.0 s"
    assert delay(note(1 * SECOND), revoke(2 * SECOND)) == f"{IN_CALLBACK} 8.0 s"
    assert delay(note(1 * SECOND)) == f"{DID_NOT_POLL} 9.0 s"
    assert delay(revoke(2 * SECOND)) == f"{IN_CALLBACK} 8.0 s"
    assert delay(note(1 * SECOND, "a")) == f"{HEARD_OF_NOTHING} 10 s"
    assert delay(note(1 * SECOND), clients=set()) is None
    assert delay(note(1 * SECOND), shared={"b"}) is None


@pytest.mark.parametrize(("took_ms", "expected"), [(SLOW // 1_000, f"{IN_CALLBACK} 1.5 s"), (SLOW // 1_000 - 1, f"{DID_NOT_POLL} 9.0 s")])
def test_a_callback_says_how_long_it_took(took_ms: int, expected: str) -> None:
    steps = [by_client(K.STEP, 5 * SECOND, "b", duration_ms=ms) for ms in (3, took_ms, None)]

    assert delay(note(1 * SECOND), *steps) == expected


def test_a_worker_tells_what_it_did_last() -> None:
    told = by_client(K.POLL_TIMEOUT, 5 * SECOND, "b", last_action="reading")

    assert delay(note(1 * SECOND), by_client(K.POLL_TIMEOUT, 4 * SECOND, "b"), told) == "did last: reading"


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({"tell_joins": {"b"}}, f"{HEARD_OF_NOTHING} 10 s"),
        ({"tell_joins": {"b"}, "silent": {"b"}}, None),
        ({"tell_joins": set()}, None),
    ],
)
def test_a_silent_log_shows_that_its_member_heard_of_nothing(values: dict[str, object], expected: str | None) -> None:
    window = joined(10 * SECOND) | {"members_before": 2, "clients": {"b"}}
    ((name, reason),) = found(by_client(K.REJOIN, 9), **window | values)

    assert (name, reason.partition(": ")[2] or None) == ("b", expected)
    assert reason.startswith(AWAITED_LAST)
