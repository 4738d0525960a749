"""How fast what-if runs a history again: `python -m tests.benchmarks.bench_whatif 10000`.

Simulates a group whose members are closed, killed and held again and again, reads its logs, and prints the time of the
reading (with the run of the present configuration) and of each configuration: what a user waits, and what processors work.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from models.kafka.simulation.scenario import GroupPlan, InjectedFault, Scenario
from models.whatif.configuration import Configuration
from models.whatif.history import GroupBaseline, History
from models.whatif.outlook import under
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.analysis.parallel.whatif import part_runner
from pipelines.gc_tuning import gc_throttled
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


def history(rebalances: int, members: int, processes: int = 1) -> GroupBaseline:
    """A simulated group's history, as its logs tell it."""
    plan = GroupPlan(members=members, poll_ms=50)
    scenario = Scenario(duration_ms=rebalances * REBALANCE_MS, closes=False, groups=(plan,), faults=FAULTS)
    with tempfile.TemporaryDirectory() as folder:
        simulate(scenario, VERSION, 7, Path(folder))
        found = analyze([folder], AnalyzeOptions(ReadOptions(log_tz=[(None, "UTC")])))
        rows = list(found.rebalances)
        versions = {row.cluster: VERSION for row in rows}
        tables = list(found.rebalance_members), list(found.members), list(found.client_states)
        (group,) = History(rows, *tables, versions, part_runner(processes)).groups()
        return group


@dataclass(frozen=True, slots=True)
class Timing:
    """Seconds until an answer was there, and of processors, worker processes not counted."""

    seconds: float
    processor_seconds: float

    def of(self, count: int) -> str:
        """The same in words, for so many rebalances."""
        each = f"{1000 * self.seconds / count:.2f} ms a rebalance"
        return f"{self.seconds:.1f} s, {each}; {self.processor_seconds:.1f} s of its own process"


def timed(call: Callable[[], T]) -> tuple[Timing, T]:
    """Times of a call, and its result."""
    begun, process_begun = time.perf_counter(), time.process_time()
    result = call()
    return Timing(time.perf_counter() - begun, time.process_time() - process_begun), result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rebalances", type=int, nargs="?", default=10_000)
    parser.add_argument("--members", type=int, default=6)
    parser.add_argument("--processes", type=int, default=0, help="0: one for each processor")
    asked = parser.parse_args()
    with gc_throttled():  # as the program's commands run
        _measure(history(asked.rebalances, asked.members, asked.processes), asked.members)


def _measure(made: GroupBaseline, members: int) -> None:
    count = len(made.rows)
    timing, (behaviour, _, _) = timed(made.reading)
    print(f"{count:,} rebalances of {members} members; readings of their behaviour: {2 if 'process' in behaviour.assumed else 1}")
    print(f"reading, and a run as it was: {timing.of(count)}")
    for name, configuration in CONFIGURATIONS:
        timing, told = timed(lambda configuration=configuration: under(made, configuration))  # type: ignore[misc]
        print(f"{name}: {timing.of(count)}; {told.left:,} rebalances left")


if __name__ == "__main__":
    main()
