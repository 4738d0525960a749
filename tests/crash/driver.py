"""One run of the job in a process, for `tests.crash` to kill."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.errors import JobError
from pipelines.transforms.replay_checkpoints import CheckpointRules
from tests.pipelines.site import Site

SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
}

STATES = CheckpointRules(events=1, events_per_row=0.0, lags_seconds=(2.0, 10.0))
"""Checkpoints are stored even for the few events of a sample."""


def main() -> int:
    """Run the job, and exit like the command."""
    try:
        return Site(Path.cwd()).run(spark=SPARK, snapshots=STATES).exit_code
    except JobError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
