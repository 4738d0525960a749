"""Small stories with the timeouts of the field, and what the coordinator's rules make of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.rows import Incident
from pipelines.analysis.in_process import AnalysisResult, analyze
from tests.behaviour.coordinator_log import CONSUMER, JAVA, PARTITION, SCALA, Story, member, write


def told(folder: Path, **files: Story) -> AnalysisResult:
    return analyze([write(folder, ((f"{name}.log", story) for name, story in files.items()))])


def kinds(incidents: list[Incident]) -> list[tuple[str, str]]:
    return [(each.severity, each.kind) for each in incidents]


# -- a coordinator that stands still ---------------------------------------------------------------------------------


def preparing(group: str, generation: int, reason: str, form: str) -> str:
    """The beginning of a rebalance; before 2.1 no line tells why."""
    begins, number = f"Preparing to rebalance group {group}", f"with old generation {generation} ({PARTITION})"
    return f"{begins} {number}" if form == "1.1" else f"{begins} in state PreparingRebalance {number} (reason: {reason})"


def expiries(groups: list[str], apart: float, form: str = "3.9") -> Story:
    """Groups that lose their four members each, `apart` seconds from each other, and form anew."""
    story = Story().others(-600, -50)
    for number, group in enumerate(groups):
        at, before = number * apart, 7 + number
        ids = [member(f"{group}-{n}") for n in range(4)]
        for n, each in enumerate(ids):
            story.say(at + n / 100, f"Member {each} in group {group} has failed, removing it from the group")
        story.say(at + 0.001, preparing(group, before, f"removing member {ids[0]} on heartbeat expiration", form))
        story.say(at + 0.04, f"Group {group} with generation {before + 1} is now empty ({PARTITION})")
        joins = f"Adding new member {member(f'{group}-0', 1)} with group instance id None"
        story.say(at + 2, preparing(group, before + 1, joins, form))
        counted = "" if form == "1.1" else " with 4 members"
        story.say(at + 5.005, f"Stabilized group {group} generation {before + 2} ({PARTITION}){counted}")
        story.say(at + 5.03, f"Assignment received from leader for group {group} for generation {before + 2}")
    return story.others(20, 600)


@pytest.mark.parametrize("form", ["1.1", "3.9"])
@pytest.mark.parametrize("groups", [["a", "b", "c"], ["a", "b", "c", "d", "e"]])
def test_sessions_of_several_groups_that_end_together_are_one_story_of_their_coordinator(
    tmp_path: Path, groups: list[str], form: str
) -> None:
    found = told(tmp_path, server=expiries(groups, 0.15, form))
    incidents = list(found.incidents)
    assert [each.groups for each in incidents if each.severity != "info"] == [groups]
    (story,) = (each for each in incidents if each.kind == "coordinator_pause")
    assert story.headline.startswith("broker 1 ")
    assert "stood still" in story.headline
    assert f"{4 * len(groups)} members of {len(groups)} groups" in story.headline
    assert {row.root_cause for row in found.rebalances} == {"coordinator_pause"}
    assert {row.cause for row in found.rebalances} == {"session_timeout", "new_group"}
    # nobody read until the initial delay was over
    assert all(each.stopped_seconds == pytest.approx(3.03, abs=0.01) for each in incidents if each is not story)


LOADED = "INFO [GroupMetadataManager brokerId=1] Finished loading offsets and group metadata from {} in 3 milliseconds. ({})"


@pytest.mark.parametrize(
    "story",
    [
        expiries(["a", "b"], 0.15),  # two groups may end together by chance
        expiries(["a", "b", "c"], 1.2),  # heartbeats are spread over 3 s, and so are sessions that end in time
        expiries(["a", "b", "c"], 0.15).add(-10, LOADED.format(PARTITION, "kafka.coordinator.group.GroupMetadataManager")),
    ],
    ids=["two groups", "spread", "after a load"],
)
def test_other_expiries_are_of_their_members(tmp_path: Path, story: Story) -> None:
    found = told(tmp_path, server=story)
    assert found.rebalances
    assert "coordinator_pause" not in {each.kind for each in found.incidents}
    assert "coordinator_pause" not in {row.root_cause for row in found.rebalances}


# -- static members --------------------------------------------------------------------------------------------------


KEPT = {
    "2.5": "Static member joins during Stable stage will not trigger rebalance.",
    "3.9": "Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger rebalance.",
    "4.1": "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger a rebalance.",
}


def returned(at: float, instance: str, start: int, form: str) -> list[tuple[float, str]]:
    """A static member's return as a version logs it."""
    old, new = member(instance, start), member(instance, start + 1)
    unknown = f"Static member with groupInstanceId={instance} and unknown member id joins group meters in Stable state."
    replaced = f"{unknown} Replacing previously mapped member {old} with this groupInstanceId."
    if form == "2.5":
        unknown = f"Static member Some({instance}) of group meters with unknown member id rejoins"
        replaced = f"{unknown}, assigning new member id {new}, while old member id {old} will be removed."
    return [(at, replaced), (at + 0.01, KEPT[form])]


