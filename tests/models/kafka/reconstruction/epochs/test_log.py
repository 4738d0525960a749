"""Epochs by coordinators' lines: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models.causes import Cause
from models.events import Event, Witness
from models.kafka.observations.line_delays import CLOCK_TOLERANCE_US
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.epochs import log as epoch_log
from models.kafka.reconstruction.epochs.lines import cause_of_fence, stuck_in
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.kafka.reconstruction.epochs.progress import REACHES_US, SAME_CHANGE_US, SAME_REQUEST_US, EpochProgress
from models.kafka.reconstruction.epochs.unlogged_epochs import WAIT_US
from models.kafka.reconstruction.epochs.windows import (
    CLOSING_US,
    SUBSCRIBED_BEFORE_US,
    EpochChange,
    EpochWindow,
    held_by,
    leaving_together,
    subscribed_before,
)
from models.kafka.reconstruction.implied_lines import implied_line
from tests.models.kafka.reconstruction.lines import client, line, request

NOW = 10_000_000_000


def at(us: int, name: str, **values: object) -> Event:
    return line(name, NOW + us, **values)


def joined(us: int, member: str, **values: object) -> Event:
    return at(us, "ModernMemberJoined", member_id=member, client_id=f"{member}c", **values)


def left(us: int, member: str, **values: object) -> Event:
    return at(us, "ModernMemberLeft", member_id=member, client_id=f"{member}c", **values)


def fenced(us: int, member: str, why: str | None = "session timeout") -> Event:
    return at(us, "ModernMemberFenced", member_id=member, client_id=f"{member}c", why=why)


def bumped(us: int, epoch: int | None, **values: object) -> Event:
    return at(us, "GroupEpochBumped", generation=epoch, **values)


def targeted(us: int, epoch: int | None, **values: object) -> Event:
    return at(us, "TargetComputed", generation=epoch, **values)


def replay(*events: Event) -> ModernReplay:
    group = ModernReplay(EpochProgress(Roster()))
    for event in events:
        group.feed(event)
    return group


def raised(group: ModernReplay) -> EpochWindow:
    """The epoch raised next: it shows the changes that wait, and how many members are known."""
    group.feed(bumped(50, 50))
    return group.progress.windows[-1]


PAIR = (joined(0, "a"), bumped(1, 1), joined(2, "b"), bumped(3, 2))


def shown(group: ModernReplay) -> list[tuple[int | None, int | None, str, list[str]]]:
    return [
        (window.epoch_before, window.epoch, window.outcome, [change.cause.value for change in window.changes])
        for window in group.progress.windows
    ]


def test_each_change_raises_the_epoch() -> None:
    group = replay(*PAIR)

    assert shown(group) == [(0, 1, "superseded", ["member_join"]), (1, 2, "open", ["member_join"])]
    first, second = group.progress.windows
    assert (first.was_empty, first.members_before, first.members_after, first.began) == (True, 0, 1, NOW)
    assert (second.was_empty, second.members_before, second.members_after) == (False, 1, 2)
    assert (second.came, second.went) == (frozenset({"b"}), frozenset())
    assert (group.progress.last_at, group.epoch, group.members) == (NOW + 3, 2, {"a": "ac", "b": "bc"})
    assert not group.feed(client("Subscribed", NOW))


def test_members_of_a_log_that_begins_midway_are_unknown() -> None:
    (window,) = replay(joined(0, "a"), bumped(1, 5)).progress.windows

    assert (window.members_before, window.members_after, window.was_empty, window.epoch_before) == (None, None, False, 4)


def test_a_bump_that_is_told_twice_is_one_or_was_not_written() -> None:
    group = replay(*PAIR, bumped(9, 2))
    assert len(group.progress.windows) == 2
    assert shown(group)[1] == (1, 2, "open", [])
    group = replay(*PAIR[:3], targeted(3, 2), bumped(4, 2))
    assert len(group.progress.windows) == 2
    assert group.progress.windows[1].bumped is not None
    group = replay(*PAIR, left(5, "b"), bumped(6, 2))
    assert shown(group)[1] == (1, 2, "open", ["member_leave"])
    assert group.members == {"a": "ac"}
    group = replay(*PAIR, joined(5, "b"), bumped(6, 2))
    assert shown(group)[1] == (1, 2, "open", ["member_join"])
    assert group.members == {"a": "ac", "b": "bc"}


@pytest.mark.parametrize(
    ("epoch", "witness", "windows"),
    [(1, Witness.COORDINATOR, 2), (1, Witness.CLIENT, 3), (None, Witness.COORDINATOR, 2), (3, Witness.COORDINATOR, 3)],
)
def test_a_lower_epoch_is_late_or_of_another_group(epoch: int | None, witness: Witness, windows: int) -> None:
    group = replay(*PAIR)
    group.feed(line("GroupEpochBumped", NOW + 9, witness, generation=epoch))

    assert len(group.progress.windows) == windows
    assert (group.members == {}) is (witness is Witness.CLIENT)


def test_an_epoch_raised_unseen_makes_members_unknown() -> None:
    group = replay(*PAIR, bumped(9, 3, shown_by="taken"))
    assert (group.progress.windows[2].members_before, group.progress.windows[2].shown_by) == (None, "taken")
    assert replay(*PAIR, bumped(9, 3)).progress.windows[2].members_before == 2


@pytest.mark.parametrize(("lasted", "fresh"), [(SAME_CHANGE_US, 1), (SAME_CHANGE_US + 1, 0)])
def test_a_change_raises_an_epoch_soon(lasted: int, fresh: int) -> None:
    assert len(replay(joined(0, "a"), bumped(lasted, 5)).progress.windows[0].changes) == fresh


@pytest.mark.parametrize(("apart", "fresh"), [(SAME_REQUEST_US, 2), (SAME_REQUEST_US + 1, 1)])
def test_changes_of_one_request_stand_together(apart: int, fresh: int) -> None:
    assert len(replay(joined(0, "a"), joined(apart, "b"), bumped(apart, 5)).progress.windows[0].changes) == fresh


def test_topics_are_no_action() -> None:
    topics = at(0, "SubscriptionMetadataChanged")
    group = replay(topics, topics, joined(1, "a"), bumped(2, 5))
    assert (shown(group)[0][3], len(group.progress.windows[0].events)) == (["member_join"], 3)
    assert group.progress.windows[0].began == NOW + 1
    assert shown(replay(topics, bumped(2, 5)))[0][3] == ["metadata_change"]


@pytest.mark.parametrize(
    ("protocol", "member", "early", "changes"),
    [
        ("streams", "a", SAME_CHANGE_US, 2),
        ("streams", "a", SAME_CHANGE_US + 1, 1),
        ("streams", "x", SAME_CHANGE_US, 1),
        ("consumer", "a", SAME_CHANGE_US, 1),
    ],
)
def test_lines_of_one_request_name_its_member(protocol: str, member: str, early: int, changes: int) -> None:
    group = ModernReplay(EpochProgress(Roster()), protocol=protocol)
    for event in (
        at(0, "ModernSubscriptionChanged", member_id=member),
        at(early, "ModernSubscriptionChanged", member_id="b"),
        bumped(early, 5, member_id="a"),
    ):
        group.feed(event)

    assert len(group.progress.windows[0].changes) == changes


# -- departures --------------------------------------------------------------------------------------------------


def test_members_go() -> None:
    group = replay(*PAIR, left(5, "b"), bumped(6, 3))
    assert shown(group)[2] == (2, 3, "open", ["member_leave"])
    assert (group.progress.windows[2].went, group.progress.windows[2].members_before, group.progress.windows[2].members_after) == (
        frozenset({"b"}),
        2,
        1,
    )
    assert replay(*PAIR, left(5, "b", temporarily=True)).members == {"a": "ac", "b": "bc"}
    assert replay(*PAIR, fenced(5, "b"), bumped(6, 3)).progress.windows[2].changes[0].cause is Cause.SESSION_TIMEOUT
    assert replay(*PAIR, fenced(5, "b", None), bumped(6, 3)).progress.windows[2].changes[0].reason == "fenced"


def test_the_last_one_that_goes_empties_the_group() -> None:
    group = replay(*PAIR, left(5, "b"), bumped(6, 3), left(7, "a"))
    assert shown(group)[3] == (3, 4, "empty", ["member_leave"])
    assert (group.progress.windows[3].members_after, group.progress.windows[3].reached_at, group.epoch) == (0, NOW + 7, 4)
    assert [window.closes for window in group.progress.windows] == [False, False, True, True]
    assert [window.closes for window in replay(*PAIR[:2], left(7, "a")).progress.windows] == [False, False]
    group = replay(joined(0, "a"), bumped(1, 5), left(3, "a"))
    assert len(group.progress.windows) == 1, "others may be members"


def test_a_leave_that_was_not_written_is_taken_back() -> None:
    group = replay(*PAIR[:2], left(7, "a"), left(8, "a"))
    assert shown(group) == [(0, 1, "superseded", ["member_join"]), (1, 2, "empty", ["member_leave"])]
    assert (group.epoch, group.progress.windows[1].began) == (2, NOW + 8)
    assert len(replay(*PAIR[:2], left(7, "a"), left(8, "x")).progress.windows) == 3


@pytest.mark.parametrize(("epoch", "members"), [(1, ["z"]), (2, ["a", "b", "z"])])
def test_a_reported_epoch_is_not_taken_back(epoch: int, members: list[str]) -> None:
    group = replay(*PAIR[: 2 * epoch])
    group.progress.reported = epoch
    group.feed(joined(7, "z"))
    group.feed(bumped(8, epoch))

    assert len(group.progress.windows) == epoch + 1
    assert (group.progress.windows[-1].epoch_before, sorted(group.members)) == (epoch - 1, members)


@pytest.mark.parametrize(("apart", "together"), [(CLOSING_US, 2), (CLOSING_US + 1, 1)])
def test_leaves_up_to_the_last_epoch_stand_together(apart: int, together: int) -> None:
    leave = EpochChange(Cause.MEMBER_LEAVE, "left", left(0, "a"))
    windows = [EpochWindow(3, 2, left(0, "a"), [leave]), EpochWindow(4, 3, left(apart, "b"), [leave])]
    assert len(leaving_together(windows)) == together
    assert leaving_together([*windows, EpochWindow(5, 4, left(apart, "b"))]) == []
    assert leaving_together([]) == []


def test_what_a_window_says_of_its_changes() -> None:
    leave, topics = (
        EpochChange(Cause.MEMBER_LEAVE, "left", left(0, "a")),
        EpochChange(Cause.METADATA_CHANGE, "x", at(0, "SubscriptionMetadataChanged")),
    )
    assert EpochWindow(4, 3, left(0, "a"), [leave, topics]).leaves is True
    assert EpochWindow(4, 3, left(0, "a"), [topics, leave]).leaves is False
    window = EpochWindow(4, 3, left(0, "a"), [leave, topics, EpochChange(Cause.MEMBER_JOIN, "joined", joined(1, "b"))])
    assert EpochWindow(4, 3, left(0, "a")).leaves is False
    assert (window.is_inferred, window.shown_by) == (False, None)
    assert EpochWindow(4, 3, client("Note", 0)).is_inferred
    persons = window.offenders(Cause.PROTOCOL_MIGRATION, Roster())
    assert [(person.member_id, person.first) for person in persons] == [("a", True), ("b", False)]
    assert [person.member_id for person in window.offenders(Cause.NEW_GROUP, Roster())] == ["b"]
    assert window.offenders(Cause.METADATA_CHANGE, Roster()) == window.offenders(Cause.UNKNOWN, Roster()) == []
    nameless = EpochChange(Cause.MEMBER_LEAVE, "left", at(0, "ModernMemberLeft"))
    assert EpochWindow(4, 3, left(0, "a"), [nameless]).offenders(Cause.MEMBER_LEAVE, Roster()) == []
    by_client = EpochChange(Cause.MEMBER_LEAVE, "left", at(0, "ModernMemberLeft", client_id="c"))
    assert len(EpochWindow(4, 3, left(0, "a"), [by_client]).offenders(Cause.MEMBER_LEAVE, Roster())) == 1


@pytest.mark.parametrize(
    ("before", "counts"),
    [
        (-CLOCK_TOLERANCE_US - 1, False),
        (-CLOCK_TOLERANCE_US, True),
        (SUBSCRIBED_BEFORE_US, True),
        (SUBSCRIBED_BEFORE_US + 1, False),
    ],
)
def test_a_subscription_just_before_may_have_raised_an_epoch(before: int, counts: bool) -> None:
    assert bool(subscribed_before([client("Subscribed", NOW - before)], NOW)) is counts


@pytest.mark.parametrize(("epoch", "stuck", "waits"), [(6, 5, True), (5, 5, False), (4, 5, False), (None, 5, False), (6, None, False)])
def test_who_is_stuck_in_an_older_epoch_holds_a_later_one(epoch: int | None, stuck: int | None, waits: bool) -> None:
    reason = f"failed to transition from epoch {stuck} within 5 ms" if stuck else "session"
    change = EpochChange(Cause.REBALANCE_TIMEOUT, reason, fenced(0, "a"))
    later = EpochWindow(7, 6, fenced(0, "a"), [change, EpochChange(Cause.MEMBER_LEAVE, reason, fenced(0, "b"))])

    assert held_by(EpochWindow(epoch, 3, at(0, "GroupEpochBumped")), [later]) == ([change] if waits else [])


def test_a_fences_reason_tells_its_cause() -> None:
    assert [cause_of_fence(why) for why in ("session timeout", "failed to transition", "failed to join", "failed to sync", "other")] == [
        Cause.SESSION_TIMEOUT, Cause.REBALANCE_TIMEOUT, Cause.REBALANCE_TIMEOUT, Cause.SYNC_TIMEOUT, Cause.UNKNOWN,
    ]  # fmt: skip
    assert (stuck_in("failed to transition from epoch 7 within 5 ms"), stuck_in("session")) == (7, None)


@pytest.mark.parametrize(
    ("shown", "node"), [(client("Note", NOW, node="1", client_id="c"), None), (request("Heartbeat", NOW, node="1"), "1")]
)
def test_an_implied_line_stands_at_the_coordinators_node(shown: Event, node: str | None) -> None:
    step = implied_line("MemberFailed", shown, NOW + 5)

    assert (step.node, step.time_us, step.client_id, step.fields, step.message) == (node, NOW + 5, None, {}, "")


# -- targets -----------------------------------------------------------------------------------------------------


def test_a_target_opens_an_epoch_that_no_line_told() -> None:
    group = replay(*PAIR, targeted(9, 3, assignor="range"))
    assert shown(group)[2] == (2, 3, "open", [])
    assert (group.progress.windows[2].assignor, group.progress.windows[2].targeted is not None, group.epoch) == ("range", True, 3)
    group = replay(*PAIR, targeted(9, 2))
    assert (len(group.progress.windows), group.progress.windows[1].targeted is not None, group.progress.windows[1].assignor) == (
        2,
        True,
        None,
    )
    assert len(group.progress.windows[1].events) == 3
    group = replay(*PAIR, targeted(9, 1), targeted(9, None))
    assert (len(group.progress.windows), group.progress.windows[1].targeted) == (2, None)
    assert len(replay(targeted(9, 3)).progress.windows) == 1
    assert shown(replay(*PAIR, targeted(8, 2), joined(9, "d"), bumped(10, 3)))[1][2] == "open"


@pytest.mark.parametrize(("epoch", "epochs"), [(4, [1, 2, 3, 4]), (5, [1, 2, 5]), (3, [1, 2, 3])])
def test_several_leaves_before_one_target_raise_an_epoch_each(epoch: int, epochs: list[int]) -> None:
    group = replay(*PAIR, joined(4, "x"), left(5, "b"), left(6, "x"), targeted(7, epoch))
    assert [window.epoch for window in group.progress.windows][:2] == [1, 2]
    group = replay(*PAIR)
    group.members = {"a": "ac", "b": "bc", "x": "xc"}
    for event in (left(5, "b"), left(6, "x"), targeted(7, epoch)):
        group.feed(event)
    assert [window.epoch for window in group.progress.windows] == epochs
    if epoch == 4:
        assert [(window.members_before, window.members_after) for window in group.progress.windows[2:]] == [(3, 2), (2, 1)]
        assert [window.leaves for window in group.progress.windows[2:]] == [True, True]


def test_a_target_of_an_empty_group_shows_unknown_members() -> None:
    group = replay(*PAIR, left(5, "b"), left(7, "a"), targeted(9, 3))
    window = group.progress.windows[-1]

    assert (window.epoch, window.outcome, window.reached_at, window.members_before, window.members_after) == (3, "open", None, None, None)
    assert not any(each.closes for each in group.progress.windows)
    assert raised(group).members_before is None


def _target(*members: str) -> str:
    return "{" + ", ".join(f"{member}=MemberAssignment(partitions={{}})" for member in members) + "}"


def test_two_targets_tell_who_came_and_went() -> None:
    group = replay(targeted(1, 5, assignment=_target("a", "b")), targeted(9, 6, assignment=_target("b", "d")))
    second = group.progress.windows[1]

    assert [(change.cause, change.event.member_id) for change in second.changes] == [(Cause.MEMBER_JOIN, "d"), (Cause.MEMBER_LEAVE, "a")]
    assert (second.came, second.went, second.members_before, second.members_after) == (frozenset("d"), frozenset("a"), 2, 2)
    assert list(group.members) == ["b", "d"]
    assert raised(group).members_before == 2
    told = replay(targeted(1, 5, assignment=_target("a", "b")), left(8, "a"), targeted(9, 6, assignment=_target("b")))
    assert [change.event.member_id for change in told.progress.windows[1].changes] == ["a"]
    assert told.progress.windows[1].members_after == 1
    assert replay(targeted(1, 5, assignment=_target("a", "b")), targeted(9, 6)).progress.windows[1].changes == []


# -- streams, conversions --------------------------------------------------------------------------------------------


def test_a_streams_member_is_taken_in_once_its_topics_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    group = replay(joined(0, "a", group_type="streams"))
    assert (group.members, list(group.asking)) == ({}, ["a"])
    group.feed(at(1, "StreamsMemberDescribed", member_id="a"))
    group.feed(bumped(2, 1, member_id="a"))
    assert (group.members, group.asking, shown(group)) == ({"a": "ac"}, {}, [(0, 1, "open", ["member_join"])])
    group = replay(joined(0, "a", group_type="streams"), at(1, "ModernMemberMoved", member_id="a", member_epoch=1))
    assert group.members == {"a": "ac"}
    monkeypatch.setattr(epoch_log, "PENDING_MAX", 2)
    assert list(replay(*(joined(0, name, group_type="streams") for name in "abc")).asking) == ["b", "c"]
    assert list(replay(*(joined(0, name, group_type="streams") for name in "ab")).asking) == ["a", "b"]


def test_a_join_of_streams_goes_before_other_changes() -> None:
    group = replay(at(0, "StreamsTopologyChecked", topology_state="missing", group_type="streams"), joined(0, "a"))
    group.feed(at(1, "StreamsTopologyChecked", topology_state="ready"))
    group.feed(bumped(2, 1, member_id="a"))

    assert [change.cause for change in group.progress.windows[0].changes] == [Cause.MEMBER_JOIN, Cause.TOPOLOGY_CHANGE]


@pytest.mark.parametrize(
    ("states", "changes"),
    [(["missing", "ready"], 1), (["ready"], 0), (["ready", "ready"], 0), (["missing", "missing"], 0), (["missing", None, "ready"], 0)],
)
def test_the_first_completeness_of_topics_is_a_change(states: list[str | None], changes: int) -> None:
    assert len(raised(replay(*(at(0, "StreamsTopologyChecked", topology_state=state) for state in states))).changes) == changes


def test_a_second_description_is_a_change() -> None:
    described = at(1, "StreamsMemberDescribed", member_id="a", client_id="new")
    group = replay(*PAIR, described)
    assert [change.cause for change in raised(group).changes] == [Cause.TOPOLOGY_CHANGE]
    assert group.members["a"] == "new"
    assert replay(described).members == {}
    assert replay(*PAIR, at(1, "StreamsMemberDescribed", member_id="a")).members["a"] == "ac"


def test_groups_change_their_type() -> None:
    group = replay(*PAIR, at(5, "GroupConverted", to_type="classic"))
    assert (group.epoch, group.members) == (None, {})
    window = raised(group)
    assert (window.changes, window.members_before) == ([], None)
    group = replay(*PAIR, at(5, "GroupConverted", to_type="consumer"))
    assert (group.epoch, len(group.members)) == (None, 2)
    assert [change.cause for change in raised(group).changes] == [Cause.PROTOCOL_MIGRATION]


@pytest.mark.parametrize(("members", "count"), [({"x": "xc"}, 1), ({}, None)])
def test_members_of_a_converted_group_are_known_if_there_are_any(members: dict[str, str | None], count: int | None) -> None:
    group = replay(*PAIR, at(5, "GroupConverted", to_type="consumer"))
    group.converted_from(members)

    assert group.members == members
    assert raised(group).members_before == count


def test_static_members_come_back_under_another_id() -> None:
    group = replay(*PAIR, joined(5, "b2", rejoined=True, old_member_id="b"))

    assert sorted(group.members) == ["a", "b2"]
    assert (group.joined_after("b2", NOW + 4), group.joined_after("b2", NOW + 5), group.joined_after("x", NOW)) == (True, False, False)
    assert raised(group).changes == []
    assert replay(at(0, "ModernMemberJoined")).members == {}


# -- reporting -------------------------------------------------------------------------------------------------------


def _over(group: ModernReplay) -> int | None:
    over = group.progress.over_at()
    return over - NOW if over is not None else None


def test_an_epoch_is_over_as_the_next_begins() -> None:
    group = replay(*PAIR)
    assert (_over(group), group.progress.until - NOW, group.progress.ordinal) == (2, 2, 0)
    assert ModernReplay(EpochProgress(Roster())).progress.over_at() is None
    group.progress.reported = 1
    assert (_over(group), group.progress.until - NOW, group.progress.ordinal) == (2 + REACHES_US, 2 + REACHES_US, 1)
    group.progress.reported = 2
    assert group.progress.over_at() is None


def _stable(us: int, member: str, epoch: int = 2) -> Event:
    return at(us, "ModernMemberMoved", member_id=member, member_epoch=epoch, state="STABLE")


@pytest.mark.parametrize(
    ("protocol", "moves", "expected"),
    [
        ("consumer", [], REACHES_US + 2),
        ("share", [], 3),
        ("consumer", [_stable(5, "a")], REACHES_US + 2),
        ("share", [_stable(5, "a")], REACHES_US + 2),
        ("consumer", [_stable(5, "a"), _stable(9, "b")], 9),
        ("consumer", [_stable(5, "a"), _stable(9, "b", 1)], REACHES_US + 2),
    ],
)
def test_an_epoch_waits_for_its_members(protocol: str, moves: list[Event], expected: int) -> None:
    group = ModernReplay(EpochProgress(Roster()), protocol=protocol)
    for event in (*PAIR, *moves):
        group.feed(event)
    group.progress.complete()
    group.progress.reported = 1

    assert _over(group) == expected


def test_an_empty_or_inferred_epoch_waits_for_nobody() -> None:
    group = replay(*PAIR[:2], left(7, "a"))
    group.progress.complete()
    group.progress.reported = 1
    assert _over(group) == 7
    shown_by_client = ModernReplay(EpochProgress(Roster()))
    shown_by_client.feed(line("GroupEpochBumped", NOW, Witness.CLIENT, generation=3))
    assert _over(shown_by_client) == 0


def _change(us: int, member: str, state: str) -> Event:
    return client("MemberState", NOW + us, member_id=member, client_id=f"{member}c", to_state=state)


def test_reconciliations_complete_an_epoch() -> None:
    events = (*PAIR, _change(5, "a", "RECONCILING"), _change(6, "b", "RECONCILING"), _change(9, "a", "STABLE"))
    group = replay(*events)
    group.progress.complete()
    group.progress.note_reported()
    assert _over(group) == 2 + REACHES_US
    group.feed(_change(20, "b", "STABLE"))
    assert _over(group) == 20
    group.progress.complete()
    assert (group.progress.windows[1].outcome, group.progress.windows[1].reached_at) == ("stable", NOW + 20)
    assert group.progress.windows[1].members == frozenset({"a", "b"})


def test_an_epoch_that_was_not_reached_is_superseded() -> None:
    group = replay(*PAIR[:2], targeted(1, 1), _change(1, "a", "RECONCILING"), *PAIR[2:])
    group.progress.complete()
    assert group.progress.windows[0].outcome == "superseded"
    group = replay(*PAIR[:2], targeted(1, 1), *PAIR[2:])
    group.progress.complete()
    assert group.progress.windows[0].outcome == "open"
    group = replay(*PAIR[:2], _stable(1, "a", 1), targeted(1, 1), *PAIR[2:])
    group.progress.complete()
    assert (group.progress.windows[0].outcome, group.progress.windows[0].reached_at) == ("stable", NOW + 1)


def test_who_holds_an_epoch_up_ends_it_as_it_is_fenced() -> None:
    why = "failed to transition from epoch 1 within 5 ms"
    group = replay(*PAIR, targeted(4, 2), fenced(30, "a", why), bumped(31, 3), fenced(40, "b", why), bumped(41, 4))
    group.progress.complete()
    group.progress.note_reported()
    group.progress.complete()
    window = group.progress.windows[1]

    assert (window.outcome, window.reached_at) == ("superseded", NOW + 40)
    assert [(person.member_id, person.reason) for person in window.blockers] == [("a", "evicted"), ("b", "evicted")]
    assert [person.first for person in window.blockers] == [True, False]


def test_reported_epochs_are_dropped_behind_the_last() -> None:
    group = replay(*PAIR, _stable(1, "a", 1), _stable(9, "b"))
    group.progress.complete()
    group.progress.note_reported()
    assert (len(group.progress.windows), group.progress.reported, group.progress.dropped, group.progress.ordinal) == (2, 1, 0, 1)
    assert [step.at - NOW for step in group.progress.moves.steps] == [1, 9]
    group.progress.complete()
    group.progress.note_reported()
    assert (len(group.progress.windows), group.progress.reported, group.progress.dropped, group.progress.ordinal) == (1, 1, 1, 2)
    assert [step.at - NOW for step in group.progress.moves.steps] == [9]


def test_members_that_are_named() -> None:
    group = replay(*PAIR, left(5, "a"), at(6, "ModernSubscriptionChanged"))
    assert group.named() == {"a", "b"}
    group = replay(*PAIR, joined(5, "a"))
    group.members, group.progress.reported = {}, 2
    assert group.named() == {"a"}


def test_subscriptions_are_kept_as_long_as_needed() -> None:
    kept_for = WAIT_US + SUBSCRIBED_BEFORE_US + SAME_CHANGE_US
    for age, count in ((kept_for, 2), (kept_for + 1, 1)):
        group = replay(client("Subscribed", NOW - age), client("Subscribed", NOW))
        assert len(group.progress.subscriptions) == count
        group = replay(client("Subscribed", NOW - age), bumped(0, 3), client("Subscribed", NOW + 99))
        assert len(group.progress.subscriptions) == count
    group = replay(client("Subscribed", NOW - 5, member_id="s"), bumped(0, 3))
    group.progress.complete()
    assert shown(group)[0][3] == ["subscription_change"]


def test_reconciliations_are_forgotten_where_none_waits() -> None:
    kept_for = WAIT_US + SAME_CHANGE_US + SAME_REQUEST_US
    for age, count in ((kept_for, 2), (kept_for + 1, 1)):
        group = replay(_change(-age, "a", "RECONCILING"), _change(0, "b", "RECONCILING"))
        assert len(group.progress.reconciliations.spans) == count
        assert group.progress.last_at == NOW
    group = replay(bumped(-2 * kept_for, 3), _change(-kept_for - 1, "a", "RECONCILING"), _change(0, "b", "RECONCILING"))
    assert len(group.progress.reconciliations.spans) == 2
