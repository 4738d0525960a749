"""What recordings don't exercise: loading and unloading, writes that fail or take their time, transactions, older policies."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from group_script import check, read

SCRIPTS = sorted((Path(__file__).parent.parent / "scenarios" / "coordinator").glob("*.txt"))


@pytest.mark.parametrize(
    ("path", "version"), [pytest.param(path, version, id=f"{path.stem}-{version}") for path in SCRIPTS for version in read(path).versions]
)
def test_scenario(path: Path, version: str) -> None:
    check(path, version)
