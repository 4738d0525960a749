"""Proposes how a member came."""

from __future__ import annotations

from collections.abc import Iterator

from models.events import text_field
from models.kafka.conformance.explanation import HiddenInput
from models.kafka.conformance.proposals.scripts import perhaps_held
from models.kafka.conformance.scene import Scene, Script


def propose_join(scene: Scene) -> Iterator[Script]:
    """Propose a newcomer without an id.

    Before 3.0 the reason alone tells whether it is a static one.
    """
    began = scene.next("RebalanceStarted")
    named = began if began is not None and text_field(began, "reason_member_id") == scene.member_id else None
    instance = scene.line.instance_id or (text_field(named, "reason_instance_id") if named is not None else None)
    yield from perhaps_held(scene, HiddenInput("join", (scene.member_id,), instance))


def propose_pending_join(scene: Scene) -> Iterator[Script]:
    """Propose that a member joins with the id it was given."""
    yield from perhaps_held(scene, HiddenInput("join_pending", (scene.member_id,)))


def propose_id(scene: Scene) -> Iterator[Script]:
    """Propose that a member id is handed out."""
    yield Script((HiddenInput("hand_out", (scene.member_id,)),))


def propose_replacement(scene: Scene) -> Iterator[Script]:
    """Propose the replacement of a static member.

    The new id stands in the line until 2.8, later in the reason of the rebalance that follows, if one does.
    """
    line, began = scene.line, scene.next("RebalanceStarted")
    old = text_field(line, "old_member_id") or ""
    reason = text_field(began, "reason_id") if began is not None else None
    is_meant = reason in ("static_member_update", "static_member_protocol_change")
    new = line.member_id or (text_field(began, "reason_member_id") if began is not None and is_meant else None)
    pair = (old, new) if new else (old,)
    changes = reason == "static_member_protocol_change"
    yield from perhaps_held(scene, *scene.missing(old), HiddenInput("replace", pair, line.instance_id, has_changed=changes))
