"""How long the Spark job takes beside Spark's own counting of lines: `python -m tests.benchmarks.bench_job [--megabytes 1024]`.

Makes a server.log of which 5% of the lines concern groups, in files of 256 MB, plain or gzipped (`--gzip`), and runs in one
session on local[2]: `read.text(...).count()` over the files, the job over a file of a few lines into a new warehouse (an
empty run, whose time is taken off), what a data engineer would write instead (`handwritten_job`, less its time for a few lines, too), and
the job over all of them into another warehouse. Prints seconds, GB a minute and how often Spark's own time it took to silver and to
gold, and silver beside the handwritten job. `--groups 10000` makes many groups; `--groups 1 --share 1 --restless
--megabytes 900` one of five million events.

Then, in processes of their own as a schedule starts them: batches of 1 MB more into both warehouses in turn, a batch with
nothing new, and questions to the large one. TARGETS are what it should take.
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipelines.jobs.run import run
from pipelines.jobs.run_options import RunOptions, RunOutcome
from pipelines.spark.session import Workload, get_session
from tests.benchmarks.bench_cli import asked, tell
from tests.benchmarks.bench_parse import RELEVANT_SHARE, Maker
from tests.benchmarks.handwritten_job import write_events

FILE_BYTES = 256 << 20
MORE_BYTES = 1 << 20
TO_SILVER = ("open", "ingest", "check_silver")
TO_GOLD = (*TO_SILVER, "replay", "check_gold", "write", "record")
QUESTIONS = (
    ["sql", "select root_cause, count(*), sum(duration_seconds) from rebalances group by all"],
    ["rebalances", "--group", "orders-7"],
    ["timeline", "--group", "orders-7"],
    ["offenders", "--group", "orders-7"],
    ["offenders"],
)
TARGETS = {
    "beside by hand": 1.0,
    "silver": 2.5,
    "gold": 4.0,
    "more": 1.3,
    "more beyond the session": 60.0,
    "nothing new": 3.0,
    "answer": 1.0,
}


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall seconds, and the result of the work."""
    began = time.perf_counter()
    result = work()
    return time.perf_counter() - began, result


