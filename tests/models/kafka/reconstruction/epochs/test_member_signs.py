"""Signs of members in clients' lines and requests: each part of a rule alone."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.events import Event, Witness
from models.kafka.reconstruction.epochs.member_signs import (
    ROUND_TRIP_US,
    SILENCES_MAX,
    SILENT_US,
    EpochPeer,
    EpochSign,
    SignKind,
    group_type_of,
    signs_in,
    step_by,
)
from models.units import US_PER_MS
from tests.models.kafka.reconstruction.lines import client, request

NOW = 100_000_000


def _kinds(signs: list[EpochSign]) -> list[tuple[str, int | None]]:
    return [(sign.kind.value, sign.epoch) for sign in signs]


# -- silences ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "silences"), [(SILENT_US - 1, 0), (SILENT_US, 1), (SILENT_US + 1, 1)])
def test_a_silence_has_a_least_length(after: int, silences: int) -> None:
    peer = EpochPeer(heard_at=NOW)
    peer.hear(NOW + after, NOW + after + 5)

    assert peer.silences == [(NOW, NOW + after)] * silences
    assert peer.heard_at == NOW + after + 5
    peer.hear(NOW, NOW)
    assert peer.heard_at == NOW + after + 5


def test_who_was_never_heard_was_not_silent_before() -> None:
    peer = EpochPeer()
    peer.hear(NOW, NOW)

    assert peer.silences == []


def test_the_last_silences_are_remembered() -> None:
    peer = EpochPeer(heard_at=1)
    for turn in range(1, SILENCES_MAX + 3):
        peer.hear(turn * SILENT_US + 1, turn * SILENT_US + 1)
        assert len(peer.silences) == min(turn, SILENCES_MAX)

    assert peer.silences[-1] == ((SILENCES_MAX + 1) * SILENT_US + 1, (SILENCES_MAX + 2) * SILENT_US + 1)


@pytest.mark.parametrize(
    ("at", "expected"),
    [
        (NOW + SILENT_US - 1, False),
        (NOW + SILENT_US, True),
        (NOW + 2 * SILENT_US - 1, True),
        (NOW + 2 * SILENT_US, False),
        (NOW + 3 * SILENT_US - 1, False),
        (NOW + 3 * SILENT_US, True),
        (NOW + 9 * SILENT_US, True),
    ],
)
def test_a_member_is_silent_from_a_limit_until_it_is_heard(at: int, expected: bool) -> None:
    peer = EpochPeer(heard_at=NOW)
    peer.hear(NOW + 2 * SILENT_US, NOW + 2 * SILENT_US)

    assert peer.is_silent(at) is expected


# -- clients' states -------------------------------------------------------------------------------------------


def _state(before: str, after: str, epoch: int, at: int = NOW, member_id: str | None = "m") -> Event:
    return client("MemberState", at, from_state=before, to_state=after, member_epoch=epoch, client_id="c", member_id=member_id)


KEY = "client.log c"


@pytest.mark.parametrize(
    ("before", "after", "epoch", "expected"),
    [
        ("UNSUBSCRIBED", "JOINING", 0, []),
        ("JOINING", "RECONCILING", 3, [("joined", 3)]),
        ("JOINING", "STABLE", 1, [("joined", 1)]),
        ("JOINING", "RECONCILING", 0, []),
        ("JOINING", "FENCED", 3, [("fenced", None)]),
        ("STABLE", "FENCED", 3, [("reached", 3), ("fenced", None)]),  # its log begins with its removal
        ("STABLE", "LEAVING", -1, [("left", -1)]),
        ("STABLE", "LEAVING", -2, [("away", -2)]),
        ("STABLE", "LEAVING", 3, []),
        ("LEAVING", "UNSUBSCRIBED", -1, []),
        ("LEAVING", "STALE", 3, [("reached", 3)]),
        ("STABLE", "STALE", -1, [("left", -1)]),
        ("STABLE", "RECONCILING", 4, [("reached", 4), ("turned", 4)]),
        ("ACKNOWLEDGING", "RECONCILING", 4, [("reached", 4)]),
        ("RECONCILING", "STABLE", 4, [("reached", 4)]),
        ("RECONCILING", "STABLE", 1, [("reached", 1)]),
        ("RECONCILING", "ACKNOWLEDGING", 0, []),
        ("STABLE", "RECONCILING", 0, [("turned", 0)]),
    ],
)
def test_a_change_of_state_is_a_sign(before: str, after: str, epoch: int, expected: list[tuple[str, int | None]]) -> None:
    peers: dict[str, EpochPeer] = {}
    signs = signs_in(_state(before, after, epoch), NOW, peers)

    assert _kinds(signs) == expected
    assert {(sign.peer, sign.member_id, sign.at) for sign in signs} <= {(KEY, "m", NOW)}
    assert (peers[KEY].member_id, peers[KEY].client_id, peers[KEY].heard_at) == ("m", "c", NOW)
    assert peers[KEY].is_stuck is (after == "RECONCILING")


def test_a_member_keeps_its_id_and_its_highest_epoch() -> None:
    peers: dict[str, EpochPeer] = {}
    signs_in(_state("RECONCILING", "STABLE", 5), NOW, peers)
    signs_in(_state("STABLE", "ACKNOWLEDGING", 4, member_id=None), NOW - 1, peers)

    assert (peers[KEY].member_id, peers[KEY].epoch, peers[KEY].heard_at) == ("m", 5, NOW)
    signs_in(replace(_state("STABLE", "STABLE", 6, member_id="n"), instance_id="i"), NOW, peers)
    assert (peers[KEY].member_id, peers[KEY].instance_id) == ("n", "i")


@pytest.mark.parametrize(("after", "at"), [(ROUND_TRIP_US - 1, 0), (ROUND_TRIP_US, 0), (ROUND_TRIP_US + 1, 1)])
def test_a_join_came_when_it_was_asked_for_or_a_round_trip_before(after: int, at: int) -> None:
    peers: dict[str, EpochPeer] = {}
    signs_in(_state("UNSUBSCRIBED", "JOINING", 0), NOW, peers)
    joined, *_ = signs_in(_state("JOINING", "STABLE", 3), NOW + after, peers)

    assert joined.at == NOW + at
    assert (peers[KEY].asked_at, peers[KEY].epoch) == (None, 3)


@pytest.mark.parametrize(("before", "epoch"), [("RECONCILING", 4), ("STABLE", None)], ids=["stuck", "calm"])
def test_who_is_fenced_was_stuck_in_an_epoch_if_it_reconciled(before: str, epoch: int | None) -> None:
    peers: dict[str, EpochPeer] = {}
    signs_in(_state("STABLE", before, 4), NOW, peers)

    assert _kinds(signs_in(_state(before, "FENCED", 4), NOW, peers)) == [("fenced", epoch)]


def test_a_classic_member_that_speaks_the_other_protocol_is_another_one() -> None:
    peers = {KEY: EpochPeer("m", epoch=9, is_classic=True), "other": EpochPeer("n", epoch=9)}
    signs_in(_state("STABLE", "ACKNOWLEDGING", 2), NOW, peers)

    assert (peers[KEY].epoch, peers[KEY].is_classic) == (2, False)
    peers = {KEY: EpochPeer("m", epoch=9)}
    signs_in(_state("STABLE", "ACKNOWLEDGING", 2), NOW, peers)
    assert peers[KEY].epoch == 9


# -- epochs that clients send ------------------------------------------------------------------------------------


def _sent(epoch: int | None) -> Event:
    return client("EpochSent", NOW, member_epoch=epoch, client_id="c", member_id="m")


@pytest.mark.parametrize(
    ("epoch", "known", "asked_at", "expected", "after"),
    [
        (None, 3, None, [], 3),
        (-1, 3, None, [("left", None)], 3),
        (-2, 3, None, [("away", None)], 3),
        (0, 3, None, [], 0),
        (4, 3, None, [("reached", 4)], 4),
        (3, 3, None, [], 3),
        (2, 3, None, [], 2),
        (4, 0, NOW - 7, [("joined", 4)], 4),
        (1, 0, None, [("reached", 1)], 1),
    ],
)
def test_an_epoch_that_is_sent_was_given_before(
    epoch: int | None, known: int, asked_at: int | None, expected: list[tuple[str, int | None]], after: int
) -> None:
    peers = {KEY: EpochPeer(epoch=known, asked_at=asked_at)}
    signs = signs_in(_sent(epoch), NOW, peers)

    assert _kinds(signs) == expected
    assert [sign.at for sign in signs if sign.kind is SignKind.JOINED] == ([asked_at] if asked_at else [])
    assert (peers[KEY].epoch, peers[KEY].member_id, peers[KEY].heard_at) == (after, "m", NOW)
    assert peers[KEY].asked_at == (NOW if epoch == 0 else None)


# -- partitions, and lines of other kinds ----------------------------------------------------------------------------


def test_partitions_of_known_clients_are_signs() -> None:
    taken, given = client("Assigned", NOW, client_id="c", partitions=["t-0"]), client("Revoked", NOW, client_id="c", partitions=["t-0"])
    peers = {KEY: EpochPeer("m")}

    assert _kinds(signs_in(taken, NOW, peers)) == [("took", None)]
    assert _kinds(signs_in(given, NOW, peers)) == [("gave", None)]
    assert signs_in(client("Assigned", NOW, client_id="c", partitions=[]), NOW, peers) == []
    assert signs_in(taken, NOW, {}) == []
    assert signs_in(client("Closed", NOW, client_id="c"), NOW, peers) == []


@pytest.mark.parametrize(
    ("name", "is_classic", "epoch", "expected"),
    [
        ("LeaveSent", True, 1, [("left", None)]),
        ("LeaveSent", True, 0, []),
        ("LeaveSent", False, 1, []),
        ("HeartbeatFailed", True, 1, [("fenced", None)]),
        ("GenerationReset", True, 1, [("fenced", None)]),
    ],
)
def test_a_classic_member_ends_once(name: str, is_classic: bool, epoch: int, expected: list[tuple[str, int | None]]) -> None:
    peers = {KEY: EpochPeer("m", epoch=epoch, is_classic=is_classic)}
    signs = signs_in(client(name, NOW, client_id="c"), NOW, peers)

    assert _kinds(signs) == expected
    assert all(sign.is_classic for sign in signs)
    assert signs_in(client(name, NOW, client_id="c"), NOW, peers) == []


@pytest.mark.parametrize(
    ("known", "generation", "expected"),
    [
        (None, 4, [("joined", 4)]),
        (None, 1, [("joined", 1)]),
        (None, 0, []),
        (None, -1, []),
        (None, None, []),
        (EpochPeer("m", epoch=4, is_classic=True), 4, []),
        (EpochPeer("m", epoch=4, is_classic=True), 5, [("reached", 5)]),
        (EpochPeer("m", epoch=4, is_classic=True), 3, []),
        (EpochPeer("m", epoch=4), 4, [("joined", 4)]),
        (EpochPeer("m", epoch=0, is_classic=True), 4, [("joined", 4)]),
    ],
)
def test_a_classic_member_joins_or_goes_on(known: EpochPeer | None, generation: int | None, expected: list[tuple[str, int | None]]) -> None:
    peers = {KEY: replace(known, asked_at=5, is_stuck=True)} if known else {}
    signs = signs_in(client("Joined", NOW, client_id="c", generation=generation), NOW, peers)

    assert _kinds(signs) == expected
    assert all(sign.is_classic for sign in signs)
    if expected:
        peer = peers[KEY]
        assert (peer.is_classic, peer.epoch, peer.is_stuck, peer.asked_at) == (True, generation, False, None)
        assert (peer.heard_at, peer.member_id) == (NOW, known.member_id if known else None)


# -- requests ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "key", "expected"), [(0, "m", [("joined", 4)]), (None, "m", [("joined", 4)]), (27, "m", []), (0, None, [])]
)
def test_an_answered_join_is_a_sign(code: int | None, key: str | None, expected: list[tuple[str, int | None]]) -> None:
    peers: dict[str, EpochPeer] = {}
    event = request("JoinGroup", NOW, member_id=key, error_code=code, response_generation=4, total_ms=3)
    signs = signs_in(event, NOW, peers)

    assert _kinds(signs) == expected
    assert [sign.at for sign in signs] == [NOW - 3 * US_PER_MS for _ in expected]
    if expected:
        assert (peers["m"].is_classic, peers["m"].by_requests, peers["m"].member_id) == (True, True, "m")


@pytest.mark.parametrize(
    ("code", "members", "expected"),
    [(0, None, ["m"]), (None, None, ["m"]), (25, None, []), (0, ["n", "m", "x"], ["n", "m"]), (0, ["x"], [])],
)
def test_an_answered_leave_names_members(code: int | None, members: list[str] | None, expected: list[str]) -> None:
    peers = {name: EpochPeer(name, epoch=3, is_classic=True) for name in ("m", "n")}
    signs = signs_in(request("LeaveGroup", NOW, member_id="m", error_code=code, members=members), NOW, peers)

    assert [sign.peer for sign in signs] == expected
    assert {sign.kind for sign in signs} <= {SignKind.LEFT}


def test_a_leave_of_a_stranger_is_no_sign() -> None:
    assert signs_in(request("LeaveGroup", NOW, member_id="m", error_code=0), NOW, {}) == []


@pytest.mark.parametrize(("code", "expected"), [(0, []), (25, [("fenced", None)]), (27, [])])
@pytest.mark.parametrize(("last", "heard_at"), [(None, NOW), (NOW + 9, NOW + 9)])
def test_a_classic_heartbeat_is_heard(code: int, expected: list[tuple[str, int | None]], last: int | None, heard_at: int) -> None:
    peers = {"m": EpochPeer("m", epoch=3, is_classic=True)}
    event = request("Heartbeat", NOW, member_id="m", error_code=code, last_at_us=last)

    assert _kinds(signs_in(event, NOW, peers)) == expected
    assert peers["m"].heard_at == heard_at
    assert signs_in(event, NOW, {}) == []


def test_other_requests_are_no_signs() -> None:
    assert signs_in(request("SyncGroup", NOW, member_id="m"), NOW, {"m": EpochPeer("m")}) == []


def _beat(**values: object) -> Event:
    return request("ConsumerGroupHeartbeat", NOW, **{"member_id": "m", "error_code": 0, "member_epoch": 3, "response_epoch": 3} | values)


@pytest.mark.parametrize(
    ("known", "values", "expected"),
    [
        (EpochPeer("m", epoch=3), {}, []),
        (EpochPeer("m", epoch=3), {"error_code": None}, []),
        (EpochPeer("m", epoch=3), {"response_epoch": 4}, [("reached", 4)]),
        (EpochPeer("m", epoch=3), {"response_epoch": 2}, []),
        (EpochPeer("m", epoch=3), {"member_epoch": 0}, [("joined", 3)]),
        (EpochPeer("m", epoch=3), {"member_epoch": None}, []),
        (EpochPeer("m", epoch=3), {"member_epoch": -1}, [("left", None)]),
        (EpochPeer("m", epoch=3), {"member_epoch": -2}, [("away", None)]),
        (EpochPeer("m", epoch=3), {"error_code": 25}, [("fenced", 3)]),
        (EpochPeer("m", epoch=3), {"error_code": 110}, [("fenced", 3)]),
        (EpochPeer("m", epoch=0), {"error_code": 110}, [("fenced", None)]),
        (EpochPeer("m", epoch=3), {"error_code": 16, "response_epoch": 4}, []),
        (EpochPeer("m", epoch=3, topics=("a",)), {"topics": ["b"]}, [("subscribed", 3)]),
        (EpochPeer("m", epoch=3, topics=("a", "b")), {"topics": ["b", "a"]}, []),
        (EpochPeer("m", epoch=3), {"topics": ["b"]}, []),
        (EpochPeer("m", epoch=3, topics=("a",)), {"topics": []}, []),
        (EpochPeer("m", epoch=3), {"member_id": None}, []),
    ],
)
def test_a_heartbeat_is_a_sign_if_something_changes(
    known: EpochPeer, values: dict[str, object], expected: list[tuple[str, int | None]]
) -> None:
    signs = signs_in(_beat(**values), NOW, {"m": replace(known)})

    assert _kinds(signs) == expected
    assert {sign.heard_before for sign in signs} <= {None}


def test_a_fenced_stranger_tells_no_epoch() -> None:
    assert _kinds(signs_in(_beat(error_code=25), NOW, {})) == [("fenced", None)]
    peers = {"m": EpochPeer("m", epoch=2, heard_at=NOW - 5)}
    assert [sign.heard_before for sign in signs_in(_beat(error_code=25), NOW, peers)] == [NOW - 5]


def test_a_heartbeat_keeps_what_its_member_has() -> None:
    peers = {"m": EpochPeer("m", epoch=1, heard_at=NOW - 5, instance_id="i", topics=("a",))}
    (sign,) = signs_in(_beat(response_epoch=-5, member_epoch=0, client_id="c"), NOW, peers)

    assert (sign.heard_before, sign.epoch, peers["m"].epoch) == (NOW - 5, -5, 0)
    assert (peers["m"].client_id, peers["m"].instance_id, peers["m"].topics) == ("c", "i", ("a",))
    peers = {}
    assert _kinds(signs_in(_beat(), NOW, peers)) == [("reached", 3)]
    assert peers["m"].by_requests
    assert not peers["m"].is_classic


@pytest.mark.parametrize(
    ("count", "last", "interval"), [(1, NOW + 30, None), (2, NOW + 30, 30), (4, NOW + 30, 10), (None, NOW + 30, None), (4, None, None)]
)
def test_a_run_of_heartbeats_shows_their_interval(count: int | None, last: int | None, interval: int | None) -> None:
    peers = {"m": EpochPeer("m", epoch=3)}
    signs_in(_beat(count=count, last_at_us=last), NOW, peers)

    assert peers["m"].interval_us == interval
    assert peers["m"].heard_at == (last or NOW)


@pytest.mark.parametrize(
    ("before", "state", "had", "answer", "gets", "keeps"),
    [
        ("missing", "ready", False, 4, True, False),
        ("missing", "ready", False, 3, None, True),
        (None, "ready", False, 4, False, False),
        ("ready", "ready", False, 4, False, False),
        ("missing", None, False, 4, False, False),
        ("missing", "missing", False, 4, False, False),
        ("ready", None, True, 4, True, False),
        ("ready", None, True, 3, None, True),
    ],
)
def test_the_first_epoch_after_all_topics_exist_is_for_them(
    before: str | None, state: str | None, had: bool, answer: int, gets: bool | None, keeps: bool
) -> None:
    peers = {"m": EpochPeer("m", epoch=3, topology_state=before, gets_topics=had)}
    signs = signs_in(_beat(response_epoch=answer, topology_state=state), NOW, peers)

    assert [sign.gets_topics for sign in signs] == ([] if gets is None else [gets])
    assert peers["m"].gets_topics is keeps
    assert peers["m"].topology_state == (state or before)


# -- types of groups ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        (request("ShareGroupHeartbeat", NOW), "share"),
        (request("StreamsGroupHeartbeat", NOW), "streams"),
        (request("ConsumerGroupHeartbeat", NOW), "consumer"),
        (client("MemberState", NOW, text="[ShareConsumer clientId=c]"), "share"),
        (client("MemberState", NOW, text="StreamsMembershipManager"), "streams"),
        (client("MemberState", NOW, text="ConsumerMembershipManager"), "consumer"),
    ],
)
def test_a_group_has_the_type_of_its_members(event: Event, kind: str) -> None:
    assert group_type_of(event) == kind
    step = step_by("GroupEpochBumped", EpochSign(SignKind.JOINED, NOW, event, "p", "m"), NOW + 1, generation=3, fields={"why": "x"})
    assert (step.name, step.at_us, step.generation, dict(step.fields)) == ("GroupEpochBumped", NOW + 1, 3, {"why": "x", "group_type": kind})
    assert step.witness in {Witness.CLIENT, Witness.REQUEST}
