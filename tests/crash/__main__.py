"""Kills runs of the job and compares the tables after the next one: `python -m tests.crash`.

    --seeds N        places at which the log is cut (default 5), with odd ones also rotated; every named point is tried with each
    --first N        the first of these seeds (default 0)
    --points TEXT    only points that hold this text
    --random N       kills at random times (default 100): a third anywhere, a third after the first table, a third after the last
    --last N         as many more after the last table (default 0)
    --concurrent N   pairs of runs started at once (default 20)
    --full-disk N    runs whose disk is too small (default 0); needs root, which mounts disks in memory
    --failing-store N  runs on an object store that fails 5 % of the requests (default 0)
    --executors N    runs on a standalone cluster that lose executors at random times (default 0)
    --connect        killed runs are clients of one server of Spark Connect, which goes on when they are killed

Every line is one case; it ends with 1 where the tables of any differ. All of it takes hours where each run starts a JVM, and
a fraction of that with --connect.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.crash import full_disk, loop
from tests.crash.started import Starter, alone, clients

Case = tuple[str, list[str], str]
"""What was done, what is wrong, and under what it is counted."""


def main() -> int:
    """Run the requested cases; return the number of differences."""
    asked = _arguments()
    failed, counted = 0, Counter[str]()
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        for name, wrong, kind in _all_cases(asked, Path(folder)):
            counted[kind] += 1
            failed += bool(wrong)
            sys.stdout.write(f"{name} ({kind}): {'; '.join(wrong) or 'equal'}\n")
            sys.stdout.flush()
    kinds = ", ".join(f"{count} {kind}" for kind, count in sorted(counted.items()))
    sys.stdout.write(f"{counted.total()} cases ({kinds}), {failed} differ, {time.monotonic() - began:.0f} s\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--points", default="")
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--concurrent", type=int, default=20)
    parser.add_argument("--full-disk", type=int, default=0)
    parser.add_argument("--failing-store", type=int, default=0)
    parser.add_argument("--last", type=int, default=0)
    parser.add_argument("--executors", type=int, default=0)
    parser.add_argument("--connect", action="store_true")
    return parser.parse_args()


def _starter(asked: argparse.Namespace, folder: Path) -> AbstractContextManager[Starter]:
    return clients(folder) if asked.connect else nullcontext(alone)


def _all_cases(asked: argparse.Namespace, folder: Path) -> Iterator[Case]:
    if asked.seeds or asked.random or asked.last or asked.concurrent or asked.full_disk:
        with _starter(asked, folder) as start:
            yield from _cases(asked, folder, start)
    if asked.failing_store:
        from tests.crash import failing_store

        for name, wrong in failing_store.cases(folder / "store", asked.failing_store):
            yield name, wrong, "on a store that fails"
    if asked.executors:
        from tests.crash import lost_executors

        for name, wrong in lost_executors.cases(folder / "cluster", asked.executors):
            yield name, wrong, "with lost executors"


def _cases(asked: argparse.Namespace, folder: Path, start: Starter) -> Iterator[Case]:
    places = loop.in_place(folder)
    seeds = max(asked.seeds, 1)
    for number, seed in enumerate(range(asked.first, asked.first + seeds)):
        stage = loop.Stage.make(folder / f"seed-{seed}", seed, start)
        whole = loop.course(stage, next(places))
        draw = random.Random(seed)  # noqa: S311 - the same cases each time
        for pause in (draw.choice([0.0, 0.0, draw.uniform(0, whole.length)]) for _ in range(number, asked.concurrent, seeds)):
            yield f"two at once, {pause:.2f} s apart", loop.two_at_once(stage, next(places), pause), "pairs at once"
        for kill in range(number, asked.random + asked.last, seeds):
            part = 2 if kill >= asked.random else kill // seeds % 3
            since = ((), whole.tables[:1], whole.tables)[part]
            seconds = draw.uniform(0, whole.seconds_after(since))
            done = loop.killed_after(stage, whole, next(places), seconds, since)
            what = ("its start", "the first table", "the last table")[part]
            yield f"killed {seconds:.2f} s after {what}", list(done.wrong), f"killed {done.moment.value}"
        for disk in range(number, asked.full_disk, seeds):
            said, wrong = full_disk.filled(stage, whole, next(places), draw, is_first=disk // seeds % 2 == 0)
            yield said, wrong, "on a full disk"
        if asked.seeds:
            for point in (point for point in whole.seconds if asked.points in point):
                done = loop.killed_at(stage, whole, next(places), point)
                yield f"seed {seed}, killed {point}", list(done.wrong), f"killed {done.moment.value}"


if __name__ == "__main__":
    raise SystemExit(main())
