"""Killed runs, each followed by another: the tables must show no trace.

Processes are real, and so is the kill: SIGKILL of the driver at a named point of the run (`pipelines.crash_points`) or
at a random time. The log of the first run ends within a line; until the killed one it has grown and, with odd seeds,
been rotated.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path

from pipelines.crash_points import CRASH_AT, TRACE
from pipelines.exit_codes import GOOD, SOME_REJECTED
from tests.conftest import ROOT
from tests.crash.started import Starter
from tests.pipelines.site import Site

SAMPLE = ROOT / "data_samples" / "kafka" / "2.8.2" / "coordinator-failover"
"""A sample with rows for most tables, including outages."""
LOG = Path("broker-1") / "server.log"
BUSY = 6
# Subjects of gates and times of checkpoints depend on when runs took place.
OF_RUNS = ("quality_results", "group_snapshots", "cluster_snapshots")
_NOT_OF_DATA = ("entry", "quality_results", "published")
_LOOK_AGAIN_SECONDS = 0.005


class Moment(Enum):
    """When a run was killed, by the tables that it had committed."""

    BEFORE_TABLES = "before the first table"
    AMONG_TABLES = "after the first table"
    AFTER_TABLES = "after the last table"
    ENDED = "after its end"


@dataclass(frozen=True, slots=True)
class Stage:
    """A warehouse of a truncated log, and its expected final tables."""

    cut: Site
    whole: Site
    start: Starter

    @classmethod
    def make(cls, place: Path, seed: int, start: Starter) -> Stage:
        cut, whole = Site(place / "cut"), Site(place / "whole")
        for site in (cut, whole):
            shutil.copytree(SAMPLE, site.logs)
        text, draw = (SAMPLE / LOG).read_bytes(), random.Random(seed)  # noqa: S311 - the same logs each time
        end = draw.randrange(len(text) // 4, len(text) - 200)
        (cut.logs / LOG).write_bytes(text[:end])
        if seed % 2:
            rotated = text.index(b"\n", draw.randrange(end, len(text) - 1)) + 1
            (whole.logs / f"{LOG}.1").write_bytes(text[:rotated])
            (whole.logs / LOG).write_bytes(text[rotated:])
        for site in (cut, whole):
            code, said = start(site, {}).ended()
            if code not in (GOOD, SOME_REJECTED):  # the truncated last line is rejected
                raise SystemExit(f"the run that is to be compared with failed with {code}: {said[-4000:]}")
        return cls(cut, whole, start)

    def begin(self, place: Path) -> Site:
        """A warehouse of the truncated log, with the whole log beside it."""
        site = Site(place)
        shutil.copytree(self.cut.place, place)
        self.grow(site)
        return site

    def grow(self, site: Site) -> None:
        """Complete the logs."""
        shutil.copytree(self.whole.logs, site.logs, dirs_exist_ok=True)

    def differences(self, site: Site) -> list[str]:
        """Tables with rows that differ from those of an undisturbed run."""
        found, wanted = site.content(), self.whole.content()
        return [name for name in wanted if name not in OF_RUNS and found[name] != wanted[name]]


@dataclass(frozen=True, slots=True)
class Course:
    """An undisturbed run: the points that it reaches in order, with the seconds from its start to each."""

    seconds: dict[str, float]
    length: float
    grown_bytes: int
    """Bytes that the warehouse takes more than before."""
    tables: Sequence[str] = field(init=False)
    """Points after commits of tables with data."""

    def __post_init__(self) -> None:
        after = [point for point in self.seconds if point.startswith("after ") and not point.endswith(_NOT_OF_DATA)]
        object.__setattr__(self, "tables", after)

    def seconds_after(self, points: Collection[str]) -> float:
        """Seconds from these points to the publication, or from the start of the run to its end."""
        if not points:
            return self.length
        return self.seconds.get("after published", self.length) - max(self.seconds[point] for point in points)

    def moment(self, reached: Sequence[str]) -> Moment:
        """When a run that reached these points was killed."""
        if "after published" in reached:
            return Moment.ENDED
        if set(self.tables) <= set(reached):
            return Moment.AFTER_TABLES
        return Moment.AMONG_TABLES if set(self.tables) & set(reached) else Moment.BEFORE_TABLES


def course(stage: Stage, place: Path) -> Course:
    """Run undisturbed, and note when each named point is reached."""
    site, began = stage.begin(place), time.monotonic()
    seconds: dict[str, float] = {}
    run = stage.start(site, _traced(site))
    while not run.wait(_LOOK_AGAIN_SECONDS):
        for point in _reached(site):
            seconds.setdefault(point, time.monotonic() - began)
    length = time.monotonic() - began
    code, said = run.ended()
    if code:
        raise SystemExit(f"the run failed with {code}: {said[-4000:]}")
    grown = bytes_below(site.warehouse) - bytes_below(stage.cut.warehouse)
    return Course({point: seconds.get(point, length) for point in _reached(site)}, length, grown)


def bytes_below(place: Path) -> int:
    """Bytes that files take on a disk."""
    return sum(path.stat().st_blocks * 512 for path in place.rglob("*") if path.is_file())


@dataclass(frozen=True, slots=True)
class Kill:
    """When a run was killed, and what is wrong after the next one."""

    moment: Moment
    wrong: Sequence[str]


def killed_at(stage: Stage, whole: Course, place: Path, point: str) -> Kill:
    """Kill a run at a point and run again."""
    site = stage.begin(place)
    code, said = stage.start(site, {CRASH_AT: point, **_traced(site)}).ended()
    wrong = [] if code == -signal.SIGKILL else [f"the run was not killed: {code} {said[-500:]}"]
    return Kill(whole.moment(_reached(site)), wrong + again(stage, site))


def killed_after(stage: Stage, whole: Course, place: Path, seconds: float, since: Collection[str] = ()) -> Kill:
    """Kill a run some time after its start, or after it reached all these points, if it is still alive, and run again."""
    site = stage.begin(place)
    run = stage.start(site, _traced(site))
    while not set(since) <= set(_reached(site)) and not run.wait(_LOOK_AGAIN_SECONDS):
        pass
    if not run.wait(seconds):
        run.kill()
        run.ended()
    return Kill(whole.moment(_reached(site)), again(stage, site))


def _traced(site: Site) -> dict[str, str]:
    return {TRACE: str(site.place / "trace")}


def _reached(site: Site) -> list[str]:
    """Points reached by the traced run so far."""
    trace = site.place / "trace"
    return list(dict.fromkeys(trace.read_text(encoding="utf-8").split("\n")[:-1])) if trace.exists() else []


def again(stage: Stage, site: Site) -> list[str]:
    """Run once more; return what is wrong then."""
    code, said = stage.start(site, {}).ended()
    return ([] if code == 0 else [f"the run after it ended with {code}: {said[-2000:]}"]) + stage.differences(site)


def two_at_once(stage: Stage, place: Path, pause: float) -> list[str]:
    """Start two runs, one slightly later.

    One or both must succeed, a refused one must say so, and the tables must be those of one run.
    """
    site = stage.begin(place)
    both = [stage.start(site, {})]
    time.sleep(pause)
    both.append(stage.start(site, {}))
    ended = [run.ended() for run in both]
    wrong = [f"ended with {code}: {said[-2000:]}" for code, said in ended if code not in (0, BUSY)]
    wrong += [f"gives way without a word: {said[-500:]}" for code, said in ended if code == BUSY and "another run" not in said]
    if all(code == BUSY for code, _ in ended):
        wrong.append("both gave way")
    return wrong + stage.differences(site)


def in_place(folder: Path) -> Iterator[Path]:
    """Folders for one site after another, each removed before the next is made."""
    number = 0
    while True:
        place = folder / f"site-{number}"
        yield place
        shutil.rmtree(place, ignore_errors=True)
        number += 1
