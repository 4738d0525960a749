"""Worker processes of an analysis, if it is large enough for them."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence

from parsers.sources.files import SourceFile
from pipelines.analysis.parallel.pool import WorkerPool
from pipelines.analysis.parallel.processes import may_fork
from pipelines.analysis.parallel.reading import estimated_bytes
from pipelines.scratch import scratch

WORTH_BYTES = 60_000_000
"""Minimum input for which several forks of this process pay off.

Rows must come back from them.
"""
WORTH_BYTES_NEW = 200_000_000
"""Minimum input for which several new interpreters pay off.

Each takes half a second to import its modules.
"""
BYTES_EACH = 30_000_000
"""Least input of a process, but where there are two.

On a machine with many processors more of them would only take memory.
"""


def processors() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class Workers:
    """The processes of one analysis, and their folder.

    As a context manager it removes both.
    """

    def __init__(self, processes: int | None, worth_bytes: int | None = None) -> None:
        self._processes = processors() if processes is None else processes
        self._worth_bytes = worth_bytes
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self.pool: WorkerPool | None = None

    def begin(self, sources: Sequence[SourceFile]) -> WorkerPool | None:
        """Start processes if these files are worth them, else return None.

        Others may not be able to open what is no plain path.
        """
        if self._processes < 2 or not sys.executable:
            return None
        worth_bytes = (WORTH_BYTES if may_fork() else WORTH_BYTES_NEW) if self._worth_bytes is None else self._worth_bytes
        size = sum(map(estimated_bytes, sources))
        if size < worth_bytes or not all(os.path.isfile(source.path) for source in sources):
            return None
        self.pool = WorkerPool(min(self._processes, max(2, size // BYTES_EACH)))
        return self.pool

    @property
    def folder(self) -> str:
        """Folder for the results of processes."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
        return self._folder.name

    @property
    def warnings(self) -> list[str]:
        """One line for each process that died, and whose part was done again."""
        deaths = self.pool.deaths if self.pool is not None else []
        return [f"a worker process died ({how}); its part was done again by another" for how in deaths]

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *_: object) -> None:
        if self.pool is not None:
            self.pool.close()
        if self._folder is not None:
            self._folder.cleanup()
