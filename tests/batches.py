"""Logs that come in pieces and orders of all kinds, and the tables that they make: `python -m tests.batches [--count 50]`.

Each case draws how many batches there are, how far each file has grown by each (files may come late, or all but one do),
how many shuffle partitions Spark has, whether Spark's workers or the driver read, how large the parts are that are read, and
how far behind the end of the logs states are taken that later batches go on from.
Rows of gold must be those of one run over the whole.
"""

from __future__ import annotations

import argparse
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from parsers.records.run_folding import FOLD_BLOCK_BYTES
from pipelines.errors import NothingReadable
from pipelines.exit_codes import GOOD, SOME_REJECTED
from pipelines.schema.tables import TABLES
from pipelines.transforms.replay_checkpoints import CheckpointRules
from pipelines.warehouse.rows import arrow_diff
from tests.conftest import ROOT
from tests.crash.loop import OF_RUNS
from tests.pipelines.site import Site

NAMES = ("1.1.1/poll-timeout", "4.1.1/slow-member", "2.8.2/rolling-restart", "2.8.2/coordinator-failover")
SAMPLES = [ROOT / "data_samples" / "kafka" / name for name in NAMES]
SMALL_BLOCK_BYTES = 4096
"""Block size in place of 8 MiB, so that samples have many blocks."""

BATCHES_MAX, PARTITIONS_MAX, PART_BLOCKS_MAX = 4, 7, 8
COMPARED = [name for name, table in TABLES.items() if table.layer == "gold" and name not in OF_RUNS] + ["events"]


@dataclass(frozen=True, slots=True)
class Case:
    """The parameters of a case.

    `until` holds the length of each file at each batch, 0 if it does not exist yet.
    """

    sample: Path
    until: list[dict[str, int]]
    shuffle_partitions: int
    by_spark: bool
    part_blocks: int
    lag: float | None = None
    """Seconds; None for the default, which exceeds the length of the samples."""

    @classmethod
    def draw(cls, seed: int) -> Case:
        draw = random.Random(seed)  # noqa: S311 - the same cases each time
        sample = draw.choice(SAMPLES)
        sizes = {str(path.relative_to(sample)): path.stat().st_size for path in sorted(sample.rglob("*.log*"))}
        count = draw.randint(1, BATCHES_MAX)
        early = draw.choice(sorted(sizes))
        until: list[dict[str, int]] = [{} for _ in range(count)]
        for name, size in sizes.items():
            first = 0 if name == early else draw.randrange(count)
            cuts = sorted(draw.randint(1, size) for _ in range(count - first - 1))
            for batch, length in enumerate([0] * first + [*cuts, size]):
                until[batch][name] = length
        lag = draw.choice([None, draw.uniform(1, 60), draw.uniform(1, 60)])
        return cls(sample, until, draw.randint(1, PARTITIONS_MAX), draw.random() < 0.3, draw.randint(1, PART_BLOCKS_MAX), lag)

    @property
    def rules(self) -> CheckpointRules:
        return (
            CheckpointRules() if self.lag is None else CheckpointRules(events=1, events_per_row=0.0, lags_seconds=(self.lag, 4 * self.lag))
        )

    def told(self) -> str:
        last = [name for name, length in self.until[-1].items() if len(self.until) > 1 and not self.until[-2][name] and length]
        return (
            f"{self.sample.name}, {len(self.until)} batches, {', '.join(last) or 'no file'} only in the last, "
            f"{self.shuffle_partitions} partitions, {'Spark' if self.by_spark else f'parts of {self.part_blocks} blocks'}, "
            f"{'no states' if self.lag is None else f'states {self.lag:.0f} s behind'}"
        )


@contextmanager
def reading(*, by_spark: bool, part_blocks: int) -> Iterator[int]:
    """Set small blocks and parts, or leave reading to Spark's workers.

    Spark's workers do not know these settings. Returns the block size.
    """
    with ExitStack() as changed:
        if by_spark:
            changed.enter_context(mock.patch("pipelines.jobs.ingest.ingest.LOCAL_BYTES_MAX", 0))
            changed.enter_context(mock.patch.object(arrow_diff, "LOCAL_ROWS_MAX", 0))
            yield FOLD_BLOCK_BYTES
            return
        for module in ("folding", "kernel", "ranges"):
            changed.enter_context(mock.patch(f"parsers.{module}.FOLD_BLOCK_BYTES", SMALL_BLOCK_BYTES))
        changed.enter_context(mock.patch("parsers.reading.spark_source.PARTITION_BYTES", part_blocks * SMALL_BLOCK_BYTES))
        yield SMALL_BLOCK_BYTES


def rows(site: Site) -> dict[str, list[str]]:
    """The rows to compare."""
    found = site.content()
    return {name: found[name] for name in COMPARED}


def ran(case: Case, place: Path, resumed: Counter[str]) -> dict[str, list[str]]:
    """Rows after the last batch.

    `resumed` counts groups resumed from checkpoints.
    """
    site = Site(place)
    with reading(by_spark=case.by_spark, part_blocks=case.part_blocks) as block_bytes:
        for lengths in case.until:
            for name, length in lengths.items():
                if length:
                    (site.logs / name).parent.mkdir(parents=True, exist_ok=True)
                    (site.logs / name).write_bytes((case.sample / name).read_bytes()[:length])
            with suppress(NothingReadable):  # the first part of a compressed file may be the only input
                done = site.run(block_bytes=block_bytes, snapshots=case.rules)
                resumed.update({name: count for name, count in done.counts.items() if name.endswith("_resumed")})
                if done.exit_code not in (GOOD, SOME_REJECTED):
                    raise SystemExit(f"a run ended with {done.exit_code}")
    return rows(site)


def main() -> int:
    """Run the cases; return the number of differences."""
    from pipelines.spark.session import get_session
    from tests.pipelines.conftest import SETTINGS

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--first", type=int, default=0)
    asked = parser.parse_args()
    spark = get_session(SETTINGS)
    wanted: dict[Path, dict[str, list[str]]] = {}
    failed, resumed = 0, Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(asked.first, asked.first + asked.count):
            case = Case.draw(seed)
            if case.sample not in wanted:
                spark.conf.set("spark.sql.shuffle.partitions", 2)
                whole = Case(case.sample, [case.until[-1]], 2, by_spark=False, part_blocks=1 << 20)
                wanted[case.sample] = ran(whole, Path(folder) / f"whole-{seed}", resumed)
            spark.conf.set("spark.sql.shuffle.partitions", case.shuffle_partitions)
            place = Path(folder) / f"case-{seed}"
            found = ran(case, place, resumed)
            wrong = [name for name in COMPARED if found[name] != wanted[case.sample][name]]
            failed += bool(wrong)
            sys.stdout.write(f"{seed}: {case.told()}: {'; '.join(wrong) or 'equal'}\n")
            sys.stdout.flush()
            shutil.rmtree(place)
    sys.stdout.write(f"{asked.count} cases, {failed} differ; {dict(resumed)}\n")
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
