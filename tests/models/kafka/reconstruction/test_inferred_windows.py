"""Windows of members' logs among the coordinator's: each condition alone."""

from __future__ import annotations

import pytest

from models.events import Event, Witness
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.classic_states import ObservedTransition, RebalanceWindow
from models.kafka.reconstruction.client_generations import ClientWindow
from models.kafka.reconstruction.inferred_windows import WORKED_ON_US, adopt
from tests.models.kafka.reconstruction.lines import client, line

NOW = 1_000_000_000
K = ActionKind


def act(kind: ActionKind, at: int) -> MemberAction:
    return MemberAction(kind, NOW + at, "A", "a", None, None, None, client("Note", NOW + at, client_id="a", member_id="A"))


def window(
    before: int | None, outcome: str, started: int | None, joined: int | None = None, ended: int | None = None, **values: object
) -> ClientWindow:
    kind = values.pop("kind", K.JOIN)
    actions = [act(kind, at) if at is not None else None for kind, at in ((kind, started), (K.JOINED, joined), (K.SYNCED, ended))]  # type: ignore[arg-type]
    return ClientWindow(before, values.pop("from_empty", False), outcome, *actions, **values)  # type: ignore[arg-type]


def replay(*events: Event) -> ClassicReplay:
    group = ClassicReplay(Roster())
    for event in events:
        group.feed(event)
    return group


def coordinator(at: int, name: str, **values: object) -> Event:
    return line(name, NOW + at, node="1", **values)


STABLE = (
    coordinator(0, "RebalanceStarted", generation=4),
    coordinator(3, "GenerationStarted", generation=5, member_count=2),
    coordinator(5, "AssignmentReceived", generation=5),
)
LATER = (coordinator(30, "RebalanceStarted", generation=6), coordinator(33, "GenerationStarted", generation=7))


def states(group: ClassicReplay) -> list[str]:
    return [f"{change.before} {change.after} {change.event.time_us - NOW}" for change in group.changes]


def test_a_window_after_all_others_goes_on_from_them() -> None:
    group = replay(*STABLE)
    adopt(group, window(5, "stable", 10, 13, 15, member_count=3), 1)
    added = group.windows[1]

    assert states(group)[3:] == [
        "Stable PreparingRebalance 10",
        "PreparingRebalance CompletingRebalance 13",
        "CompletingRebalance Stable 15",
    ]
    assert (added.generation_before, added.generation_after, added.outcome, added.ended_at, added.members_after) == (
        5,
        6,
        "stable",
        NOW + 15,
        3,
    )
    assert (added.witness, added.inferred_steps, added.state_before, added.members_before) == (Witness.CLIENT, 3, State.STABLE, None)
    assert (added.previous_joined_at, added.previous_ended_at) == (NOW + 3, NOW + 5)
    assert (group.group.state, group.group.generation, group.group.member_count) == (State.STABLE, 6, 3)
    assert added.started is not None
    assert (added.started.name, added.started.generation, added.started.client_id, added.started.node) == (
        "RebalanceStarted",
        5,
        None,
        None,
    )
    following = replay(*STABLE)
    adopt(following, window(5, "stable", 10, 13, 15), 1)
    following.feed(coordinator(20, "RebalanceStarted", generation=6))
    assert (following.windows[-1].previous_joined_at, following.windows[-1].previous_ended_at) == (NOW + 13, NOW + 15)


def test_a_window_that_is_still_joining_keeps_the_generation() -> None:
    group = replay(*STABLE)
    adopt(group, window(5, "open", 10), 1)

    assert (group.group.state, group.group.generation) == (State.PREPARING_REBALANCE, 5)
    assert group.windows[1].outcome == "open"
    group = replay(*STABLE)
    adopt(group, window(None, "open", 10), 1)
    assert group.group.generation == 5


@pytest.mark.parametrize(("outcome", "windows"), [("stable", 3), ("open", 2)])
def test_a_window_between_others_is_inserted_if_it_ended(outcome: str, windows: int) -> None:
    group = replay(*STABLE, *LATER)
    adopt(group, window(5, outcome, 10, 13, 15 if outcome == "stable" else None), 1)

    assert len(group.windows) == windows
    if windows == 3:
        assert [each.generation_before for each in group.windows] == [4, 5, 6]
        assert (group.windows[2].previous_joined_at, group.windows[2].previous_ended_at) == (NOW + 13, NOW + 15)
        assert states(group)[3:] == [
            "Stable PreparingRebalance 10",
            "PreparingRebalance CompletingRebalance 13",
            "CompletingRebalance Stable 15",
            "Stable PreparingRebalance 30",
            "PreparingRebalance CompletingRebalance 33",
        ]


