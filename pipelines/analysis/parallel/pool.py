"""A few processes that carry out tasks, with results in order."""

from __future__ import annotations

import copyreg
import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields
from functools import partial
from operator import attrgetter
from threading import Condition, Lock, Thread
from types import MappingProxyType
from typing import Any, Protocol

from models.events import Event, LogPosition
from pipelines.analysis.parallel.processes import WorkerProcess, started
from pipelines.analysis.parallel.worker import send, serve

AHEAD = 2
"""Tasks begun for each process before the first result is taken."""
ATTEMPTS = 2
"""Maximum attempts of a task.

A process may have died of something that passes, such as a lack of memory.
"""


class Task(Protocol):
    """Work of a worker process.

    It is sent as a pickle, and so is its result.
    """

    def run(self, report: Any) -> Any:
        """Carry the task out; `report` receives its progress."""


@dataclass(frozen=True, slots=True)
class WorkerDeath:
    """The result of a task whose processes died."""

    how: str


@dataclass(slots=True)
class _Work:
    """The tasks under way, shared by the threads that each talk to one process."""

    tasks: Iterator[Task]
    results: dict[int, Any] = field(default_factory=dict)
    changed: Condition = field(default_factory=Condition)
    begun: int = 0
    taken: int = 0
    is_over: bool = False
    failure: BaseException | None = None
    threads: list[Thread] = field(default_factory=list)

    def end(self) -> None:
        """Begin no more tasks."""
        with self.changed:
            self.is_over = True
            self.changed.notify_all()


class WorkerPool:
    """Worker processes that run until `close`."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.deaths: list[str] = []
        """Deaths of processes whose tasks were begun again."""
        self._closing = Lock()
        self._closed = False
        self._works: list[_Work] = []
        self._processes: list[WorkerProcess] = []
        for _ in range(size):
            self._processes.append(started(serve, self._processes))

    def close(self) -> None:
        """End the processes, whatever they do, and the threads that talk to them.

        Beside a thread no other pool could fork.
        """
        with self._closing:  # none is started any more
            self._closed = True
        for work in self._works:
            work.end()
        for process in self._processes:
            process.end()
        for work in self._works:
            for thread in work.threads:
                thread.join()

    def results(self, tasks: Iterable[Task], report: Any = None) -> Iterator[Any]:
        """Results in the order of the tasks.

        A task whose processes died has `WorkerDeath` for a result.

        `report` is called by threads, with the progress that workers report.
        """
        work = _Work(iter(tasks))
        self._works.append(work)
        work.threads = [Thread(target=self._serve, args=(work, place, report), daemon=True) for place in range(self.size)]
        for thread in work.threads:
            thread.start()
        try:
            while (result := self._next(work)) is not None:
                yield result[0]
        finally:
            work.end()

    @staticmethod
    def _next(work: _Work) -> tuple[Any] | None:
        with work.changed:
            while work.taken not in work.results:
                if work.failure is not None:
                    raise work.failure
                if work.is_over and work.taken == work.begun:
                    return None
                work.changed.wait(1.0)  # with a limit, because an endless wait can't be interrupted everywhere
            result = work.results.pop(work.taken)
            work.taken += 1
            work.changed.notify_all()
        return (result,)

    def _serve(self, work: _Work, place: int, report: Any) -> None:
        """Send tasks to one process until there are none."""
        try:
            while (given := self._begin(work)) is not None:
                number, task = given
                result = self._done(place, task, report)
                with work.changed:
                    work.results[number] = result
                    work.changed.notify_all()
        except BaseException as failure:  # it is raised where the results are taken
            with work.changed:
                work.failure = work.failure or failure
                work.changed.notify_all()

    def _begin(self, work: _Work) -> tuple[int, Task] | None:
        with work.changed:
            while not work.is_over and work.begun - work.taken >= AHEAD * self.size:
                work.changed.wait()
            if work.is_over:
                return None
            task = next(work.tasks, None)
            if task is None:
                work.is_over = True
                work.changed.notify_all()
                return None
            work.begun += 1
            return work.begun - 1, task

    def _succeed(self, place: int) -> str:
        """Start another process in place of one that died; returns how it did."""
        with self._closing:
            if self._closed:
                raise EOFError("the pool is closed")
            status = self._processes[place].end()
            self._processes[place] = started(serve, [process for other, process in enumerate(self._processes) if other != place])
        return _how(status)

    def _done(self, place: int, task: Task, report: Any) -> Any:
        how = ""
        for _ in range(ATTEMPTS):
            process = self._processes[place]
            try:
                kind, value = _result(process, task, report)
            except (EOFError, OSError, pickle.UnpicklingError):
                how = self._succeed(place)
                self.deaths.append(how)
                continue
            if kind == "failed":
                raise value
            return value
        self.deaths.pop()
        return WorkerDeath(how)


def _how(status: int) -> str:
    return f"signal {-status}" if status < 0 else f"exit code {status}"


def _result(process: WorkerProcess, task: Task, report: Any) -> tuple[str, Any]:
    """Outcome of a task, done or failed, with its result or exception."""
    send(process.tasks, task)
    while True:
        kind, value = pickle.load(process.results)  # noqa: S301 - from our own process
        if kind != "told":
            return kind, value
        if report is not None:
            report(value)


def pickle_as_tuples(*kinds: type[Any]) -> None:
    """Pickle dataclasses of these kinds by their fields, in order.

    Those with slots are slow to pickle otherwise.
    """
    for kind in kinds:
        values = attrgetter(*(field.name for field in fields(kind)))
        copyreg.pickle(kind, partial(lambda kind, values, value: (kind, values(value)), kind, values))


pickle_as_tuples(Event, LogPosition)  # most of what is sent


def _frozen(content: dict[str, object]) -> MappingProxyType[str, object]:
    return MappingProxyType(content)


copyreg.pickle(MappingProxyType, lambda mapping: (_frozen, (dict(mapping),)))  # events without fields have one
