"""Small stories of late polls, errors that stop consumers or brokers, and what a person has to be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.coordinator_log import CONSUMER, PARTITION, SCALA, Story, member
from tests.behaviour.test_field_cases import began, consumer, joined, told, worst
from tests.behaviour.test_field_clients import POLLED_LATE
from tests.behaviour.test_field_coordinators import MANAGER, Files

NETWORK = "{} [Consumer clientId={}, groupId={}] {} (org.apache.kafka.clients.NetworkClient)"


# -- late polls ------------------------------------------------------------------------------------------------------


def late_and_back(why: str | None) -> Files:
    """3.5: a member leaves and is back under a new id before the others have rejoined."""
    ends = "" if why is None else f"; client reason: {why}"
    settings = "sessionTimeoutMs=45000, rebalanceTimeoutMs=300000, supportedProtocols=List(range)"
    who = f"Member MemberMetadata(memberId={member('t-2')}, groupInstanceId=None, clientId=t-2, clientHost=/10.2.0.7, {settings})"
    story = Story().others(-300, 0).say(0, f"{who} has left group tiles through explicit `LeaveGroup` request{ends}")
    began(story, 0.001, "tiles", 8, f"Removing member {member('t-2')} on LeaveGroup{ends}")
    handed = f"Created a new member id {member('t-2', 1)} and request the member to rejoin with this id."
    story.say(1.1, f"Dynamic member with unknown member id joins group tiles in PreparingRebalance state. {handed}")
    story.say(2.9, f"Stabilized group tiles generation 9 ({PARTITION}) with 3 members")
    assigned = f"Assignment received from leader {member('t-1')} for group tiles for generation 9."
    return {"server": story.say(2.94, f"{assigned} The group has 3 members, 0 of which are static.").others(20, 900)}


@pytest.mark.parametrize(
    ("why", "cause"),
    [("consumer poll timeout has expired.", "poll_timeout"), ("the consumer is being closed", "member_restart")],
)
def test_who_polled_late_was_not_restarted_though_it_is_back(tmp_path: Path, why: str, cause: str) -> None:
    (row,) = [row for row in told(tmp_path, **late_and_back(why)).rebalances if row.generation_before == 8]
    assert (row.cause, [each.client_id for each in row.offenders]) == (cause, ["t-2"])


def test_logs_of_late_polls_alone_name_all_that_were_late_and_claim_no_length(tmp_path: Path) -> None:
    story = Story()
    for at in (0, 700):
        for number in range(3):
            story.add(at + 31 * number, CONSUMER.format("WARN", f"w-{number}", "pdf", POLLED_LATE))
    found = told(tmp_path, app=story)
    assert [[each.client_id for each in row.offenders] for row in found.rebalances] == [["w-0", "w-1", "w-2"]] * 2
    assert [row.duration_seconds for row in found.rebalances] == [None, None]
    assert {(each.severity, "stopped for an unknown time" in each.headline) for each in found.incidents} == {("warning", True)}


# -- errors that stop a consumer -------------------------------------------------------------------------------------


def failing_assignor(thrown: str) -> Files:
    """3.4: what the leader throws while it assigns is what it rejoins for, again and again."""
    story = Story()
    for turn in range(5):
        at = 3.0 * turn
        for after, text in (
            (0.0, "(Re-)joining group"),
            (2.8, joined(5 + turn, member("a"))[0]),
            (2.82, f"Request joining group due to: rebalance failed due to '{thrown}"),
        ):
            story.add(at + after, CONSUMER.format("INFO", "a", "ads", text))
    return {"app": story.others(20, 600)}


@pytest.mark.parametrize(
    ("thrown", "is_own"),
    [("rack unknown' (IllegalStateException)", True), ("null' (DisconnectException)", False), ("x' (RebalanceInProgressException)", False)],
)
def test_an_assignor_that_throws_is_told_and_no_change_of_topics(tmp_path: Path, thrown: str, is_own: bool) -> None:
    found = told(tmp_path, **failing_assignor(thrown))
    failed = [each for each in found.incidents if each.kind == "assignor_failed"]
    assert ["the assignor failed in a 5 times" in each.headline for each in failed] == [True] * is_own
    assert not is_own or not any(row.cause == "subscription_change" for row in list(found.rebalances)[1:])


STREAMS = "{} [{}] {} (org.apache.kafka.streams.processor.internals.StreamThread)"
PROCESS = "risk-5f0c6c6e-0d2e-4c11-9b1e-2f6a1a7c9d1{}"


def stopped_application() -> Files:
    """3.6: an instance answers an exception with SHUTDOWN_APPLICATION, and all stop."""
    files: Files = {}
    for number in range(3):
        process, thread = PROCESS.format(number), f"{PROCESS.format(number)}-StreamThread-1"
        story = consumer(f"{thread}-consumer", "risk", *((-900 + n / 10, text) for n, text in enumerate(joined(7, member(thread)))))
        if number == 0:
            sent = "Encountered the following exception during processing and sent shutdown request for the entire application."
            story.add(0, f"ERROR stream-client [{process}] {sent} (org.apache.kafka.streams.KafkaStreams)")
            told_all = "Detected that shutdown was requested. All clients in this app will now begin to shutdown"
            story.add(0.1, STREAMS.format("WARN stream-thread", thread, told_all))
        heard = "A Kafka Streams client in this Kafka Streams application is requesting to shutdown the application"
        story.add(3.2 + number / 10, STREAMS.format("ERROR stream-thread", thread, heard))
        files[f"app{number}"] = story.add(4, STREAMS.format("INFO stream-thread", thread, "Shutdown complete")).others(10, 900)
    return files


def test_an_application_that_one_instance_stops_is_one_story_and_names_it(tmp_path: Path) -> None:
    incident = worst(told(tmp_path, **stopped_application()))
    assert (incident.kind, incident.severity) == ("shutdown_requested", "critical")
    assert f"{PROCESS.format(0)}-StreamThread-1-consumer had all instances of the application stop" in incident.headline


def test_the_coordinators_log_alone_tells_that_an_application_was_stopped(tmp_path: Path) -> None:
    who = member("a")
    server = began(Story().others(-300, 0), 0, "risk", 7, f"Leader {who} re-joining group during Stable; client reason: Shutdown requested")
    server.say(2.8, f"Stabilized group risk generation 8 ({PARTITION}) with 3 members").others(10, 900)
    found = [each for each in told(tmp_path, server=server).incidents if each.kind == "shutdown_requested"]
    assert [each.severity for each in found] == ["critical"]
    assert f"{who} had all instances of the application stop" in found[0].headline


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        (
            NETWORK.format(
                "ERROR", "c", "pay", "Connection to node -1 (k-1/10.1.0.1:9093) failed authentication due to: SSL handshake failed"
            ),
            "not_authenticated",
            "c and the brokers did not accept each other, by TLS or SASL",
        ),
        (
            "ERROR [Worker clientId=c, groupId=pay] Uncaught exception in herder work thread, exiting: "
            "(org.apache.kafka.connect.runtime.distributed.DistributedHerder)",
            "client_failed",
            "c stopped on an error of its own",
        ),
    ],
    ids=["TLS", "Connect"],
)
def test_an_error_that_stops_a_client_needs_attention(tmp_path: Path, line: str, kind: str, words: str) -> None:
    incident = worst(told(tmp_path, app=Story().add(0, line).others(1, 900)))
    assert (incident.kind, incident.severity) == (kind, "warning")
    assert words in incident.headline


def test_a_member_that_tls_shuts_out_expires_for_that(tmp_path: Path) -> None:
    server = Story().others(-300, 0).say(47, f"Member {member('c')} in group pay has failed, removing it from the group")
    began(server, 47.001, "pay", 5, f"removing member {member('c')} on heartbeat expiration")
    server.say(49, f"Stabilized group pay generation 6 ({PARTITION}) with 2 members")
    app = consumer("c", "pay", (-400, joined(5, member("c"))[0]), (-399.9, joined(5, member("c"))[1]))
    for at in range(4, 100, 10):
        failed = "Connection to node 2147483646 (k-1/10.1.0.1:9093) failed authentication due to: SSL handshake failed"
        app.add(at, NETWORK.format("ERROR", "c", "pay", failed))
    (row,) = [row for row in told(tmp_path, server=server.others(60, 900), app=app).rebalances if row.generation_before == 5]
    assert (row.cause, row.root_cause) == ("session_timeout", "not_authorized")


# -- no way to a coordinator -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Error connecting to node k-1:9092 (id: -1 rack: null)", "as names of brokers were not resolved (DNS)"),
        ("Connection to node -1 (k-1/10.1.0.1:9092) could not be established. Node may not be available.", "as no broker could be"),
        ("Connection to node 3 (k-3/10.1.0.3:9092) could not be established. Node may not be available.", None),
    ],
    ids=["name", "address", "another broker"],
)
def test_a_client_that_never_finds_a_coordinator_is_told_with_what_keeps_it(tmp_path: Path, text: str, words: str | None) -> None:
    story = Story()
    for at in range(0, 400, 10):
        story.add(at, NETWORK.format("WARN", "c", "pay", text))
    found = [each for each in told(tmp_path, app=story).incidents if each.kind == "coordinator_unavailable"]
    assert [each.severity for each in found] == ["warning"] * (words is not None)
    assert all(f"found no coordinator for at least 6 min 30 s, {words}" in each.headline for each in found)


# -- brokers ---------------------------------------------------------------------------------------------------------


def full_disk() -> Files:
    """2.8: a write fails, the only directory goes, the broker halts; another takes the group over."""
    first, second = Story().others(-300, 0), Story(Story().form.replace("1]", "2]")).others(-300, 0)
    failed = "ERROR Error while appending records to clicks-3 in dir /data/kafka (kafka.server.LogDirFailureChannel)"
    first.add(0, f"{failed}\njava.io.IOException: No space left on device\n\tat x.write0(Native Method)")
    lost = f"Broker 1 stopped fetcher for partitions {PARTITION},clicks-3 and stopped moving logs for partitions  because they are in the"
    first.add(0.05, f"WARN [ReplicaManager broker=1] {lost} failed log directory /data/kafka. (kafka.server.ReplicaManager)")
    first.add(0.07, "ERROR Shutdown broker because all log dirs in /data/kafka have failed (kafka.log.LogManager)")
    second.say(6, "Elected as the group coordinator for partition 21 in epoch 12")
    second.add(6.1, MANAGER.format(2, f"Scheduling loading of offsets and group metadata from {PARTITION} for epoch 12"))
    return {"b1": first, "b2": second.others(10, 900)}


def test_a_full_disk_is_named_and_a_partition_that_was_taken_over_is_not_open(tmp_path: Path) -> None:
    found = told(tmp_path, **full_disk())
    assert "the disk of broker 1 was full (/data/kafka)" in next(each.headline for each in found.incidents if each.kind == "disk_full")
    assert [row for row in found.outages if row.topic == "__consumer_offsets"] == []


def test_a_load_of_minutes_is_told_though_no_other_line_is_about_the_broker(tmp_path: Path) -> None:
    took = f"Finished loading offsets and group metadata from {PARTITION} in 251010 milliseconds for epoch 10, of which 1 milliseconds"
    story = Story().others(-300, 900).add(251, MANAGER.format(2, f"{took} was spent in the scheduler."))
    (incident,) = told(tmp_path, server=story).incidents
    assert "broker 2 took 4 min 11 s to load" in incident.headline


# -- headlines -------------------------------------------------------------------------------------------------------


def test_a_guess_about_a_member_reads_as_one(tmp_path: Path) -> None:
    found = told(
        tmp_path, app=consumer("a", "ads", (0, joined(5, member("a"))[0]), (0.1, joined(5, member("a"))[1]), (600, "(Re-)joining group"))
    )
    (guess,) = [each for each in found.incidents if "changed its subscription" in each.headline]
    assert "perhaps a changed its subscription (54%)" in guess.headline


def test_a_leader_that_was_late_did_not_begin_the_generation_that_it_came_back_in(tmp_path: Path) -> None:
    """3.4: it leaves generation 5, and is back in 7, a minute and a half later; others went on in 6."""
    (first, synced), (again, in_sync) = joined(5, member("a")), joined(7, member("a", 1))
    made = f"{{{member('a')}=Assignment(partitions=[t-0]), {member('b')}=Assignment(partitions=[t-1])}}"
    story = consumer(
        *("a", "led", (0, first), (0.01, f"Finished assignment for group at generation 5: {made}"), (0.03, synced)),
        (300.4, POLLED_LATE),
        (300.41, f"Member {member('a')} sending LeaveGroup request to coordinator k-1:9092 (id: 2147483646 rack: null) due to {LATE}"),
        *((391, "(Re-)joining group"), (394, again), (394.03, in_sync)),
    )
    rows = {row.generation_before: row for row in told(tmp_path, app=story).rebalances}
    assert (rows[5].cause, rows[5].duration_seconds) == ("poll_timeout", None)
    assert rows[6].duration_seconds == pytest.approx(3.03)


LATE = "consumer poll timeout has expired."


def test_a_consumer_that_may_not_read_its_topics_needs_attention(tmp_path: Path) -> None:
    denied = "ERROR [Consumer clientId=c, groupId=pay] Topic authorization failed for topics [orders] (org.apache.kafka.clients.Metadata)"
    story = consumer("c", "pay", (-10, joined(5, member("c"))[0]), (-9.9, joined(5, member("c"))[1])).add(0, denied).others(1, 900)
    (incident,) = [each for each in told(tmp_path, app=story).incidents if not each.rebalance_ids]
    assert (incident.kind, incident.severity) == ("not_authorized", "warning")


# -- harm that no failure shows --------------------------------------------------------------------------------------


def assigned_late(joining: float, syncing: float) -> Files:
    """3.0: three rebalances of a group, in each of which its leader takes long to assign."""
    story = Story().others(-300, 0)
    for turn in range(3):
        at, generation = 700.0 * turn, 7 + turn
        began(story, at, "wide", generation, f"Adding new member {member(f'n-{turn}')} with group instance id None")
        story.say(at + joining, f"Stabilized group wide generation {generation + 1} ({PARTITION}) with 60 members")
        received = f"Assignment received from leader {member('lead')} for group wide for generation {generation + 1}."
        story.say(at + joining + syncing, f"{received} The group has 60 members, 0 of which are static.")
    return {"server": story.others(2000, 3600)}


@pytest.mark.parametrize(("joining", "syncing", "is_late"), [(2.9, 41.0, True), (2.9, 1.2, False), (31.0, 12.0, False)])
def test_a_leader_that_assigns_for_long_holds_the_others_up(tmp_path: Path, joining: float, syncing: float, is_late: bool) -> None:
    found = told(tmp_path, **assigned_late(joining, syncing))
    for row in found.rebalances:
        late = [each.client_id for each in row.blockers if each.reason.startswith("sent its assignment last")]
        assert late == (["lead"] if is_late else [])
        assert (row.root_cause == row.advice_id == "slow_assignment") == is_late
    if is_late:
        assert {each.severity for each in found.incidents} == {"warning"}
        assert all("lead held the others up for 41 s" in each.headline for each in found.incidents)


@pytest.mark.parametrize("session", [34.0, 120.0])
def test_a_broker_that_expires_members_of_which_another_takes_care_has_lost_them(tmp_path: Path, session: float) -> None:
    """3.3: the broker is cut off; the next coordinator loads the group, and its members go on there."""
    former, following = Story().others(-300, 0), Story(SCALA.replace("GroupCoordinator 1", "GroupCoordinator 2")).others(-300, 0)
    following.say(9, "Elected as the group coordinator for partition 21 in epoch 6")
    following.say(9.3, "Loading group metadata for zone with generation 8")
    for number in range(3):
        former.say(10 + session + 0.1 * number, f"Member {member(f'z-{number}')} in group zone has failed, removing it from the group")
    began(former, 10.001 + session, "zone", 8, f"removing member {member('z-0')} on heartbeat expiration")
    former.say(10.4 + session, f"Group zone with generation 9 is now empty ({PARTITION})")
    found = told(tmp_path, former=former.others(150, 900), following=following.others(150, 900))
    (row,) = found.rebalances
    assert (row.cause, row.root_cause) == ("session_timeout", "coordinator_failover" if session < 45 else None)


CHANGED = "UNCLEAN partition change for pay-0 with topic ID qCc1WvrJSDaE64wiAm3WQg: isr: [1] -> [3]"


@pytest.mark.parametrize("is_seen", [True, False])
def test_an_unclean_leader_after_a_time_without_any_puts_records_at_risk(tmp_path: Path, is_seen: bool) -> None:
    """3.7: the log begins after the partition's last election."""
    story = Story("INFO [QuorumController id=9] {} (org.apache.kafka.controller.ReplicationControlManager)").others(601, 1800)
    if is_seen:
        story.say(0, "Fencing broker 1 because its session has timed out.")
    story.say(600, f"{CHANGED}, leader: -1 -> 3, leaderEpoch: 9 -> 10, partitionEpoch: 22 -> 23")
    found = told(tmp_path, controller=story)
    (outage,) = found.outages
    assert (outage.at_risk, outage.ended_by, outage.leader_after) == (True, "unclean_election", "3")
    if is_seen:
        assert (outage.online_at or 0) - (outage.offline_at or 0) == 600_000_000
    else:
        assert outage.offline_at is None
    assert outage.cause == ("isr_lost" if is_seen else "unknown")
    assert worst(found).severity == "critical"


