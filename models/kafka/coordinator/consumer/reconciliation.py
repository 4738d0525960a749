"""Reconciliation: a member's steps from its current to its target assignment.

Source: 4.0.0, CurrentAssignmentBuilder.java. A member must revoke what it loses before it gains partitions, and it
gains only partitions that nobody holds. So it waits at most twice: until it has revoked, and until others have
released.
"""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet

from models.kafka.coordinator.consumer.member import Member, MemberState
from models.kafka.coordinator.consumer.topic_partitions import NO_PARTITIONS, PartitionSet, TopicPartition

# Looked up more quickly as names of the module (see `group_states`).
_STABLE, _UNREVOKED_PARTITIONS, _UNRELEASED_PARTITIONS = MemberState

Owned = Mapping[str, frozenset[int]]


def reconcile(
    member: Member, target_epoch: int, target: PartitionSet, owned: Owned | None, assigned: AbstractSet[TopicPartition]
) -> Member:
    """Advance a member by one heartbeat.

    Returns the same object if nothing changes. `owned` is the sender's own list of partitions (None: not sent); `assigned` are
    all partitions that any member has or has yet to revoke.
    """
    if member.state is _UNREVOKED_PARTITIONS:
        if owns_any(owned, member.pending_revocation):
            return member
        return _next(member, member.epoch + 1, target_epoch, target, owned, assigned)
    return _next(member, member.epoch, target_epoch, target, owned, assigned)


def owns_any(owned: Owned | None, partitions: PartitionSet) -> bool:
    """Whether a member may own one of these; True without information."""
    if owned is None:
        return True
    return any(number in owned.get(topic, ()) for topic, number in partitions)


def owns_only(owned: Owned | None, partitions: PartitionSet) -> bool:
    """Whether a member lists its partitions and owns no others."""
    return owned is not None and all((topic, number) in partitions for topic, numbers in owned.items() for number in numbers)


def _next(
    member: Member, epoch: int, target_epoch: int, target: PartitionSet, owned: Owned | None, assigned: AbstractSet[TopicPartition]
) -> Member:
    kept = member.assigned & target
    lost = member.assigned - kept
    if lost and owns_any(owned, lost):
        return _moved(member, epoch, _UNREVOKED_PARTITIONS, kept, lost)
    wanted = target - kept
    released = frozenset(partition for partition in wanted if partition not in assigned)
    state = _STABLE if released == wanted else _UNRELEASED_PARTITIONS
    return _moved(member, target_epoch, state, kept | released, NO_PARTITIONS)


def _moved(member: Member, epoch: int, state: MemberState, assigned: PartitionSet, pending_revocation: PartitionSet) -> Member:
    is_same = epoch == member.epoch == member.previous_epoch and state is member.state
    if is_same and assigned == member.assigned and pending_revocation == member.pending_revocation:
        return member
    return member.moved(epoch, state, assigned, pending_revocation)
