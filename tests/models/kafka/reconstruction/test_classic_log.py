"""Windows of classic groups by coordinators' lines: each condition alone."""

from __future__ import annotations

import pytest

from models.events import Event, Witness
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.roster import Roster
from models.kafka.reconstruction.classic_log import ClassicReplay
from models.kafka.reconstruction.classic_states import RebalanceWindow
from tests.models.kafka.reconstruction.lines import client, line

NOW = 1_000_000_000


def at(second: int, name: str, node: str | None = "1", **values: object) -> Event:
    return line(name, NOW + second, node=node, **values)


def replay(*events: Event) -> ClassicReplay:
    group = ClassicReplay(Roster())
    for event in events:
        group.feed(event)
    return group


STARTED, JOINED, SYNCED = (
    at(0, "RebalanceStarted", generation=4),
    at(3, "GenerationStarted", generation=5, member_count=2, partition=7),
    at(5, "AssignmentReceived", generation=5, member_id="A", member_count=2),
)
STABLE = (STARTED, JOINED, SYNCED)


def outcomes(group: ClassicReplay) -> list[tuple[int | None, int | None, str, int | None]]:
    return [
        (window.generation_before, window.generation_after, window.outcome, window.ended_at - NOW if window.ended_at is not None else None)
        for window in group.windows
    ]


def states(group: ClassicReplay) -> list[str]:
    return [f"{change.before} {change.after}{' inferred' if change.inferred else ''}" for change in group.changes]


@pytest.mark.parametrize(
    ("joined", "generation", "witness", "outcome", "expected"),
    [
        (None, None, Witness.CLIENT, "superseded", True),
        (JOINED, None, Witness.CLIENT, "superseded", False),
        (None, 4, Witness.CLIENT, "superseded", False),
        (None, None, Witness.REQUEST, "superseded", False),
        (None, None, Witness.CLIENT, "open", False),
    ],
)
def test_departures_that_members_logs_alone_tell_have_no_end(
    joined: Event | None, generation: int | None, witness: Witness, outcome: str, expected: bool
) -> None:
    window = RebalanceWindow(0, generation, None, joined=joined, witness=witness, outcome=outcome)

    assert window.has_unseen_end is expected


def test_a_window_has_the_times_of_its_lines() -> None:
    window = RebalanceWindow(0, 4, None, started=STARTED, joined=JOINED, ended_at=NOW + 5)
    assert (window.began, window.open_until, window.is_inferred) == (NOW, NOW + 3, False)
    window.started = None
    assert (window.began, window.started_at) == (NOW + 3, None)
    window.joined = None
    assert (window.began, window.open_until, window.joined_at) == (NOW + 5, NOW + 5, None)


def test_a_rebalance_from_its_start_to_its_assignment() -> None:
    group = replay(*STABLE)
    (window,) = group.windows

    assert outcomes(group) == [(4, 5, "stable", 5)]
    assert (window.ordinal, window.partition, window.leader, window.members_after, window.inferred_steps) == (0, 7, "A", 2, 0)
    assert (group.group.state, group.group.generation, group.group.leader, group.group.member_count) == (State.STABLE, 5, "A", 2)
    assert group.findings == []
    following = replay(*STABLE, at(9, "RebalanceStarted", generation=5)).windows[-1]
    assert (following.previous_joined_at, following.previous_ended_at) == (NOW + 3, NOW + 5)
    assert (following.members_before, following.state_before) == (2, State.STABLE)


def test_only_lines_of_the_coordinator_are_read() -> None:
    group = ClassicReplay(Roster())

    assert not group.feed(at(0, "TargetComputed", generation=4))
    assert group.feed(STARTED)


def test_rebalances_of_one_generation_are_numbered() -> None:
    group = replay(STARTED, at(1, "RebalanceStarted", generation=4), at(2, "RebalanceStarted", generation=4))

    assert [window.ordinal for window in group.windows] == [0, 1, 2]
    assert outcomes(group)[:2] == [(4, None, "superseded", 1), (4, None, "superseded", 2)]
    assert [window.inferred_steps for window in group.windows] == [1, 2, 1]


