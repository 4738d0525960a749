"""Groups that a client's log names and whose stop it tells, though none of its lines is of a join.

Wordings after Kafka's AbstractHeartbeatRequestManager and AbstractMembershipManager (4.1), AbstractCoordinator (0.10.1, 3.6),
ConsumerCoordinator (0.10.1), ConsumerGroupCommand (3.9), and ruby-kafka's connection.rb and consumer_group.rb.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze
from tests.behaviour.test_field_excerpts import Row, said
from tests.behaviour.test_pasted_excerpts import excerpt

MEMBER = "ZmxvdXItc2Fjay1vbmU0Mg"
OVEN = "2030-03-01 09:{} {} [{}Consumer clientId=oven-1, groupId=oven] {} (org.apache.kafka.clients.consumer.internals.{})"
LATE = (
    "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured "
    "max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages."
)
AGAIN = "Time between subsequent calls to poll() was longer than the configured max.poll.interval.ms, exceeded approximately by {} ms. "
UNKNOWN = (
    f"ConsumerGroupHeartbeatRequest failed because member {MEMBER} is unknown. in 30ms: Member {MEMBER} is not a member of group oven."
)
FENCED = (
    f"ConsumerGroupHeartbeatRequest failed for member {MEMBER} because epoch 14 is fenced. in 30ms: "
    "The member epoch is fenced by the group coordinator."
)


def modern(at: str, level: str, text: str, kind: str = "") -> str:
    """A line of a client that speaks the newer protocol."""
    return OVEN.format(at, level, kind, text, "ConsumerHeartbeatRequestManager")


def turned(at: str, epoch: int, before: str, after: str, kind: str = "") -> str:
    """A member's change of state."""
    manager = f"{kind or 'Consumer'}MembershipManager"
    return OVEN.format(at, "INFO", kind, f"Member {MEMBER} with epoch {epoch} transitioned from {before} to {after}.", manager)


def gone(kind: str = "") -> tuple[str, ...]:
    """A late poll, after which its member leaves by itself."""
    return (
        modern("00:00,000", "WARN", LATE, kind),
        turned("00:00,001", 14, "STABLE", "PREPARE_LEAVING", kind),
        turned("00:00,002", -1, "PREPARE_LEAVING", "LEAVING", kind),
        turned("00:00,010", -1, "LEAVING", "STALE", kind),
    )


def back(epoch: int, at: str = "02:10") -> tuple[str, ...]:
    """A member that joins anew."""
    return (
        turned(f"{at},001", 0, "STALE", "JOINING"),
        turned(f"{at},100", epoch, "JOINING", "RECONCILING"),
        turned(f"{at},200", epoch, "RECONCILING", "ACKNOWLEDGING"),
        turned(f"{at},300", epoch, "ACKNOWLEDGING", "STABLE"),
    )


POLLS_AGAIN = modern("02:10,000", "WARN", AGAIN.format(130000) + f"Member {MEMBER} will rejoin the group now.")
OUT = (turned("00:00,001", 14, "STABLE", "FENCED"), turned("00:00,003", 0, "FENCED", "JOINING"))
OLD = "2019-04-02 08:00:{} {} org.apache.kafka.clients.consumer.internals.{} - {}"
RUBY = "E, [2031-06-18T04:24:{} #67039] ERROR -- : [[plough] {{}}:] {}"
ASKED = "INFO [Consumer clientId=oven-1, groupId=oven] (Re-)joining group (org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
RESET = "Giving away all assigned partitions as lost since generation/memberID has been reset"
MILL = "[Consumer clientId=mill-1, groupId=mill] "
BEAT = "Attempt to heart beat failed for group mill since "

