"""`groupscope simulate`: logs of a made-up cluster, and how its options are refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import Cli


def test_it_writes_logs_that_analyze_reads(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "made"
    done = cli("simulate", "crash", "--kafka-version", "2.8.2", "--members", "3", "--seed", "4", "--out", out, "--request-log")
    assert (done.code, done.err) == (0, "")
    assert done.out.endswith(f"rebalances in {out}\n")
    assert (out / "broker-1" / "kafka-request.log").exists()
    assert len(json.loads((out / "truth.json").read_bytes())["members"]) == 3
    analysed = json.loads(cli("analyze", out, "--log-tz", "UTC", "--json").out)
    assert [row["cause"] for row in analysed["rebalances"]][:2] == ["new_group", "session_timeout"]


def test_the_scenarios_are_listed(cli: Cli) -> None:
    done = cli("simulate", "--list")
    assert done.code == 0
    assert "rolling_restart " in done.out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ((), "--list"),
        (("crash",), "--out"),
        (("crash", "--out", "{new}", "--kafka-version", "seven"), "not a version"),
        (("crash", "--out", "{new}", "--kafka-version", "0.9.0"), "1.1"),
        (("crash", "--out", "{new}", "--duration", "soon"), "no duration"),
        (("nothing-known", "--out", "{new}"), "neither a file nor one of"),
        (("static_members", "--out", "{new}", "--kafka-version", "2.0"), "2.3"),
        (("crash", "--out", "{taken}"), "not empty"),
    ],
)
def test_what_can_not_be_is_refused(cli: Cli, tmp_path: Path, arguments: tuple[str, ...], told: str) -> None:
    (tmp_path / "taken").mkdir()
    (tmp_path / "taken" / "file").touch()
    places = {"new": str(tmp_path / "new"), "taken": str(tmp_path / "taken")}
    done = cli("simulate", *(argument.format(**places) for argument in arguments))
    assert (done.code, done.out) == (2, "")
    assert told in done.err


@pytest.mark.parametrize("arguments", [("crash", "--duration", "soon"), ("nothing-known",)])
def test_a_scenario_that_can_not_be_read_leaves_no_folder(cli: Cli, tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert cli("simulate", *arguments, "--out", tmp_path / "new").code == 2
    assert not (tmp_path / "new").exists()


def test_a_folder_that_can_not_be_made(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert cli("simulate", "crash", "--out", tmp_path / "file" / "made").code == 74
