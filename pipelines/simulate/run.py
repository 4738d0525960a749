"""Run a scenario and write its files: logs and the truth.

Finished parts are written at once, so memory does not grow with the scenario's length.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

import orjson

import conf as conf_package
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.kafka.simulation.scenario import CLASSIC, Scenario, ScenarioError, duration_ms, scenario_of
from models.kafka.simulation.simulation import Simulation
from models.kafka.simulation.world import WrittenLine
from pipelines.simulate.requests import RequestLines
from pipelines.simulate.wording import START, MessageWriter

_LEVELS = frozenset({"INFO", "WARN", "ERROR"})
"""Levels that Kafka's default log4j settings write to server.log."""
PROCESSES = 20
"""Maximum number of log files for the clients of a group.

It limits the number of open files.
"""
FOLDER = "scenarios"


def bundled_scenarios() -> Mapping[str, str]:
    """The bundled scenarios: description by name."""
    scenarios = (entry for entry in files(conf_package).joinpath(FOLDER).iterdir() if entry.name.endswith(".toml"))
    return {
        entry.name.removesuffix(".toml"): tomllib.loads(entry.read_text(encoding="utf-8")).get("description", "")
        for entry in sorted(scenarios, key=lambda entry: entry.name)
    }


def read_scenario(name: str, members: int | None = None, duration: str | None = None) -> Scenario:
    """Read a bundled scenario by name, or one from a file.

    `duration`, such as "30m", overrides that of the scenario.
    """
    known = files(conf_package).joinpath(FOLDER).joinpath(f"{name}.toml")
    try:
        text = known.read_text(encoding="utf-8") if "/" not in name and known.is_file() else Path(name).read_text(encoding="utf-8")
    except OSError as error:
        raise ScenarioError(f"{name} is neither a file nor one of {', '.join(bundled_scenarios())}") from error
    try:
        scenario = scenario_of(Path(name).stem, tomllib.loads(text), members)
    except tomllib.TOMLDecodeError as error:
        raise ScenarioError(f"{name}: {error}") from error
    return scenario if duration is None else replace(scenario, duration_ms=duration_ms(duration))


def simulate(scenario: Scenario, version: str, seed: int, out: Path, *, request_log: bool = False) -> dict[str, int]:
    """Write a scenario's files below `out`; return counts of lines, bytes and rebalances."""
    simulation = Simulation(scenario, version, seed, tells_requests=request_log)
    with ExitStack() as stack:
        logs = _Logs(out, stack)
        truth = _TruthFile(simulation, stack)
        wording, requests = MessageWriter(policy_for(version)), RequestLines(policy_for(version))
        for happening in simulation.run():
            if isinstance(happening, WrittenLine):
                is_hidden = isinstance(happening.source, int) and bool(happening.level) and happening.level not in _LEVELS
                line = None if is_hidden else wording.line(happening)
                logs.write(_file_of(happening.source), line)
            else:
                logs.write(f"broker-{happening.node}/kafka-request.log", requests.line(happening))
            truth.take()
        truth.take()
        with (out / "truth.json").open("wb") as file:
            for part in truth.parts(request_log=request_log):
                file.write(part)
    return {"lines": logs.lines, "bytes": logs.bytes, "rebalances": truth.rebalances}


@lru_cache(maxsize=4096)
def _file_of(source: int | str) -> str:
    """The log file of a broker or a client's process.

    `NAME-worker-7` is the seventh client.
    """
    if isinstance(source, int):
        return f"broker-{source}/server.log"
    group, _, number = source.rpartition("-worker-")
    return f"clients/{group}-{(int(number) - 1) % PROCESSES + 1}.log"


class _Logs:
    """The open log files."""

    def __init__(self, out: Path, stack: ExitStack) -> None:
        self._out, self._stack = out, stack
        self._files: dict[str, IO[bytes]] = {}
        self.lines = self.bytes = 0

    def write(self, name: str, line: str | None) -> None:
        """Add a line to a file; None adds nothing."""
        if line is None:
            return
        file = self._files.get(name)
        if file is None:
            path = self._out / name
            path.parent.mkdir(parents=True, exist_ok=True)
            file = self._files[name] = self._stack.enter_context(path.open("wb"))
        data = line.encode() + b"\n"
        file.write(data)
        self.lines += 1
        self.bytes += len(data)


class _TruthFile:
    """The truth, in two unnamed files until the scenario ends."""

    def __init__(self, simulation: Simulation, stack: ExitStack) -> None:
        self._simulation = simulation
        self._rows: IO[bytes] = stack.enter_context(TemporaryFile())  # noqa: SIM115 - closed by the stack
        self._steps: IO[bytes] = stack.enter_context(TemporaryFile())  # noqa: SIM115
        self.rebalances = 0

    def take(self) -> None:
        """Write the finished parts to disk."""
        if not self._simulation.truth.rows and not self._simulation.truth.steps:
            return
        rows, steps = self._simulation.truth.taken()
        self.rebalances += len(rows)
        _put(self._rows, ({**row, **_absolute(row, TIMES)} for row in rows))
        _put(self._steps, ({**step, **_absolute(step, ("ms",))} for step in steps))

    def parts(self, *, request_log: bool) -> Iterator[bytes]:
        """The whole file, in parts."""
        yield orjson.dumps(self._head(request_log), option=orjson.OPT_INDENT_2)[:-2]
        for name, rows in (("rebalances", self._rows), ("state_timeline", self._steps)):
            yield f',\n  "{name}": [\n'.encode()
            rows.seek(0)
            before = b""
            for line in rows:
                yield before + b"    " + line.rstrip()
                before = b",\n"
            yield b"\n  ]"
        yield b"\n}\n"

    def _head(self, request_log: bool) -> dict[str, Any]:
        scenario, simulation = self._simulation.scenario, self._simulation
        members = [
            {
                "key": member.name,
                "group": member.plan.name,
                "client_id": member.name,
                "instance_id": member.instance,
                "topics": sorted(member.plan.topics),
                "session.timeout.ms": member.plan.session_ms,
                "heartbeat.interval.ms": member.plan.heartbeat_ms,
                "max.poll.interval.ms": member.plan.max_poll_ms,
                "group.protocol": member.plan.protocol,
                "partition.assignment.strategy": member.plan.assignor if member.plan.protocol == CLASSIC else None,
            }
            for members in simulation.members.values()
            for member in members
        ]
        return {
            "variant": f"simulated-{simulation.version}",
            "scenario": scenario.name,
            "description": scenario.description,
            "seed": simulation.seed,
            "kafka_version": simulation.version,
            "request_logger": "DEBUG" if request_log else "WARN",
            "log_timezone": "UTC",
            "client_log_timezone": "UTC",
            "window_ms": [START_MS, START_MS + scenario.duration_ms],
            "broker_config": {"group.initial.rebalance.delay.ms": str(scenario.initial_delay_ms), "group.max.size": str(scenario.max_size)},
            "groups": sorted(simulation.members),
            "members": members,
        }


START_MS = int(START.timestamp() * 1000)
TIMES = ("start_ms", "start_lo_ms", "start_hi_ms", "join_complete_ms", "assigned_ms", "end_ms")


def _absolute(row: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: None if row[name] is None else START_MS + row[name] for name in names if name in row}


def _put(file: IO[bytes], rows: Iterable[Mapping[str, Any]]) -> None:
    for row in rows:
        file.write(orjson.dumps(row) + b"\n")
