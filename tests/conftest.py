"""What tests of several parts share: where samples and corpora are, and how the command is run."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

# pyspark ends a process whose main module has no file, since it takes it for a run of its doctests; xdist's workers have none.
if not hasattr(sys.modules["__main__"], "__file__"):
    sys.modules["__main__"].__file__ = pytest.__file__

# The same examples each time, so that what passed once passes on any machine; HYPOTHESIS_PROFILE=default draws new ones.
settings.register_profile("steady", derandomize=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))

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


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--rewrite", action="store_true", help="write golden files anew; read the difference before you keep it")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The files that take longest come first, so that tests side by side end together."""
    items.sort(key=lambda item: next((at for at, name in enumerate(LONGEST) if name in item.nodeid), len(LONGEST)))


LONGEST = ("jobs/test_run.py", "test_same_rows.py", "page/test_browser.py", "test_metamorphic.py")


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def samples() -> Path:
    """The sample logs that belong to the repository."""
    return ROOT / "data_samples"


@pytest.fixture(scope="session")
def sample_options(samples: Path) -> list[str]:
    """Which cluster and zone each sample has, as options of the command line."""
    return ["--settings", str(samples / "settings.toml")]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of labelled corpora and recordings that stands beside the checkout; tests that need it skip without it."""
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
    """Runs the command in a process of its own, as a user does."""

    def run(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
        command = [str(Path(sys.executable).with_name("groupscope")), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False, **options)

    return run


@pytest.fixture(scope="session")
def analysis_of_samples(
    groupscope: Callable[..., subprocess.CompletedProcess[str]], samples: Path, sample_options: list[str]
) -> dict[str, Any]:
    """`analyze --json` on all samples, run once."""
    done = groupscope("analyze", samples, *sample_options, "--json")
    assert done.returncode == 0, done.stderr
    result: dict[str, Any] = json.loads(done.stdout)
    return result
