"""Rebalances by who, why and how bad: the same from logs and from a warehouse."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import POLL_TIMEOUT, Cli

FILTERS = [
    (("--cause", "poll timeout"), ["poll_timeout"]),
    (("--cause", "poll_timeout", "--cause", "member_join"), ["poll_timeout", "member_join"]),
    (("--cause", "member*"), ["member_join", "member_leave"]),
    (("--client", "shipping-worker-3", "--cause", "poll*"), ["poll_timeout"]),
    (("--client", "shipping-worker-2", "--cause", "poll*"), []),
    (("--member", "shipping-worker-3-*", "--cause", "poll*"), ["poll_timeout"]),
    (("--topic", "orders"), []),
    (("--severity", "warning"), ["new_group", "poll_timeout", "member_join", "member_leave"]),
    (("--severity", "critical"), []),
]


@pytest.mark.parametrize(("options", "causes"), FILTERS, ids=[" ".join(options) for options, _ in FILTERS])
def test_rebalances_that_pass(cli: Cli, sample_warehouse: Path, options: tuple[str, ...], causes: list[str]) -> None:
    for source in ((POLL_TIMEOUT,), ("--warehouse", sample_warehouse)):
        done = cli("rebalances", *source, *options, "--json")
        assert done.code == 0, done.err
        assert [row["cause"] for row in json.loads(done.out)["rebalances"]] == causes


@pytest.mark.parametrize(
    ("options", "code", "incidents"),
    [((), 1, 1), (("--cause", "poll*"), 1, 1), (("--severity", "info"), 0, 0), (("--client", "nobody"), 0, 0)],
    ids=str,
)
def test_incidents_follow_their_rebalances(cli: Cli, options: tuple[str, ...], code: int, incidents: int) -> None:
    done = cli("analyze", POLL_TIMEOUT, *options, "--json", "--fail-on", "warning")
    assert (done.code, len(json.loads(done.out)["incidents"])) == (code, incidents)


@pytest.mark.parametrize(
    ("option", "value", "told"), [("--cause", "pol_timeout", "did you mean 'poll_timeout'"), ("--severity", "bad", "there are")]
)
def test_a_word_that_nothing_can_have_is_refused(cli: Cli, option: str, value: str, told: str) -> None:
    done = cli("rebalances", POLL_TIMEOUT, option, value)
    assert done.code == 2
    assert told in done.err


@pytest.mark.parametrize("window", [("09:08:52", "09:08:53"), ("09:08:54", "09:08:55")], ids=str)
def test_a_clipped_window_tells_title_cause_and_advice_of_one_story(cli: Cli, sample_warehouse: Path, window: tuple[str, str]) -> None:
    since, until = window
    for source in ((POLL_TIMEOUT,), ("--warehouse", sample_warehouse)):
        done = cli("analyze", *source, "--since", f"2026-11-21T{since}", "--until", f"2026-11-21T{until}")
        assert "exceeded its poll interval" in done.out
        assert "trigger: poll interval exceeded" in done.out
        assert "1 of its 4 rebalances is selected" in " ".join(done.out.split())
        assert "Fetch less per poll" in done.out


def test_recurrences_are_in_the_json(cli: Cli, sample_warehouse: Path) -> None:
    answers = [json.loads(cli("analyze", *source, "--json").out) for source in ((POLL_TIMEOUT,), ("--warehouse", sample_warehouse))]
    assert answers[0]["recurrences"] == answers[1]["recurrences"]
    one = answers[0]["recurrences"][0]
    assert one["incident_ids"] == [row["incident_id"] for row in answers[0]["incidents"]]
    assert (one["trigger"], one["member"], one["severity"]) == ("poll_timeout", "shipping-worker-3", "warning")


@pytest.mark.parametrize("options", [("--severity", "critical"), ("--until", "2026-11-21 09:08:31"), ("--cause", "group_deleted")], ids=str)
def test_what_filters_leave_out_is_not_said_to_be_missing(cli: Cli, options: tuple[str, ...]) -> None:
    shown = " ".join(cli("analyze", POLL_TIMEOUT, *options).out.split())
    assert "No rebalance and no outage is in what was asked for" in shown


NAMES = {
    "a client": ("--client", "shipping-worker-9", "no client 'shipping-worker-9' is in these logs; did you mean 'shipping-worker-"),
    "a member": ("--member", "nobody*", "no member 'nobody*' is in these logs; there are "),
    "a topic": ("--topic", "orders", "no topic 'orders' is in these logs; there is no topic at all"),
    "a client that is there": ("--client", "shipping-worker-2", ""),
    "a member that is there": ("--member", "shipping-worker-2-*", ""),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_nowhere_is_told(cli: Cli, sample_warehouse: Path, name: str) -> None:
    """An empty answer over a misspelt name would calm falsely."""
    option, value, warning = NAMES[name]
    for source in ((POLL_TIMEOUT,), ("--warehouse", sample_warehouse)):
        done = cli("rebalances", *source, option, value)
        assert done.code == 0
        assert done.err.startswith(f"warning: {warning}") if warning else "is in these logs" not in done.err
