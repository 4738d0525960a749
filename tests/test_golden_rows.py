"""All rows of the samples, as they were when they were last looked at: what moves code about loses none.

`--rewrite` writes them down as they are now; read the difference before you keep it. The job's rows are held to those of
`analyze` by `test_same_rows`.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pipelines.schema.tables import CONTRACT
from tests.compare_paths import COMPARED, by_key, differing
from tests.conftest import ROOT

GOLDEN = ROOT / "tests" / "golden" / "rows"
OF_THIS_VERSION = {"options_id"}
"""Columns that tell of the code itself."""
SHOWN = 5


@pytest.fixture(scope="module")
def rows(groupscope: Callable[..., subprocess.CompletedProcess[str]]) -> dict[str, list[dict[str, Any]]]:
    # From the root, so that rows name files as they are in the repository.
    done = groupscope("analyze", "data_samples", "--settings", "data_samples/settings.toml", "--json", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    tables = {COMPARED[key]: found[key] for key in CONTRACT} | {"log_files": found["inputs"]["log_files"]}
    return {
        table: [{name: value for name, value in row.items() if name not in OF_THIS_VERSION} for row in each]
        for table, each in tables.items()
    }


@pytest.mark.parametrize("table", COMPARED.values())
def test_the_rows_are_those_of_before(table: str, rows: dict[str, list[dict[str, Any]]], request: pytest.FixtureRequest) -> None:
    path = GOLDEN / f"{table}.jsonl"
    if request.config.getoption("--rewrite"):
        written(path, by_key(table, rows[table]))
    golden = by_key(table, [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()])
    found = by_key(table, rows[table])
    columns = [f"{key}: {column}" for key in sorted(golden.keys() & found.keys()) for column in differing(golden[key], found[key])]

    assert sorted(golden.keys() - found.keys())[:SHOWN] == []
    assert sorted(found.keys() - golden.keys())[:SHOWN] == []
    assert columns[:SHOWN] == []


def written(path: Path, rows: dict[str, dict[str, Any]]) -> None:
    """Write rows in the order of their keys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [json.dumps(rows[key], ensure_ascii=False, sort_keys=True) for key in sorted(rows)]
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