def make(folder: Path, size: int, maker: Maker, *, packed: bool = False) -> None:
    """Write files of at most FILE_BYTES."""
    folder.mkdir()
    for number in range(-(-size // FILE_BYTES)):
        left = min(FILE_BYTES, size - number * FILE_BYTES)
        path = folder / f"server.log.{number}"
        with gzip.open(f"{path}.gz", "wb", compresslevel=3) if packed else path.open("wb") as file:
            for block in maker.blocks(left):
                file.write(block)


def job(logs: Path, warehouse: Path) -> RunOutcome:
    """One run of the job."""
    return run(RunOptions([str(logs)], str(warehouse)))


def seconds_of(outcome: RunOutcome, stages: tuple[str, ...]) -> float:
    return sum(outcome.timings.get(stage, 0.0) for stage in stages)


def report(name: str, outcome: RunOutcome, empty: RunOutcome, spark: float, size: int) -> None:
    """One line per layer: time beyond an empty run, and ratio to Spark's."""
    for layer, stages in (("silver", TO_SILVER), ("gold", TO_GOLD)):
        taken = seconds_of(outcome, stages)
        net = max(taken - seconds_of(empty, stages), 1e-9)
        rate = size / 1e9 / (net / 60)
        print(f"{name} to {layer}: {taken:.1f} s, {net:.1f} s net, {rate:.2f} GB/min, {net / spark:.2f} times (target {TARGETS[layer]})")


def peaks() -> dict[str, float]:
    """Peak memory (MB) of this process and its children, the largest of each program.

    Only Linux provides it; others give nothing.
    """
    told: dict[int, tuple[int, str, float]] = {}
    for path in Path("/proc").glob("[0-9]*/status"):
        with contextlib.suppress(OSError):  # the process has ended
            fields = dict(line.partition(":")[::2] for line in path.read_text().splitlines())
            memory = float((fields.get("VmHWM") or "0 kB").split()[0]) / 1000
            told[int(path.parent.name)] = int(fields["PPid"]), fields["Name"].strip(), memory
    found: dict[str, float] = {}
    for pid, (parent, program, memory) in told.items():
        while parent in told and parent != os.getpid():
            parent = told[parent][0]
        if parent == os.getpid() or pid == os.getpid():
            name = "driver's Python" if pid == os.getpid() else f"{program} below it"
            found[name] = max(found.get(name, 0.0), memory)
    return found


def batch(folder: Path, logs: str, warehouse: str) -> tuple[float, dict[str, Any]]:
    """One run of the command in its own process: wall seconds and timings."""
    arguments = ["run", "--input", str(folder / logs), "--warehouse", str(folder / warehouse), "--conf", "spark.master=local[2]"]
    taken, said = timed(lambda: asked([*arguments, "--quiet", "--json"]))
    return taken, json.loads(said)


def tell_batches(folder: Path, maker: Maker, count: int) -> None:
    """Run batches of 1 MB in the large and the small warehouse in turn.

    Then one without new data.
    """
    ratios = []
    for number in range(count):
        path = folder / "logs" / f"server.log.more{number}"
        path.write_bytes(next(maker.blocks(MORE_BYTES))[:MORE_BYTES].rpartition(b"\n")[0] + b"\n")
        shutil.copy(path, folder / "few")
        (large, more), (small, other) = batch(folder, "logs", "warehouse"), batch(folder, "few", "empty")
        ratios.append(large / small)
        counts = f"{more['counts']['groups_replayed']} groups, {more['counts']['groups_resumed']} from states"
        beyond = large - more["timings"]["session"]
        print(
            f"1 MB more: {large:.1f} s, {beyond:.1f} s beyond the session's start (target {TARGETS['more beyond the session']}), {counts}"
        )
        print(f"  {json.dumps(more['timings'])}\n  on an almost empty warehouse {small:.1f} s {json.dumps(other['timings'])}", flush=True)
    print(f"1 MB more takes {statistics.median(ratios):.2f} times as long as on an almost empty warehouse (target {TARGETS['more']})")
    nothing, unchanged = batch(folder, "logs", "warehouse")
    print(f"nothing new: {nothing:.2f} s, without Spark: {unchanged['spared']} (target {TARGETS['nothing new']})", flush=True)


def main() -> None:
    """Make the input, run everything, remove it."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--megabytes", type=int, default=1024)
    options.add_argument("--share", type=float, default=RELEVANT_SHARE, help="share of lines about groups (default 0.05)")
    options.add_argument("--gzip", action="store_true")
    options.add_argument("--groups", type=int, default=240)
    options.add_argument("--restless", action="store_true", help="all groups rebalance all the time")
    options.add_argument("--batches", type=int, default=3, help="batches of 1 MB (default 3)")
    options.add_argument("--folder", help="where to write the input (default: the system's temporary folder)")
    given = options.parse_args()
    size = given.megabytes * 1_000_000
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        maker = Maker(given.share, restless=given.restless, groups=given.groups)
        make(folder / "logs", size, maker, packed=given.gzip)
        make(folder / "few", 1, Maker(given.share))
        session = get_session({"spark.master": "local[2]", "spark.driver.memory": "3g"}, Workload.LARGE)
        lines = session.read.text(str(folder / "logs")).count()  # after this the files are in the page cache
        spark, _ = timed(lambda: session.read.text(str(folder / "logs")).count())
        print(f"{size / 1e9:g} GB, {lines:,} lines; read.text(...).count(): {spark:.1f} s", flush=True)
        empty = job(folder / "few", folder / "empty")
        print(f"a run over a few lines: {sum(empty.timings.values()):.1f} s {json.dumps(empty.timings)}", flush=True)
        few, _ = timed(lambda: write_events(session, folder / "few", folder / "events"))
        by_hand, _ = timed(lambda: write_events(session, folder / "logs", folder / "events"))
        count = session.read.format("delta").load(str(folder / "events")).count()
        print(f"written by hand: {by_hand:.1f} s for {count:,} events, {by_hand - few:.1f} s net", flush=True)
        whole = job(folder / "logs", folder / "warehouse")
        print(f"a run over all: {sum(whole.timings.values()):.1f} s {json.dumps(whole.timings)}")
        report("all", whole, empty, spark, size)
        net = seconds_of(whole, TO_SILVER) - seconds_of(empty, TO_SILVER)
        print(f"to silver: {net / (by_hand - few):.2f} times the handwritten job (target {TARGETS['beside by hand']})", flush=True)
        print("peak memory:", ", ".join(f"{name} {memory:.0f} MB" for name, memory in sorted(peaks().items())), flush=True)
        session.stop()
        tell_batches(folder, maker, given.batches)
        for question in QUESTIONS:
            tell(f"{' '.join(question)} --warehouse (target {TARGETS['answer']} s)", [*question, "--warehouse", f"{folder}/warehouse"], 3)


if __name__ == "__main__":
    main()
