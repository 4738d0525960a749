"""What the first screen and the exit code say of harm and of doubt, by small logs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.pipelines.cli.conftest import Cli

COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
CONSUMER = "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator"
A, B, C = (f"app-{number}-{str(number) * 8}-1111-1111-1111-111111111111" for number in (1, 2, 3))
FULL = "The consumer group has reached its max size."
PROTOCOLS = (
    "The group member's supported protocols are incompatible with those of existing members or first group member tried to join "
    "with empty protocol type or empty protocol list."
)


def server(at: str, text: str, logger: str = COORDINATOR) -> str:
    """A line of a broker."""
    return f"[2026-11-21 {at}] INFO [GroupCoordinator 1]: {text} ({logger})"


def client(at: str, text: str, level: str = "INFO", thrown: str = "") -> str:
    """A line of a consumer, with the exception behind it."""
    line = f"[2026-11-21 {at}] {level} [Consumer clientId=app-9, groupId=orders] {text} ({CONSUMER})"
    return f"{line}\n{thrown}" if thrown else line


def begun(at: str, generation: int, reason: str) -> str:
    """The coordinator's line at the start of a rebalance."""
    reason = f" (reason: {reason})" if reason else ""
    where = f"in state PreparingRebalance with old generation {generation} (__consumer_offsets-3)"
    return server(at, f"Preparing to rebalance group orders {where}{reason}")


def stable(at: str, generation: int, members: int) -> str:
    """The coordinator's line at the end of a join phase."""
    return server(at, f"Stabilized group orders generation {generation} (__consumer_offsets-3) with {members} members")


def assigned(at: str, generation: int, members: int) -> str:
    """The coordinator's line at the end of a rebalance."""
    size = f"The group has {members} members, 0 of which are static."
    return server(at, f"Assignment received from leader {A} for group orders for generation {generation}. {size}")


def joined(member: str) -> str:
    """Reason of a rebalance that a new member begins."""
    return f"Adding new member {member} with group instance id None; client reason: not provided"


START = [begun("10:00:00,010", 0, joined(A)), stable("10:00:03,010", 1, 1), assigned("10:00:03,020", 1, 1)]
EMPTIED = [
    *START,
    begun("10:05:00,010", 1, f"Removing member {A} on LeaveGroup; client reason: the consumer is being closed"),
    server("10:05:00,011", "Group orders with generation 2 is now empty (__consumer_offsets-3)"),
]


REMOVED = (
    "[2026-11-28 10:10:00,011] INFO [GroupMetadataManager brokerId=1] Group orders transitioned to Dead in generation 2 "
    "(kafka.coordinator.group.GroupMetadataManager)"
)
BARE = [
    server(f"10:0{minute}:{text}", said).replace("2026", "2018")
    for minute, generation in ((0, 4), (9, 5))
    for text, said in (
        ("00,010", f"Preparing to rebalance group orders with old generation {generation} (__consumer_offsets-3)"),
        ("00,210", f"Stabilized group orders generation {generation + 1} (__consumer_offsets-3)"),
        ("00,215", f"Assignment received from leader for group orders for generation {generation + 1}"),
    )
]
"""Lines of a broker before 2.1, which says neither who joined or left nor why."""


@dataclass(frozen=True)
class Case:
    """A log, the exit code under `--fail-on warning`, and what is said of it."""

    lines: list[str]
    code: int
    said: tuple[str, ...]
    unsaid: tuple[str, ...] = ()