@pytest.mark.parametrize("form", ["2.5", "3.9", "4.1"])
def test_a_roll_out_of_static_members_names_the_group_and_says_that_nothing_followed(tmp_path: Path, form: str) -> None:
    story = Story(JAVA if form == "4.1" else SCALA)
    for number in range(3):
        for at, text in returned(60.0 * number, f"m-{number}", 0, form):
            story.say(at, text)
    found = told(tmp_path, server=story.others(-300, 900))
    assert list(found.rebalances) == []
    (incident,) = found.incidents
    assert (incident.severity, incident.kind, incident.groups) == ("info", "static_restart", ["meters"])
    assert incident.headline == "meters: static members m-0, m-1, m-2 came back in time and took their places; no rebalance followed"
    assert {row.ended_how for row in found.members} >= {"replaced"}


AWAY = "[GroupId meters] Static member {old} with instance id {instance} temporarily left the consumer group."
BACK = (
    "[GroupId meters] Static member with instance id {instance} re-joins the consumer group using the consumer protocol. "
    "Created a new member {new} to replace the existing member {old}."
)


@pytest.mark.parametrize(("bumped", "spared"), [(False, 1), (True, 0)], ids=["as before", "with another subscription"])
def test_a_static_member_of_the_consumer_protocol_is_back_in_time_if_no_epoch_follows(tmp_path: Path, bumped: bool, spared: int) -> None:
    names = {"instance": "m-0", "old": "CxKjukk9RV-iM44-YQKoMg", "new": "pAJLTEYpSSOuQie_pNsdDw"}
    story = Story(JAVA).say(0, AWAY.format(**names)).say(21, BACK.format(**names))
    if bumped:
        story.say(21.001, "[GroupId meters] Bumped group epoch to 9 with metadata hash 77.")
    found = told(tmp_path, server=story.others(-300, 900))
    restarts = [each for each in found.incidents if each.kind == "static_restart"]
    assert [each.severity for each in restarts] == ["info"] * spared
    assert len(list(found.rebalances)) == bumped


@pytest.mark.parametrize("fenced", [True, False], ids=["fenced", "replaced"])
def test_two_processes_with_one_instance_id_need_attention(tmp_path: Path, fenced: bool) -> None:
    story = Story()
    for turn in range(4):
        at = 31.0 * turn
        for when, text in returned(at, "pay-0", turn, "3.9"):
            story.say(when, text)
        if fenced:
            who = f"Request memberId={member('pay-0', turn)} for static member with groupInstanceId=pay-0"
            story.say(at + 2.8, f"{who} is fenced by current memberId={member('pay-0', turn + 1)} during operation heartbeat")
    found = told(tmp_path, server=story.others(-300, 900))
    (incident,) = found.incidents
    assert (incident.severity, incident.kind, incident.groups) == ("warning", "static_member_fenced", ["meters"])
    assert "pay-0" in incident.headline
    assert "4 times" in incident.headline


# -- rebalances that were planned ------------------------------------------------------------------------------------


def planned(reason: str, after: float) -> Story:
    """A rebalance that a member asked for, `after` seconds from the assignment before."""
    leave = f"reason: explicit `LeaveGroup` request for ({member('b')}) members."
    again = f"reason: Leader {member('a')} re-joining group during Stable; client reason: {reason}"
    return Story().others(-100, 0).turn(0, 8, leave).turn(2.75 + after, 9, again).others(700, 1300)


