"""Tasks of streams groups as sets."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

TaskId = tuple[str, int]
"""Subtopology and partition."""


class TaskKind(StrEnum):
    """Role of a member for a task."""

    ACTIVE = "active"
    STANDBY = "standby"
    """It keeps a copy of the task's state."""
    WARMUP = "warmup"
    """It restores the task's state, to take it over later."""


StreamsTask = tuple[TaskKind, str, int]
Tasks = frozenset[StreamsTask]

NO_TASKS: Tasks = frozenset()


def by_kind(tasks: Iterable[StreamsTask]) -> dict[str, dict[str, list[int]]]:
    """Partition numbers by kind and subtopology, all sorted."""
    listed: dict[str, dict[str, list[int]]] = {}
    for kind, subtopology, number in sorted(tasks):
        listed.setdefault(kind.value, {}).setdefault(subtopology, []).append(number)
    return listed