CASES: dict[str, tuple[tuple[str, ...], list[Row]]] = {
    "a late poll is one rebalance of the epoch that its member was in": (gone(), [Row((14, 15), None, "open", "poll_timeout")]),
    "so is one in a share group": (gone("Share"), [Row((14, 15), None, "open", "poll_timeout")]),
    "its return is another": (
        (*gone(), POLLS_AGAIN, *back(16)),
        [Row((14, 15), None, "superseded", "poll_timeout"), Row((15, 16), 0.3, "stable", "member_join")],
    ),
    "without its states no epoch is known": ((gone()[0],), [Row((None, None), None, "open", "poll_timeout")]),
    "who polls again is not late again": (
        (gone()[0], POLLS_AGAIN),
        [Row((None, None), None, "stable", "poll_timeout"), Row((None, None), 0.0, "open", "member_join")],
    ),
    "states that begin with the return leave the late poll": (
        (gone()[0], POLLS_AGAIN, *back(17)),
        [Row((None, None), None, "superseded", "poll_timeout"), Row((16, 17), 0.3, "stable", "member_join")],
    ),
    "a removal that the log begins with": (
        (modern("00:00,000", "INFO", UNKNOWN), *OUT),
        [Row((14, 15), None, "open", "session_timeout")],
    ),
    "a removal and the return": (
        (modern("00:00,000", "INFO", UNKNOWN), *OUT, *back(16, "00:00")[1:]),
        [Row((14, 15), None, "superseded", "session_timeout"), Row((15, 16), 0.3, "stable", "member_join")],
    ),
    "a member that is an epoch behind was not removed": (
        (modern("00:00,000", "INFO", FENCED), *OUT, *back(15, "00:00")[1:]),
        [Row((14, 15), 0.3, "stable", "metadata_change")],
    ),
    "a JoinGroup that ruby-kafka gives up goes on": (
        (
            RUBY.format("25.731780", "Connection error while trying to join group `plough`; retrying..."),
            *(RUBY.format("29.841175", "[join_group] Timed out while waiting for response 2"),),
            RUBY.format("29.841614", "Connection error while trying to join group `plough`; retrying..."),
            RUBY.format("36.745722", "[join_group] Timed out while waiting for response 2"),
        ),
        [Row((None, None), 6.9, "open", "member_join")],
    ),
    "the command line says that a group is rebalancing": (
        ("", "Warning: Consumer group 'barn' is rebalancing.", "", "GROUP  TOPIC  PARTITION  CURRENT-OFFSET  LOG-END-OFFSET  LAG"),
        [Row((None, None), None, "open", "member_join")],
    ),
    "a commit of 0.10 that comes too late": (
        (
            OLD.format(
                *("00,000", "WARN", "ConsumerCoordinator"),
                "Auto offset commit failed for group mill: Commit cannot be completed since the group has already rebalanced and assigned "
                "the partitions to another member.",
            ),
        ),
        [Row((None, None), None, "open", "poll_timeout")],
    ),
    "a heartbeat of 0.10 that is refused": (
        (OLD.format("00,000", "DEBUG", "AbstractCoordinator", BEAT + "it is rebalancing."),),
        [Row((None, None), 0.0, "open", "member_join")],
    ),
    "a heartbeat of another generation": (
        (OLD.format("00,000", "DEBUG", "AbstractCoordinator", BEAT + "generation id is not legal."),),
        [Row((None, None), 0.0, "open", "member_join")],
    ),
    "partitions that are lost": (
        (
            OLD.format("00,000", "INFO", "ConsumerCoordinator", MILL + RESET),
            *(OLD.format("00,001", "INFO", "ConsumerCoordinator", MILL + "Lost previously assigned partitions a-0"),),
            OLD.format("00,002", "INFO", "ConsumerCoordinator", MILL + "(Re-)joining group"),
        ),
        [Row((None, None), None, "open", "poll_timeout")],
    ),
    "who asks for minutes and is not answered waits in a rebalance": (
        tuple(f"2030-03-01 09:{second // 60:02d}:{second % 60:02d},000 {ASKED}" for second in range(0, 200, 20)),
        [Row((None, None), 180.0, "open", "unknown")],
    ),
    "who asks once may not have been heard": ((f"2030-03-01 09:00:00,000 {ASKED}",), []),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_stop_that_a_log_tells_is_a_rebalance(tmp_path: Path, name: str) -> None:
    lines, expected = CASES[name]
    rows = sorted(excerpt(tmp_path, *lines).rebalances, key=lambda row: (row.began, row.generation_before or 0))
    assert [said(row) for row in rows] == expected


REFUSALS = {
    "not the coordinator": "JoinGroup failed: This is not the correct coordinator. Marking coordinator unknown.",
    "not available": "JoinGroup failed: The coordinator is not available. Marking coordinator unknown.",
    "loading": "JoinGroup failed: Coordinator kb1:9092 (id: 2147483646 rack: null) is loading the group.",
}


@pytest.mark.parametrize("name", REFUSALS)
@pytest.mark.parametrize("is_lost", [True, False], ids=["lost and found each time", "refused only"])
def test_a_coordinator_that_is_found_and_refuses_is_none(tmp_path: Path, name: str, is_lost: bool) -> None:
    """The loop of a group whose offsets partition has no leader, or one that can't load it."""
    generation = "Generation{generationId=-1, memberId='', protocol='null'}"
    refusal = REFUSALS[name] + ("" if name == "loading" else f" Sent generation was {generation}")
    lost = "Group coordinator kb1:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: error response NOT_COORDINATOR."
    lines = []
    for second in range(0, 300, 5):
        at = f"2030-03-01 09:{second // 60:02d}:{second % 60:02d}"
        said_then = [("000", "(Re-)joining group"), ("100", refusal)]
        said_then += [("101", lost + " isDisconnected: false. Rediscovery will be attempted.")] if is_lost else []
        said_then += [("300", "Discovered group coordinator kb1:9092 (id: 2147483646 rack: null)")]
        lines += [f"{at},{millis} {ASKED.replace('(Re-)joining group', text)}" for millis, text in said_then]
    told = excerpt(tmp_path, *lines)
    (incident,) = told.incidents
    assert (incident.kind, "found no coordinator for 4 min 55 s" in incident.headline) == ("coordinator_unavailable", True)
    assert list(told.rebalances) == []


FOUND = "INFO [Consumer clientId={0}, groupId={1}] Discovered group coordinator kb1:9092 (id: 2147483646 rack: null)"
CALLBACKS = (
    "2029-10-15 09:13:13,100 INFO Assigned partitions: [corn [[0]]]",
    "2029-10-15 09:23:13,100 INFO Revoked partitions: [corn [[0]]]",
    "2029-10-15 09:23:16,100 INFO Assigned partitions: [corn [[1]]]",
)


@pytest.mark.parametrize(
    ("clients", "count"),
    [([("mill-1", "mill")], 2), ([("mill-1", "mill"), ("mill-2", "mill")], 0), ([("mill-1", "mill"), ("mill-1", "sieve")], 0)],
    ids=["one client", "two clients", "two groups"],
)
def test_callbacks_are_of_the_only_client_of_their_log(tmp_path: Path, clients: list[tuple[str, str]], count: int) -> None:
    logger = "(org.apache.kafka.clients.consumer.internals.ConsumerCoordinator)"
    names = (f"2029-10-15 09:13:10,200 {FOUND.format(*names)} {logger}" for names in clients)
    rows = excerpt(tmp_path, *names, *CALLBACKS).rebalances
    assert [row.group for row in rows] == ["mill"] * count


@pytest.mark.parametrize(
    ("group", "is_marked"),
    [
        *((name, True) for name in ("...", "<group>", "xxxx", "XXX-XXX", "***", "[redacted]", "${GROUP_ID}", "masked", "####")),
        *((name, False) for name in ("mill", "x", "xx", "a.b", "xxl-job", "max-x", "hidden-layer", "-")),
    ],
)
def test_a_placeholder_is_marked_as_one(tmp_path: Path, group: str, is_marked: bool) -> None:
    lines = (
        f"[2022-03-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group {group} in state PreparingRebalance "
        "with old generation 4 (__consumer_offsets-3) (reason: removing member c on heartbeat expiration) "
        "(kafka.coordinator.group.GroupCoordinator)",
        f"[2022-03-01 10:05:00,010] INFO [GroupCoordinator 1]: Stabilized group {group} generation 5 (__consumer_offsets-3) "
        "(kafka.coordinator.group.GroupCoordinator)",
    )
    answer = excerpt(tmp_path, *lines)
    assert [row.group for row in answer.rebalances] == [group]
    assert [row.group for row in answer.divergences if "placeholder" in row.observed] == [group] * is_marked


def test_a_members_lines_without_times_are_of_the_rebalance_that_its_coordinator_logs(tmp_path: Path) -> None:
    client = "[Consumer clientId=mill-2, groupId=mill] "
    (tmp_path / "server.log").write_text(
        "[2022-03-01 10:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group mill in state PreparingRebalance with old "
        "generation 4 (__consumer_offsets-3) (reason: removing member c on heartbeat expiration) "
        "(kafka.coordinator.group.GroupCoordinator)\n"
        "[2022-03-01 10:00:03,010] INFO [GroupCoordinator 1]: Stabilized group mill generation 5 (__consumer_offsets-3) with 2 members "
        "(kafka.coordinator.group.GroupCoordinator)\n",
        encoding="utf-8",
    )
    (tmp_path / "app.log").write_text(
        f"{client}Successfully joined group with generation 5\n{client}Setting newly assigned partitions [a-0]\n", encoding="utf-8"
    )
    (row,) = analyze([str(tmp_path)]).rebalances
    assert (row.generation_before, row.generation_after, row.cause) == (4, 5, "session_timeout")
