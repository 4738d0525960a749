"""Rival causes run through the model: which fit a log, at which line another fails, and what it would have needed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from models.causes import Cause
from models.events import Event
from models.kafka.conformance.expected_lines import DEFAULT_LEVELS, Sight
from models.kafka.conformance.tracker import Tracker
from models.kafka.conformance.trials import REQUESTS_BY_CAUSE, SCRIPTS_BY_CAUSE, Ruling, Trial, Window, open_window, try_causes
from models.kafka.coordinator.runtime.version_policy import policy_for
from tests.models.kafka.conformance.test_tracker import GROUP, NEW_GROUP, assigned, began, handed_out, line, pending_joined, stabilized

OLD_GROUP = (began(0, 0), stabilized(6_003, 1), assigned(6_020, 1))
"""A new group as 1.1 words it: no reasons, no members."""


def window(version: str, past: Sequence[Event], lines: Sequence[Event], beyond: Sequence[Event] = ()) -> Window:
    found = open_window(Tracker(GROUP, Sight(policy_for(version), DEFAULT_LEVELS)), past, lines, beyond)
    assert found is not None
    return found


def rulings(trials: Sequence[Trial]) -> dict[str, str]:
    return {trial.cause.value: trial.ruling.value for trial in trials}


def again(generation: int, *before: Event, at_ms: int = 20_000, reason: str = "", member: str | None = None) -> tuple[Event, ...]:
    return (
        *before,
        began(at_ms, generation, reason, member),
        stabilized(at_ms + 500, generation + 1),
        assigned(at_ms + 510, generation + 1),
    )


CASES = {
    "without reasons and head counts, a join, a leave and a rejoin write the same": (
        "1.1.1",
        OLD_GROUP,
        again(1),
        {"member_join": "fits", "member_leave": "fits", "poll_timeout": "same_request", "metadata_change": "fits"},
    ),
    "an expiry has a line in every version": (
        "1.1.1",
        OLD_GROUP,
        again(1),
        {"member_join": "fits", "session_timeout": "fails"},
    ),
    "where an expiry is written, it is no leave": (
        "4.0.0",
        NEW_GROUP,
        again(1, line(20_000, "MemberFailed", member_id="b-1"), reason="heartbeat_expiration", member="b-1"),
        {"session_timeout": "fits", "member_leave": "fails", "member_join": "fails", "sync_timeout": "fails"},
    ),
    "a leave is the same whatever the client left for": (
        "4.0.0",
        NEW_GROUP,
        again(1, line(20_000, "MemberLeft", member_id="b-1"), reason="leave", member="b-1"),
        {"member_leave": "fits", "poll_timeout": "same_request", "admin_removal": "same_request", "session_timeout": "fails"},
    ),
    "a group with members is not new": (
        "4.0.0",
        NEW_GROUP,
        again(1, handed_out(19_000, "c-1", "Stable"), pending_joined(20_000, "c-1", "Stable"), reason="new_member", member="c-1"),
        {"member_join": "fits", "new_group": "not_tried", "member_restart": "fails"},
    ),
    "a cause that is nothing the coordinator is asked": ("1.1.1", OLD_GROUP, again(1), {"unknown": "not_tried"}),
}


@pytest.mark.parametrize(("version", "past", "lines", "expected"), CASES.values(), ids=CASES)
def test_causes_are_held_against_the_log(version: str, past: Sequence[Event], lines: Sequence[Event], expected: dict[str, str]) -> None:
    assert rulings(try_causes(window(version, past, lines), map(Cause, expected))) == expected


def test_a_rival_fails_at_the_line_that_the_log_has_otherwise() -> None:
    lines = again(1, line(20_000, "MemberFailed", member_id="b-1"), reason="heartbeat_expiration", member="b-1")
    [leave] = try_causes(window("4.0.0", NEW_GROUP, lines), [Cause.MEMBER_LEAVE])
    failure = leave.failure
    assert failure is not None
    assert failure.line is lines[0]
    assert failure.expected is not None
    assert (failure.expected.event, failure.differing) == ("MemberLeft", ("event",))


def test_what_a_cause_would_have_written_at_another_level_is_told() -> None:
    """Until 2.1 a leave is a line at DEBUG."""
    [leave] = try_causes(window("1.1.1", OLD_GROUP, again(1)), [Cause.MEMBER_LEAVE])
    assert [needed.event for needed in leave.needed] == ["MemberLeft"]


def test_a_new_group_would_need_an_initial_delay_as_long_as_its_join_phase() -> None:
    """Mid-life, five minutes: above generation 0 the old coordinator waits for one step of the delay."""
    lines = (began(0, 3), stabilized(300_003, 4), assigned(300_010, 4))
    found = window("1.1.1", (), lines)
    [new, join] = try_causes(found, [Cause.NEW_GROUP, Cause.MEMBER_JOIN])
    assert (new.ruling, join.ruling) == (Ruling.FITS_IF, Ruling.FITS)
    assert new.overdue is not None
    assert new.overdue.due is not None
    assert (new.overdue.due.timeout, new.overdue.line is lines[1]) == ("initial_rebalance_delay_ms", True)


def test_a_phase_as_long_as_a_usual_timeout_ended_by_its_deadline() -> None:
    """No line of 1.1 tells who was removed: the model takes somebody, and is not sure of it."""
    found = window("1.1.1", OLD_GROUP, (began(20_000, 1), stabilized(320_003, 2), assigned(320_010, 2)))
    ended = [step for step in found.inputs if step.input.kind == "end_join_phase"]
    assert [step.due.at_ms for step in ended if step.due is not None] == [320_000]
    assert not found.best.certainty.is_roster_sure
    assert all(not entry.differing and entry.line is not None and entry.expected is not None for entry in found.entries)


def test_lines_beyond_are_taken_while_one_is_waited_for() -> None:
    """From 3.0 to 3.9 the line of a leave follows what it sets off."""
    past = (began(0, 0, "new_member", "a-1"), stabilized(3_000, 1, 1), assigned(3_010, 1, "a-1", 1))
    lines = (began(9_000, 1, "leave", "a-1"), line(9_001, "GroupEmptied", generation=2))
    left, later = line(9_006, "MemberLeft", member_id="a-1"), handed_out(12_000, "b-1")
    found = window("3.9.0", past, lines, (left, later))
    assert [entry.line for entry in found.entries] == [*lines, left]
    assert rulings(try_causes(found, [Cause.MEMBER_LEAVE])) == {"member_leave": "fits"}


def test_each_request_has_a_script() -> None:
    assert REQUESTS_BY_CAUSE.keys() == SCRIPTS_BY_CAUSE.keys()