def test_a_window_stands_behind_those_that_are_ranked() -> None:
    group = replay(*STABLE, *LATER)
    adopt(group, window(5, "stable", -10, -7, -5), 1)
    assert [each.generation_before for each in group.windows] == [4, 5, 6]
    group = replay(*STABLE)
    adopt(group, window(5, "stable", 10, 13, 15), 9)
    assert len(group.windows) == 2


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        (State.STABLE, State.PREPARING_REBALANCE, State.STABLE),
        (State.EMPTY, State.PREPARING_REBALANCE, State.STABLE),
        (State.EMPTY, State.STABLE, None),
    ],
)
def test_steps_that_follow_keep_the_chain(before: State, after: State, expected: State | None) -> None:
    group = replay(*STABLE, *LATER)
    group.changes = [*group.changes[:3], ObservedTransition(before, after, False, LATER[0], 6, None, None)]
    adopt(group, window(5, "stable", 10, 13, 15), 1)

    assert (group.changes[-1].before, len(group.changes)) == (expected, 7)


def test_steps_of_one_line_stay_together() -> None:
    line_of_two = coordinator(10, "AssignmentReceived", generation=5)
    group = replay(*STABLE, *LATER)
    pair = [ObservedTransition(None, State.PREPARING_REBALANCE, True, line_of_two, 5, None, None)] * 2
    group.changes = [*pair, ObservedTransition(State.STABLE, State.PREPARING_REBALANCE, False, LATER[0], 6, None, None)]
    group.windows[0].ended_at = NOW + 5
    adopt(group, window(5, "stable", 10, 13, 15), 1)
    assert [change.event.time_us - NOW for change in group.changes] == [10, 10, 10, 13, 15, 30]
    earlier = coordinator(8, "AssignmentReceived", generation=5)
    group = replay(*STABLE, *LATER)
    group.changes = [ObservedTransition(None, State.STABLE, True, earlier, 5, None, None)]
    adopt(group, window(5, "stable", 7, 13, 15), 1)
    assert [change.event.time_us - NOW for change in group.changes] == [7, 13, 15, 8]


def test_a_gap_before_a_generation_is_a_finding() -> None:
    group = replay(*STABLE)
    adopt(group, window(7, "stable", 10, 13, 15, skipped_from=5), 1)
    assert [(finding.expected, finding.observed) for finding in group.findings] == [("generation 6", "generation 8")]
    assert group.windows[1].state_before is None
    group = replay(*STABLE)
    adopt(group, window(7, "stable", 10, 13, 15), 1)
    assert group.findings == []


# -- beginnings of announced generations ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("started", "before", "from_empty", "begins"),
    [(2, 4, False, True), (3, 4, False, False), (4, 4, False, False), (2, 5, False, False), (2, 4, True, True)],
)
def test_members_tell_how_an_announced_rebalance_began(started: int, before: int, from_empty: bool, begins: bool) -> None:
    group = replay(*STABLE[1:])
    adopt(group, window(before, "stable", started, 3, from_empty=from_empty, is_announced=True), 0)
    (only,) = group.windows

    assert (only.started is not None) is begins
    assert only.witness is (Witness.CLIENT if begins else Witness.COORDINATOR)
    assert only.state_before is (State.EMPTY if from_empty else None)
    adopt(group, window(before, "stable", 1, 3, is_announced=True), 0)
    assert len(group.windows) == 1


def test_a_start_that_the_coordinator_told_or_that_is_ranked_is_kept() -> None:
    group = replay(*STABLE)
    adopt(group, window(4, "stable", -2, 3, is_announced=True), 0)
    assert group.windows[0].started is STABLE[0]
    group = replay(*STABLE[1:])
    adopt(group, window(4, "stable", 2, 3, is_announced=True), 1)
    assert group.windows[0].started is None
    adopt(group, window(4, "stable", None, 3, is_announced=True), 0)
    assert group.windows[0].started is None


# -- windows that were open -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("known", "same"), [(4, True), (5, False), (None, False)])
def test_the_coordinators_lines_may_end_within_the_rebalance(known: int | None, same: bool) -> None:
    group = replay(STABLE[0])
    group.windows[0].generation_before = 4 if known is not None else None
    adopt(group, window(known, "stable", 1, 3, 5), 0)

    assert len(group.windows) == (1 if same else 2)
    assert group.windows[-1].outcome == "stable"
    if same:
        assert (group.windows[0].inferred_steps, group.windows[0].generation_after) == (2, 5)
        assert states(group)[1:] == ["PreparingRebalance CompletingRebalance 3", "CompletingRebalance Stable 5"]


