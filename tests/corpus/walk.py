"""Analyses all labelled scenarios in one process, for `make coverage`: `python -m tests.corpus.walk CORPORA`.

Each twice: with all of its files, and with what brokers write by default alone. What comes out is for `tests.corpus.accuracy` to judge.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze


def walk(corpora: Path) -> int:
    """Analyse every scenario below a folder; return their number."""
    labels = sorted(corpora.rglob("truth.json"))
    for label in labels:
        truth = json.loads(label.read_bytes())
        folder = label.parent
        zones = [(None, truth.get("log_timezone", "UTC")), ("clients/*", truth.get("client_log_timezone", "UTC"))]
        options = AnalyzeOptions(ReadOptions(log_tz=zones))
        analyze([str(folder)], options)
        alone = [str(path) for path in sorted(folder.glob("*/server.log*"))]
        if alone:
            analyze(alone, options)
    return len(labels)


if __name__ == "__main__":
    sys.stdout.write(f"{walk(Path(sys.argv[1]))} scenarios analysed\n")
