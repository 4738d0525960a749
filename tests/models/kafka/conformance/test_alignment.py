"""Which lines of a log agree with those that the model writes, and in which fields they differ."""

from __future__ import annotations

from typing import Any

import pytest

from models.events import Event
from models.kafka.conformance.alignment import align, differences
from models.kafka.conformance.expected_lines import ExpectedLine
from models.kafka.conformance.explanation import NAMELESS_ID
from tests.models.kafka.conformance.test_tracker import line

SOMEBODY = f"{NAMELESS_ID}1"


def expected(event: str, **fields: Any) -> ExpectedLine:
    return ExpectedLine(event, 0, fields, None, None)


FIELDS = {
    "the same generation": ({"generation": 4}, line(0, "GenerationStarted", generation=4), []),
    "another generation": ({"generation": 4}, line(0, "GenerationStarted", generation=5), ["generation"]),
    "a generation of 0": ({"generation": 0}, line(0, "RebalanceStarted", generation=1), ["generation"]),
    "a generation that is not told": ({"generation": 4}, line(0, "GroupEmptied"), []),
    "a generation in a line that tells an older one": ({"generation": 4}, line(0, "MemberLeft", generation=3), []),
    "another member": ({"member_id": "a"}, line(0, "MemberLeft", member_id="b"), ["member_id"]),
    "the same member": ({"member_id": "a"}, line(0, "MemberLeft", member_id="a"), []),
    "a member that only the log names": ({}, line(0, "MemberLeft", member_id="b"), []),
    "a member that only the model names": ({"member_id": "a"}, line(0, "MemberLeft"), []),
    "a member without a name": ({"member_id": SOMEBODY}, line(0, "MemberLeft", member_id="b"), []),
    "the same count": ({"member_count": 2}, line(0, "GenerationStarted", member_count=2), []),
    "another count": ({"member_count": 2}, line(0, "GenerationStarted", member_count=3), ["member_count"]),
    "a count of nobody": ({"member_count": 1}, line(0, "GenerationStarted", member_count=0), ["member_count"]),
    "a count that only the log tells": ({}, line(0, "GenerationStarted", member_count=3), []),
    "a count that only the model tells": ({"member_count": 2}, line(0, "GenerationStarted"), []),
    "the same members in another order": ({"members": ["a", "b"]}, line(0, "SyncMissing", members=["b", "a"]), []),
    "a member more": ({"members": ["a"]}, line(0, "SyncMissing", members=["a", "b"]), ["members"]),
    "a member less": ({"members": ["a", "b"]}, line(0, "SyncMissing", members=["a"]), ["members"]),
    "a member without a name among them": ({"members": ["a", SOMEBODY]}, line(0, "SyncMissing", members=["a"]), []),
    "members that only the log names": ({}, line(0, "SyncMissing", members=["a"]), []),
    "members that only the model names": ({"members": ["a"]}, line(0, "SyncMissing"), []),
    "another reason": ({"reason_id": "leave"}, line(0, "RebalanceStarted", reason_id="new_member"), ["reason_id"]),
    "the same reason": ({"reason_id": "leave"}, line(0, "RebalanceStarted", reason_id="leave"), []),
    "a reason that nobody knows": ({"reason_id": "leave"}, line(0, "RebalanceStarted", reason_id="other"), []),
    "a reason that only the model tells": ({"reason_id": "leave"}, line(0, "RebalanceStarted"), []),
    "a reason that only the log tells": ({}, line(0, "RebalanceStarted", reason_id="leave"), []),
    "a reason under another name": ({"reason_id": "static_update"}, line(0, "RebalanceStarted", reason_id="static_member_update"), []),
    "reasons worded alike": ({"reason_id": "leader_rejoin"}, line(0, "RebalanceStarted", reason_id="update_metadata"), []),
    "one of the reasons worded alike": ({"reason_id": "leader_rejoin"}, line(0, "RebalanceStarted", reason_id="leave"), ["reason_id"]),
    "another member in the reason": (
        {"reason_member_id": "a"},
        line(0, "RebalanceStarted", reason_member_id="b"),
        ["reason_member_id"],
    ),
    "a member without a name in the reason": ({"reason_member_id": SOMEBODY}, line(0, "RebalanceStarted", reason_member_id="b"), []),
    "a member in the reason that only the log names": ({}, line(0, "RebalanceStarted", reason_member_id="b"), []),
    "two fields": (
        {"generation": 1, "reason_id": "leave"},
        line(0, "RebalanceStarted", generation=2, reason_id="new_member"),
        ["generation", "reason_id"],
    ),
}


@pytest.mark.parametrize(("fields", "seen", "differing"), FIELDS.values(), ids=FIELDS)
def test_fields_differ_where_both_tell_them(fields: dict[str, Any], seen: Event, differing: list[str]) -> None:
    assert differences(expected(seen.name, **fields), seen) == differing


LEFT, BEGAN = expected("MemberLeft", member_id="a"), expected("RebalanceStarted", generation=1)
EMPTIED, KEPT = expected("GroupEmptied", generation=2), expected("StaticMemberKept")
LOGGED = [line(0, "MemberLeft", member_id="a"), line(0, "RebalanceStarted", generation=1), line(0, "GroupEmptied", generation=2)]

ALIGNED = {
    "all are there": ([LEFT, BEGAN, EMPTIED], LOGGED, (3, 0, ())),
    "nothing is expected": ([], LOGGED, (0, 0, ())),
    "one is lost": ([LEFT, BEGAN, EMPTIED], LOGGED[:2], (2, 1, ())),
    "one that may be lacking is": ([LEFT, KEPT, BEGAN], LOGGED, (2, 0, ())),
    "one is passed over by the log": ([LEFT, EMPTIED], LOGGED, (1, 1, ())),
    "the order is another one": ([BEGAN, LEFT], LOGGED[:2], (1, 1, ())),
    "a line without a group stands between": ([LEFT, BEGAN], [LOGGED[0], line(0, "OffsetsExpired", group=None), LOGGED[1]], (2, 0, ())),
    "one differs": ([LEFT, expected("RebalanceStarted", generation=3)], LOGGED, (2, 0, ("generation",))),
    "the same twice": ([LEFT, LEFT], [LOGGED[0], LOGGED[0]], (2, 0, ())),
    "the same once": ([LEFT, LEFT], [LOGGED[0]], (1, 1, ())),
}


@pytest.mark.parametrize(("lines", "seen", "found"), ALIGNED.values(), ids=ALIGNED)
def test_expected_lines_are_found_in_their_order(
    lines: list[ExpectedLine], seen: list[Event], found: tuple[int, int, tuple[str, ...]]
) -> None:
    alignment = align(lines, seen)
    assert (alignment.matched, alignment.missing, alignment.differing) == found
    assert alignment.is_clean == (found[1:] == (0, ()))
