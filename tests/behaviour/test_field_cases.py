"""More small stories with the timeouts of the field, in the wordings of other versions, and what a person has to be told."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from models.rows import Incident, Rebalance
from pipelines.analysis.in_process import AnalysisResult, analyze
from tests.behaviour.coordinator_log import CONSUMER, JAVA, PARTITION, Story, member, stamp, write


def told(folder: Path, **files: Story) -> AnalysisResult:
    return analyze([write(folder, ((f"{name}.log", story) for name, story in files.items()))])


def began(story: Story, at: float, group: str, before: int, reason: str | None) -> Story:
    """The beginning of a rebalance; None for a reason that 2.0 and earlier don't log."""
    start, number = f"Preparing to rebalance group {group}", f"with old generation {before} ({PARTITION})"
    return story.say(at, f"{start} {number}" if reason is None else f"{start} in state PreparingRebalance {number} (reason: {reason})")


def turn(story: Story, at: float, group: str, before: int, reason: str | None, lasted: float = 2.4) -> Story:
    """A whole rebalance as 0.11 to 2.7 log it."""
    began(story, at, group, before, reason)
    story.say(at + lasted, f"Stabilized group {group} generation {before + 1} ({PARTITION})")
    return story.say(at + lasted + 0.05, f"Assignment received from leader for group {group} for generation {before + 1}")


def added(client: str, start: int = 0) -> str:
    """The reason of a join, as 2.5 to 3.1 word it."""
    return f"Adding new member {member(client, start)} with group instance id None"


def consumer(client: str, group: str, *lines: tuple[float, str]) -> Story:
    """A consumer's own log."""
    story = Story()
    for at, text in lines:
        story.add(at, CONSUMER.format("INFO", client, group, text))
    return story


def joined(generation: int, member_id: str) -> tuple[str, str]:
    """The answers to JoinGroup and SyncGroup in a consumer's log since 2.7."""
    named = f"Generation{{generationId={generation}, memberId='{member_id}', protocol='range'}}"
    return f"Successfully joined group with generation {named}", f"Successfully synced group in generation {named}"


def led(generation: int, member_id: str) -> str:
    """What a leader says of the assignment that it made for itself alone."""
    return f"Finished assignment for group at generation {generation}: {{{member_id}=Assignment(partitions=[sku-3, sku-4])}}"


# -- stories of the coordinator's log alone --------------------------------------------------------------------------


def expired(story: Story, at: float, group: str, before: int, *clients: str) -> Story:
    for client in clients:
        story.say(at, f"Member {member(client)} in group {group} has failed, removing it from the group")
    return turn(story, at + 0.001, group, before, f"removing member {member(clients[0])} on heartbeat expiration", lasted=1.4)


def streams_probes() -> Story:
    """Streams 2.6: the leader looks every ten minutes whether its tasks have warmed up."""
    story, at = Story().others(-300, 0), 2.45
    threads = [f"risk-{number}f0c6c6e-0d2e-4c11-9b1e-2f6a1a7c9d10-StreamThread-1-consumer" for number in (5, 7)]
    turn(story, 0, "risk", 3, added(threads[1]))
    for before in range(4, 8):
        turn(story, at + 600.02, "risk", before, f"leader {member(threads[0])} re-joining group during Stable", lasted=0.08)
        at += 600.15
    return story.others(10, 3600)


def connect_delay(after: float = 300.05, name: str = "connect") -> Story:
    """Connect 2.7: what a lost worker did is given away five minutes later."""
    story = expired(Story().others(-300, 0), 0, "etl", 11, f"{name}-3")
    turn(story, 1.451 + after, "etl", 12, f"Updating metadata for member {member(f'{name}-2')} during Stable")
    return story.others(10, 900)


