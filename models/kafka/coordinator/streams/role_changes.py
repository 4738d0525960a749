"""Reconciliation since 4.4, with changes of roles in place.

Source: 4.4.0, streams/CurrentAssignmentBuilder.java: an active task becomes a standby task at once, standby and warm-up
tasks turn into each other, and both are kept until they become active.
"""

from __future__ import annotations

from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.reconciliation import Holders, moved_by
from models.kafka.coordinator.streams.tasks import TaskId, TaskKind, Tasks

_Places = dict[TaskKind, set[TaskId]]
ACTIVE, STANDBY, WARMUP = TaskKind.ACTIVE, TaskKind.STANDBY, TaskKind.WARMUP


def next_with_roles(member: Member, epoch: int, target_epoch: int, target: Tasks, owned: Tasks | None, holders: Holders) -> Member:
    """Advance a member by one step (computeNextAssignment)."""
    has, wants = _by_kind(member.assigned), _by_kind(target)
    kept = {kind: has[kind] & wants[kind] for kind in TaskKind}
    lost = {kind: has[kind] - wants[kind] for kind in TaskKind}
    missing = {kind: wants[kind] - has[kind] for kind in TaskKind}
    free = {kind: {task for task in missing[kind] if not _is_taken(kind, task, has, member.process, holders)} for kind in TaskKind}
    is_waiting = free != missing
    _turn(has, lost, free, kept)
    _keep_promoted(has, wants, lost)
    given_up = _flat(lost)
    must_revoke = bool(given_up) and (owned is None or bool(owned & given_up))
    granted = set() if must_revoke else free[ACTIVE]
    for kind in (STANDBY, WARMUP):
        kept[kind] |= (has[kind] & wants[ACTIVE]) - granted
    return moved_by(member, epoch, target_epoch, _flat(kept), given_up if must_revoke else None, _flat(free), is_waiting=is_waiting)


def _by_kind(tasks: Tasks) -> _Places:
    return {kind: {(part, number) for kind_of_task, part, number in tasks if kind_of_task is kind} for kind in TaskKind}


def _flat(places: _Places) -> Tasks:
    return frozenset((kind, *task) for kind, tasks in places.items() for task in tasks)


def _is_taken(kind: TaskKind, task: TaskId, has: _Places, process: str, holders: Holders) -> bool:
    """Whether another member has the task in a way that excludes this one."""
    runs = holders.runs(task)
    if kind is ACTIVE and runs is not None:
        return True
    if kind is STANDBY and runs == process and task not in has[ACTIVE]:
        return True
    if kind is WARMUP and runs == process:
        return True
    return any(holders.has_copy(copy, task, process) and (copy is kind or task not in has[copy]) for copy in (STANDBY, WARMUP))


def _turn(has: _Places, lost: _Places, free: _Places, kept: _Places) -> None:
    """Let tasks change their roles at once."""
    for before, after in ((ACTIVE, STANDBY), (STANDBY, WARMUP), (WARMUP, STANDBY)):
        turned = has[before] & free[after]
        free[after] -= turned
        kept[after] |= turned
        if before is not ACTIVE:
            lost[before] -= turned


def _keep_promoted(has: _Places, wants: _Places, lost: _Places) -> None:
    """Don't revoke what the member is to have as active."""
    for kind in (STANDBY, WARMUP):
        lost[kind] -= has[kind] & wants[ACTIVE]
