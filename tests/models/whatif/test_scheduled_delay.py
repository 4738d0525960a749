"""scheduled.rebalance.max.delay.ms of Connect: when the tasks of lost workers are handed out."""

from __future__ import annotations

import pytest

from models.whatif.behaviour.members import Behaviour, Life, MemberBehaviour, Nudge
from models.whatif.behaviour.plans import rescheduled
from models.whatif.runs.alignment import of_runs
from models.whatif.runs.simulated_rebalances import SimulatedRebalance

PRESENT_MS = 8_000
LOSSES_MS = (100_000, 123_000, 160_000)


def workers() -> Behaviour:
    """Two workers of a group that hands out lost tasks after eight seconds, three times."""
    nudges = [Nudge(lost_ms + PRESENT_MS, None, PRESENT_MS) for lost_ms in LOSSES_MS]
    members = {name: MemberBehaviour(name, lives=[Life(0)]) for name in ("w-1", "w-2")}
    return Behaviour("connect", 0, 300_000, protocol_type="connect", members=members, nudges=[Nudge(50_000, None), *nudges])


@pytest.mark.parametrize(
    ("delay_ms", "expected_ms"),
    [(8_000, [108_000, 131_000, 168_000]), (3_000, [103_000, 126_000, 163_000]), (40_000, [140_000, 200_000]), (0, [])],
)
def test_losses_within_a_delay_share_it(delay_ms: int, expected_ms: list[int]) -> None:
    assert [nudge.at_ms for nudge in rescheduled(workers(), delay_ms).nudges] == [50_000, *expected_ms]


@pytest.mark.parametrize(("delay_ms", "expected"), [(3_000, {0: 0, 1: 1}), (20_000, {0: 0, 1: 1})])
def test_tasks_that_go_out_at_another_time_are_no_rebalance_less(delay_ms: int, expected: dict[int, int]) -> None:
    def handed_out(after_ms: int) -> list[SimulatedRebalance]:
        return [SimulatedRebalance(lost_ms + after_ms, "w-1", "leader_rejoin", was_empty=False) for lost_ms in (100_000, 160_000)]

    assert of_runs(handed_out(PRESENT_MS), handed_out(delay_ms), 300_000) == expected


def test_a_rebalance_that_the_leader_asked_for_before_is_another_one() -> None:
    asked = [SimulatedRebalance(at_ms, "w-1", "leader_rejoin", was_empty=False) for at_ms in (100_000, 160_000)]
    assert of_runs(asked, asked[:1], 300_000) == {0: 0}
