"""What-if for people says what its answer rests on, and what it cannot know."""

from __future__ import annotations

import json
import re

import pytest

from tests.pipelines.cli.conftest import Cli

MODERN = "data_samples/kafka/4.1.1/consumer-protocol"
SHORTER = "silences of less than the present session of 10 s cannot be known from these logs"


@pytest.mark.parametrize(("session", "is_shorter"), [("6s", True), ("45s", False)])
def test_what_the_logs_do_not_tell_stands_below_the_answer(cli: Cli, session: str, is_shorter: bool) -> None:
    said = " ".join(cli("whatif", MODERN, "--consumer-session-timeout", session).out.split())

    assert "What these logs do not tell - clickstream-n1 and inventory-n1: group.consumer.session.timeout.ms is taken to be 10 s" in said
    assert (SHORTER in said) is is_shorter
    assert "no group is known to have stood still" in said


def test_nothing_is_assumed_without_a_word(cli: Cli) -> None:
    said = cli("whatif", MODERN, "--initial-delay", "10s").out

    assert "0 of 16 rebalances would have been avoided" in said
    assert "What these logs do not tell" not in said, "such groups have no initial delay, which is known"


def test_the_downtime_that_there_would_have_been_has_a_range(cli: Cli) -> None:
    options = ("whatif", "data_samples/kafka/3.9.1", "--initial-delay", "10s")
    groups = json.loads(cli(*options, "--json").out)["groups"]
    least, most = (sum(group[name] for group in groups) for name in ("saved_least_seconds", "saved_most_seconds"))
    assert least < sum(group["saved_seconds"] for group in groups) < most
    assert re.search(r"(instead of|more than) [^(]+ \(between [^)]+ and [^)]+ in all\)\.", " ".join(cli(*options).out.split()))
