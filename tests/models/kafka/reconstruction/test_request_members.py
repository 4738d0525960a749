"""Members as requests show them, at the limits of their sessions."""

from __future__ import annotations

import pytest

from models.kafka.reconstruction import request_members
from models.kafka.reconstruction.request_members import ASSUMED_SESSION_US, Membership, Peer, RequestSign
from models.units import US_PER_MS
from tests.models.kafka.reconstruction.lines import request

NOW = 100_000_000
SESSION_MS = 10_000
SESSION_US = SESSION_MS * US_PER_MS
HEARD = request("Heartbeat", NOW, member_id="a")
SIGN = RequestSign(NOW, HEARD)


def _joined(member_id: str, session_ms: int | None = SESSION_MS, instance_id: str | None = None) -> Membership:
    membership = Membership()
    membership.admit(member_id, request("JoinGroup", NOW, member_id=member_id, session_timeout_ms=session_ms, instance_id=instance_id), NOW)
    return membership


def test_a_new_generation_has_who_was_answered_or_a_member_before() -> None:
    membership = _joined("a", instance_id="i")
    membership.gone = {"a": SIGN}
    answer = request("JoinGroup", NOW + 5, member_id="b", session_timeout_ms=20_000)

    membership.start(["a", "b", "c"], [answer, request("JoinGroup", NOW + 5)], NOW + 6, is_complete=True)

    assert list(membership.peers) == ["a", "b", "c"]
    assert membership.peers["a"] == Peer(membership.peers["a"].heard, NOW + 6, SESSION_US, "i")
    assert membership.peers["b"].session_us == 2 * SESSION_US
    assert membership.peers["c"].session_us is None
    assert membership.gone == {}
    assert membership.is_complete
    membership.start(["d"], [], NOW + 7, is_complete=False)
    assert membership.peers == {}
    assert not membership.is_complete


def test_a_static_member_takes_the_place_of_its_former_self_only() -> None:
    membership = _joined("a", instance_id="i")
    membership.admit("b", request("JoinGroup", NOW, member_id="b", instance_id="j", session_timeout_ms=SESSION_MS), NOW)
    membership.admit("c", request("JoinGroup", NOW, member_id="c", instance_id="i", session_timeout_ms=1_000), NOW)
    membership.admit("c", request("JoinGroup", NOW, member_id="c", instance_id="i", session_timeout_ms=None), NOW)

    assert sorted(membership.peers) == ["b", "c"]
    assert membership.session_us == SESSION_US, "the longest that a request named"


@pytest.mark.parametrize(
    ("taken_at", "instance", "has_expired"),
    [(-1, "i", False), (0, "i", False), (1, "i", True), (-1, "j", True), (-1, None, True)],
    ids=["before", "as it ended", "behind it", "another", "a dynamic member"],
)
def test_a_static_member_that_was_replaced_does_not_expire(taken_at: int, instance: str | None, has_expired: bool) -> None:
    expired = [("a", RequestSign(NOW + SESSION_US, HEARD))]
    arrival = RequestSign(NOW + SESSION_US + taken_at, request("JoinGroup", NOW, member_id="b", instance_id=instance))

    assert list(_joined("a", instance_id="i").without_replaced(expired, [arrival])) == (expired if has_expired else [])
    assert list(_joined("a").without_replaced(expired, [arrival])) == expired


def test_members_without_an_instance_replace_nobody() -> None:
    membership = _joined("a")
    membership.admit("b", request("JoinGroup", NOW, member_id="b"), NOW)

    assert sorted(membership.peers) == ["a", "b"]


@pytest.mark.parametrize(("at", "heard_at", "doubt_us"), [(NOW - 1, NOW, 7), (NOW, NOW, 0), (NOW + 1, NOW + 1, 0)])
def test_a_later_request_ends_the_doubt(at: int, heard_at: int, doubt_us: int) -> None:
    membership = _joined("a")
    membership.peers["a"].doubt_us = 7

    membership.hear(request("Heartbeat", at, member_id="a"), at)

    assert (membership.peers["a"].heard_at, membership.peers["a"].doubt_us) == (heard_at, doubt_us)


def test_who_is_heard_is_a_member_if_it_has_an_id() -> None:
    membership = Membership()
    membership.hear(request("Heartbeat", NOW), NOW)
    membership.hear(request("Heartbeat", NOW, member_id="a", instance_id="i"), NOW)

    assert membership.peers == {"a": Peer(membership.peers["a"].heard, NOW, None, "i")}


