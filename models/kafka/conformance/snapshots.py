"""The model of one group as plain values, and back.

What is left out is what no line tells: heartbeats, offsets, and what members' protocols are called.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from models.kafka.conformance.expected_lines import Sight
from models.kafka.conformance.explanation import Certainty, Explanation
from models.kafka.conformance.hidden_inputs import REBALANCE_MS, SESSION_MS, SOME, STAND_IN_PROTOCOLS
from models.kafka.coordinator.classic.group import Group, Member
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.protocol.subscription import CONSUMER
from models.kafka.coordinator.runtime.timers import TimerKind
from models.kafka.coordinator.runtime.version_policy import CoordinatorSettings


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """A member, and which of its requests are parked."""

    id: str
    instance: str | None
    joins: bool
    syncs: bool
    is_new: bool


@dataclass(slots=True)
class Snapshot:
    """A group in the model; `state` is None where there is none."""

    certainty: Certainty
    node: str | None
    accounted: int
    missing: int
    unexplained: int
    unnamed: int
    """Number of members with made-up ids."""
    state: State | None = None
    generation: int = 0
    since_ms: int | None = None
    leader: str | None = None
    is_initial: bool = False
    new_member_added: bool = False
    members: list[MemberSnapshot] = field(default_factory=list)
    pending_join: list[str] = field(default_factory=list)
    pending_sync: list[str] = field(default_factory=list)
    timers: list[tuple[str, str, int]] = field(default_factory=list)
    """Kind, member and deadline; sessions of members are left out."""


def snapshot_of(explanation: Explanation) -> Snapshot:
    """The model as plain values, without lines that it still awaits."""
    group, guesses = explanation.group, explanation.guesses
    counts = (explanation.accounted, explanation.missing, explanation.unexplained, guesses.unnamed)
    made = Snapshot(explanation.certainty.fork(), explanation.node, *counts)
    if group is None:
        return made
    made.state, made.generation, made.since_ms, made.leader = group.state, group.generation, group.state_since_ms, group.leader
    made.is_initial, made.new_member_added = group.is_initial, group.new_member_added
    made.members = [
        MemberSnapshot(member.id, member.instance, member.join is not None, member.sync is not None, member.is_new)
        for member in group.members.values()
    ]
    made.pending_join, made.pending_sync = sorted(group.pending_join), sorted(group.pending_sync)
    timers = explanation.coordinator.timers.of_group(group.id)
    made.timers = sorted((str(timer.kind), timer.member, timer.at_ms) for timer in timers if timer.member not in group.members)
    return made


def restored_model(snapshot: Snapshot, group_id: str, sight: Sight, settings: CoordinatorSettings | None = None) -> Explanation:
    """The model made again; the version may be another by now."""
    explanation = Explanation.begin(group_id, sight, settings)
    explanation.certainty, explanation.node = snapshot.certainty.fork(), snapshot.node
    explanation.accounted, explanation.missing, explanation.unexplained = snapshot.accounted, snapshot.missing, snapshot.unexplained
    explanation.guesses.unnamed = snapshot.unnamed
    if snapshot.state is not None:
        _put_group(explanation, snapshot, snapshot.state)
    return explanation


def _put_group(explanation: Explanation, snapshot: Snapshot, state: State) -> None:
    shard = explanation.coordinator.shard
    group = shard.groups[explanation.group_id] = Group(explanation.group_id, snapshot.since_ms, state, snapshot.generation)
    for known in snapshot.members:
        member = Member(known.id, known.instance, "", "", SESSION_MS, REBALANCE_MS, CONSUMER, STAND_IN_PROTOCOLS)
        member.join = explanation.number() if known.joins else None
        member.sync = explanation.number() if known.syncs else None
        member.is_new = known.is_new
        group.add(member)
        shard.renew(group, member)
    group.leader, group.is_initial, group.new_member_added = snapshot.leader, snapshot.is_initial, snapshot.new_member_added
    group.pending_join, group.pending_sync = set(snapshot.pending_join), set(snapshot.pending_sync)
    if state in (State.STABLE, State.COMPLETING_REBALANCE):
        group.protocol = STAND_IN_PROTOCOLS[0].name
    if state in (State.STABLE, State.EMPTY):
        shard.log.groups[group.id] = shard.record(group, dict.fromkeys(group.members, SOME))
    for kind, member_id, at_ms in snapshot.timers:
        shard.timers.schedule(TimerKind(kind), group.id, member_id, at_ms)