def test_a_start_after_a_join_phase_ends_it_without_a_step() -> None:
    group = replay(STARTED, JOINED, at(9, "RebalanceStarted", generation=5))

    assert outcomes(group)[0] == (4, 5, "superseded", 9)
    assert group.windows[0].inferred_steps == 0


def test_a_conversion_ends_what_is_under_way() -> None:
    group = replay(STARTED)
    group.converted(at(9, "GroupConverted"))
    assert outcomes(group) == [(4, None, "superseded", 9)]
    group = replay(*STABLE)
    group.converted(at(9, "GroupConverted"))
    assert outcomes(group) == [(4, 5, "stable", 5)]


def test_a_generation_without_a_start() -> None:
    group = replay(JOINED)
    assert (group.windows[0].inferred_steps, group.windows[0].generation_before, group.windows[0].started) == (1, 4, None)
    assert replay(at(0, "GenerationStarted", generation=1)).windows[0].state_before is State.EMPTY
    group = replay(*STABLE, at(9, "GenerationStarted", generation=6))
    assert (group.findings, group.windows[1].inferred_steps) == ([], 2)
    group = replay(*STABLE, at(9, "GenerationStarted", generation=7))
    assert [(finding.expected, finding.observed) for finding in group.findings] == [("generation 6", "generation 7")]
    group = replay(STARTED, JOINED, at(9, "GenerationStarted", generation=6))
    assert outcomes(group) == [(4, 5, "superseded", 9), (5, 6, "open", None)]


@pytest.mark.parametrize(("generation", "findings"), [(5, 0), (6, 1), (4, 1)])
def test_a_generation_follows_the_one_before(generation: int, findings: int) -> None:
    group = replay(STARTED, at(3, "GenerationStarted", generation=generation))

    assert (len(group.findings), group.windows[0].unexplained_lines) == (findings, findings)


def test_a_generation_tells_the_one_before_that_no_start_does() -> None:
    group = replay(at(0, "MembersNotRejoined", members=["a"]), JOINED)

    assert [(window.generation_before, window.generation_after) for window in group.windows] == [(4, 5)]
    assert group.findings == []


@pytest.mark.parametrize(
    ("generation", "outcome", "windows"), [(5, "stable", 1), (6, "stable", 2)], ids=["sent again", "of another generation"]
)
def test_an_assignment_that_is_sent_again_is_no_other(generation: int, outcome: str, windows: int) -> None:
    group = replay(*STABLE, at(9, "AssignmentReceived", generation=generation, member_id="B"))

    assert len(group.windows) == windows
    assert group.windows[-1].outcome == outcome
    assert group.windows[-1].leader == ("A" if windows == 1 else "B")


def test_an_assignment_without_a_generations_line() -> None:
    group = replay(STARTED, at(5, "AssignmentReceived", generation=5))
    assert (outcomes(group), group.windows[0].inferred_steps) == ([(4, 5, "stable", 5)], 1)
    group = replay(at(5, "AssignmentReceived", generation=5, member_count=3))
    assert (outcomes(group), group.windows[0].inferred_steps) == ([(4, 5, "stable", 5)], 2)
    assert group.windows[0].members_after == 3
    assert replay(*STABLE, at(9, "RebalanceStarted", generation=5)).windows[1].previous_joined_at == NOW + 3
    later = replay(STARTED, at(5, "AssignmentReceived", generation=5), at(9, "RebalanceStarted", generation=5)).windows[1]
    assert later.previous_joined_at == NOW + 5


def test_an_assignment_keeps_the_count_that_the_generation_told() -> None:
    group = replay(STARTED, JOINED, at(5, "AssignmentReceived", generation=5))

    assert (group.windows[0].members_after, group.windows[0].leader) == (2, None)


def test_a_group_goes_empty() -> None:
    group = replay(*STABLE, at(9, "RebalanceStarted", generation=5), at(10, "GroupEmptied", generation=6))

    assert outcomes(group)[1:] == [(5, 6, "empty", 10)]
    assert (group.windows[1].members_after, group.group.leader, group.group.state, group.group.member_count) == (0, None, State.EMPTY, 0)
    again = replay(*STABLE, at(10, "GroupEmptied", generation=6), at(20, "RebalanceStarted", generation=6))
    assert (again.windows[-1].members_before, again.windows[-1].previous_joined_at) == (0, NOW + 10)


