"""`groupscope outages`: what it shows of partitions without a leader, and what it says would happen if a broker stopped."""

from __future__ import annotations

import io
import json
import re
from datetime import UTC, datetime
from pathlib import Path

import jsonschema
import pytest
from rich.console import Console

from dashboards.view import answer as data
from dashboards.wording.units import Clock
from pipelines import exit_codes as codes
from pipelines.analysis.in_process import analyze
from pipelines.cli.output import screens
from tests.pipelines.cli.conftest import ROOT, Cli
from tests.pipelines.cli.warehouses import store

LOGGERS = {"controller": "kafka.controller.KafkaController", "state-change": "state.change.logger", "server": "kafka.server.KafkaServer"}


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """The files of a story: orders-0 has one replica, on broker 1, which is killed; wide-0 has three."""
    story = (ROOT / "tests" / "scenarios" / "outages" / "zookeeper_single_replica.txt").read_text(encoding="utf-8").partition("----\n")[0]
    for line in story.splitlines():
        if line.startswith("#"):
            continue
        seconds, file, message = line.split(" ", 2)
        node, name = file.split("/")
        stamp = datetime.fromtimestamp(1_800_000_000 + float(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        path = tmp_path / f"broker-{node}" / f"{name}.log"
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as log:
            log.write(f"[{stamp}] INFO {message} ({LOGGERS[name]})\n")
    return tmp_path


def test_outages_stand_in_a_table_and_over_time(cli: Cli, logs: Path) -> None:
    done = cli("outages", logs, columns=110)
    assert (done.code, done.err) == (0, "")
    assert "orders-0" in done.out
    assert "broker down single replica" in done.out
    lane = next(line for line in done.out.splitlines() if line.startswith("  orders-0"))
    assert re.fullmatch("█+━*", lane.split()[1])  # led again until the logs end
    assert "wide-0" not in done.out
    assert "broker 1\n" in done.out


def test_time_is_drawn_without_unicode_too(cli: Cli, logs: Path) -> None:
    assert "####" in cli("outages", logs, encoding="ascii").out


def test_what_if_a_broker_stops(cli: Cli, logs: Path) -> None:
    done = cli("outages", logs, "--if-down", "1")
    assert (done.code, done.err) == (0, "")
    assert "If broker 1 stops, 1 of 2 partitions have no leader" in done.out
    assert '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "replicas": [2], "log_dirs": ["any"]}]}' in done.out


def test_answers_are_the_same_from_a_warehouse(cli: Cli, logs: Path, tmp_path: Path) -> None:
    warehouse = store(analyze([str(logs)]), tmp_path / "warehouse")
    for broker in ("1", "2", "3"):
        from_logs = cli("outages", logs, "--if-down", broker, "--json")
        assert cli("outages", "--warehouse", warehouse, "--if-down", broker, "--json").out == from_logs.out
    assert "there are 1, 2, 3" in cli("outages", "--warehouse", warehouse, "--if-down", "9").err
    spans = cli("outages", logs, "--under-replicated", "--json").out
    assert json.loads(spans)["under_replicated_spans"]
    assert cli("outages", "--warehouse", warehouse, "--under-replicated", "--json").out == spans


def test_partitions_short_of_replicas_stand_in_a_table(cli: Cli, logs: Path) -> None:
    done = cli("outages", logs, "--under-replicated", columns=120)
    assert (done.code, done.err) == (0, "")
    line = next(line for line in done.out.splitlines() if "wide-0" in line)
    assert line.split()[-3:] == ["1", "2,3", "1,2,3"]
    assert "broker down" in line
    assert "server.log of broker 1 would settle it" in done.out
    assert cli("outages", logs, "--under-replicated", "--limit", "0", "--csv").out.splitlines()[1].startswith("default,kafka,")


def test_nothing_is_short_where_nothing_is_known(cli: Cli) -> None:
    done = cli("outages", ROOT / "data_samples" / "kafka" / "1.1.1" / "poll-timeout", "--under-replicated")
    assert "No partition was short of in-sync replicas" in done.out


@pytest.mark.parametrize(
    ("command", "more"),
    [("outages", []), ("outages/under-replicated", ["--under-replicated"]), ("outages/if-down", ["--if-down", "1"])],
)
def test_each_answer_is_as_its_schema_says(cli: Cli, logs: Path, command: str, more: list[str]) -> None:
    answer = json.loads(cli("outages", logs, *more, "--json").out)
    jsonschema.validate(answer, json.loads(cli("schema", command).out))
    assert all(answer[key] for key in answer.keys() - {"reassignment"})


def test_what_if_another_stops(cli: Cli, logs: Path) -> None:
    assert "each of the 2 partitions seen in the logs keeps a leader" in cli("outages", logs, "--if-down", "3").out


def test_what_if_as_json_and_the_reassignment_as_a_file(cli: Cli, logs: Path, tmp_path: Path) -> None:
    target = tmp_path / "move.json"
    done = cli("outages", logs, "--if-down", "1", "--json", "--reassignment", target)
    answer = json.loads(done.out)
    assert [(row["topic"], row["partition"], row["why"], row["move_to"]) for row in answer["partitions"]] == [
        ("orders", 0, "single_replica", ["2"])
    ]
    assert json.loads(target.read_text(encoding="utf-8")) == answer["reassignment"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--if-down", "9"], "no broker '9' in these logs; there are 1, 2, 3"),
        (["--reassignment", "x.json"], "--reassignment goes with --if-down BROKER"),
        (["--if-down", "1", "--jsonl"], "--if-down is an answer of its own"),
        (["--if-down", "1", "--under-replicated"], "--if-down is an answer of its own"),
    ],
)
def test_what_can_not_be_asked(cli: Cli, logs: Path, more: list[str], said: str) -> None:
    done = cli("outages", logs, *more)
    assert done.code == codes.USAGE
    assert said in done.err


def test_a_reassignment_that_can_not_be_written(cli: Cli, logs: Path, tmp_path: Path) -> None:
    done = cli("outages", logs, "--if-down", "1", "--reassignment", tmp_path / "no" / "such" / "folder.json")
    assert done.code == codes.CANNOT_WRITE


def outage(partition: int, seconds: float, cause: str, ended_by: str) -> data.Outage:
    online = int(seconds * 1_000_000)
    return data.Outage(str(partition), "c", "orders", partition, 0, online, seconds, cause, cause, ended_by, ("1",), None, (), (), ())


def first_screen(items: list[data.Outage], *, verbose: bool = False) -> str:
    held = io.StringIO()
    screens.outages_in_short(Console(file=held, width=140), items, Clock("UTC"), limit=30, verbose=verbose)
    return held.getvalue()


def test_the_first_screen_counts_failovers_and_lists_what_lasted() -> None:
    lasting = outage(1, 23, "broker_down_single_replica", "replica_returned")
    slow = outage(2, 4, "unknown", "isr_election")
    quick = [outage(number, 0.033 * number, "unknown", "isr_election") for number in (3, 4)]

    text = first_screen([lasting, slow, *quick])
    assert "orders-1" in text
    assert "leader down" in text
    assert "orders-3" not in text
    assert "2 more partitions got another in-sync replica as leader within 132 ms; -v shows them" in text
    assert first_screen(quick[:1]).strip() == "1 partition got another in-sync replica as leader within 99 ms; -v shows them"
    assert "orders-3" in first_screen([lasting, *quick], verbose=True)


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("data_samples/kafka/1.1.1/poll-timeout", "as far as the logs of controllers and state changes show"),
        ("data_samples/kafka/4.1.1/slow-member", "It takes controller.log"),
    ],
)
def test_no_outage_is_told_by_what_was_read(cli: Cli, place: str, told: str) -> None:
    assert told in " ".join(cli("outages", place).out.split())
