"""How much memory the simulator takes, and how fast it is: `python -m tests.benchmarks.bench_simulate [MEGABYTES ...]`.

Lets the busiest of the bundled scenarios last until it has written so many megabytes (10, 100 and 1,000 unless given), request
logs included, each in a process of its own. Prints the peak of its resident memory, which must not grow with the output: the
largest may take a tenth more than the smallest. Then prints the lines a second of a simulated day with and without request logs, start
of the process included. The output is removed at once.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

SCENARIO = ["simulate", "busy_day", "--kafka-version", "3.9.1", "--seed", "1"]
REQUESTS = ["--request-log"]
GROWTH_MAX = 1.1
PROBE_MINUTES = 10
DAY_MINUTES = 1_440


def run(minutes: int, folder: Path, options: Sequence[str] = REQUESTS) -> tuple[int, int, float, float]:
    """Bytes and lines written, peak megabytes and wall seconds of a simulation of this length."""
    program = str(Path(sys.executable).with_name("groupscope"))
    command = [program, *SCENARIO, *options, "--duration", f"{minutes}m", "--out", str(folder / "made")]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    seconds = time.perf_counter() - begin
    logs = list(folder.rglob("*.log"))
    written, lines = sum(path.stat().st_size for path in logs), sum(path.read_bytes().count(b"\n") for path in logs)
    shutil.rmtree(folder / "made")
    return written, lines, usage.ru_maxrss / 1000, seconds


def main() -> None:
    """Simulate until each size is reached, one after the other."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("megabytes", nargs="*", type=int, default=[10, 100, 1_000])
    options.add_argument("--folder", help="where to write (default: the system's temporary folder)")
    given = options.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        per_minute = run(PROBE_MINUTES, Path(folder))[0] / PROBE_MINUTES
        for megabytes in given.megabytes:
            written, _, peak, seconds = run(max(round(megabytes * 1e6 / per_minute), 1), Path(folder))
            peaks.append(peak)
            print(f"{written / 1e6:,.0f} MB written, {peak:.0f} MB of memory at most, {seconds:.0f} s", flush=True)
        for name, chosen in (("with", REQUESTS), ("without", [])):
            _, lines, _, seconds = run(DAY_MINUTES, Path(folder), chosen)
            print(f"a day {name} request logs: {lines:,} lines, {lines / seconds:,.0f} a second", flush=True)
    grown = peaks[-1] > peaks[0] * GROWTH_MAX
    raise SystemExit(f"more than {GROWTH_MAX} times as much memory for the largest" if grown else 0)


if __name__ == "__main__":
    main()