@pytest.mark.parametrize(
    ("reason", "outcome", "changes"),
    [("sync_store_error", "superseded", "CompletingRebalance PreparingRebalance"), ("leave", "stable", "Stable PreparingRebalance")],
)
def test_an_assignment_that_was_not_stored_never_was(reason: str, outcome: str, changes: str) -> None:
    group = replay(*STABLE, at(9, "RebalanceStarted", generation=5, reason_id=reason))

    assert group.windows[0].outcome == outcome
    assert states(group)[-1] == changes
    assert group.windows[1].previous_ended_at == NOW + (9 if reason == "sync_store_error" else 5)


def test_what_was_not_the_last_step_stays() -> None:
    loaded = at(7, "GroupLoaded", "2", generation=5, member_count=0)
    group = replay(*STABLE, loaded, at(9, "RebalanceStarted", "2", generation=5, reason_id="sync_store_error"))

    assert group.windows[0].outcome == "stable"
    assert replay(at(9, "RebalanceStarted", generation=5, reason_id="sync_store_error")).windows[0].outcome == "open"


@pytest.mark.parametrize(
    ("state", "expected"), [("Stable", State.STABLE), ("CompletingRebalance", State.COMPLETING_REBALANCE), ("Empty", None)]
)
def test_a_reason_tells_the_state_where_nothing_else_does(state: str, expected: State | None) -> None:
    assert replay(at(0, "RebalanceStarted", generation=4, reason_state=state)).windows[0].state_before is expected
    group = replay(*STABLE, at(9, "RebalanceStarted", generation=5, reason_state="CompletingRebalance"))
    assert group.windows[1].state_before is State.STABLE


# -- generations that do not follow ----------------------------------------------------------------------------------


def test_a_new_life_begins_with_generation_0() -> None:
    group = replay(*STABLE, at(9, "RebalanceStarted", generation=0))

    assert (group.findings, group.windows[1].state_before, group.windows[1].members_before) == ([], State.EMPTY, 0)
    assert replay(at(9, "RebalanceStarted", generation=0)).windows[0].state_before is State.EMPTY


def test_a_start_after_a_jump_is_a_finding() -> None:
    group = replay(*STABLE, at(9, "RebalanceStarted", generation=7))

    assert [(finding.expected, finding.observed) for finding in group.findings] == [("generation 5", "generation 7")]
    assert (group.windows[1].state_before, group.windows[1].members_before) == (None, None)


@pytest.mark.parametrize(
    ("generation", "outcome", "ended", "after"),
    [(5, "stable", None, 5), (6, "superseded", 9, None), (3, "coordinator_lost", 9, None)],
)
def test_a_jump_ends_what_was_under_way(generation: int, outcome: str, ended: int | None, after: int | None) -> None:
    group = replay(STARTED, at(9, "RebalanceStarted", generation=generation))

    assert outcomes(group)[0] == (4, after, outcome, ended)
    assert group.windows[0].inferred_steps == (2 if outcome == "stable" else 0)


@pytest.mark.parametrize(
    ("name", "under_way", "generation", "findings"),
    [
        ("MembersNotRejoined", False, 6, 0),
        ("MembersNotRejoined", False, 4, 1),
        ("MembersNotRejoined", True, 6, 1),
        ("SyncMissing", False, 6, 1),
        (None, False, 6, 1),
    ],
)
def test_a_phase_that_ended_again_raised_the_generation(name: str | None, under_way: bool, generation: int, findings: int) -> None:
    events = [*STABLE, *([at(6, "RebalanceStarted", generation=5)] if under_way else []), *([at(7, name)] if name else [])]
    group = replay(*events, at(9, "RebalanceStarted", generation=generation))

    assert len(group.findings) == findings
    assert (group.windows[-1].state_before is None) is bool(findings)


