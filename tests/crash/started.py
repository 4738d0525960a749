"""Ways to start a run that tests kill: with a JVM of its own, or as a client of one server of Spark Connect.

Both are processes of their own, and killed by SIGKILL. A client dies alone: what the server is doing for it at that moment goes
on, which is nastier than a JVM that dies too. And a client starts at once, where a JVM takes as long as the run itself.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Protocol

from tests.conftest import ROOT
from tests.crash import driver
from tests.pipelines.site import Site

SAID = "said.txt"


class Run(Protocol):
    """A run under way."""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it has ended, or so long; whether it has."""

    def kill(self) -> None:
        """SIGKILL."""

    def ended(self) -> tuple[int, str]:
        """Wait until it has ended: its exit code, negative where a signal ended it, and what it said of errors."""


class Starter(Protocol):
    """Begins a run in a process of its own."""

    def __call__(self, site: Site, environment: Mapping[str, str]) -> Run: ...


class _Alone:
    def __init__(self, site: Site, environment: Mapping[str, str]) -> None:
        self._said = site.place / f"{os.urandom(4).hex()}-{SAID}"
        paths = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.crash.driver"],
                cwd=site.place,
                env=os.environ | {"PYTHONPATH": paths} | environment,
                stdout=subprocess.DEVNULL,
                stderr=said,
            )

    def wait(self, seconds: float | None = None) -> bool:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(seconds)
        return self._process.returncode is not None

    def kill(self) -> None:
        self._process.kill()

    def ended(self) -> tuple[int, str]:
        return self._process.wait(), self._said.read_text(encoding="utf-8", errors="replace")


def alone(site: Site, environment: Mapping[str, str]) -> Run:
    """A run with an interpreter and a JVM of its own."""
    return _Alone(site, environment)


class _Client:
    def __init__(self, process: ForkServerProcess, said: Path) -> None:
        self._process, self._said = process, said

    def wait(self, seconds: float | None = None) -> bool:
        self._process.join(seconds)
        return self._process.exitcode is not None

    def kill(self) -> None:
        self._process.kill()

    def ended(self) -> tuple[int, str]:
        self._process.join()
        return int(self._process.exitcode or 0), self._said.read_text(encoding="utf-8", errors="replace")


@contextlib.contextmanager
def clients(folder: Path) -> Iterator[Starter]:
    """Runs that are forked from a process that has imported everything, and work through one server."""
    from tests.pipelines.remote import connect_server

    place = folder / "server"
    place.mkdir(parents=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.imported"])
    with connect_server(place, _SERVER) as address:
        os.environ["SPARK_REMOTE"] = address  # read by those that are forked, and by what they import

        def start(site: Site, environment: Mapping[str, str]) -> Run:
            said = site.place / f"{os.urandom(4).hex()}-{SAID}"
            said.touch()
            process = context.Process(target=_work, args=(str(site.place), str(said), dict(environment)))
            process.start()
            return _Client(process, said)

        try:
            yield start
        finally:
            del os.environ["SPARK_REMOTE"]


# Sessions of clients that were killed end by themselves, and take their state with them.
_SERVER = {
    "spark.driver.memory": "2g",
    "spark.connect.session.manager.defaultSessionTimeout": "3m",
    "spark.connect.execute.manager.detachedTimeout": "1m",
    "spark.network.timeout": "1h",  # a machine may be paused for longer than executors may be silent by default
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",  # it lives long enough to be optimised
    "spark.databricks.delta.delta.log.cacheSize": "64",  # each case has tables of its own, and Delta holds on to 10,000 for an hour
}


def _work(place: str, said: str, environment: Mapping[str, str]) -> None:
    """One run, in the process that was forked for it."""
    with Path(said).open("ab") as told:
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
    os.chdir(place)
    os.environ.update(environment)
    sys.exit(driver.main())
