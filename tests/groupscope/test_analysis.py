"""The public face: `import groupscope` in a notebook or a program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import groupscope
from models.rows import Rebalance
from pipelines.errors import NothingReadable, UsageError

SAMPLE = "kafka/1.1.1/poll-timeout"


@pytest.fixture(scope="module")
def analysis(samples: Path) -> groupscope.Analysis:
    return groupscope.analyze(samples / SAMPLE)


def test_rows_are_typed(analysis: groupscope.Analysis) -> None:
    assert {type(row) for row in analysis.rebalances} == {Rebalance}
    assert all(row.evidence for row in analysis.rebalances)
    assert len(analysis.log_files) > 0


@pytest.mark.parametrize("name", groupscope.TABLES)
def test_each_table_is_had_as_dicts_arrow_and_pandas(name: str, analysis: groupscope.Analysis) -> None:
    dicts, table, frame = analysis.to_dicts(name), analysis.to_arrow(name), analysis.to_pandas(name)

    assert len(dicts) == table.num_rows == len(frame)
    assert "run_id" not in table.column_names
    assert list(frame.columns) == table.column_names
    if dicts:
        assert set(table.column_names) <= dicts[0].keys()


def test_the_rows_are_those_of_the_command(analysis: groupscope.Analysis, samples: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "groupscope", "rebalances", str(samples / SAMPLE), "--jsonl"], capture_output=True, text=True, check=True
    )

    assert len(done.stdout.splitlines()) == len(analysis.rebalances)
    assert all(row.cause in done.stdout for row in analysis.rebalances)


def test_rules_go_by_glob_and_assumptions_by_name(samples: Path) -> None:
    plain, shifted = groupscope.analyze(samples / SAMPLE), groupscope.analyze(samples / SAMPLE, log_tz={"*": "Asia/Shanghai"})

    assert plain.rebalances[0].began - shifted.rebalances[0].began == 8 * 3600 * 1_000_000
    assert groupscope.analyze([samples / SAMPLE], assume={"session_timeout_ms": 10_000}).rebalances
    with pytest.raises(UsageError, match="can't be assumed"):
        groupscope.analyze(samples / SAMPLE, assume={"sesion_timeout_ms": 1})
    with pytest.raises(NothingReadable):
        groupscope.analyze("no such file")


def test_the_report_is_one_page(analysis: groupscope.Analysis, tmp_path: Path) -> None:
    page = analysis.report(tmp_path / "page.html", title="Poll <timeout>")

    assert page == (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "<timeout>" not in page
    assert "Poll &lt;timeout&gt;" in page


def test_a_notebook_shows_a_table(analysis: groupscope.Analysis) -> None:
    shown = analysis._repr_html_()

    assert shown.count("<tr>") == len(analysis.rebalances) + 1
    assert f"{len(analysis.rebalances)} rebalances" in repr(analysis)