def test_removals_belong_to_what_is_under_way() -> None:
    removed = at(2, "MembersNotRejoined", members=["b"])
    assert replay(STARTED, removed).windows[0].extra == [removed]
    assert replay(*STABLE, removed).windows[0].extra == []
    assert len(replay(removed).windows) == 1
    assert len(replay(at(2, "SyncMissing", members=["b"])).windows) == 0
    assert len(replay(*STABLE, removed).windows) == 1


# -- coordinators that move -------------------------------------------------------------------------------------------


def test_a_group_follows_the_node_that_writes() -> None:
    unloaded = at(6, "GroupUnloaded")
    group = replay(STARTED, at(9, "RebalanceStarted", "2", generation=4))
    assert [(move.from_node, move.to_node, move.left, move.arrived.time_us - NOW) for move in group.moves] == [("1", "2", None, 9)]
    assert outcomes(group)[0] == (4, None, "coordinator_lost", 9)
    group = replay(*STABLE, unloaded, at(9, "RebalanceStarted", "2", generation=5))
    assert [move.left for move in group.moves] == [unloaded]
    assert replay(STARTED, at(9, "RebalanceStarted", None, generation=4)).moves == []
    assert replay(STARTED, at(9, "RebalanceStarted", generation=4)).moves == []


def test_what_was_not_finished_is_lost_with_its_coordinator() -> None:
    group = replay(*STABLE, at(6, "RebalanceStarted", generation=5), at(9, "GroupUnloaded"))

    assert outcomes(group)[1] == (5, None, "coordinator_lost", 9)
    assert (group.group.state, group.changes[-1].was_taken_back, group.changes[-1].trigger) == (State.STABLE, True, "CoordinatorLost")
    assert group.changes[0].trigger == "RebalanceStarted"
    group = replay(STARTED, at(9, "GroupUnloaded"))
    assert (group.group.state, len(group.changes)) == (None, 1)


def test_an_old_coordinator_that_clears_a_group_ends_nothing() -> None:
    group = replay(STARTED, at(9, "GroupUnloaded", "2"))
    assert outcomes(group)[0][2] == "open"
    assert outcomes(replay(STARTED, at(9, "GroupUnloaded", None)))[0][2] == "coordinator_lost"


def test_a_load_at_another_node_is_a_move() -> None:
    unloaded, loaded = at(6, "GroupUnloaded"), at(9, "GroupLoaded", "2", generation=5, member_count=2)
    group = replay(*STABLE, unloaded, loaded)
    assert [(move.from_node, move.to_node, move.left) for move in group.moves] == [("1", "2", unloaded)]
    assert replay(*STABLE, at(9, "GroupLoaded", generation=5)).moves == []
    assert replay(*STABLE, at(9, "GroupLoaded", None, generation=5)).node == "1"
    assert (group.load_before(NOW + 8), group.load_before(NOW + 9), group.load_before(NOW + 10)) == (None, loaded, loaded)
    assert replay(*STABLE).load_before(NOW) is None
    group = replay(STARTED, at(4, "GroupLoaded", "2", generation=4))
    assert outcomes(group)[0] == (4, None, "coordinator_lost", 4)


@pytest.mark.parametrize(
    ("count", "loaded", "generation", "state", "members"),
    [
        (2, {}, 5, State.STABLE, 2),
        (0, {}, 5, State.EMPTY, 0),
        (None, {"a": 5, "b": 4, "c": None}, 5, State.STABLE, 2),
        (None, {"b": 4}, 5, State.EMPTY, 0),
        (3, {"b": 4}, 5, State.STABLE, 3),
        (None, {}, 5, State.STABLE, 2),
        (None, {}, 4, State.STABLE, None),
    ],
)
def test_a_load_tells_the_members(
    count: int | None, loaded: dict[str, int | None], generation: int, state: State, members: int | None
) -> None:
    lines = [at(8, "MemberLoaded", member_id=member, generation=of) for member, of in loaded.items()]
    group = replay(*STABLE, *lines, at(9, "GroupLoaded", generation=generation, member_count=count))

    assert (group.group.state, group.group.member_count, group.group.generation) == (state, members, generation)
    group.feed(at(10, "GroupLoaded", generation=generation + 1))
    assert group.group.state is state, "members of one load are none of the next"


