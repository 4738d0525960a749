"""All rows of the samples, as they were when they were last looked at: what moves code about loses none.

Events are kept by file and message as a count and a digest: with their texts they would be 2.7 MB, of which the samples
hold each byte, and every row of the other tables rests on them. `--rewrite` writes rows down as they are now; read the
difference before you keep it. The rows that the job stores are held to the same files by `test_same_rows`.
"""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from conf.settings import load_settings
from pipelines.cli.arguments.option_parsing import ReadArguments, analyze_options
from tests import golden_rows
from tests.compare_paths import Rows
from tests.golden_rows import KEPT, ONLY_THE_JOB

SHOWN = 8
LIMIT_BYTES = 3_000_000


@pytest.fixture(scope="module")
def rows(root: Path) -> Rows:
    # From the root, so that rows name files as they are in the repository.
    with contextlib.chdir(root):
        options = analyze_options(load_settings("data_samples/settings.toml", environment={}), ReadArguments())
        return golden_rows.of_analysis(["data_samples"], options)


@pytest.mark.parametrize("table", sorted(set(KEPT) - ONLY_THE_JOB))
def test_the_rows_are_those_of_before(table: str, rows: Rows, request: pytest.FixtureRequest) -> None:
    if request.config.getoption("--rewrite"):
        golden_rows.write(table, rows[table])
    found = list(golden_rows.differences(table, golden_rows.written(table), rows[table]))

    assert not found, "\n".join([f"{len(found)} differences", *found[:SHOWN]])


def test_each_table_is_written_down_and_names_no_machine(root: Path) -> None:
    files = {path.stem: path.read_text(encoding="utf-8") for path in golden_rows.GOLDEN.iterdir()}

    assert set(files) == set(KEPT)
    assert [table for table, text in files.items() if str(root) in text] == []
    assert sum(len(text.encode()) for text in files.values()) < LIMIT_BYTES


GOLDEN: list[dict[str, Any]] = [
    {"broker_id": "b1", "node": "1", "running": True},
    {"broker_id": "b2", "node": "2", "running": True},
]
CHANGES = {
    "lost": (GOLDEN[:1], 'brokers ["b2"]: gone; golden'),
    "new": ([*GOLDEN, {"broker_id": "b3", "node": "3", "running": True}], 'brokers ["b3"]: new; found'),
    "changed": ([GOLDEN[0], {**GOLDEN[1], "running": False}], 'brokers ["b2"] running: golden true, found false'),
    "twice": ([*GOLDEN, GOLDEN[1]], 'brokers ["b2"]+: new; found'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_difference_is_told_by_table_key_and_column(change: str) -> None:
    found, told = CHANGES[change]
    [line] = golden_rows.differences("brokers", GOLDEN, found)

    assert line.startswith(told)
