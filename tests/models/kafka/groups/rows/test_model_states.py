"""Rows of `group_states`: what the model of the coordinator holds after each line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from models.events import Event
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.conformance.expected_lines import DEFAULT_LEVELS, Sight
from models.kafka.conformance.group_view import view_of
from models.kafka.conformance.snapshots import restored_model, snapshot_of
from models.kafka.conformance.tracker import Tracker
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.groups.rows.model_states import LINES_HELD, ModelStates
from models.kafka.verdicts.history import GroupHistory
from models.rows import GroupState
from parsers.reading.reader import ReadOptions
from pipelines.cli.answers.group_state import read_lines, shown_at
from tests.models.kafka.conformance.test_tracker import GROUP, NEW_GROUP, assigned, began, handed_out, line, pending_joined, stabilized

FACTS = ClusterFacts("c", versions={"server.log": "4.0.0"})
JOINS = (
    handed_out(19_000, "c-1", "Stable"),
    pending_joined(20_000, "c-1", "Stable"),
    began(20_000, 1, "new_member", "c-1"),
    stabilized(20_500, 2, 3),
    assigned(20_510, 2, "a-1", 3),
)
LEAVES = (line(40_000, "MemberLeft", member_id="b-1"), began(40_000, 2, "leave", None, reason_members=["b-1"]))


def states(lines: Iterable[Event], limits: Limits | None = None) -> list[GroupState]:
    stage = GroupStage(GroupMemory("c", GROUP, FACTS, limits or Limits(group_states=True)))
    for each in lines:
        stage.feed(each)
    return stage.close().group_states


def test_each_change_has_a_row() -> None:
    rows = states((*NEW_GROUP, *JOINS, *LEAVES))
    assert [(row.changed_at // 1_000, row.state, row.generation, row.member_count) for row in rows] == [
        (0, "Empty", 0, 0),
        (10, "PreparingRebalance", 0, 1),
        (20, "PreparingRebalance", 0, 1),
        (30, "PreparingRebalance", 0, 2),
        (6_010, "CompletingRebalance", 1, 2),
        (6_020, "Stable", 1, 2),
        (19_000, "Stable", 1, 2),
        (20_000, "PreparingRebalance", 1, 3),
        (20_500, "CompletingRebalance", 2, 3),
        (20_510, "Stable", 2, 3),
        (40_000, "PreparingRebalance", 2, 2),
    ]
    waiting = rows[7]
    assert {member.member_id: (member.rejoined, member.awaited) for member in waiting.members} == {
        "a-1": (False, True),
        "b-1": (False, True),
        "c-1": (True, False),
    }
    assert [timer.timer for timer in waiting.timers if timer.member_id is None] == ["join"]
    assert rows[6].pending_members == ["c-1"]


def test_rows_are_final_once_the_group_waits_for_nobody() -> None:
    rows = states((*NEW_GROUP, *JOINS, *LEAVES))
    assert [row.final_at is not None for row in rows] == [True] * 10 + [False]
    assert len({row.group_state_id for row in rows}) == len(rows)


def test_none_are_written_unless_asked_for() -> None:
    assert states(NEW_GROUP, Limits()) == []


def test_groups_of_newer_protocols_have_states_by_epoch() -> None:
    """Members that were there before the first line are unknown, so the group isn't called empty."""
    [row] = states([line(0, "GroupEpochBumped", generation=1), *JOINS])
    assert (row.state, row.state_certainty, row.generation, row.member_count) == (None, "unknown", 1, None)


@pytest.mark.parametrize("cut", range(1, len(NEW_GROUP) + len(JOINS) + len(LEAVES)))
def test_a_replay_that_goes_on_from_a_state_writes_the_same_rows(cut: int) -> None:
    lines, limits, facts = (*NEW_GROUP, *JOINS, *LEAVES), Limits(group_states=True), FACTS
    stage, before = GroupStage(GroupMemory("c", GROUP, facts, limits)), GroupHistory()
    for each in lines[:cut]:
        stage.feed(each)
    stage.advance_to(lines[cut].order_us)
    before, stage.memory.rows.final = stage.memory.rows.final, GroupHistory()
    resumed = GroupStage(GroupMemory.resumed("c", GROUP, facts, stage.checkpoint(), limits))
    for each in lines[cut:]:
        resumed.feed(each)
    assert [*before.group_states, *resumed.close().group_states] == states(lines)


def test_a_group_that_never_settles_is_followed_in_parts() -> None:
    held = ModelStates("c", GROUP, 3_000)
    rows = 0
    for number in range(3 * LINES_HELD):
        at_ms = 1_000 * number
        if held.due_at is not None and held.due_at <= at_ms * 1_000:
            rows += len(held.follow_lines())
        held.feed(handed_out(at_ms, f"m-{number}"), None)
        assert len(held.lines) <= LINES_HELD
    assert rows


def test_lines_without_end_at_one_time_are_followed_in_parts() -> None:
    held = ModelStates("c", GROUP, 3_000)
    for number in range(3 * LINES_HELD):
        if held.due_at is not None and held.due_at <= 0:
            held.follow_lines()
        held.feed(handed_out(0, f"m-{number}"), None)
    assert len(held.lines) <= 2 * LINES_HELD


@pytest.mark.parametrize("cut", range(1, len(NEW_GROUP) + len(JOINS)))
def test_a_model_that_is_made_again_goes_on_alike(cut: int) -> None:
    """Between any two bursts."""
    lines = (*NEW_GROUP, *JOINS, *LEAVES)
    if lines[cut].time_us == lines[cut - 1].time_us:
        pytest.skip("within a burst the rest of it is awaited")
    sight = Sight(policy_for("4.0.0"), DEFAULT_LEVELS)
    whole, part = Tracker(GROUP, sight), Tracker(GROUP, sight)
    expected = [view_of(whole) for _ in whole.follow(lines)][cut:]
    for _ in part.follow(lines[:cut]):
        pass
    again = Tracker.from_explanation(restored_model(snapshot_of(part.best), GROUP, sight))
    found = [view_of(again) for _ in again.follow(lines[cut:])]
    assert [replace(view, timers=()) for view in found] == [replace(view, timers=()) for view in expected]


def samples() -> Sequence[tuple[str, str]]:
    return (
        ("email-sender-h", "2.8.2/rolling-restart"),
        ("audit-trail-l", "3.9.1/frozen-process"),
        ("email-sender-j2", "4.1.1/slow-member"),
        ("audit-trail-i", "2.8.2/coordinator-failover"),
        ("shipping-e", "1.1.1/poll-timeout"),
    )


@pytest.mark.parametrize(("group", "sample"), samples())
def test_samples_are_as_the_command_shows_them(group: str, sample: str, monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[5]
    monkeypatch.chdir(root)
    lines = read_lines([f"data_samples/kafka/{sample}"], group, ReadOptions())
    lines.others = []  # the table is by the coordinator's lines alone
    stage = GroupStage(GroupMemory("c", group, FACTS, Limits(group_states=True)))
    own = [event for event in lines.events if event.group == group]
    for event in own:
        stage.feed(event)
    rows = stage.close().group_states
    assert rows
    assert not any(row.missing_lines or row.unexplained_lines for row in rows)
    by_place = {(row.evidence[0].file, row.evidence[0].byte_offset): row for row in rows}
    for number, event in enumerate(own, 1):
        row = by_place.get((event.place.file, event.place.byte_offset))
        if row is not None:
            view = shown_at(lines, group, None, number - len(own)).view
            assert (row.state, row.generation) == (view.state.value and view.state.value.value, view.generation.value)
