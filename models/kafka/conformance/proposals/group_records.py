"""Proposes assignments, loads and ends of a group."""

from __future__ import annotations

from collections.abc import Iterator

from models.events import int_field, names_field, text_field
from models.kafka.conformance.explanation import HiddenInput
from models.kafka.conformance.proposals.join_phase_ends import unproven_members
from models.kafka.conformance.scene import Scene, Script
from models.kafka.coordinator.protocol.group_states import State


def propose_assignment(scene: Scene) -> Iterator[Script]:
    """Propose the leader's SyncGroup.

    Since 3.0 the line names it; whom it left out stands in the next one.
    """
    member, empty = scene.line.member_id, scene.next("EmptyAssignmentsSet")
    left_out = tuple(names_field(empty, "members")) if empty is not None else ()
    given_none = tuple(line.member_id or "" for line in scene.run_of("EmptyAssignmentSent") if line is not scene.line)
    led = (HiddenInput("lead", (member,)),) if member else ()
    after = scene.next("RebalanceStarted", "GroupStoreFailed")
    fails = after is not None and (after.name == "GroupStoreFailed" or text_field(after, "reason_id") == "sync_store_error")
    if scene.state is not State.COMPLETING_REBALANCE:
        led = (HiddenInput("adopt", generation=scene.line.generation, state=State.COMPLETING_REBALANCE), *led)
    known = scene.missing(*left_out, *given_none)
    count = int_field(scene.line, "member_count")
    surplus = len({*scene.members, *left_out, *given_none}) - (count or 0)
    if known and count is not None and surplus > 0:
        named = (member or "", *left_out, *given_none)
        known = (HiddenInput("vanish", unproven_members(scene, surplus, named)), *known)
    yield Script((*led, *known, HiddenInput("sync_empty", given_none) if given_none else HiddenInput("sync", left_out, has_changed=fails)))


def propose_deletion(scene: Scene) -> Iterator[Script]:
    """Propose that the group was deleted, if the line lists it."""
    if scene.explanation.group_id in names_field(scene.line, "groups"):
        yield Script((HiddenInput("delete") if scene.state is State.EMPTY else HiddenInput("die"),))


def propose_group_end(scene: Scene) -> Iterator[Script]:  # noqa: ARG001
    """Propose the end of the group."""
    yield Script((HiddenInput("die"),))


def propose_simple_group(scene: Scene) -> Iterator[Script]:  # noqa: ARG001
    """Propose the first commit of a group without members."""
    yield Script((HiddenInput("commit"),))


def propose_cleanup(scene: Scene) -> Iterator[Script]:
    """Propose what Java's clean-up removed.

    The line counts what was written, including ends of groups, but names no group.
    """
    sight = scene.explanation.sight
    if scene.state is State.EMPTY and not sight.shows("GroupDied") and (int_field(scene.line, "offsets_count") or 0) > 0:
        yield Script((HiddenInput("die"),), "usual")


def propose_member_record(scene: Scene) -> Iterator[Script]:
    """Propose one record of a member, perhaps of an older generation."""
    yield Script((HiddenInput("read_member", (scene.member_id,), scene.line.instance_id, scene.line.generation),))


def propose_load(scene: Scene) -> Iterator[Script]:
    """Propose that another coordinator reads the group.

    It reads what the old one wrote last, as far as lines show it.
    """
    explanation, line = scene.explanation, scene.line
    count, read = int_field(line, "member_count"), explanation.loading
    members = tuple(member for member, generation in read.items() if generation in (None, line.generation))
    if count is None and members:
        count = len(members)
    inputs = [HiddenInput("load")]
    has_members = count > 0 if count is not None else bool(scene.members) or (line.generation or 0) > 0
    inputs.append(HiddenInput("adopt_loaded", members, generation=line.generation, state=State.STABLE if has_members else State.EMPTY))
    yield Script(tuple(inputs))


def propose_unload(scene: Scene) -> Iterator[Script]:
    """An old coordinator may clear what another one has taken over already."""
    if scene.line.node is None or scene.explanation.node in (None, scene.line.node):
        yield Script((HiddenInput("unload"),))