@pytest.mark.parametrize(("generation", "state"), [(6, State.EMPTY), (5, State.STABLE), (None, State.EMPTY)])
def test_an_empty_group_may_be_loaded_with_older_members(generation: int | None, state: State) -> None:
    group = replay(*STABLE, at(7, "GroupEmptied", generation=6), at(9, "GroupLoaded", generation=generation))

    assert group.group.state is state
    assert group.group.generation == (generation or 6)
    assert (len(states(group)) > 5) is (state is State.STABLE)


@pytest.mark.parametrize(
    ("generation", "count", "state", "members"), [(6, None, State.EMPTY, 0), (6, 2, State.STABLE, 2), (5, None, State.STABLE, None)]
)
def test_a_group_is_loaded_empty_if_what_came_later_was_not_written(
    generation: int, count: int | None, state: State, members: int | None
) -> None:
    later = [at(8, "RebalanceStarted", generation=6), at(9, "GenerationStarted", generation=7, member_count=1)]
    loaded = at(12, "GroupLoaded", "2", generation=generation, member_count=count)

    group = replay(*STABLE, at(7, "GroupEmptied", generation=6), *later, loaded)

    assert (group.group.state, group.group.member_count, group.group.generation) == (state, members, generation)


def test_members_find_another_coordinator() -> None:
    def sees(second: int, name: str, node: str | None) -> Event:
        return client(name, NOW + second, node=node)

    found, lost = sees(0, "CoordinatorFound", "1"), sees(3, "CoordinatorLost", "1")
    group = replay(found, lost, sees(4, "CoordinatorLost", "1"), sees(9, "CoordinatorFound", "2"))
    assert [(move.from_node, move.to_node, move.left, move.arrived.time_us - NOW) for move in group.moves] == [("1", "2", lost, 9)]
    assert group.load_before(NOW + 9) is not None
    assert replay(found, sees(9, "CoordinatorFound", "1")).moves == []
    assert replay(found, sees(9, "CoordinatorFound", None)).moves == []
    assert replay(STARTED, found, sees(9, "CoordinatorFound", "2")).moves == []
    assert len(replay(lost, sees(9, "CoordinatorFound", "2")).moves) == 1
    again = replay(found, lost, sees(5, "CoordinatorFound", "2"), sees(9, "CoordinatorFound", "3"))
    assert [move.left for move in again.moves] == [lost, None]


# -- ends and hints -----------------------------------------------------------------------------------------------


def test_a_group_dies_once() -> None:
    emptied = at(7, "GroupEmptied", generation=6)
    died = at(9, "GroupDied")
    group = replay(*STABLE, emptied, died, at(10, "GroupDied"))
    assert group.deaths == [(emptied, died)]
    assert (group.group.generation, group.group.leader, group.group.state) == (None, None, State.DEAD)
    assert replay(*STABLE, died).deaths == [(None, died)]
    assert outcomes(replay(STARTED, died)) == [(4, None, "dead", 9)]
    again = replay(*STABLE, died, at(20, "RebalanceStarted", generation=3))
    assert (again.windows[-1].state_before, again.findings) == (State.EMPTY, [])


@pytest.mark.parametrize(("state", "known"), [("Stable", True), ("Empty", True), ("other", False), (None, False)])
def test_a_line_hints_at_the_state(state: str | None, known: bool) -> None:
    group = replay(at(0, "MemberAdded", state=state))
    assert states(group) == ([f"None {state} inferred"] if known else [])
    assert states(replay(*STABLE, at(9, "MemberAdded", state="Empty"))) == states(replay(*STABLE))


@pytest.mark.parametrize(("witness", "steps"), [(Witness.COORDINATOR, 0), (Witness.REQUEST, 3), (Witness.CLIENT, 3)])
def test_steps_that_others_show_are_inferred(witness: Witness, steps: int) -> None:
    events = [line(event.name, event.time_us, witness, generation=event.generation, member_count=2) for event in STABLE]
    group = replay(*events[:2])

    assert group.windows[0].witness is witness
    assert group.windows[0].inferred_steps == (2 if steps else 0)
    assert replay(*events).windows[0].is_inferred is bool(steps)