def rolling_restart() -> Story:
    """2.5: six members are closed and started in turn."""
    story = Story().others(-300, 0)
    for number in range(6):
        at, old, new, before = 40.0 * number, f"cart-{number}", f"cart-{number}", 20 + 2 * number
        story.say(at, f"Member[group.instance.id None, member.id {member(old)}] in group cart has left, removing it from the group")
        turn(story, at + 0.001, "cart", before, f"removing member {member(old)} on LeaveGroup")
        turn(story, at + 18, "cart", before + 1, added(new, 1), lasted=2.6)
    return story.others(260, 900)


def deployment() -> Story:
    """3.0: eight instances come one by one; each waits for the heartbeats of those before, 3 s by default."""
    story = Story().others(-300, 0)
    for number in range(8):
        at, who = 20.0 * number, member(f"fraud-{number}")
        first = f"Dynamic member with unknown member id joins group fraud in {'Stable' if number else 'Empty'} state."
        story.say(at, f"{first} Created a new member id {who} and request the member to rejoin with this id.")
        began(story, at + 0.01, "fraud", number, added(f"fraud-{number}"))
        story.say(at + 3, f"Stabilized group fraud generation {number + 1} ({PARTITION}) with {number + 1} members")
        head = f"Assignment received from leader {member('fraud-0')} for group fraud for generation {number + 1}."
        story.say(at + 3.04, f"{head} The group has {number + 1} members, 0 of which are static.")
    return story.others(170, 900)


def never_synced() -> Story:
    """3.3: a member that joined never asks for its assignment."""
    story = Story().others(-300, 0)
    began(story, 0, "bill", 4, added("b-3")).say(2.9, f"Stabilized group bill generation 5 ({PARTITION}) with 3 members")
    turn(story, 302.91, "bill", 5, f"Removing [{member('b-1')}] on pending sync request expiration", lasted=0.04)
    return story.others(10, 900)


def ghost(session: float, form: str) -> Story:
    """A member id that nobody uses holds up the join phase for one session."""
    story = Story().others(-300, 0)
    began(story, 0, "pay", 4, f"Adding new member {member('p-3', 2)}{form}")
    story.say(session - 0.2, f"Pending member {member('p-3', 1)} in group pay has been removed after session timeout expiration.")
    story.say(session - 0.199, f"Stabilized group pay generation 5 ({PARTITION})")
    story.say(session - 0.15, "Assignment received from leader for group pay for generation 5")
    return story.others(60, 900)


def begins_within() -> Story:
    """3.9: the log was rotated within a rebalance, and the older file is not at hand."""
    story = Story().say(0, f"Stabilized group bids generation 8 ({PARTITION}) with 4 members")
    head = f"Assignment received from leader {member('a')} for group bids for generation 8."
    return story.say(0.05, f"{head} The group has 4 members, 0 of which are static.").others(1, 1800)


def ends_within(after: float) -> Story:
    """2.6: the log ends soon after a rebalance began."""
    story = Story().others(-300, 0)
    return began(story, 0, "bids", 3, added("x")).others(1, after, 2)


def poll_loop() -> Story:
    """0.11, where no line tells who leaves: each time one poll interval after the assignment."""
    story, at, before = Story().others(-300, 0), 0.0, 5
    for _ in range(4):
        turn(story, at, "thumbs", before, None, lasted=2.1)
        turn(story, at + 302.35, "thumbs", before + 1, None, lasted=1.1)
        at, before = at + 350, before + 2
    return story.others(10, at)


def flapping() -> Story:
    """2.2: one member misses its session again and again."""
    story, before = Story().others(-300, 0), 5
    for start in range(5):
        who = member("g-2", start)
        story.say(95.0 * start, f"Member {who} in group geo has failed, removing it from the group")
        turn(story, 95.0 * start + 0.001, "geo", before, f"removing member {who} on heartbeat expiration")
        turn(story, 95.0 * start + 15, "geo", before + 1, f"Adding new member {member('g-2', start + 1)}")
        before += 2
    return story.others(20, 900)


def stuck_in_sync() -> Story:
    """2.6, which has no sync timeout: the leader never sends its assignment."""
    story = Story().others(-300, 0)
    began(story, 0, "bill", 4, added("b-3")).say(2.9, f"Stabilized group bill generation 5 ({PARTITION})")
    return story.others(10, 1500)


