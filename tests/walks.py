"""Walks: how many files of the product one thing enters, by tracing real runs: `python -m tests.walks [--run]`.

A thing enters a file when a function of that file takes it as an argument or returns it; methods that Python generates for a
dataclass count for the file of the class. What is made of a part of the thing (a time, an id, a list of lines) is another thing.

- *Verdict*: from the end of a rebalance's window to its row. The thing is the window, its context, the ranking of its causes and
  its row. The longest walk of all rebalances in the samples counts.
- *Event*: from the stored batch until the group's reconstruction takes it. The longest walk of all events counts.
- *Options*: of one command, from its command line to where they are used, in all its processes. The things are the objects that
  hold several options: the settings, their sections, and the classes named in `OPTIONS`. `groupscope run` is traced with `--run`
  only, because it starts Spark, which takes minutes when each call is traced.

Prints each walk with its files, and exits with 1 if one is longer than `LONGEST`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from inspect import CO_VARARGS, CO_VARKEYWORDS
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PACKAGES = ("groupscope", "parsers", "models", "pipelines", "dashboards", "conf")
SAMPLES = "data_samples/kafka"
"""Logs whose verdicts and events are followed."""
COMMAND_SAMPLES = ("data_samples/kafka/3.9.1", "data_samples/rocketmq/4.9.7")
"""Logs that the traced commands read: of both systems, and with outages."""

LONGEST = {"verdict": 11, "event": 8, "options of analyze": 14, "options of run": 15}
"""Most files of each walk; the figures may only fall."""

VERDICT = frozenset({"RebalanceWindow", "EpochWindow", "RebalanceContext", "Ranking", "Rebalance"})
OPTIONS = frozenset(
    {
        *("QueryOptions", "Filters", "ReadArguments", "AnalyzeOptions", "ReadOptions"),
        *("RunOptions", "ReplayOptions", "AlertOptions", "Limits"),
    }
)
EVENT = frozenset({"Event"})
SETTINGS_MODULE = "conf.settings"
FOLDER_VARIABLE = "GROUPSCOPE_WALKS_FOLDER"
"""Names the folder into which a command's processes write the files that its options entered."""

_STARTED = f"""
import os
if os.environ.get("{FOLDER_VARIABLE}"):
    from tests.walks import note_options
    note_options(os.environ["{FOLDER_VARIABLE}"])
"""
"""What each Python process of a command runs first."""


def of_product(value: object, names: frozenset[str]) -> bool:
    """Whether the value is of a class of the product with one of the names."""
    kind = type(value)
    return kind.__name__ in names and kind.__module__.split(".")[0] in PACKAGES


def is_event(value: object) -> bool:
    """Whether the value is an event."""
    return of_product(value, EVENT)


def is_verdict(value: object) -> bool:
    """Whether the value is one of the forms of a verdict."""
    return of_product(value, VERDICT)


def is_option(value: object) -> bool:
    """Whether the value holds several options of a command."""
    return type(value).__module__ == SETTINGS_MODULE or of_product(value, OPTIONS)


class Tracer:
    """Tells for each call and return which things enter which file."""

    def __init__(self, is_thing: Callable[[object], bool]) -> None:
        self._is_thing = is_thing
        self._known: dict[int, tuple[CodeType, str, tuple[str, ...]]] = {}
        """File and parameters by the id of the code, whose hash would cost more."""

    def file_of(self, frame: FrameType) -> str:
        """The product's file whose code runs in the frame, or an empty text."""
        return self._look(frame)[1]

    def things(self, frame: FrameType, kind: str, value: object) -> list[Any]:
        """Things that the frame's function takes or returns."""
        _, file, parameters = self._look(frame)
        if not file or kind not in ("call", "return"):
            return []
        if kind == "return":
            return [value] if self._is_thing(value) else []
        given = frame.f_locals if parameters else {}
        return [each for each in map(given.get, parameters) if self._is_thing(each)]

    def _look(self, frame: FrameType) -> tuple[CodeType, str, tuple[str, ...]]:
        code = frame.f_code
        known = self._known.get(id(code))
        if known is None:
            stars = bool(code.co_flags & CO_VARARGS) + bool(code.co_flags & CO_VARKEYWORDS)
            parameters = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount + stars]
            known = self._known[id(code)] = code, _file_of(code, frame.f_globals), parameters
        return known


def _file_of(code: CodeType, names: dict[str, Any]) -> str:
    generated = code.co_filename == "<string>"
    path = Path((names.get("__file__") or "") if generated else code.co_filename)
    inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return inside if inside.split("/")[0] in PACKAGES else ""


@dataclass(slots=True)
class VerdictWalks:
    """Follows each rebalance while a stage judges it."""

    judges: frozenset[int]
    """Ids of the code of what judges."""
    tracer: Tracer = field(default_factory=lambda: Tracer(is_verdict))
    walks: list[set[str]] = field(default_factory=list)
    _walk: set[str] | None = None

    def see(self, frame: FrameType, kind: str, value: object) -> None:
        """Follow the next call or return."""
        if kind == "call" and id(frame.f_code) in self.judges:
            self._walk = {self.tracer.file_of(frame)}
        if self._walk is None:
            return
        if self.tracer.things(frame, kind, value):
            self._walk.add(self.tracer.file_of(frame))
        if kind == "return" and id(frame.f_code) in self.judges:
            self.walks.append(self._walk)
            self._walk = None


