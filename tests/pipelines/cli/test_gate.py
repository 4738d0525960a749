"""The gate for deployments: limits, exit codes, and calm that is not known."""

import json
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli

LIMITS = [
    (("--max-rebalances", 4), 0, []),
    (("--max-rebalances", 3), 1, ["rebalances"]),
    (("--max-stopped", "10s"), 0, []),
    (("--max-stopped", "1s"), 1, ["stopped"]),
    (("--max-rebalances", 0, "--max-stopped", "100ms"), 1, ["rebalances", "stopped"]),
    (("--max-rebalances", 1, "--since", "2026-11-21T09:08:50"), 1, ["rebalances"]),
    (("--max-rebalances", 0, "--cause", "poll_timeout"), 1, ["rebalances"]),
]


@pytest.mark.parametrize(("options", "code", "exceeded"), LIMITS, ids=[" ".join(map(str, options)) for options, _, _ in LIMITS])
def test_limits_decide_the_exit_code(cli: Cli, sample_warehouse: Path, options: tuple[object, ...], code: int, exceeded: list[str]) -> None:
    for source in ((POLL_TIMEOUT,), ("--warehouse", sample_warehouse)):
        done = cli("gate", *source, *options, "--json")
        answer = json.loads(done.out)
        assert (done.code, answer["passed"], answer["groups"][0]["exceeded"]) == (code, not code, exceeded)


def test_people_read_which_group_and_by_how_much(cli: Cli) -> None:
    done = cli("gate", POLL_TIMEOUT, "--max-rebalances", 3)
    assert "shipping-e: 4 rebalances, 1.1 s stopped; more than allowed: rebalances" in done.out
    assert "Passed: 1 group with rebalances" in cli("gate", POLL_TIMEOUT, "--max-rebalances", 4).out


@pytest.mark.parametrize(
    ("options", "code", "told"),
    [
        ((), 2, "say what is allowed"),
        (("--max-stopped", "soon"), 2, "no stretch of time"),
        (("--max-rebalances", 0, "--since", "2026-11-22"), 3, "the logs end at"),
    ],
    ids=str,
)
def test_what_is_not_known_does_not_pass(cli: Cli, options: tuple[object, ...], code: int, told: str) -> None:
    done = cli("gate", POLL_TIMEOUT, *options)
    assert done.code == code
    assert told in done.err


def test_the_answer_is_as_its_schema_says(cli: Cli) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(cli("schema", "gate").out)
    Draft202012Validator(schema).validate(json.loads(cli("gate", POLL_TIMEOUT, "--max-rebalances", 3, "--json").out))
