"""Rebalances by members' own logs: each condition alone, and each limit met exactly."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction import client_generations, client_windows
from models.kafka.reconstruction.client_generations import ClientSight, ClientWindow
from models.kafka.reconstruction.client_windows import ANSWERED_TOGETHER_US, CLIENT_WINDOW_HOLD_US, NEAR_US, ClientWindows
from tests.models.kafka.reconstruction.lines import client, line

NOW = 1_000_000_000
ROSTER = Roster()
K = ActionKind


def act(kind: ActionKind, at: int, who: str | None = "a", generation: int | None = None, **values: object) -> MemberAction:
    why, event = values.pop("why", None), client("Note", NOW + at, **values)
    return MemberAction(kind, NOW + at, who.upper() if who else None, who, None, why, generation, event)  # type: ignore[arg-type]


def feed(windows: ClientWindows, *actions: MemberAction) -> ClientWindows:
    for action in actions:
        windows.feed(action.event, [action], ROSTER)
    return windows


def joined(*names: str, generation: int = 4, at: int = 0) -> ClientWindows:
    """A group whose members joined a generation together, which has a window."""
    windows = feed(ClientWindows(), *(act(K.JOINED, at, name, generation) for name in names))
    list(windows.next_windows())
    return windows


def all_windows(windows: ClientWindows) -> list[ClientWindow]:
    cut = []
    while windows.due_at is not None:
        cut += list(windows.next_windows())
    return cut


def shown(cut: list[ClientWindow]) -> list[tuple[int | None, str, int | None, int | None]]:
    """Generation before, outcome, start and end of join phase, after `NOW`."""
    return [
        (
            window.generation_before,
            window.outcome,
            window.started.at - NOW if window.started else None,
            window.joined.at - NOW if window.joined else None,
        )
        for window in cut
    ]


# -- sights ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "count", "nameless", "gone_at"),
    [
        ({"a": 5, "b": 7}, None, False, 7),
        ({"a": 7, "b": 5}, 2, False, 7),
        ({"a": 5, "b": 7}, 1, False, 7),
        ({"a": 5, "b": 7}, 3, False, None),
        ({"a": 5, "b": 7}, None, True, None),
        ({"a": 5}, None, False, None),
    ],
)
def test_all_have_gone_if_all_are_known_and_left(left: dict[str, int], count: int | None, nameless: bool, gone_at: int | None) -> None:
    sight = ClientSight(4, act(K.JOINED, 0), NOW, members={"a": "A", "b": "B"}, member_count=count, left=left, has_nameless=nameless)

    assert sight.gone_at == gone_at
    sight.members, sight.left = {}, {}
    assert sight.gone_at is None


def test_a_window_begins_with_its_first_known_action() -> None:
    first, second, third = act(K.JOIN, 1), act(K.JOINED, 2), act(K.SYNCED, 3)

    assert ClientWindow(4, False, "stable", first, second, third).began == NOW + 1
    assert ClientWindow(4, False, "stable", None, second, third).began == NOW + 2
    assert ClientWindow(4, False, "stable", None, None, third).began == NOW + 3
    assert ClientWindow(None, False, "open", None).began == 0
    assert (ClientWindow(4, False, "open", None).generation, ClientWindow(None, False, "open", None).generation) == (5, None)


@pytest.mark.parametrize(
    ("generation", "gone", "expected"),
    [(3, False, True), (4, False, False), (5, False, False), (4, True, True), (3, True, True), (5, True, False)],
)
def test_a_generation_that_goes_back_begins_a_new_life(generation: int, gone: bool, expected: bool) -> None:
    windows = joined("a")
    if gone:
        feed(windows, act(K.LEAVE, 5))

    assert windows.begins_anew(generation) is expected


def test_no_new_life_begins_where_a_line_tells_of_the_old_one() -> None:
    assert not ClientWindows().begins_anew(1)
    windows = feed(joined("a", generation=3), act(K.JOINED, 9, "a", 4))
    assert windows.begins_anew(2)
    assert not windows.begins_anew(3), "both are of the present life"
    windows.feed(line("GenerationStarted", NOW + 9, generation=4), [], ROSTER)
    assert not windows.begins_anew(2)
    windows = feed(ClientWindows(), act(K.JOINED, 0, "a"))
    assert not windows.begins_anew(0)


def test_an_ended_life_leaves_nothing() -> None:
    windows = feed(joined("a"), act(K.LEAVE, 5, "a"))
    list(windows.next_windows())
    feed(windows, act(K.JOINED, 9, "a", 6))
    windows.feed(line("GenerationStarted", NOW + 9, generation=5), [], ROSTER)
    windows.ended()

    assert windows.due_at is None
    assert [*windows.next_windows(), *windows.open_window()] == []
    assert not windows.begins_anew(1)
    (window,) = all_windows(feed(windows, act(K.JOINED, 9, "a", 5)))
    assert (window.from_empty, window.is_announced, window.skipped_from) == (False, False, None)


# -- what is seen ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("after", "kept"), [(2 * NEAR_US, True), (2 * NEAR_US + 1, False)])
def test_announced_generations_are_kept_for_some_time(after: int, kept: bool) -> None:
    windows = ClientWindows()
    windows.feed(line("GenerationStarted", NOW, generation=3), [], ROSTER)
    windows.feed(line("GenerationStarted", NOW + after, generation=4), [], ROSTER)

    (window,) = all_windows(feed(windows, act(K.JOINED, 0, "a", 3)))
    assert window.is_announced is kept


def test_announced_generations_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_windows, "ANNOUNCED_MAX", 2)
    windows = ClientWindows()
    for generation in (3, 4, 3, 5):
        windows.feed(line("AssignmentReceived", NOW, generation=generation), [], ROSTER)

    cut = all_windows(feed(windows, *(act(K.JOINED, generation, "a", generation) for generation in (3, 4, 5))))
    assert [window.is_announced for window in cut] == [True, False, True]


@pytest.mark.parametrize(("away", "announced"), [(NEAR_US, True), (-NEAR_US, True), (NEAR_US + 1, False), (-NEAR_US - 1, False)])
def test_an_announcement_is_near(away: int, announced: bool) -> None:
    windows = feed(ClientWindows(), act(K.JOINED, 0, "a", 4))
    windows.feed(line("GenerationStarted", NOW + away, generation=4), [], ROSTER)
    (window,) = windows.next_windows()

    assert window.is_announced is announced
    windows = feed(ClientWindows(), act(K.SYNCED, 0, "a"))
    windows.feed(line("GenerationStarted", NOW + away, generation=4), [], ROSTER)
    assert bool(list(windows.next_windows())) is not announced


def test_joins_and_assignments_of_one_generation_are_one_window() -> None:
    windows = feed(
        ClientWindows(), act(K.JOIN, 0), act(K.JOINED, 9, "a", 4, member_count=2), act(K.JOINED, 10, "b", 4), act(K.SYNCED, 12, "b", 4)
    )

    assert windows.due_at == NOW + 12 + CLIENT_WINDOW_HOLD_US + 1
    (window,) = all_windows(windows)
    assert shown([window]) == [(3, "stable", 0, 9)]
    assert window.ended is not None
    assert (window.ended.at - NOW, window.member_count, window.from_empty) == (12, 2, False)


@pytest.mark.parametrize(("generation", "from_empty"), [(1, True), (2, False)])
def test_the_first_generation_is_from_empty(generation: int, from_empty: bool) -> None:
    (window,) = all_windows(feed(ClientWindows(), act(K.JOINED, 0, "a", generation)))

    assert (window.from_empty, window.outcome) == (from_empty, "open")


def test_what_was_asked_before_an_answer_with_the_same_generation_began_nothing() -> None:
    windows = joined("a", "b")
    feed(windows, act(K.REJOIN, 5, "b"), act(K.JOINED, 9, "b", 4), act(K.JOINED, 20, "a", 5))

    assert shown(all_windows(windows)) == [(4, "open", 20, 20)]
    windows = joined("a", "b")
    feed(windows, act(K.REJOIN, 5, "b"), act(K.REJOIN, 10, "b"), act(K.JOINED, 9, "b", 4), act(K.JOINED, 20, "a", 5))
    assert shown(all_windows(windows)) == [(4, "open", 10, 20)]


def test_a_rejoin_takes_back_a_leave_and_keeps_the_id() -> None:
    assert feed(joined("a", "b"), act(K.LEAVE, 5, "a"), act(K.LEAVE, 20, "b")).due_at is not None
    again = act(K.JOINED, 9, "a", 4)
    windows = feed(joined("a", "b"), act(K.LEAVE, 5, "a"), MemberAction(K.JOINED, again.at, None, "a", None, None, 4, again.event))
    windows.feed(client("JoinSent", NOW + 10, client_id="a", member_id="A"), [], ROSTER)
    feed(windows, act(K.LEAVE, 20, "b"))
    assert windows.due_at is None
    feed(windows, act(K.LEAVE, 30, "a"))
    assert windows.due_at == NOW + 30 + CLIENT_WINDOW_HOLD_US + 1, "it is no stranger by its id"


@pytest.mark.parametrize(("after", "same"), [(ANSWERED_TOGETHER_US, True), (ANSWERED_TOGETHER_US + 1, False)])
def test_members_that_name_no_generation_join_together(after: int, same: bool) -> None:
    windows = feed(ClientWindows(), act(K.SYNCED, 0, "a"), act(K.SYNCED, after, "b"))
    assert len(all_windows(windows)) == (1 if same else 2)
    windows = feed(ClientWindows(), act(K.SYNCED, 0, "a"), act(K.JOINED, after, "b", 7))
    assert [window.generation for window in all_windows(windows)] == ([7] if same else [None, 7])


@pytest.mark.parametrize(("after", "windows"), [(NEAR_US, 1), (NEAR_US + 1, 2)])
def test_where_others_name_generations_the_unnamed_are_of_them(after: int, windows: int) -> None:
    assert len(all_windows(feed(ClientWindows(), act(K.JOINED, 0, "a", 4), act(K.SYNCED, after, "b")))) == windows


def test_a_member_that_began_again_is_in_another_generation() -> None:
    windows = feed(ClientWindows(), act(K.SYNCED, 0, "a"), act(K.REJOIN, 5, "a"), act(K.SYNCED, 9, "a"))
    assert len(all_windows(windows)) == 2
    windows = feed(ClientWindows(), act(K.SYNCED, 0, "a"), act(K.SYNCED, 9, "a"))
    assert windows.due_at == NOW + 9 + CLIENT_WINDOW_HOLD_US + 1
    assert len(all_windows(windows)) == 1


@pytest.mark.parametrize(
    ("who", "generation", "expected"), [("a", 4, [4]), ("a", None, [None]), (None, 4, []), (None, None, []), ("a", 0, []), ("a", 1, [1])]
)
def test_a_log_may_begin_between_a_join_and_its_assignment(who: str | None, generation: int | None, expected: list[int | None]) -> None:
    windows = feed(ClientWindows(), act(K.SYNCED, 0, who, generation))

    cut = all_windows(windows)
    assert [window.generation for window in cut] == expected
    assert all(window.ended is not None for window in cut)


@pytest.mark.parametrize(
    ("who", "generation", "synced"), [("a", 4, True), ("a", None, True), ("a", 5, False), ("c", 4, True), ("c", 5, False)]
)
def test_an_assignment_is_of_the_newest_generation(who: str, generation: int | None, synced: bool) -> None:
    windows = feed(ClientWindows(), act(K.JOINED, 0, "a", 4), act(K.SYNCED, 9, who, generation))

    (window,) = all_windows(windows)
    assert (window.ended is not None) is synced


def test_the_first_assignment_counts() -> None:
    windows = feed(ClientWindows(), act(K.JOINED, 0, "a", 4), act(K.SYNCED, 9, "a"), act(K.SYNCED, 12, "a"))

    assert windows.due_at == NOW + 12 + CLIENT_WINDOW_HOLD_US + 1
    (window,) = all_windows(windows)
    assert window.ended is not None
    assert window.ended.at == NOW + 9


@pytest.mark.parametrize(
    ("generation", "assignment", "empty"),
    [(4, "", True), (4, "{a=Assignment(), b=Assignment()}", False), (9, "{a=Assignment(), b=Assignment()}", True)],
)
def test_the_leaders_assignment_tells_the_count(generation: int, assignment: str, empty: bool) -> None:
    windows = joined("a")
    windows.feed(client("AssignmentMade", NOW + 2, client_id="a", generation=generation, assignments=assignment), [], ROSTER)

    assert (feed(windows, act(K.LEAVE, 5, "a")).due_at is not None) is empty


def test_epochs_are_no_generations() -> None:
    state = client("MemberState", NOW, client_id="c", to_state="STABLE")
    windows = ClientWindows()
    windows.feed(state, [], ROSTER)
    feed(windows, act(K.SYNCED, 0, "a"), act(K.JOINED, 0, "a", 4))
    assert windows.due_at is not None
    assert list(windows.next_windows()) == []
    windows.feed(client("MemberState", NOW, client_id="c", to_state="UNSUBSCRIBED"), [], ROSTER)
    feed(windows, act(K.JOINED, 9, "a", 5))
    assert shown(list(windows.next_windows())) == [(4, "open", 9, 9)]


# -- what begins a rebalance ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "opens"),
    [
        (act(K.JOIN, 5, "c"), True),
        (act(K.REJOIN, 5, "a"), True),
        (act(K.LEAVE, 5, "a"), True),
        (act(K.LEAVE, 5, "c"), False),
        (act(K.POLL_TIMEOUT, 5, "a"), True),
        (act(K.REBALANCE_NOTICED, 5, "a"), True),
        (act(K.WANTS_REJOIN, 5, "a", why="group is already rebalancing"), True),
        (act(K.WANTS_REJOIN, 5, "a", why="other"), False),
        (act(K.FENCED, 5, "a", why="UNKNOWN_MEMBER_ID"), False),
        (act(K.FENCED, 5, "a", why="other"), False),
        (act(K.SUBSCRIBE, 5, "a"), False),
    ],
)
def test_some_actions_begin_a_rebalance(action: MemberAction, opens: bool) -> None:
    windows = feed(joined("a", "b"), action, act(K.JOINED, 9, "b", 5))

    assert shown(all_windows(windows)) == [(4, "open", 5 if opens else 9, 9)]


@pytest.mark.parametrize(("at", "begins"), [(0, False), (1, True), (9, True), (10, False)])
def test_what_begins_a_generation_lies_between_two(at: int, begins: bool) -> None:
    windows = joined("a", "b")
    feed(windows, act(K.REJOIN, at, "b"), act(K.JOINED, 9, "a", 5))

    assert shown(list(windows.next_windows())) == [(4, "open", at if begins else 9, 9)]
    assert bool(list(windows.open_window())) is (at == 10)


@pytest.mark.parametrize("names", [("a",), ("a", "b")])
def test_one_that_goes_before_a_gap_began_an_unseen_generation(names: tuple[str, ...]) -> None:
    windows = feed(joined("a", "b"), act(K.REBALANCE_NOTICED, 3, "b"), act(K.JOINED, 9, "a", 6))
    assert shown(list(windows.next_windows())) == [(5, "open", 3, 9)]
    windows = feed(joined("a", "b"), act(K.LEAVE, 3, "b"), *(act(K.REJOIN, 5, name) for name in names[:1]), act(K.JOINED, 9, "a", 6))
    cut = list(windows.next_windows())
    assert shown(cut) == [(4, "superseded", 3, None), (5, "open", 5, 9)]
    assert [window.skipped_from for window in cut] == [None, 4]


@pytest.mark.parametrize(("generation", "skipped"), [(5, None), (6, 4)])
def test_generations_between_two_were_skipped(generation: int, skipped: int | None) -> None:
    (window,) = feed(joined("a"), act(K.JOINED, 9, "a", generation)).next_windows()

    assert window.skipped_from == skipped


def test_a_generation_without_an_assignment_before_the_next_was_superseded() -> None:
    windows = feed(ClientWindows(), act(K.JOINED, 0, "a", 4), act(K.JOINED, 9, "a", 5))

    assert [window.outcome for window in all_windows(windows)] == ["superseded", "open"]


def test_a_refused_join_began_nothing() -> None:
    windows = feed(joined("a", "b"), act(K.REJOIN, 5, "b"), act(K.JOIN_FAILED, 6, "b"), act(K.JOINED, 9, "a", 5))
    assert shown(list(windows.next_windows())) == [(4, "open", 9, 9)]
    windows = feed(joined("a", "b"), act(K.JOIN, 5, "c"), act(K.JOIN_FAILED, 6, "c", why="MEMBER_ID_REQUIRED"), act(K.JOINED, 9, "a", 5))
    assert shown(list(windows.next_windows())) == [(4, "open", 6, 9)]


def test_who_left_did_so_whatever_its_next_join_met() -> None:
    windows = feed(joined("a", "b"), act(K.LEAVE, 5, "b"), act(K.JOINED, 9, "a", 5), act(K.JOIN, 11, "b"), act(K.JOIN_FAILED, 12, "b"))

    assert shown(list(windows.next_windows())) == [(4, "open", 5, 9)]


@pytest.mark.parametrize(("at", "kept"), [(8, True), (9, True), (10, False)])
def test_what_stood_before_the_last_join_was_not_refused(at: int, kept: bool) -> None:
    windows = feed(joined("a", "b"), act(K.REJOIN, at, "b"), act(K.JOINED, 9, "b", 5), act(K.JOIN_FAILED, 12, "b"))

    (window,) = windows.next_windows()
    assert window.started is not None
    assert (window.started.kind is K.REJOIN) is kept
    assert list(windows.open_window()) == []


def test_requests_are_lost_with_the_coordinator_and_leaves_are_not() -> None:
    windows = feed(
        joined("a", "b"), act(K.REJOIN, 4, "b"), act(K.LEAVE, 5, "a"), act(K.LOST_COORDINATOR, 6, "b"), act(K.LOST_COORDINATOR, 6, "a")
    )

    assert [window.started and window.started.kind for window in windows.open_window()] == [K.LEAVE]


@pytest.mark.parametrize(
    ("cut_off", "in_touch", "counts"),
    [((), (), True), (("b",), (), False), (("a",), (), False), (("a",), ("b",), True), (("b",), ("a",), False), (("c",), (), True)],
)
def test_a_leave_without_a_coordinator_reaches_nobody(cut_off: tuple[str, ...], in_touch: tuple[str, ...], counts: bool) -> None:
    windows = feed(joined("a", "b"), *(act(K.LOST_COORDINATOR, 1, name) for name in cut_off), *(act(K.START, 2, name) for name in in_touch))

    assert bool(list(feed(windows, act(K.LEAVE, 5, "b")).open_window())) is counts


def test_a_coordinator_that_is_lost_and_found_is_found() -> None:
    windows = feed(joined("a", "b"), act(K.START, 1, "b"), act(K.LOST_COORDINATOR, 2, "b"), act(K.START, 3, "b"))
    assert list(feed(windows, act(K.LEAVE, 5, "b")).open_window())
    windows = feed(ClientWindows(), act(K.LOST_COORDINATOR, 2, "b"), act(K.LEAVE, 5, "b"))
    assert list(windows.open_window()) == []
    windows = feed(ClientWindows(), act(K.LOST_COORDINATOR, 2, "b"), act(K.JOIN, 4, "b"), act(K.LEAVE, 5, "c"))
    assert shown(list(windows.open_window())) == [(None, "open", 5, None)]
    assert shown(all_windows(feed(windows, act(K.JOINED, 9, "b", 4)))) == [(3, "open", 4, 9)]


@pytest.mark.parametrize(("at", "empty"), [(0, False), (1, True)])
def test_who_leaves_was_in_the_newest_generation(at: int, empty: bool) -> None:
    assert (feed(joined("a"), act(K.LEAVE, at)).due_at is not None) is empty


def test_openings_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_windows, "OPENINGS_MAX", 2)
    windows = feed(joined("a", "b"), *(act(K.REBALANCE_NOTICED, at, "a") for at in (1, 2, 3)))
    feed(windows, act(K.JOINED, 2, "b", 5), act(K.JOINED, 9, "b", 6))

    assert shown(all_windows(windows)) == [(4, "superseded", 1, 2), (5, "open", 9, 9)]


@pytest.mark.parametrize(("names", "start"), [("ab", 0), ("abc", 1)])
def test_clients_with_openings_are_kept_up_to_a_limit(names: str, start: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_windows, "CLIENTS_MAX", 2)
    windows = feed(ClientWindows(), *(act(K.JOIN, at, name) for at, name in enumerate(names)), act(K.JOINED, 9, "b", 4))

    assert shown(all_windows(windows)) == [(3, "open", start, 9)]


@pytest.mark.parametrize(("most", "began"), [(1, 9), (2, 2)], ids=["beyond the bound", "within it"])
def test_requests_that_a_loss_ended_are_kept_of_so_many_clients(most: int, began: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_windows, "CLIENTS_MAX", most)
    lost = [each for at, name in enumerate("ab", 1) for each in (act(K.JOIN, at, name), act(K.LOST_COORDINATOR, at, name))]
    windows = feed(ClientWindows(), *lost, act(K.JOINED, 9, "b", 4))

    assert shown(all_windows(windows)) == [(3, "open", began, 9)]


# -- groups that went empty ----------------------------------------------------------------------------------------


def test_a_group_whose_members_all_left_went_empty() -> None:
    windows = feed(joined("a", "b"), act(K.LEAVE, 5, "a"), act(K.LEAVE, 9, "b"))

    assert windows.due_at == NOW + 9 + CLIENT_WINDOW_HOLD_US + 1
    (window,) = all_windows(windows)
    assert shown([window]) == [(4, "empty", 5, 9)]
    assert (window.member_count, window.ended) == (0, window.joined)
    assert windows.due_at is None
    assert list(windows.open_window()) == []
    feed(windows, act(K.JOINED, 20, "a", 6))
    (again,) = all_windows(windows)
    assert (again.from_empty, again.skipped_from, again.generation_before) == (True, None, 5)


@pytest.mark.parametrize(("at", "empty"), [(8, True), (9, True), (10, False)])
def test_a_group_is_not_empty_if_somebody_joins_after(at: int, empty: bool) -> None:
    windows = feed(joined("a"), act(K.LEAVE, 9, "a"), act(K.JOIN, at, "c"))

    assert (windows.due_at is not None) is empty


@pytest.mark.parametrize(("generation", "outcomes"), [(5, ["open"]), (6, ["empty", "open"])])
def test_an_empty_generation_needs_a_number_between(generation: int, outcomes: list[str]) -> None:
    windows = feed(joined("a"), act(K.LEAVE, 5, "a"), act(K.JOINED, 9, "a", generation))

    assert [window.outcome for window in all_windows(windows)] == outcomes


@pytest.mark.parametrize(("before", "empty"), [(NEAR_US, False), (NEAR_US + 1, True)])
def test_strangers_may_have_been_members(before: int, empty: bool) -> None:
    windows = ClientWindows()
    stranger = client("JoinSent", NOW - before, client_id="x", member_id="X")
    windows.feed(stranger, [], ROSTER)
    feed(windows, act(K.JOINED, 0, "a", 4))
    list(windows.next_windows())
    feed(windows, act(K.LEAVE, 5, "a"))

    assert (windows.due_at is not None) is empty
    assert bool(list(windows.next_windows())) is empty


def test_a_known_member_among_others_is_no_stranger() -> None:
    def has_stranger(*names: str, member_id: str, again: bool = False) -> bool:
        windows = joined(*names)
        windows.feed(client("JoinSent", NOW + 1, client_id="a", member_id=member_id), [], ROSTER)
        if again:
            list(feed(windows, act(K.JOINED, 2, "a", 5)).next_windows())
        return feed(windows, *(act(K.LEAVE, 5, name) for name in names)).due_at is None

    assert not has_stranger("a", "b", member_id="A")
    assert has_stranger("a", "b", member_id="A2")
    assert has_stranger("a", member_id="A"), "one alone may be awaited by others without logs"
    assert not has_stranger("a", member_id="A", again=True)


@pytest.mark.parametrize(("kinds", "kept"), [((K.FENCED, K.FENCED), True), ((K.LEAVE, K.FENCED), False)])
def test_after_members_were_removed_at_once_others_joined_before_all_heard(kinds: tuple[ActionKind, ...], kept: bool) -> None:
    first, second = (act(kind, at, name, why="UNKNOWN_MEMBER_ID") for kind, at, name in zip(kinds, (5, 9), "ab", strict=True))
    windows = feed(joined("a", "b"), first, act(K.REBALANCE_NOTICED, 5, "c"), act(K.REBALANCE_NOTICED, 4, "d"), second)
    list(windows.next_windows())

    assert shown(all_windows(feed(windows, act(K.JOINED, 20, "c", 6)))) == [(5, "open", 5 if kept else 20, 20)]


def test_emptied_once() -> None:
    windows = feed(joined("a"), act(K.LEAVE, 5, "a"))

    assert len(list(windows.next_windows())) == 1
    assert list(windows.next_windows()) == []
    assert list(ClientWindows().next_windows()) == []


@pytest.mark.parametrize("generation", [4, 5, None])
def test_what_the_coordinator_announced_is_left_to_it(generation: int | None) -> None:
    windows = feed(ClientWindows(), act(K.JOINED, 0, "a", 4))
    if generation == 4:
        windows.feed(line("GenerationStarted", NOW, generation=4), [], ROSTER)
    list(windows.next_windows())
    windows.feed(line("GroupEmptied", NOW + 6, generation=generation), [], ROSTER)
    feed(windows, act(K.LEAVE, 5, "a"))

    assert bool(all_windows(windows)) is (generation is None)


# -- requests that began nothing -----------------------------------------------------------------------------------

SECOND = 1_000_000


@pytest.mark.parametrize(
    ("actions", "start"),
    [
        ([act(K.JOIN, SECOND, "x"), act(K.LEAVE, 20 * SECOND, "b")], 20 * SECOND),
        ([act(K.JOIN, SECOND, "x"), act(K.JOIN, SECOND + 4, "x"), act(K.LEAVE, 20 * SECOND, "b")], SECOND),
        ([act(K.JOIN, SECOND, "x"), act(K.REBALANCE_NOTICED, 4 * SECOND, "a"), act(K.LEAVE, 20 * SECOND, "b")], SECOND),
        ([act(K.JOIN, SECOND, None), act(K.LEAVE, 20 * SECOND, "b")], SECOND),
        ([act(K.JOIN, SECOND, "c"), act(K.JOINED, 21 * SECOND, "c", 5)], SECOND),
        ([act(K.JOIN, SECOND, "x")], SECOND),
    ],
    ids=["unanswered", "asked again", "heard of", "nobody's", "answered", "nothing else"],
)
def test_a_request_that_nobody_heard_of_begins_nothing(actions: list[MemberAction], start: int) -> None:
    windows = feed(joined("a", "b"), *actions, act(K.JOINED, 21 * SECOND, "a", 5))

    assert shown(all_windows(windows)) == [(4, "open", start, 21 * SECOND)]


def test_who_gets_its_generation_again_shows_that_a_rebalance_was_lost_with_its_coordinator() -> None:
    windows = feed(
        joined("a", "b", "c"),
        act(K.LEAVE, SECOND, "c"),
        act(K.REBALANCE_NOTICED, 2 * SECOND, "a"),
        act(K.REJOIN, 2 * SECOND, "a"),
        act(K.LOST_COORDINATOR, 3 * SECOND, "a"),
        act(K.REJOIN, 4 * SECOND, "a"),
        act(K.JOINED, 5 * SECOND, "a", 4),
        act(K.JOIN, 7 * SECOND, "c"),
        act(K.REBALANCE_NOTICED, 8 * SECOND, "a"),
        act(K.JOINED, 9 * SECOND, "a", 5),
    )

    assert shown(all_windows(windows)) == [(4, "coordinator_lost", SECOND, None), (4, "open", 7 * SECOND, 9 * SECOND)]


def test_who_gets_its_generation_again_in_a_quiet_group_shows_nothing() -> None:
    windows = feed(joined("a", "b"), act(K.REJOIN, 4 * SECOND, "a"), act(K.JOINED, 5 * SECOND, "a", 4))
    feed(windows, act(K.LEAVE, 7 * SECOND, "b"), act(K.JOINED, 9 * SECOND, "a", 5))

    assert shown(all_windows(windows)) == [(4, "open", 7 * SECOND, 9 * SECOND)]


def test_members_that_left_with_a_generation_unseen_do_not_begin_the_next() -> None:
    assigned = replace(client("Synced", NOW, client_id="b", protocol="range"), message="kafka.client.synced")
    windows = feed(joined("a", "b"), MemberAction(K.SYNCED, NOW, "B", "b", None, None, 4, assigned))
    feed(windows, act(K.JOIN, 1, "b"), act(K.REJOIN, 2, "a"), act(K.LEAVE, 5, "b"), act(K.LEAVE, 6, "a"))
    feed(windows, act(K.JOIN, 20, "a"), act(K.JOINED, 21, "a", 6))

    assert shown(all_windows(windows)) == [(4, "superseded", 1, None), (5, "open", 20, 21)]


ASKS, ASKS_AGAIN = act(K.JOIN, 3, "a"), act(K.JOIN, 6, "a")


@pytest.mark.parametrize(
    ("actions", "generation", "expected"),
    [
        ([ASKS, act(K.START, 5, "a"), ASKS_AGAIN], 6, [(4, "superseded", 3), (5, "open", 6)]),
        ([ASKS, act(K.START, 5, "a"), ASKS_AGAIN], 5, [(4, "open", 3)]),
        ([ASKS, act(K.START, 3, "a"), ASKS_AGAIN], 6, [(5, "open", 3)]),
        ([ASKS, act(K.START, 5, "b"), ASKS_AGAIN], 6, [(5, "open", 3)]),
        ([act(K.JOIN, 2, "x"), act(K.REBALANCE_NOTICED, 3, "b"), ASKS_AGAIN], 6, [(4, "superseded", 2), (5, "open", 6)]),
        ([act(K.JOIN, 2, "x"), act(K.REBALANCE_NOTICED, 3, "b"), ASKS_AGAIN], 5, [(4, "open", 2)]),
        ([ASKS, act(K.LOST_COORDINATOR, 4, "a"), act(K.START, 5, "a"), ASKS_AGAIN], 6, [(5, "open", 6)]),
        ([act(K.REBALANCE_NOTICED, 2, "b"), ASKS, act(K.START, 5, "a"), ASKS_AGAIN], 6, [(5, "open", 2)]),
        ([ASKS, act(K.START, 5, "a"), act(K.START, 7, "b"), act(K.JOIN, 8, "b"), ASKS_AGAIN], 6, [(4, "superseded", 3), (5, "open", 6)]),
    ],
    ids=[
        "ended",
        "no generation between",
        "no other process",
        "another's process",
        "another's request",
        "another's request for this one",
        "refused",
        "begun by others",
        "both ended",
    ],
)
def test_a_generation_of_processes_that_ended_before_an_answer_is_a_rebalance_of_its_own(
    actions: list[MemberAction], generation: int, expected: list[tuple[int, str, int]]
) -> None:
    windows = feed(joined("a", "b"), *sorted(actions, key=lambda action: action.at), act(K.JOINED, 9, "a", generation))

    assert [window[:3] for window in shown(all_windows(windows))] == expected


@pytest.mark.parametrize(
    ("member_id", "generation", "count", "outcome"),
    [("A2", 6, 2, "empty"), ("A2", 7, 2, "superseded"), ("A", 6, 2, "superseded"), ("A2", 6, 3, "superseded")],
    ids=["all gone", "two generations between", "one is still there", "others"],
)
def test_a_generation_that_no_known_member_is_in_was_an_empty_one(member_id: str, generation: int, count: int, outcome: str) -> None:
    windows = joined("a", "b")
    assignments = ", ".join(f"{name}=Assignment(partitions=[])" for name in "ABC"[:count])
    windows.feed(client("AssignmentMade", NOW + 1, generation=4, assignments=f"{{{assignments}}}"), [], ROSTER)
    feed(windows, act(K.LEAVE, 3, "b"), act(K.JOIN, 6, "a"), replace(act(K.JOINED, 9, "a", generation), member_id=member_id))
    cut = list(windows.next_windows())

    assert [window[:3] for window in shown(cut)] == [(4, outcome, 3), (generation - 1, "open", 6)]
    assert [window.from_empty for window in cut] == [False, outcome == "empty"]


def by_java(kind: ActionKind, at: int, who: str) -> MemberAction:
    action = act(kind, at, who)
    return replace(action, event=replace(action.event, message="kafka.client.note"))


LEFT, LATER = act(K.LEAVE, 5 * SECOND, "a"), 20 * SECOND
OTHER = (act(K.START, LATER - 1, "c", node="2"), act(K.JOIN, LATER, "c"), act(K.START, LATER + 1, "b", node="2"))
SAME = (act(K.START, LATER - 1, "c", node="1"), act(K.JOIN, LATER, "c"))


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        ([LEFT, *OTHER], [(4, "open", LATER)]),
        ([LEFT, *SAME], [(4, "open", 5 * SECOND)]),
        ([LEFT, act(K.START, LATER - 1, "c"), act(K.JOIN, LATER, "c")], [(4, "open", 5 * SECOND)]),
        ([LEFT, act(K.REBALANCE_NOTICED, 6 * SECOND, "b"), *OTHER], [(4, "coordinator_lost", 5 * SECOND), (4, "open", LATER)]),
        ([LEFT, act(K.LOST_COORDINATOR, 9 * SECOND, "b"), *SAME], [(4, "open", LATER)]),
        ([LEFT, act(K.LOST_COORDINATOR, 9 * SECOND + 1, "b"), *SAME], [(4, "open", 5 * SECOND)]),
        ([LEFT, act(K.LOST_COORDINATOR, 9 * SECOND, "a"), *SAME], [(4, "open", 5 * SECOND)]),
        ([LEFT, act(K.REBALANCE_NOTICED, 6 * SECOND, "b"), act(K.LOST_COORDINATOR, 7 * SECOND, "b"), *SAME], [(4, "open", 5 * SECOND)]),
        ([LEFT, act(K.LOST_COORDINATOR, 7 * SECOND, "b"), act(K.REBALANCE_NOTICED, LATER, "b")], [(4, "open", 5 * SECOND)]),
        ([LEFT, by_java(K.LEAVE, LATER, "d")], [(4, "open", LATER)]),
        ([LEFT, by_java(K.LEAVE, 9 * SECOND, "d")], [(4, "open", 5 * SECOND)]),
        ([LEFT, act(K.LEAVE, LATER, "d")], [(4, "open", 5 * SECOND)]),
        ([LEFT, *SAME, by_java(K.REBALANCE_NOTICED, LATER + 1, "b")], [(4, "open", LATER)]),
        ([LEFT, by_java(K.REBALANCE_NOTICED, LATER, "b")], [(4, "open", 5 * SECOND)]),
        ([act(K.POLL_TIMEOUT, 5 * SECOND - 1, "a"), LEFT, *OTHER], [(4, "open", LATER)]),
    ],
    ids=[
        "another coordinator",
        "the same coordinator",
        "an unknown coordinator",
        "heard of at the old coordinator",
        "others lose it soon",
        "others lose it later",
        "it loses it",
        "heard of before it was lost",
        "heard of as it is found again",
        "nobody heard of it",
        "nobody had to hear of it",
        "nobody would tell",
        "heard of another one",
        "heard of late",
        "after a late poll",
    ],
)
def test_a_leave_that_no_coordinator_heard_begins_nothing(actions: list[MemberAction], expected: list[tuple[int, str, int]]) -> None:
    windows = feed(joined("a", "b", "d"), *(act(K.START, 1, name, node="1") for name in "abd"))
    feed(windows, *sorted(actions, key=lambda action: action.at), act(K.JOINED, 30 * SECOND, "b", 5))

    assert [window[:3] for window in shown(all_windows(windows))] == expected


@pytest.mark.parametrize(
    ("generation", "expected"),
    [(5, [(4, "open", LATER)]), (6, [(4, "empty", 5 * SECOND), (5, "open", LATER)])],
)
def test_the_only_member_left_unheard_if_its_group_never_went_empty(generation: int, expected: list[tuple[int, str, int]]) -> None:
    windows = feed(joined("a"), LEFT, act(K.JOIN, LATER, "a"), act(K.JOINED, LATER + 9, "a", generation))

    assert [window[:3] for window in shown(all_windows(windows))] == expected


def test_a_group_goes_empty_from_the_first_leave_that_was_heard() -> None:
    windows = feed(joined("a", "b"), LEFT, by_java(K.LEAVE, LATER, "b"))

    assert [window[:3] for window in shown(all_windows(windows))] == [(4, "empty", LATER)]
    windows = feed(joined("a", "b"), *(act(K.START, 1, name, node="1") for name in "ab"), LEFT)
    feed(windows, act(K.START, LATER - 1, "b", node="2"), act(K.LEAVE, LATER, "b"))
    assert [window[:3] for window in shown(all_windows(windows))] == [(4, "empty", LATER)]


def test_at_the_logs_end_a_leave_at_another_coordinator_began_nothing() -> None:
    windows = feed(joined("a", "b"), *(act(K.START, 1, name, node="1") for name in "ab"), LEFT, *OTHER)

    assert [window[:3] for window in shown(list(windows.open_window()))] == [(4, "open", LATER)]


# -- the logs' end -------------------------------------------------------------------------------------------------


def test_at_the_logs_end_a_rebalance_is_under_way() -> None:
    assert list(joined("a", "b").open_window()) == []
    windows = feed(joined("a", "b"), act(K.REBALANCE_NOTICED, 5, "b"))
    assert shown(list(windows.open_window())) == [(4, "open", 5, None)]
    windows = ClientWindows()
    windows.feed(client("MemberState", NOW, client_id="c", to_state="STABLE"), [], ROSTER)
    list(feed(windows, act(K.JOINED, 0, "a", 4), act(K.JOINED, 0, "b", 4)).next_windows())
    assert list(feed(windows, act(K.REBALANCE_NOTICED, 5, "b")).open_window()) == []


HEARD = client_generations.HEARD_US


@pytest.mark.parametrize(
    ("action", "starts"),
    [
        (act(K.FENCED, 5, "b", why="UNKNOWN_MEMBER_ID"), [5]),
        (act(K.FENCED, 5, None, why="UNKNOWN_MEMBER_ID"), [5]),
        (act(K.FENCED, 5, "c", why="UNKNOWN_MEMBER_ID"), []),
        (act(K.FENCED, 5, "b", why="other"), []),
        (act(K.FENCED, HEARD + 1, "b", why="ILLEGAL_GENERATION"), [HEARD + 1]),
        (act(K.FENCED, HEARD + 1, None, why="ILLEGAL_GENERATION"), [HEARD + 1]),
        (act(K.FENCED, HEARD, "b", why="ILLEGAL_GENERATION"), []),
        (act(K.FENCED, HEARD + 1, "b", 4, why="ILLEGAL_GENERATION"), [HEARD + 1]),
        (act(K.FENCED, HEARD + 1, "b", 3, why="ILLEGAL_GENERATION"), []),
    ],
)
def test_at_the_logs_end_a_refused_heartbeat_shows_a_rebalance(action: MemberAction, starts: list[int]) -> None:
    expected = [(4, "open", at, None) for at in starts]
    assert shown(list(feed(joined("a", "b"), action).open_window())) == expected
    assert shown(list(feed(joined("a", "b"), action, act(K.NAMELESS_JOIN, HEARD + 9, None)).open_window()))[:1] == (
        expected or [(4, "open", HEARD + 9, None)]
    )


def test_at_the_logs_end_a_group_may_be_empty_and_begun_anew() -> None:
    windows = feed(joined("a"), act(K.LEAVE, 5, "a"), act(K.JOIN, 9, "c"))
    cut = list(windows.open_window())
    assert shown(cut) == [(4, "empty", 5, 5), (5, "open", 9, None)]
    assert cut[1].from_empty
    windows = feed(joined("a"), act(K.LEAVE, 5, "a"), act(K.REBALANCE_NOTICED, 9, "c"))
    assert shown(list(windows.open_window())) == [(4, "empty", 5, 5)]
    windows = feed(joined("a"), act(K.JOIN, 3, "c"), act(K.LEAVE, 5, "a"))
    assert shown(list(windows.open_window())) == [(4, "open", 3, None)]


@pytest.mark.parametrize(
    ("actions", "starts"),
    [
        ([act(K.JOIN, 0, "c")], []),
        ([act(K.WANTS_REJOIN, 0, "c", why="group is already rebalancing")], [0]),
        ([act(K.REBALANCE_NOTICED, 0, "c")], [0]),
        ([act(K.LEAVE, 0, "c")], [0]),
        ([act(K.LEAVE, 0, "c"), act(K.JOIN, CLIENT_WINDOW_HOLD_US, "c")], [0]),
        ([act(K.LEAVE, 0, "c"), act(K.JOIN, CLIENT_WINDOW_HOLD_US + 1, "c")], [0, CLIENT_WINDOW_HOLD_US + 1]),
        ([act(K.LEAVE, 0, "c"), act(K.JOIN, CLIENT_WINDOW_HOLD_US + 1, "d")], [0]),
        ([act(K.LEAVE, 0, "c"), act(K.JOIN, 5, "c"), act(K.JOIN, CLIENT_WINDOW_HOLD_US + 9, "c")], [0]),
        ([act(K.LEAVE, 0, "c"), act(K.REBALANCE_NOTICED, 5, "d"), act(K.REBALANCE_NOTICED, CLIENT_WINDOW_HOLD_US + 5, "d")], [0]),
    ],
)
def test_rebalances_without_any_join_are_shown(actions: list[MemberAction], starts: list[int]) -> None:
    windows = feed(ClientWindows(), *actions)

    assert shown(list(windows.open_window())) == [(None, "open", at, None) for at in starts]
    windows.of_epochs = True
    assert list(windows.open_window()) == []


def test_where_the_coordinator_tells_none_are_shown() -> None:
    windows = ClientWindows()
    windows.feed(line("GroupEmptied", NOW, generation=3), [], ROSTER)

    assert list(feed(windows, act(K.LEAVE, 0, "c")).open_window()) == []
