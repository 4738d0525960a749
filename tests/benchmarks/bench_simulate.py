"""How much memory the simulator takes: `python -m tests.benchmarks.bench_simulate [MEGABYTES ...]`.

Lets the busiest of the bundled scenarios last until it has written so many megabytes (10, 100 and 1,000 unless given), request
logs included, each in a process of its own. Prints the peak of its resident memory, which must not grow with the output: the
largest may take a tenth more than the smallest. The output is removed at once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = ["simulate", "busy_day", "--kafka-version", "3.9.1", "--request-log", "--seed", "1"]
GROWTH_MAX = 1.1
PROBE_MINUTES = 10


def run(minutes: int, folder: Path) -> tuple[int, float, float]:
    """Bytes written, peak megabytes and wall seconds of a simulation of this length."""
    command = [str(Path(sys.executable).with_name("groupscope")), *SCENARIO, "--duration", f"{minutes}m", "--out", str(folder / "made")]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    written = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    shutil.rmtree(folder / "made")
    return written, usage.ru_maxrss / 1000, time.perf_counter() - begin


def main() -> None:
    """Simulate until each size is reached, one after the other."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("megabytes", nargs="*", type=int, default=[10, 100, 1_000])
    options.add_argument("--folder", help="where to write (default: the system's temporary folder)")
    given = options.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        per_minute = run(PROBE_MINUTES, Path(name))[0] / PROBE_MINUTES
        for megabytes in given.megabytes:
            written, peak, seconds = run(max(round(megabytes * 1e6 / per_minute), 1), Path(name))
            peaks.append(peak)
            print(f"{written / 1e6:,.0f} MB written, {peak:.0f} MB of memory at most, {seconds:.0f} s", flush=True)
    grown = peaks[-1] > peaks[0] * GROWTH_MAX
    raise SystemExit(f"more than {GROWTH_MAX} times as much memory for the largest" if grown else 0)


if __name__ == "__main__":
    main()
