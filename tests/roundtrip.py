"""There and back again: random scenarios are simulated, rendered, parsed and replayed, and held against the simulator's truth.

`python -m tests.roundtrip --count 1000` is the full measure. Each scenario is analysed twice: with all its files, and with what
a broker writes by default alone. Prints for each version how many timelines are equal and how many causes are right, and exits
with 1 if a timeline differs.
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

from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.coordinator.runtime.version_policy import parse_version, policy_for
from models.kafka.simulation.faults import FAULTS
from models.kafka.simulation.scenario import CLASSIC, COOPERATIVE, MODERN, GroupPlan, InjectedFault, Scenario
from models.rows import GroupTransition
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalysisResult, AnalyzeOptions, analyze
from pipelines.simulate.run import simulate

VERSIONS = ("1.1.1", "2.2.2", "2.3.1", "2.8.2", "3.3.1", "3.9.1", "4.1.1")
SCORE_NAMES = {"member_leave_graceful": "member_leave"}
"""Causes with different names in truth and contract."""
LISTED_MIN = 0.05
"""Minimum probability of an alternative that counts."""
SURE = 0.9
CLASSIC_FAULTS = sorted(set(FAULTS) - {"migrate"})
FAULTS_OF = {"both": sorted(FAULTS)}
"""Faults by protocol; the default is those of the classic one."""
PROTOCOLS = ("classic", "cooperative", "consumer", "both")
TELLS_REASONS = (2, 1)
NEEDS_BROKERS = {"coordinator_crash", "coordinator_failover"}


def random_scenario(seed: int, static: bool, protocol: str = "classic") -> Scenario:
    """Make a scenario of some minutes with one to four faults that may overlap.

    `both`: members may change from one protocol to the other.
    """
    dice = random.Random(seed)  # noqa: S311 - scenarios must be repeatable
    faults = []
    for _ in range(dice.randint(1, 4)):
        faults.append(
            InjectedFault(
                kind=dice.choice(FAULTS_OF.get(protocol, CLASSIC_FAULTS)),
                at_ms=dice.randrange(30_000, 180_000),
                for_ms=dice.choice([3_000, 8_000, 15_000, 40_000]),
                back_ms=dice.choice([None, 2_000, 9_000, 30_000]),
                count=dice.choice([1, 1, 2]),
            )
        )
    group = GroupPlan(
        members=dice.randint(1, 6),
        topics={"orders-events": dice.randint(1, 12), "orders-returns": 3},
        static=static and dice.random() < 0.3,
        session_ms=dice.choice([6_000, 10_000, 30_000]),
        heartbeat_ms=dice.choice([1_000, 3_000]),
        max_poll_ms=dice.choice([12_000, 30_000, 300_000]),
        metadata_ms=dice.choice([5_000, 30_000]),
        protocol=MODERN if protocol == "consumer" or (protocol == "both" and seed % 2) else CLASSIC,
        assignor=COOPERATIVE if protocol == "cooperative" or (protocol == "both" and seed % 3) else "range",
    )
    brokers = 3 if any(fault.kind in NEEDS_BROKERS for fault in faults) else dice.choice([1, 3])
    delay_ms = dice.choice([3_000, 3_000, 0])
    return Scenario(
        name=f"random-{seed}",
        duration_ms=280_000,
        brokers=brokers,
        initial_delay_ms=delay_ms,
        consumer_session_ms=12_000,
        consumer_heartbeat_ms=2_000,
        groups=(group,),
        faults=tuple(faults),
    )


@dataclass(slots=True)
class Score:
    """Results of the comparison.

    `causes` counts right, listed, all; `confidence` pairs a confidence with whether it was right.
    """

    scenarios: int = 0
    steps_equal: int = 0
    found: Counter[str] = field(default_factory=Counter)
    causes: dict[str, Counter[str]] = field(default_factory=dict)
    confidence: dict[str, list[tuple[float, bool]]] = field(default_factory=dict)
    misses: list[str] = field(default_factory=list)

    def add(self, other: Score) -> None:
        """Add the results of another process."""
        self.scenarios += other.scenarios
        self.steps_equal += other.steps_equal
        self.found.update(other.found)
        for which, counts in other.causes.items():
            self.causes.setdefault(which, Counter()).update(counts)
            self.confidence.setdefault(which, []).extend(other.confidence[which])
        self.misses.extend(other.misses)

    def gap(self, which: str) -> float:
        """Mean difference between stated confidence and accuracy."""
        pairs = self.confidence.get(which, [])
        return abs(sum(sure - right for sure, right in pairs)) / len(pairs) if pairs else 0.0

    def overconfident(self, which: str) -> int:
        """Number of wrong causes stated as nearly certain."""
        return sum(sure > SURE and not right for sure, right in self.confidence.get(which, []))


def check(version: str, seed: int, protocol: str = "classic") -> Score:
    """Simulate one scenario, analyse its files, and compare."""
    scenario = random_scenario(seed, policy_for(version).knows_static_members, protocol)
    score = Score(scenarios=1)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder)
        simulate(scenario, version, seed, out, request_log=True)
        truth = json.loads((out / "truth.json").read_bytes())
        options = AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", version)]))
        everything = analyze([folder], options)
        servers = analyze([str(path) for path in sorted(out.glob("broker-*/server.log"))], options)
    unseen = unseen_times(truth, version)
    for where, analysis in (("all", everything), ("server", servers)):
        both = shown_steps(truth, version), steps_of(analysis)
        expected, actual = ([step for step in steps if step[:2] not in unseen] for steps in both)
        if protocol in ("consumer", "both"):
            expected, actual = epochs_of_truth(truth), epochs_of(analysis)
        if expected != actual:
            differing = [pair for pair in zip(expected, actual, strict=False) if pair[0] != pair[1]] or [(len(expected), len(actual))]
            score.misses.append(f"{version} {seed} {where}: step {differing[0]}")
        elif where == "all":
            score.steps_equal = 1
        _compare_causes(score, truth, analysis, where, f"{version} {seed} {where}")
    return score


def unseen_times(truth: dict[str, Any], version: str) -> set[tuple[str, int]]:
    """Time of a failed store of an assignment without a logged reason.

    No line shows how the group continued.
    """
    if parse_version(version) >= TELLS_REASONS:
        return set()
    return {(row["group"], row["start_ms"]) for row in truth["rebalances"] if row["trigger"] == "assignment_store_failed"}


def steps_of_truth(truth: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Steps visible in lines: all but those to Dead."""
    return [(step["group"], step["ms"], step["from"], step["to"]) for step in truth["state_timeline"] if step["to"] != "Dead"]


