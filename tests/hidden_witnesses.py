"""Random scenarios of which random witnesses are hidden, held against the simulator's truth.

`python -m tests.hidden_witnesses 10000` simulates that many scenarios over all versions, leaves out brokers' logs, request logs,
members' logs and their DEBUG lines by lot, and analyses what is left. Prints how many verdicts are right, and exits with 1 if one
is surely wrong, which is a confidence above 0.9.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from models.kafka.coordinator.runtime.version_policy import parse_version, policy_for
from models.rows import Rebalance
from models.units import US_PER_MS
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.simulate.run import simulate
from tests.roundtrip import SCORE_NAMES, SURE, VERSIONS, random_scenario

MATCH_MS = 5_000
"""Maximum distance of a rebalance from the truth's join phase, as `shared/tools/score.py` has it."""
PROTOCOLS = ("classic", "classic", "cooperative")
COOPERATIVE_SINCE = (2, 4)


@dataclass(slots=True)
class Result:
    """Verdicts of one or more scenarios, by what was left of the logs."""

    counts: Counter[str] = field(default_factory=Counter)
    confidence: list[tuple[float, bool]] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def add(self, other: Result) -> None:
        """Add the verdicts of other scenarios."""
        self.counts.update(other.counts)
        self.confidence += other.confidence
        self.wrong += other.wrong

    @property
    def gap(self) -> float:
        """Mean confidence less the share of right causes."""
        return abs(sum(sure - right for sure, right in self.confidence)) / max(1, len(self.confidence))


def hide(out: Path, dice: random.Random) -> str:
    """Leave out files and levels by lot, and say which witnesses are left."""
    left = []
    servers, requests = sorted(out.glob("broker-*/server.log")), sorted(out.glob("broker-*/kafka-request.log"))
    members = sorted(out.glob("clients/*.log"))
    shown = dice.choice(("all", "all", "half", "none"))
    kept = {"all": servers, "half": servers[1:], "none": []}[shown]
    left += ["server"] * bool(kept) + ["partial"] * (shown == "half")
    if dice.random() < HALF:
        kept += requests
        left.append("request")
    shown = dice.choice(("all", "some", "none"))
    own = {"all": members, "some": [each for each in members if dice.random() < HALF], "none": []}[shown]
    if not kept and not own:
        own = members
    level = dice.choice(("debug", "info"))
    if own:
        left.append(("client" if own == members else "some-client") + ("-info" if level == "info" else ""))
    for path in {*servers, *requests, *members} - {*kept, *own}:
        path.unlink()
    if level == "info":
        for path in own:
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            path.write_text("".join(line for line in lines if " DEBUG " not in line[:HEAD]), encoding="utf-8")
    return " ".join(left) or "nothing"


HALF = 0.5
HEAD = 60
"""Characters among which a line's level stands."""


def check(seed: int) -> Result:
    """Simulate one scenario, hide witnesses, and compare."""
    dice = random.Random(f"hidden {seed}")  # noqa: S311 - repeatable
    version, protocol = VERSIONS[seed % len(VERSIONS)], dice.choice(PROTOCOLS)
    if parse_version(version) < COOPERATIVE_SINCE:
        protocol = "classic"
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        simulate(random_scenario(seed, policy_for(version).knows_static_members, protocol), version, seed, out, request_log=True)
        truth = json.loads((out / "truth.json").read_bytes())
        (out / "truth.json").unlink()
        left = hide(out, dice)
        rows = analyze([folder], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")]))).rebalances
    return judged(truth, rows, f"seed {seed}, {version} {protocol}, {left}", left)


def judged(truth: dict[str, Any], rows: Sequence[Rebalance], where: str, left: str) -> Result:
    """Verdicts beside the truth; a row that matches nothing is invented."""
    found = Result(Counter(scenarios=1, truth=len(truth["rebalances"]), told=len(rows)))
    pairs = matches(truth["rebalances"], rows)
    for index, other in pairs:
        found.counts["found"] += 1
        row, told = truth["rebalances"][index], rows[other]
        cause = SCORE_NAMES.get(row["cause"], row["cause"])
        cause = SCORE_NAMES.get(row["trigger"], row["trigger"]) if cause == "group_empty" else cause
        if cause == "unknown":
            continue
        right = told.cause in {cause, *row.get("contributing_causes", ())}
        found.confidence.append((told.confidence, right))
        found.counts.update({f"{left}: causes": 1, f"{left}: right": right})
        if told.confidence > SURE and not right:
            found.wrong.append(f"{where}: generation {row['generation_before']} {told.cause} {told.confidence:.2f}, truth {cause}")
    known = {other for _, other in pairs}
    for other, told in enumerate(rows):
        if other not in known:
            found.counts["invented"] += 1
            if told.confidence > SURE:
                found.counts["surely invented"] += 1
                found.wrong.append(f"{where}: invented generation {told.generation_before} {told.cause} {told.confidence:.2f}")
    return found


def matches(truth: Sequence[dict[str, Any]], rows: Sequence[Rebalance]) -> list[tuple[int, int]]:
    """Indexes of rebalances of the truth and of rows that are the same, nearest first."""
    found: list[tuple[int, int]] = []
    taken: tuple[set[int], set[int]] = (set(), set())
    for _, index, other in sorted(_pairs(truth, rows)):
        if index not in taken[0] and other not in taken[1]:
            taken[0].add(index)
            taken[1].add(other)
            found.append((index, other))
    return found


def _pairs(truth: Sequence[dict[str, Any]], rows: Sequence[Rebalance]) -> Iterator[tuple[int, int, int]]:
    """Distance and indexes of rebalances that may be the same."""
    for index, row in enumerate(truth):
        for other, told in enumerate(rows):
            began_ms = told.began // US_PER_MS
            over_ms = row.get("join_complete_ms") or row.get("start_hi_ms") or row["start_ms"]  # members tell when they heard of it
            away = max(row.get("start_lo_ms", row["start_ms"]) - began_ms, 0, began_ms - over_ms)
            alike = told.generation_before in {None, row["generation_before"]} or told.generation_after == row["generation_after"]
            if told.group == row["group"] and alike and away <= MATCH_MS:
                yield away, index, other


def run(seeds: Sequence[int], jobs: int) -> Result:
    """Check scenarios, and print what is surely wrong as it is found."""
    total = Result()
    with ProcessPoolExecutor(jobs) as pool:
        for result in pool.map(check, seeds, chunksize=4):
            total.add(result)
            print(*result.wrong, sep="\n", end="\n" if result.wrong else "", flush=True)
    return total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.hidden_witnesses", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("count", type=int, nargs="?", default=100, help="scenarios (default: 100)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first scenario")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-v", "--verbose", action="store_true", help="show figures by what was left")
    options = parser.parse_args(arguments)
    total = run(range(options.first, options.first + options.count), options.jobs)
    counts, scored = total.counts, len(total.confidence)
    right = sum(right for _, right in total.confidence)
    found = f"{counts['found']} of {counts['truth']} found, {counts['invented']} of {counts['told']} invented"
    print(f"{counts['scenarios']} scenarios: {found};", end=" ")
    print(f"{right / max(1, scored):.4f} of {scored} causes right; gap {total.gap:.3f}; {len(total.wrong)} surely wrong")
    if options.verbose:
        for name in sorted(each.removesuffix(": causes") for each in counts if each.endswith(": causes")):
            print(f"  {name}: {counts[f'{name}: right']} of {counts[f'{name}: causes']}")
    return 1 if total.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
