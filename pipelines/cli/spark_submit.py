"""The job for `spark-submit` and for managed Spark: `groupscope run`, with its options as they are, or `groupscope maintain`.

spark-submit runs a file that calls `main` (docs/examples/job.py), or this one; Databricks and others call the entry point
`groupscope-job` of the wheel.
"""

from __future__ import annotations

import sys
from pathlib import Path

COMMANDS = ("run", "maintain")


def main(arguments: list[str] | None = None) -> None:
    """Run the job, or upkeep where the first argument is `maintain`.

    Ends the process only where that failed: platforms take any exit for a failure, and would try again what was published, for as long
    as a rejected record lies in the input. The entry of the run and the metrics say 4 then.
    """
    from pipelines.cli import exit_codes as codes
    from pipelines.cli.main import main as command

    given = sys.argv[1:] if arguments is None else arguments
    code = command(given if given[:1] and given[0] in COMMANDS else ["run", *given])
    if code not in (codes.GOOD, codes.SOME_REJECTED):
        sys.exit(code)


if __name__ == "__main__":
    # The folder of this file comes first on the path when it is run as a file, and hides nothing else by our names.
    here = Path(__file__).resolve().parent
    sys.path[:] = [place for place in sys.path if Path(place).resolve() != here]
    main()