def test_ids_are_handed_out_until_used_or_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_members, "HANDED_OUT_MAX", 2)
    membership = Membership()
    membership.hand_out(request("JoinGroup", NOW, session_timeout_ms=SESSION_MS), NOW)
    assert membership.handed_out == {}
    for member in ("a", "b"):
        membership.hand_out(request("JoinGroup", NOW, member_id=member, session_timeout_ms=SESSION_MS), NOW)
    assert sorted(membership.handed_out) == ["a", "b"]
    assert membership.handed_out["a"].session_us == SESSION_US
    membership.hand_out(request("JoinGroup", NOW, member_id="c"), NOW)

    assert sorted(membership.handed_out) == ["b", "c"]
    assert membership.handed_out["c"].session_us is None
    membership.admit("b", request("JoinGroup", NOW, member_id="b"), NOW)
    assert membership.leave("c", SIGN) is None
    assert membership.handed_out == {}


@pytest.mark.parametrize(
    ("who", "member"), [("a", "a"), ("i", "a"), ("b", None), ("", None)], ids=["member id", "instance id", "stranger", "nobody"]
)
def test_a_member_leaves_by_either_name_once(who: str, member: str | None) -> None:
    membership = _joined("a", instance_id="i")
    membership.peers["b2"] = Peer(HEARD, NOW, None, "")

    assert membership.leave(who, SIGN) == member
    assert list(membership.gone) == ([member] if member else [])
    assert membership.leave(who, SIGN) is None


@pytest.mark.parametrize(
    ("own", "longest", "expected"), [(5, 7, 5), (None, 7, 7), (None, None, ASSUMED_SESSION_US)], ids=["own", "others'", "assumed"]
)
def test_a_session_is_its_own_or_the_longest_or_assumed(own: int | None, longest: int | None, expected: int) -> None:
    assert Membership(session_us=longest).deadline(Peer(HEARD, NOW, own)) == NOW + expected


@pytest.mark.parametrize(
    ("earliest", "latest", "heard_at", "doubt_us"),
    [
        (NOW - 9, NOW, NOW, 0),
        (NOW - 9, NOW + 1, NOW + 1, 1),
        (NOW + 3, NOW + 10, NOW + 10, 7),
        (NOW - 3, NOW + 10, NOW + 10, 10),
    ],
)
def test_sessions_begin_anew_at_another_coordinator(earliest: int, latest: int, heard_at: int, doubt_us: int) -> None:
    membership = _joined("a")
    membership.gone = {"a": SIGN}

    membership.begin_anew(earliest, latest)

    assert membership.gone == {}
    assert (membership.peers["a"].heard_at, membership.peers["a"].doubt_us) == (heard_at, doubt_us)


@pytest.mark.parametrize(
    ("lost", "values", "begins"),
    [
        ({"a": 5, "b": 6}, {}, True),
        ({"a": 5}, {}, False),
        ({"a": 5, "c": 6}, {}, False),
        ({"a": 5, "b": -1}, {}, False),
        ({"a": 5, "b": SESSION_US}, {}, False),
        ({"a": 5, "b": SESSION_US - 1}, {}, True),
        ({"a": 5, "b": 2 * SESSION_US - 9}, {}, False),
        ({"a": 5, "b": 6}, {"gone": {"a": SIGN}}, False),
        ({"a": 5, "b": 6}, {"peers": {}}, False),
    ],
    ids=["all", "some", "another", "before the last answer", "as the session ends", "just before", "behind it", "one had left", "nobody"],
)
def test_sessions_begin_anew_once_all_members_have_lost_their_coordinator(
    lost: dict[str, int], values: dict[str, object], begins: bool
) -> None:
    """One that can't be reached is given up as the session ends; then it has ended."""
    membership, by = Membership(), NOW + 2 * SESSION_US - 10
    for name in ("a", "b"):
        membership.admit(name, request("JoinGroup", NOW, member_id=name, client_id=name, session_timeout_ms=SESSION_MS), NOW)
    for name, after in lost.items():
        membership.lose(name, NOW + after)
    for name, value in values.items():
        setattr(membership, name, value)

    membership.begin_anew_if_lost(by)

    doubts = {(peer.heard_at - NOW, peer.doubt_us) for peer in membership.peers.values()}
    assert doubts == ({(by - NOW, by - NOW - 5)} if begins else {(0, 0)} if membership.peers else set())


def _with_static() -> Membership:
    """Static member a, and b."""
    membership = _joined("b")
    membership.peers["a"] = Peer(HEARD, NOW, SESSION_US, "i")
    return membership


@pytest.mark.parametrize(("instance", "at", "heard_at"), [("i", 9, 9), ("i", 0, 0), ("i", -1, 0), ("j", 9, 0), (None, 9, 0)])
def test_a_static_member_that_came_back_in_vain_has_a_new_session(instance: str | None, at: int, heard_at: int) -> None:
    membership = _with_static()
    membership.peers["a"].doubt_us = 5
    event = request("JoinGroup", NOW + at, instance_id=instance)

    membership.keep(instance, event, NOW + at)

    kept = membership.peers["a"]
    assert (kept.heard_at - NOW, kept.doubt_us == 0) == (heard_at, instance == "i" and at >= 0)
    assert membership.peers["b"].heard_at == NOW


