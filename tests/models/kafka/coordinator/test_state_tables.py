"""Tables of states: what they forbid isn't done, and the drawn page is in step with them."""

from __future__ import annotations

import runpy

import pytest

from models.kafka.coordinator.consumer.member import STEPS, MemberState
from models.kafka.elections.controller_states import ControllerPartitionState, ReplicaState, partitions, replicas
from tests.conftest import ROOT

P, R = ControllerPartitionState, ReplicaState


def test_the_page_of_states_is_in_step_with_the_tables() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "write_states.py"))["page"]
    assert (ROOT / "docs" / "states.md").read_text(encoding="utf-8") == page(), "python docs/write_states.py writes it again"


def test_members_can_go_from_each_state_to_each() -> None:
    assert {(before, after) for before, steps in STEPS.items() for after in steps} == {(a, b) for a in MemberState for b in MemberState}


@pytest.mark.parametrize(
    ("steps", "refused_at"),
    [
        ([P.NEW, P.ONLINE, P.ONLINE, P.OFFLINE, P.ONLINE, P.OFFLINE, P.NON_EXISTENT, P.NEW], None),
        ([P.ONLINE], 0),
        ([P.NEW, P.NON_EXISTENT], 1),
        ([P.NEW, P.ONLINE, P.NEW], 2),
    ],
)
def test_steps_of_partitions(steps: list[ControllerPartitionState], refused_at: int | None) -> None:
    machine = partitions()
    refused = [number for number, after in enumerate(steps) if machine.move([("t", 0)], after)]
    assert refused == ([] if refused_at is None else [refused_at])


@pytest.mark.parametrize(
    ("steps", "refused_at"),
    [
        ([R.NEW, R.ONLINE, R.OFFLINE, R.DELETION_STARTED, R.DELETION_SUCCESSFUL, R.NON_EXISTENT], None),
        ([R.NEW, R.OFFLINE, R.DELETION_STARTED, R.DELETION_INELIGIBLE, R.ONLINE], None),
        ([R.NEW, R.ONLINE, R.DELETION_STARTED], 2),
    ],
)
def test_steps_of_replicas(steps: list[ReplicaState], refused_at: int | None) -> None:
    machine = replicas()
    refused = [number for number, after in enumerate(steps) if machine.move([("t", 0, 1)], after)]
    assert refused == ([] if refused_at is None else [refused_at])


def test_one_illegal_step_keeps_none_of_the_others_back() -> None:
    machine = partitions()
    machine.move([("t", 0)], P.NEW)
    assert machine.move([("t", 0), ("t", 1)], P.ONLINE) == [("t", 1)]
    assert machine.state(("t", 0)) is P.ONLINE
    assert machine.state(("t", 1)) is P.NON_EXISTENT
