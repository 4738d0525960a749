"""What is left of a group or a cluster whose replay raises: a row that says so, while the others are replayed.

Models raise for nothing that a log may hold. Where one does all the same, it is a fault of ours, and it costs one group its rows
instead of every group theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.cluster.facts import ClusterFacts, learn
from models.kafka.groups.stage import GroupStage
from models.kafka.verdicts.history import GroupHistory
from models.rows import KAFKA, Divergence
from models.state_codec import UnreadableState

FAILED = "a replay to the end"
"""What a row of `divergences` names as expected that tells of a failed replay."""

NOT_OF_CONTENT = (MemoryError, OSError, UnreadableState)
"""Exceptions that are of the machine or of a stored state: they end the run, and the next one may go well."""

History = TypeVar("History")


def failure(cluster: str, group: str | None, problem: Exception, last: Event | None = None, system: str = KAFKA) -> Divergence:
    """The row that says that a replay failed, at which line, and with what."""
    return Divergence(
        cluster,
        system,
        make_id("failure", cluster, system, group),
        group,
        None if last is None else last.time_us,
        FAILED,
        f"{type(problem).__name__}: it failed here, and rows that were not final by then are missing",
        [] if last is None else evidence([last]),
    )


def told(divergences: Iterable[Divergence]) -> list[str]:
    """Warnings about those of the rows that tell of a failed replay."""
    return [warning(row.cluster, row.system, row.group, row.observed) for row in divergences if row.expected == FAILED]


def warning(cluster: str, system: str, group: str | None, observed: str) -> str:
    """A failed replay in one line."""
    name = f"group {group} of cluster {cluster}" if group is not None else f"cluster {cluster}"
    return f"the replay of {name} ({system}) failed: {observed}; please report it"


def learned(cluster: str, events: Iterable[Event], failures: list[str] | None) -> ClusterFacts:
    """The facts of a cluster; none, and a warning in `failures`, where its events make the cluster stage raise."""
    try:
        return learn(events, cluster)
    except NOT_OF_CONTENT:
        raise
    except Exception as problem:
        if failures is not None:
            failures.append(warning(cluster, KAFKA, None, f"{type(problem).__name__} before its groups: nothing is known of its settings"))
        return ClusterFacts(cluster)


def guarded(rows: Iterator[History], failed: Callable[[Exception], History]) -> Iterator[History]:
    """Rows of a replay, and what `failed` makes of the exception that it ends with, if it does."""
    try:
        yield from rows
    except NOT_OF_CONTENT:
        raise
    except Exception as problem:
        yield failed(problem)


class Guarded:
    """A group's stage that takes no more events once one has made it raise."""

    def __init__(self, cluster: str, group: str, stage: GroupStage) -> None:
        self.failure: Divergence | None = None
        self._cluster, self._group, self.stage = cluster, group, stage
        self._last: Event | None = None

    def feed(self, event: Event, feed: Callable[[Event], None]) -> None:
        """Give the next event to the stage, by `feed`."""
        if self.failure is not None:
            return
        self._last = event
        try:
            feed(event)
        except NOT_OF_CONTENT:
            raise
        except Exception as problem:
            self._fail(problem)

    def let_out(self) -> Iterator[GroupHistory]:
        """Rows that are final."""
        return guarded(iter(() if self.failure is not None else self.stage.let_out()), self._failed)

    def finish(self) -> GroupHistory:
        """The other rows, or the one that says that the replay failed."""
        if self.failure is None:
            try:
                return self.stage.finish()
            except NOT_OF_CONTENT:
                raise
            except Exception as problem:
                self._fail(problem)
        return GroupHistory(divergences=[] if self.failure is None else [self.failure])

    def _fail(self, problem: Exception) -> None:
        self.failure = failure(self._cluster, self._group, problem, self._last)

    def _failed(self, problem: Exception) -> GroupHistory:
        self._fail(problem)
        return GroupHistory()
