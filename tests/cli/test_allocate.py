"""The preview of shares: any strategy, and what a client or a queue more would move."""

from __future__ import annotations

import json

import jsonschema
import pytest

from pipelines.cli.schema import command_schema
from tests.cli.conftest import Cli

THREE = ("--client", "c1", "--client", "c2", "--client", "c3")


def shares(cli: Cli, *arguments: str) -> dict[str, list[str]]:
    done = cli("allocate", *arguments, "--json")
    assert (done.code, done.err) == (0, "")
    answer = json.loads(done.out)
    jsonschema.validate(answer, command_schema("allocate"))
    return {each["client_id"]: each["queues"] for each in answer["shares"]}


def test_blocks_and_circles(cli: Cli) -> None:
    assert shares(cli, "--queues", "b=4", *THREE) == {"c1": ["b:0", "b:1"], "c2": ["b:2"], "c3": ["b:3"]}
    assert shares(cli, "--queues", "b=4", *THREE, "--strategy", "AVG_BY_CIRCLE") == {"c1": ["b:0", "b:3"], "c2": ["b:1"], "c3": ["b:2"]}


def test_a_client_that_goes_moves_more_than_its_own_queues(cli: Cli) -> None:
    done = cli("allocate", "--queues", "a=8", *THREE, "--without-client", "c3", "--json")

    assert json.loads(done.out)["moves"] == [
        {"queue": "a:3", "before": ["c2"], "after": ["c1"]},
        {"queue": "a:6", "before": ["c3"], "after": ["c2"]},
        {"queue": "a:7", "before": ["c3"], "after": ["c2"]},
    ]


def test_the_screen_says_who_is_idle_and_what_moves(cli: Cli) -> None:
    done = cli("allocate", "--queues", "a=2", *THREE, "--with-queues", "a=3")

    assert done.code == 0
    assert done.out.splitlines() == [
        "c1     1  a:0",
        "c2     1  a:1",
        "c3     1  a:2",
        "queues that change hands: 1",
        "  a:2  nobody -> c3",
    ]
    assert "1 of 3 clients would have nothing to read" in cli("allocate", "--queues", "a=2", *THREE).out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--queues", "a"), "expected BROKER=N"),
        (("--queues", "a=8", "--strategy", "AVERAGE"), "no strategy is called 'AVERAGE'"),
        (("--queues", "a=8", "--strategy", "CONFIG"), "nothing to preview"),
        (("--queues", "a=0"), "mqAll is null or mqAll empty"),
        (("--queues", "a=8", "--without-client", "c9"), "'c9' is none of the clients given"),
        (("--queues", "a=9999999"), "more than"),
    ],
)
def test_what_cannot_be_previewed_is_said_in_one_line(cli: Cli, arguments: tuple[str, ...], said: str) -> None:
    done = cli("allocate", *arguments, *THREE)

    assert (done.code, done.out) == (2, "")
    assert said in done.err
