"""Handle failed replays: report the group or cluster, continue with the others.

Models raise for nothing that a log may hold. If one does, this is a bug; it costs one group its rows, and not every
group.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import TypeVar

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.cluster.facts import ClusterFacts, learn
from models.rows import KAFKA, Divergence
from models.state_codec import UnreadableState

FAILED_REPLAY = "a replay to the end"
"""The `expected` value of `divergences` rows for failed replays."""

NOT_OF_CONTENT = (MemoryError, OSError, UnreadableState)
"""Exceptions caused by the machine or by a stored state.

They end the run, because the next one may succeed.
"""

History = TypeVar("History")


def failure(cluster: str, group: str | None, problem: Exception, last: Event | None = None, system: str = KAFKA) -> Divergence:
    """The row for a failed replay, with its last line and the error."""
    return Divergence(
        cluster,
        system,
        make_id("failure", cluster, system, group),
        group,
        None if last is None else last.time_us,
        FAILED_REPLAY,
        f"{type(problem).__name__}: it failed here, and rows that were not final by then are missing",
        [] if last is None else evidence([last]),
    )


def lost_with_process(cluster: str, group: str, how: str) -> Divergence:
    """The row for a group whose replay ended with its process."""
    row = failure(cluster, group, RuntimeError(how))
    return replace(row, observed=f"the process of its replay died ({how}), and its rows are missing")


def failure_warnings(divergences: Iterable[Divergence]) -> list[str]:
    """Warnings about failed replays among the rows."""
    return [warning(row.cluster, row.system, row.group, row.observed) for row in divergences if row.expected == FAILED_REPLAY]


def warning(cluster: str, system: str, group: str | None, observed: str) -> str:
    """One line about a failed replay."""
    name = f"group {group} of cluster {cluster}" if group is not None else f"cluster {cluster}"
    return f"the replay of {name} ({system}) failed: {observed}; please report it"


def learn_facts(cluster: str, events: Iterable[Event], failures: list[str] | None) -> ClusterFacts:
    """Learn the facts of a cluster.

    If its events make the cluster stage raise, returns no facts and adds a warning to `failures`.
    """
    try:
        return learn(events, cluster)
    except NOT_OF_CONTENT:
        raise
    except Exception as problem:
        if failures is not None:
            failures.append(warning(cluster, KAFKA, None, f"{type(problem).__name__} before its groups: nothing is known of its settings"))
        return ClusterFacts(cluster)


def guarded(rows: Iterator[History], failed: Callable[[Exception], History]) -> Iterator[History]:
    """Return rows of a replay.

    An exception ends them with the row made by `failed`.
    """
    try:
        yield from rows
    except NOT_OF_CONTENT:
        raise
    except Exception as problem:
        yield failed(problem)
