"""Kills runs of the job and compares the tables after the next one: `python -m tests.crash`.

    --seeds N        places at which the log is cut (default 5); every named point is tried with each
    --first N        the first of these seeds (default 0, with which the kills at random times and the pairs are, too)
    --points TEXT    only points that hold this text
    --random N       kills at random times (default 100)
    --concurrent N   pairs of runs started at once (default 20)
    --connect        runs are clients of one server of Spark Connect, which goes on when they are killed

Every line is one case; it ends with 1 where the tables of any differ. All of it takes hours where each run starts a JVM, and
a fraction of that with --connect.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path

from tests.crash import loop
from tests.crash.started import Starter, alone, clients

Case = tuple[str, list[str]]


def main() -> int:
    """Run the requested cases; return the number of differences."""
    asked = _arguments()
    failed = done = 0
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder, _starter(asked, Path(folder)) as start:
        for name, wrong in _cases(asked, Path(folder), start):
            done += 1
            failed += bool(wrong)
            sys.stdout.write(f"{name}: {'; '.join(wrong) or 'equal'}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{done} cases, {failed} differ, {time.monotonic() - began:.0f} s\n")
    return 1 if failed else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--points", default="")
    parser.add_argument("--random", type=int, default=100)
    parser.add_argument("--concurrent", type=int, default=20)
    parser.add_argument("--connect", action="store_true")
    return parser.parse_args()


def _starter(asked: argparse.Namespace, folder: Path) -> AbstractContextManager[Starter]:
    return clients(folder) if asked.connect else nullcontext(alone)


def _cases(asked: argparse.Namespace, folder: Path, start: Starter) -> Iterator[Case]:
    places = loop.in_place(folder)
    for seed in range(asked.first, asked.first + max(asked.seeds, 1)):
        stage = loop.Stage.make(folder / f"seed-{seed}", seed, start)
        began = time.monotonic()
        named = loop.points(stage, next(places))
        length = time.monotonic() - began
        if seed == 0:
            draw = random.Random(0)  # noqa: S311 - the same cases each time
            for pause in (draw.choice([0.0, 0.0, draw.uniform(0, length)]) for _ in range(asked.concurrent)):
                yield f"two at once, {pause:.2f} s apart", loop.two_at_once(stage, next(places), pause)
            for seconds in (draw.uniform(0, length) for _ in range(asked.random)):
                yield f"killed after {seconds:.2f} s", loop.killed_after(stage, next(places), seconds)
        if asked.seeds:
            for point in (point for point in named if asked.points in point):
                yield f"seed {seed}, killed {point}", loop.killed_at(stage, next(places), point)


if __name__ == "__main__":
    raise SystemExit(main())
