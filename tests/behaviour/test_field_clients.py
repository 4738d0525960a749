"""Small stories of consumers that are cut off, slow, refused or at fault, in the wordings of several versions and libraries."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path

import pytest

from models.rows import Rebalance
from pipelines.analysis.in_process import analyze
from tests.behaviour.coordinator_log import CONSUMER, JAVA, PARTITION, START, Story, member
from tests.behaviour.test_field_cases import began, consumer, joined, led, told, turn, worst
from tests.behaviour.test_field_coordinators import MANAGER, Files

COORDINATOR = "kafka-1:9092 (id: 2147483646 rack: null)"
LOST = f"Group coordinator {COORDINATOR} is unavailable or invalid due to cause:"
NO_ANSWER = "session timed out without receiving a heartbeat response. isDisconnected: false. Rediscovery will be attempted."
UNKNOWN = "encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"


def added(client: str, start: int = 0) -> str:
    """The reason of a join, as 3.2 to 3.9 word it."""
    return f"Adding new member {member(client, start)} with group instance id None; client reason: not provided"


def put_out(client: str, lost_at: float | None, heard_at: float) -> Files:
    """3.6: a session ends, and its client hears of it later; `lost_at` says when it began to look for its coordinator."""
    server = Story().others(-300, 0).say(45, f"Member {member(client)} in group net has failed, removing it from the group")
    turn(server, 45.001, "net", 5, f"removing member {member(client)} on heartbeat expiration", lasted=1.4)
    turn(server, heard_at + 0.4, "net", 6, added(client, 1), lasted=3.1)
    before, after = joined(5, member(client)), joined(7, member(client, 1))
    app = consumer(
        *(client, "net", (-400, before[0]), (-399.9, before[1])),
        (heard_at + 0.1, f"Resetting generation and member id due to: {UNKNOWN}"),
        (heard_at + 0.2, f"Request joining group due to: {UNKNOWN}"),
        *((heard_at + 0.3, "(Re-)joining group"), (heard_at + 3.5, after[0]), (heard_at + 3.6, after[1])),
    )
    if lost_at is not None:
        app.add(lost_at, CONSUMER.format("INFO", client, "net", f"{LOST} {NO_ANSWER}"))
        app.add(heard_at, CONSUMER.format("INFO", client, "net", f"Discovered group coordinator {COORDINATOR}"))
    return {"server": server.others(200, 900), "app": app}


def expired_root(files: Files, folder: Path) -> str | None:
    return next(row.root_cause for row in told(folder, **files).rebalances if row.generation_before == 5)


@pytest.mark.parametrize(
    ("lost_at", "heard_at", "root"),
    [(0.5, 120, "network"), (45.2, 120, "network"), (61.9, 62, "client_pause"), (None, 62, "client_pause")],
    ids=["cut off from the first heartbeat", "cut off until its session had run out", "pause, told by its own timer", "pause"],
)
def test_a_client_that_is_cut_off_was_not_paused(tmp_path: Path, lost_at: float | None, heard_at: float, root: str) -> None:
    assert expired_root(put_out("net-1", lost_at, heard_at), tmp_path) == root


# -- a group with members whose logs are not at hand ------------------------------------------------------------------


def follower(*after: tuple[float, str], leads: bool = False) -> Files:
    """3.6: a member is given its assignment by another, unless it leads."""
    answers = joined(5, member("f"))
    told_of = [(-399.95, led(5, member("f")))] if leads else []
    return {"app": consumer("f", "stock", (-400, answers[0]), *told_of, (-399.9, answers[1]), *after)}


LEAVES = (
    (0.0, "Revoke previously assigned partitions sku-3, sku-4"),
    (0.05, f"Member {member('f')} sending LeaveGroup request to coordinator {COORDINATOR} due to the consumer is being closed"),
    (0.06, "Resetting generation and member id due to: consumer pro-actively leaving the group"),
)


@pytest.mark.parametrize(("leads", "outcome"), [(False, "open"), (True, "empty")])
def test_a_group_goes_empty_only_with_its_leader(tmp_path: Path, leads: bool, outcome: str) -> None:
    row = max(told(tmp_path, **follower(*LEAVES, leads=leads)).rebalances, key=lambda row: row.began)
    assert (row.cause, row.outcome, [who.client_id for who in row.offenders]) == ("member_leave", outcome, ["f"])


def test_a_follower_that_comes_back_finds_the_others(tmp_path: Path) -> None:
    back = joined(7, member("f", 1))
    rows = sorted(told(tmp_path, **follower(*LEAVES, (60, "(Re-)joining group"), (63, back[0]), (63.1, back[1]))).rebalances, key=began_at)
    assert [(row.generation_before, row.outcome) for row in rows[1:]] == [(5, "superseded"), (6, "stable")]


def began_at(row: Rebalance) -> int:
    return row.began


# -- without coordinator ---------------------------------------------------------------------------------------------


def searching(seconds: float, *, starts_anew: bool = False) -> Files:
    """3.4: the partition of the group has no leader for a while; its consumer goes on reading and can't commit."""
    lines = [(-400.0, joined(5, member("n"))[0]), (-399.9, joined(5, member("n"))[1])]
    lines += [(0.0, f"{LOST} error response NOT_COORDINATOR. isDisconnected: false. Rediscovery will be attempted.")]
    lines += [(seconds, f"Discovered group coordinator {COORDINATOR}")]
    story = consumer("n", "orders", *lines)
    if starts_anew:
        story.add(seconds - 1, CONSUMER.format("INFO", "n", "orders", "Subscribed to topic(s): t").replace(CLASS, "KafkaConsumer"))
    return {"app": story}