def store_fails() -> Story:
    """2.0: each write of the assignment is given up after 5 s."""
    story = Story().others(-300, 0)
    for number in range(7):
        turn(story, 6.05 * number, "bill", 4 + number, None, lasted=1.0)
    return story.others(60, 900)


def evicted() -> Story:
    """0.11: the join phase runs to the rebalance timeout."""
    return turn(Story().others(-300, 0), 0, "thumbs", 5, None, lasted=300.004).others(310, 900)


def stopped_and_started() -> Story:
    """2.4: all are closed, and start six hours later."""
    story = Story().others(-300, 0)
    for number in range(3):
        who = member(f"n-{number}")
        story.say(number / 5, f"Member[group.instance.id None, member.id {who}] in group nightly has left, removing it from the group")
    began(story, 0.001, "nightly", 8, f"removing member {member('n-0')} on LeaveGroup")
    story.say(0.41, f"Group nightly with generation 9 is now empty ({PARTITION})")
    return turn(story, 21_600, "nightly", 9, added("n-0", 1), lasted=3.01).others(10, 22_000, 600)


@dataclass(frozen=True)
class Truth:
    """What the lines of a story show: the worst incident, and one row."""

    cause: str
    severity: str
    kind: str = "single"
    confidence: tuple[float, float] = (0.0, 1.0)
    offenders: tuple[str, ...] | None = None
    blockers: tuple[str | None, ...] = ()
    root: str | None = None
    count: int | None = None
    row: int = -1
    words: str = ""


COORDINATORS: dict[str, tuple[Story, Truth]] = {
    "probes of Streams": (streams_probes(), Truth("cooperative_followup", "info", confidence=(0.6, 0.95), count=5)),
    "a planned second step of Connect": (
        connect_delay(),
        Truth("scheduled_rebalance", "warning", confidence=(0.6, 0.9), offenders=(), root="cooperative_followup", count=2),
    ),
    "a worker that rejoins at another time": (connect_delay(after=77), Truth("subscription_change", "warning", confidence=(0.0, 0.9))),
    "a consumer that rejoins after that time": (
        connect_delay(name="app"),
        Truth("subscription_change", "warning", confidence=(0.0, 0.9)),
    ),
    "a rolling restart": (
        rolling_restart(),
        Truth("member_join", "info", "rolling_restart", offenders=("cart-5",), root="rolling_restart", count=12),
    ),
    "instances one by one": (deployment(), Truth("member_join", "info", "autoscaling", offenders=("fraud-1",), count=8, row=1)),
    "a member that never syncs": (
        never_synced(),
        Truth("member_join", "critical", blockers=("b-1",), root="sync_timeout", count=2, row=0, words="b-1 held the others up"),
    ),
    "a ghost of 2.2": (ghost(10, ""), Truth("member_join", "warning", "slow_member", blockers=("p-3",), root="ghost_member")),
    "a ghost of 3.7": (
        ghost(45, " with group instance id None; client reason: not provided"),
        Truth("member_join", "warning", "slow_member", blockers=("p-3",), root="ghost_member"),
    ),
    "a log that begins within a rebalance": (begins_within(), Truth("unknown", "info", confidence=(0.0, 0.5), offenders=(), count=1)),
    "a log that ends within a rebalance": (ends_within(3.6), Truth("member_join", "info", offenders=("x",), count=1)),
    "a log that ends long after its beginning": (
        ends_within(40),
        Truth("member_join", "warning", "slow_member", offenders=("x",), blockers=(None,), count=1),
    ),
    "a loop of late polls": (poll_loop(), Truth("poll_timeout", "warning", confidence=(0.6, 0.9), offenders=(), count=8)),
    "a member that comes and goes": (
        flapping(),
        Truth("session_timeout", "warning", "flapping_member", offenders=("g-2",), count=10, row=-2, words="g-2 missed its session"),
    ),
    "a leader that never syncs": (
        stuck_in_sync(),
        Truth("member_join", "critical", "stuck", blockers=(None,), count=1, words="waiting for the SyncGroup"),
    ),
    "assignments that are not stored": (
        store_fails(),
        Truth("assignment_store_failed", "warning", "assignment_store", offenders=(), root="assignment_store_failed", count=7),
    ),
    "an eviction without lines": (
        evicted(),
        Truth("member_join", "critical", "slow_member", confidence=(0.0, 0.6), offenders=(), blockers=(None,), root="slow_processing"),
    ),
    "a stop and a start": (stopped_and_started(), Truth("new_group", "info", confidence=(0.9, 1.0), offenders=("n-0",), count=2)),
}


