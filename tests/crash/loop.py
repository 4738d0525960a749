"""Killed runs, each followed by another: the tables must show no trace.

Processes are real, and so is the kill: SIGKILL of the driver at a named point of the run (`pipelines.crash_points`) or
at a random time. The killed run reads a log that ends within a line; then the log is completed.
"""

from __future__ import annotations

import random
import shutil
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
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
        text = (SAMPLE / LOG).read_bytes()
        (cut.logs / LOG).write_bytes(text[: random.Random(seed).randrange(len(text) // 4, len(text) - 200)])  # noqa: S311
        for site in (cut, whole):
            code, said = start(site, {}).ended()
            if code not in (GOOD, SOME_REJECTED):  # the truncated last line is rejected
                raise SystemExit(f"the run that is to be compared with failed with {code}: {said[-4000:]}")
        return cls(cut, whole, start)

    def begin(self, place: Path) -> Site:
        """A warehouse of the truncated log, with the whole log beside it."""
        site = Site(place)
        shutil.copytree(self.cut.place, place)
        shutil.copy(self.whole.logs / LOG, site.logs / LOG)
        return site

    def differences(self, site: Site) -> list[str]:
        """Tables with rows that differ from those of an undisturbed run."""
        found, wanted = site.content(), self.whole.content()
        return [name for name in wanted if name not in OF_RUNS and found[name] != wanted[name]]


def points(stage: Stage, place: Path) -> list[str]:
    """The named points reached by a run, in order."""
    site = stage.begin(place)
    trace = place / "trace"
    code, said = stage.start(site, {TRACE: str(trace)}).ended()
    if code:
        raise SystemExit(f"the run failed with {code}: {said[-4000:]}")
    return list(dict.fromkeys(trace.read_text(encoding="utf-8").split("\n")[:-1]))


def killed_at(stage: Stage, place: Path, point: str) -> list[str]:
    """Kill a run at a point and run again; return the differences."""
    site = stage.begin(place)
    code, said = stage.start(site, {CRASH_AT: point}).ended()
    wrong = [] if code == -signal.SIGKILL else [f"the run was not killed: {code} {said[-500:]}"]
    return wrong + _again(stage, site)


def killed_after(stage: Stage, place: Path, seconds: float) -> list[str]:
    """Kill a run after some time if it is still alive."""
    site = stage.begin(place)
    run = stage.start(site, {})
    if not run.wait(seconds):
        run.kill()
        run.ended()
    return _again(stage, site)


def _again(stage: Stage, site: Site) -> list[str]:
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
