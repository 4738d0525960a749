"""Excerpts as people paste them: what their lines do not tell is not told of them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze

BOOT = "INFO 7 --- [ntainer#0-0-C-1] o.a.k.c.c.internals.ConsumerCoordinator  : [Consumer clientId=mill-1, groupId=mill]"
OFFSETS = "(__consumer_offsets-0)"
PREPARING = "Preparing to rebalance group mill in state PreparingRebalance with old generation"
ID = "mill-1-5f0d2c7e-8f11-4a5b-9d3e-2b1c0d9e7a66"
GENERATION = f"Generation{{generationId=41, memberId='{ID}', protocol='range'}}"
SCALA = "[{}] INFO [GroupCoordinator {}]: {} (kafka.coordinator.group.GroupCoordinator)"


class Told(NamedTuple):
    """What is told of the last rebalance: its generations, the likeliest cause, and who began it."""

    generations: tuple[int | None, int | None]
    outcome: str
    cause: str
    is_sure: bool
    offenders: list[str | None]


def excerpt(folder: Path, *lines: str) -> AnalysisResult:
    path = folder / "excerpt.log"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return analyze([str(path)])


def boot(*messages: tuple[str, str]) -> tuple[str, ...]:
    return tuple(f"2029-04-02 10:15:{second}  {BOOT} {message}" for second, message in messages)


def worker(*messages: tuple[str, str]) -> tuple[str, ...]:
    prefix = "INFO [Worker clientId=mill-1, groupId=mill]"
    return tuple(f"[2029-04-02 10:15:{second.replace('.', ',')}] {prefix} {message} ({HERDER})" for second, message in messages)


def scala(*messages: tuple[str, int, str]) -> tuple[str, ...]:
    return tuple(SCALA.format(f"2029-04-02 10:{at}", node, message) for at, node, message in messages)


UNKNOWN = "UNKNOWN_MEMBER_ID, resetting generation"
TAKEN = "Setting newly assigned partitions {TopicPartition(topic='bolts', partition=3)} for group mill"
KNOWN = "Dynamic Member with unknown member id joins group mill in Stable state."
JOINED = (
    ("40.512", f"Successfully joined group with generation {GENERATION}"),
    ("40.520", f"Successfully synced group in generation {GENERATION}"),
)
HERDER = "org.apache.kafka.connect.runtime.distributed.DistributedHerder"
STARTS = (("13.002", "Rebalance started"), ("13.003", "(Re-)joining group"), *JOINED)
GIVEN_UP = ("13.001", "Revoke previously assigned partitions bolts-0, bolts-1")
REJOINS = ("13.002", "(Re-)joining group")
RDKAFKA = 'rdkafka#consumer-1| [thrd:main]: Group "mill"'

CASES: dict[str, tuple[tuple[str, ...], Told]] = {
    "a member that hears of a rebalance did not begin it": (
        boot(("13.000", "Attempt to heartbeat failed since group is rebalancing"), GIVEN_UP, REJOINS, *JOINED),
        Told((40, 41), "stable", "member_join", False, []),
    ),
    "nor one that only says that it will rejoin": (
        boot(("13.000", "Request joining group due to: group is already rebalancing"), GIVEN_UP, REJOINS, *JOINED),
        Told((40, 41), "stable", "member_join", False, []),
    ),
    "a member that gives up partitions rejoins": (
        boot(GIVEN_UP, REJOINS, *JOINED),
        Told((40, 41), "stable", "unknown", False, []),
    ),
    "a worker whose configuration is another one is a member that follows a change": (
        worker(("13.000", "Current config state offset 47 does not match group assignment 44. Forcing rebalance."), *STARTS),
        Told((40, 41), "stable", "connector_config_change", False, []),
    ),
    "so is one that a change was told to": (
        worker(("13.000", "Connector bolts-sink config updated"), *STARTS),
        Told((40, 41), "stable", "connector_config_change", False, []),
    ),
    "a worker that asks for a rebalance was a member": (
        worker(("13.000", "Request joining group due to: connect worker requested rejoin"), *STARTS),
        Told((40, 41), "stable", "connector_config_change", False, []),
    ),
    "a wish to rejoin a group that rebalances shows a rebalance": (
        boot(("13.000", "Request joining group due to: group is already rebalancing")),
        Told((None, None), "open", "member_join", False, []),
    ),
    "an assignment names the generation where the line of the join is missing": (
        boot(
            ("40.511", "Finished assignment for group at generation 41: {}"),
            *JOINED[1:],
            ("40.530", "Adding newly assigned partitions: bolts-0"),
        ),
        Told((40, 41), "stable", "member_join", False, []),
    ),
    "a member that the group does not know went by its session": (
        boot(("13.000", f"Attempt to heartbeat with {GENERATION} and group instance id Optional.empty failed due to {UNKNOWN}")),
        Told((None, None), "open", "session_timeout", False, [ID]),
    ),
    "so did one that no line names": (
        (
            "[2029-04-02 10:15:13,112: WARNING]: Heartbeat failed: local member_id was not recognized; resetting and re-joining group",
            "[2029-04-02 10:15:13,119: WARNING]: Marking the coordinator dead (node 7)for group mill.",
        ),
        Told((None, None), "open", "session_timeout", False, [None]),
    ),
    "partitions end a rebalance of a member that no line names": (
        (
            "2029-04-02 10:15:13,582 - kafka.coordinator - INFO - Successfully joined group mill with generation 41",
            "2029-04-02 10:15:13,583 - kafka.coordinator.consumer - INFO - " + TAKEN,
            "2029-04-02 10:21:09,880 - kafka.coordinator - WARNING - Heartbeat session expired, marking coordinator dead",
        ),
        Told((40, 41), "stable", "member_join", False, []),
    ),
    "a cooperative member that hears of a rebalance names its id": (
        (
            f"%7|1870000000.100|REJOIN|{RDKAFKA}: Rejoining group with 1 owned partition(s): Group is rebalancing",
            f'%7|1870000000.101|JOIN|rdkafka#consumer-1| [thrd:main]: 127.0.0.1:9092/1: Joining group "mill" '
            f'with 1 subscribed topic(s) and member id "{ID}"',
            "%7|1870000003.1|JOINGROUP|rdkafka#consumer-1| [thrd:main]: JoinGroup response: GenerationId 41, Protocol cooperative-sticky, "
            f"LeaderId mill-2-0a1b2c3d-8f11-4a5b-9d3e-2b1c0d9e7a66, my MemberId {ID}, member metadata count 0: (no error)",
        ),
        Told((40, 41), "open", "member_join", False, []),
    ),
    "a group that another broker knows as stable is not new": (
        scala(
            ("15:30.769", 1, f"{PREPARING} 69 {OFFSETS} (reason: leader mill-a re-joining group during Stable)"),
            ("20:11.041", 2, f"{KNOWN} Created a new member id saw-b for this member and add to the group."),
            ("20:11.042", 2, f"{PREPARING} 70 {OFFSETS} (reason: Adding new member saw-b with group instance id None)"),
            ("20:14.045", 2, "Stabilized group mill generation 71 (__consumer_offsets-0) with 1 members"),
        ),
        Told((70, 71), "open", "member_join", True, ["saw-b"]),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_of_groups(tmp_path: Path, name: str) -> None:
    lines, expected = CASES[name]
    row = excerpt(tmp_path, *lines).rebalances[-1]
    offenders = [person.member_id for person in row.offenders or ()]
    generations = (row.generation_before, row.generation_after)
    assert Told(generations, row.outcome, row.cause, row.confidence >= 0.9, offenders) == expected


def test_who_did_not_rejoin_held_the_others_up_though_the_log_ends_right_after(tmp_path: Path) -> None:
    lines = scala(
        ("20:11.042", 2, f"{PREPARING} 70 {OFFSETS} (reason: Adding new member saw-b with group instance id None)"),
        ("20:41.044", 2, "Group mill removed dynamic members who haven't joined: Set(saw-a)"),
        ("20:41.045", 2, "Stabilized group mill generation 71 (__consumer_offsets-0) with 1 members"),
    )
    assert [person.member_id for person in excerpt(tmp_path, *lines).rebalances[-1].blockers or ()] == ["saw-a"]


def test_the_first_share_of_a_log_does_not_show_that_its_client_started(tmp_path: Path) -> None:
    result = "allocateMessageQueueStrategyName=AVG, group=mill, topic=bolts, clientId=192.0.2.1@7, mqAllSize=8, cidAllSize=3"
    share = "rebalanceResultSize=1, rebalanceResultSet=[MessageQueue [topic=bolts, brokerName=b, queueId=0]]"
    row = excerpt(
        tmp_path, f"2029-04-02 10:15:14.100 INFO  [RebalanceService] (Log.java:110) - rebalanced result changed. {result}, {share}"
    )
    change = row.allocation_changes[-1]
    assert change.confidence < 0.9
    assert not change.offenders


@pytest.mark.parametrize(
    "stamp",
    [
        "10:00:{:02d}.200 [debug] ",
        "[10:00:{:02d}] INFO ",
        "Oct 14 10:00:{:02d} kx7 app/worker.1: ",
        "  Jan 18 10:00:{:02d}.807  INFO kafka: ",
        "14/Oct/2023:10:00:{:02d} +0000 ",
        "2023-10-14 10:00:{:02d} ",
    ],
    ids=["hour", "boxed hour", "syslog", "tracing", "web server", "date"],
)
def test_lines_of_one_length_are_no_lines_that_a_terminal_cut(stamp: str, tmp_path: Path) -> None:
    joined = "Joined consumer group rooms generation {} as kafka_ex-2cd3f1c4-9b3f-4c0e-9e1b-1b2c3d4e5f60"
    lines = [stamp.format(second) + joined.format(second + 12) for second in range(2)]
    (tmp_path / "paste.log").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert [row.generation_after for row in analyze([str(tmp_path)]).rebalances] == [12, 13]
