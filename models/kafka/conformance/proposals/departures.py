"""Proposes how a member went."""

from __future__ import annotations

from collections.abc import Iterator

from models.events import Event
from models.kafka.conformance.explanation import HiddenInput
from models.kafka.conformance.proposals.scripts import pending_inputs, perhaps_held
from models.kafka.conformance.scene import Scene, Script


def propose_leave(scene: Scene) -> Iterator[Script]:
    """Propose departures: one after the other, or all in one step.

    All of one request go in one step since the coordinator in Java.
    """
    leaving = list(scene.run_of("MemberLeft", "PendingMemberLeft"))
    if scene.explanation.sight.policy.leaves_in_one_step and len(leaving) > 1:
        yield Script(tuple(leave_inputs(scene, leaving)), "stated")
    yield from perhaps_held(scene, *leave_inputs(scene, leaving[:1]))


def leave_inputs(scene: Scene, lines: list[Event]) -> Iterator[HiddenInput]:
    """Inputs of a departure, with what must have been true before."""
    members = tuple(line.member_id or "" for line in lines)
    pending = tuple(line.member_id or "" for line in lines if line.name == "PendingMemberLeft")
    yield from pending_inputs(scene, *pending)
    yield from scene.missing(*(member for member in members if member not in pending))
    yield HiddenInput("leave", members)


def propose_expiry(scene: Scene) -> Iterator[Script]:
    """Propose that a session, or the time of an id, ran out."""
    yield from perhaps_held(scene, *scene.missing(scene.member_id), HiddenInput("expire", (scene.member_id,)))


def propose_pending_leave(scene: Scene) -> Iterator[Script]:
    """Propose that a pending member left."""
    yield from propose_leave(scene)


def propose_pending_expiry(scene: Scene) -> Iterator[Script]:
    """Propose that a pending member id expired."""
    yield from perhaps_held(scene, *pending_inputs(scene, scene.member_id), HiddenInput("expire", (scene.member_id,)))
