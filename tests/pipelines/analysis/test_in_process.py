"""What an analysis leaves behind in the process that asks for it."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze


@pytest.fixture
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.usefixtures("thresholds")
@pytest.mark.parametrize("mine", [(700, 10, 10), (0, 10, 10), (90_000, 5, 5)])
def test_the_collector_is_as_it_was(mine: tuple[int, int, int], tmp_path: Path) -> None:
    (tmp_path / "broker.log").write_text("2023-11-15 06:13:20 INFO main - The broker[a, 10.0.0.1:10911] boot success. serializeType=JSON\n")
    gc.set_threshold(*mine)
    met: list[tuple[int, int, int]] = []
    analyze([str(tmp_path)], progress=lambda *_: met.append(gc.get_threshold()))

    assert gc.get_threshold() == mine
    assert met
    assert all((threshold == 0) == (mine[0] == 0) and threshold >= mine[0] for threshold, *_ in met)
