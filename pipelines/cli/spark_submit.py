"""Entry point for `spark-submit` and managed Spark.

Runs `groupscope run` with its options unchanged, or `groupscope maintain`. spark-submit runs a file that calls `main`
(docs/examples/job.py), or this one; Databricks and others call the entry point `groupscope-job` of the wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

SUBMITTED_COMMANDS = ("run", "maintain")


def main(arguments: list[str] | None = None) -> None:
    """Run the job, or upkeep if the first argument is `maintain`.

    Exits only if it failed. Platforms treat any exit as a failure and would repeat a published run as long as the input has
    a rejected record. In this case the run's entry and the metrics have exit code 4.
    """
    from pipelines import exit_codes as codes
    from pipelines.cli.main import main as command

    given = sys.argv[1:] if arguments is None else arguments
    code = command(given if given[:1] and given[0] in SUBMITTED_COMMANDS else ["run", *given])
    if code not in (codes.GOOD, codes.SOME_REJECTED):
        sys.exit(code)


if __name__ == "__main__":
    # The folder of this file comes first on the path if it is run as a file, and would hide other modules.
    folder = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != folder]
    main()
