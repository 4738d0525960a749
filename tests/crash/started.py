"""Ways to start a run for killing: own JVM, or Spark Connect client.

Both are separate processes, killed by SIGKILL. A killed client leaves the server's work running, which is harder than a
JVM that dies too. And a client starts at once, whereas a JVM takes as long as the run itself.
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
    """A run in progress."""

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until it ends or for a time; return True if it has ended."""

    def kill(self) -> None:
        """Send SIGKILL."""

    def ended(self) -> tuple[int, str]:
        """Wait until it ends; return exit code and errors.

        The exit code is negative after a signal.
        """


class Starter(Protocol):
    """Starts a run in a process of its own."""

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
    """A run with its own interpreter and JVM."""
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
    """Runs forked from a process with all imports, using one server."""
    from tests.pipelines.remote import connect_server

    place = folder / "server"
    place.mkdir(parents=True)
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["tests.crash.imported"])
    with connect_server(place, _SERVER) as address:
        os.environ["SPARK_REMOTE"] = address  # read by forked processes, and by their imports

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


# Sessions of killed clients expire, and discard their state.
_SERVER = {
    "spark.driver.memory": "2g",
    "spark.connect.session.manager.defaultSessionTimeout": "3m",
    "spark.connect.execute.manager.detachedTimeout": "1m",
    "spark.network.timeout": "1h",  # a machine may be suspended for longer than the default timeout of executors
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC",  # it lives long enough to be optimised
    "spark.databricks.delta.delta.log.cacheSize": "64",  # each case has its own tables, and Delta caches 10,000 for an hour
}


def _work(place: str, said: str, environment: Mapping[str, str]) -> None:
    """One run, in the process forked for it."""
    with Path(said).open("ab") as told:
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
    os.chdir(place)
    os.environ.update(environment)
    sys.exit(driver.main())
