"""The command in this process, and a warehouse without Spark."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.cli.main import main
from tests.dashboards import made
from tests.golden_rows import events_of
from tests.pipelines.cli import warehouses

Cli = Callable[..., "Done"]
ROOT = Path(__file__).resolve().parents[3]
POLL_TIMEOUT = "data_samples/kafka/1.1.1/poll-timeout"


@dataclass(frozen=True)
class Done:
    """Results of a command."""

    code: int
    out: str
    err: str


@pytest.fixture
def cli(monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Run a command like the console script, in the checkout.

    `columns` is the width of the terminal.
    """
    monkeypatch.chdir(ROOT)
    for name in [name for name in os.environ if name.startswith("GROUPSCOPE_")] + ["NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"]:
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: object, columns: int = 120, encoding: str = "utf-8") -> Done:
        monkeypatch.setenv("COLUMNS", str(columns))
        streams = [io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace") for _ in range(2)]
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", streams[0])
            patch.setattr(sys, "stderr", streams[1])
            code = main([str(argument) for argument in arguments])
        out, err = (_written(stream) for stream in streams)
        return Done(code, out, err)

    return run


def _written(stream: io.TextIOWrapper) -> str:
    stream.flush()
    data: Any = stream.buffer
    return data.getvalue().decode(stream.encoding)


@pytest.fixture(scope="session")
def story_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small story as tables, so that screens depend on nothing else."""
    return warehouses.store(made.small_story(), tmp_path_factory.mktemp("story") / "warehouse")


@pytest.fixture(scope="session")
def queue_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A story of RocketMQ queues as tables."""
    return warehouses.store(made.queue_story(), tmp_path_factory.mktemp("queues") / "warehouse")


@pytest.fixture(scope="session")
def sample_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One sample, analysed and written as tables."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(ROOT)
        found, options = analyze([POLL_TIMEOUT]), AnalyzeOptions()
        return warehouses.store(found, tmp_path_factory.mktemp("sample") / "warehouse", events_of([POLL_TIMEOUT], options, found))


@pytest.fixture(scope="session")
def hostile_warehouse(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every payload in every field filled from logs, one group each."""
    return warehouses.store(warehouses.hostile_story(), tmp_path_factory.mktemp("hostile") / "warehouse")
