"""The gate for deployments: limits, exit codes, and calm that is not known."""

import json
from pathlib import Path

import pytest

from pipelines.cli.after_run import broken_rules
from pipelines.cli.arguments.alert_rules import alert_rules
from tests.behaviour.coordinator_log import PARTITION, Story, member, write
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
        (("--max-rebalances", 0, "--until", "2026-11-20"), 3, "the logs begin at"),
        (("--max-rebalances", 0, "--around", "2026-11-20T10:00/1m"), 3, "the logs begin at"),
        (("--max-rebalances", 0, "--around", "2026-11-22T10:00/1m"), 3, "the logs end at"),
    ],
    ids=str,
)
def test_what_is_not_known_does_not_pass(cli: Cli, options: tuple[object, ...], code: int, told: str) -> None:
    done = cli("gate", POLL_TIMEOUT, *options)
    assert done.code == code
    assert told in done.err


RULES = [
    ("ship*: rebalances > 3 per 1h", 1, [4.0]),
    ("*: rebalances > 4 per 1h", 0, []),
    ("*: stopped > 1s per 1h", 1, [1.143]),
    ("other: rebalances > 0 per 1h", 0, []),
]


@pytest.mark.parametrize(("rule", "code", "values"), RULES, ids=[rule for rule, _, _ in RULES])
def test_rules_of_the_command_line_and_of_the_settings(
    cli: Cli, sample_warehouse: Path, tmp_path: Path, rule: str, code: int, values: list[float]
) -> None:
    (tmp_path / "settings.toml").write_text(f'[alerts]\nrules = ["{rule}"]\n', encoding="utf-8")
    for source in ((POLL_TIMEOUT,), ("--warehouse", sample_warehouse)):
        for given in (("--rule", rule), ("--settings", tmp_path / "settings.toml")):
            done = cli("gate", *source, *given, "--json")
            assert (done.code, [each["value"] for each in json.loads(done.out)["broken_rules"]]) == (code, values)


def test_a_broken_rule_is_an_alert_by_a_lasting_id(sample_warehouse: Path) -> None:
    rules = alert_rules(["*: rebalances > 3 per 1h"])
    (first,), (second,) = broken_rules(str(sample_warehouse), rules), broken_rules(str(sample_warehouse), rules)

    assert first == second
    assert first["headline"] == "shipping-e: 4 rebalances within 1 h, more than 3 (rule '*: rebalances > 3 per 1h')"
    assert broken_rules(str(sample_warehouse), []) == []


def test_the_answer_is_as_its_schema_says(cli: Cli) -> None:
    from jsonschema import Draft202012Validator

    schema = json.loads(cli("schema", "gate").out)
    Draft202012Validator(schema).validate(json.loads(cli("gate", POLL_TIMEOUT, "--max-rebalances", 3, "--json").out))
    Draft202012Validator(schema).validate(json.loads(cli("gate", POLL_TIMEOUT, "--rule", "*: rebalances > 1 per 1m", "--json").out))


LOST_START = """[2026-11-21 10:00:00,029] INFO [GroupCoordinator 1]: Assignment received from leader for group orders for generation 58 \
(kafka.coordinator.group.GroupCoordinator)
"""
CLIENT = """[2026-11-21 10:00:00,000] INFO [Consumer clientId=app-1, groupId=orders] Discovered group coordinator b:92 (id: 5 rack: null) \
(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)
"""
CONTROLLER = """[2026-11-21 10:00:00,690] INFO [Controller id=0] Newly added brokers: 2, deleted brokers: , bounced brokers: , all live \
brokers: 0,1,2 (kafka.controller.KafkaController)
"""
DOUBTS = {
    "a rebalance whose start is lost": (LOST_START, 0, "How long groups stood still in 1 rebalance is not known"),
    "clients that tell of no rebalance": (CLIENT, 0, "whether there were any is not known"),
    "a controller's log, which can't tell": (CONTROLLER, 3, "nothing is known of rebalances"),
}


@pytest.mark.parametrize("name", DOUBTS)
def test_a_passed_gate_says_what_it_does_not_know(cli: Cli, tmp_path: Path, name: str) -> None:
    text, code, told = DOUBTS[name]
    (tmp_path / "some.log").write_text(text, encoding="utf-8")
    done = cli("gate", tmp_path / "some.log", "--max-stopped", "10s")

    assert done.code == code, done.err
    assert told in " ".join((done.out + done.err).split())


@pytest.mark.parametrize("option", ["--client", "--member", "--topic"])
def test_a_filter_that_names_nothing_passes_no_gate(cli: Cli, option: str) -> None:
    done = cli("gate", POLL_TIMEOUT, "--max-rebalances", 9, option, "shiping-worker-3")
    assert (done.code, done.out) == (2, "")
    assert "'shiping-worker-3' is in these logs" in done.err


@pytest.mark.parametrize(
    ("minutes", "reason", "code", "seconds"),
    [(165, "on heartbeat expiration", 1, [9890]), (165, "on LeaveGroup", 0, []), (1, "on heartbeat expiration", 0, [])],
    ids=["failed", "left on purpose", "a moment ago"],
)
def test_a_group_that_lost_all_its_members_does_not_pass(
    cli: Cli, tmp_path: Path, minutes: int, reason: str, code: int, seconds: list[float]
) -> None:
    story = Story()
    if reason == "on LeaveGroup":
        story.say(9.9, f"Member {member('a')} in group orders has left, removing it from the group")
    else:
        story.say(9.9, f"Member {member('a')} in group orders has failed, removing it from the group")
    story.say(
        9.91, f"Preparing to rebalance group orders in state PreparingRebalance with old generation 7 ({PARTITION}) (reason: {reason})"
    )
    story.say(10, f"Group orders with generation 8 is now empty ({PARTITION})").others(60, minutes * 60 + 1, step=60)
    log = write(tmp_path, [("server.log", story)])
    done = cli("gate", log, "--max-stopped", "2m", "--json")
    answer = json.loads(done.out)
    assert (done.code, answer["passed"], [group["seconds"] for group in answer["groups_without_members"]]) == (code, not code, seconds)
    assert ("orders: without members for 2 h 44 min" in cli("gate", log, "--max-stopped", "2m").out) == bool(code)


LATE = (
    "%4|1795252075.040|MAXPOLL|rdkafka#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) exceeded by 255ms "
    "(adjust max.poll.interval.ms for long-running message processing): leaving group\n"
)


@pytest.mark.parametrize(("limit", "code"), [(0, 1), (1, 0)])
def test_a_client_whose_group_no_line_names_does_not_pass_unseen(cli: Cli, tmp_path: Path, limit: int, code: int) -> None:
    (tmp_path / "app.log").write_text(LATE)
    done = cli("gate", tmp_path, "--max-rebalances", limit)

    assert (done.code, cli("analyze", tmp_path, "--fail-on", "warning").code) == (code, 1)
    assert "rdkafka exceeded max.poll.interval.ms and left its group" in done.out
    assert ("Passed" in done.out) == (not code)
