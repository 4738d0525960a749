"""Simulated twins: random scenarios, foretold under another configuration and then run under it.

`python -m tests.models.whatif.twins 2000` prints one JSON object; `--seed` gives other scenarios. The logs of each run
are read as any others; only what they tell is known. `stop_share` allows for half a heartbeat interval for each
rebalance, which is chance in the simulator, too; `strict_stop_share` for 0.5 s or 10 % altogether; `stop_within_share` is of
the ranges of downtime. `--chance` says how
often two runs of the same twin, with other dice, agree as strictly. `--best 7` says how often a predictor would be as near
that knows the twin itself: it runs it seven times, with the same dice up to the first fault, and tells the median.
`--consumer-protocol` takes groups that have that protocol already, and whose number of rebalances alone says something.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from models.downtime import stopped_seconds
from models.kafka.coordinator.runtime.outcomes import LoggedChange, StateTransition
from models.kafka.simulation.scenario import COOPERATIVE, MODERN, GroupPlan, InjectedFault, Scenario
from models.kafka.simulation.simulation import Simulation
from models.whatif.configuration import Configuration
from models.whatif.history import GroupBaseline, History
from models.whatif.outlook import under
from models.whatif.runs.run import Recorder, RunSettings
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.simulate.run import simulate

VERSIONS = ("2.8.2", "3.9.1", "4.1.1")
HEARTBEATS_MS = (1_000, 2_000, 3_000)
TOGETHER_SHARE = 0.3
"""Share of configurations that change two settings."""
OF_CONSUMER_PROTOCOL: tuple[tuple[Configuration, Mapping[str, Any], Mapping[str, Any]], ...] = (
    (Configuration(consumer_session_ms=60_000), {}, {"consumer_session_ms": 60_000}),
    (Configuration(consumer_session_ms=15_000), {}, {"consumer_session_ms": 15_000}),
    (Configuration(consumer_heartbeat_ms=15_000), {}, {"consumer_heartbeat_ms": 15_000}),
    (Configuration(max_poll_interval_ms=90_000), {"max_poll_ms": 90_000}, {}),
    (Configuration(static_membership=True), {"static": True}, {}),
)
"""The same for groups that have the consumer protocol already."""
SECONDS_LATE, SHARE_LATE = 0.5, 0.1


@dataclass(frozen=True, slots=True)
class ChangedSettings:
    """Settings of a configuration, and the same of a scenario's group and cluster."""

    of_configuration: Mapping[str, Any]
    of_group: Mapping[str, Any]
    of_cluster: Mapping[str, Any] = field(default_factory=dict)

    def joined(self, other: ChangedSettings) -> ChangedSettings:
        """Both together."""
        return ChangedSettings(
            {**self.of_configuration, **other.of_configuration},
            {**self.of_group, **other.of_group},
            {**self.of_cluster, **other.of_cluster},
        )


def _session(dice: random.Random) -> ChangedSettings:
    """A session timeout in tenths of a second, and a heartbeat interval of at most its third."""
    session_ms = dice.randrange(6_000, 45_001, 100)
    heartbeat_ms = dice.choice([beat_ms for beat_ms in HEARTBEATS_MS if 3 * beat_ms <= session_ms])
    return ChangedSettings(
        {"session_timeout_ms": session_ms, "heartbeat_interval_ms": heartbeat_ms}, {"session_ms": session_ms, "heartbeat_ms": heartbeat_ms}
    )


def _poll(dice: random.Random) -> ChangedSettings:
    interval_ms = dice.randrange(30_000, 120_001, 1_000)
    return ChangedSettings({"max_poll_interval_ms": interval_ms}, {"max_poll_ms": interval_ms})


def _delay(dice: random.Random) -> ChangedSettings:
    delay_ms = dice.randrange(0, 15_001, 500)
    return ChangedSettings({"initial_delay_ms": delay_ms}, {}, {"initial_delay_ms": delay_ms})


def _static(_: random.Random) -> ChangedSettings:
    return ChangedSettings({"static_membership": True}, {"static": True})


def _cooperative(_: random.Random) -> ChangedSettings:
    return ChangedSettings({"cooperative": True}, {"assignor": COOPERATIVE})


def _consumer_protocol(_: random.Random) -> ChangedSettings:
    return ChangedSettings(
        {"consumer_protocol": True}, {"protocol": MODERN}, {"consumer_session_ms": 10_000, "consumer_heartbeat_ms": 3_000}
    )


TOGETHER = (_session, _poll, _delay, _static, _cooperative)