@dataclass(slots=True)
class EventWalks:
    """Follows each event until a reconstruction takes it.

    A changed copy of an event has the same place.
    """

    takers: frozenset[int]
    """Ids of the code of what takes an event in."""
    tracer: Tracer = field(default_factory=lambda: Tracer(is_event))
    walks: list[set[str]] = field(default_factory=list)
    _under_way: dict[int, tuple[object, set[str]]] = field(default_factory=dict)

    def see(self, frame: FrameType, kind: str, value: object) -> None:
        """Follow the next call or return."""
        for event in self.tracer.things(frame, kind, value):
            if not hasattr(event, "place"):  # being made
                continue
            _, walk = self._under_way.setdefault(id(event.place), (event.place, set()))  # the place lives as long as its id
            walk.add(self.tracer.file_of(frame))
        if kind == "call" and id(frame.f_code) in self.takers:
            self.walks.append(set(self._under_way[id(frame.f_locals["event"].place)][1]))


def walks_within(paths: list[str]) -> tuple[list[set[str]], list[set[str]]]:
    """Walks of the verdicts and of the events in an analysis of these paths."""
    from models.kafka.groups.ranking_schedule import RankingSchedule
    from models.kafka.reconstruction.classic_log import ClassicReplay
    from models.kafka.reconstruction.epochs.log import ModernReplay
    from pipelines.analysis.in_process import AnalyzeOptions, analyze

    verdicts = VerdictWalks(frozenset({id(RankingSchedule.rank_next.__code__), id(RankingSchedule.rank_epoch.__code__)}))
    events = EventWalks(frozenset({id(ClassicReplay.feed.__code__), id(ModernReplay.feed.__code__)}))

    def see(frame: FrameType, kind: str, value: object) -> None:
        verdicts.see(frame, kind, value)
        events.see(frame, kind, value)

    before = sys.getprofile()
    sys.setprofile(see)
    try:
        analyze(paths, AnalyzeOptions(processes=1))
    finally:
        sys.setprofile(before)
    return verdicts.walks, events.walks


def note_options(folder: str) -> None:
    """Write from now on which files this process's options enter, each as soon as it is entered."""
    tracer, seen = Tracer(is_option), set[str]()

    def see(frame: FrameType, kind: str, value: object) -> None:
        if not tracer.things(frame, kind, value):
            return
        file = tracer.file_of(frame)
        if file not in seen:
            seen.add(file)
            with (Path(folder) / str(os.getpid())).open("a", encoding="utf-8") as out:
                out.write(f"{file}\n")

    threading.setprofile(see)
    sys.setprofile(see)


def options_walk(*arguments: str) -> set[str]:
    """Files that the options of one command enter."""
    with tempfile.TemporaryDirectory() as folder:
        walked, first = Path(folder) / "walked", Path(folder) / "first"
        walked.mkdir()
        first.mkdir()
        (first / "sitecustomize.py").write_text(_STARTED, encoding="utf-8")
        paths = os.pathsep.join([str(first), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        command = [sys.executable, "-P", "-m", "groupscope", *(each.format(folder=folder) for each in arguments)]
        environment = os.environ | {"PYTHONPATH": paths, FOLDER_VARIABLE: str(walked)}
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stderr}")
        return {line for path in walked.iterdir() for line in path.read_text(encoding="utf-8").splitlines()}


def analyze_walk() -> set[str]:
    """Files that the options of `groupscope analyze` enter."""
    return options_walk("analyze", *COMMAND_SAMPLES, "--json")


def run_walk() -> set[str]:
    """Files that the options of `groupscope run` enter, in Spark's workers, too."""
    inputs = [each for path in COMMAND_SAMPLES for each in ("--input", path)]
    return options_walk("run", *inputs, "--warehouse", "{folder}/warehouse", "--quiet")


def main(arguments: list[str] | None = None) -> int:
    """Print the walks with their files; return 1 if one is too long."""
    parser = argparse.ArgumentParser(description="Count the files that one thing enters.")
    parser.add_argument("--run", action="store_true", help="trace `groupscope run`, too: some minutes")
    asked = parser.parse_args(arguments)
    verdicts, events = walks_within([SAMPLES])
    found = {"verdict": max(verdicts, key=len), "event": max(events, key=len), "options of analyze": analyze_walk()}
    if asked.run:
        found["options of run"] = run_walk()
    for name, files in found.items():
        print(f"{name}: {len(files)} files, at most {LONGEST[name]}")
        print("".join(f"  {file}\n" for file in sorted(files)), end="")
    return int(any(len(files) > LONGEST[name] for name, files in found.items()))


if __name__ == "__main__":
    sys.exit(main())
