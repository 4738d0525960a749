"""One run of the job below a folder, in a process of its own: what `tests.crash` kills."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.errors import JobError
from pipelines.transforms.snapshots import SnapshotRules
from tests.pipelines.site import Site

SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
}

STATES = SnapshotRules(events=1, events_per_row=0.0, lags_seconds=(2.0, 10.0))
"""States are stored of the little that a sample has."""


def main() -> int:
    """Run, and end as the command does."""
    try:
        return Site(Path.cwd()).run(spark=SPARK, snapshots=STATES).exit_code
    except JobError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
