"""Named points of a run at which tests kill it: before and after each commit.

`GROUPSCOPE_CRASH_AT=POINT[:N]` ends the process as the N-th time (by default the first) that it comes to that point, without
a word, as a power cut would. `GROUPSCOPE_CRASH_TRACE=FILE` writes down the points that a run comes to.
"""

from __future__ import annotations

import os
import signal
from collections import Counter
from pathlib import Path

CRASH_AT = "GROUPSCOPE_CRASH_AT"
TRACE = "GROUPSCOPE_CRASH_TRACE"
_met: Counter[str] = Counter()


def reached(point: str) -> None:
    """Say that the run has come to this point."""
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
