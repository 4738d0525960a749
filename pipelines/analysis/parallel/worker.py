"""What a worker process does: tasks in, results out."""

from __future__ import annotations

import os
import pickle
import sys
from functools import partial
from typing import IO, Any

from pipelines.gc_tuning import gc_throttled


def main() -> None:
    """Carry out the tasks of standard input until it ends."""
    # Whatever else prints must not get between the results.
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    serve(sys.stdin.buffer, results)


def serve(tasks: IO[bytes], results: IO[bytes]) -> None:
    """Carry out tasks until there are no more."""
    with gc_throttled():
        while True:
            try:
                task = pickle.load(tasks)  # noqa: S301 - from our own process
            except EOFError:
                return
            _carry_out(task, results)


def _carry_out(task: Any, results: IO[bytes]) -> None:
    try:
        value = task.run(partial(_send_progress, results))
    except Exception as problem:
        send(results, ("failed", problem))
    else:
        send(results, ("done", value))


def _send_progress(results: IO[bytes], value: Any) -> None:
    send(results, ("told", value))


def send(stream: IO[bytes], value: Any) -> None:
    """Write a value for the other side."""
    pickle.dump(value, stream, protocol=pickle.HIGHEST_PROTOCOL)
    stream.flush()
