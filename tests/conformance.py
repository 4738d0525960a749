"""Compare the models with recordings of the real code: `python -m tests.conformance FILE...`.

Prints `NAME: N of M equal` for each file and exits with 1 if anything differs. Files are JSON Lines, plain or gzip-compressed;
which adapter reads a line is told by its content (see `tests.adapters`). Work is shared out by line numbers: each process
reads the whole file and checks its part, so memory stays at one line per process whatever the file's size.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import sys
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, cast

from tests.adapters import Adapter, Difference, adapters

BATCH_LINES = 8
"""Neighbouring lines cost about the same, so processes take turns in small batches."""

GZIP_MAGIC = b"\x1f\x8b"
SHOWN_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class Mismatch:
    """A line that the model does not reproduce.

    `failure` is the traceback if the model raised.
    """

    line_number: int
    trace_id: str
    difference: Difference | None = None
    failure: str = ""


@dataclass(slots=True)
class Result:
    """Number of lines read from a file, and of equal ones."""

    lines: int = 0
    equal: int = 0
    mismatches: list[Mismatch] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add the counts of another process."""
        self.lines += other.lines
        self.equal += other.equal
        self.mismatches = sorted([*self.mismatches, *other.mismatches], key=lambda mismatch: mismatch.line_number)


def open_recording(path: Path) -> BinaryIO:
    """Open a recording for reading, compressed or not."""
    with path.open("rb") as head:
        packed = head.read(len(GZIP_MAGIC)) == GZIP_MAGIC
    return cast("BinaryIO", gzip.open(path)) if packed else path.open("rb")


def own_lines(path: Path, worker: int, workers: int, every: int) -> Iterator[tuple[int, bytes]]:
    """Lines of `worker`, numbered from 1.

    Every `every`-th line is dealt out in batches.
    """
    with open_recording(path) as lines:
        taken = -1
        for number, line in enumerate(lines, 1):
            if (number - 1) % every or not line.strip():
                continue
            taken += 1
            if taken // BATCH_LINES % workers == worker:
                yield number, line


def check_line(number: int, text: bytes, known: Sequence[Adapter]) -> Mismatch | None:
    """Check one line; an exception of a model counts as a mismatch."""
    trace_id = ""
    try:
        line: dict[str, Any] = json.loads(text)
        trace_id = str(line.get("id", ""))
        adapter = next((adapter for adapter in known if adapter.accepts(line)), None)
        if adapter is None:
            return Mismatch(number, trace_id, failure=f"no adapter reads this line: {text[:200]!r}")
        difference = adapter.check(line)
    except Exception:
        return Mismatch(number, trace_id, failure=traceback.format_exc())
    return None if difference is None else Mismatch(number, trace_id, difference)


def check_part(path: Path, worker: int, workers: int, every: int) -> Result:
    """Check the lines of one worker."""
    known = adapters()
    result = Result()
    for number, text in own_lines(path, worker, workers, every):
        result.lines += 1
        mismatch = check_line(number, text, known)
        if mismatch is None:
            result.equal += 1
        else:
            result.mismatches.append(mismatch)
    return result


def check_file(path: Path, jobs: int = 1, every: int = 1) -> Result:
    """Check every `every`-th line of a recording in `jobs` processes."""
    if jobs == 1:
        return check_part(path, 0, 1, every)
    total = Result()
    with ProcessPoolExecutor(jobs) as pool:
        for future in [pool.submit(check_part, path, worker, jobs, every) for worker in range(jobs)]:
            total.add(future.result())
    return total


def name_of(path: Path) -> str:
    """The recording's name: that of the file, without its compression."""
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def describe(mismatch: Mismatch) -> Iterator[str]:
    """Describe the first difference of a line."""
    yield f"  line {mismatch.line_number} {mismatch.trace_id}"
    if mismatch.failure:
        yield from (f"    {line}" for line in mismatch.failure.rstrip().splitlines())
    found = mismatch.difference
    if found is not None:
        yield f"    step {found.step}: {found.where}" if found.step is not None else f"    {found.where}"
        for name, value in (("operation", found.operation), ("expected", found.expected), ("actual", found.actual)):
            if name != "operation" or value is not None:
                yield f"      {name}: {value!r}"[:SHOWN_CHARACTERS]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.conformance", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="recordings, JSON Lines, plain or gzip-compressed")
    parser.add_argument("-v", "--verbose", action="store_true", help="show the first differing step of each line that differs")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes to use (default: one per core)")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="check each N-th line only")
    options = parser.parse_args(arguments)
    alike = True
    for path in options.files:
        result = check_file(path, max(options.jobs, 1), max(options.every, 1))
        alike = alike and result.equal == result.lines > 0
        print(f"{name_of(path)}: {result.equal} of {result.lines} equal", flush=True)
        if options.verbose:
            print(*(line for mismatch in result.mismatches for line in describe(mismatch)), sep="\n", end="\n" if result.mismatches else "")
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