def shown_steps(truth: dict[str, Any], version: str) -> list[tuple[Any, ...]]:
    """Steps as lines show them.

    The arrival of an assignment is logged, its store is not; only newer versions log a failed store.
    """
    tells = parse_version(version) >= TELLS_REASONS
    assigned = {(row["group"], row["assigned_ms"]) for row in truth["rebalances"] if row.get("assigned_ms")}
    failed = {(row["group"], row["start_ms"]) for row in truth["rebalances"] if tells and row["trigger"] == "assignment_store_failed"}
    shown: list[tuple[Any, ...]] = []
    since: dict[str, int] = {}
    for group, ms, before, after in steps_of_truth(truth):
        told = [at for name, at in assigned if name == group and since.get(group, 0) <= at <= ms] if before == "CompletingRebalance" else []
        if told and after == "Stable":
            ms = min(told)
        elif told and (group, ms) not in failed:
            shown.append((group, min(told), before, "Stable"))
            before = "Stable"
        shown.append((group, ms, before, after))
        since[group] = ms
    waiting = {step[0] for step in shown} - {step[0] for step in shown if step[-1] != "CompletingRebalance" and step[1] == since[step[0]]}
    shown += [(name, at, "CompletingRebalance", "Stable") for name, at in sorted(assigned) if name in waiting and at >= since[name]]
    return shown