@pytest.mark.parametrize(
    ("reason", "after", "cause", "sure"),
    [
        ("Scheduled probing rebalance", 600.0, "cooperative_followup", 0.9),
        ("triggered followup rebalance scheduled for 0", 1.0, "cooperative_followup", 0.9),
        ("connect worker requested rejoin", 300.05, "scheduled_rebalance", 0.9),
        ("connect worker requested rejoin", 77.0, "connector_config_change", 0.5),
        ("weekly shuffle by the operator", 77.0, "unknown", 0.0),
    ],
)
def test_a_planned_rebalance_is_told_in_its_own_words(tmp_path: Path, reason: str, after: float, cause: str, sure: float) -> None:
    found = told(tmp_path, server=planned(reason, after))
    row = next(row for row in found.rebalances if row.generation_before == 9)
    assert row.cause == cause
    assert row.confidence >= sure
    assert row.confidence <= 0.5 or cause != "unknown"
    assert reason in (row.trigger_text or "")
    incident = next(each for each in found.incidents if row.rebalance_id in each.rebalance_ids)
    assert incident.severity == ("info" if sure else "warning")  # all that it may be is expected
    if cause in {"cooperative_followup", "scheduled_rebalance", "unknown"}:
        assert f"({reason})" in incident.headline


A_LEAVES = f"reason: explicit `LeaveGroup` request for ({member('d')}) members."


def rejoins(*who: str, apart: float = 0.2) -> Story:
    """Rebalances in a row: one that a leave begins (`-`), or that a member begins by joining again."""
    story = Story().others(-100, 0)
    for number, name in enumerate(who):
        again = f"reason: Updating metadata for member {member(name)} during Stable; client reason: not provided"
        story.turn(number * (0.05 + apart), 8 + number, A_LEAVES if name == "-" else again, lasted=0.01)
    return story.others(60, 300)


@pytest.mark.parametrize(
    ("who", "apart", "second_steps"),
    [
        ("-b", 0.2, [False, True]),
        ("-bc", 0.2, [False, True, True]),
        ("bb", 0.2, [False, True]),
        ("bbb", 0.2, [False, False, False]),
        ("bbbbbb", 0.2, [False] * 6),
        ("bbbbbb", 0.02, [False] * 6),
        ("-bbbb", 0.2, [False, True, False, False, False]),
        ("bbb", 30.0, [False, False, False]),  # none follows at once
    ],
)
def test_a_member_that_joins_again_and_again_takes_no_second_steps(
    tmp_path: Path, who: str, apart: float, second_steps: list[bool]
) -> None:
    """A second step frees nothing, so that the same member has no reason for a third."""
    rows = sorted(told(tmp_path, server=rejoins(*who, apart=apart)).rebalances, key=lambda row: row.generation_before or 0)
    assert [row.cause == "cooperative_followup" for row in rows] == second_steps
    assert {row.cause for row in rows if row.cause not in ("cooperative_followup", "member_leave")} <= {"subscription_change"}


# -- members that are refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("JoinGroup failed due to fatal error: The consumer group has reached its max size.", "group_full"),
        (
            "Attempt to join group failed due to fatal error: The group member's supported protocols are incompatible with those of "
            "existing members or first group member tried to join with empty protocol type or empty protocol list.",
            "inconsistent_protocol",
        ),
    ],
)
def test_a_refused_member_is_named_beside_a_calm_broker(tmp_path: Path, text: str, kind: str) -> None:
    server = Story().others(-100, 0).turn(0, 8, f"reason: Adding new member {member('b')} with group instance id None").others(60, 600)
    client = Story().add(60, CONSUMER.format("ERROR", "late-4", "orders", text))
    found = told(tmp_path, server=server, client=client)
    assert ("warning", kind) in kinds(list(found.incidents))
    (incident,) = (each for each in found.incidents if each.kind == kind)
    assert incident.headline.startswith("orders: late-4 was refused")


# -- waits that no line explains -------------------------------------------------------------------------------------


