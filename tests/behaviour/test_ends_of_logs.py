"""What had not ended when the logs do: the last line of any kind counts, also in clients' logs.

Wordings after Kafka's GroupCoordinator (2.8, 3.6) and ConsumerCoordinator (2.8, 3.6).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze
from tests.behaviour.coordinator_log import Story, member, stamp
from tests.behaviour.test_field_cases import consumer, joined, told

HEALTHY = "INFO health ok (com.example.Depot)"
DUE = "Request joining group due to: group is already rebalancing"
JOINS = "(Re-)joining group"


def heard_until(at: float | None, *, is_answered: bool = False) -> Story:
    """A consumer that joins again, and the application's own lines after that."""
    first, again = joined(4, member("depot-1")), joined(5, member("depot-1"))
    story = consumer("depot-1", "depot", (-600, first[0]), (-599.9, first[1]), (0, DUE), (0.01, JOINS))
    if is_answered:
        for step, text in enumerate(again):
            story.lines += consumer("depot-1", "depot", (3 + step / 10, text)).lines
    return story if at is None else story.add(at / 2, HEALTHY).add(at, HEALTHY)


@pytest.mark.parametrize(
    ("files", "at_least", "severity"),
    [
        ({"app": heard_until(None)}, 0.01, "info"),
        ({"app": heard_until(20)}, 20, "info"),
        ({"app": heard_until(1800)}, 1800, "critical"),
        ({"app": heard_until(1800, is_answered=True)}, None, "info"),
        ({"app": heard_until(None), "other": Story().add(0, HEALTHY).add(1800, HEALTHY)}, 0.01, "info"),
        ({"app.log.1": heard_until(None), "app": Story().add(900, HEALTHY).add(1800, HEALTHY)}, 0.01, "info"),
    ],
    ids=["log ends", "shortly", "half an hour", "answered", "another log goes on", "a part in which no line is of a consumer"],
)
def test_a_join_without_an_answer_lasts_until_its_log_ends(
    tmp_path: Path, files: dict[str, Story], at_least: float | None, severity: str
) -> None:
    found = told(tmp_path, **files)
    row, incident = found.rebalances[-1], max(found.incidents, key=lambda incident: incident.started_at or 0)
    assert (row.outcome == "open", row.at_least_seconds) == (at_least is not None, at_least)
    assert incident.severity == severity
    assert ("stuck in PreparingRebalance as the logs end" in incident.headline) == (severity == "critical")


def test_the_end_of_a_log_of_json_counts(tmp_path: Path) -> None:
    line = '{{"@timestamp":"{}Z","level":"INFO","logger_name":"{}","message":"{}"}}\n'
    texts = [(0, DUE), (0.2, JOINS)]
    java = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
    lines = [line.format(iso(at), java, f"[Consumer clientId=depot-1, groupId=depot] {text}") for at, text in texts]
    lines += [line.format(iso(at), "com.example.Depot", "health ok") for at in (300, 1200)]
    path = tmp_path / "depot.json"
    path.write_text("".join(lines), encoding="utf-8")
    assert [row.at_least_seconds for row in analyze([str(path)]).rebalances] == [1200]


def iso(at: float) -> str:
    return stamp(at).replace(" ", "T").replace(",", ".")
