"""Mutated logs in the whole in-process run: parsers, models, rows, page."""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from dashboards.answer.build import build_answer
from dashboards.page.page import report
from dashboards.wording.units import Clock
from parsers.records.context import RAISED
from pipelines.analysis.in_process import AnalysisResult, analyze
from pipelines.analysis.stages import HISTORY_TABLES, LAYOUT_TABLES, OUTAGE_TABLES, ROCKET_TABLES
from pipelines.cli.output.json_csv import dumps, json_rows
from pipelines.schema.row_conversion import to_batch
from tests.fuzz.lines import Mutate, Tally
from tests.fuzz.mutations import Seed

LINES_OF_A_FILE = 150
FILES_OF_A_CLUSTER = 5
ONE_IN = 12
"""One line of this many is mutated, so that groups still rebalance."""
SECONDS_MAX = 60.0
"""A few hundred lines take less than a second; a minute means no bound."""

_ATTRIBUTES = {
    "group_transitions": "timeline",
    "member_sessions": "members",
    "offset_expirations": "offsets_at_risk",
    "partition_outages": "outages",
    "queue_ownership": "ownership",
}
TABLES = [name for name in dict.fromkeys((*HISTORY_TABLES, *OUTAGE_TABLES, *ROCKET_TABLES)) if name not in LAYOUT_TABLES]


def analysed(folder: Path) -> AnalysisResult:
    """The analysis, with all of its outputs written once."""
    analysis = analyze([str(folder)])
    for table in TABLES:
        rows = list(getattr(analysis, _ATTRIBUTES.get(table, table)))
        to_batch(table, rows)
        for row in json_rows(table, rows):
            dumps(row)
    report(build_answer(analysis, for_page=True), Clock("UTC"), title="fuzz", version="0", drawn_max=50)
    return analysis


def check(seeds: Sequence[Seed], mutate: Mutate, dice: random.Random, tally: Tally) -> None:
    """Mutate lines in some files of one scenario, and analyse them.

    Inputs that raise or take too long are kept.
    """
    first = dice.choice(seeds)
    scenario = Path(first.source.name).parent.parent
    near = [seed for seed in seeds if Path(seed.source.name).parent.parent == scenario]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number, seed in enumerate(dice.sample(near, min(len(near), FILES_OF_A_CLUSTER))):
            begin = dice.randrange(max(1, len(seed.lines) - LINES_OF_A_FILE))
            lines = seed.lines[begin : begin + LINES_OF_A_FILE]
            changed = [mutate(line, seed.lines, dice) if not dice.randrange(ONE_IN) else line for line in lines]
            tally.lines += len(lines)
            (folder / f"{number}-{Path(seed.source.name).name.removesuffix('.gz')}").write_bytes(b"\n".join(changed) + b"\n")
        analyse(folder, tally)


def analyse(folder: Path, tally: Tally) -> None:
    """Analyse a folder; what raises, fails or takes no end is kept."""
    began = time.monotonic()
    try:
        analysis = analysed(folder)
    except Exception as problem:
        tally.note(problem, _content(folder))
        return
    if time.monotonic() - began > SECONDS_MAX:
        tally.fault(f"more than {SECONDS_MAX:.0f} s", _content(folder))
    for failure in analysis.failures:
        tally.fault(failure, _content(folder))
    for row in analysis.rejected:
        if row["reason"].startswith(RAISED):
            tally.fault(row["reason"], row["text"].encode())
    for row in analysis.log_files:
        if (row["reason"] or "").startswith(RAISED):
            tally.fault(row["reason"], _content(folder))
    tally.counts["analyses"] += 1


def _content(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))