@pytest.mark.parametrize("lasted", [41.3, 250.7, 301.5])
@pytest.mark.parametrize("form", ["1.1", "2.5", "3.9"])
def test_a_long_wait_has_a_blocker_even_if_nobody_is_named(tmp_path: Path, form: str, lasted: float) -> None:
    counted = " with 3 members" if form == "3.9" else ""
    story = Story().others(-100, 0).say(0, preparing("orders", 5, f"Updating metadata for member {member('a')} during Stable", form))
    story.say(lasted, f"Stabilized group orders generation 6 ({PARTITION}){counted}")
    story.say(lasted + 0.05, "Assignment received from leader for group orders for generation 6")
    found = told(tmp_path, server=story.others(lasted + 10, lasted + 600))
    (row,) = found.rebalances
    assert [(each.client_id, each.reason) for each in row.blockers] == [(None, "kept the others waiting, unnamed")]
    assert (row.root_cause, row.advice_id) == ("slow_processing", "slow_processing")
    (incident,) = found.incidents
    assert incident.severity in {"warning", "critical"}
    assert incident.kind == "slow_member"
    assert "a member that no line names held the others up for" in incident.headline


def test_a_short_wait_has_none(tmp_path: Path) -> None:
    story = Story().others(-100, 0).turn(0, 5, f"reason: Updating metadata for member {member('a')} during Stable", lasted=3.5)
    (row,) = told(tmp_path, server=story.others(20, 600)).rebalances
    assert row.blockers == []


def test_who_asked_for_a_rebalance_did_not_hold_it_up(tmp_path: Path) -> None:
    story = Story().others(-300, -100).turn(-60, 4, f"reason: Adding new member {member('b')} with group instance id None")
    story.say(0, preparing("orders", 5, f"Updating metadata for member {member('b')} during Stable", "2.5"))
    story.say(300.003, f"Stabilized group orders generation 6 ({PARTITION})")
    story.say(300.05, "Assignment received from leader for group orders for generation 6")
    row = list(told(tmp_path, server=story.others(310, 900)).rebalances)[-1]
    assert "b" not in {each.client_id for each in row.blockers}
    assert row.blockers[0].reason.startswith("evicted")


# -- an application's log alone --------------------------------------------------------------------------------------


def consumer(*lines: tuple[float, str], client: str = "geo-1", group: str = "geo") -> Story:
    """A consumer's own log."""
    story = Story()
    for at, text in lines:
        story.add(at, CONSUMER.format("INFO", client, group, text))
    return story


def joined(at: float, generation: int, start: int, client: str = "geo-1", took: float = 2.4) -> list[tuple[float, str]]:
    """A consumer's lines of one join, from 2.7 on."""
    who = f"Generation{{generationId={generation}, memberId='{member(client, start)}', protocol='range'}}"
    return [
        (at, "(Re-)joining group"),
        (at + took, f"Successfully joined group with generation {who}"),
        (at + took + 0.05, f"Successfully synced group in generation {who}"),
    ]


UNKNOWN = "encountered UNKNOWN_MEMBER_ID from HEARTBEAT response"


def test_a_consumer_that_was_put_out_while_it_was_silent(tmp_path: Path) -> None:
    lines = [*joined(0, 12, 0), (441.2, f"Resetting generation and member id due to: {UNKNOWN}")]
    lines += [(441.3, f"Request joining group due to: {UNKNOWN}"), *joined(441.4, 15, 1)]
    found = told(tmp_path, app=consumer(*lines))
    rows = {row.generation_before: row for row in found.rebalances}
    assert sorted(rows) == [11, 12, 14]
    assert (rows[12].cause, rows[12].root_cause, rows[12].confidence) == ("session_timeout", "client_pause", 0.85)
    assert [each.client_id for each in rows[12].offenders] == ["geo-1"]
    assert [each.client_id for each in rows[14].offenders] == ["geo-1"]
    (incident,) = (each for each in found.incidents if each.severity != "info")
    assert "geo-1 missed its session timeout" in incident.headline


LOST = (
    "Group coordinator kafka-1:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: null."
    " isDisconnected: true. Rediscovery will be attempted."
)


def test_a_consumer_whose_coordinator_moved(tmp_path: Path) -> None:
    lines = [*joined(0, 12, 0), (100, LOST), (102, "Discovered group coordinator kafka-2:9092 (id: 2147483645 rack: null)")]
    lines += [(105, "Request joining group due to: group is already rebalancing"), *joined(105.1, 13, 0)]
    found = told(tmp_path, app=consumer(*lines))
    (move,) = found.coordinator_moves
    assert (move.from_node, move.to_node, move.gap_seconds) == ("1", "2", 2.0)
    row = next(row for row in found.rebalances if row.generation_before == 12)
    assert (row.cause, row.confidence) == ("coordinator_failover", 0.5)
    assert {"session_timeout", "member_join"} <= set(row.alternatives)


