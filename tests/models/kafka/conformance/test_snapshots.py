"""A tracker that is stored and taken up again at any line tells the rest as one that never stopped."""

from __future__ import annotations

import pytest

from models.kafka.conformance.expected_lines import Sight
from models.kafka.conformance.group_view import view_of
from models.kafka.conformance.snapshots import restored_model, snapshot_of
from models.kafka.conformance.tracker import Tracker
from models.kafka.coordinator.runtime.version_policy import policy_for
from tests.adapters.classic import version_of
from tests.blind import LEVELS, lines_of
from tests.models.kafka.conformance.test_told_recordings import TRACES


@pytest.mark.parametrize("name", TRACES)
def test_what_is_stored_is_what_goes_on(name: str) -> None:
    trace = TRACES[name]
    written = [line.event for line in lines_of(trace)]
    sight = Sight(policy_for(version_of(trace) or ""), LEVELS)
    for group in trace["steps"][0]["state"]:
        tracker = Tracker(group, sight)
        for _ in tracker.follow([event for event in written if event.group in (None, group)]):
            if tracker.best.announced or len(tracker.beam) > 1:
                continue
            snapshot = snapshot_of(tracker.best)
            again = Tracker.from_explanation(restored_model(snapshot, group, sight))
            assert snapshot_of(again.best) == snapshot
            assert again.state_and_generation == tracker.best.state_and_generation
            stored, shown = view_of(again), view_of(tracker)
            assert (stored.state, stored.leader, stored.members, stored.pending) == (
                shown.state,
                shown.leader,
                shown.members,
                shown.pending,
            )
