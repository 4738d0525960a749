"""Steps of a classic group by its requests alone: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.events import Event
from models.kafka.observations.actions import PARKED_US, ActionKind, actions_in
from models.kafka.reconstruction import request_windows
from models.kafka.reconstruction.epochs.member_signs import EpochSign, SignKind
from models.kafka.reconstruction.request_members import ASSUMED_SESSION_US, Peer, RequestSign
from models.kafka.reconstruction.request_windows import ANSWER_US, HOLD_US, STAMP_US, RequestWindows
from models.units import FOREVER, US_PER_MS
from tests.models.kafka.reconstruction.lines import client, line, request

NOW = 1_000_000_000
SESSION_US = 10_000_000
HEARD = request("Heartbeat", NOW, member_id="a", error_code=0)
PARKED_MS = PARKED_US // US_PER_MS
LISTS = {"error_code": 0, "leader_id": "a"}


def group(*members: str, generation: int = 4) -> RequestWindows:
    """A stable group whose members are all known."""
    windows = RequestWindows(generation, joined_at=NOW, begins_midway=False, is_synced=True, leader="a")
    windows.members.peers = {member: Peer(HEARD, NOW, SESSION_US) for member in members}
    windows.members.is_complete = True
    return windows


def steps(windows: RequestWindows, *events: Event) -> list[tuple[str, int, int | None]]:
    """Steps that follow from requests: name, time after `NOW`, and generation."""
    return [(step.name, step.time_us - NOW, step.generation) for step in lines(windows, *events)]


def lines(windows: RequestWindows, *events: Event) -> list[Event]:
    for event in events:
        windows.feed(event, event.time_us)
    return list(windows.until(FOREVER))


def join(at: int, member: str = "a", generation: int | None = 5, **values: object) -> Event:
    return request("JoinGroup", NOW + at, member_id=member, response_generation=generation, **LISTS | values)


def beat(at: int, member: str = "a", code: int | None = 0, generation: int | None = 4, **values: object) -> Event:
    return request("Heartbeat", NOW + at, member_id=member, error_code=code, generation=generation, **values)


def sync(at: int, member: str = "a", code: int | None = 0, generation: int | None = 4, **values: object) -> Event:
    return request("SyncGroup", NOW + at, member_id=member, error_code=code, generation=generation, **values)


def leave(at: int, member: str | None = "a", code: int | None = 0, **values: object) -> Event:
    return request("LeaveGroup", NOW + at, member_id=member, error_code=code, **values)


# -- waiting ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("at", "read"), [(HOLD_US - 1, False), (HOLD_US, False), (HOLD_US + 1, True)])
def test_a_request_waits_before_it_is_read(at: int, read: bool) -> None:
    windows = group("a")
    windows.feed(beat(7), NOW + 7)
    list(windows.until(NOW + 7 + at))

    assert (windows.calm_at == NOW + 7) is read


def test_a_client_that_lost_its_coordinator_is_noted_in_order() -> None:
    windows = group("a")
    windows.members.peers["a"].heard = request("Heartbeat", NOW, member_id="a", client_id="a", error_code=0)
    lost = client("CoordinatorLost", NOW + 5, client_id="a")

    assert steps(windows, beat(3, client_id="a"), lost, beat(9, client_id="a", node="2")) == []
    assert windows.members.peers["a"].heard_at == NOW + 9
    assert windows.members.lost_at == {}
    lines(windows, client("CoordinatorLost", NOW + 15, client_id="a"))
    assert windows.members.lost_at == {"a": NOW + 15}


def test_too_many_requests_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_windows, "HELD_MAX", 2)
    windows = group("a")
    for at in (1, 2):
        windows.feed(beat(at), NOW + at)
    list(windows.until(0))
    assert len(windows.pending_events) == 2
    windows.feed(beat(3), NOW + 3)
    list(windows.until(0))
    assert [event.time_us for event in windows.pending_events] == [NOW + 2, NOW + 3]


def test_what_is_no_request_of_the_group_is_not_kept() -> None:
    windows = group("a")
    windows.feed(request("OffsetFetch", NOW), NOW)
    windows.feed(line("MemberFailed", NOW, member_id="a"), NOW)

    assert not windows.pending_events
    assert windows.covered_at == NOW


# -- the coordinator's own lines --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "generation", "stands_at"),
    [
        ("GenerationStarted", 6, 6),
        ("GenerationStarted", 4, 4),
        ("GroupLoaded", 6, 6),
        ("GroupLoaded", None, 4),
        ("MemberAdded", 6, 4),
    ],
)
def test_the_coordinator_tells_where_the_group_is(name: str, generation: int | None, stands_at: int) -> None:
    windows = group("a")
    windows.noticed, windows.calm_at = RequestSign(NOW, HEARD), NOW
    windows.members.gone = {"a": RequestSign(NOW, HEARD)}

    assert steps(windows, line(name, NOW + 5, generation=generation)) == []

    assert (windows.generation, windows.covered_at, windows.noticed, windows.members.gone) == (stands_at, NOW + 5, None, {})
    is_other = stands_at != 4
    assert windows.joined_at == (NOW + 5 if is_other else NOW)
    assert (windows.begins_midway, windows.is_synced, windows.leader) == (is_other, True, None if is_other else "a")
    assert (list(windows.members.peers), windows.members.is_complete) == (([], False) if is_other else (["a"], True))
    assert windows.calm_at == (None if is_other else NOW)


def test_the_last_line_of_the_coordinator_counts() -> None:
    windows = group("a")
    lines(windows, line("MemberAdded", NOW + 5), line("MemberAdded", NOW + 3))

    assert windows.covered_at == NOW + 5


@pytest.mark.parametrize(("at", "expected"), [(HOLD_US, []), (HOLD_US + 1, ["RebalanceStarted", "GenerationStarted"])])
def test_what_the_coordinator_tells_is_told_once(at: int, expected: list[str]) -> None:
    windows = group("a", "b")
    windows.feed(line("MemberAdded", NOW), NOW)

    assert [name for name, *_ in steps(windows, join(at, members=["a", "b"]))] == expected
    assert windows.generation == 5


# -- join phases -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("is_synced", "state"), [(True, "Stable"), (False, "CompletingRebalance")])
def test_a_generation_begins_with_the_first_join(is_synced: bool, state: str) -> None:
    windows = group("a", "b")
    windows.is_synced = is_synced
    windows.calm_at = NOW + 5
    started, generation = lines(windows, join(90_000, total_ms=50, members=["a", "b"]), join(91_000, "b", total_ms=80))

    assert (started.name, started.time_us, started.generation) == ("RebalanceStarted", NOW + 11_000, 4)
    assert dict(started.fields) == {"roster": ["a", "b"], "reason_state": state}
    assert (generation.name, generation.time_us, generation.generation) == ("GenerationStarted", NOW + 90_000, 5)
    assert dict(generation.fields) == {"roster": ["a", "b"], "member_count": 2}
    assert (windows.generation, windows.leader, windows.joined_at) == (5, "a", NOW + 90_000)
    assert (windows.is_synced, windows.begins_midway, windows.calm_at, windows.noticed) == (False, False, None, None)
    assert windows.members.is_complete


def test_without_the_leaders_list_some_members_may_be_missing() -> None:
    windows = group("a", "b")
    *_, generation = lines(windows, join(90_000), join(91_000, "b"))

    assert dict(generation.fields) == {"roster": ["a", "b"]}
    assert not windows.members.is_complete


def test_answers_of_another_generation_or_with_errors_are_of_none() -> None:
    windows = group("a", "b")
    _, _, generation, *_ = lines(windows, join(90_000), join(91_000, "b", error_code=27), join(92_000, "b", 6), beat(93_000, "c"))

    assert dict(generation.fields) == {"roster": ["a"]}


@pytest.mark.parametrize(
    ("values", "generation"),
    [
        ({"error_code": 0}, 5),
        ({"error_code": None}, 5),
        ({"error_code": 27}, 4),
        ({"generation": None}, 4),
        ({"member": ""}, 4),
    ],
)
def test_only_an_accepted_join_begins_a_generation(values: dict[str, object], generation: int) -> None:
    windows = group("a")
    lines(windows, join(9, **values))  # type: ignore[arg-type]

    assert windows.generation == generation


def test_a_join_without_a_leader_is_of_a_group_with_epochs() -> None:
    windows = group("a")
    lines(windows, join(9, leader_id=None), sync(10, generation=9), leave(11))
    assert (windows.is_modern, windows.generation) == (True, 4)
    lines(windows, join(12, leader_id="a"))
    assert (windows.is_modern, windows.generation) == (False, 5)
    assert list(windows.finish(NOW)) == []


def test_answered_heartbeats_of_epochs_make_it_one() -> None:
    windows = group("a")
    lines(windows, request("ConsumerGroupHeartbeat", NOW, member_id="m", error_code=16, member_epoch=1))
    assert not windows.is_modern
    lines(windows, request("ConsumerGroupHeartbeat", NOW, member_id="m", error_code=0, member_epoch=1, response_epoch=1))
    lines(windows, request("ConsumerGroupHeartbeat", NOW, member_id="m", error_code=16, member_epoch=1))
    assert windows.is_modern


def test_who_did_not_rejoin_in_time_was_removed() -> None:
    windows = group("a", "b", "c")
    windows.members.gone = {"c": RequestSign(NOW + 3, HEARD)}
    *others, removed, _generation = lines(windows, join(9, members=["a"]))

    assert [(step.name, step.time_us - NOW) for step in others] == [("RebalanceStarted", 3)]
    assert (removed.name, removed.time_us, dict(removed.fields)) == ("MembersNotRejoined", NOW + 9, {"members": ["b"]})


def test_after_a_gap_nobody_is_known_to_have_been_removed() -> None:
    windows = group("a", "b")
    windows.members.is_complete = False
    windows.noticed = RequestSign(NOW + 1, HEARD)

    assert steps(windows, join(9, generation=7, members=["a"])) == [("RebalanceStarted", 9, 6), ("GenerationStarted", 9, 7)]


@pytest.mark.parametrize(
    ("deadline", "calm", "noticed", "over", "expected"),
    [
        (500_000, None, None, 500_000, [(500_000, None)]),
        (500_000 + STAMP_US, None, None, 500_000, [(500_000, None)]),
        (500_001 + STAMP_US, None, None, 500_000, []),
        (400_000, None, None, 500_000, [(400_000, None)]),
        (400_000, 400_000, None, 500_000, [(400_000, None)]),
        (400_000, 400_000 + ANSWER_US, None, 500_000, [(400_000 + ANSWER_US, None)]),
        (400_000, 400_001 + ANSWER_US, None, 500_000, [(500_000, 500_000 - 400_001 - ANSWER_US)]),
        (400_000, 400_001 + ANSWER_US, 480_000, 500_000, [(480_000, 480_000 - 400_001 - ANSWER_US)]),
        (400_000, 400_001 + ANSWER_US, 400_001 + ANSWER_US, 500_000, [(400_001 + ANSWER_US, None)]),
        (400_000, None, 400_000, 500_000, [(400_000, None)]),
        (400_000, None, 399_999, 500_000, [(399_999, None)]),
        (400_000, None, 400_000 - ANSWER_US, 500_000, [(400_000 - ANSWER_US, None)]),
        (400_000, None, 399_999 - ANSWER_US, 500_000, [(400_000, None)]),
        (400_000, None, 400_001, 500_000, [(400_000, None)]),
    ],
)
def test_a_session_ends_between_calm_and_notice(
    deadline: int, calm: int | None, noticed: int | None, over: int, expected: list[tuple[int, int | None]]
) -> None:
    windows = group("a", "b")
    windows.members.peers["b"].heard_at = NOW + deadline - SESSION_US
    windows.calm_at = NOW + calm if calm is not None else None
    windows.noticed = RequestSign(NOW + noticed, HEARD) if noticed is not None else None
    failed = [step for step in lines(windows, join(over, members=["a"])) if step.name == "MemberFailed"]

    assert [(step.time_us - NOW, step.fields.get("doubt_us")) for step in failed] == expected
    assert {step.member_id for step in failed} <= {"b"}


def test_who_is_in_the_new_generation_has_not_expired() -> None:
    windows = group("a")
    windows.members.peers["a"].heard_at = NOW - SESSION_US

    assert [name for name, *_ in steps(windows, join(9, members=["a"]))] == ["RebalanceStarted", "GenerationStarted"]


@pytest.mark.parametrize(
    ("doubt_us", "timeout_ms", "expected"),
    [(0, 100, "MemberFailed"), (5, None, "MemberFailed"), (5, 100, "MembersNotRejoined")],
)
def test_whose_session_is_in_doubt_was_dropped_at_the_deadline(doubt_us: int, timeout_ms: int | None, expected: str) -> None:
    windows = group("a", "b")
    windows.members.peers["b"].heard_at, windows.members.peers["b"].doubt_us = NOW + 50_000 - SESSION_US, doubt_us
    answers = steps(windows, join(101_000, total_ms=100, members=["a"], rebalance_timeout_ms=timeout_ms))

    assert expected in [name for name, *_ in answers]
    assert len(answers) == 3


@pytest.mark.parametrize(("over", "members", "expires"), [(8, ["a"], False), (9, ["a"], True), (9, ["a", "c"], False)])
def test_an_id_expires_that_nobody_used(over: int, members: list[str], expires: bool) -> None:
    windows = group("a")
    windows.members.handed_out = {"c": Peer(HEARD, NOW + 9 - SESSION_US, SESSION_US)}
    expired = [step for step in lines(windows, join(over, members=members)) if step.name == "PendingMemberExpired"]

    assert [(step.member_id, step.time_us - NOW) for step in expired] == ([("c", 9)] if expires else [])
    assert ("c" in windows.members.handed_out) is (not expires)


@pytest.mark.parametrize(
    ("noticed", "unheard", "gone", "calm", "expected"),
    [
        (None, None, None, None, 9),
        (5, None, None, None, 5),
        (None, 4, None, None, 4),
        (None, None, 3, None, 3),
        (5, 4, 3, None, 3),
        (5, 4, 6, None, 4),
        (5, None, None, 7, 7),
    ],
)
def test_a_rebalance_begins_with_its_first_sign(
    noticed: int | None, unheard: int | None, gone: int | None, calm: int | None, expected: int
) -> None:
    windows = group("a", "b")
    windows.noticed = RequestSign(NOW + noticed, HEARD) if noticed else None
    windows.unheard = {"x": RequestSign(NOW + unheard, HEARD)} if unheard else {}
    windows.members.gone = {"b": RequestSign(NOW + gone, HEARD)} if gone else {}
    windows.calm_at = NOW + calm if calm else None

    assert steps(windows, join(9, members=["a"]))[0] == ("RebalanceStarted", expected, 4)
    assert windows.unheard == {}


@pytest.mark.parametrize(("instance", "is_synced", "began"), [("i", True, 9), ("i", False, 2), ("j", True, 2), (None, True, 2)])
def test_a_static_member_that_comes_back_to_a_stable_group_begins_nothing(instance: str | None, is_synced: bool, began: int) -> None:
    windows = group("a", "b")
    windows.members.peers["b"].instance_id = "i"
    windows.is_synced = is_synced
    back = join(20, "b2", total_ms=18 / US_PER_MS, instance_id=instance)
    again = join(20, "a", total_ms=11 / US_PER_MS, members=["a", "b2"])

    assert next(step for step in steps(windows, back, again) if step[0] == "RebalanceStarted") == ("RebalanceStarted", began, 4)


def test_a_static_member_that_comes_back_in_vain_stays() -> None:
    windows = group("a", "b")
    windows.members.peers["b"].instance_id = "i"

    assert steps(windows, join(9, "", None, error_code=27, total_ms=PARKED_MS, instance_id="i")) == []
    assert [windows.members.peers[name].heard_at - NOW for name in ("a", "b")] == [0, 9]


def test_an_id_is_handed_out() -> None:
    windows = group("a")
    lines(windows, join(9, "c", error_code=79, session_timeout_ms=9))

    assert list(windows.members.handed_out) == ["c"]


@pytest.mark.parametrize(
    ("member", "code", "waited", "unheard", "noticed"),
    [
        ("c", 15, PARKED_MS, True, False),
        ("c", 15, PARKED_MS - 1, False, False),
        ("a", 15, PARKED_MS, False, False),
        ("a", 27, PARKED_MS, False, True),
        ("a", 27, PARKED_MS - 1, False, False),
        ("", 27, PARKED_MS, False, False),
        ("a", 79, PARKED_MS, False, False),
    ],
)
def test_a_join_that_waited_in_vain_shows_a_phase(member: str, code: int, waited: int, unheard: bool, noticed: bool) -> None:
    windows = group("a")
    lines(windows, join(900_000, member, error_code=code, total_ms=waited))

    assert (list(windows.unheard), windows.noticed is not None) == (["c"] * unheard, noticed)
    assert windows.noticed is None or windows.noticed.at == NOW + 900_000 - PARKED_US


def test_the_first_join_in_vain_counts() -> None:
    windows = group("a")
    lines(windows, join(900_000, "c", error_code=15, total_ms=PARKED_MS), join(990_000, "c", error_code=15, total_ms=PARKED_MS))

    assert windows.unheard["c"].at == NOW + 900_000 - PARKED_US


@pytest.mark.parametrize(
    ("members", "midway", "peers", "leader"),
    [(["a", "b"], True, ["a", "b"], "a"), (["a", "b"], False, ["c", "a"], "x"), (None, True, ["c", "a"], "x")],
)
def test_a_member_is_given_the_generation_in_force(members: list[str] | None, midway: bool, peers: list[str], leader: str) -> None:
    windows = group("c")
    windows.begins_midway, windows.leader = midway, "x"

    assert steps(windows, join(9, generation=4, members=members)) == []
    assert (list(windows.members.peers), windows.leader) == (peers, leader)
    assert windows.begins_midway is (midway and members is None)
    assert windows.members.is_complete
    assert windows.generation == 4


def test_a_coordinator_that_loads_an_older_generation_began_none() -> None:
    """A generation whose assignment was not stored is forgotten; the one before is given out again, without a join phase."""
    windows = group("a", "b")
    words = steps(windows, sync(1_000), join(5_000, members=["a", "b"]), join(6_000, generation=4), sync(7_000))

    assert [(name, generation) for name, _, generation in words] == [
        ("RebalanceStarted", 4), ("GenerationStarted", 5), ("GroupLoaded", 4),
    ]  # fmt: skip
    assert (windows.generation, windows.stored) == (4, 4)
    again = steps(windows, join(9_000, members=["a", "b"]))
    assert [(name, generation) for name, _, generation in again] == [("RebalanceStarted", 4), ("GenerationStarted", 5)]


def test_a_new_life_of_a_group_may_reach_the_stored_generation_by_new_ids() -> None:
    words = steps(group("a"), sync(1_000), join(5_000, members=["a"]), join(6_000, "z", generation=4, leader_id="z", members=["z"]))

    assert [generation for name, _, generation in words if name == "GenerationStarted"] == [5, 4]


@pytest.mark.parametrize(
    ("at", "joined_at", "generation", "taken"), [(6, 5, 9, True), (5, 5, 9, False), (6, 5, 4, False), (1 - NOW, None, 9, True)]
)
def test_a_downgraded_group_goes_on_from_its_last_epoch(at: int, joined_at: int | None, generation: int, taken: bool) -> None:
    windows = group("a")
    windows.joined_at = NOW + joined_at if joined_at is not None else None
    sign = request("ConsumerGroupHeartbeat", NOW + at, member_id="m", member_epoch=-1)
    windows.epochs.downgrade = EpochSign(SignKind.LEFT, NOW + at, sign, "m", "m")
    answers = lines(windows, join(9, generation=generation, members=["a"]))

    reasons = [(step.time_us - NOW, step.generation, step.fields.get("reason_id")) for step in answers if step.name == "RebalanceStarted"]
    assert ((at, generation - 1, "downgrade_from_consumer") in reasons) is taken
    assert windows.downgraded is None


# -- syncs and heartbeats ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("is_synced", "midway", "covered", "expected"),
    [
        (False, False, None, [("AssignmentReceived", 9, 4)]),
        (True, False, None, []),
        (True, True, None, []),
        (False, True, None, [("AssignmentReceived", 9, 4)]),
        (False, False, 9 - HOLD_US, []),
        (False, False, 8 - HOLD_US, [("AssignmentReceived", 9, 4)]),
    ],
)
def test_the_first_sync_shows_the_assignment(
    is_synced: bool, midway: bool, covered: int | None, expected: list[tuple[str, int, int]]
) -> None:
    windows = group("a", "b")
    windows.is_synced, windows.begins_midway = is_synced, midway
    windows.covered_at = NOW + covered if covered is not None else None

    assert steps(windows, sync(9)) == expected
    assert windows.is_synced
    assert windows.members.peers["a"].heard_at == NOW + 9


@pytest.mark.parametrize(
    ("values", "by", "at"),
    [
        ({"by_leader": True}, "b", 6_000),
        ({"by_leader": True, "total_ms": 9}, "b", 0),
        ({"by_leader": True, "code": None}, "b", 6_000),
        ({"by_leader": True, "code": 27}, "x", 5_000),
        ({"by_leader": True, "generation": 5}, "x", 5_000),
        ({"by_leader": False}, "x", 5_000),
        ({}, "x", 5_000),
    ],
)
def test_the_leader_assigns(values: dict[str, object], by: str, at: int) -> None:
    windows = group("a", "b")
    windows.is_synced, windows.leader = False, "x"
    first, *_ = lines(windows, sync(5_000), sync(6_000, "b", **values))  # type: ignore[arg-type]

    assert (first.name, first.member_id, first.time_us - NOW) == ("AssignmentReceived", by, at)
    assert dict(first.fields) == {"member_count": 2}


def test_the_count_of_unknown_members_is_not_told() -> None:
    windows = group("a")
    windows.is_synced = windows.members.is_complete = False
    (first,) = lines(windows, sync(9))

    assert dict(first.fields) == {}


@pytest.mark.parametrize(("code", "notices"), [(-1, True), (15, True), (16, False), (27, True), (22, False), (25, False)])
def test_some_refused_syncs_show_a_rebalance(code: int, notices: bool) -> None:
    windows = group("a")

    assert steps(windows, sync(9, code=code)) == []
    assert (windows.noticed is not None) is notices
    assert windows.members.peers["a"].heard_at == NOW


@pytest.mark.parametrize(
    ("code", "is_synced", "calm", "noticed", "heard"),
    [
        (0, True, True, False, True),
        (None, True, True, False, True),
        (27, True, False, True, True),
        (27, False, False, False, True),
        (25, True, False, False, False),
        (16, True, False, False, False),
    ],
)
def test_heartbeats_tell_of_calm_or_of_a_rebalance(code: int | None, is_synced: bool, calm: bool, noticed: bool, heard: bool) -> None:
    windows = group("a")
    windows.is_synced = is_synced
    lines(windows, beat(9, code=code))

    assert (windows.calm_at == NOW + 9, windows.noticed is not None) == (calm, noticed)
    assert windows.members.peers["a"].heard_at == NOW + 9 * heard


def test_the_last_heartbeat_of_a_run_is_heard() -> None:
    windows = group("a")
    lines(windows, beat(9, last_at_us=NOW + 20), beat(12))

    assert (windows.calm_at, windows.members.peers["a"].heard_at) == (NOW + 20, NOW + 20)


@pytest.mark.parametrize(
    ("code", "waited", "generation", "heard"),
    [(15, PARKED_MS, 4, True), (15, PARKED_MS - 1, 4, False), (15, PARKED_MS, 5, False), (16, PARKED_MS, 4, False)],
)
def test_a_heartbeat_counts_that_was_taken_unanswered(code: int, waited: int, generation: int, heard: bool) -> None:
    windows = group("a")
    lines(windows, beat(900_000, code=code, generation=generation, total_ms=waited))
    assert (windows.members.peers["a"].heard_at == NOW + 900_000 - PARKED_US) is heard
    windows = group("a")
    lines(
        windows,
        request("OffsetCommit", NOW + 900_000, member_id="a", error_code=code, generation=generation, total_ms=waited),
    )
    assert (windows.members.peers["a"].heard_at == NOW + 900_000 - PARKED_US) is heard


@pytest.mark.parametrize(
    ("code", "generation", "last", "heard"), [(0, 4, None, 9), (None, 4, 20, 20), (0, 5, None, 0), (0, None, None, 0), (22, 4, None, 0)]
)
def test_a_commit_of_the_generation_is_heard(code: int | None, generation: int | None, last: int | None, heard: int) -> None:
    windows = group("a")
    last_at = NOW + last if last is not None else None
    lines(windows, request("OffsetCommit", NOW + 9, member_id="a", error_code=code, generation=generation, last_at_us=last_at))

    assert windows.members.peers["a"].heard_at == NOW + heard
    assert windows.generation == 4


def test_without_a_generation_a_commit_without_one_is_of_none() -> None:
    windows = RequestWindows()
    lines(windows, request("OffsetCommit", NOW + 9, member_id="a", error_code=0))

    assert windows.members.peers == {}


@pytest.mark.parametrize(("first", "second", "expected"), [(9, 8, 8), (8, 9, 8), (8, 8, 8)])
def test_the_first_notice_counts(first: int, second: int, expected: int) -> None:
    windows = group("a", "b")
    lines(windows, beat(first, code=27), beat(second, "b", code=27))

    assert windows.noticed is not None
    assert (windows.noticed.at - NOW, windows.noticed.event.member_id) == (expected, "b" if second < first else "a")


def test_what_is_covered_is_no_notice() -> None:
    windows = group("a")
    windows.covered_at = NOW
    lines(windows, beat(HOLD_US, code=27))
    assert windows.noticed is None
    lines(windows, beat(HOLD_US + 1, code=27))
    assert windows.noticed is not None


@pytest.mark.parametrize(
    ("known", "generation", "code", "stands_at"),
    [
        (4, 5, 0, 5),
        (4, 5, None, 5),
        (4, 5, 27, 5),
        (4, 5, 25, 4),
        (4, 3, 0, 4),
        (4, None, 0, 4),
        (None, 5, 0, 5),
        (None, 0, 0, 0),
    ],
)
def test_a_request_of_a_later_generation_shows_it(known: int | None, generation: int | None, code: int | None, stands_at: int) -> None:
    windows = group("a")
    windows.generation = known
    lines(windows, beat(9, code=code, generation=generation))

    assert windows.generation == stands_at
    assert windows.begins_midway is (stands_at != 4)
    assert list(windows.members.peers) == ["a"]
    assert steps(windows, beat(10, member="", generation=9)) == []
    assert windows.generation == stands_at


# -- departures --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "waited_ms", "gone"),
    [(0, 0, ["a"]), (None, 0, ["a"]), (25, 0, []), (15, PARKED_US // US_PER_MS, ["a"]), (15, 0, []), (16, PARKED_US // US_PER_MS, [])],
)
def test_a_member_leaves_if_its_request_is_taken(code: int | None, waited_ms: int, gone: list[str]) -> None:
    windows, request = group("a", "b"), leave(9 + waited_ms * US_PER_MS, code=code, total_ms=waited_ms)

    assert steps(windows, request) == []
    assert list(windows.members.gone) == gone
    assert windows.waiting_since == (NOW + 9 if gone else None)
    assert [(action.kind, action.at) for action in actions_in(request)] == [(ActionKind.LEAVE, NOW + 9) for _ in gone]


def test_several_leave_by_one_request_and_static_ones_by_their_instance() -> None:
    windows = group("a", "b", "c")
    windows.members.peers["b"].instance_id = "i"
    (left,) = lines(windows, leave(9, None, members=["a", "i", "x"]))

    assert (left.name, left.member_id, left.instance_id, left.time_us) == ("MemberLeft", "b", "i", NOW + 9)
    assert list(windows.members.gone) == ["a", "b"]


@pytest.mark.parametrize(("at", "gone"), [(HOLD_US, []), (HOLD_US + 1, ["a"])])
def test_a_leave_that_the_coordinator_tells_is_not_kept(at: int, gone: list[str]) -> None:
    windows = group("a", "b")
    windows.covered_at = NOW
    lines(windows, leave(at))

    assert list(windows.members.gone) == gone


def test_the_last_leave_empties_the_group() -> None:
    windows = group("a", "b")
    windows.members.session_us = 1

    assert steps(windows, leave(5), leave(9, "b")) == [("RebalanceStarted", 5, 4), ("GroupEmptied", 9, 5)]
    assert (windows.generation, windows.joined_at, windows.leader, windows.is_synced) == (5, NOW + 9, None, False)
    assert (windows.begins_midway, windows.members.peers, windows.calm_at, windows.noticed) == (False, {}, None, None)


@pytest.mark.parametrize(
    ("told", "empties"),
    [
        (("RebalanceStarted",), False),
        (("RebalanceStarted", "MemberFailed"), False),
        (("RebalanceStarted", "GenerationStarted"), True),
        (("MemberAdded",), True),
    ],
)
def test_a_coordinator_that_told_of_a_join_phase_tells_if_it_ends_empty(told: tuple[str, ...], empties: bool) -> None:
    """Those that wait in it log their request once it is answered."""
    windows = group("a")
    windows.members.session_us = 1
    for number, name in enumerate(told):
        windows.feed(line(name, NOW + number, generation=4), NOW + number)

    assert ("GroupEmptied" in [name for name, *_ in steps(windows, leave(HOLD_US + 9))]) is empties


def test_an_expiry_before_the_last_leave_is_told() -> None:
    windows = group("a", "b")
    windows.members.peers["b"].heard_at = NOW + 7 - SESSION_US
    windows.members.peers["b"].doubt_us = 5

    failed, started, emptied = lines(windows, leave(9))
    assert (failed.name, failed.member_id, failed.time_us - NOW, failed.fields["doubt_us"]) == ("MemberFailed", "b", 5, 2)
    assert (started.time_us - NOW, emptied.time_us - NOW) == (5, 9)


@pytest.mark.parametrize(
    ("event", "empties"),
    [
        (None, True),
        (beat(SESSION_US + 5, "a", code=27), False),
        (leave(5, "c"), False),
        (join(SESSION_US + 5, "d", None, error_code=16, total_ms=PARKED_MS, client_id="d"), False),
    ],
    ids=["calm", "a notice", "another left", "one waited in vain"],
)
def test_who_is_silent_while_the_group_rebalances_may_wait_for_its_end(event: Event | None, empties: bool) -> None:
    """Those that wait log their request once it is answered."""
    windows = group("a", "b", *(["c"] if event is not None and event.member_id == "c" else []))
    told = steps(windows, *filter(None, (event, leave(SESSION_US + 9))))

    assert ("GroupEmptied" in [name for name, *_ in told]) is empties


@pytest.mark.parametrize(("waited_ms", "heard_at"), [(PARKED_MS - 1, NOW), (PARKED_MS, NOW + 9)])
def test_a_sync_that_waited_and_was_refused_begins_its_session_anew(waited_ms: int, heard_at: int) -> None:
    windows = group("a")
    lines(windows, sync(9, code=27, total_ms=waited_ms))

    assert windows.members.peers["a"].heard_at == heard_at


@pytest.mark.parametrize(
    ("session_us", "at", "midway", "joined", "empties"),
    [
        (500, 499, True, True, False),
        (500, 500, True, True, True),
        (500, 501, True, True, True),
        (500, 500, False, True, False),
        (500, 500, True, False, False),
        (None, ASSUMED_SESSION_US - 1, True, True, False),
        (None, ASSUMED_SESSION_US, True, True, True),
    ],
)
def test_members_are_all_known_a_session_after_a_log_begins(
    session_us: int | None, at: int, midway: bool, joined: bool, empties: bool
) -> None:
    windows = group("a")
    windows.members.is_complete, windows.members.session_us, windows.begins_midway = False, session_us, midway
    windows.joined_at = NOW if joined else None

    assert bool(steps(windows, leave(at))) is empties


@pytest.mark.parametrize(("generation", "empties"), [(5, False), (6, True)])
def test_a_group_is_not_empty_if_somebody_joined_meanwhile(generation: int, empties: bool) -> None:
    windows = group("a")

    assert ("GroupEmptied" in [name for name, *_ in steps(windows, leave(5), join(9, "b", generation, members=["b"]))]) is empties


def test_the_group_was_empty_before_a_generation_that_skips_one() -> None:
    windows = group("a")
    windows.members.gone = {"a": RequestSign(NOW + 3, HEARD)}

    assert steps(windows, join(9, "b", 6, members=["b"])) == [
        ("RebalanceStarted", 3, 4),
        ("GroupEmptied", 3, 5),
        ("RebalanceStarted", 9, 5),
        ("GenerationStarted", 9, 6),
    ]


# -- the logs' end ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, ["MemberFailed", "RebalanceStarted", "GroupEmptied"]),
        ({"is_synced": False}, []),
        ({"is_modern": True}, []),
        ({"covered_at": 0}, []),
        ({"generation": None}, []),
    ],
)
def test_at_the_logs_end_silent_members_have_expired(change: dict[str, object], expected: list[str]) -> None:
    windows = group("a")
    for name, value in change.items():
        setattr(windows, name, value)

    assert [step.name for step in windows.finish(NOW + SESSION_US)] == expected


@pytest.mark.parametrize("sign", ["gone", "unanswered", "unheard", "noticed"])
def test_at_the_logs_end_a_rebalance_is_under_way(sign: str) -> None:
    windows = group("a", "b")
    shown = RequestSign(NOW + 3, HEARD)
    if sign == "gone":
        windows.members.gone = {"a": shown}
    elif sign == "noticed":
        windows.noticed = shown
    else:
        setattr(windows, sign, {"c": shown})

    assert windows.waiting_since == NOW + 3
    assert [(step.name, step.time_us - NOW, step.generation) for step in windows.finish(NOW + 9)] == [("RebalanceStarted", 3, 4)]
    windows.covered_at = 0
    assert windows.waiting_since is None
    assert list(windows.finish(NOW + 9)) == []


@pytest.mark.parametrize(
    ("api", "client_id", "covered", "waits"),
    [
        ("JOIN_GROUP", "c", None, True),
        ("LEAVE_GROUP", "c", None, False),
        ("JOIN_GROUP", None, None, False),
        ("JOIN_GROUP", "c", NOW, False),
        ("JOIN_GROUP", "c", NOW + 9 - HOLD_US - 1, True),
    ],
)
def test_a_join_waits_until_it_is_answered(api: str, client_id: str | None, covered: int | None, waits: bool) -> None:
    windows = group("a")
    windows.covered_at = covered
    came = request("JoinGroup", NOW + 9, api=api, client_id=client_id)
    came = line("RequestReceived", NOW + 9, came.witness, api=api, client_id=client_id)
    lines(windows, came)
    assert list(windows.unanswered) == (["c"] if waits else [])
    lines(windows, join(12, "a", 4, client_id="c"))
    assert windows.unanswered == {}


# -- other coordinators -----------------------------------------------------------------------------------------


def _parked(at: int, waited: int = PARKED_MS, member: str = "a") -> Event:
    return join(at, member, error_code=16, total_ms=waited)


@pytest.mark.parametrize(
    ("waited", "generation", "covered", "expected"),
    [
        (PARKED_MS, 4, None, [("RebalanceStarted", 900_000 - PARKED_US, 4), ("GroupUnloaded", 900_000, None)]),
        (PARKED_MS - 1, 4, None, []),
        (PARKED_MS, None, None, []),
        (PARKED_MS, 4, NOW, []),
    ],
)
def test_a_join_phase_ends_with_its_coordinator(
    waited: int, generation: int | None, covered: int | None, expected: list[tuple[str, int, int | None]]
) -> None:
    windows = group("a", "b")
    windows.generation, windows.covered_at = generation, covered
    windows.unheard = {"c": RequestSign(NOW + 950_000, HEARD)}

    assert steps(windows, _parked(900_000, waited)) == expected
    if expected:
        assert (windows.joined_at, windows.calm_at, windows.noticed, windows.unheard) == (NOW + 900_000, None, None, {})


def test_all_parked_joins_are_told_once_and_the_first_began_it() -> None:
    windows = group("a", "b")
    answers = steps(windows, _parked(900_000), _parked(901_000, PARKED_MS + 500, "b"), _parked(902_000, PARKED_MS - 1, "b"))

    assert answers == [("RebalanceStarted", 901_000 - PARKED_US - 500_000, 4), ("GroupUnloaded", 900_000, None)]


def _answer(at: int, broker: str, member: str = "a", code: int = 0, **values: object) -> Event:
    return beat(at, member, code, connection=f"{broker}:9092-10.0.0.9:5000-1", **values)


def test_the_next_coordinator_goes_on() -> None:
    windows = group("a", "b")
    assert steps(windows, _answer(100, "b1"), _answer(900, "b2", "b")) == []
    assert (windows.broker, windows.joined_at, windows.calm_at) == ("b2", NOW + 100, NOW + 900)
    assert windows.answered is not None
    assert windows.answered.at == NOW + 900
    assert (windows.members.peers["a"].heard_at, windows.members.peers["a"].doubt_us) == (NOW + 900, 800)


def test_the_same_coordinator_or_an_unknown_one_is_no_other() -> None:
    windows = group("a", "b")
    lines(windows, _answer(100, "b1"), _answer(900, "b1", "b"), beat(901, code=16, connection="b2:1-b:1-1"), beat(902))

    assert (windows.broker, windows.joined_at) == ("b1", NOW)


@pytest.mark.parametrize(("sign", "expected"), [("gone", 200), ("unheard", 200), ("noticed", 200), (None, None)])
def test_what_was_under_way_ends_with_its_coordinator(sign: str | None, expected: int | None) -> None:
    windows = group("a", "b")
    lines(windows, _answer(100, "b1"), _answer(300, "b1"))
    windows.calm_at = None
    shown = RequestSign(NOW + 200, HEARD)
    if sign == "gone":
        windows.members.gone = {"b": shown}
    elif sign == "unheard":
        windows.unheard = {"c": shown}
    elif sign == "noticed":
        windows.noticed = shown
    answers = steps(windows, _answer(900, "b2"))

    assert answers == ([("RebalanceStarted", 200, 4), ("GroupUnloaded", 300, None)] if expected else [])
    assert windows.joined_at == NOW + 300


@pytest.mark.parametrize(
    ("lost", "over"), [(250, 300), (350, 350), (901, 900)], ids=["answered since", "between", "behind the next answer"]
)
def test_a_coordinator_is_lost_when_members_say_so_between_its_answers_and_the_next_ones(lost: int, over: int) -> None:
    windows = group("a", "b")
    lines(windows, _answer(100, "b1"), _answer(300, "b1"))
    windows.members.gone = {"b": RequestSign(NOW + 200, HEARD)}
    windows.members.lost_at = {"a": NOW + lost}

    assert steps(windows, _answer(900, "b2")) == [("RebalanceStarted", 300, 4), ("GroupUnloaded", over, None)]
    assert windows.joined_at == NOW + over


@pytest.mark.parametrize(("handled", "broker"), [(299, "b1"), (300, "b2"), (301, "b2")])
def test_an_answer_before_the_last_one_of_another_broker_moves_nothing(handled: int, broker: str) -> None:
    windows = group("a", "b")
    lines(windows, _answer(300, "b1"))
    lines(windows, _answer(handled, "b2", "b"))

    assert windows.broker == broker


def test_a_move_that_the_coordinator_tells_begins_sessions_anew_and_is_not_told_again() -> None:
    windows = group("a")
    windows.covered_at = NOW
    lines(windows, _answer(100, "b1"), _answer(300, "b1"))
    windows.members.gone = {"b": RequestSign(NOW + 200, HEARD)}
    assert steps(windows, _answer(900, "b2")) == []
    assert (windows.broker, windows.joined_at, windows.members.gone) == ("b2", NOW + 300, {})


def test_a_move_without_a_generation_is_none() -> None:
    windows = RequestWindows(joined_at=NOW)
    lines(windows, leave(100, "a", connection="b1:1-b:1-1"), leave(900, "a", connection="b2:1-b:1-1"))
    assert (windows.broker, windows.joined_at) == ("b2", NOW)