def changed_settings(dice: random.Random) -> ChangedSettings:
    """Random settings: one, or two together."""
    if dice.random() < TOGETHER_SHARE:
        first, second = dice.sample(TOGETHER, 2)
        return first(dice).joined(second(dice))
    return dice.choice((*TOGETHER, _consumer_protocol))(dice)


@dataclass(slots=True)
class Score:
    """Sums over all pairs."""

    pairs: int = 0
    exact: int = 0
    within: int = 0
    stops: int = 0
    strict_stops: int = 0
    stops_within: int = 0
    misses: list[str] = field(default_factory=list)

    def shares(self) -> dict[str, float | int]:
        """Shares of pairs: number exact and within the range, downtime with and without chance."""
        return {
            "pairs": self.pairs,
            "exact_share": round(self.exact / max(1, self.pairs), 3),
            "within_share": round(self.within / max(1, self.pairs), 3),
            "stop_share": round(self.stops / max(1, self.pairs), 3),
            "strict_stop_share": round(self.strict_stops / max(1, self.pairs), 3),
            "stop_within_share": round(self.stops_within / max(1, self.pairs), 3),
        }


def scenario(dice: random.Random, pauses_ms: tuple[int, ...] = (5_000, 14_000, 25_000)) -> Scenario:
    """A random scenario of a few minutes."""
    faults = (
        InjectedFault(kind="crash", at_ms=60_000, member=1, back_ms=dice.choice((2_000, 6_000, 15_000, None))),
        InjectedFault(kind="gc_pause", at_ms=60_000, member=2, for_ms=dice.choice(pauses_ms)),
        InjectedFault(kind="slow_poll", at_ms=60_000, member=2, for_ms=dice.choice((20_000, 70_000))),
        InjectedFault(kind="close", at_ms=60_000, member=3, back_ms=dice.choice((1_500, 5_000, 20_000, None))),
        InjectedFault(kind="rolling_restart", at_ms=60_000, for_ms=dice.choice((15_000, 30_000)), back_ms=dice.choice((1_000, 4_000))),
        InjectedFault(kind="scale_out", at_ms=60_000, count=dice.choice((1, 2))),
    )
    chosen = dice.sample(faults, dice.choice((1, 2)))
    placed = tuple(replace(each, at_ms=40_000 + 120_000 * number + dice.randrange(10_000)) for number, each in enumerate(chosen))
    start_ms = dice.choice((200, 4_000))
    if any(fault.kind == "scale_out" for fault in placed):
        start_ms = 200  # when members are added is drawn anew in the twin
    plan = GroupPlan(members=dice.choice((3, 4)), max_poll_ms=45_000, poll_ms=50, start_ms=start_ms)
    return Scenario(duration_ms=320_000, closes=False, groups=(plan,), faults=placed)


def history_of(made: Scenario, version: str, seed: int) -> GroupBaseline:
    """The group's history as its logs tell it."""
    with tempfile.TemporaryDirectory() as folder:
        simulate(made, version, seed, Path(folder), request_log=True)
        reading = ReadOptions(log_tz=[(None, "UTC")], kafka_versions=[("*", version)])
        # Real brokers log their settings as they start.
        found = analyze([folder], AnalyzeOptions(reading, assume={"initial_delay_ms": made.initial_delay_ms}))
        rows = list(found.rebalances)
        versions = {row.cluster: version for row in rows}
        (group,) = History(rows, list(found.rebalance_members), list(found.members), list(found.client_states), versions).groups()
        return group


def twins_of(seed: int, *, is_modern: bool = False) -> tuple[Scenario, str, Configuration, Scenario]:
    """A scenario with its version, and the same under another configuration.

    `is_modern` is whether the group has the consumer protocol from the beginning.
    """
    dice = random.Random(seed)  # noqa: S311 - repeatable
    if is_modern:
        made = scenario(dice, (5_000, 48_000, 52_000))
        made = replace(made, groups=tuple(replace(group, protocol=MODERN) for group in made.groups))
        configuration, of_group, of_cluster = dice.choice(OF_CONSUMER_PROTOCOL)
        other_groups = tuple(replace(group, **of_group) for group in made.groups)
        return made, VERSIONS[-1], configuration, replace(made, groups=other_groups, **of_cluster)
    made = scenario(dice)
    chosen = changed_settings(dice)
    configuration = Configuration(**chosen.of_configuration)
    version = VERSIONS[-1] if configuration.consumer_protocol else dice.choice(VERSIONS)
    other_groups = tuple(replace(group, **chosen.of_group) for group in made.groups)
    return made, version, configuration, replace(made, groups=other_groups, **chosen.of_cluster)