CLASS = "internals.ConsumerCoordinator"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        (searching(600), "1 client found no coordinator for 10 min"),
        (searching(20), None),
        (searching(600, starts_anew=True), None),
    ],
    ids=["ten minutes", "a takeover", "another start"],
)
def test_a_long_search_for_a_coordinator_needs_attention(tmp_path: Path, files: Files, words: str | None) -> None:
    found = [each for each in told(tmp_path, **files).incidents if each.kind == "coordinator_unavailable"]
    assert [each.severity for each in found] == (["warning"] if words else [])
    assert all(words is not None and words in each.headline for each in found)


RUNTIME = "INFO [GroupCoordinator id=1] {} (org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime)"


def loaded(milliseconds: int, *, is_java: bool) -> Files:
    """A broker starts, and loads the partition of its groups."""
    took = f"{milliseconds}ms where 2ms was spent in the scheduler. Loaded 4200000 records which total to 900000000 bytes."
    if is_java:
        line = RUNTIME.format(f"Finished loading of metadata from {PARTITION} with epoch 3 in {took}")
        start = "INFO [BrokerServer id=1] Transition from STARTING to STARTED (kafka.server.BrokerServer)"
    else:
        line = MANAGER.format(1, f"Finished loading offsets and group metadata from {PARTITION} in {milliseconds} milliseconds.")
        start = "INFO [KafkaServer id=1] started (kafka.server.KafkaServer)"
    return {"server": Story().others(-300, 900).add(0, start).add(milliseconds / 1000 + 0.2, line)}


@pytest.mark.parametrize("is_java", [False, True], ids=["2.4", "4.1"])
def test_a_load_of_minutes_is_told_though_no_group_is_named(tmp_path: Path, is_java: bool) -> None:
    (incident,) = told(tmp_path / "slow", **loaded(180_000, is_java=is_java)).incidents
    assert (incident.kind, incident.severity) == ("coordinator_unavailable", "warning")
    assert f"broker 1 took 3 min to load {PARTITION}; no group there could join or commit" in incident.headline
    assert list(told(tmp_path / "fast", **loaded(900, is_java=is_java)).incidents) == []


# -- other kinds, each by one witness --------------------------------------------------------------------------------


POLLED_LATE = (
    "consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the configured "
    "max.poll.interval.ms, which typically implies that the poll loop is spending too much time processing messages. You can address "
    "this either by increasing max.poll.interval.ms or by reducing the maximum size of batches returned in poll() with max.poll.records."
)


