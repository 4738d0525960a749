"""Repeat the job at an interval, in one session."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_GLIBC_LIMITS = {"MALLOC_ARENA_MAX": (-8, 1), "MALLOC_MMAP_THRESHOLD_": (-3, 1 << 20), "MALLOC_TRIM_THRESHOLD_": (-1, 1 << 20)}
"""Variable of the environment -> number for `mallopt` (malloc.h of glibc), and value."""

_DELTA_LIMITS = "narenas:1,tcache:false,dirty_decay_ms:0,muzzy_decay_ms:0"
"""Options for the allocator of delta-rs.

What its threads free goes back to the system at once.
"""


def use_system_allocator() -> None:
    """Let Arrow take its memory from the C library.

    Arrow's own allocator, which is chosen once Arrow is loaded, keeps some megabytes more after each run. So does the C library
    without limits: each thread of a run may get an arena, and what is freed between blocks of others stays there. With one arena the
    driver grew by 24 ± 18 MiB an hour of a soak, with two by 51 ± 23.
    """
    if "pyarrow" not in sys.modules:
        os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    if "deltalake" not in sys.modules:
        os.environ.setdefault("_RJEM_MALLOC_CONF", _DELTA_LIMITS)
    adjust = _of_glibc("mallopt")
    for name, (parameter, value) in _GLIBC_LIMITS.items():
        if name not in os.environ:
            os.environ[name] = str(value)  # for Spark's processes
            if adjust is not None:
                adjust(parameter, value)


def _of_glibc(name: str) -> Callable[..., int] | None:
    """A function of the C library, None where it has none of that name."""
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None


def release_memory() -> None:
    """Give freed memory back to the system, here and in Spark's JVM."""
    import pyarrow as pa

    from pipelines.spark.session import collect_garbage

    pa.default_memory_pool().release_unused()
    trim = _of_glibc("malloc_trim")
    if trim is not None:
        trim(0)  # of what is freed, the C library gives back only the end of an arena by itself
    collect_garbage()


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