def test_a_join_that_was_lost_with_the_coordinator_makes_nobody_wait(tmp_path: Path) -> None:
    again = "Request joining group due to: rebalance failed due to 'null' (DisconnectException)"
    lines = [(0, "(Re-)joining group"), (0.1, LOST), (0.1, again)]
    lines += [(29.2, "Discovered group coordinator kafka-1:9092 (id: 2147483646 rack: null)"), *joined(29.3, 3, 0, took=0.5)]
    (row,) = told(tmp_path, app=consumer(*lines)).rebalances
    assert row.join_seconds == 0.5
    assert row.blockers == []


def test_a_consumer_that_waited_for_others(tmp_path: Path) -> None:
    lines = [*joined(0, 12, 0), (100, "Request joining group due to: group is already rebalancing"), *joined(100.1, 13, 0, took=41)]
    row = next(row for row in told(tmp_path, app=consumer(*lines)).rebalances if row.generation_before == 12)
    assert [each.reason for each in row.blockers] == ["kept the others waiting, unnamed"]
    assert row.root_cause is None  # it may have been slow or dead


def test_a_consumer_that_missed_a_generation_was_no_member_of_it(tmp_path: Path) -> None:
    def old(at: float, generation: int) -> list[tuple[float, str]]:  # as 1.1 words it
        return [(at, "(Re-)joining group"), (at + 2.4, f"Successfully joined group with generation {generation}")]

    lines = [each for turn in range(3) for each in old(360.0 * turn, 12 + 2 * turn)]
    rows = list(told(tmp_path, app=consumer(*lines)).rebalances)
    assert [(row.generation_before, row.cause) for row in rows] == [(11, "unknown"), (13, "member_join"), (15, "member_join")]
    assert all(row.confidence <= 0.75 for row in rows)


LOST = "Group coordinator kafka-1:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: error response NOT_COORDINATOR"
LOST += ". isDisconnected: false. Rediscovery will be attempted."


def test_consumers_that_a_new_coordinator_knows_no_more_were_removed_by_its_move(tmp_path: Path) -> None:
    logs = {}
    for name in "ab":
        lines = [*joined(0, 5, 0, name), (200, LOST), (200.1, "Discovered group coordinator kafka-2:9092 (id: 2147483645 rack: null)")]
        lines += [(201, f"Resetting generation and member id due to: {UNKNOWN}"), *joined(201.2, 7, 1, name)]
        logs[name] = consumer(*lines, client=name, group="orders")
    row = next(row for row in told(tmp_path, **logs).rebalances if row.generation_before == 5)
    assert (row.cause, row.root_cause) == ("session_timeout", "coordinator_failover")
    assert "admin_removal" not in row.alternatives


def test_one_log_leaves_open_whether_the_group_was_new_after_its_expiry(tmp_path: Path) -> None:
    lines = [*joined(0, 7, 0), (120, f"Resetting generation and member id due to: {UNKNOWN}"), *joined(120.05, 9, 1, took=3)]
    row = next(row for row in told(tmp_path, app=consumer(*lines)).rebalances if row.generation_before == 8)
    assert row.confidence < 0.7
    assert {row.cause, *row.alternatives} >= {"new_group", "member_join"}


def test_a_probing_rebalance_is_told_as_planned_by_its_clients_log(tmp_path: Path) -> None:
    lines = [*joined(0, 3, 0), (600.0, "Request joining group due to: Scheduled probing rebalance"), *joined(600.01, 4, 0, took=0.2)]
    found = told(tmp_path, app=consumer(*lines))
    assert any("rejoined as planned (Scheduled probing rebalance)" in each.headline for each in found.incidents)


def test_a_member_that_restarts_again_and_again_is_one_story(tmp_path: Path) -> None:
    story = Story()
    for turn in range(6):
        at, old, new = 140.0 * turn, member("w-3", turn), member("w-3", turn + 1)
        story.say(
            at - 0.001, f"Member {old} has left group orders through explicit `LeaveGroup`; client reason: the consumer is being closed"
        )
        story.turn(at, 10 + turn, f"reason: Removing member {old} on LeaveGroup; client reason: the consumer is being closed")
        story.say(
            at + 1.6, f"Pending dynamic member with id {new} joins group orders in PreparingRebalance state. Adding to the group now."
        )
    (incident,) = told(tmp_path, server=story.others(-600, 1800)).incidents
    assert (incident.kind, incident.rebalance_count) == ("flapping_member", 6)