@pytest.mark.parametrize("name", COORDINATORS)
def test_a_coordinators_log_alone(tmp_path: Path, name: str) -> None:
    story, truth = COORDINATORS[name]
    found = told(tmp_path, server=story)
    rows = sorted(found.rebalances, key=lambda row: row.generation_before or 0)
    row = rows[truth.row]
    assert (row.cause, row.root_cause) == (truth.cause, truth.root)
    assert truth.confidence[0] <= row.confidence <= truth.confidence[1]
    assert truth.count in {None, len(rows)}
    assert truth.offenders in {None, tuple(sorted(each.client_id or "" for each in row.offenders))}
    assert tuple(each.client_id for each in row.blockers) == truth.blockers
    incident = worst(found)
    assert (incident.severity, incident.kind) == (truth.severity, truth.kind)
    assert truth.words in incident.headline


def worst(found: AnalysisResult) -> Incident[str]:
    return min(found.incidents, key=lambda each: ("critical", "warning", "info").index(each.severity))


def rows_by_start(found: AnalysisResult) -> list[Rebalance]:
    return sorted(found.rebalances, key=lambda row: row.began)


# -- groups that end -------------------------------------------------------------------------------------------------

MANAGER = "INFO [GroupMetadataManager brokerId=1] {} (kafka.coordinator.group.GroupMetadataManager)"


@pytest.mark.parametrize("is_deleted", [True, False], ids=["deleted", "expired"])
def test_a_group_that_somebody_deletes_is_told_as_such(tmp_path: Path, is_deleted: bool) -> None:
    story = Story().others(-300, 0)
    began(story, 0, "etl", 8, f"removing member {member('d')} on LeaveGroup")
    story.say(0.02, f"Group etl with generation 9 is now empty ({PARTITION})").add(
        3600, MANAGER.format("Group etl transitioned to Dead in generation 9")
    )
    if is_deleted:
        story.say(3600.02, "The following groups were deleted: etl. A total of 24 offsets were removed.")
    found = told(tmp_path, server=story.others(60, 5000))
    (removal,) = (each for each in found.incidents if each.kind in {"group_deleted", "offsets_lost"})
    assert (removal.kind, removal.severity) == (("group_deleted", "info") if is_deleted else ("offsets_lost", "warning"))


def test_two_processes_with_one_instance_id_are_told_where_no_line_names_their_group(tmp_path: Path) -> None:
    story = Story().others(-300, 0)
    for start in range(5):
        old, new = member("pay-0", start), member("pay-0", start + 1)
        replaced = f"assigning new member id {new}, while old member {old} will be removed."
        story.say(12.0 * start, f"Static member Some(pay-0) with unknown member id rejoins, {replaced}")
        known = f"ERROR given member.id {old} is identified as a known static member pay-0,but not matching the expected member.id {new}"
        story.add(12.0 * start + 2.2, f"{known} (kafka.coordinator.group.GroupMetadata)")
    (fenced,) = (each for each in told(tmp_path, server=story.others(70, 900)).incidents if each.kind == "static_member_fenced")
    assert "pay-0 was fenced by another consumer with its group.instance.id 5 times" in fenced.headline


# -- an application's log alone --------------------------------------------------------------------------------------


