"""Processes that read tasks from one pipe and write results to another.

They end with the first pipe, so none outlives the process that started it, however that ends. A fork of this process starts at once,
where it is safe: on Linux, without other threads of Python, whose locks it would copy. Libraries' own idle threads care for forks
themselves. Elsewhere a new interpreter imports all modules again; `multiprocessing` would import the user's script with them.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import IO, Protocol

_START = "import json, sys; sys.path[:] = json.loads(sys.argv[1]); from pipelines.analysis.parallel.worker import main; main()"

Serve = Callable[[IO[bytes], IO[bytes]], None]
"""Carries out tasks of the first stream, and writes results to the second."""


class WorkerProcess(Protocol):
    """A started process."""

    @property
    def pid(self) -> int:
        """Its number."""

    @property
    def tasks(self) -> IO[bytes]:
        """Where its tasks go."""

    @property
    def results(self) -> IO[bytes]:
        """Where its results come from."""

    def end(self) -> int:
        """Kill it, if it still runs.

        Returns its exit code, or the negated number of the signal that ended it.
        """

    def is_over(self) -> bool:
        """Whether it has ended."""


class NewInterpreter:
    """A process of its own from the start."""

    def __init__(self) -> None:
        # A session of its own: Ctrl-C is for this process alone, which then ends the others.
        command = [sys.executable, "-c", _START, json.dumps(sys.path)]
        process = subprocess.Popen(  # noqa: S603 - this very interpreter
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=os.name == "posix"
        )
        if process.stdin is None or process.stdout is None:
            raise ValueError("a process without pipes")
        self._process = process
        self.pid = process.pid
        self.tasks: IO[bytes] = process.stdin
        self.results: IO[bytes] = process.stdout

    def end(self) -> int:
        """Kill it, if it still runs; returns how it ended."""
        self._process.kill()
        _close(self)
        return self._process.wait()

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._process.poll() is not None


class ForkedProcess:
    """A fork of this process, with all its modules."""

    def __init__(self, serve: Serve, others: Iterable[WorkerProcess]) -> None:
        task_reader, task_writer = os.pipe()
        result_reader, result_writer = os.pipe()
        inherited = [task_writer, result_reader, *(stream.fileno() for other in others for stream in (other.tasks, other.results))]
        for stream in (sys.stdout, sys.stderr):
            with suppress(OSError, ValueError):  # where its reader is gone, the next line tells
                stream.flush()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # since 3.12, where a library has a thread
                self.pid = os.fork()
        except OSError:
            for descriptor in (task_reader, task_writer, result_reader, result_writer):
                os.close(descriptor)
            raise
        if not self.pid:
            _serve_as_child(serve, task_reader, result_writer, inherited)
        os.close(task_reader)
        os.close(result_writer)
        self.tasks: IO[bytes] = os.fdopen(task_writer, "wb")
        self.results: IO[bytes] = os.fdopen(result_reader, "rb")
        self._status: int | None = None

    def end(self) -> int:
        """Kill it, if it still runs; returns how it ended."""
        if not self.is_over():
            os.kill(self.pid, signal.SIGKILL)
        _close(self)
        return self._wait(0) or 0

    def is_over(self) -> bool:
        """Whether it has ended."""
        return self._wait(os.WNOHANG) is not None

    def _wait(self, options: int) -> int | None:
        """How it ended, None if it has not."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, options)
            except ChildProcessError:  # the process that started this one has it ignore its children
                pid, status = self.pid, 0
            self._status = os.waitstatus_to_exitcode(status) if pid else None
        return self._status


def _serve_as_child(serve: Serve, task_reader: int, result_writer: int, inherited: Iterable[int]) -> None:
    """Serve until there are no more tasks, and end without what ends the parent."""
    status = 1
    try:
        os.setsid()  # as a new interpreter
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        for descriptor in inherited:  # another process would not see the end of its tasks as long as they are open here
            os.close(descriptor)
        with os.fdopen(task_reader, "rb") as tasks, os.fdopen(result_writer, "wb") as results:
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(2, 1)  # whatever else prints is no output of the command
            serve(tasks, results)
        status = 0
    except BaseException:
        sys.excepthook(*sys.exc_info())
    finally:
        with suppress(Exception):
            sys.stderr.flush()
        os._exit(status)


def _close(process: WorkerProcess) -> None:
    for stream in (process.tasks, process.results):
        with suppress(OSError):  # what it was to be sent reaches nobody
            stream.close()


def may_fork() -> bool:
    """Whether a fork of this process is safe."""
    return sys.platform == "linux" and threading.active_count() == 1 and threading.current_thread() is threading.main_thread()


def started(serve: Serve, others: Iterable[WorkerProcess]) -> WorkerProcess:
    """Start a process beside others of the same pool."""
    if may_fork():
        with suppress(OSError):  # memory may lack for a copy of this process
            return ForkedProcess(serve, others)
    return NewInterpreter()
