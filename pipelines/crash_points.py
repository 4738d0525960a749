"""Named points of a run, before and after each commit, for crash tests.

`GROUPSCOPE_CRASH_AT=POINT[:N]` ends the process when it reaches the point for the N-th time (by default the first),
without cleaning up, as a power cut would. `GROUPSCOPE_CRASH_TRACE=FILE` records the points that a run reaches.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

CRASH_AT = "GROUPSCOPE_CRASH_AT"
TRACE = "GROUPSCOPE_CRASH_TRACE"
_met: Counter[str] = Counter()


def crash_point(point: str) -> None:
    """Mark that the run has reached a point."""
    wanted, trace = os.environ.get(CRASH_AT), os.environ.get(TRACE)
    if wanted is None and trace is None:
        return
    _met[point] += 1
    if trace is not None:
        with Path(trace).open("a", encoding="utf-8") as file:
            file.write(f"{point}\n")
    name, _, time = (wanted or "").partition(":")
    if name == point and _met[point] == int(time or 1):
        os.kill(os.getpid(), signal.SIGKILL)
