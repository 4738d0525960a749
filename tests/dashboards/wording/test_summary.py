"""What is said of an answer as a whole."""

from dataclasses import replace
from typing import Any

import pytest

from dashboards.answer.build import build_answer
from dashboards.wording.summary import calm, nothing_found, summary_lines
from dashboards.wording.units import Clock
from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from tests.conftest import ROOT
from tests.dashboards import made


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        ({"server": 5, "client": 7}, "No rebalance and no outage is in these logs."),
        ({"state_change": 1}, "No outage is in these logs. Controllers do not log rebalances"),
        ({"controller": 3, "client": 1}, "No outage is in these logs. Controllers do not log rebalances"),
        ({"client": 7, "server": 0}, "Only lines of consumers were recognised"),
        ({"client": 7, "request": 2}, "Only lines of consumers and a request log were recognised"),
        ({"request": 2}, "No rebalance is in these requests. They are of the groups whose coordinator wrote them; of others"),
        ({"other": 2}, "The lines that were recognised are of neither a group coordinator nor a client"),
        ({"other": 0}, "No line of a group coordinator or client was recognised."),
        ({}, "No line of a group coordinator or client was recognised."),
    ],
    ids=str,
)
def test_nothing_is_said_to_be_there_only_where_that_is_known(kinds: dict[str, int], sentence: str) -> None:
    files = [made.log_file(f"{kind}.log", kind=kind, recognised=count) for kind, count in kinds.items()]
    answer = build_answer(made.Made(inputs={"log_files": files, "totals": {}}))

    assert nothing_found(answer).startswith(sentence)
    assert ("is not known" in nothing_found(answer)) == sentence.startswith(
        ("Only", "No outage", "The lines", "No rebalance is in these requests")
    )


@pytest.mark.parametrize(
    ("kinds", "sentence"),
    [
        (("server",), "No line of these servers of RocketMQ tells of a consumer that came or went."),
        (("server", "client"), "No allocation of a group's queues is in these logs of RocketMQ"),
    ],
)
def test_logs_of_rocketmq_have_sentences_of_their_own(kinds: tuple[str, ...], sentence: str) -> None:
    files = [made.log_file(f"{kind}.log", system="rocketmq", kind=kind, recognised=3) for kind in kinds]
    answer = build_answer(made.Made(inputs={"log_files": files, "totals": {}}))

    assert nothing_found(answer).startswith(sentence)
    assert "is not known" in nothing_found(answer)


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [(("expired", "left"), "Members of 2 groups left or expired"), (("open", "open"), "No rebalance and")],
)
def test_members_that_went_are_part_of_rebalances_that_are_not_there(ends: tuple[str, str], sentence: str) -> None:
    files = [made.log_file("server.log", kind="server", recognised=2)]
    members: list[Any] = [{"group": f"orders-{number}", "ended_how": end} for number, end in enumerate(ends)]
    answer = build_answer(made.Made(inputs={"log_files": files, "totals": {}}, members=members))

    assert sentence in nothing_found(answer)


def test_groups_that_members_left_are_told_beside_those_with_rebalances() -> None:
    files = [made.log_file("server.log", kind="server", recognised=2)]
    members: list[Any] = [{"group": name, "ended_how": "expired"} for name in ("orders", "mill")]
    rows = [made.rebalance("orders", 5, 0)]
    answer = build_answer(made.Made(inputs={"log_files": files, "totals": {}}, members=members, rebalances=rows))

    assert answer.groups_left == 1
    sentences = list(summary_lines(answer, Clock("UTC"), ()))
    assert sentences[1] == "Members of 1 more group left or expired, but the rebalances that this was part of are not there."


def test_what_was_not_asked_for_is_not_said_to_be_missing() -> None:
    files = [made.log_file("server.log", kind="server", recognised=2)]
    answer = build_answer(made.Made(inputs={"log_files": files, "totals": {}}))

    assert nothing_found(replace(answer, is_narrowed=True)).startswith("No rebalance and no outage is in what was asked for")


@pytest.mark.parametrize(("zones", "count"), [((), 1), ((("*broker-1/*", "Europe/Berlin"),), 0), ((("*", "Europe/Berlin"),), 1)], ids=str)
def test_a_log_in_a_wrong_time_zone_is_told_of_first(zones: tuple[tuple[str, str], ...], count: int) -> None:
    """A broker's log says local times, its clients' logs UTC."""
    logs = ROOT / "data_samples" / "kafka" / "3.9.1" / "frozen-process"
    answer = build_answer(analyze([str(logs)], AnalyzeOptions(ReadOptions(log_tz=zones))))
    said = [text for text in summary_lines(answer, Clock(), []) if "wrong time zone" in text]

    assert len(said) == count
    assert all(text.startswith("2 logs seem to be read") and "clients/main.log" in text for text in said)


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        ([{"duration_seconds": 0.0}], "; no group stood still."),
        ([{"duration_seconds": None}], "; how long groups stood still is not known."),
        ([{"duration_seconds": None, "outcome": "empty"}], "; no group stood still."),
        ([{"duration_seconds": None, "assignor": "cooperative-sticky"}], "; no group stood still."),
        ([{"duration_seconds": None, "protocol": "consumer"}], "; no group stood still."),
        ([{"duration_seconds": None, "at_least_seconds": 70.0}], "; groups stood still for 1 min 10 s in all."),
        ([{"system": "rocketmq", "cause": "consumer_start", "duration_seconds": 9.0, "pause_seconds": 0.0}], "; no group stood still."),
        ([{"system": "rocketmq", "cause": "consumer_start", "duration_seconds": 9.0}], "; how long groups stood still is not known."),
        (
            [{"duration_seconds": 70.0}, {"duration_seconds": None}],
            "; groups stood still for 1 min 10 s in all, and for an unknown time in 1 rebalance.",
        ),
    ],
    ids=str,
)
def test_a_stop_of_unknown_length_is_not_called_none(rows: list[dict[str, Any]], sentence: str) -> None:
    unset: dict[str, Any] = {"at_least_seconds": None, "initial_delay_seconds": None}
    rebalances = [made.rebalance("orders", number, number * 600, **unset | row) for number, row in enumerate(rows)]
    incidents = [made.incident("orders", "warning", rebalances, "orders: trouble")]
    answer = build_answer(made.Made(inputs={"log_files": [], "totals": {}}, rebalances=rebalances, incidents=incidents))

    assert list(summary_lines(answer, Clock("UTC"), ()))[-1].endswith(sentence)


@pytest.mark.parametrize(
    ("count", "guesses", "words"),
    [
        (1, 0, "that needs no attention"),
        (3, 0, "that need no attention"),
        (1, 1, "but 1 cause is a guess"),
        (3, 2, "but 2 causes are guesses"),
    ],
)
def test_incidents_that_are_left_out_are_not_called_calm_over_a_guess(count: int, guesses: int, words: str) -> None:
    assert words in calm(count, guesses)
    assert ("seem" in calm(count, guesses)) == bool(guesses)
