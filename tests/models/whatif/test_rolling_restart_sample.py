"""The behaviour that is read from a real rolling restart, leaves and joins of which overlap."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.downtime import stopped_seconds
from models.whatif.history import GroupBaseline, History
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze

MEMBERS = {"email-sender-worker-1", "email-sender-worker-2", "email-sender-worker-3"}
MOST_LATE_SECONDS = 0.05


@pytest.fixture(scope="module")
def restarted(samples: Path) -> GroupBaseline:
    found = analyze([str(samples / "kafka" / "2.8.2" / "rolling-restart")], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
    (group,) = History(list(found.rebalances), list(found.rebalance_members), list(found.members), list(found.client_states)).groups()
    return group


def test_members_first_seen_after_the_first_phase_joined_in_it(restarted: GroupBaseline) -> None:
    behaviour, _, before = restarted.reading()
    assert set(behaviour.members) == MEMBERS
    assert {member.lives[0].start_ms for member in behaviour.members.values()} == {behaviour.begins_ms}
    waits = [(stopped_seconds(row), run.stopped_ms(restarted.ends_ms) / 1000) for row, run in zip(restarted.rows[:7], before, strict=False)]
    assert all(run == pytest.approx(logged, abs=MOST_LATE_SECONDS) for logged, run in waits)


def test_a_leave_that_arrives_after_the_next_join_ends_no_session(restarted: GroupBaseline) -> None:
    behaviour, _, _ = restarted.reading()
    assert all(life.is_orderly for member in behaviour.members.values() for life in member.lives)


def test_a_session_timeout_that_a_library_decides_is_said_to_be_its_default(restarted: GroupBaseline) -> None:
    behaviour, settings, _ = restarted.reading()
    assert settings.session_ms[""] == 10_000  # of Java's consumers until 2.8
    assert behaviour.assumed["session"] == "session.timeout.ms is taken to be 10 s, the default of its library: no line tells it"
