"""What recordings don't exercise: loading and unloading, writes that fail or take their time, transactions, older policies."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.models.kafka.coordinator.group_script import check, read

SCRIPTS = sorted((ROOT / "tests" / "scenarios" / "coordinator").glob("*.txt"))


@pytest.mark.parametrize(
    ("path", "version"), [pytest.param(path, version, id=f"{path.stem}-{version}") for path in SCRIPTS for version in read(path).versions]
)
def test_scenario(path: Path, version: str) -> None:
    check(path, version)
