"""Shared fixtures: samples, corpora, and the command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import settings

# pyspark exits a process with a main module without a file, mistaking it for its doctests; xdist's workers have no
# file.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = pytest.__file__

# The same examples each time and no limit of time, so that results do not depend on the machine; HYPOTHESIS_PROFILE=default draws
# new ones.
settings.register_profile("steady", derandomize=True, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

T = TypeVar("T")

ROOT = Path(__file__).resolve().parent.parent
KAFKA_SAMPLES = (
    "1.1.1/poll-timeout",
    "1.1.1/request-log",
    "2.8.2/coordinator-failover",
    "2.8.2/rolling-restart",
    "3.9.1/frozen-process",
    "4.1.1/consumer-protocol",
    "4.1.1/slow-member",
)
"""Folders below `data_samples/kafka` with logs of groups."""
SHARED = ROOT.parent / "shared"
LONG = pytest.mark.skipif(not os.environ.get("GROUPSCOPE_CLUSTER"), reason="minutes of Spark: python -m tests.cluster")


def examples(count: int, of_long_runs: int) -> int:
    """Number of examples that a property is tried with: in CI, and by `python -m tests.cluster`."""
    return of_long_runs if os.environ.get("GROUPSCOPE_CLUSTER") else count


def spread(values: Iterable[T], every: int) -> list[T]:
    """One of `every` values in CI, and all of them by `python -m tests.cluster`."""
    return list(values)[:: 1 if os.environ.get("GROUPSCOPE_CLUSTER") else every]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write golden files anew; read the difference before you keep it")


def pytest_xdist_auto_num_workers() -> int:
    """Half as many again as cores, since tests of Spark and of commands wait more than they compute."""
    cores = os.cpu_count() or 1
    return cores + cores // 2


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the slowest files first, so that parallel tests end together."""
    items.sort(key=lambda item: next((at for at, name in enumerate(LONGEST) if name in item.nodeid), len(LONGEST)))


LONGEST = ("jobs/test_run.py", "test_same_rows.py", "page/test_browser.py", "test_metamorphic.py")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def samples() -> Path:
    """The sample logs in the repository."""
    return ROOT / "data_samples"


@pytest.fixture(scope="session")
def sample_options(samples: Path) -> list[str]:
    """Cluster and time zone of each sample, as command line options."""
    return ["--settings", str(samples / "settings.toml")]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder with labelled corpora and recordings beside the checkout.

    Tests that need it are skipped without it.
    """
    if not SHARED.is_dir():
        pytest.skip("the labelled corpora are not beside this checkout (../shared)")
    return SHARED


@pytest.fixture(scope="session")
def kafka_corpus(shared: Path) -> Path:
    """Scenario folders of real Kafka logs with their truth."""
    folder = shared / "corpora" / "kafka"
    if not folder.is_dir():
        pytest.skip("no Kafka corpus in ../shared/corpora")
    return folder


@pytest.fixture(scope="session")
def groupscope() -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run the command in a process of its own."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("groupscope")), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture(scope="session")
def analysis_of_samples(
    groupscope: Callable[..., subprocess.CompletedProcess[str]], samples: Path, sample_options: list[str]
) -> dict[str, Any]:
    """`analyze --json` of all samples, run once."""
    done = groupscope("analyze", samples, *sample_options, "--json")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result
