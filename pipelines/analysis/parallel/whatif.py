"""Parts of what-if's runs, by worker processes.

Only a history of thousands of rebalances has parts; processes start with the first one, and end with this process.
"""

from __future__ import annotations

import atexit
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from models.whatif.behaviour.members import Act
from models.whatif.runs.courses import FinishedRun, Rest
from models.whatif.runs.parts import PartRunner, RunPart, in_turn
from models.whatif.runs.simulated_rebalances import SimulatedRebalance
from pipelines.analysis.parallel.pool import WorkerDeath, WorkerPool, pickle_as_tuples
from pipelines.analysis.parallel.workers import processors

pickle_as_tuples(Act, Rest, SimulatedRebalance)


@dataclass(frozen=True, slots=True)
class PartTask:
    """A part as a task of a worker process."""

    part: RunPart

    def run(self, _: Any) -> list[FinishedRun]:
        """Run the part."""
        return self.part.finished()


class PartWorkers:
    """Runs parts in worker processes, which stay for the next ones."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._pool: WorkerPool | None = None

    @property
    def is_begun(self) -> bool:
        """Whether processes were started."""
        return self._pool is not None

    def close(self) -> None:
        """End the processes."""
        if self._pool is not None:
            self._pool.close()

    def __call__(self, parts: Sequence[RunPart]) -> Iterable[list[FinishedRun]]:
        if len(parts) < 2:
            return in_turn(parts)
        if self._pool is None:
            self._pool = WorkerPool(self._size)
            atexit.register(self._pool.close)
        results = self._pool.results(map(PartTask, parts))
        # A part whose processes died is run here, where a failure has a name.
        return [part.finished() if isinstance(result, WorkerDeath) else result for part, result in zip(parts, results, strict=True)]


def part_runner(processes: int) -> PartRunner:
    """Make a runner of parts in several processes.

    0 is one for each processor.
    """
    size = processes or processors()
    return PartWorkers(size) if size > 1 and sys.executable else in_turn
