"""Small stories of brokers and what they do to groups, with the timeouts of the field, and what a person has to be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from models.rows import Incident
from pipelines.analysis.in_process import AnalysisResult
from tests.behaviour.coordinator_log import CONSUMER, PARTITION, SCALA, Story, member
from tests.behaviour.test_field_cases import added, began, consumer, joined, told, turn, worst

Files = dict[str, Story]


def all_expire(back_after: float, back: range = range(4), loaded_at: float | None = None) -> Files:
    """2.8: the members of one group expire together, after 52 s in which their broker wrote nothing."""
    story = Story().others(-300, -52, 20)
    for number in range(4):
        story.say(number / 90, f"Member {member(f'o-{number}')} in group orders has failed, removing it from the group")
    began(story, 0.001, "orders", 7, f"removing member {member('o-0')} on heartbeat expiration")
    story.say(0.05, f"Group orders with generation 8 is now empty ({PARTITION})")
    for number in back:
        state = "PreparingRebalance" if number else "Empty"
        handed = f"Created a new member id {member(f'o-{number}', 1)} and request the member to rejoin with this id."
        story.say(back_after + number / 5, f"Dynamic member with unknown member id joins group orders in {state} state. {handed}")
    turn(story, back_after + 0.01, "orders", 8, added("o-0", 1), lasted=3.0)
    if loaded_at is not None:
        story.add(loaded_at, MANAGER.format(1, f"Finished loading offsets and group metadata from {PARTITION} in 3 milliseconds."))
    return {"server": story.others(10, 900)}


MANAGER = "INFO [GroupMetadataManager brokerId={}] {} (kafka.coordinator.group.GroupMetadataManager)"


def moved(load_seconds: float = 0.7, rebalance_at: float = 4000) -> Files:
    """2.6: the group's partition moves, as a reassignment has it, and nobody notices."""
    first, second = Story().others(-300, 0), Story(SCALA.replace("1]", "2]")).others(-300, 0)
    turn(first, -1000, "orders", 7, added("o-2"))
    first.add(0.1, MANAGER.format(1, f"Scheduling unloading of offsets and group metadata from {PARTITION}"))
    first.add(0.14, MANAGER.format(1, f"Finished unloading {PARTITION}. Removed 120 cached offsets and 1 cached groups."))
    second.add(0.2, MANAGER.format(2, f"Scheduling loading of offsets and group metadata from {PARTITION}"))
    loaded = (
        f"Finished loading offsets and group metadata from {PARTITION} in {int(load_seconds * 1000)} milliseconds, of which 2 milliseconds"
    )
    second.add(0.2 + load_seconds, MANAGER.format(2, f"{loaded} was spent in the scheduler."))
    turn(second, rebalance_at, "orders", 8, added("o-3"))
    return {"b1": first.others(10, 900), "b2": second.others(10, 5000)}


DENIED = "on resource = Group:LITERAL:orders for request = Heartbeat with resourceRefCount = 1"


def denied_by_the_broker() -> Files:
    """3.9: READ on the group is taken away; the members' sessions run out."""
    story = Story().others(-300, 0)
    for number in range(3):
        story.add(
            number / 2, f"INFO Principal = User:app is Denied Operation = Read from host = 10.2.0.4 {DENIED} (kafka.authorizer.logger)"
        )
        story.say(45 + number / 2, f"Member {member(f'o-{number}')} in group orders has failed, removing it from the group")
    began(story, 45.001, "orders", 7, f"removing member {member('o-0')} on heartbeat expiration")
    return {"server": story.say(46.1, f"Group orders with generation 8 is now empty ({PARTITION})").others(60, 900)}


def denied_to_a_client() -> Files:
    """3.4: a heartbeat is refused, and the application ends with the error."""
    first, second = joined(5, member("c"))
    story = consumer("c", "orders", (-50, first), (-49.9, second)).others(10, 900)
    story.add(0, HEARTBEATS.format("A group authorization error occurred in the heartbeat thread"))
    to = "to coordinator kafka-1:9092 (id: 2147483646 rack: null) due to the consumer is being closed"
    story.add(0.3, CONSUMER.format("INFO", "c", "orders", f"Member {member('c')} sending LeaveGroup request {to}"))
    return {"app": story}


HEARTBEATS = "ERROR [Consumer clientId=c, groupId=orders] {} (org.apache.kafka.clients.consumer.internals.AbstractCoordinator)"


@dataclass(frozen=True, slots=True)
class Truth:
    """The worst incident, and the causes with root causes of all rebalances."""

    kind: str
    severity: str
    words: str
    rows: tuple[tuple[str, str | None], ...]
    offender: str | None = None


EXPIRED = ("session_timeout", "new_group")
STORIES: dict[str, tuple[Callable[[], Files], Truth]] = {
    "all expire and are back at once": (
        lambda: all_expire(1.8),
        Truth(
            *("coordinator_pause", "warning", "4 members expired when broker 1 most likely stood still, or nothing reached it"),
            tuple((cause, "coordinator_pause") for cause in EXPIRED),
        ),
    ),
    "all expire and some are back at once": (
        lambda: all_expire(1.8, range(2)),
        Truth("single", "warning", "4 members missed their session timeout together", tuple((cause, None) for cause in EXPIRED)),
    ),
    "all expire and are back after a while": (
        lambda: all_expire(40),
        Truth("single", "warning", "4 members missed their session timeout together", tuple((cause, None) for cause in EXPIRED)),
    ),
    "all expire after a load": (
        lambda: all_expire(1.8, loaded_at=-30),
        Truth("single", "warning", "4 members missed their session timeout together", tuple((cause, None) for cause in EXPIRED)),
    ),
    "the broker denies heartbeats": (
        denied_by_the_broker,
        Truth("not_authorized", "warning", "User:app was refused 3 times", (("session_timeout", "not_authorized"),)),
    ),
    "a client is denied": (
        denied_to_a_client,
        Truth("not_authorized", "warning", "c was refused", (("member_join", None), ("member_leave", "not_authorized")), "c"),
    ),
}