def test_a_group_over_its_size_says_so(tmp_path: Path) -> None:
    why = "reason: Freshly-loaded group is over capacity (4). Rebalancing in order to give a chance for consumers to commit offsets"
    found = told(tmp_path, server=Story().others(-100, 0).turn(0, 7, why).others(20, 600))
    (row,) = found.rebalances
    assert row.advice_id == "group_full"
    assert any("group.max.size" in each.headline for each in found.incidents)


def test_troubles_of_a_consumer_whose_group_nobody_names_are_told(tmp_path: Path) -> None:
    late = (
        "Application maximum poll interval (300000ms) exceeded by 200ms (adjust max.poll.interval.ms for long-running message processing)"
    )
    lines = [f"%4|{1773756000 + 900 * turn}.123|MAXPOLL|ingest-3#consumer-1| [thrd:main]: {late}: leaving group\n" for turn in range(3)]
    (tmp_path / "app.log").write_text("".join(lines), encoding="utf-8")
    found = analyze([str(tmp_path)]).incidents
    assert all("ingest-3 exceeded max.poll.interval.ms and left its group" in each.headline for each in found)
    assert len(found) == 3


# -- members of the consumer protocol by their own logs --------------------------------------------------------------


def test_who_is_fenced_long_after_an_epoch_held_it_up(tmp_path: Path) -> None:
    story, feed = Story(JAVA), "[GroupId feed]"
    for at, epoch, who in ((-1500.0, 6, "m1"), (-1480.0, 7, "m2"), (0.0, 8, "m3")):
        story.say(at, f"{feed} Member {who} joins the consumer group using the consumer protocol.")
        story.say(at + 0.001, f"{feed} Bumped group epoch to {epoch} with metadata hash 5.")
    story.say(903.2, f"{feed} Member m1 fenced from the group because it failed to transition from epoch 7 within 900000ms.")
    story.say(903.201, f"{feed} Bumped group epoch to 9 with metadata hash 5.")
    rows = {row.generation_before: row for row in told(tmp_path, server=story.others(-1600, 2400)).rebalances}
    assert [each.member_id for each in rows[7].blockers] == ["m1"]
    assert rows[7].duration_seconds == pytest.approx(903.2, abs=0.01)
    assert rows[8].cause == "rebalance_timeout"


def states(client: str, *steps: tuple[float, int, str, str]) -> Story:
    """A member's states by its own log: time, epoch, from and to."""
    form = "INFO [Consumer clientId={}, groupId=feed] Member {}-id with epoch {} transitioned from {} to {}. ({})"
    story = Story()
    for at, epoch, before, after in steps:
        manager = "org.apache.kafka.clients.consumer.internals.ConsumerMembershipManager"
        story.add(at, form.format(client, client, epoch, before, after, manager))
    return story


def test_members_logs_alone_tell_who_was_fenced_for_holding_an_epoch_up(tmp_path: Path) -> None:
    a = states(
        "a",
        (0.0, 0, "UNSUBSCRIBED", "JOINING"),
        (0.2, 7, "JOINING", "RECONCILING"),
        (0.3, 7, "ACKNOWLEDGING", "STABLE"),
        (100.0, 7, "STABLE", "RECONCILING"),
        (405.0, 7, "RECONCILING", "FENCED"),
        (440.0, 0, "FENCED", "JOINING"),
        (440.2, 10, "JOINING", "RECONCILING"),
        (440.4, 10, "ACKNOWLEDGING", "STABLE"),
    )
    rows = {row.generation_before: row for row in told(tmp_path, a=a.others(0, 1200)).rebalances}
    assert sorted(rows) == [6, 7, 8, 9]
    assert [each.client_id for each in rows[7].blockers] == ["a"]
    assert (rows[8].cause, [each.client_id for each in rows[8].offenders]) == ("rebalance_timeout", ["a"])
    assert rows[8].confidence < 0.9
    assert rows[9].cause == "member_join"
    assert all(line.inferred for row in rows.values() for line in row.evidence)


