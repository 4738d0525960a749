"""Epochs that no coordinator tells: each condition alone, and each limit met exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.events import Event, Witness
from models.kafka.reconstruction.epochs import unlogged_epochs
from models.kafka.reconstruction.epochs.member_signs import ROUND_TRIP_US, SILENT_US, EpochPeer, EpochSign, SignKind
from models.kafka.reconstruction.epochs.unlogged_epochs import (
    ALIVE_BEATS,
    ALIVE_US,
    FOLLOWS_US,
    GIVEN,
    NEW_PARTITIONS,
    NOTHING,
    NOTICED,
    REQUESTS,
    STUCK,
    TAKEN,
    TOPICS_EXIST,
    UNHEARD,
    WAIT_US,
    EpochTurn,
    UnloggedEpochs,
)
from models.units import FOREVER
from tests.models.kafka.reconstruction.lines import client, line, request

NOW = 1_000_000_000
Step = tuple[str, int, int | None, str | None]


def group(*members: str, epoch: int | None = 4) -> UnloggedEpochs:
    """A group at an epoch, with members whose ids are in capitals."""
    epochs = UnloggedEpochs(epoch, NOW)
    epochs.members = {member: member.upper() for member in members}
    epochs.peers = {member: EpochPeer(member.upper(), "c", heard_at=NOW) for member in members}
    epochs.consumers = dict.fromkeys(members)
    return epochs


def sign(kind: SignKind, at: int, peer: str = "a", epoch: int | None = None, event: Event | None = None, **values: object) -> EpochSign:
    event = event or client("MemberState", NOW + at, client_id=peer)
    return EpochSign(kind, NOW + at, event, peer, peer.upper(), epoch, **values)  # type: ignore[arg-type]


def moved(kind: SignKind, at: int, peer: str, *partitions: str) -> EpochSign:
    return sign(kind, at, peer, event=client("Assigned", NOW + at, client_id=peer, partitions=list(partitions)))


def steps(epochs: UnloggedEpochs, *signs: EpochSign) -> list[Step]:
    """Steps that follow from signs: name, time after `NOW`, generation, member."""
    return [(step.name, step.time_us - NOW, step.generation, step.member_id) for step in lines(epochs, *signs)]


def lines(epochs: UnloggedEpochs, *signs: EpochSign) -> list[Event]:
    epochs.signs.extend(signs)
    return list(epochs.until(FOREVER))


def shown_by(answers: list[Event]) -> list[object]:
    return [step.fields["shown_by"] for step in answers if "shown_by" in step.fields]


def why(answers: list[Event]) -> list[tuple[str | None, object]]:
    return [(step.member_id, step.fields["why"]) for step in answers if step.name == "ModernMemberFenced"]


# -- waiting, and the coordinator's lines ------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "read"), [(WAIT_US, False), (WAIT_US + 1, True)])
def test_a_sign_waits_before_it_is_read(after: int, read: bool) -> None:
    epochs = group("a")
    epochs.signs.append(sign(SignKind.REACHED, 0, epoch=6))

    assert bool(list(epochs.until(NOW + after))) is read
    assert epochs.waiting_since == (None if read else NOW)


def test_too_many_signs_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlogged_epochs, "SIGNS_HELD_MAX", 2)
    epochs = group("a")
    epochs.signs.extend([sign(SignKind.REACHED, 0, epoch=4)] * 2)
    list(epochs.until(0))
    assert len(epochs.signs) == 2
    epochs.signs.append(sign(SignKind.REACHED, 0, epoch=4))
    list(epochs.until(0))
    assert len(epochs.signs) == 2


@pytest.mark.parametrize(
    ("name", "generation", "told_from", "epoch"),
    [
        ("GroupEpochBumped", 7, NOW + 5, 7),
        ("ModernMemberMoved", None, NOW + 5, 4),
        ("GenerationStarted", 7, None, 4),
    ],
)
def test_the_coordinator_tells_where_the_group_is(name: str, generation: int | None, told_from: int | None, epoch: int) -> None:
    epochs = group("a")
    epochs.turn = EpochTurn(sign(SignKind.TURNED, 0), NOTHING, [])
    epochs.feed(line(name, NOW + 5, generation=generation), NOW + 5)
    epochs.feed(line(name, NOW + 6, generation=generation), NOW + 6)

    assert (epochs.told_from, epochs.epoch, epochs.turn is None) == (told_from, epoch, epoch == 7)
    assert epochs.epoch_at == (NOW + 6 if epoch == 7 else NOW)


@pytest.mark.parametrize(("at", "logged"), [(-ROUND_TRIP_US - 1, False), (-ROUND_TRIP_US, True), (1 - ROUND_TRIP_US, True)])
def test_what_the_coordinator_tells_is_not_told_again(at: int, logged: bool) -> None:
    epochs = group("a")
    epochs.told_from = NOW
    epochs.signs.append(sign(SignKind.LEFT, at))
    assert epochs.waiting_since == (None if logged else NOW + at)

    assert bool(steps(epochs)) is not logged
    assert "a" not in epochs.members


@pytest.mark.parametrize(
    ("kind", "epoch", "known", "goes_on"),
    [
        (SignKind.JOINED, 5, 4, True),
        (SignKind.JOINED, 4, 4, False),
        (SignKind.JOINED, 3, 4, False),
        (SignKind.JOINED, None, 4, False),
        (SignKind.JOINED, 1, 0, True),
        (SignKind.JOINED, None, 0, False),
        (SignKind.JOINED, 5, None, False),
        (SignKind.REACHED, 5, 4, False),
        (SignKind.LEFT, 5, 4, False),
    ],
)
def test_a_join_beyond_the_coordinators_lines_goes_on(kind: SignKind, epoch: int | None, known: int | None, goes_on: bool) -> None:
    epochs = group("a", epoch=known)
    epochs.told_from = NOW

    assert bool(steps(epochs, sign(kind, 9, "b", epoch))) is goes_on
    assert epochs.told_from == (None if goes_on else NOW)
    assert ("b" in epochs.members) is (kind is not SignKind.LEFT)


def test_at_the_end_an_epoch_is_told_that_nobody_named() -> None:
    def finish(turn: EpochTurn | None, **values: object) -> list[tuple[str, int | None]]:
        epochs = group("a", "b")
        epochs.turn = turn
        for name, value in values.items():
            setattr(epochs, name, value)
        return [(step.name, step.generation) for step in epochs.finish()]

    turned = sign(SignKind.TURNED, 5)
    assert finish(EpochTurn(turned, GIVEN, [])) == [("GroupEpochBumped", 5)]
    assert finish(EpochTurn(turned, NOTHING, ["b"])) == [("ModernMemberFenced", None), ("GroupEpochBumped", 5)]
    assert finish(EpochTurn(turned, NOTHING, [])) == []
    assert finish(None) == []
    assert finish(EpochTurn(turned, GIVEN, []), epoch=None) == []
    assert finish(EpochTurn(turned, GIVEN, []), told_from=NOW) == []


# -- classic members ---------------------------------------------------------------------------------------------


def _state(before: str, after: str, epoch: int, at: int = NOW, name: str = "c") -> Event:
    values = {"from_state": before, "to_state": after, "member_epoch": epoch, "client_id": name, "member_id": name.upper()}
    return client("MemberState", at, **values)


def _classic(at: int, generation: int, name: str = "k") -> Event:
    return client("Joined", at, client_id=name, member_id=name.upper(), generation=generation)


def _feed(epochs: UnloggedEpochs, *events: Event) -> list[str]:
    for event in events:
        epochs.feed(event, event.time_us)
    return [found.kind.value for found in epochs.signs]


def test_the_first_consumer_takes_classic_members_over() -> None:
    epochs = UnloggedEpochs()
    left = client("LeaveSent", NOW + 1, client_id="l")

    assert _feed(epochs, _classic(NOW, 3), _classic(NOW, 3, "l"), left) == []
    assert list(epochs.peers) == ["client.log k"]
    assert _feed(epochs, _state("JOINING", "STABLE", 4, NOW + 5)) == ["stayed", "joined"]
    stayed = epochs.signs[0]
    assert (stayed.at, stayed.peer, stayed.epoch, stayed.is_classic, stayed.member_id) == (NOW + 5, "client.log k", 3, True, "K")
    assert _feed(epochs, _state("STABLE", "ACKNOWLEDGING", 4, NOW + 6), _classic(NOW + 7, 5)) == ["stayed", "joined", "reached", "reached"]
    assert list(epochs.consumers) == ["client.log c"]


def test_the_last_consumers_leave_downgrades_a_group_with_classic_members() -> None:
    epochs = UnloggedEpochs()
    first, second = _state("JOINING", "STABLE", 4), _state("JOINING", "STABLE", 4, name="d")
    _feed(epochs, _classic(NOW, 3), first, second, _state("STABLE", "LEAVING", -1, NOW + 5))
    assert epochs.downgrade is None
    _feed(epochs, _state("STABLE", "LEAVING", -1, NOW + 6, "d"))
    assert epochs.downgrade is not None
    assert epochs.downgrade.at == NOW + 6
    started = [step for step in epochs.until(FOREVER) if step.name == "RebalanceStarted"]
    assert [dict(step.fields)["reason_id"] for step in started] == ["downgrade_from_consumer"]
    _feed(epochs, _state("JOINING", "STABLE", 9, NOW + 7))
    assert epochs.downgrade is None


@pytest.mark.parametrize("case", ["told", "none classic", "classic without an epoch", "no consumer left it"])
def test_other_leaves_downgrade_nothing(case: str) -> None:
    epochs = UnloggedEpochs()
    if case != "none classic":
        _feed(epochs, _classic(NOW, 3))
    _feed(epochs, _state("JOINING", "STABLE", 4))
    if case == "classic without an epoch":
        epochs.peers["client.log k"].epoch = 0
    if case == "no consumer left it":
        epochs.consumers.clear()
    epochs.told_from = NOW + 99 if case == "told" else None
    _feed(epochs, _state("STABLE", "LEAVING", -1, NOW + 5))

    assert epochs.downgrade is None


def test_peers_and_consumers_are_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlogged_epochs, "PEERS_MAX", 2)
    epochs = UnloggedEpochs()
    for turn, name in enumerate("cde"):
        _feed(epochs, _state("JOINING", "STABLE", 4 + turn, NOW + turn, name))
        if name == "d":
            assert len(epochs.peers) == len(epochs.consumers) == 2
    assert list(epochs.peers) == list(epochs.consumers) == ["client.log d", "client.log e"]
    list(epochs.until(FOREVER))
    assert list(epochs.members) == ["client.log d", "client.log e"]


@pytest.mark.parametrize(
    ("epoch", "known", "told_from", "expected"), [(5, 4, None, 5), (4, 4, None, 4), (3, 4, None, 4), (5, None, None, 5), (5, 4, NOW, 4)]
)
def test_a_classic_members_generation_is_an_epoch(epoch: int, known: int | None, told_from: int | None, expected: int) -> None:
    epochs = group("a", epoch=known)
    epochs.told_from = told_from

    assert steps(epochs, sign(SignKind.STAYED, 9, "k", epoch)) == []
    assert (epochs.epoch, epochs.members["k"]) == (expected, "K")
    assert epochs.epoch_at == NOW + 9 * (expected == 5)


# -- joins -------------------------------------------------------------------------------------------------------


def test_a_join_raises_the_epoch_that_it_was_given() -> None:
    epochs = group("a")
    epochs.gone_at["b"] = 3

    assert steps(epochs, sign(SignKind.JOINED, 9, "b", 5)) == [("ModernMemberJoined", 9, None, "B"), ("GroupEpochBumped", 9, 5, "B")]
    assert (epochs.epoch, epochs.epoch_at, epochs.members["b"], epochs.gone_at) == (5, NOW + 9, "B", {})


def test_steps_are_no_earlier_than_the_epoch() -> None:
    epochs = group("a")

    assert {at for _, at, *_ in steps(epochs, sign(SignKind.JOINED, -9, "b", 5))} == {0}


@pytest.mark.parametrize(
    ("epoch", "at", "others", "expected"),
    [
        (4, 9, True, 5),
        (3, 9, True, 5),
        (5, 9, True, 5),
        (4, 9, False, 4),
        (1, WAIT_US, True, 5),
        (1, WAIT_US + 1, True, 1),
        (2, WAIT_US + 1, True, 5),
    ],
)
def test_a_join_with_an_old_epoch_raises_the_next(epoch: int, at: int, others: bool, expected: int) -> None:
    epochs = group(*(["a"] if others else []))

    assert [step for step in steps(epochs, sign(SignKind.JOINED, at, "b", epoch)) if step[0] == "GroupEpochBumped"] == [
        ("GroupEpochBumped", at, expected, "B")
    ]


def test_a_member_that_joins_again_raises_nothing() -> None:
    epochs = group("a", "b")
    assert steps(epochs, sign(SignKind.JOINED, 9, "b", 4)) == []
    epochs.fenced = {"b": sign(SignKind.FENCED, 5, "b")}
    assert ("GroupEpochBumped", 9, 5, "B") in steps(epochs, sign(SignKind.JOINED, 9, "b", 4))
    epochs = group("a", "b")
    assert steps(epochs, sign(SignKind.JOINED, 9, "b", 3)) != []
    epochs = group("a", "b")
    assert steps(epochs, replace(sign(SignKind.JOINED, 9, "b", 4), member_id="other")) != []


def test_joins_in_between_are_told_before() -> None:
    epochs = group("a")

    assert [(name, generation) for name, _, generation, _ in steps(
        epochs, sign(SignKind.JOINED, 9, "b", 7), sign(SignKind.JOINED, 9 + ROUND_TRIP_US, "c", 6), sign(SignKind.JOINED, 8, "d", 5)
    ) if generation] == [("GroupEpochBumped", 5), ("GroupEpochBumped", 6), ("GroupEpochBumped", 7)]  # fmt: skip


@pytest.mark.parametrize(("at", "raised"), [(9 + ROUND_TRIP_US, [5, 6]), (10 + ROUND_TRIP_US, [5, 6, 7])])
def test_a_join_long_after_did_not_raise_the_epoch_before(at: int, raised: list[int]) -> None:
    epochs = group("a")
    answers = steps(epochs, sign(SignKind.JOINED, 9, "b", 6), sign(SignKind.JOINED, at, "c", 5))

    assert [generation for _, _, generation, _ in answers if generation] == raised


@pytest.mark.parametrize(("epoch", "unseen"), [(5, []), (6, [NOTHING]), (7, [NOTHING])])
def test_an_epoch_between_was_raised_unseen(epoch: int, unseen: list[str]) -> None:
    epochs = group("a")
    answers = lines(epochs, sign(SignKind.JOINED, 9, "b", epoch))

    assert shown_by(answers) == unseen
    assert [step.generation for step in answers if step.generation] == [*([epoch - 1] if unseen else []), epoch]
    assert shown_by(lines(group("a", epoch=None), sign(SignKind.JOINED, 9, "b", epoch))) == []


def _static(at: int, peer: str = "s", epoch: int = 4, instance: str = "i") -> EpochSign:
    return sign(SignKind.JOINED, at, peer, epoch, client("MemberState", NOW + at, client_id=peer, instance_id=instance))


@pytest.mark.parametrize(
    ("following", "raises"),
    [
        (None, False),
        (sign(SignKind.REACHED, 10, "a", 5), True),
        (sign(SignKind.REACHED, 10, "a", 4), False),
        (sign(SignKind.REACHED, 10, "a", None), False),
        (sign(SignKind.LEFT, 10, "a"), False),
        (sign(SignKind.FENCED, 10, "a"), False),
        (sign(SignKind.SUBSCRIBED, 10, "a", 5), False),
        (sign(SignKind.JOINED, 10, "c", 5), False),
    ],
)
def test_a_static_member_takes_its_place_unless_others_reach_another_epoch(following: EpochSign | None, raises: bool) -> None:
    epochs = group("a")
    joined = [step for step in steps(epochs, _static(9), *([following] if following else [])) if step[3] == "S"]

    assert bool(joined) is raises


def test_who_has_an_instance_takes_its_own_place() -> None:
    epochs = group("a", "b")
    epochs.peers["b"].instance_id = "i"
    epochs.absent = {"b": None}
    assert steps(epochs, _static(9), sign(SignKind.REACHED, 10, "a", 5))[:1] != [("ModernMemberJoined", 9, None, "S")]
    assert sorted(epochs.members) == ["a", "s"]
    assert epochs.absent == {}
    epochs = group("a", "b")
    epochs.peers["b"].instance_id = "j"
    assert steps(epochs, _static(9), sign(SignKind.REACHED, 10, "a", 5))[:1] == [("ModernMemberJoined", 9, None, "S")]
    epochs = group("a", "s")
    epochs.peers["a"].instance_id = epochs.peers["s"].instance_id = "i"
    lines(epochs, _static(9))
    assert sorted(epochs.members) == ["a", "s"], "it has its own place"


def test_what_a_client_was_before_stays_until_its_session_ends() -> None:
    epochs = group("a", "b")
    epochs.owners.take("b", ["t-0"])
    lines(epochs, replace(sign(SignKind.JOINED, 9, "b", 5), member_id="B2"))

    assert epochs.members == {"a": "A", "b": "B2", "b B": "B"}
    assert (list(epochs.absent), epochs.owners.owner("t-0"), epochs.peers["b B"].member_id) == (["b B"], "b B", "B")
    for member_id, event in [("B", None), (None, None), ("B2", client("MemberState", NOW, instance_id="i"))]:
        epochs = group("a", "b")
        lines(epochs, replace(sign(SignKind.JOINED, 9, "b", 5, event), member_id=member_id))
        assert sorted(epochs.members) == ["a", "b"]


def test_who_joins_is_no_longer_absent_and_who_reaches_an_epoch_is() -> None:
    epochs = group("a", "b")
    lines(epochs, sign(SignKind.AWAY, 5, "b"), sign(SignKind.AWAY, 5, "x"))
    assert list(epochs.absent) == ["b"]
    lines(epochs, sign(SignKind.REACHED, 6, "b", 4))
    assert list(epochs.absent) == ["b"]
    lines(epochs, sign(SignKind.JOINED, 7, "b", 5))
    assert list(epochs.absent) == []


@pytest.mark.parametrize(("epoch", "gone_at", "comes"), [(5, 4, True), (4, 4, False), (3, 4, False), (0, None, True), (None, 0, False)])
def test_who_has_gone_is_a_member_again_by_a_later_epoch(epoch: int | None, gone_at: int | None, comes: bool) -> None:
    epochs = group("a", epoch=9)
    if gone_at is not None:
        epochs.gone_at["b"] = gone_at
    lines(epochs, sign(SignKind.REACHED, 9, "b", epoch))

    assert ("b" in epochs.members) is comes


def test_who_has_gone_is_remembered_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlogged_epochs, "PEERS_MAX", 2)
    epochs = group("a", "b")
    epochs.gone_at = {"x": 1, "y": 1}
    lines(epochs, sign(SignKind.REACHED, 1, "b", 4))
    assert list(epochs.gone_at) == ["x", "y"]
    epochs.gone_at = {"x": 1, "y": 1, "z": 1}
    lines(epochs, sign(SignKind.REACHED, 1, "b", 4))
    assert list(epochs.gone_at) == ["y", "z"]


# -- leaves ------------------------------------------------------------------------------------------------------


def test_a_leave_raises_the_next_epoch() -> None:
    epochs = group("a", "b")
    epochs.owners.take("b", ["t-0"])
    epochs.absent, epochs.fenced = {"b": None}, {"b": sign(SignKind.FENCED, 1, "b")}

    assert steps(epochs, sign(SignKind.LEFT, 9, "b")) == [("ModernMemberLeft", 9, None, "B"), ("GroupEpochBumped", 9, 5, None)]
    assert (epochs.members, epochs.absent, epochs.fenced, epochs.gone_at) == ({"a": "A"}, {}, {}, {"b": 4})
    assert epochs.owners.owner("t-0") is None
    assert {at for _, at, *_ in steps(epochs, sign(SignKind.LEFT, 2, "a"))} == {9}


@pytest.mark.parametrize("case", ["no epoch", "no member"])
def test_a_leave_of_a_stranger_raises_nothing(case: str) -> None:
    epochs = group("a", epoch=None) if case == "no epoch" else group("b")

    assert steps(epochs, sign(SignKind.LEFT, 9, "a")) == []
    assert epochs.gone_at == {"a": 0 if case == "no epoch" else 4}


@pytest.mark.parametrize(
    ("peer", "at", "epoch", "counts"),
    [
        ("b", 10, 6, True),
        ("b", 10, 5, False),
        ("b", 10, 7, True),
        ("b", 10, 0, True),
        ("c", 9 + ROUND_TRIP_US, 5, True),
        ("c", 10 + ROUND_TRIP_US, 5, False),
        ("c", 10 + ROUND_TRIP_US, 4, False),
        ("c", 10 + ROUND_TRIP_US, 6, True),
    ],
)
def test_a_later_join_shows_whether_a_leave_counted(peer: str, at: int, epoch: int, counts: bool) -> None:
    epochs = group("a", "b")
    answers = steps(epochs, sign(SignKind.LEFT, 9, "b"), sign(SignKind.JOINED, at, peer, epoch))

    assert ("ModernMemberLeft" in [name for name, *_ in answers]) is counts
    assert "b" not in epochs.members or peer == "b"


@pytest.mark.parametrize(
    ("epoch", "member_id", "stays"), [(4, "B", True), (5, "B", False), (4, "B2", False)], ids=["same", "other epoch", "other id"]
)
def test_who_joins_the_same_epoch_again_had_not_left(epoch: int, member_id: str, stays: bool) -> None:
    epochs = group("a", "b")
    epochs.owners.take("b", ["t-0"])
    epochs.signs.append(replace(sign(SignKind.JOINED, WAIT_US, "b", epoch), member_id=member_id))
    epochs.signs.appendleft(sign(SignKind.LEFT, -9, "b"))
    list(epochs.until(NOW + WAIT_US))

    assert ("b" in epochs.members) is stays
    assert epochs.owners.owner("t-0") == ("b" if stays else None)


@pytest.mark.parametrize(
    ("peer", "at", "epoch", "names"),
    [
        ("c", 9 + ROUND_TRIP_US, 5, ["ModernMemberJoined", "ModernMemberLeft"]),
        ("c", 9 + ROUND_TRIP_US, 6, ["ModernMemberLeft", "ModernMemberJoined"]),
        ("b", 9 + ROUND_TRIP_US, 6, ["ModernMemberLeft", "ModernMemberJoined"]),
    ],
)
def test_a_join_that_raised_the_epoch_before_a_leave_is_told_first(peer: str, at: int, epoch: int, names: list[str]) -> None:
    epochs = group("a", "b")
    answers = steps(epochs, sign(SignKind.LEFT, 9, "b"), sign(SignKind.JOINED, at, peer, epoch))

    assert [name for name, *_ in answers if name != "GroupEpochBumped"] == names


# -- subscriptions and epochs that somebody has --------------------------------------------------------------------


@pytest.mark.parametrize(("epoch", "known", "raises"), [(5, 4, True), (4, 4, False), (None, 4, False), (5, None, False)])
def test_a_subscription_raises_an_epoch(epoch: int | None, known: int | None, raises: bool) -> None:
    epochs = group("a", epoch=known)
    answers = steps(epochs, sign(SignKind.SUBSCRIBED, 9, "a", epoch))

    assert answers == ([("ModernSubscriptionChanged", 9, None, "A"), ("GroupEpochBumped", 9, 5, None)] if raises else [])
    assert shown_by(lines(group("a"), sign(SignKind.SUBSCRIBED, 9, "a", 6))) == [NOTHING]


@pytest.mark.parametrize(("epoch", "known", "expected"), [(5, 4, 5), (4, 4, 4), (3, 4, 4), (5, None, 5), (None, None, 0)])
def test_an_epoch_that_somebody_has_was_raised(epoch: int | None, known: int | None, expected: int) -> None:
    epochs = group("a", epoch=known)
    answers = lines(epochs, sign(SignKind.REACHED, 9, "a", epoch))

    assert shown_by(answers) == ([NOTHING] if (known, expected) == (4, 5) else [])
    assert epochs.epoch == expected
    assert epochs.epoch_at == NOW + (9 if expected != 4 else 0)


def test_a_join_of_the_reached_epoch_raised_it() -> None:
    answers = lines(group("a"), sign(SignKind.REACHED, 9, "a", 5), sign(SignKind.JOINED, 9 + ROUND_TRIP_US, "b", 5))

    assert shown_by(answers) == []
    assert [step.name for step in answers] == ["ModernMemberJoined", "GroupEpochBumped"]


def _asked(at: int, name: str = "ConsumerGroup") -> Event:
    return request(f"{name}Heartbeat", NOW + at, member_id="a", client_id="c")


@pytest.mark.parametrize(
    ("event", "epoch", "before", "states"),
    [
        (_asked(9), 4, None, [("stable", 4, 9)]),
        (_asked(9), 4, NOW, [("stable", 4, 9)]),
        (_asked(9), 4, NOW + 1, [("UNREVOKED", 3, 0), ("stable", 4, 9)]),
        (_asked(9, "ShareGroup"), 4, NOW + 1, [("stable", 4, 9)]),
        (_asked(9), 3, NOW + 1, []),
        (client("MemberState", NOW + 9), 4, NOW + 1, []),
    ],
)
def test_answers_show_the_steps_of_a_member(event: Event, epoch: int, before: int | None, states: list[tuple[str, int, int]]) -> None:
    answers = lines(group("a"), sign(SignKind.REACHED, 9, "a", epoch, event, heard_before=before))

    assert [
        (str(step.fields["state"]).replace("STABLE", "stable"), step.fields["member_epoch"], step.time_us - NOW) for step in answers
    ] == states
    assert {step.name for step in answers} <= {"ModernMemberMoved"}


@pytest.mark.parametrize(("is_classic", "witness", "rejoins"), [(True, "client", True), (False, "client", False), (True, "request", False)])
def test_a_classic_member_rejoins_an_epoch(is_classic: bool, witness: str, rejoins: bool) -> None:
    event = client("Joined", NOW + 9) if witness == "client" else request("JoinGroup", NOW + 9)
    answers = lines(group("a"), sign(SignKind.REACHED, 9, "a", 4, event, is_classic=is_classic))

    assert ("ClassicMemberRejoined" in [step.name for step in answers]) is rejoins


# -- new assignments -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("at", "epoch", "later", "turns"),
    [
        (FOLLOWS_US, 4, None, False),
        (FOLLOWS_US + 1, 4, None, True),
        (5, 4, SignKind.GAVE, True),
        (5, 4, SignKind.TOOK, False),
        (5, 3, SignKind.GAVE, False),
    ],
)
def test_a_new_assignment_that_no_known_epoch_explains(at: int, epoch: int, later: SignKind | None, turns: bool) -> None:
    epochs = group("a")
    epochs.signs.append(sign(SignKind.TURNED, at, "a", epoch))
    if later is not None:
        epochs.signs.append(moved(later, at + 2 * WAIT_US, "a", "t-0"))
    list(epochs.until(NOW + at + WAIT_US + 1))
    assert (epochs.turn is not None) is turns
    first = epochs.turn
    lines(epochs, sign(SignKind.TURNED, FOLLOWS_US + 9, "a", epoch))
    assert turns is (epochs.turn is first)


@pytest.mark.parametrize(
    ("taken", "given", "shown"),
    [
        (["u-1"], [], NEW_PARTITIONS),
        (["u-1", "t-7"], [], TAKEN),
        (["t-7"], ["t-8"], TAKEN),
        ([], ["t-8"], GIVEN),
        ([], [], NOTHING),
    ],
)
def test_what_became_of_partitions_shows_an_epoch(taken: list[str], given: list[str], shown: str) -> None:
    epochs = group("a", "b")
    epochs.owners.take("b", ["u-0"])
    answers = lines(epochs, sign(SignKind.REACHED, 9, "a", 5), moved(SignKind.TOOK, 10, "a", *taken), moved(SignKind.GAVE, 11, "b", *given))

    assert shown_by(answers) == [shown]


@pytest.mark.parametrize("topics", [True, False])
def test_requests_or_topics_show_an_epoch(topics: bool) -> None:
    epochs = group("a", "b")
    epochs.peers["b"].by_requests = True

    assert shown_by(lines(epochs, sign(SignKind.REACHED, 9, "a", 5, gets_topics=topics))) == [TOPICS_EXIST if topics else REQUESTS]


@pytest.mark.parametrize(
    ("at", "kind", "again", "shown"),
    [
        (9, SignKind.REACHED, None, GIVEN),
        (9 + FOLLOWS_US, SignKind.REACHED, None, GIVEN),
        (10 + FOLLOWS_US, SignKind.REACHED, None, NOTHING),
        (50, SignKind.REACHED, 50, GIVEN),
        (51, SignKind.REACHED, 50, NOTHING),
    ],
)
def test_partitions_follow_until_the_next_assignment(at: int, kind: SignKind, again: int | None, shown: str) -> None:
    epochs = group("a", "b")
    turned = [sign(SignKind.TURNED, again, "a", 5)] if again is not None else []

    assert shown_by(lines(epochs, sign(kind, 9, "a", 5), *turned, moved(SignKind.GAVE, at, "b", "t-0"))) == [shown]


def test_partitions_that_a_join_moves_tell_nothing_of_epochs_before() -> None:
    answers = lines(group("a"), sign(SignKind.JOINED, 9, "b", 6), moved(SignKind.GAVE, 10, "a", "t-0"))

    assert shown_by(answers) == [NOTHING]


@pytest.mark.parametrize(
    ("owner", "given", "robbed"), [("b", False, True), ("b", True, False), ("a", False, False), (None, False, False), ("x", False, False)]
)
def test_a_member_is_robbed_that_gave_nothing_up(owner: str | None, given: bool, robbed: bool) -> None:
    epochs = group("a", "b")
    if owner:
        epochs.owners.take(owner, ["t-0"])
    gave = [moved(SignKind.GAVE, 10, "b", "t-0")] if given else []
    answers = lines(epochs, sign(SignKind.REACHED, 9, "a", 5), *gave, moved(SignKind.TOOK, 11, "a", "t-0"))

    assert why(answers) == ([("B", UNHEARD)] if robbed else [])
    assert [step.generation for step in answers if step.generation] == [5]


# -- removals ------------------------------------------------------------------------------------------------------


def test_a_first_assignment_is_of_the_first_of_several_epochs() -> None:
    epochs = group("a")
    epochs.turn = EpochTurn(sign(SignKind.TURNED, 5), GIVEN, [])
    assert [(step.generation, step.fields["shown_by"]) for step in lines(epochs, sign(SignKind.REACHED, 9, "a", 6))] == [
        (5, GIVEN),
        (6, NOTHING),
    ]
    epochs = group("a")
    epochs.turn = EpochTurn(sign(SignKind.TURNED, 5), GIVEN, [])
    assert [(step.generation, step.fields["shown_by"]) for step in lines(epochs, sign(SignKind.REACHED, 9, "a", 5))] == [(5, GIVEN)]


@pytest.mark.parametrize(("fenced_at", "at"), [(None, 9), (5, 5), (20, 9), (-5, 0)])
def test_an_unseen_epoch_was_raised_before_who_was_removed_heard_of_it(fenced_at: int | None, at: int) -> None:
    epochs = group("a", "b")
    if fenced_at is not None:
        epochs.fenced = {"b": sign(SignKind.FENCED, fenced_at, "b")}

    assert {step.time_us - NOW for step in lines(epochs, sign(SignKind.REACHED, 9, "a", 5))} == {at}


def test_each_epoch_is_of_one_that_was_removed() -> None:
    epochs = group("a", "b", "c")
    epochs.fenced = {"b": sign(SignKind.FENCED, 5, "b"), "c": sign(SignKind.FENCED, 6, "c")}
    assert why(lines(epochs, sign(SignKind.REACHED, 9, "a", 5))) == [("B", NOTICED)]
    assert list(epochs.fenced) == ["c"]
    answers = lines(epochs, sign(SignKind.REACHED, 10, "a", 7))
    assert (why(answers), shown_by(answers), epochs.epoch) == ([("C", NOTICED)], [NOTHING], 7)


@pytest.mark.parametrize("shown", [GIVEN, NEW_PARTITIONS, TOPICS_EXIST, TAKEN, NOTHING])
def test_where_partitions_explain_an_epoch_nobody_was_removed(shown: str) -> None:
    epochs = group("a", "b")
    epochs.fenced = {"b": sign(SignKind.FENCED, 5, "b")}
    epochs.turn = EpochTurn(sign(SignKind.TURNED, 5), shown, [])

    assert bool(why(lines(epochs, sign(SignKind.REACHED, 9, "a", 5)))) is (shown in {TAKEN, NOTHING})


@pytest.mark.parametrize(
    ("telling", "reason"),
    [
        (sign(SignKind.FENCED, 10, "b"), NOTICED),
        (sign(SignKind.JOINED, 10, "b", 6), NOTICED),
        (sign(SignKind.REACHED, 10, "b", 5), None),
        (sign(SignKind.LEFT, 10, "b"), None),
        (None, UNHEARD),
    ],
)
def test_the_next_sign_of_an_absent_member_tells_whether_it_was_there(telling: EpochSign | None, reason: str | None) -> None:
    epochs = group("a", "b")
    epochs.absent = {"b": None, "x": None}
    answers = lines(epochs, sign(SignKind.REACHED, 9, "a", 5), *([telling] if telling else []))

    assert why(answers)[:1] == ([("B", reason)] if reason else [])


@pytest.mark.parametrize(("epoch", "removed"), [(4, True), (5, False), (6, False)])
def test_who_reaches_an_older_epoch_tells_nothing(epoch: int, removed: bool) -> None:
    epochs = group("a", "b")
    epochs.absent = {"b": None}

    assert bool(why(lines(epochs, sign(SignKind.REACHED, 9, "a", 5), sign(SignKind.REACHED, 10, "b", epoch)))) is removed


@pytest.mark.parametrize(
    ("heard_by", "silent_for", "asks", "removed"),
    [
        (9, SILENT_US, True, True),
        (9, SILENT_US - 1, True, False),
        (8, SILENT_US, True, False),
        (9, SILENT_US, False, False),
    ],
)
def test_who_fell_silent_was_removed_if_others_were_heard(heard_by: int, silent_for: int, asks: bool, removed: bool) -> None:
    epochs = group("a", "b")
    epochs.peers["a"].by_requests, epochs.peers["a"].heard_at = True, NOW + heard_by
    epochs.peers["b"].by_requests, epochs.peers["b"].heard_at = asks, NOW + 9 - silent_for

    assert why(lines(epochs, sign(SignKind.REACHED, 9, "a", 5))) == ([("B", UNHEARD)] if removed else [])


@pytest.mark.parametrize(
    ("left_at", "back_at", "back", "before", "removed"),
    [
        (10, 10 + ROUND_TRIP_US, 99, None, True),
        (10, 11 + ROUND_TRIP_US, 99, None, False),
        (10, 11 + ROUND_TRIP_US, 7, 6, True),
        (10, 11 + ROUND_TRIP_US, 8, 6, False),
        (10, 11 + ROUND_TRIP_US, 1, None, True),
        (10, 11 + ROUND_TRIP_US, 2, None, False),
    ],
)
def test_a_late_poller_that_came_back_at_once_was_out_before(
    left_at: int, back_at: int, back: int, before: int | None, removed: bool
) -> None:
    epochs = group("a", "b")
    seen = [sign(SignKind.REACHED, left_at, "x", before)] if before else []
    answers = lines(
        epochs, sign(SignKind.REACHED, 9, "a", 5), *seen, sign(SignKind.LEFT, left_at, "b"), sign(SignKind.JOINED, back_at, "b", back)
    )

    assert (("B", NOTICED) in why(answers[:1])) is removed


@pytest.mark.parametrize(
    ("epoch", "event", "before", "interval", "reached", "reason"),
    [
        (3, None, None, None, 5, f"{STUCK} 3 within its rebalance timeout"),
        (4, None, None, None, 5, None),
        (None, None, None, None, 5, NOTICED),
        (3, _asked(5), None, None, 5, NOTICED),
        (3, _asked(5), 5 - ALIVE_US, None, 5, f"{STUCK} 3 within its rebalance timeout"),
        (3, _asked(5), 4 - ALIVE_US, None, 5, NOTICED),
        (3, _asked(5), 5 - ALIVE_BEATS * 100, 100, 5, f"{STUCK} 3 within its rebalance timeout"),
        (3, _asked(5), 4 - ALIVE_BEATS * 100, 100, 5, NOTICED),
        (3, _asked(5), 5 - ALIVE_US, ALIVE_US, 5, f"{STUCK} 3 within its rebalance timeout"),
        (3, _asked(5), 4 - ALIVE_US, ALIVE_US, 5, NOTICED),
        (3, _asked(5, "ShareGroup"), 5, None, 5, NOTICED),
    ],
)
def test_who_was_alive_as_it_was_removed_was_stuck(
    epoch: int | None, event: Event | None, before: int | None, interval: int | None, reached: int, reason: str | None
) -> None:
    epochs = group("a", "b")
    epochs.peers["b"].interval_us = interval
    heard = NOW + before if before is not None else None
    epochs.fenced = {"b": sign(SignKind.FENCED, 5, "b", epoch, event, heard_before=heard)}

    assert why(lines(epochs, sign(SignKind.REACHED, 9, "a", reached))) == ([("B", reason)] if reason else [])
    assert Witness.CLIENT is client("MemberState", NOW).witness


def test_who_is_out_is_fenced_only_as_a_member() -> None:
    epochs = group("a", "b")
    lines(epochs, sign(SignKind.FENCED, 5, "b"), sign(SignKind.FENCED, 5, "x"))

    assert list(epochs.fenced) == ["b"]


def test_partitions_are_taken_and_given_up() -> None:
    epochs = group("a")
    lines(epochs, moved(SignKind.TOOK, 5, "a", "t-0", "t-1"), moved(SignKind.GAVE, 6, "a", "t-1"))

    assert epochs.owners.owners == {"t-0": "a"}