def test_a_member_that_was_dropped_while_in_its_callback_was_not_paused(tmp_path: Path) -> None:
    first, second = joined(5, member("b")), joined(7, member("b", 1))
    unknown = "encountered UNKNOWN_MEMBER_ID from JOIN_GROUP response"
    app = consumer(
        *("b", "stock", (-57, first[0]), (-56.95, led(5, member("b"))), (-56.9, first[1])),
        (2.1, "Request joining group due to: group is already rebalancing"),
        (2.11, "Revoke previously assigned partitions sku-3, sku-4"),
        (314.4, "(Re-)joining group"),
        (314.42, f"Resetting generation and member id due to: {unknown}"),
        (314.43, f"Request joining group due to: {unknown}"),
        *((314.53, "(Re-)joining group"), (317.9, second[0]), (317.95, second[1])),
    )
    row = next(row for row in told(tmp_path, app=app).rebalances if row.generation_before == 5)
    assert (row.cause, row.root_cause, row.advice_id) == ("rebalance_timeout", "slow_processing", "slow_processing")
    assert row.confidence <= 0.9
    (blocker,) = row.blockers
    assert (blocker.client_id, "in its callback for 5 min 12 s" in blocker.reason) == ("b", True)


CUT_OFF = "Group coordinator kafka-1:9092 (id: 2147483646 rack: null) is unavailable or invalid, will attempt rediscovery"


@pytest.mark.parametrize(("was_cut_off", "root"), [(True, None), (False, "client_pause")])
def test_a_consumer_that_was_cut_off_was_not_paused(tmp_path: Path, was_cut_off: bool, root: str | None) -> None:
    lines = [(-200.0, "Successfully joined group with generation 9"), (-199.9, "Adding newly assigned partitions: r-1")]
    if was_cut_off:
        lines += [(-1.2, CUT_OFF), (95, "Discovered group coordinator kafka-1:9092 (id: 2147483646 rack: null)")]
    lines += [(95.1, f"Attempt to heartbeat failed for since member id {member('r-2')} is not valid."), (95.2, "(Re-)joining group")]
    lines += [(97.5, "Successfully joined group with generation 11"), (97.6, "Adding newly assigned partitions: r-1")]
    rows = {row.generation_before: row for row in told(tmp_path, app=consumer("r-2", "route", *lines)).rebalances}
    assert (rows[9].cause, rows[9].root_cause) == ("session_timeout", root)


def test_a_join_without_a_line_of_its_assignment_stopped_nobody_for_long(tmp_path: Path) -> None:
    lines = [(0, "(Re-)joining group"), (2.4, "Successfully joined group with generation 9")]
    lines += [(549, "Attempt to heartbeat failed since group is rebalancing"), (549.1, "(Re-)joining group")]
    lines += [(551.2, "Successfully joined group with generation 10")]
    found = told(tmp_path, app=consumer("r-2", "route", *lines))
    assert rows_by_start(found)[0].outcome == "stable"
    assert rows_by_start(found)[0].duration_seconds == pytest.approx(2.4, abs=0.01)
    assert worst(found).severity == "info"


def kafkajs(at: float, message: str, **fields: object) -> str:
    day, time = stamp(at).replace(",", ".").split()
    return json.dumps({"level": "INFO", "timestamp": f"{day}T{time}Z", "logger": "kafkajs", "message": message, **fields}) + "\n"


def test_a_library_without_generations_shows_no_new_group(tmp_path: Path) -> None:
    def join(at: float, start: int) -> str:
        ids = {"memberId": member("invoice", start), "leaderId": member("invoice", 9), "isLeader": False}
        return kafkajs(at, "[ConsumerGroup] Consumer has joined the group", groupId="invoices", **ids)

    unknown = "The coordinator is not aware of this member"
    gone = kafkajs(761.5, f"[Runner] {unknown}, re-joining the group", groupId="invoices", memberId=member("invoice"), error=unknown)
    (tmp_path / "app.log").write_text(join(0, 0) + gone + join(764.5, 1), encoding="utf-8")
    rows = rows_by_start(analyze([str(tmp_path)]))
    assert [row.cause for row in rows[1:2]] == ["session_timeout"]
    assert rows[2].confidence < 0.7  # others may have gone on all the while