@pytest.mark.parametrize("name", STORIES)
def test_what_a_broker_did_is_told_of_it(tmp_path: Path, name: str) -> None:
    files, truth = STORIES[name]
    found = told(tmp_path, **files())
    found.incidents = [incident for incident in found.incidents if incident.kind != "no_members"]  # what follows of it
    incident = worst(found)
    assert (incident.kind, incident.severity) == (truth.kind, truth.severity)
    assert truth.words in incident.headline
    assert (incident.worst_offender.client_id if incident.worst_offender else None) == truth.offender
    rows = sorted(found.rebalances, key=lambda row: row.began)
    assert tuple((row.cause, row.root_cause) for row in rows) == truth.rows


def moves_told(found: AnalysisResult) -> list[Incident[str]]:
    return [incident for incident in found.incidents if incident.kind == "coordinator_move"]


def test_a_coordinator_that_moves_is_told_where_nobody_rebalances(tmp_path: Path) -> None:
    found = told(tmp_path, **moved())
    (incident,) = moves_told(found)
    assert (incident.groups, incident.severity) == (["orders"], "info")
    assert "from broker 1 to broker 2 and was away for 760 ms; no rebalance followed" in incident.headline
    (move,) = found.coordinator_moves
    assert move.gap_seconds == pytest.approx(0.76)


def test_a_load_of_minutes_needs_attention(tmp_path: Path) -> None:
    (incident,) = moves_told(told(tmp_path, **moved(load_seconds=240)))
    assert incident.severity == "warning"


def test_a_move_that_a_rebalance_follows_is_told_with_it(tmp_path: Path) -> None:
    assert moves_told(told(tmp_path, **moved(rebalance_at=20))) == []


# -- leaders ---------------------------------------------------------------------------------------------------------

CHANGED = "partition change for clicks-0 with topic ID Yx5ZbHcCQd2Sj1y6g3lY5A"
AT_RISK = "its new leader was not in sync, so that acknowledged records may be lost"


def unclean(line: str) -> Files:
    """3.7: the controller elects a replica that was not in sync, at once."""
    story = Story("INFO [QuorumController id=1] {} (org.apache.kafka.controller.ReplicationControlManager)").others(-300, 900)
    return {"controller": story.say(0, line)}


def test_an_unclean_election_says_that_records_may_be_lost(tmp_path: Path) -> None:
    change = "isr: [2] -> [3], leader: 2 -> 3, leaderEpoch: 4 -> 5, partitionEpoch: 7 -> 8"
    found = told(tmp_path, **unclean(f"UNCLEAN {CHANGED}: {change}"))
    (outage,) = found.outages
    assert (outage.at_risk, outage.ended_by, outage.leader_before, outage.leader_after) == (True, "unclean_election", "2", "3")
    assert worst(found).severity == "critical"
    assert AT_RISK in worst(found).headline


@pytest.mark.parametrize(
    "line",
    [
        f"UNCLEAN {CHANGED}: replicas: [2] -> [3], isr: [2] -> [3], leader: 2 -> 3, leaderEpoch: 4 -> 5, partitionEpoch: 7 -> 8",
        f"{CHANGED}: isr: [2, 3] -> [3], leader: 2 -> 3, leaderEpoch: 4 -> 5, partitionEpoch: 7 -> 8",
    ],
    ids=["replicas that move with their leader", "a clean election"],
)
def test_no_loss_is_told_of_other_elections(tmp_path: Path, line: str) -> None:
    assert list(told(tmp_path, **unclean(line)).incidents) == []


# -- what the version decides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "version", "days"),
    [(None, None, 1), (None, "1.0.2", 1), (None, "2.0.1", 7), ("removing member {} on LeaveGroup", None, 7)],
    ids=["0.11 to 2.0", "1.0", "2.0", "2.1 to 3.1"],
)
def test_offsets_are_kept_as_long_as_the_version_does_by_default(
    tmp_path: Path, reason: str | None, version: str | None, days: int
) -> None:
    story = began(Story().others(-300, 900), 0, "etl", 8, reason.format(member("e")) if reason else None)
    story.say(0.02, f"Group etl with generation 9 is now empty ({PARTITION})")
    if version is not None:
        story.add(-400, f"INFO Kafka version : {version} (org.apache.kafka.common.utils.AppInfoParser)")
    (row,) = told(tmp_path, server=story).offsets_at_risk
    assert row.retention_seconds == days * 86_400


def test_of_members_with_one_default_name_that_of_the_reason_is_named_first(tmp_path: Path) -> None:
    """2.4: the line of the member that began it stands before the excerpt, and the others expire after it."""
    story = Story()
    began(story, 0, "tracks", 320, f"removing member {member('rdkafka', 1)} on heartbeat expiration")
    for number in (2, 3, 4):
        story.say(number / 1000, f"Member {member('rdkafka', number)} in group tracks has failed, removing it from the group")
    story.say(2, f"Group tracks with generation 321 is now empty ({PARTITION})")
    (row,) = told(tmp_path, server=story).rebalances
    assert (row.cause, row.offenders[0].member_id) == ("session_timeout", member("rdkafka", 1))
