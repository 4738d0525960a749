"""What a person on call asks, task by task: the command, its exit code, and what the answer must say."""

from __future__ import annotations

import io
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import POLL_TIMEOUT, ROOT, Cli

RESTART = "data_samples/kafka/2.8.2/rolling-restart"
SLOW = "data_samples/kafka/4.1.1/slow-member"
MODERN = "data_samples/kafka/4.1.1/consumer-protocol"
FROZEN = "data_samples/rocketmq/4.9.7/frozen-consumer"


@dataclass(frozen=True)
class Task:
    """A command and what its answer must say; `{folder}` is a place to write to."""

    command: str
    said: tuple[str, ...]
    code: int = 0
    variables: dict[str, str] = field(default_factory=dict)
    piped: str | None = None
    written: str | None = None


TASKS = {
    "what happened tonight": Task(f"analyze {POLL_TIMEOUT}", ("1 incident needs attention", "What to do")),
    "should somebody be woken": Task(f"analyze {POLL_TIMEOUT} --fail-on warning", ("WARNING",), 1),
    "only around the page": Task(f"analyze {POLL_TIMEOUT} --around 09:08:46/2s", ("1 of its 4 rebalances is selected",)),
    "between two epoch times": Task(f"rebalances {POLL_TIMEOUT} --since 1795252126 --until 1795252130000", ("poll timeout",)),
    "since yesterday": Task(f"rebalances {POLL_TIMEOUT} --since yesterday@14:03 --json", ('"rebalances":',)),
    "the last hour by the clock": Task(f"rebalances {POLL_TIMEOUT} --since now-1h --json", ('"rebalances":',)),
    "one rebalance as a story": Task(f"explain shipping-e/2 {POLL_TIMEOUT}", ("exceeded its poll interval", "Evidence", "server.log:")),
    "all rebalances of a group": Task(f"explain shipping-e {POLL_TIMEOUT}", ("0→1", "3→4")),
    "is this line cause or effect": Task(f"explain {POLL_TIMEOUT}/broker-1/server.log:42 {POLL_TIMEOUT}", ("It is an effect of",)),
    "how sure, and why not something else": Task(f"explain shipping-e/2 {POLL_TIMEOUT} --proof", ("poll timeout",)),
    "the group at a moment": Task(f"state shipping-e --at 09:08:50 {POLL_TIMEOUT}", ("Stable, generation 2",)),
    "what one member did": Task(f"rebalances {POLL_TIMEOUT} --member shipping-worker-3-*", ("poll timeout",)),
    "what one client did": Task(f"rebalances {POLL_TIMEOUT} --client *-3 --cause poll*", ("poll timeout",)),
    "groups by a glob": Task(f"analyze {POLL_TIMEOUT} --group ship*", ("shipping-e",)),
    "one topic of RocketMQ": Task(f"rebalances {FROZEN} --topic TopicStock --json", ('"topic":"TopicStock"',)),
    "only what is bad": Task(f"rebalances {RESTART} --severity warning --json", ('"rebalances":',)),
    "who made the others wait": Task(f"offenders --blockers {SLOW}", ("waited",)),
    "who held which queue": Task(f"ownership {FROZEN}", ("TopicStock broker-a:4",)),
    "were partitions without leader": Task(f"outages {POLL_TIMEOUT}", ("No partition was without leader",)),
    "may the deployment go on": Task(f"gate {RESTART} --max-rebalances 3", ("more than allowed: rebalances",), 1),
    "what a deployment cost": Task(f"deploys {RESTART}", ("static would avoid", "10")),
    "before and after": Task(f"compare {POLL_TIMEOUT} --at 2026-11-21T09:08:50", ("an hour", "poll timeout")),
    "what would help": Task(f"advise {POLL_TIMEOUT}", ("max.poll.interval.ms of at least",)),
    "ready for the new protocol": Task(f"groups {MODERN}", ("KIP-848", "migrated")),
    "logs from a pipe": Task("analyze", ("shipping-e",), piped=f"{POLL_TIMEOUT}/broker-1/server.log"),
    "the page for others": Task(f"report {POLL_TIMEOUT} --redact all --out {{folder}}/page.html", (), written="page.html"),
    "the incident for a ticket": Task(f"analyze {POLL_TIMEOUT} --markdown", ("## WARNING: ", "- [ ] ")),
    "the rows for a spreadsheet": Task(f"analyze {POLL_TIMEOUT} --csv", ("rebalance_id,",)),
    "settings of one's own": Task(f"analyze {POLL_TIMEOUT}", ("10:08:46",), variables={"GROUPSCOPE_SETTINGS": "{folder}/settings.toml"}),
}


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_answered(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    task = TASKS[name]
    (tmp_path / "settings.toml").write_text('[display]\ntime_zone = "Europe/Berlin"\n', encoding="utf-8")
    for variable, value in task.variables.items():
        monkeypatch.setenv(variable, value.format(folder=tmp_path))
    if task.piped is not None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.FileIO(ROOT / task.piped)))
    done = cli(*(word.replace("@", " ").format(folder=tmp_path) for word in task.command.split()))

    assert done.code == task.code, done.err
    assert [text for text in task.said if text not in done.out] == [], done.out
    assert task.written is None or (tmp_path / task.written).stat().st_size > 0
