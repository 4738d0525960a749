"""The base works without the extras, and says which extra a command needs."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from dashboards.page import page
from hatch_build import KEPT_PLOTLY, keep_plotly
from pipelines.extras import EXTRAS, NEEDED_BY
from tests.conftest import spread
from tests.packaging.without import Blocked

ROOT = Path(__file__).resolve().parents[2]
WITHOUT = "tests.packaging.without"
ALL = ",".join([*(module for pairs in EXTRAS.values() for module in pairs.values()), "scipy", "zstandard", "apprise"])
POLL_TIMEOUT = "data_samples/kafka/1.1.1/poll-timeout"

BASE = {
    "analyze": ["analyze", POLL_TIMEOUT],
    "analyze as JSON": ["analyze", POLL_TIMEOUT, "--json"],
    "analyze zstd": ["analyze", "{folder}/server.log.zst"],
    "explain": ["explain", "shipping-e/2", POLL_TIMEOUT, "--proof"],
    "state": ["state", "shipping-e", "--at", "09:08:50", POLL_TIMEOUT],
    "report": ["report", POLL_TIMEOUT, "--out", "{folder}/report.html"],
    "what if": ["whatif", POLL_TIMEOUT, "--session-timeout", "45s"],
    "advise": ["advise", POLL_TIMEOUT],
    "events": ["events", POLL_TIMEOUT],
    "compare": ["compare", POLL_TIMEOUT, "--at", "2026-11-21T09:08:50"],
    "simulate": ["simulate", "rolling_restart", "--out", "{folder}/made"],
    "ownership": ["ownership", "data_samples/rocketmq/4.9.7/frozen-consumer"],
    "schema": ["schema"],
    "doctor": ["doctor"],
}
LARGER = {
    "run": (["run", "--input", POLL_TIMEOUT, "--warehouse", "{folder}/w"], "pyspark, great-expectations", "spark"),
    "maintain": (["maintain", "--warehouse", "{warehouse}"], "pyspark, great-expectations", "spark"),
    "warehouse": (["rebalances", "--warehouse", "{warehouse}"], "deltalake", "warehouse"),
    "redact": (["analyze", POLL_TIMEOUT, "--redact", "hosts,groups"], "cryptography", "redact"),
    "sql": (["sql", "select 1", POLL_TIMEOUT], "duckdb", "sql"),
}


def run_without(modules: str, arguments: list[str], **places: Path) -> subprocess.CompletedProcess[str]:
    """Run a command without these modules."""
    given = [argument.format(**places) for argument in arguments]
    environment = {**os.environ, "GROUPSCOPE_REDACT_KEY": "5f" * 32}
    command = [sys.executable, "-m", WITHOUT, modules, *given]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=environment)


@pytest.mark.parametrize("case", spread(BASE, 2))
def test_the_base_needs_no_extra(case: str, tmp_path: Path) -> None:
    from zstandard import compress

    content = (ROOT / POLL_TIMEOUT / "broker-1" / "server.log").read_bytes()
    (tmp_path / "server.log.zst").write_bytes(compress(content))
    done = run_without(ALL, BASE[case], folder=tmp_path)

    assert done.returncode == 0, done.stderr
    assert "not installed" not in done.stdout + done.stderr or case == "doctor"
    assert "ModuleNotFoundError" not in done.stdout + done.stderr


@pytest.mark.parametrize("case", LARGER)
def test_a_missing_extra_is_named(case: str, tmp_path: Path, sample_warehouse: Path) -> None:
    arguments, absent, extra = LARGER[case]
    done = run_without(ALL, arguments, folder=tmp_path, warehouse=sample_warehouse)

    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert done.stderr.startswith(f"error: {absent}")
    assert f"pip install 'groupscope[{extra}]'" in done.stderr
    assert done.stderr.count("\n") == 1


def test_pandas_is_asked_for_by_name() -> None:
    script = (
        "from tests.packaging.without import block; block(['pandas'])\n"
        f"import groupscope; found = groupscope.analyze({POLL_TIMEOUT!r}); found._repr_html_(); found.to_arrow('rebalances')\n"
        "found.to_pandas('rebalances')"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)

    assert "pip install 'groupscope[pandas]'" in done.stderr.splitlines()[-1]


def test_reports_need_no_plotly_once_it_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editable install without `dev` keeps the script as it builds."""
    keep_plotly(tmp_path)
    monkeypatch.setattr(page, "KEPT_PLOTLY", tmp_path / KEPT_PLOTLY)
    page.plotly_source.cache_clear()
    whole = page.plotly_source()
    monkeypatch.setattr(sys, "meta_path", [Blocked(["plotly"]), *sys.meta_path])
    monkeypatch.delitem(sys.modules, "plotly", raising=False)
    page.plotly_source.cache_clear()
    kept = page.plotly_source()
    assert (kept.text, kept.hash) == (whole.text, whole.hash)
    (tmp_path / KEPT_PLOTLY).unlink()
    page.plotly_source.cache_clear()
    with pytest.raises(page.MissingScript, match="pip install plotly"):
        page.plotly_source()


def test_extras_are_those_of_the_project() -> None:
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    named = {extra: {re.split(r"[\[<>=!]", each)[0] for each in declared[extra]} - {"groupscope"} for extra in EXTRAS}

    assert named == {extra: set(pairs) for extra, pairs in EXTRAS.items()}
    assert NEEDED_BY.keys() == EXTRAS.keys()
