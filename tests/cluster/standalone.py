"""A standalone Spark cluster from pyspark's own jars: one master, two workers.

The job runs on it as in the manual. No node has a checkout: driver and executors use the wheel's packages from the
archived environment.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tarfile
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pyspark

from pipelines.spark.session import DELTA_CATALOG, DELTA_EXTENSION, delta_settings
from tests.conftest import ROOT
from tests.servers import end

SPARK = Path(pyspark.__file__).parent
WAIT_SECONDS = 180.0
EXECUTOR, READER = "org.apache.spark.executor.CoarseGrainedExecutorBackend", "pyspark.daemon"
# Five JVMs share few processors, so only a quick start matters.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_OURS = ("PYTHONPATH", "VIRTUAL_ENV", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON")
PYTHON = "./environment/bin/python"


@dataclass(slots=True)
class Cluster:
    """Address of the master, and the processes of the cluster."""

    master: str
    folder: Path
    processes: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def reading(self) -> list[int]:
        """Executors that have started to run Python."""
        parents, commands = _processes()
        workers = {process.pid for process in self.processes}
        executors = {pid for pid, parent in parents.items() if parent in workers and EXECUTOR in commands[pid]}
        return sorted({parents[pid] for pid in parents if READER in commands[pid]} & executors)


def _processes() -> tuple[dict[int, int], dict[int, str]]:
    """Parent and command line of every process."""
    parents, commands = {}, {}
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, IndexError, ValueError):
            parents[int(entry.name)] = int((entry / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[1])
            commands[int(entry.name)] = (entry / "cmdline").read_text(encoding="utf-8", errors="replace")
    return parents, {pid: commands.get(pid, "") for pid in parents}


@contextlib.contextmanager
def cluster(folder: Path, workers: int = 2) -> Iterator[Cluster]:
    """Start a cluster, and stop it in any case."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Cluster("", folder)
    try:
        master = _start(made, "master", "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
        made.master = _said(master, r"Starting Spark master at (spark://\S+)")
        started = [
            _start(
                made, f"worker-{number}", "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1", "--webui-port", "0",
                "--cores", "1", "--memory", "1g", "--work-dir", str(folder / f"work-{number}"), made.master,
            )
            for number in range(workers)
        ]  # fmt: skip
        for log in started:
            _said(log, "Successfully registered with master")
        yield made
    finally:
        end(reversed(made.processes))


def _start(made: Cluster, name: str, main: str, *arguments: str) -> Path:
    """Start a daemon with a clean environment in a folder; return its log."""
    log = made.folder / f"{name}.log"
    place = made.folder / name
    place.mkdir()
    command = [str(SPARK / "bin" / "spark-class"), main, *arguments]
    with log.open("wb") as out:
        made.processes.append(subprocess.Popen(command, cwd=place, env=_environment(), stdout=out, stderr=subprocess.STDOUT))
    return log


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _OURS}
    return kept | {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_DAEMON_MEMORY": "256m", "JAVA_TOOL_OPTIONS": QUICK}


def _said(log: Path, pattern: str) -> str:
    """Wait for a message of a daemon; return its first group, or all."""
    until = time.monotonic() + WAIT_SECONDS
    while time.monotonic() < until:
        found = re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))
        if found:
            return found[found.lastindex or 0]
        time.sleep(0.1)
    raise TimeoutError(f"{log.name} never said {pattern}: {log.read_text(encoding='utf-8', errors='replace')[-2000:]}")


def pack_environment(folder: Path) -> Path:
    """An archived environment with the wheel installed, as made by `venv-pack`.

    Its other packages are those of this interpreter, referenced by path, because packing a gigabyte of them would prove
    nothing more.
    """
    command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    made = folder / "environment"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(made)], check=True, capture_output=True)
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    libraries = made / "lib" / version / "site-packages"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(libraries)  # noqa: S202 - built a moment ago
    # Path files in that folder are not followed, so an editable install is invisible.
    (libraries / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    packed = folder / "environment.tar.gz"
    with tarfile.open(packed, "w:gz", compresslevel=1) as archive:
        archive.add(made, arcname=".")
    return packed


def submit(made: Cluster, environment: Path, place: Path, *options: str) -> subprocess.Popen[str]:
    """Submit the job with spark-submit from `place`, as in the manual."""
    shutil.copy(ROOT / "docs" / "examples" / "job.py", place)
    with tarfile.open(environment) as archive:
        archive.extractall(place / "environment", filter="fully_trusted")  # noqa: S202 - packed a moment ago
    conf = {
        "spark.pyspark.python": PYTHON,
        "spark.pyspark.driver.python": PYTHON,
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "768m",
        "spark.log.level": "ERROR",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.codegen.wholeStage": "false",
        "spark.databricks.delta.snapshotPartitions": "1",
        "spark.ui.enabled": "false",
        "spark.sql.extensions": DELTA_EXTENSION,
        "spark.sql.catalog.spark_catalog": DELTA_CATALOG,
        **delta_settings({}, SPARK),
    }
    command = [str(SPARK / "bin" / "spark-submit"), "--master", made.master, "--archives", f"{environment}#environment"]
    command += [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
    return subprocess.Popen(
        [*command, "job.py", *options], cwd=place, env=_environment(), text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def kill_executor(made: Cluster, process: subprocess.Popen[str], pause_seconds: float = 0.0) -> int | None:
    """Kill an executor of a running job some time after it started; return its id.

    None if the job ended before.
    """
    while process.poll() is None:
        for executor in made.reading():
            time.sleep(pause_seconds)
            if process.poll() is not None:
                return None
            with contextlib.suppress(ProcessLookupError):  # Spark may have ended it
                os.kill(executor, signal.SIGKILL)
                return executor
        time.sleep(0.05)
    raise RuntimeError(f"the job ended before it had an executor: {process.communicate()[1][-4000:]}")