def test_static_members_that_come_back_begin_nothing_unless_nobody_else_came() -> None:
    membership = _with_static()
    back = RequestSign(NOW, request("JoinGroup", NOW, member_id="a2", instance_id="i"))
    rejoins = RequestSign(NOW + 1, request("JoinGroup", NOW, member_id="a", instance_id="i"))
    other = RequestSign(NOW + 2, request("JoinGroup", NOW, member_id="c"))

    assert membership.without_returns([back, other]) == [other]
    assert membership.without_returns([back, rejoins]) == [rejoins], "it asks under its own id"
    assert membership.without_returns([back]) == [back]
    new = RequestSign(NOW + 3, request("JoinGroup", NOW, member_id="d", instance_id="j"))
    assert membership.without_returns([back, new]) == [new]


def test_who_is_missing_was_not_replaced_by_its_own_instance() -> None:
    membership = _with_static()
    back = RequestSign(NOW, request("JoinGroup", NOW, member_id="a2", instance_id="i"))

    assert membership.missing({"b"}, []) == ["a"]
    assert membership.missing({"b"}, [back]) == []
    assert membership.missing(set(), [back]) == ["b"]


def test_a_client_that_is_heard_has_its_coordinator_again() -> None:
    membership = _joined("a")
    membership.lose("a", NOW + 1)
    membership.lose("a", NOW + 2)
    membership.lose(None, NOW)
    assert membership.lost_at == {"a": NOW + 1}

    membership.hear(request("Heartbeat", NOW + 3, member_id="a", client_id="a"), NOW + 3)

    assert membership.lost_at == {}


@pytest.mark.parametrize(("after", "is_over"), [(SESSION_US - 1, False), (SESSION_US, True), (SESSION_US + 1, True)])
def test_sessions_run_out_at_their_deadline(after: int, is_over: bool) -> None:
    membership = _joined("a")
    membership.is_complete = True
    membership.hand_out(request("JoinGroup", NOW, member_id="b", session_timeout_ms=SESSION_MS), NOW)

    assert [(member, sign.at, sign.doubt_us) for member, sign in membership.silent(NOW + after)] == (
        [("a", NOW + SESSION_US, 0)] if is_over else []
    )
    assert [(member, sign.at) for member, sign in membership.unused(NOW + after)] == ([("b", NOW + SESSION_US)] if is_over else [])
    assert membership.has_ended(NOW + after) is is_over
    membership.gone = {"a": SIGN}
    assert list(membership.silent(NOW + after)) == []


@pytest.mark.parametrize(("after", "signs"), [(-6, []), (-5, [(-5, 0)]), (-1, [(-1, 4)]), (0, [(0, 5)]), (9, [(0, 5)])])
def test_a_session_in_doubt_may_have_run_out_earlier(after: int, signs: list[tuple[int, int]]) -> None:
    membership = _joined("a")
    membership.peers["a"].doubt_us = 5
    over = NOW + SESSION_US

    assert [(sign.at - over, sign.doubt_us) for _, sign in membership.silent(over + after)] == signs


@pytest.mark.parametrize(("after", "may", "surely"), [(-6, False, False), (-5, True, False), (-1, True, False), (0, True, True)])
def test_a_group_surely_has_ended_once_no_session_is_in_doubt(after: int, may: bool, surely: bool) -> None:
    membership = _joined("a")
    membership.is_complete, membership.peers["a"].doubt_us = True, 5
    over = NOW + SESSION_US

    assert (membership.has_ended(over + after), membership.has_ended(over + after, is_sure=True)) == (may, surely)
    assert not membership.has_ended(over + after, is_sure=True, is_rebalancing=True), "it may wait for the end of the join phase"
    assert membership.has_ended(over + after, is_rebalancing=True) is may
    membership.gone = {"a": SIGN}
    assert membership.has_ended(over + after, is_sure=True, is_rebalancing=True)


def test_a_group_has_ended_if_all_are_known_and_gone_and_nobody_joins() -> None:
    membership = _joined("a")
    membership.admit("b", request("JoinGroup", NOW, member_id="b", session_timeout_ms=SESSION_MS), NOW)
    membership.gone = {"a": SIGN}
    assert not membership.has_ended(NOW), "some may be missing"
    membership.is_complete = True
    assert not membership.has_ended(NOW), "b is there"
    membership.gone["b"] = SIGN
    assert membership.has_ended(NOW)
    membership.hand_out(request("JoinGroup", NOW, member_id="c", session_timeout_ms=SESSION_MS), NOW)
    assert not membership.has_ended(NOW), "c is joining"
    assert membership.has_ended(NOW + SESSION_US)
    membership.empty()
    assert not membership.has_ended(NOW + SESSION_US), "nobody was there"
    assert membership.is_complete
