"""JSON of every command against the schema that `groupscope schema` prints."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, FormatChecker

from pipelines.cli.json_schema.schema import DOCUMENTED_COMMANDS
from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

SAMPLES = sorted(path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("data_samples/kafka/*/*/*") if path.is_dir())
SCENARIOS = [
    "1.1.1-zk/e_poll_timeout",
    "2.8.2-zk/f_static",
    "3.9.1-kraft-newcoord/n1_consumer_protocol",
    "4.1.1-kraft/r_partition_incidents",
]
LISTINGS = ["rebalances", "offenders", "timeline", "outages"]


@pytest.fixture
def check(cli: Cli) -> Any:
    """Validates against the schema of a command."""

    def valid(command: str, value: Any) -> None:
        schema = json.loads(cli("schema", command).out)
        Draft202012Validator.check_schema(schema)
        errors = Draft202012Validator(schema, format_checker=FormatChecker()).iter_errors(value)
        assert [f"{error.json_path}: {error.message[:200]}" for error in errors] == []

    return valid


def lines(text: str) -> Iterator[Any]:
    return map(json.loads, text.splitlines())


def test_a_schema_without_a_name_is_that_of_analyze(cli: Cli) -> None:
    assert cli("schema").out == cli("schema", "analyze").out


@pytest.mark.parametrize("folder", sorted({str(Path(path).parent) if Path(path).name == "clients" else path for path in SAMPLES}))
def test_each_sample(cli: Cli, check: Any, folder: str) -> None:
    done = cli("analyze", folder, "--json")
    assert done.code == 0
    answer = json.loads(done.out)
    check("analyze", answer)
    assert answer["inputs"]["totals"]["files"] == len(answer["inputs"]["log_files"])


@pytest.mark.corpus
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_scenarios_of_the_corpus(cli: Cli, check: Any, kafka_corpus: Path, scenario: str) -> None:
    folder = kafka_corpus / scenario
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    logs = [path for path in sorted(folder.iterdir()) if path.is_dir()]
    zones = ["--log-tz", truth["log_timezone"], "--log-tz", f"clients/*={truth['client_log_timezone']}"]
    done = cli("analyze", *logs, *zones, "--json")
    assert done.code in (0, 4), done.err
    answer = json.loads(done.out)
    check("analyze", answer)
    assert answer["rebalances"]


@pytest.mark.parametrize("command", LISTINGS)
def test_listings(cli: Cli, check: Any, story_warehouse: Path, command: str) -> None:
    asked = (command, "--warehouse", story_warehouse)
    answer = json.loads(cli(*asked, "--json").out)
    check(command, answer)
    assert answer[command]
    assert list(lines(cli(*asked, "--jsonl").out)) == answer[command]
    assert json.loads(cli(*asked, "--json", "--limit", 1).out) == answer


def test_owners_of_queues(cli: Cli, check: Any, queue_warehouse: Path) -> None:
    asked = ("ownership", "--warehouse", queue_warehouse)
    answer = json.loads(cli(*asked, "--json").out)
    check("ownership", answer)
    assert {row["kind"] for row in answer["ownership"]} == {"owned", "two_owners", "no_owner"}
    assert list(lines(cli(*asked, "--jsonl").out)) == answer["ownership"]
    assert cli(*asked, "--csv").out.count("\n") == 1 + len(answer["ownership"])


def test_all_rows_of_an_analysis_line_by_line(cli: Cli, check: Any, story_warehouse: Path) -> None:
    asked = ("analyze", "--warehouse", story_warehouse)
    answer = json.loads(cli(*asked, "--json").out)
    found: dict[str, list[Any]] = {}
    for item in lines(cli(*asked, "--jsonl").out):
        assert list(item) == ["key", "row"]
        found.setdefault(item["key"], []).append(item["row"])
    assert found.pop("log_files") == answer["inputs"]["log_files"]
    assert found == {key: rows for key, rows in answer.items() if isinstance(rows, list) and rows}


def test_explain(cli: Cli, check: Any, story_warehouse: Path) -> None:
    answer = json.loads(cli("explain", "billing/1", "--warehouse", story_warehouse, "--json").out)
    check("explain", answer)
    assert answer["rebalance"]["cause"] == "new_group"
    assert answer["story"]


@pytest.mark.parametrize(
    ("line", "event", "part", "generation"),
    [
        ("clients/main.log:41", "ClientHeartbeatRebalancing", "effect", 1),
        ("main.log:40", "ClientLeaveSent", "cause", 1),
        ("clients/main.log:36", None, "unknown", 0),
        ("main.log:1", "KafkaVersion", "apart", None),
    ],
)
def test_explain_of_a_line(cli: Cli, check: Any, line: str, event: str | None, part: str, generation: int | None) -> None:
    answer = json.loads(cli("explain", line, POLL_TIMEOUT, "--json").out)
    check("explain", answer)
    assert (answer["line"]["event"], answer["line"]["part"]) == (event, part)
    assert (answer["rebalance"] or {}).get("generation_before") == generation
    assert bool(answer["story"]) is (generation is not None)


def test_explain_of_an_incident_by_the_id_that_alerts_give(cli: Cli, check: Any, story_warehouse: Path) -> None:
    (incident, *_) = json.loads(cli("analyze", "--warehouse", story_warehouse, "--json").out)["incidents"]
    asked = ("explain", incident["incident_id"], "--warehouse", story_warehouse)
    answer = json.loads(cli(*asked, "--json").out)
    check("explain/incident", answer)
    assert answer["incident"] == incident
    assert [row["rebalance_id"] for row in answer["rebalances"]] == incident["rebalance_ids"]

    shown = " ".join(cli(*asked).out.split())
    assert incident["headline"] in shown
    assert incident["incident_id"] in shown

    refused = cli("explain", incident["incident_id"][:8], "--warehouse", story_warehouse)  # all ids of this story begin so
    assert refused.code == 2
    assert "may mean 2 incidents" in refused.err


def test_explain_has_the_advice_that_people_are_shown(cli: Cli, check: Any) -> None:
    answer = json.loads(cli("explain", "shipping-e/2", POLL_TIMEOUT, "--json").out)
    check("explain", answer)
    here = answer["advice"]["rebalance"]
    assert [each["advice"] for each in here] == ["longer_poll"]
    told = cli("explain", "shipping-e/2", POLL_TIMEOUT).out
    assert here[0]["options"] in told


def test_explain_of_a_line_for_people(cli: Cli) -> None:
    told = cli("explain", "main.log:41", POLL_TIMEOUT).out.splitlines()
    assert told[0].endswith("Attempt to heartbeat failed")
    assert "of shipping-worker-1 in group shipping-e: A heartbeat was told of a rebalance." in " ".join(told)
    assert "It is an effect of this rebalance: it follows from the rebalance; it stands in its time." in told


@pytest.mark.parametrize("by", ["client", "member", "instance", "host"])
def test_offenders_by_another_name(cli: Cli, check: Any, story_warehouse: Path, by: str) -> None:
    answer = json.loads(cli("offenders", "--warehouse", story_warehouse, "--by", by, "--json").out)
    check("offenders", answer)
    assert answer["offenders"]


def test_lanes_of_clients_stand_below_their_group(cli: Cli) -> None:
    lines_shown = cli("timeline", POLL_TIMEOUT).out.splitlines()
    assert [line.split()[0] for line in lines_shown[:4]] == ["shipping-e", *(f"shipping-worker-{number}" for number in (1, 2, 3))]
    assert "UNJOINED" in lines_shown[-1]
    assert [line.split()[0] for line in cli("timeline", POLL_TIMEOUT, "--limit", 2).out.splitlines()[:2]] == [
        "shipping-e",
        "shipping-worker-1",
    ]


def test_whatif(cli: Cli, check: Any, sample_warehouse: Path) -> None:
    configuration = ("--max-poll-interval", "20s", "--static-membership")
    answer = json.loads(cli("whatif", POLL_TIMEOUT, *configuration, "--json").out)
    check("whatif", answer)
    (group,) = answer["groups"]
    assert (group["count"], group["avoided"], answer["configuration"]["max_poll_interval_ms"]) == (4, 2, 20_000)
    assert list(lines(cli("whatif", POLL_TIMEOUT, *configuration, "--jsonl").out)) == group["rebalances"]
    assert cli("whatif", POLL_TIMEOUT, *configuration, "--csv").out.count("\n") == 1 + 4
    stored = json.loads(cli("whatif", "--warehouse", sample_warehouse, *configuration, "--json").out)
    assert stored["groups"][0]["avoided"] == 2


@pytest.mark.parametrize(("delay", "left"), [("8s", 33), ("0s", 28)])
def test_what_if_of_real_connect_workers(cli: Cli, check: Any, shared: Path, delay: str, left: int) -> None:
    logs = shared / "corpora" / "clients" / "connect-workers"
    if not logs.is_dir():
        pytest.skip("no logs of Connect in ../shared/corpora")
    asked = ("--group", "connect-cdc", "--scheduled-delay", delay, "--json")
    answer = json.loads(cli("whatif", logs / "broker-1", logs / "clients", *asked).out)
    check("whatif", answer)
    (group,) = answer["groups"]
    assert group["count"] - group["avoided"] + group["added"] == left
    assert {each["cause"] for each in group["rebalances"] if each["effect"] == "avoided"} <= {"scheduled_rebalance"}


def test_advice_with_numbers_stands_in_the_analysis(cli: Cli, check: Any) -> None:
    answer = json.loads(cli("analyze", POLL_TIMEOUT, "--json").out)
    check("analyze", answer)
    (group,) = answer["advice"]
    best = group["advice"][0]
    assert best["settings"] == [{"name": "max.poll.interval.ms", "value": "14000"}]
    assert (best["count"], best["avoided"], best["found_later_seconds"]) == (4, 2, None)
    assert best["costs"].startswith("the others wait")
    (about,) = group["incidents"]
    (incident,) = (each for each in answer["incidents"] if each["incident_id"] == about["incident_id"])
    assert about["advice"][0]["count"] == len(incident["rebalance_ids"])
    at_length = json.loads(cli("analyze", POLL_TIMEOUT, "--json", "--advise").out)["advice"]
    assert at_length == json.loads(cli("advise", POLL_TIMEOUT, "--json").out)["groups"]


def test_only_a_search_that_was_asked_for_takes_groups_of_calm_incidents(cli: Cli) -> None:
    """A rolling restart needs no attention, so nothing is searched beside it."""
    calm = "data_samples/kafka/2.8.2/rolling-restart"
    assert json.loads(cli("analyze", calm, "--json").out)["advice"] == []
    (group,) = json.loads(cli("analyze", calm, "--json", "--advise").out)["advice"]
    assert "static" in {each["advice"] for each in group["advice"]}


def test_csv_has_no_room_for_advice(cli: Cli) -> None:
    done = cli("analyze", POLL_TIMEOUT, "--csv", "--advise")
    assert (done.code, done.out) == (2, "")
    assert "groupscope advise --csv" in done.err


def test_events(cli: Cli, check: Any) -> None:
    schema = json.loads(cli("schema", "events").out)
    found = list(lines(cli("events", POLL_TIMEOUT, "--jsonl").out))
    assert found
    assert all(item.keys() == schema["properties"].keys() for item in found)
    check("events", found[0])
    validator = Draft202012Validator(schema)
    assert all(validator.is_valid(item) for item in found)


def test_the_answer_to_hostile_text_is_json_with_exactly_that_text(cli: Cli, check: Any, hostile_warehouse: Path) -> None:
    done = cli("analyze", "--warehouse", hostile_warehouse, "--json")
    answer = json.loads(done.out)
    check("analyze", answer)
    from tests.dashboards.hostile import PAYLOADS

    assert set(PAYLOADS) <= {row["group"] for row in answer["rebalances"]}


def test_every_command_with_json_has_a_schema(cli: Cli) -> None:
    from tests.pipelines.cli.test_help import COMMANDS as ALL

    offering = {command for command in ALL if " --json" in cli(command, "--help").out}
    assert offering - set(DOCUMENTED_COMMANDS) == set()


def test_doctor(cli: Cli, check: Any) -> None:
    check("doctor", json.loads(cli("doctor", "--json").out))
