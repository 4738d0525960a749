"""`groupscope explain --proof`: what the coordinator's model wrote beside the log."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.cli.answers.group_state import read_lines
from pipelines.cli.answers.proof import prove
from tests.conftest import SHARED
from tests.pipelines.cli.conftest import ROOT, Cli

SAMPLES = ROOT / "data_samples/kafka"
ROLLING, OLD = SAMPLES / "2.8.2/rolling-restart", SAMPLES / "1.1.1/poll-timeout"


@pytest.fixture
def proven(cli: Cli) -> Any:
    schema = json.loads(cli("schema", "explain").out)
    Draft202012Validator.check_schema(schema)

    def ask(*arguments: object) -> Any:
        done = cli("explain", *arguments, "--proof", "--json", "--quiet")
        assert done.code == 0, done.err
        answer = json.loads(done.out)
        errors = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(answer)
        assert [f"{error.json_path}: {error.message[:200]}" for error in errors] == []
        return answer["proof"]

    return ask


@pytest.mark.parametrize(
    ("sample", "group"), [(ROLLING, "email-sender-h"), (OLD, "shipping-e"), (SAMPLES / "4.1.1/slow-member", "email-sender-j2")]
)
def test_every_cause_of_a_sample_fits_what_its_coordinator_wrote(cli: Cli, proven: Any, sample: Path, group: str) -> None:
    rows = json.loads(cli("explain", group, sample, "--json").out)["rebalances"]
    assert rows
    for row in rows:
        proof = proven(row["rebalance_id"], sample)
        assert proof["why_not"] is None
        assert (proof["missing_lines"], proof["unexplained_lines"]) == (0, 0)
        assert proof["causes"][0]["cause"] == row["cause"]
        assert proof["causes"][0]["ruling"] == "fits"
        assert proof["inputs"]
        assert all(-2 <= entry["difference_ms"] <= 1_000 for entry in proof["lines"])


def test_what_can_not_be_told_apart_says_so(proven: Any) -> None:
    """1.1 writes no leave: by will or for a late poll, the coordinator is asked the same."""
    left, late = proven("shipping-e/2", OLD)["causes"]
    assert {left["ruling"], late["ruling"]} == {"fits", "same_request"}
    assert [line["event"] for line in left["needed"]] == ["MemberLeft"]


def test_it_says_why_nothing_can_be_proven(proven: Any, story_warehouse: Path, cli: Cli) -> None:
    assert "consumer group" in proven("inventory-n1/2", SAMPLES / "4.1.1/consumer-protocol")["why_not"]
    answer = json.loads(cli("explain", "billing/1", "--warehouse", story_warehouse, "--proof", "--json").out)
    assert "no line of a coordinator" in answer["proof"]["why_not"]  # these tables hold no records
    alone = sorted(path for path in (SAMPLES / "1.1.1/request-log").rglob("kafka-request.log*"))
    group, generation = "inventory-x", 1
    assert "coordinator" in proven(f"{group}/{generation}", *alone)["why_not"]


def test_people_are_told_in_words(cli: Cli) -> None:
    told = cli("explain", "shipping-e/2", OLD, "--proof").out
    for part in ("Proof", "What it wrote, beside the log", "Causes", "asks the same of the coordinator", "server.log:43"):
        assert part in told


def test_without_the_option_there_is_none(cli: Cli) -> None:
    assert json.loads(cli("explain", "shipping-e/2", OLD, "--json").out)["proof"] is None


FITTING_MIN = 0.99
"""Share of causes that fit; the rest is lines of one step that a slow broker wrote tens of milliseconds apart."""


def test_the_causes_of_the_labelled_corpora_fit_what_their_coordinators_wrote() -> None:
    """Every fourth scenario, by the brokers' server.log alone."""
    labels = sorted((SHARED / "corpora" / "kafka").rglob("truth.json"))[::4]
    if not labels:
        pytest.skip("the labelled corpora are not beside this checkout")
    rulings: Counter[str] = Counter()
    for label in labels:
        options = ReadOptions(log_tz=[(None, json.loads(label.read_bytes()).get("log_timezone", "UTC"))])
        files = [str(path) for path in sorted(label.parent.glob("*/server.log*"))]
        rows = list(analyze(files, AnalyzeOptions(options)).rebalances) if files else []
        lines = {group: read_lines(files, group, options) for group in {row.group for row in rows if row.protocol == "classic"}}
        for row in rows:
            if row.protocol == "classic":
                proof = prove(row, lines[row.group])
                rulings[proof.trials[0].ruling.value if proof.trials else "none"] += 1
    tried = rulings["fits"] + rulings["fits_if"] + rulings["fails"]
    assert rulings["fits"] / tried >= FITTING_MIN, rulings
    assert rulings["none"] + rulings["not_tried"] <= tried * (1 - FITTING_MIN) + 1, rulings