def test_a_static_member_that_is_back_in_time_raises_no_epoch(tmp_path: Path) -> None:
    steps = [(0.0, 0, "UNSUBSCRIBED", "JOINING"), (0.2, 5, "JOINING", "STABLE"), (100.0, 5, "STABLE", "PREPARE_LEAVING")]
    steps += [(100.1, -2, "PREPARE_LEAVING", "LEAVING"), (120.0, 0, "UNSUBSCRIBED", "JOINING"), (120.2, 5, "JOINING", "STABLE")]
    story = states("a", *steps)
    story.lines = [(at, number, text.replace("[Consumer ", "[Consumer instanceId=s-0, ")) for at, number, text in story.lines]
    found = told(tmp_path, a=story.others(0, 900))
    assert [row.generation_before for row in found.rebalances] == [4]


# -- clocks, targets, work done twice --------------------------------------------------------------------------------


@pytest.mark.parametrize(("hours", "words"), [(5.5, "05:30 ahead"), (1.0, "01:00 ahead"), (-3.0, "03:00 behind"), (0.0, "")])
def test_a_log_of_another_zone_is_told(tmp_path: Path, hours: float, words: str) -> None:
    server = Story().others(-100, 0)
    lines: list[tuple[float, str]] = []
    for turn in range(3):
        at, who = 200.0 * turn, member("geo-1", turn)
        why = f"reason: Adding new member {who} with group instance id None; client reason: not provided"
        server.turn(at, 4 + turn, why, group="geo", lasted=2.5)
        lines += joined(at + hours * 3600, 5 + turn, turn, took=2.51)
    found = told(tmp_path, server=server.others(20, 900), app=consumer(*lines))
    told_of = [each.observed for each in found.divergences if "zone" in each.observed]
    assert [words in each for each in told_of] == [True] * bool(words)
    if hours >= 0:
        assert len(found.rebalances) == 3  # none twice


def test_targets_of_two_epochs_show_who_came_and_went(tmp_path: Path) -> None:
    ids = [f"AAAA{number}rpvhZg7NEX4HmfUcPA" for number in range(3)]
    story = Story(JAVA).others(-100, 0)
    for at, epoch, members in ((0.0, 6, ids[:2]), (100.0, 7, ids), (200.0, 8, ids[1:])):
        listed = ", ".join(f"{each}=MemberAssignment(partitions={{ZU9jbKyjRWqCvyEbx6WXaw=[{n}, 7]}})" for n, each in enumerate(members))
        text = f"[GroupId feed] Computed a new target assignment for epoch {epoch} with 'uniform' assignor in 1ms: {{{listed}}}."
        story.say(at, f"[GroupId feed] Bumped group epoch to {epoch}.").say(at + 0.002, text)
    rows = {row.generation_before: row for row in told(tmp_path, server=story.others(20, 600)).rebalances}
    assert (rows[6].cause, [each.member_id for each in rows[6].offenders]) == ("member_join", [ids[2]])
    assert (rows[7].cause, [each.member_id for each in rows[7].offenders]) == ("member_leave", [ids[0]])
    assert set(rows[7].alternatives) == {"session_timeout", "poll_timeout"}
    assert (rows[6].members_before, rows[6].members_after, rows[7].members_after) == (2, 3, 2)


def test_what_two_members_held_at_once_is_work_done_twice(tmp_path: Path) -> None:
    server = (
        Story()
        .others(-100, 0)
        .turn(0, 8, f"reason: Adding new member {member('b')} with group instance id None; client reason: not provided")
    )
    server.say(100, f"Member {member('b')} in group orders has failed, removing it from the group")
    server.turn(100.001, 9, f"reason: removing member {member('b')} on heartbeat expiration", lasted=1.0)
    a = consumer(
        (2.8, "Adding newly assigned partitions: t-0"), (101.1, "Adding newly assigned partitions: t-0, t-1"), client="a", group="orders"
    )
    b = consumer(
        (2.8, "Adding newly assigned partitions: t-1"), (107.6, "Lost previously assigned partitions t-1"), client="b", group="orders"
    )
    row = next(row for row in told(tmp_path, server=server.others(20, 900), a=a, b=b).rebalances if row.generation_before == 9)
    assert row.cause == "session_timeout"
    assert row.duplicate_window == pytest.approx(6.5, abs=0.01)