def steps_of(analysis: AnalysisResult) -> list[tuple[Any, ...]]:
    """Steps in the replay's rows.

    A new coordinator that finds a group unchanged is not a step of the group.
    """
    rows = [row for row in analysis.timeline if row.to_state != "Dead" and row.trigger != "GroupLoaded" and is_legal(row)]
    return [(row.group, (row.changed_at or 0) // 1000, row.from_state, row.to_state) for row in rows]


def epochs_of_truth(truth: dict[str, Any]) -> list[tuple[Any, ...]]:
    """Rebalances by their start and result.

    For consumer groups these are epochs, because no line shows their states.
    """
    return [(row["group"], row["start_ms"], row["generation_before"], row["generation_after"]) for row in _in_order(truth["rebalances"])]


def _in_order(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: (row["start_ms"], row["generation_before"]))


def epochs_of(analysis: AnalysisResult) -> list[tuple[Any, ...]]:
    """Rebalances in the analysis by their start and result."""
    rows = sorted(analysis.rebalances, key=lambda row: (row.started_at or 0, row.generation_before or 0))
    return [(row.group, (row.started_at or 0) // 1000, row.generation_before, row.generation_after) for row in rows]


def is_legal(row: GroupTransition) -> bool:
    """Return True if a coordinator takes this step, at a known time."""
    return row.changed_at is not None and row.from_state is not None and State(row.from_state) in VALID_PREVIOUS[State(row.to_state)]


def _compare_causes(score: Score, truth: dict[str, Any], analysis: AnalysisResult, which: str, where: str) -> None:
    counts = score.causes.setdefault(which, Counter())
    pairs = score.confidence.setdefault(which, [])
    predicted = {(row.group, (row.started_at or 0) // 1000, row.generation_before): row for row in analysis.rebalances}
    score.found[f"{which} truth"] += len(truth["rebalances"])
    score.found[f"{which} predicted"] += len(predicted)
    for row in truth["rebalances"]:
        told = predicted.get((row["group"], row["start_ms"], row["generation_before"]))
        if told is None:
            score.misses.append(f"{where}: no rebalance at {row['start_ms']} ({row['cause']}, {row['outcome']})")
            continue
        score.found[f"{which} matched"] += 1
        cause = SCORE_NAMES.get(row["cause"], row["cause"])
        cause = SCORE_NAMES.get(row["trigger"], row["trigger"]) if cause == "group_empty" else cause
        if cause == "unknown":
            continue
        right = told.cause in {cause, *row.get("contributing_causes", ())}
        counts.update(all=1, right=right, listed=right or told.alternatives.get(cause, 0) >= LISTED_MIN)
        pairs.append((told.confidence, right))
        if not right:
            score.misses.append(f"{where}: generation {row['generation_before']} {told.cause} {told.confidence:.2f}, truth {cause}")


def run(versions: Sequence[str], count: int, first: int, jobs: int, protocol: str = "classic") -> Iterator[tuple[str, Score]]:
    """The score of each version."""
    with ProcessPoolExecutor(jobs) as pool:
        for version in versions:
            total = Score()
            for score in pool.map(check, [version] * count, range(first, first + count), [protocol] * count, chunksize=4):
                total.add(score)
            yield version, total


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.roundtrip", description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--count", type=int, default=100, metavar="N", help="scenarios of each version (default: 100)")
    parser.add_argument("--first", type=int, default=0, metavar="SEED", help="seed of the first scenario")
    parser.add_argument("--versions", nargs="+", default=VERSIONS, metavar="VERSION")
    parser.add_argument("--protocol", choices=PROTOCOLS, default="classic", help="what the clients speak (default: classic)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-v", "--verbose", action="store_true", help="show what differs")
    options = parser.parse_args(arguments)
    alike = True
    for version, score in run(options.versions, options.count, options.first, options.jobs, options.protocol):
        alike = alike and score.steps_equal == score.scenarios
        print(f"{version}: {score.steps_equal} of {score.scenarios} timelines equal")
        for which, counts in score.causes.items():
            share = [f"{counts[name] / max(counts['all'], 1):.4f} {name}" for name in ("right", "listed")]
            found = f"{score.found[f'{which} matched']} of {score.found[f'{which} truth']} found, {score.found[f'{which} predicted']} told"
            print(f"  {which}: {found}; of {counts['all']} causes {', '.join(share)}", end="")
            print(f"; gap {score.gap(which):.3f}, {score.overconfident(which)} wrong and sure", flush=True)
        if options.verbose:
            print(*(f"    {miss}" for miss in score.misses), sep="\n")
    return 0 if alike else 1


if __name__ == "__main__":
    sys.exit(main())
