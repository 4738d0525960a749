"""`run --every` over a growing log: memory and delay over time."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import IO

from tests.conftest import ROOT
from tests.reliability.growing_log import IN_TURN, GrowingLog

WATCH_SECONDS = 5.0
BLOCK_SECONDS = 60.0
"""Memory rises and falls with each run, so that neighbouring samples are one observation: trends are those of means over a minute."""


@dataclass(slots=True)
class Soak:
    """What was measured: memory by time, and what runs said."""

    memory: list[tuple[float, Mapping[str, float]]] = field(default_factory=list)
    """Seconds since the start, MiB by program."""
    finished: list[tuple[float, float, int]] = field(default_factory=list)
    """Seconds since the start, length of the run, exit code."""
    written: int = 0
    rotations: int = 0

    def delays(self) -> list[float]:
        """From a line written just after a run began to the end of the run that reads it."""
        return [end - (before - length) for (before, length, _), (end, _, _) in zip(self.finished, self.finished[1:], strict=False)]

    def told(self) -> str:
        """One line with all figures."""
        half = [each for each in self.memory if each[0] >= self.memory[-1][0] / 2] if self.memory else []
        programs = sorted({name for _, sizes in half for name in sizes if sizes[name] >= 1.0})
        growth = "; ".join(f"{self._growth(half, name)}, least by quarter {self._least(name)}" for name in programs)
        slope, error = trend(means_of_blocks([(at, sum(sizes.values())) for at, sizes in half]))
        delays = self.delays() or [math.nan]
        failed = sum(code not in (0, 4) for _, _, code in self.finished)
        return (
            f"{self.written / 1e6:,.0f} MB in {self.memory[-1][0]:.0f} s, {self.rotations} rotations, {len(self.finished)} runs, "
            f"{failed} failed; memory by quarter of the time: {_listed(map(fmean, self._quarters()))} MiB; "
            f"in the second half: {growth}; slope {slope * 3600:+,.0f} ± {2 * error * 3600:,.0f} MiB an hour; "
            f"delay median {sorted(delays)[len(delays) // 2]:.0f} s, longest {max(delays):.0f} s"
        )

    def _quarters(self, name: str | None = None) -> list[list[float]]:
        """Memory of a program, or of all, in each quarter of the time, in MiB."""
        end = self.memory[-1][0]
        quarters: list[list[float]] = [[], [], [], []]
        for at, sizes in self.memory:
            quarters[min(3, int(4 * at / end))].append(sum(sizes.values()) if name is None else sizes.get(name, 0.0))
        return [sizes or [math.nan] for sizes in quarters]

    def _least(self, name: str) -> str:
        """What a program holds between runs, when it holds least."""
        return _listed(map(min, self._quarters(name)))

    @staticmethod
    def _growth(half: Sequence[tuple[float, Mapping[str, float]]], name: str) -> str:
        sizes = [(at, sizes.get(name, 0.0)) for at, sizes in half]
        slope, error = trend(means_of_blocks(sizes))
        return f"{name} {sizes[0][1]:,.0f} to {sizes[-1][1]:,.0f} MiB ({slope * 3600:+,.0f} ± {2 * error * 3600:,.0f} an hour)"


def _listed(sizes: Iterable[float]) -> str:
    return ", ".join(f"{size:,.0f}" for size in sizes)


def means_of_blocks(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Mean time and value of each block of time."""
    blocks: defaultdict[int, list[tuple[float, float]]] = defaultdict(list)
    for at, value in points:
        blocks[int(at / BLOCK_SECONDS)].append((at, value))
    return [(sum(at for at, _ in block) / len(block), sum(value for _, value in block) / len(block)) for block in blocks.values()]


def trend(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Slope of a line through points, and its standard error."""
    count = len(points)
    if count < 3:
        return math.nan, math.nan
    mean_x, mean_y = sum(x for x, _ in points) / count, sum(y for _, y in points) / count
    spread = sum((x - mean_x) ** 2 for x, _ in points)
    slope = sum((x - mean_x) * (y - mean_y) for x, y in points) / spread
    rest = sum((y - mean_y - slope * (x - mean_x)) ** 2 for x, y in points)
    return slope, math.sqrt(rest / (count - 2) / spread)


def memory_of(pid: int) -> dict[str, float]:
    """MiB of their own that a process and its descendants hold, by program.

    Pages of mapped files are not counted: the system takes them back when it needs room.
    """
    children: dict[int, list[int]] = {}
    sizes: dict[int, tuple[str, float]] = {}
    for place in Path("/proc").iterdir():
        if not place.name.isdigit():
            continue
        try:
            status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line)
        except OSError:
            continue
        children.setdefault(int(status["PPid"]), []).append(int(place.name))
        own = sum(int(status.get(name, "0 kB").split()[0]) for name in ("RssAnon", "RssShmem"))
        sizes[int(place.name)] = status["Name"].strip(), own / 1024
    left, total = [pid], dict[str, float]()
    while left:
        one = left.pop()
        name, size = sizes.get(one, ("", 0.0))
        name = "driver" if one == pid else "workers" if name.startswith("python") else name
        total[name] = total.get(name, 0.0) + size
        left += children.get(one, [])
    return total


def soak(place: Path, minutes: float, bytes_per_second: int, every: str, in_turn: int = IN_TURN) -> Soak:
    """Run for some minutes and measure."""
    found, began = Soak(), time.monotonic()
    command = [sys.executable, "-m", "groupscope", "run", "--input", str(place / "logs"), "--warehouse", str(place / "warehouse")]
    command += ["--every", every, "--log-json", "--conf", "spark.master=local[2]"]
    with GrowingLog(place / "logs", bytes_per_second, in_turn=in_turn) as log:
        process = subprocess.Popen(command, cwd=place, env=os.environ | {"PYTHONPATH": str(ROOT)}, stderr=subprocess.PIPE, text=True)
        assert process.stderr is not None
        listener = threading.Thread(target=_listen, args=(process.stderr, found, began), daemon=True)
        listener.start()
        while time.monotonic() - began < minutes * 60 and process.poll() is None:
            time.sleep(WATCH_SECONDS)
            found.memory.append((time.monotonic() - began, memory_of(process.pid)))
        process.terminate()
        process.wait(300)
        listener.join(10)
        found.written, found.rotations = log.bytes, log.rotations
    return found


def _listen(said: IO[str], found: Soak, began: float) -> None:
    for line in said:
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if event.get("event") in ("run finished", "run failed"):
            found.finished.append((time.monotonic() - began, sum((event.get("timings") or {}).values()), int(event.get("exit_code") or 0)))
