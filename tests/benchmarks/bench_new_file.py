"""What one new file costs a warehouse of many: `python -m tests.benchmarks.bench_new_file [--files 1000]`.

Makes a warehouse of files of 20 kB, then adds files of 1 MB and runs the job after each, in one session, and at last without a new
file. Prints the seconds of each run and of its parts, and Spark's own counting of the new file's lines beside it.
"""

from __future__ import annotations

import argparse
import json
import tempfile
from pathlib import Path

from pipelines.spark.session import Workload, get_session
from tests.benchmarks.bench_job import job, timed
from tests.benchmarks.bench_parse import RELEVANT_SHARE, Maker

OLD_BYTES, NEW_BYTES = 20_000, 1 << 20


def write(path: Path, maker: Maker, size: int) -> None:
    """Write whole lines of at most this size."""
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(next(maker.blocks(size))[:size].rpartition(b"\n")[0] + b"\n")


def main() -> None:
    """Make the warehouse, add files, remove everything."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--files", type=int, default=1000)
    options.add_argument("--new", type=int, default=3)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as name:
        logs, warehouse = Path(name) / "logs", Path(name) / "warehouse"
        maker = Maker(RELEVANT_SHARE)
        for number in range(given.files):
            write(logs / f"server.log.{number}", maker, OLD_BYTES)
        session = get_session({"spark.master": "local[2]"}, Workload.USUAL)
        taken, first = timed(lambda: job(logs, warehouse))
        print(f"{given.files:,} files of {OLD_BYTES / 1e3:g} kB: {taken:.1f} s {json.dumps(first.timings)}", flush=True)
        for number in range(given.new):
            path = logs / f"server.log.new{number}"
            write(path, maker, NEW_BYTES)
            spark, lines = timed(session.read.text(str(path)).count)
            taken, more = timed(lambda: job(logs, warehouse))
            print(f"1 MB more: {taken:.1f} s {json.dumps(more.timings)}; {lines:,} lines counted by Spark: {spark:.1f} s", flush=True)
        taken, _ = timed(lambda: job(logs, warehouse))
        print(f"nothing new: {taken:.1f} s")


if __name__ == "__main__":
    main()