def test_a_sink_task_that_failed_needs_attention(tmp_path: Path) -> None:
    ended = "Task threw an uncaught and unrecoverable exception. Task is being killed and will not recover until manually restarted"
    story = Story().add(0, f"ERROR WorkerSinkTask{{id=orders-s3-0}} {ended} (org.apache.kafka.connect.runtime.WorkerTask)").others(1, 1800)
    incident = worst(told(tmp_path, connect=story))
    assert (incident.severity, incident.kind, incident.groups) == ("warning", "client_failed", ["connect-orders-s3"])
    assert "connector-consumer-orders-s3-0" in incident.headline


@pytest.mark.parametrize("lost", [3, None])
def test_a_roll_out_that_goes_on_without_an_instance_needs_attention(tmp_path: Path, lost: int | None) -> None:
    """3.6: six instances are restarted in turn; one of them never comes back."""
    story, generation, count = Story().others(-300, 0), 30, 6
    for number in range(6):
        steps = [(0, -1, f"Removing member {member(f'v-{number}')} on LeaveGroup; client reason: the consumer is being closed")]
        if number != lost:
            came = f"Adding new member {member(f'v-{number}', 1)} with group instance id None; client reason: not provided"
            steps.append((15, 1, came))
        for after, change, reason in steps:
            at, count = 40.0 * number + after, count + change
            began(story, at, "roll", generation, reason)
            generation += 1
            story.say(at + 2.9, f"Stabilized group roll generation {generation} ({PARTITION}) with {count} members")
            received = f"Assignment received from leader {member('lead')} for group roll for generation {generation}."
            story.say(at + 2.95, f"{received} The group has {count} members, 0 of which are static.")
    incident = worst(told(tmp_path, server=story.others(260, 1800)))
    assert (incident.kind, incident.severity) == ("rolling_restart", "info" if lost is None else "warning")
    assert ("5 members were restarted in turn, but v-3 did not come back" in incident.headline) == (lost is not None)