def agrees_by_chance(seed: int) -> bool:
    """Whether two runs of one twin, with other dice, stand still for as long."""
    first, second = (stopped_in_twin(seed, dice) for dice in (seed, seed + OTHER_DICE))
    return is_near(second, first)


def is_nearly_best(seed: int, runs: int) -> bool:
    """Whether the median of a twin's runs is near to another run."""
    first, *others = (stopped_after(seed, seed + OTHER_DICE * number) for number in range(runs + 1))
    return is_near(statistics.median(others), first)


def stopped_after(seed: int, dice: int) -> float:
    """Downtime in a run of a twin with other dice from its first fault on."""
    _, version, _, other = twins_of(seed)
    (group,) = other.groups
    made = Simulation(other, version, seed, tells_requests=False)
    made.world.plan(BEFORE_FAULTS_MS, lambda: made.world.dice.seed(dice))
    sessions = {"": group.session_ms}
    settings = RunSettings(
        version=version,
        protocol=group.protocol,
        assignor=group.assignor,
        session_ms=sessions,
        max_poll_ms=sessions,
        heartbeat_ms=group.heartbeat_ms,
        initial_delay_ms=other.initial_delay_ms,
    )
    recorder, tell = Recorder(settings), made.cluster.watch

    def watch(change: StateTransition | LoggedChange) -> None:
        tell(change)
        recorder.watch(change)

    made.cluster.watch = watch
    for _ in made.run():
        pass
    return sum(row.stopped_ms(other.duration_ms) for row in recorder.rows) / 1000


def stopped_in_twin(seed: int, dice: int) -> float:
    """Downtime in one run of a twin."""
    _, version, _, other = twins_of(seed)
    return sum(map(stopped_seconds, history_of(other, version, dice).rows))


def is_near(foretold: float, stopped: float) -> bool:
    """Whether a downtime that was foretold is that which came, within 0.5 s or 10 %."""
    return abs(stopped - foretold) <= max(SECONDS_LATE, SHARE_LATE * stopped)


OTHER_DICE = 1_000_003
BEFORE_FAULTS_MS = 39_000


def compare(seed: int, score: Score, *, is_modern: bool = False) -> None:
    """Foretell one scenario, run it under the other configuration, and compare."""
    made, version, configuration, other = twins_of(seed, is_modern=is_modern)
    told = under(history_of(made, version, seed), configuration)
    happened = history_of(other, version, seed).rows
    stopped, foretold = sum(map(stopped_seconds, happened)), told.stopped_seconds - told.saved_seconds
    score.pairs += 1
    score.exact += len(happened) == told.left or len(happened) == told.fewest
    score.within += told.fewest <= len(happened) <= told.left
    fits = abs(stopped - foretold) <= max(SECONDS_LATE + HEARD_SECONDS * len(happened), SHARE_LATE * stopped)
    score.stops += fits
    least, most = told.saved_range
    score.stops_within += least - SECONDS_LATE <= told.stopped_seconds - stopped <= most + SECONDS_LATE
    strictly = is_near(foretold, stopped)
    score.strict_stops += strictly
    if not (strictly and told.fewest <= len(happened) <= told.left):
        score.misses.append(
            f"seed {seed}, {version}, {_asked(configuration)}: foretold {told.fewest} to {told.left}, {foretold:.1f} s;"
            f" happened {len(happened)}, {stopped:.1f} s"
        )


HEARD_SECONDS = 1.5
"""Half the heartbeat interval of the scenarios: when members hear of a rebalance is chance."""


def _asked(configuration: Configuration) -> str:
    """What a configuration changes."""
    return ", ".join(f"{name}={value}" for name, value in asdict(configuration).items() if value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("count", type=int, nargs="?", default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--verbose", "-v", action="store_true")
    parser.add_argument("--consumer-protocol", action="store_true")
    parser.add_argument("--chance", action="store_true")
    parser.add_argument("--best", type=int, metavar="RUNS")
    asked = parser.parse_args()
    if asked.chance or asked.best:
        seeds = range(asked.seed, asked.seed + asked.count)
        agreed = sum(is_nearly_best(seed, asked.best) if asked.best else agrees_by_chance(seed) for seed in seeds)
        print(json.dumps({"pairs": asked.count, "strict_stop_share": round(agreed / asked.count, 3)}))
        return
    score = Score()
    for seed in range(asked.seed, asked.seed + asked.count):
        compare(seed, score, is_modern=asked.consumer_protocol)
    if asked.verbose:
        print("\n".join(score.misses))
    print(json.dumps(score.shares()))


if __name__ == "__main__":
    main()