CASES = {
    "a first start is expected": Case(START, 0, ("Nothing needs attention: 1 incident, which was expected.",), ("WARNING",)),
    "a group that stood still for minutes is not scaling": Case(
        [*START, begun("10:10:00,010", 1, joined(B)), stable("10:14:10,010", 2, 2), assigned("10:14:10,020", 2, 2),
         begun("10:15:10,010", 2, joined(C)), stable("10:15:13,010", 3, 3), assigned("10:15:13,020", 3, 3)],
        1,
        ("1 of 2 incidents needs attention; groups stood still for 4 min 13 s in all.", "app-1 held the others up for 4 min 10 s"),
        ("autoscaling",),
    ),
    "a guess is not called expected": Case(
        BARE[:3],
        0,
        ("Nothing seems to need attention: 1 incident, which was probably expected, but its cause is a guess.",),
        ("Nothing needs",),
    ),
    "guesses are counted": Case(BARE, 0, ("2 incidents, all of them probably expected, but 2 causes are guesses.",)),
    "offsets that went with their group": Case(
        [*EMPTIED, REMOVED],
        1,
        ("1 of 3 incidents needs attention", "its committed offsets are lost", "Set the group's offsets by hand"),
        ("Nothing needs attention",),
    ),
    "a group that is full": Case(
        [client("10:00:03,010", "(Re-)joining group"), client("10:00:03,110", f"JoinGroup failed due to unexpected error: {FULL}")],
        1,
        ("1 log file, 1 group, 0 rebalances.", "1 of 1 incident needs attention.", "app-9 was refused; the group has as many members"),
    ),
    "an assignor that nobody else has": Case(
        [client("10:00:03,110", f"JoinGroup failed due to fatal error: {PROTOCOLS}", "ERROR")],
        1,
        ("1 of 1 incident needs attention.", "it offers no assignor or protocol type that the other members offer"),
    ),
    "no right to read as the group": Case(
        [client("10:00:03,110", "FindCoordinator request hit fatal exception",
                thrown="org.apache.kafka.common.errors.GroupAuthorizationException: Not authorized to access group: orders")],
        1,
        ("1 of 1 incident needs attention.", "app-9 was refused; it may not read as this group", "Give the principal READ on the group"),
    ),
    "another fault of the look-up is no refusal": Case(
        [client("10:00:03,110", "FindCoordinator request hit fatal exception",
                thrown="org.apache.kafka.common.errors.TimeoutException: Timed out")],
        0,
        ("whether there were any is not known",),
        ("refused",),
    ),
    "a static member that another one put out": Case(
        [*START,
         server("10:05:00,000", f"Static member with groupInstanceId=pod-0 and unknown member id joins group orders in Stable state. "
                f"Replacing previously mapped member pod-0-{A[6:]} with this groupInstanceId."),
         server("10:05:03,000", f"Request memberId=pod-0-{A[6:]} for static member with groupInstanceId=pod-0 is fenced by current "
                f"memberId=pod-0-{B[6:]} during operation heartbeat")],
        1,
        ("1 of 2 incidents needs attention", "pod-0 was refused; another consumer has its group.instance.id"),
    ),
    "advice that spares a rebalance, but no known stop": Case(
        [server("10:05:00,006", f"Member {A} in group orders has failed, removing it from the group"),
         server("10:05:00,014", "Group orders with generation 31 is now empty (__consumer_offsets-27)")],
        1,
        ("1 of 1 incident needs attention", "nobody stopped; cause unknown", "none of which is known to have stopped the group"),
        ("0.0 member-seconds", "0 ms of 0 ms"),
    ),
    "a stop of unknown length beside one that needs attention": Case(
        [*(line.replace("orders", "bills") for line in BARE[2:3]),
         server("10:05:00,006", f"Member {A} in group orders has failed, removing it from the group"),
         server("10:05:00,014", "Group orders with generation 31 is now empty (__consumer_offsets-27)")],
        1,
        ("how long groups stood still is not known", "1 more incident that seems to need no attention", "but 1 cause is a guess"),
        ("no group stood still", "expected"),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_severity_follows_harm_and_doubt(cli: Cli, tmp_path: Path, name: str) -> None:
    case = CASES[name]
    (tmp_path / "server.log").write_text("\n".join([*case.lines, ""]), encoding="utf-8")
    done = cli("analyze", tmp_path / "server.log", "--fail-on", "warning")
    shown = " ".join(done.out.split())

    assert done.code == case.code, done.out
    assert all(text in shown for text in case.said), done.out
    assert not any(text in shown for text in case.unsaid), done.out
