"""Stories of groups, each with all that the models must say of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.models.kafka.groups.script import check

SCRIPTS = sorted((ROOT / "tests" / "scenarios").glob("*.txt"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.stem)
def test_scenario(path: Path, request: pytest.FixtureRequest) -> None:
    check(path, rewrite=request.config.getoption("--rewrite"))
