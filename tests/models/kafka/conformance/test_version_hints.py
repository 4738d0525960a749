"""Which version a coordinator's wording tells, and whether the coordinator in Java wrote it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from models.events import Event
from models.kafka.conformance.version_hints import is_java, policy_of, version_of
from tests.models.kafka.conformance.test_tracker import assigned, began, handed_out, line, pending_joined

OF_JAVA = "[2026-01-01 00:00:00,000] INFO [GroupCoordinator id=1] Preparing to rebalance group orders"
BY_LOGGER = "[2026-01-01 00:00:00,000] INFO ... (org.apache.kafka.coordinator.group.GroupMetadataManager)"
OF_SCALA = "[2026-01-01 00:00:00,000] INFO [GroupCoordinator 1]: Preparing (kafka.coordinator.group.GroupCoordinator)"


def worded(event: Event, text: str, **columns: Any) -> Event:
    return replace(event, text=text, **columns)


LINES = {
    "an added member": ([line(0, "MemberAdded", member_id="a")], "2.5.1"),
    "an instance": ([began(0, 3, "new_member", "a", reason_instance_id="i")], "2.3.1"),
    "a client's reason": ([line(0, "MemberLeft", member_id="a", client_reason="close")], "3.9.0"),
    "an assignment that names the leader": ([assigned(0, 3, "a")], "3.9.0"),
    "an assignment that names nobody": ([assigned(0, 3)], "1.1.1"),
    "a count elsewhere than where a generation starts": ([assigned(0, 3, None, 2)], "1.1.1"),
    "the newest of all lines": ([assigned(0, 3, "a"), line(1, "MemberLeft", member_id="a"), began(2, 3)], "3.9.0"),
    "Java's words": ([worded(began(0, 3), OF_JAVA)], "4.0.0"),
    "Java's words about no group": ([worded(line(0, "OffsetsExpired"), OF_JAVA, group=None)], "1.1.1"),
    "Scala's words": ([worded(began(0, 3), OF_SCALA)], "1.1.1"),
    "Java's, where an id joins with a line": (
        [worded(handed_out(0, "a"), OF_JAVA), pending_joined(1, "a"), began(1, 0, "new_member", "a")],
        "4.0.0",
    ),
    "Java's, where an id joins without a line": ([worded(handed_out(0, "a"), OF_JAVA), began(1, 0, "new_member", "a")], "3.9.0"),
    "Java's, where another one joins": ([worded(handed_out(0, "a"), OF_JAVA), began(1, 0, "new_member", "b")], "4.0.0"),
    "Java's, where the id rejoins": ([worded(handed_out(0, "a"), OF_JAVA), began(1, 0, "leader_rejoin", "a")], "4.0.0"),
    "Java's, where the id leaves": (
        [worded(handed_out(0, "a"), OF_JAVA), line(1, "MemberLeft", reason_id="new_member", reason_member_id="a")],
        "4.0.0",
    ),
}


@pytest.mark.parametrize(("lines", "version"), LINES.values(), ids=LINES)
def test_words_tell_a_version(lines: list[Event], version: str) -> None:
    assert version_of(lines) == version


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([worded(began(0, 3), OF_JAVA)], True),
        ([worded(began(0, 3), BY_LOGGER)], True),
        ([worded(began(0, 3), OF_SCALA), worded(began(1, 4), BY_LOGGER)], True),
        ([worded(began(0, 3), OF_SCALA)], False),
        ([worded(line(0, "OffsetsExpired"), BY_LOGGER, group=None)], False),
        ([], False),
    ],
)
def test_words_and_loggers_tell_the_coordinator_in_java(lines: list[Event], expected: bool) -> None:
    assert is_java(lines) is expected


def test_a_version_that_is_given_stands_above_the_words() -> None:
    lines = [worded(began(0, 3), OF_JAVA)]
    assert policy_of(lines).version == "4.0.0"
    assert policy_of(lines, "3.7.0").version == "3.7.0"
    # Both coordinators were there from 3.7 to 3.9: the words tell which one it is, and only Java's takes all that leave at once.
    assert policy_of(lines, "3.9.0").leaves_in_one_step
    assert not policy_of([began(0, 3)], "3.9.0").leaves_in_one_step
    with pytest.raises(ValueError, match="nonsense"):
        policy_of(lines, "nonsense")
