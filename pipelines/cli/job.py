"""The job for `spark-submit` and for managed Spark: `groupscope run`, with its options as they are.

spark-submit runs a file that calls `main` (docs/examples/job.py), or this one; Databricks and others call the entry point
`groupscope-job` of the wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main(arguments: list[str] | None = None) -> None:
    """Run the job. Ends the process only where its exit code is not 0: platforms take any exit for a failure."""
    from pipelines.cli.main import main as command

    code = command(["run", *(sys.argv[1:] if arguments is None else arguments)])
    if code:
        sys.exit(code)


if __name__ == "__main__":
    # The folder of this file comes first on the path when it is run as a file, and hides nothing else by our names.
    here = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != here]
    main()
