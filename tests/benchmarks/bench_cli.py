"""How long people wait: `python -m tests.benchmarks.bench_cli [--megabytes 100 1000] [--warehouse URI]`.

Starts commands as a user does, each in a process of its own, several times, and prints the median of the wall time and
of the processor time: help, an answer from `data_samples`, from server.logs of the sizes given (5% of their lines are
about groups), and, with a warehouse that `groupscope run` has made, questions to its tables.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from pipelines.analysis.parallel.workers import WORTH_BYTES
from tests.benchmarks.bench_parse import RELEVANT_SHARE, make

ROOT = Path(__file__).resolve().parent.parent.parent
SAMPLES = ROOT / "data_samples"
COMMAND = str(Path(sys.executable).with_name("groupscope"))


def asked(arguments: Sequence[str]) -> bytes:
    """Standard output of a command."""
    return subprocess.run([COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, cwd=ROOT, check=True).stdout


def measure(arguments: Sequence[str], times: int) -> tuple[float, float]:
    """Median wall and processor seconds of a command."""
    walls, busy = [], []
    for _ in range(times):
        command = [COMMAND, *arguments]
        begin = time.perf_counter()
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd=ROOT) as process:
            _, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
        walls.append(time.perf_counter() - begin)
        busy.append(usage.ru_utime + usage.ru_stime)
    return statistics.median(walls), statistics.median(busy)


def tell(name: str, arguments: Sequence[str], times: int) -> None:
    wall, busy = measure(arguments, times)
    print(f"{name}: {wall:.2f} s, {busy:.2f} s of processor time (median of {times})", flush=True)


def compare_processes(size: int, path: Path) -> None:
    """Print the wall time with all processors as a share of that with one, in turns."""
    ratios = []
    for _ in range(3):
        walls = []
        for processes in ("0", "1"):
            os.environ["GROUPSCOPE_INPUT_PROCESSES"] = processes
            walls.append(measure(["analyze", str(path)], 1)[0])
        ratios.append(walls[0] / walls[1])
    del os.environ["GROUPSCOPE_INPUT_PROCESSES"]
    print(f"analyze {size} MB: all processors take {statistics.median(ratios):.2f} of the wall time of one", flush=True)


def main() -> None:
    """Start each command and print its duration."""
    options = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    options.add_argument("--megabytes", type=int, nargs="*", default=[100, 1000])
    options.add_argument("--warehouse", help="tables of groupscope run on data_samples (make demo)")
    given = options.parse_args()
    tell("--help", ["--help"], 9)
    tell("analyze --help", ["analyze", "--help"], 9)
    tell("analyze data_samples", ["analyze", str(SAMPLES), "--settings", str(SAMPLES / "settings.toml")], 5)
    for question in (["offenders"], ["rebalances"], ["explain", "shipping-e/2"]) if given.warehouse else ():
        tell(f"{' '.join(question)} --warehouse", [*question, "--warehouse", given.warehouse], 5)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "server.log"
        for size in given.megabytes:
            make(path, size * 1_000_000, RELEVANT_SHARE)
            tell(f"analyze {size} MB", ["analyze", str(path)], 3 if size <= 100 else 1)
            if size > WORTH_BYTES // 1_000_000:
                compare_processes(size, path)


if __name__ == "__main__":
    main()
