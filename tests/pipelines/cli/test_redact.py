"""`--redact` on the command line: where the key comes from, and that answers hold no name."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]
ALL = "hosts,client_ids,groups,topics,users"
KEY = "a key of sixteen bytes"


@pytest.fixture
def logs(samples: Path) -> Path:
    return samples / "kafka" / "1.1.1" / "poll-timeout"


@pytest.mark.parametrize(
    ("options", "variables", "said"),
    [
        (["--redact", ALL], {}, "GROUPSCOPE_REDACT_KEY"),
        (["--redact", "names"], {"GROUPSCOPE_REDACT_KEY": KEY}, "known are hosts, client_ids"),
        (["--redact", ALL], {"GROUPSCOPE_REDACT_KEY": "short"}, "at least 16 bytes"),
        (["--redact", ALL, "--redact-key", "none.key"], {}, "none.key: the key of --redact can't be read"),
    ],
)
def test_what_lacks_is_said(groupscope: Run, logs: Path, options: list[str], variables: dict[str, str], said: str) -> None:
    done = groupscope("analyze", logs, *options, env={**os.environ, **variables})
    assert done.returncode == 2
    assert said in done.stderr


def test_a_page_and_an_answer_hold_no_name_and_groups_are_asked_for_by_theirs(groupscope: Run, logs: Path, tmp_path: Path) -> None:
    key, page = tmp_path / "redact.key", tmp_path / "out.html"
    key.write_text(KEY + "\n")
    options = ["--redact", ALL, "--redact-key", key]
    done = groupscope("analyze", logs, *options, "--group", "shipping-e", "--json", "--report", page)

    assert done.returncode == 0
    assert len(json.loads(done.stdout)["rebalances"]) == 4
    for text in (done.stdout, done.stderr.replace(str(page), ""), page.read_text(encoding="utf-8")):
        assert not [name for name in ("shipping", "127.0.0.1", "poll-timeout/broker-1") if name in text]


def test_a_warehouse_is_told_as_it_is(groupscope: Run, tmp_path: Path) -> None:
    done = groupscope("rebalances", "--warehouse", tmp_path, "--redact", ALL, env={**os.environ, "GROUPSCOPE_REDACT_KEY": KEY})
    assert done.returncode == 2
    assert "--redact is for logs" in done.stderr


def test_events_of_the_log_hide_names_in_errors(groupscope: Run, tmp_path: Path) -> None:
    """Who ships them is to ship no names, those of files beside the one that is missing among them."""
    (tmp_path / "logs_kafka7.acme.corp").mkdir()
    asked = tmp_path / "log_kafka7.acme.corp"
    done = groupscope(
        "run",
        "--input",
        asked,
        "--warehouse",
        tmp_path / "w",
        "--redact",
        ALL,
        "--log-json",
        env={**os.environ, "GROUPSCOPE_REDACT_KEY": KEY},
    )
    assert done.returncode == 3
    assert "acme" not in done.stderr
    assert [json.loads(line)["event"] for line in done.stderr.splitlines()] == ["run failed", "error"]


def test_all_makes_a_key_of_its_own(groupscope: Run, logs: Path) -> None:
    """Nobody keeps that key: two runs have other pseudonyms. With a key, `all` is the five kinds."""
    first, second = (groupscope("analyze", logs, "--redact", "all") for _ in range(2))
    assert (first.returncode, second.returncode) == (0, 0)
    assert "made for this run" in first.stderr
    assert "shipping" not in first.stdout + first.stderr
    assert first.stdout != second.stdout
    keyed = {**os.environ, "GROUPSCOPE_REDACT_KEY": KEY}
    told = [groupscope("analyze", logs, "--redact", kinds, env=keyed).stdout for kinds in ("all", ALL)]
    assert told[0] == told[1]


def test_a_warehouse_needs_a_key_that_lasts(groupscope: Run, logs: Path, tmp_path: Path) -> None:
    done = groupscope("run", "--input", logs, "--warehouse", tmp_path / "tables", "--redact", "all")
    assert done.returncode == 2
    assert "GROUPSCOPE_REDACT_KEY" in done.stderr
