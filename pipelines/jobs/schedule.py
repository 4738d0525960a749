"""Repeat the job at an interval, in one session."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


def repeat(every_seconds: float, once: Callable[[], object], over: threading.Event, clock: Callable[[], float] = time.monotonic) -> int:
    """Call `once` now and at each interval until `over` is set; return the count.

    A call that takes longer delays the next one, and missed calls are not made up for.
    """
    times = 0
    due = clock()
    while not over.is_set():
        once()
        times += 1
        due = max(due + every_seconds, clock())
        over.wait(max(0.0, due - clock()))
    return times


@contextmanager
def until_stopped(over: threading.Event) -> Iterator[None]:
    """Let SIGTERM and SIGINT end the repetition after the current run.

    A second signal interrupts that run too.
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        if over.is_set():
            raise KeyboardInterrupt
        over.set()
        signal.signal(number, stop)

    before = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
