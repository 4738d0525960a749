"""Runs on a standalone cluster that lose executors: `--executors`."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

from tests.cluster.standalone import cluster, kill_executor, pack_environment, submit
from tests.crash.loop import OF_RUNS
from tests.crash.started import alone
from tests.pipelines.site import Site
from tests.reliability.growing_log import GrowingLog

_BEGAN, _SECONDS, _BYTES_PER_SECOND = 1_795_250_000.0, 150, 100_000
_PAUSE_SECONDS_MAX = 15.0


def write_logs(folder: Path) -> None:
    """A log with more records than the driver reads itself."""
    log = GrowingLog(folder, _BYTES_PER_SECOND)
    for second in range(_SECONDS):
        log.step(_BEGAN + second, 1.0)


def cases(folder: Path, count: int) -> Iterator[tuple[str, list[str]]]:
    """Runs that lose an executor at a random time after it began to read, and go on."""
    folder.mkdir(parents=True)
    here = Site(folder / "here")
    write_logs(here.logs)
    code, said = alone(here, {}).ended()
    if code:
        raise SystemExit(f"the run that is to be compared with failed with {code}: {said[-4000:]}")
    wanted = {name: rows for name, rows in here.content().items() if name not in OF_RUNS}
    draw = random.Random(count)  # noqa: S311 - the same times each time
    environment = pack_environment(folder)
    with cluster(folder / "nodes") as nodes:
        for number in range(count):
            there = Site(folder / f"there-{number}")
            shutil.copytree(here.logs, there.logs)
            process = submit(nodes, environment, there.place, "--input", "logs", "--warehouse", "warehouse")
            pause = draw.uniform(0, _PAUSE_SECONDS_MAX)
            killed = kill_executor(nodes, process, pause)
            _, said = process.communicate()
            wrong = [] if process.returncode == 0 else [f"ended with {process.returncode}: {said[-2000:]}"]
            found = there.content() if not wrong else wanted
            yield (
                f"executor {'killed' if killed else 'not killed, the run had ended'} {pause:.1f} s after its start",
                wrong + [name for name in wanted if found[name] != wanted[name]],
            )
            shutil.rmtree(there.place, ignore_errors=True)
