"""Reconciliation: a member's steps from its current to its target tasks.

Source: 4.1 to 4.4, streams/CurrentAssignmentBuilder.java. As with consumers, a member gives up what it loses before it
gains tasks. A task is free if nobody has it as active, and the member's own process not at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from models.kafka.coordinator.streams.member import Member, MemberState
from models.kafka.coordinator.streams.tasks import NO_TASKS, StreamsTask, TaskId, TaskKind, Tasks


class Holders:
    """Processes that have tasks, or have yet to give them up.

    Kept step by step as by the broker: two members of one process share an entry, so that the first one to give a task
    up takes it from the other, too (StreamsGroup.java, maybeUpdateTaskProcessId).
    """

    def __init__(self) -> None:
        self._active: dict[TaskId, str] = {}
        self._copies: set[tuple[TaskKind, str, int, str]] = set()

    def move(self, old: Member | None, new: Member | None) -> None:
        """Let a member's new tasks take the place of its old ones."""
        if old is not None:
            self._remove(old.assigned, old.process)
            self._remove(old.pending_revocation, old.process)
        if new is not None:
            self._add(new.assigned | new.pending_revocation, new.process)

    def runs(self, task: TaskId) -> str | None:
        """Process that has the task as active."""
        return self._active.get(task)

    def has_copy(self, kind: TaskKind, task: TaskId, process: str) -> bool:
        """Whether a process has a standby or warm-up task."""
        return (kind, *task, process) in self._copies

    def keep_from(self, task: StreamsTask, process: str) -> bool:
        """Whether a member has to wait for a task that its process still has."""
        kind, subtopology, number = task
        holder = self.runs((subtopology, number))
        if holder is not None and (kind is TaskKind.ACTIVE or holder == process):
            return True
        return any(self.has_copy(copy, (subtopology, number), process) for copy in (TaskKind.STANDBY, TaskKind.WARMUP))

    def _remove(self, tasks: Tasks, process: str) -> None:
        for kind, subtopology, number in tasks:
            if kind is not TaskKind.ACTIVE:
                self._copies.discard((kind, subtopology, number, process))
            elif self._active.get((subtopology, number)) == process:
                del self._active[subtopology, number]

    def _add(self, tasks: Tasks, process: str) -> None:
        for kind, subtopology, number in tasks:
            if kind is TaskKind.ACTIVE:
                self._active[subtopology, number] = process
            else:
                self._copies.add((kind, subtopology, number, process))


Next = Callable[[Member, int, int, Tasks, Tasks | None, Holders], Member]
"""A step: member, epoch if it revokes, target epoch, target, owned tasks, holders."""


def reconcile(member: Member, target_epoch: int, target: Tasks, owned: Tasks | None, holders: Holders, step: Next) -> Member:
    """Advance a member by one heartbeat.

    Returns the same object if nothing changes. `owned` are the tasks that the sender says it has (None: not sent).
    """
    if member.has_reached(target_epoch):
        return member
    if member.state is not MemberState.UNREVOKED_TASKS:
        return step(member, member.epoch, target_epoch, target, owned, holders)
    if owned is None or owned & member.pending_revocation:
        return member
    return step(member, member.epoch + 1, target_epoch, target, owned, holders)


def next_step(member: Member, epoch: int, target_epoch: int, target: Tasks, owned: Tasks | None, holders: Holders) -> Member:
    """Let a member revoke first, then take what is free (computeNextAssignment)."""
    kept = member.assigned & target
    lost = member.assigned - kept
    free = frozenset(task for task in target - kept if not holders.keep_from(task, member.process))
    must_revoke = bool(lost) and (owned is None or bool(owned & lost))
    return moved_by(member, epoch, target_epoch, kept, lost if must_revoke else None, free, is_waiting=free != target - kept)


def moved_by(member: Member, epoch: int, target_epoch: int, kept: Tasks, revoked: Tasks | None, free: Tasks, *, is_waiting: bool) -> Member:
    """Build the member after a step; `revoked` is None if it takes tasks."""
    if revoked is not None:
        return _moved(member, epoch, MemberState.UNREVOKED_TASKS, kept, revoked)
    state = MemberState.UNRELEASED_TASKS if is_waiting else MemberState.STABLE
    return _moved(member, target_epoch, state, kept | free, NO_TASKS)


def _moved(member: Member, epoch: int, state: MemberState, assigned: Tasks, pending_revocation: Tasks) -> Member:
    after = replace(member, epoch=epoch, previous_epoch=member.epoch, state=state, assigned=assigned, pending_revocation=pending_revocation)
    return member if after == member else after
