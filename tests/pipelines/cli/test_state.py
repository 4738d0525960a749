"""`groupscope state`: a group at a moment, forwards and backwards by line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from models.kafka.coordinator.protocol.group_states import State
from parsers.reading.reader import ReadOptions
from pipelines.cli.answers.group_state import read_lines, shown_at
from tests.pipelines.cli.conftest import ROOT, Cli

ROLLING = ("email-sender-h", "data_samples/kafka/2.8.2/rolling-restart")
FROZEN = ("audit-trail-l", "data_samples/kafka/3.9.1/frozen-process")
SLOW = ("email-sender-j2", "data_samples/kafka/4.1.1/slow-member")
FAILOVER = ("audit-trail-i", "data_samples/kafka/2.8.2/coordinator-failover")
STATES = {
    "RebalanceStarted": State.PREPARING_REBALANCE,
    "GenerationStarted": State.COMPLETING_REBALANCE,
    "AssignmentReceived": State.STABLE,
    "GroupEmptied": State.EMPTY,
}
"""What the group is in after a line."""
REQUESTS = ("inventory-x", "data_samples/kafka/1.1.1/request-log")
OLD = ("shipping-e", "data_samples/kafka/1.1.1/poll-timeout")


@pytest.fixture
def asked(cli: Cli) -> Any:
    schema = json.loads(cli("schema", "state").out)
    Draft202012Validator.check_schema(schema)

    def ask(*arguments: object) -> Any:
        done = cli("state", *arguments, "--json", "--quiet")
        assert done.code == 0, done.err
        answer = json.loads(done.out)
        errors = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(answer)
        assert [f"{error.json_path}: {error.message[:200]}" for error in errors] == []
        return answer

    return ask


@pytest.mark.parametrize("group", [ROLLING, FROZEN, SLOW, OLD])
def test_the_model_explains_every_line_of_a_sample(asked: Any, group: tuple[str, str]) -> None:
    answer = asked(*group)
    assert (answer["missing_lines"], answer["unexplained_lines"]) == (0, 0)
    assert answer["line_number"] == answer["line_count"] > 0
    assert answer["state"]["certainty"] == "certain"


def test_at_each_line_state_and_generation_are_what_the_line_says(monkeypatch: pytest.MonkeyPatch) -> None:
    """Walked backwards from the end to the first line."""
    monkeypatch.chdir(ROOT)
    group, folder = ROLLING
    lines = read_lines([folder], group, ReadOptions())
    walked = [shown_at(lines, group, None, -back) for back in range(37)]
    assert [shown.number for shown in walked] == list(range(37, 0, -1))
    told = [(shown.line.name, shown.view.state.value) for shown in walked if shown.line.name in STATES]
    assert told == [(name, STATES[name]) for name, _ in told]
    assert {name for name, _ in told} == set(STATES)
    assert all(shown.line.generation in (None, shown.view.generation.value) for shown in walked)


def test_a_time_takes_the_last_line_by_then(asked: Any) -> None:
    answer = asked(*FROZEN, "--at", "10:18:16.571")
    assert (answer["line"]["event"], answer["state"]["value"], answer["generation"]["value"]) == ("AssignmentReceived", "Stable", 3)
    assert asked(*FROZEN, "--at", "10:18:17")["line"] == answer["line"]
    assert asked(*FROZEN, "--at", "10:18:16.571", "--step", 1)["line_number"] == answer["line_number"] + 1
    leader = answer["leader"]
    assert (leader["value"], leader["certainty"]) == ("audit-trail-worker-2-d97dd9da-3cb5-47d9-b106-af789fd044a4", "certain")
    [told] = [member for member in answer["members"] if member["member_id"] == leader["value"]]
    assert told["synced"] == {"value": True, "certainty": "certain"}


def test_while_members_are_awaited_the_deadline_is_shown(asked: Any) -> None:
    """A member left, and the two others are told to rejoin: who has is not written, the deadline follows from a default."""
    answer = asked(*SLOW, "--step", -3)
    assert answer["state"]["value"] == "PreparingRebalance"
    assert [member["certainty"] for member in answer["members"]] == ["certain", "certain"]
    [join] = [timer for timer in answer["timers"] if timer["timer"] == "join"]
    assert (join["deadline"][:19], join["certainty"]) == ("2026-11-21T09:14:43", "inferred")


def test_requests_tell_names_timeouts_and_who_has_synced(asked: Any) -> None:
    """Kafka 1.1 names no member in these lines; the request log does, and tells when each SyncGroup came."""
    answer = asked(*REQUESTS, "--step", -6)
    assert (answer["line"]["event"], answer["generation"]["value"]) == ("AssignmentReceived", 4)
    names = [member["member_id"].rsplit("-", 5)[0] for member in answer["members"]]
    assert names == ["inventory-worker-1", "inventory-worker-3"]
    assert {member["certainty"] for member in answer["members"]} == {"certain"}
    assert answer["leader"]["value"].startswith("inventory-worker-1-")
    assert answer["protocol"] | {"changed_by": None} == {"value": "range", "certainty": "certain", "changed_by": None}
    assert answer["votes"]["value"] == {"range": 2}
    sessions = [timer["deadline"][:21] for timer in answer["timers"] if timer["timer"] == "session"]
    assert sessions == ["2026-11-21T09:17:22.5", "2026-11-21T09:17:22.6"]


def test_who_has_rejoined_is_known_to_the_millisecond_where_requests_tell_it(asked: Any) -> None:
    """A phase of the request log: the second member asks to join, and the first one hears of it with its next heartbeat."""
    lines = [asked(*REQUESTS, "--step", -back) for back in range(17, 12, -1)]
    phase = next(answer for answer in lines if answer["state"]["value"] == "PreparingRebalance" and answer["generation"]["value"] == 1)
    awaited = {member["member_id"]: member["awaited"] for member in phase["members"] if member["member_id"]}
    assert {"value": True, "certainty": "certain"} in awaited.values()


def test_what_changed_last_is_named_by_its_line(asked: Any) -> None:
    answer = asked(*ROLLING)
    assert answer["state"]["changed_by"] == {"file": answer["line"]["file"], "line": answer["line"]["line"]}


def test_a_failover_is_followed(asked: Any) -> None:
    answer = asked(*FAILOVER)
    assert answer["state"]["value"] == "Empty"
    assert answer["generation"] | {"changed_by": None} == {"value": 4, "certainty": "certain", "changed_by": None}


def test_for_people(cli: Cli) -> None:
    told = cli("state", *FROZEN, "--at", "10:18:16.571", "--quiet").out
    assert "audit-trail-l at 2026-11-21 10:18:16.571: Stable, generation 3" in told
    assert "Members\n" in told
    assert "all of them are explained" in " ".join(told.split())


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("audit-trail", FROZEN[1]), "did you mean audit-trail-l?"),
        ((*FROZEN, "--step", "1"), "behind its last line"),
        ((*FROZEN, "--at", "2020-01-01T00:00"), "before its first line"),
        ((*FROZEN, "--at", "noon"), "is no time"),
    ],
)
def test_what_can_not_be_shown(cli: Cli, arguments: tuple[str, ...], told: str) -> None:
    done = cli("state", *arguments, "--quiet")
    assert done.code == 2
    assert told in " ".join(done.err.split())


PHASE = """[2026-11-20 01:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group bills in state PreparingRebalance with old \
generation 6 (__consumer_offsets-8) (reason: Adding new member bill-2-11111111-1111-1111-1111-111111111111 with group instance id None) \
(kafka.coordinator.group.GroupCoordinator)
[2026-11-20 03:55:00,000] INFO [Log partition=bills-1, dir=/data] Rolled new log segment at offset 7 in 3 ms. (kafka.log.Log)
"""


@pytest.mark.parametrize(
    ("at", "texts"),
    [
        (
            "03:30",
            ("bills at 2026-11-20 03:30:00.000: PreparingRebalance", "Its last line by then is of 2026-11-20 01:00:00.000.", "overdue"),
        ),
        ("2026-11-21T00:00", ("bills at 2026-11-21 00:00:00.000", "The logs end at 2026-11-20 03:55:00.000", "overdue")),
        ("00:30", ("00:30:00.000000Z is before its first line", "begins at 2026-11-20T01:00:00")),
    ],
)
def test_a_time_without_a_line_of_the_group(cli: Cli, tmp_path: Path, at: str, texts: tuple[str, ...]) -> None:
    log = tmp_path / "server.log"
    log.write_text(PHASE)
    done = cli("state", "bills", log, "--at", at, "--quiet")
    for text in texts:
        assert text in " ".join((done.out + done.err).split())


STABLE = """[2026-11-20 11:23:22,122] INFO [GroupCoordinator 1]: Preparing to rebalance group bills in state PreparingRebalance with old \
generation 4 (__consumer_offsets-9) (reason: Adding new member bill-3-11111111-1111-1111-1111-111111111111 with group instance id None) \
(kafka.coordinator.group.GroupCoordinator)
[2026-11-20 11:23:24,218] INFO [GroupCoordinator 1]: Stabilized group bills generation 5 (__consumer_offsets-9) with 3 members \
(kafka.coordinator.group.GroupCoordinator)
[2026-11-20 11:23:24,230] INFO [GroupCoordinator 1]: Assignment received from leader for group bills for generation 5. The group has 3 \
members, 0 of which are static. (kafka.coordinator.group.GroupCoordinator)
[2026-11-20 11:55:00,000] INFO [Log partition=bills-1, dir=/data] Rolled new log segment at offset 7 in 3 ms. (kafka.log.Log)
"""


@pytest.mark.parametrize(
    ("at", "sentence"),
    [
        ("11:30", "No rebalance of bills was going on at 2026-11-20 11:30:00.000 UTC; this is the nearest, 6 min 36 s before that."),
        ("11:20", "this is the nearest, 3 min 22 s after that."),
        ("11:23:23", ""),
        ("11:23:22", ""),
    ],
)
def test_explain_says_that_nothing_was_going_on_at_a_time(cli: Cli, tmp_path: Path, at: str, sentence: str) -> None:
    log = tmp_path / "server.log"
    log.write_text(STABLE)
    told = " ".join(cli("explain", f"bills@{at}", log).out.split())
    assert sentence in told
    assert told.startswith("No rebalance") is bool(sentence)


def test_a_rebalance_without_an_end_has_the_advice_of_its_incident(cli: Cli, tmp_path: Path) -> None:
    log = tmp_path / "server.log"
    log.write_text(PHASE)
    told = " ".join(cli("explain", "bills@01:00", log).out.split())
    assert "See what the members that are waited for are doing now" in told
    assert "Start instances together" not in told
