"""Parts that scripts of several proposers share."""

from __future__ import annotations

from collections.abc import Iterator

from models.kafka.conformance.explanation import HiddenInput, is_named
from models.kafka.conformance.scene import Scene, Script
from models.kafka.coordinator.protocol.group_states import State

PENDING = HiddenInput("be_pending")
"""An id is out that no line has told."""


def pending_inputs(scene: Scene, *members: str) -> tuple[HiddenInput, ...]:
    """Propose that these ids were handed out.

    One that stands for an id untold is what they were.
    """
    known = scene.group.pending_join if scene.group is not None else set()
    unknown = tuple(member for member in members if member not in known)
    if not unknown:
        return ()
    unnamed = tuple(sorted(name for name in known if not is_named(name)))[: len(unknown)]
    return (*((HiddenInput("forget_pending", unnamed),) if unnamed else ()), HiddenInput("be_pending", unknown))


TOUCHING = frozenset({"rejoin", "leave", "expire", "replace", "end_sync_wait", "be_member"})
"""Inputs after which fewer members may be awaited."""


def perhaps_held(scene: Scene, *inputs: HiddenInput) -> Iterator[Script]:
    """Propose the inputs with and without a pending id.

    It holds the join phase open, where one may be.
    """
    yield Script(inputs)
    group, sight = scene.group, scene.explanation.sight
    if group is None or group.state is State.EMPTY:
        return
    named = {member for hidden in inputs for member in hidden.members}
    touched = sum(len(hidden.members) for hidden in inputs if hidden.kind in TOUCHING)
    is_awaiting = len(group.members) - group.waiting > touched or bool(group.pending_join - named)
    if is_awaiting or (group.is_initial and not touched and group.state is State.PREPARING_REBALANCE):
        return  # others are awaited, and the phase goes on anyway
    if sight.policy.hands_out_member_ids:
        yield Script((PENDING, *inputs), "held_up")
    if not sight.shows_joins and not scene.explanation.certainty.is_roster_sure:
        yield Script((HiddenInput("be_another"), *inputs), "unnamed")
