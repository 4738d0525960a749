"""Scores the analysis against the labelled Kafka corpora and holds it to limits.

`python -m tests.corpus.scoring [FOLDER...]` scores whole corpora with all files and with the server's files only;
it ends with 1 when a limit is missed. The limits are those that the project set for itself.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from tests.conftest import SHARED

Files = Literal["all", "server"]

# Key of the score -> minimum.
AT_LEAST: dict[Files, dict[str, float]] = {
    "all": {"recall": 0.99, "precision": 0.98, "cause_accuracy": 0.95, "offender_exact": 0.93},
    "server": {"recall": 0.99, "precision": 0.98, "cause_in_alternatives": 0.97},
}
# Key of the score -> maximum, in milliseconds.
AT_MOST: dict[Files, dict[str, float]] = {
    "all": {"start_error_ms_median": 20, "start_error_ms_p95": 300, "end_error_ms_median": 60},
    "server": {},
}
WITHIN_A_CAUSE = 0.85
ROWS_TO_JUDGE_A_CAUSE = 5


def score(folders: Sequence[Path], files: Files, jobs: int = 2) -> dict[str, Any]:
    """Summary of the scorer over all scenarios below `folders`, classic groups only."""
    groupscope = Path(sys.executable).with_name("groupscope")
    analyze = [str(groupscope), "analyze", "{logs}", "--log-tz", "{tz}", "--log-tz", "clients/*={client_tz}", "--json"]
    options = ["--protocol", "classic", "--files", files, "--jobs", str(jobs), "--json", "--details"]
    command = [sys.executable, str(SHARED / "tools" / "score.py"), *map(str, folders), *options, "--", *analyze]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    summary: dict[str, Any] = json.loads(done.stdout)
    return summary


def shortfalls(summary: dict[str, Any], files: Files) -> list[str]:
    """Missed limits, one line each."""
    short = [f"{summary['failed']} scenarios gave no usable output"] if summary["failed"] else []
    short += [f"{key} {summary[key]} < {limit}" for key, limit in AT_LEAST[files].items() if (summary[key] or 0.0) < limit]
    short += [f"{key} {summary[key]} > {limit}" for key, limit in AT_MOST[files].items() if summary[key] is None or summary[key] > limit]
    return short + (weak_causes(summary["by_cause"]) if files == "all" else [])


def weak_causes(by_cause: dict[str, dict[str, int]]) -> list[str]:
    """Causes with enough rows that are too often mistaken.

    Truth of an unknown cause is not scored.
    """
    judged = {cause: (n.get("right", 0), n["truth"]) for cause, n in by_cause.items() if n["truth"] >= ROWS_TO_JUDGE_A_CAUSE}
    judged.pop("unknown", None)
    return [f"cause {cause}: {right} of {truth} right" for cause, (right, truth) in judged.items() if right < WITHIN_A_CAUSE * truth]


def main(folders: Sequence[Path]) -> int:
    """Score whole corpora, print the results and missed limits."""
    short = []
    kinds: tuple[Files, ...] = ("all", "server")
    for files in kinds:
        summary = score(folders, files)
        details = summary.pop("details")
        sys.stdout.write("\n".join([f"--files {files}", *(f"  {line}" for line in details), json.dumps(summary, indent=1), ""]))
        short += [f"--files {files}: {line}" for line in shortfalls(summary, files)]
    sys.stdout.write("\n".join(["every limit is kept" if not short else "below the limits:", *short, ""]))
    return 1 if short else 0


if __name__ == "__main__":
    raise SystemExit(main([Path(argument) for argument in sys.argv[1:]] or [SHARED / "corpora" / "kafka"]))
