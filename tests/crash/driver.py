"""One run of the job below a folder, in a process of its own: what `tests.crash` kills."""

from __future__ import annotations

import sys
from pathlib import Path

from pipelines.errors import JobError
from tests.pipelines.site import Site

SPARK = {
    "spark.master": "local[2]",
    "spark.sql.shuffle.partitions": "2",
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC",
}


def main() -> int:
    """Run, and end as the command does."""
    try:
        return Site(Path.cwd()).run(spark=SPARK).exit_code
    except JobError as error:
        sys.stderr.write(f"error: {error}\n")
        return error.exit_code


if __name__ == "__main__":
    raise SystemExit(main())