def slow_listener() -> Files:
    """3.1 below Spring: the listener takes seven minutes, and the container rejoins when it is done."""
    out = "consumer pro-actively leaving the group"
    before, after = joined(5, member("mail")), joined(7, member("mail", 1))
    story = consumer(
        *("mail", "mail", (-10, before[0]), (-9.95, led(5, member("mail"))), (-9.9, before[1]), (290.3, POLLED_LATE)),
        (
            290.31,
            f"Member {member('mail')} sending LeaveGroup request to coordinator {COORDINATOR} due to consumer poll timeout has expired.",
        ),
        (290.32, f"Resetting generation and member id due to: {out}"),
        (290.33, f"Request joining group due to: {out}"),
        (431.1, "Failing OffsetCommit request since the consumer is not part of an active group"),
        *((431.2, "(Re-)joining group"), (434.3, after[0]), (434.4, after[1])),
    )
    story.add(431, "ERROR Consumer exception (org.springframework.kafka.listener.KafkaMessageListenerContainer$ListenerConsumer)")
    return {"app": story}


def refused(error: str) -> Files:
    """2.8: a JoinGroup is refused for good."""
    return {"app": consumer("p", "pay", (0, "(Re-)joining group")).add(0.1, CONSUMER.format("ERROR", "p", "pay", error)).others(1, 900)}


def probed() -> Files:
    """4.1: the leader of a Streams application looks whether its tasks have warmed up."""
    story, leader = Story(JAVA).others(-300, 0), member("risk-5f0c6c6e-0d2e-4c11-9b1e-2f6a1a7c9d10-StreamThread-1-consumer")
    reason = f"Leader {leader} re-joining group during Stable; client reason: Scheduled probing rebalance"
    for number in range(4):
        at, before = 600.1 * number, 5 + number
        story.say(at, f"Preparing to rebalance group risk in state PreparingRebalance with old generation {before} (reason: {reason}).")
        story.say(at + 0.08, f"Stabilized group risk generation {before + 1} with 2 members.")
        assigned = f"Assignment received from leader {leader} for group risk for generation {before + 1}."
        story.say(at + 0.12, f"{assigned} The group has 2 members, 0 of which are static.")
    return {"server": story.others(10, 3600)}


def too_large() -> Files:
    """3.5: group.max.size was lowered, and the group is loaded with more members."""
    story = Story().others(-300, 0).say(-0.2, "Loading group metadata for pay with generation 8")
    full = "Freshly-loaded group is over capacity (3). Rebalancing in order to give a chance for consumers to commit offsets"
    return {"server": turn(story, 0, "pay", 8, full, lasted=3).others(10, 900)}


def ids_unused() -> Files:
    """3.9: a client asks for one member id after the other and uses none."""
    story = began(Story().others(-300, 0), 0.01, "bug", 5, added("bug-0"))
    handed = "Dynamic member with unknown member id joins group bug in PreparingRebalance state. Created a new member id"
    for number in range(120):
        story.say(number / 2, f"{handed} {member('bug-1', number)} and request the member to rejoin with this id.")
        gone = f"Pending member {member('bug-1', number)} in group bug has been removed after session timeout expiration."
        story.say(number / 2 + 45, gone)
    story.say(104.5, f"Stabilized group bug generation 6 ({PARTITION}) with 2 members")
    assigned = f"Assignment received from leader {member('bug-0')} for group bug for generation 6."
    return {"server": story.say(104.6, f"{assigned} The group has 2 members, 0 of which are static.").others(110, 900)}


def id_required() -> Files:
    """3.0: a new member is given its id first (KIP-394), which is no leave."""
    given = f"Request joining group due to: need to re-join with the given member-id: {member('m')}"
    lines = [(0.01, "(Re-)joining group"), (0.06, given), (0.07, "(Re-)joining group")]
    return {"app": consumer("m", "m", *lines, *((3.1 + n / 10, text) for n, text in enumerate(joined(8, member("m"))))).others(5, 900)}


@dataclass(frozen=True, slots=True)
class Truth:
    """The worst incident, and the last row by time."""

    kind: str
    severity: str
    words: str
    cause: str | None = None
    root: str | None = None
    advice: str | None = None
    lasted: float | None = None


