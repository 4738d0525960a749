"""The preview of shares: any strategy, and what a client or a queue more would move."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from pipelines.cli.answers.queue_shares import shared_at
from pipelines.cli.json_schema.schema import command_schema
from tests.pipelines.cli.conftest import Cli

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


def test_several_in_one_option(cli: Cli) -> None:
    assert shares(cli, "--queues", "a=1,b=2", "--clients", "c1, c2,c3") == shares(cli, "--queues", "a=1", "--queues", "b=2", *THREE)


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


# -- from a history ----------------------------------------------------------------------------------------------------

FROZEN = "data_samples/rocketmq/4.9.7/frozen-consumer"
FIRST, SECOND = "127.0.0.1@5368#2416383853913", "127.0.0.1@5561#2420703738363"


def test_a_history_gives_clients_queues_and_strategy(cli: Cli) -> None:
    done = cli("allocate", FROZEN, "--with-client", "127.0.0.1@9999#1", "--json")

    assert (done.code, done.err) == (0, "CG_pay_worker, TopicStock: 2 clients, 8 queues, AVG\n")
    assert [(each["client_id"], len(each["queues"])) for each in json.loads(done.out)["shares"]] == [
        (FIRST, 3),
        (SECOND, 3),
        ("127.0.0.1@9999#1", 2),
    ]
    one_more = json.loads(cli("allocate", FROZEN, "--with-queues", "broker-a=9", "--json").out)
    assert [move["queue"] for move in one_more["moves"]] == ["broker-a:4", "broker-a:8"]


def test_a_history_at_a_time(cli: Cli) -> None:
    assert "TopicStock: 1 client, 8 queues" in cli("allocate", FROZEN, "--until", "2026-11-21T09:20:29Z").err


def test_what_a_history_leaves_open_is_asked_for(cli: Cli) -> None:
    assert "taken from the logs" in cli("allocate", FROZEN, "--queues", "a=8", "--client", "c1").err
    assert "--topic 'TopicPay': there are %RETRY%CG_pay_worker, TopicStock" in cli("allocate", FROZEN, "--topic", "TopicPay").err
    assert "no RocketMQ queue had an owner" in cli("allocate", "data_samples/kafka/1.1.1/poll-timeout").err
    assert "give --queues and --client" in cli("allocate").err


def row(**values: Any) -> SimpleNamespace:
    return SimpleNamespace(**values)


def test_clients_without_a_queue_count_too() -> None:
    owned = [
        row(group="g", topic="t", queue=f"a:{number}", owners=[f"c{number}"], started_at=0, ended_at=None, kind="owned")
        for number in range(2)
    ]
    change = row(group="g", topic="t", changed_at=5, strategy="AVG_BY_CIRCLE", clients=4)
    idle = row(kind="more_consumers_than_queues", group="g", members=["c7"], started_at=0, ended_at=None)
    found = shared_at(row(ownership=owned, allocation_changes=[change], conditions=[idle]), None, None, None)

    assert (found.clients, found.reads, found.strategy, found.unnamed) == (["c0", "c1", "c7"], {"a": 2}, "AVG_BY_CIRCLE", 1)