def franz(at: float, message: str, **fields: object) -> str:
    day, time = stamp(at).split(",")[0].split()
    return json.dumps({"level": "info", "time": f"{day}T{time}Z", "msg": message, "group": "outbox", **fields}) + "\n"


def test_a_removed_member_by_a_librarys_default_id_is_no_newcomer(tmp_path: Path) -> None:
    def join(at: float, generation: int) -> str:
        return franz(at, "joined", member_id=member("kgo", generation), instance_id=None, generation=generation, leader=False)

    unknown = franz(552, "heartbeat errored", err="UNKNOWN_MEMBER_ID: The coordinator is not aware of this member.")
    (tmp_path / "app.log").write_text(join(3, 7) + unknown + franz(552, "joining group") + join(555, 9), encoding="utf-8")
    rows = {row.generation_before: row for row in analyze([str(tmp_path)]).rebalances}
    assert (rows[7].cause, [each.client_id for each in rows[7].offenders]) == ("session_timeout", ["kgo"])
    assert rows[6].duration_seconds == pytest.approx(0, abs=0.01)


# -- other protocols -------------------------------------------------------------------------------------------------


_TWICE = "with instance id i-0 cannot join the group because the instance id is owned by member m1."
_MISSING = "Topic configuration failed for topology epoch 0 in 0ms: Source topics trades-v2 are missing."


@pytest.mark.parametrize(
    ("lines", "kind", "severity", "words"),
    [
        (
            [f"[GroupId feed] Static member m2 {_TWICE}"] * 6,
            *("static_member_fenced", "warning", "i-0 was refused 6 times"),
        ),
        (
            [f"[GroupId risk][MemberId a] {_MISSING}"] * 4,
            *("topology_not_ready", "critical", "source topics are missing (trades-v2)"),
        ),
    ],
    ids=["4.0, one instance id twice", "4.2, a missing topic"],
)
def test_what_keeps_members_of_newer_groups_from_work(tmp_path: Path, lines: list[str], kind: str, severity: str, words: str) -> None:
    story = Story(JAVA).others(-300, 0)
    for number, text in enumerate(lines):
        story.say(5.0 * number, text)
    incident = worst(told(tmp_path, server=story.others(60, 900)))
    assert (incident.kind, incident.severity) == (kind, severity)
    assert words in incident.headline


@pytest.mark.parametrize(
    ("lines", "is_clean"), [(["Shrinking ISR from 2,3 to 2"], False), ([], True)], ids=["alone in sync", "both in sync"]
)
def test_a_leader_from_outside_the_isr_is_no_clean_one(tmp_path: Path, lines: list[str], is_clean: bool) -> None:
    changed, state = (
        "Changed partition clicks-0 from {} to OnlinePartition with state",
        "LeaderAndIsr(leader={}, leaderEpoch={}, isr=List({}))",
    )
    controller = Story("TRACE [Controller id=1 epoch=5] {} (state.change.logger)")
    first, second = state.format(2, 0, "2, 3"), state.format(3, 1, 3)
    controller.say(-3600, f"{changed.format('NewPartition')} {first[:-1]}, zkVersion=0)")
    controller.say(0, "Changed partition clicks-0 state from OnlinePartition to OfflinePartition")
    controller.say(0.01, f"{changed.format('OfflinePartition')} {second[:-1]}, zkVersion=5)")
    leader = Story("INFO [Partition clicks-0 broker=2] {} (kafka.cluster.Partition)").others(-500, -1)
    for text in lines:
        leader.say(-600, text)
    moves = analyze([write(tmp_path, (("b1/state-change.log", controller), ("b2/server.log", leader)))]).leader_moves
    assert [(move.to_node, move.is_clean_election) for move in moves] == [("3", is_clean)]