INCOMPATIBLE = (
    "The group member's supported protocols are incompatible with those of existing members or first group member tried to join with"
)
FAILED = "JoinGroup failed due to fatal error:"
STORIES: dict[str, tuple[Callable[[], Files], Truth]] = {
    "a slow listener": (slow_listener, Truth("single", "warning", "mail exceeded its poll interval", "new_group", lasted=3.2)),
    "an assignor that nobody else has": (
        lambda: refused(f"{FAILED} {INCOMPATIBLE} empty protocol type or empty protocol list."),
        Truth("inconsistent_protocol", "warning", "p was refused; it offers no assignor"),
    ),
    "a full group": (
        lambda: refused(f"{FAILED} The consumer group has reached its max size."),
        Truth("group_full", "warning", "p was refused; the group has as many members as group.max.size allows"),
    ),
    "probes of Streams": (
        probed,
        Truth("single", "info", "rejoined as planned (Scheduled probing rebalance)", "cooperative_followup", lasted=0.12),
    ),
    "a group that is too large": (
        too_large,
        Truth(
            "coordinator_move", "warning", "more members than group.max.size", "coordinator_failover", "coordinator_failover", "group_full"
        ),
    ),
    "ids that nobody uses": (
        ids_unused,
        Truth("slow_member", "warning", "bug-1 held the others up for 1 min 44 s", "member_join", "ghost_member", "ghost_member"),
    ),
    "an id that is asked for": (id_required, Truth("single", "info", "m started the group", "new_group", lasted=3.2)),
}


@pytest.mark.parametrize("name", STORIES)
def test_what_a_client_did_is_told_of_it(tmp_path: Path, name: str) -> None:
    files, truth = STORIES[name]
    found = told(tmp_path, **files())
    incident = worst(found)
    assert (incident.kind, incident.severity) == (truth.kind, truth.severity)
    assert truth.words in incident.headline
    rows = sorted(found.rebalances, key=lambda row: row.began)
    assert [(row.cause, row.root_cause) for row in rows[-1:]] == ([(truth.cause, truth.root)] if truth.cause else [])
    assert truth.advice is None or rows[-1].advice_id == truth.advice
    assert truth.lasted is None or rows[-1].duration_seconds == pytest.approx(truth.lasted, abs=0.1)


# -- librdkafka, and epochs ------------------------------------------------------------------------------------------


def rdkafka(at: float, level: int, facility: str, text: str) -> str:
    return f"%{level}|{START.replace(tzinfo=UTC).timestamp() + at:.3f}|{facility}|app#consumer-1| [thrd:main]: {text}\n"


LATE = "Application maximum poll interval (300000ms) exceeded by 216ms (adjust max.poll.interval.ms for long-running message processing)"


def test_a_late_poll_counts_though_its_group_is_named_later(tmp_path: Path) -> None:
    lines = rdkafka(0, 4, "MAXPOLL", f"{LATE}: leaving group")
    lines += rdkafka(
        7000, 6, "REBALANCE", 'Group "billing" is rebalancing (initiated) in state up (join-state steady) with 2 assigned partition(s)'
    )
    (tmp_path / "app.log").write_text(lines, encoding="utf-8")
    found = analyze([str(tmp_path)])
    (row,) = found.rebalances
    assert (row.group, row.cause, [each.client_id for each in row.offenders]) == ("billing", "poll_timeout", ["app"])
    # nothing tells how long the others waited, if there were any
    assert (row.at_least_seconds, worst(found).severity) == (None, "warning")


def test_an_epoch_without_an_end_is_not_told_as_one_of_no_length(tmp_path: Path) -> None:
    story = Story(JAVA).others(-300, 0)
    story.say(0, "[GroupId orders] Member m2 joins the consumer group using the consumer protocol.")
    story.say(0.001, "[GroupId orders] Bumped group epoch to 8 with metadata hash 123.")
    (incident,) = told(tmp_path, server=story.others(60, 900)).incidents
    assert "nobody stopped; m2 joined" in incident.headline
