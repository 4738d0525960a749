"""How fast what-if runs a history again: `python -m tests.benchmarks.bench_whatif 10000`.

Simulates a group whose members are closed, killed and held again and again, reads its logs, and prints the processor
time of the reading (with the run of the present configuration) and of each configuration.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.whatif.configuration import Configuration
from models.whatif.history import GroupBaseline, History
from models.whatif.outlook import under
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.simulate.run import simulate

T = TypeVar("T")
VERSION = "3.9.1"
FAULTS = (
    InjectedFault(kind="close", every_ms=60_000, back_ms=8_000),
    InjectedFault(kind="gc_pause", every_ms=120_000, for_ms=14_000),
    InjectedFault(kind="crash", every_ms=120_000, back_ms=20_000),
)
REBALANCE_MS = 19_500
"""Average time between two rebalances under these faults."""
CONFIGURATIONS = (
    ("session.timeout.ms = 30 s", Configuration(session_timeout_ms=30_000)),
    ("static membership", Configuration(static_membership=True)),
    ("cooperative assignor", Configuration(cooperative=True)),
    ("consumer protocol", Configuration(consumer_protocol=True)),
)


def history(rebalances: int, members: int) -> GroupBaseline:
    """A simulated group's history, as its logs tell it."""
    plan = GroupPlan(members=members, poll_ms=50)
    scenario = Scenario(duration_ms=rebalances * REBALANCE_MS, closes=False, groups=(plan,), faults=FAULTS)
    with tempfile.TemporaryDirectory() as folder:
        simulate(scenario, VERSION, 7, Path(folder))
        found = analyze([folder], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
        rows = list(found.rebalances)
        versions = {row.cluster: VERSION for row in rows}
        (group,) = History(rows, list(found.rebalance_members), list(found.members), list(found.client_states), versions).groups()
        return group


def timed(call: Callable[[], T]) -> tuple[float, T]:
    """Processor time of a call, and its result."""
    begun = time.process_time()
    result = call()
    return time.process_time() - begun, result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rebalances", type=int, nargs="?", default=10_000)
    parser.add_argument("--members", type=int, default=6)
    asked = parser.parse_args()
    made = history(asked.rebalances, asked.members)
    count = len(made.rows)
    seconds, (behaviour, _, _) = timed(made.reading)
    print(f"{count:,} rebalances of {asked.members} members; readings of their behaviour: {2 if 'process' in behaviour.assumed else 1}")
    print(f"reading, and a run as it was: {seconds:.1f} s, {1000 * seconds / count:.2f} ms a rebalance")
    for name, configuration in CONFIGURATIONS:
        seconds, told = timed(lambda configuration=configuration: under(made, configuration))  # type: ignore[misc]
        print(f"{name}: {seconds:.1f} s, {1000 * seconds / count:.2f} ms a rebalance; {told.left:,} rebalances left")


if __name__ == "__main__":
    main()