@pytest.mark.parametrize(
    ("joined", "kind", "after", "outcome"),
    [
        (True, K.JOIN, WORKED_ON_US, "superseded"),
        (True, K.JOIN, WORKED_ON_US + 1, "stable"),
        (True, K.SYNC_FAILED, WORKED_ON_US + 1, "superseded"),
        (False, K.JOIN, 5, "stable"),
        (False, K.REVOKE, 5, "stable"),
        (False, K.LEAVE, 5, "superseded"),
    ],
)
def test_a_window_without_an_end_ended_as_its_member_went_on(joined: bool, kind: ActionKind, after: int, outcome: str) -> None:
    group = replay(*STABLE)
    adopt(group, window(5, "open", 10, 13 if joined else None), 1)
    steps = group.windows[1].inferred_steps
    adopt(group, window(6, "open", 13 + after, kind=kind), 1)
    first = group.windows[1]

    assert first.outcome == outcome
    ends = {"superseded": 13 + after, "stable": 13}[outcome] if joined or outcome == "superseded" else None
    assert first.ended_at == (NOW + ends if ends is not None else None)
    assert first.inferred_steps - steps == (1 if joined and outcome == "stable" else 0)
    assert ("CompletingRebalance Stable 13" in states(group)) is (joined and outcome == "stable")


def test_a_coordinators_window_is_superseded() -> None:
    group = replay(*STABLE, coordinator(10, "RebalanceStarted", generation=5), coordinator(13, "GenerationStarted", generation=6))
    adopt(group, window(6, "open", 14 + WORKED_ON_US), 2)

    assert (group.windows[1].outcome, group.windows[1].ended_at) == ("superseded", NOW + 14 + WORKED_ON_US)


# -- states -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("events", "before", "from_empty", "at", "state"),
    [
        (STABLE, 5, False, 10, State.STABLE),
        (STABLE, 6, False, 10, None),
        (STABLE, None, False, 10, None),
        (STABLE, 6, True, 10, State.EMPTY),
        ((*STABLE, coordinator(7, "GroupEmptied", generation=6)), 6, False, 10, State.EMPTY),
        ((*STABLE, coordinator(7, "GroupDied")), 5, False, 10, State.EMPTY),
        ((*STABLE, coordinator(10, "GroupDied")), 5, False, 10, State.EMPTY),
        (STABLE[:2], 5, False, 10, State.COMPLETING_REBALANCE),
        ((), 5, False, 10, None),
        ((), None, False, 10, None),
    ],
)
def test_the_state_before_follows_from_the_window_before(
    events: tuple[Event, ...], before: int | None, from_empty: bool, at: int, state: State | None
) -> None:
    group = replay(*events)
    adopt(group, window(before, "stable", at, at + 3, at + 5, from_empty=from_empty), 0)

    assert group.windows[-1].state_before is state
    assert group.windows[-1].members_before == (0 if state is State.EMPTY else None)


def test_nameless_windows_follow_each_other() -> None:
    group = replay()
    adopt(group, window(None, "stable", 1, 3, 5), 0)
    adopt(group, window(None, "stable", 11, 13, 15), 0)

    assert [each.state_before for each in group.windows] == [None, State.STABLE]


def test_a_window_ends_empty() -> None:
    group = replay(*STABLE)
    adopt(group, window(5, "empty", 10, 12, 12, member_count=0), 1)
    added = group.windows[1]

    assert (added.outcome, added.generation_after, added.members_after) == ("empty", None, 0)
    assert states(group)[3:] == ["Stable PreparingRebalance 10", "PreparingRebalance Empty 12"]
    assert [event.name for event in (added.joined, added.ended) if event] == ["GroupEmptied", "GroupEmptied"]
    assert group.group.state is State.EMPTY


@pytest.mark.parametrize(("loaded", "before"), [(None, "Stable"), ("GroupLoaded", None)])
def test_a_load_between_may_have_changed_the_state(loaded: str | None, before: str | None) -> None:
    group = replay(*STABLE)
    if loaded:
        group.changes.append(ObservedTransition(State.STABLE, State.DEAD, False, coordinator(8, loaded), 5, None, None))
    adopt(group, window(5, "stable", 10, 13, 15), 1)

    assert states(group)[-3] == f"{before} PreparingRebalance 10"


@pytest.mark.parametrize(("at_us", "time", "order"), [(NOW, NOW + 10, NOW), (None, NOW + 10, NOW + 10)])
def test_an_inferred_line_has_the_coordinators_time(at_us: int | None, time: int, order: int) -> None:
    event = Event("Note", at_us, NOW, client("Note", NOW).place, Witness.CLIENT)
    group = replay()
    adopt(group, ClientWindow(5, False, "open", MemberAction(K.JOIN, NOW + 10, "A", "a", None, None, None, event)), 0)
    started = group.windows[0].started

    assert started is not None
    assert (started.at_us is None, started.time_us, started.order_us) == (at_us is None, time, order)


def test_windows_of_one_generation_are_numbered() -> None:
    assert RebalanceWindow(0, 4, None).ordinal == 0
    group = replay(*STABLE)
    adopt(group, window(4, "stable", 10, 13, 15), 1)
    assert group.windows[1].ordinal == 1
