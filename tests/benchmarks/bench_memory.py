"""How much memory large logs take: `python -m tests.benchmarks.bench_memory [--gigabytes 10]`.

Makes a server.log with 5% lines about groups, in which members of 240 groups come and go, and runs `groupscope events
--jsonl` and `groupscope analyze` over it and over a tenth of it, each in a process of its own. Prints the peak of
their resident memory, which must stay below 600 MB whatever the size, and how long they took.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.benchmarks.bench_parse import RELEVANT_SHARE, make

LIMIT_MB = 600
COMMANDS = {"events": ["events", "--jsonl"], "analyze": ["analyze"], "analyze --json": ["analyze", "--json"]}


def measure(arguments: list[str], path: Path) -> tuple[float, float]:
    """Peak megabytes and wall seconds of a command."""
    command = [str(Path(sys.executable).with_name("groupscope")), arguments[0], str(path), *arguments[1:]]
    begin = time.perf_counter()
    with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {process.returncode}")
    return usage.ru_maxrss / 1000, time.perf_counter() - begin


def main() -> None:
    """Make the files, run the commands, remove the files."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--gigabytes", type=float, default=10)
    options.add_argument("--folder", help="where to write the input (default: the system's temporary folder)")
    options.add_argument("--commands", nargs="+", choices=COMMANDS, default=list(COMMANDS))
    given = options.parse_args()
    highest = 0.0
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "server.log"
        for gigabytes in (given.gigabytes / 10, given.gigabytes):
            make(path, int(gigabytes * 1e9), RELEVANT_SHARE)
            for name in given.commands:
                peak, seconds = measure(COMMANDS[name], path)
                highest = max(highest, peak)
                print(f"{name}: {gigabytes:g} GB, {peak:.0f} MB at most, {seconds:.0f} s", flush=True)
    raise SystemExit(0 if highest < LIMIT_MB else f"more than {LIMIT_MB} MB")


if __name__ == "__main__":
    main()
