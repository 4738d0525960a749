"""What had not ended when the logs do: the last line of any kind counts, also in clients' logs.

Wordings after Kafka's GroupCoordinator (2.8, 3.6) and ConsumerCoordinator (2.8, 3.6).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze
from tests.behaviour.coordinator_log import PARTITION, Story, member, stamp
from tests.behaviour.test_field_cases import began, consumer, joined, told, turn

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


# -- groups without members ------------------------------------------------------------------------------------------

EXPIRES, LEAVES = "has failed, removing it from the group", "has left, removing it from the group"


def emptied(how: str, end: float, *, before: str | None = None) -> Story:
    """2.8: the last members of a group go, each in the same way, and the broker goes on."""
    story = Story().others(-900, 0)
    turn(story, -600, "depot", 6, f"Adding new member {member('depot-1')} with group instance id None")
    if before is not None:
        story.say(-30.1, f"Member {member('depot-0')} in group depot {before}")
        turn(story, -30, "depot", 7, f"removing member {member('depot-0')} on LeaveGroup")
    for number in (1, 2):
        story.say(number / 2, f"Member {member(f'depot-{number}')} in group depot {how}")
    reason = "on heartbeat expiration" if how == EXPIRES else "on LeaveGroup"
    began(story, 0.501, "depot", 7 + (before is not None), f"removing member {member('depot-1')} {reason}")
    story.say(1.1, f"Group depot with generation {8 + (before is not None)} is now empty ({PARTITION})")
    return story.others(60, end + 1)


def polled_late(end: float) -> Story:
    """3.6: the only consumer leaves as it polled too late, and its process goes on."""
    late = "consumer poll timeout has expired."
    why = "This means the time between subsequent calls to poll() was longer than the configured max.poll.interval.ms."
    left = f"Member {member('depot-1')} sending LeaveGroup request to coordinator kafka-1:9092 (id: 2147483646 rack: null) due to {late}"
    came = ((-603, JOINS), (-600, joined(4, member("depot-1"))[0]), (-599.9, "Adding newly assigned partitions: depot-0, depot-1"))
    return consumer("depot-1", "depot", *came, (0, f"{late} {why}"), (0.1, left)).add(end / 2, HEALTHY).add(end, HEALTHY)


def back_again(how: str) -> Story:
    story = emptied(how, 3600)
    return turn(story, 300, "depot", 8, f"Adding new member {member('depot-1', 1)} with group instance id None")


@pytest.mark.parametrize(
    ("files", "severity", "words"),
    [
        ({"server": emptied(EXPIRES, 3600)}, "critical", "depot: without members for 59 min"),
        ({"server": emptied(EXPIRES, 3600, before=LEAVES)}, "warning", "depot: without members for 59 min"),
        ({"server": emptied(LEAVES, 3600)}, None, ""),
        ({"server": emptied(EXPIRES, 30)}, None, ""),
        ({"server": back_again(EXPIRES)}, None, ""),
        ({"server": emptied(EXPIRES, 3600).say(90, "Unloading group metadata for depot with generation 8")}, None, ""),
        ({"app": polled_late(600)}, "warning", "depot: as far as its members' logs show, without members for 10 min"),
        ({"app": polled_late(20)}, None, ""),
    ],
    ids=["all failed", "some left", "all left", "a moment ago", "back", "given up", "polled late", "polled late just now"],
)
def test_a_group_that_lost_its_members_is_told_as_long_as_none_is_back(
    tmp_path: Path, files: dict[str, Story], severity: str | None, words: str
) -> None:
    lasting = [incident for incident in told(tmp_path, **files).incidents if incident.kind == "no_members"]
    assert [(incident.severity, incident.ended_at) for incident in lasting] == ([] if severity is None else [(severity, None)])
    assert all(incident.headline.startswith(words) and "so nobody consumes" in incident.headline for incident in lasting)


@pytest.mark.parametrize(("how", "words"), [(EXPIRES, "no member was left"), (LEAVES, "nobody stopped")])
def test_nobody_stopped_where_members_left_on_purpose(tmp_path: Path, how: str, words: str) -> None:
    rebalanced = [incident for incident in told(tmp_path, server=emptied(how, 600)).incidents if incident.rebalance_ids]
    single = max(rebalanced, key=lambda incident: incident.started_at or 0)
    assert f"depot: 1 rebalance, {words}; " in single.headline
