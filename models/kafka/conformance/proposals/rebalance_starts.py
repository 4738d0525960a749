"""Proposes what began a join phase."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from models.events import text_field
from models.kafka.conformance.explanation import HiddenInput, is_named
from models.kafka.conformance.proposals.departures import propose_expiry
from models.kafka.conformance.proposals.scripts import perhaps_held
from models.kafka.conformance.scene import Scene, Script
from models.kafka.coordinator.protocol.group_states import State

Proposer = Callable[[Scene], Iterable[Script]]


def propose_rebalance_start(scene: Scene) -> Iterator[Script]:
    """Propose what began a rebalance, by the line's reason."""
    reason = text_field(scene.line, "reason_id")
    by_reason = REASONS.get(reason or "")
    yield from by_reason(scene) if by_reason is not None else _began_somehow(scene)


def _new_member(scene: Scene) -> Iterator[Script]:
    """Propose a newcomer whose own line is hidden.

    It came with an id that was handed out, or before such lines were written.
    """
    member, instance = scene.member_id, text_field(scene.line, "reason_instance_id")
    sight = scene.explanation.sight
    via_id = sight.policy.hands_out_member_ids and instance is None and sight.shows("MemberAdded")
    if via_id:
        yield from perhaps_held(scene, HiddenInput("join_pending", (member,)))
    else:
        yield from perhaps_held(scene, HiddenInput("join", (member,) if member else (), instance))


def _rejoined(scene: Scene) -> Iterator[Script]:
    """Propose a rejoin: of the leader, or with other metadata than before."""
    member = scene.member_id
    leads = text_field(scene.line, "reason_id") == "leader_rejoin"
    known = (HiddenInput("lead", (member,)),) if leads else scene.missing(member)
    yield from perhaps_held(scene, *known, HiddenInput("rejoin", (member,), has_changed=not leads))


def _left_by_reason(scene: Scene) -> Iterator[Script]:
    members = scene.names("reason_members") or ((scene.member_id,) if scene.member_id else ())
    if members:
        yield from perhaps_held(scene, *scene.missing(*members), HiddenInput("leave", members))


def _expired_by_reason(scene: Scene) -> Iterator[Script]:
    yield from propose_expiry(scene)


def _replaced_by_reason(scene: Scene) -> Iterator[Script]:
    """Propose a replacement whose line is lost.

    Who the new id belonged to can't be told unless the instance is known.
    """
    member, instance = scene.member_id, text_field(scene.line, "reason_instance_id")
    old = scene.group.static.get(instance or "") if scene.group is not None else None
    replaced = HiddenInput("replace", (old, member) if old else (), instance, has_changed=True)
    yield Script((replaced,) if old else (HiddenInput("be_member", (member,)), HiddenInput("rejoin", (member,), has_changed=True)))


def propose_missed_sync(scene: Scene) -> Iterator[Script]:
    """Propose that SyncGroup never came.

    Only members can be removed; ids of members that were replaced may be among those waited for.
    """
    members = scene.names("reason_members") or scene.names("members")
    unnamed = sum(not is_named(member) for member in scene.members)
    unknown = [member for member in members if member not in scene.members]
    if not scene.explanation.sight.policy.sync_needs_members and len(unknown) < len(members):
        unknown = unknown[:unnamed]
    yield from perhaps_held(scene, *scene.missing(*unknown), HiddenInput("end_sync_wait", members))


def _not_stored(scene: Scene) -> Iterator[Script]:
    member = scene.member_id
    yield Script((*((HiddenInput("lead", (member,)),) if member else ()), HiddenInput("sync", has_changed=True)))


def _began_somehow(scene: Scene) -> Iterator[Script]:
    """Propose a beginning without a reason (until 2.0), or an unknown one.

    A newcomer, the leader again, or a member that left unseen.
    """
    leader = scene.group.leader if scene.group is not None else None
    if scene.state is State.EMPTY or not scene.members:
        yield Script((HiddenInput("join"),), "usual")
        return
    yield Script((HiddenInput("join"),), "unnamed")
    if leader is not None and leader in scene.members:
        yield Script((HiddenInput("rejoin", (leader,), has_changed=True),), "unnamed")
    if not scene.explanation.sight.shows("MemberLeft"):
        other = next((member for member in scene.members if member != leader), leader)
        yield Script((HiddenInput("leave", (other,) if other else ()),), "unnamed")


REASONS: Mapping[str, Proposer] = {
    "new_member": _new_member,
    "update_metadata": _rejoined,
    "leader_rejoin": _rejoined,
    "member_joining": _rejoined,
    "leave": _left_by_reason,
    "heartbeat_expiration": _expired_by_reason,
    "static_member_update": _replaced_by_reason,
    "static_member_protocol_change": _replaced_by_reason,
    "pending_sync_expiration": propose_missed_sync,
    "sync_store_error": _not_stored,
}
"""By the reason that the line of a beginning gives."""
