"""Which tests reach which lines of a package, and how long they take."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import sys
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from tests.conftest import ROOT

SLOWER_MAX = 10
"""A mutant that takes so many times what all tests take never ends."""
SECONDS_MIN = 60


@dataclass(frozen=True, slots=True)
class Reach:
    """What a run of unchanged code shows."""

    lines: dict[str, dict[int, list[str]]]
    """Tests by line, by file; a file of tests where it prepares them."""
    seconds: dict[str, float]
    """Processor time of each test, and of each file of tests."""
    imported: list[str]
    """Modules in the order of their imports."""

    def tests(self, path: Path, lines: Sequence[int]) -> list[str]:
        """Tests that reach one of these lines, the fastest first."""
        known = self.lines.get(str(path), {})
        reached = {test for line in lines for test in known.get(line, ())}
        found = {test for test in reached if test.partition("::")[0] == test or test.partition("::")[0] not in reached}
        return sorted(found, key=lambda test: (self.seconds.get(test, 0.0), test))

    @property
    def seconds_max(self) -> int:
        """Processor time after which a run is endless."""
        return max(SECONDS_MIN, int(SLOWER_MAX * sum(taken for test, taken in self.seconds.items() if "::" in test)))


def unchanged(package: Path, tests: Sequence[str]) -> Reach | None:
    """Run tests in a process of their own; None if one fails."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    process = context.Process(target=_follow, args=(package, list(tests), there))
    process.start()
    there.close()
    reach: Reach | None = here.recv()
    process.join()
    return reach


def _follow(package: Path, tests: list[str], answer: Connection) -> None:
    import coverage

    measured = coverage.Coverage(data_file=None, source=[str(package)], config_file=False)
    watch = _Watch(measured)
    measured.start()
    code = run_tests(tests, watch)
    measured.stop()
    data = measured.get_data()
    lines = {path: data.contexts_by_lineno(path) for path in data.measured_files()}
    reached = {path: {line: [test for test in known if test] for line, known in each.items()} for path, each in lines.items()}
    answer.send(None if code else Reach(reached, dict(watch.seconds), list(sys.modules)))
    answer.close()
    os._exit(0)


class _Watch:
    """Names the test that runs, and takes its time."""

    def __init__(self, measured: object) -> None:
        self._measured = measured
        self.seconds: defaultdict[str, float] = defaultdict(float)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> object:
        """Take the time of a test, with what is prepared for it."""
        began = time.process_time()
        try:
            return (yield)
        finally:
            taken = time.process_time() - began
            self.seconds[item.nodeid] += taken
            self.seconds[_file(item)] += taken

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        """Note what is prepared as done by the file: later tests may share it."""
        self._measured.switch_context(_file(item))  # type: ignore[attr-defined]

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> None:
        """Note what happens as done by the test."""
        self._measured.switch_context(item.nodeid)  # type: ignore[attr-defined]


def _file(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def run_tests(tests: Sequence[str], *plugins: object) -> int:
    """Run tests in this process and return pytest's exit code."""
    os.chdir(ROOT)
    with Path(os.devnull).open("w") as nothing, contextlib.redirect_stdout(nothing), contextlib.redirect_stderr(nothing):
        options = ["-q", "-x", "-n0", "-p", "no:cacheprovider", "-p", "no:randomly"]
        return int(pytest.main([*options, *tests], plugins=list(plugins)))
