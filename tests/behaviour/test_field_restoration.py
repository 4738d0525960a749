"""Small stories of Streams applications that restore their state as they start."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.behaviour.coordinator_log import CONSUMER, Story, member
from tests.behaviour.test_field_cases import joined, told

THREAD = "tariffs-5f0c6c6e-0d2e-4c11-9b1e-2f6a1a7c9d10-StreamThread-{}"
OF_THREAD = "INFO stream-thread [{}] {} (org.apache.kafka.streams.processor.internals.StreamThread)"
STARTING = {"3.6": ("STARTING", "PARTITIONS_ASSIGNED"), "2.3": ("STARTING", "PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED")}
PROGRESS = "Restoration in progress for 1 partitions. {tariffs-rates-changelog-0: position=700, end=9000, totalRestored=700}"


def application(seconds: float, version: str = "3.6", threads: int = 1, *, ends: bool = True) -> Story:
    """Threads start, and restore their tasks' state before they work."""
    story = Story()
    for number in range(1, threads + 1):
        thread = THREAD.format(number)
        for at, text in zip((-0.2, -0.1), joined(1, member(f"{thread}-consumer")), strict=True):
            story.add(at, CONSUMER.format("INFO", f"{thread}-consumer", "tariffs", text))
        for step, (before, after) in enumerate(pairwise(STARTING[version])):
            story.add(step / 100, OF_THREAD.format(thread, f"State transition from {before} to {after}"))
        for at in range(10, int(seconds), 10):
            story.add(at, OF_THREAD.format(thread, PROGRESS))
        if ends:
            story.add(seconds, OF_THREAD.format(thread, "State transition from PARTITIONS_ASSIGNED to RUNNING"))
    return story


@pytest.mark.parametrize(
    ("story", "words"),
    [
        (application(1200), "1 thread restored state for 20 min after the start"),
        (application(1200, "2.3", threads=2), "2 threads restored state for 20 min after the start"),
        (application(600, ends=False), "1 thread restored state for at least 9 min 50 s after the start"),
        (application(40), None),
    ],
    ids=["a thread", "threads of 2.3", "not done", "soon done"],
)
def test_state_that_is_restored_for_long_needs_attention(tmp_path: Path, story: Story, words: str | None) -> None:
    found = [each for each in told(tmp_path, app=story.others(0, 2000, 100)).incidents if each.kind == "restoration_slow"]
    assert [each.severity for each in found] == (["warning"] if words else [])
    assert all(words is not None and words in each.headline for each in found)


def test_what_a_thread_restores_in_a_later_rebalance_is_the_time_that_this_one_stopped_it(tmp_path: Path) -> None:
    story, thread = application(20), THREAD.format(1)
    for at, before, after in ((300, "RUNNING", "PARTITIONS_REVOKED"), (303, "PARTITIONS_REVOKED", "PARTITIONS_ASSIGNED")):
        story.add(at, OF_THREAD.format(thread, f"State transition from {before} to {after}"))
    story.add(900, OF_THREAD.format(thread, "State transition from PARTITIONS_ASSIGNED to RUNNING"))
    assert not any(each.kind == "restoration_slow" for each in told(tmp_path, app=story).incidents)
