"""Small stories of groups that grow and shrink, and what a person has to be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.coordinator_log import Story, member
from tests.behaviour.test_field_cases import added, told, turn


def left(story: Story, at: float, client: str, start: int, before: int) -> Story:
    """A member is closed, as 2.5 logs it."""
    story.say(at, f"Member[group.instance.id None, member.id {member(client, start)}] in group orders has left, removing it from the group")
    return turn(story, at + 0.001, "orders", before, f"removing member {member(client, start)} on LeaveGroup", lasted=2.2)


def scaled(times: int, step: float) -> Story:
    """A third instance comes and goes; its name is one of two."""
    story = Story().others(-300, 0)
    for number in range(times):
        at, name, before = number * 2 * step, f"o-{number % 2 + 3}", 10 + 2 * number
        turn(story, at, "orders", before, added(name, number), lasted=2.6)
        left(story, at + step, name, number, before + 1)
    return story.others(10, times * 2 * step + 900)


def deployed_twice() -> Story:
    """Three instances are restarted in turn, and after four minutes again."""
    story, before = Story().others(-300, 0), 10
    for start in range(2):
        for number in range(3):
            at = 400.0 * start + 50 * number
            left(story, at, f"o-{number}", start, before)
            turn(story, at + 18, "orders", before + 1, added(f"o-{number}", start + 1), lasted=2.6)
            before += 2
    return story.others(10, 1800)


@pytest.mark.parametrize("step", [150, 180, 400])
def test_a_group_that_is_scaled_up_and_down_again_and_again_needs_attention(tmp_path: Path, step: float) -> None:
    (incident,) = told(tmp_path, server=scaled(5, step)).incidents
    assert (incident.kind, incident.severity, incident.rebalance_count) == ("autoscaling", "warning", 10)
    assert "5 members came and went again, as if it were scaled up and down in turn" in incident.headline


@pytest.mark.parametrize(
    "story", [scaled(2, 180), scaled(4, 1200), deployed_twice()], ids=["twice a peak", "by the hour", "two deployments in a row"]
)
def test_growth_and_restarts_by_plan_are_expected(tmp_path: Path, story: Story) -> None:
    found = told(tmp_path, server=story).incidents
    assert {incident.severity for incident in found} == {"info"}
    assert not any("came and went" in incident.headline for incident in found)
