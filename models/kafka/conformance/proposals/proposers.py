"""The proposer of each line, and where the line finds the group."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from models.events import Event, text_field
from models.kafka.conformance.explanation import HiddenInput
from models.kafka.conformance.proposals.arrivals import propose_id, propose_join, propose_pending_join, propose_replacement
from models.kafka.conformance.proposals.departures import propose_expiry, propose_leave, propose_pending_expiry, propose_pending_leave
from models.kafka.conformance.proposals.group_records import (
    propose_assignment,
    propose_cleanup,
    propose_deletion,
    propose_group_end,
    propose_load,
    propose_member_record,
    propose_simple_group,
    propose_unload,
)
from models.kafka.conformance.proposals.join_phase_ends import (
    propose_empty_group,
    propose_generation,
    propose_leader_change,
    propose_removals,
    propose_static_absence,
)
from models.kafka.conformance.proposals.rebalance_starts import Proposer, propose_missed_sync, propose_rebalance_start
from models.kafka.conformance.scene import Scene, Script
from models.kafka.coordinator.protocol.group_states import State


def proposals(scene: Scene) -> Iterator[Script]:
    """Scripts for a line; none where the line changes nothing."""
    proposer = PROPOSERS.get(scene.line.name)
    if proposer is None:
        return
    yield from proposer(scene)


def possible_states(scene: Scene) -> tuple[HiddenInput, ...]:
    """States in which the coordinator can write this line.

    Where the model does not have it there.
    """
    line, certainty = scene.line, scene.explanation.certainty
    if line.group is None or line.name not in PROPOSERS:
        return ()
    previous_lines = _logged_state_before(scene)
    state, generation = scene.explanation.state_and_generation
    began = line if line.name == "RebalanceStarted" else scene.next("RebalanceStarted")
    told_generation = began.generation if began is not None else _generation_before(line)
    if state is None and previous_lines is None and told_generation is None:
        previous_lines = None if line.name in CREATING else State.EMPTY if line.name in PENDING_LINES else State.STABLE
    elif state is None and previous_lines is None:
        previous_lines = State.EMPTY if told_generation == 0 else State.STABLE
    is_elsewhere = previous_lines is not None and previous_lines is not state
    is_other = told_generation is not None and (generation is None or told_generation != generation)
    if not is_elsewhere and not (is_other and (not certainty.is_generation_sure or line.name == "RebalanceStarted")):
        return ()
    return (HiddenInput("adopt", generation=told_generation, state=previous_lines),)


PENDING_LINES = frozenset({"PendingMemberLeft", "PendingMemberExpired"})
"""All that may ever be written of a group without joins."""
CREATING = frozenset({"SimpleGroupCreated", "GroupsDeleted", "GroupLoaded", "GroupUnloaded", "GroupDied", "MemberLoaded"})

MEMBER_REASONS = frozenset(
    {"update_metadata", "leader_rejoin", "leave", "heartbeat_expiration", "pending_sync_expiration", "sync_store_error"}
)
"""Reasons that a group without members can't have."""


def _logged_state_before(scene: Scene) -> State | None:
    """The state before a line, where it prints or implies one."""
    line = scene.line
    if line.name in ("MemberAdded", "PendingMemberJoined", "MemberIdHandedOut", "StaticMemberReplaced"):
        return scene.printed_state
    if line.name == "RebalanceStarted":
        of_a_member = scene.state is State.EMPTY and text_field(line, "reason_id") in MEMBER_REASONS
        return State.STABLE if scene.state is State.PREPARING_REBALANCE or of_a_member else None
    if line.name in ("GenerationStarted", "GroupEmptied", "MembersNotRejoined", "NoMemberRejoined"):
        return State.PREPARING_REBALANCE
    if line.name == "AssignmentReceived" and line.generation is not None and scene.state is State.PREPARING_REBALANCE:
        return State.COMPLETING_REBALANCE
    return None


def _generation_before(line: Event) -> int | None:
    """The generation before a line that tells one."""
    if line.generation is None:
        return None
    if line.name in ("GenerationStarted", "GroupEmptied"):
        return line.generation - 1
    return line.generation if line.name == "AssignmentReceived" else None


PROPOSERS: Mapping[str, Proposer] = {
    "MemberAdded": propose_join,
    "PendingMemberJoined": propose_pending_join,
    "MemberIdHandedOut": propose_id,
    "StaticMemberReplaced": propose_replacement,
    "RebalanceStarted": propose_rebalance_start,
    "MemberLeft": propose_leave,
    "MemberFailed": propose_expiry,
    "PendingMemberLeft": propose_pending_leave,
    "PendingMemberExpired": propose_pending_expiry,
    "GenerationStarted": propose_generation,
    "MembersNotRejoined": propose_removals,
    "LeaderReplaced": propose_leader_change,
    "NoMemberRejoined": propose_static_absence,
    "GroupEmptied": propose_empty_group,
    "AssignmentReceived": propose_assignment,
    "SyncMissing": propose_missed_sync,
    "GroupsDeleted": propose_deletion,
    "GroupDied": propose_group_end,
    "SimpleGroupCreated": propose_simple_group,
    "OffsetsExpired": propose_cleanup,
    "GroupLoaded": propose_load,
    "GroupUnloaded": propose_unload,
    "MemberLoaded": propose_member_record,
}
"""Proposers by the event of a line.

What is not here changes nothing in the model.
"""
