"""The server-side assignor of streams groups.

Source: 4.3, StickyTaskAssignor.java. Each task is active once; standby copies go to other processes. Members keep what
they have as far as an even share allows. Kafka chooses among several valid targets by hash order; this code by name.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from models.kafka.coordinator.streams.member import Member
from models.kafka.coordinator.streams.tasks import NO_TASKS, TaskId, TaskKind, Tasks


@dataclass(frozen=True, slots=True)
class Work:
    """Input of the assignor: members, their former targets, numbers of tasks by subtopology."""

    group: str
    epoch: int
    members: Mapping[str, Member]
    former: Mapping[str, Tasks]
    sizes: Mapping[str, int]
    standby_replicas: int = 0
    stateful: frozenset[str] = frozenset()
    """Subtopologies with state, which alone have standby tasks."""


ChooseTasks = Callable[[Work], Mapping[str, Tasks]]
"""Assigns a target to each member; members without an entry get none."""
Refine = Callable[[Mapping[str, Tasks], Mapping[str, Member]], Mapping[str, Tasks]]
"""Tasks of members on the way to their targets, warm-up tasks first."""


def choose_tasks(work: Work) -> Mapping[str, Tasks]:
    """Assign active tasks evenly, then standby copies on other processes."""
    ids = sorted((subtopology, number) for subtopology, size in work.sizes.items() for number in range(size))
    active = _active(work, ids)
    targets = {member: {(TaskKind.ACTIVE, *task) for task in tasks} for member, tasks in active.items()}
    holds = {(member.process, task) for name, member in work.members.items() for task in active.get(name, ())}
    for task in ids:
        for _ in range(work.standby_replicas if task[0] in work.stateful else 0):
            free = [name for name in sorted(work.members) if (work.members[name].process, task) not in holds]
            if free:
                standby = (TaskKind.STANDBY, *task)
                former = [name for name in free if standby in work.former.get(name, NO_TASKS)]
                taker = min(former or free, key=lambda name: (len(targets[name]), name))
                targets[taker].add(standby)
                holds.add((work.members[taker].process, task))
    return {member: frozenset(tasks) for member, tasks in targets.items()}


def _active(work: Work, ids: list[TaskId]) -> dict[str, list[TaskId]]:
    given: dict[str, list[TaskId]] = {member: [] for member in sorted(work.members)}
    if not given:
        return given
    limit = -(-len(ids) // len(given))
    left = []
    for task in ids:
        owner = next((name for name in given if (TaskKind.ACTIVE, *task) in work.former.get(name, NO_TASKS)), None)
        if owner is not None and len(given[owner]) < limit:
            given[owner].append(task)
        else:
            left.append(task)
    for task in left:
        given[min(given, key=lambda name: (len(given[name]), name))].append(task)
    return given


def keep_target(targets: Mapping[str, Tasks], members: Mapping[str, Member]) -> Mapping[str, Tasks]:  # noqa: ARG001
    """Give members their targets at once, as 4.4 does (AssignmentRefiner.java)."""
    return targets


def is_complete(targets: Mapping[str, Tasks], sizes: Mapping[str, int]) -> bool:
    """Whether each task is active exactly once, and no unknown task is assigned."""
    active = Counter(task[1:] for tasks in targets.values() for task in tasks if task[0] is TaskKind.ACTIVE)
    known = {(subtopology, number) for subtopology, size in sizes.items() for number in range(size)}
    return active == Counter(known) and all(task[1:] in known for tasks in targets.values() for task in tasks)
