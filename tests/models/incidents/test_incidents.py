"""What belongs together, how bad it is, and the one sentence that says so."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from models.downtime import NAMELESS
from models.incidents.headline_facts import EndlessWait, EpisodeFacts, FrequentCause, HeldUp, MemberActions, NamedMember, TurnRestarts
from models.incidents.incidents import Limits, find_incidents
from models.rows import Incident, Person
from tests.models.kafka.groups.script import events_of, replay

START = "1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1"
STABLE = "4.1 GenerationStarted generation=1 member_count=3\n4.2 AssignmentReceived generation=1 member_id=a#1 member_count=3"


def incidents_of(story: str, limits: Limits | None = None) -> list[Incident[EpisodeFacts]]:
    return find_incidents(replay(events_of(story.splitlines())).rebalances, limits)


def turn(at: float, generation: int, reason: str, member: str, join: float = 0.5) -> str:
    """One whole rebalance that a reason line starts."""
    return "\n".join(
        [
            f"{at} RebalanceStarted generation={generation} reason_id={reason} reason_member_id={member}",
            f"{at + join} GenerationStarted generation={generation + 1}",
            f"{at + join + 0.01} AssignmentReceived generation={generation + 1} member_id=a#1",
        ]
    )


def test_a_single_start_is_expected() -> None:
    (incident,) = incidents_of(f"{START}\n{STABLE}")
    assert (incident.kind, incident.severity, incident.rebalance_count) == ("single", "info", 1)


def test_quiet_time_ends_an_incident() -> None:
    story = "\n".join([START, STABLE, turn(1_000, 1, "heartbeat_expiration", "b#1"), turn(1_030, 2, "heartbeat_expiration", "c#1")])
    first, second = sorted(incidents_of(story), key=lambda incident: incident.started_at or 0)
    assert (first.rebalance_count, second.rebalance_count) == (1, 2)


def test_one_member_that_fails_again_and_again_is_flapping() -> None:
    turns = [turn(10 + 20 * n, 1 + n, "heartbeat_expiration", f"b#{n + 1}") for n in range(4)]
    (incident,) = incidents_of("\n".join([START, STABLE, *turns]))
    assert incident.kind == "flapping_member"
    assert incident.worst_offender is not None
    assert incident.worst_offender.client_id == "b"
    assert incident.headline.story == MemberActions(NamedMember("b"), (("session_timeout", 4),))


def test_members_that_go_and_come_in_turn_are_a_rolling_restart() -> None:
    turns = []
    for number, client in enumerate("abc"):
        turns.append(turn(10 + 20 * number, 1 + 2 * number, "leave", f"{client}#1"))
        turns.append(turn(15 + 20 * number, 2 + 2 * number, "new_member", f"{client}#2"))
    story = "\n".join([START, STABLE, *turns])
    (incident,) = incidents_of(story)
    assert (incident.kind, incident.severity) == ("rolling_restart", "info")
    rows = replay(events_of(story.splitlines())).rebalances
    assert {row.root_cause for row in rows[1:]} == {"rolling_restart"}


def test_a_rebalance_that_never_ends_is_stuck() -> None:
    lost = "10 RebalanceStarted generation=1 reason_id=heartbeat_expiration reason_member_id=b#1"
    story = "\n".join([START, STABLE, lost, "400 PendingMemberExpired member_id=z#1"])
    incident = incidents_of(story)[0]
    assert (incident.kind, incident.severity, incident.ended_at) == ("stuck", "critical", None)


@pytest.mark.parametrize(("join", "severity"), [(1.0, "warning"), (320.0, "critical")])
def test_long_standstill_is_critical(join: float, severity: str) -> None:
    story = "\n".join([START, STABLE, turn(10, 1, "heartbeat_expiration", "b#1", join)])
    assert incidents_of(story)[0].severity == severity


def test_a_member_that_goes_and_comes_back_again_and_again_is_flapping() -> None:
    turns = [turn(10 + 10 * n, 1 + n, "new_member" if n % 2 else "leave", f"b#{1 + n // 2}") for n in range(6)]
    (incident,) = incidents_of("\n".join([START, STABLE, *turns]))
    assert (incident.kind, incident.severity) == ("flapping_member", "warning")
    assert incident.headline.story in [
        MemberActions(NamedMember("b"), times) for times in ((("member_leave", 3),), (("member_restart", 3),))
    ]


def test_a_rolling_restart_is_told_as_one() -> None:
    turns = []
    for number, client in enumerate("abc"):
        turns.append(turn(10 + 20 * number, 1 + 2 * number, "leave", f"{client}#1"))
        turns.append(turn(15 + 20 * number, 2 + 2 * number, "new_member", f"{client}#2"))
    (incident,) = incidents_of("\n".join([START, STABLE, *turns]))
    facts = incident.headline
    assert facts == EpisodeFacts("orders", 7, pytest.approx(54.51), pytest.approx(3.26), None, TurnRestarts(3))


def test_members_that_come_and_go_again_are_none_that_were_restarted() -> None:
    turns = [turn(10 + 20 * n, 1 + n, "new_member", f"{client}#1") for n, client in enumerate("bc")]
    turns += [turn(60 + 20 * n, 3 + n, "leave", f"{client}#1") for n, client in enumerate("bc")]
    (incident,) = incidents_of("\n".join([START, STABLE, *turns]))
    assert (incident.kind, incident.restarted_members, incident.static_membership_effect) == ("single", [], {})


def test_a_short_stop_is_one() -> None:
    incident = incidents_of("\n".join([START, STABLE, turn(1_000, 1, "heartbeat_expiration", "b#1", 0.02)]))[0]
    actions = MemberActions(NamedMember("b"), (("session_timeout", 1),))
    assert incident.headline == EpisodeFacts("orders", 1, pytest.approx(0.03), pytest.approx(0.03), None, actions)


def test_a_group_that_begins_anew_each_time_before_it_has_shared_out_never_settles() -> None:
    turns = []
    for number in range(6):
        turns.append(f"{10 + 5 * number} RebalanceStarted generation={1 + number} reason_id=new_member reason_member_id=c#{number + 1}")
        turns.append(f"{12 + 5 * number} GenerationStarted generation={2 + number} member_count={3 + number}")
    rows = replay(events_of(turns)).rebalances
    (incident,) = find_incidents(rows)
    assert {row.outcome for row in rows} == {"superseded", "open"}
    assert (incident.kind, incident.rebalance_count) == ("never_settles", 6)


OLD = "1.0 RebalanceStarted generation=3 reason_id=new_member reason_member_id=b#1\n2.0 GenerationStarted generation=4 member_count=2"
SETTLED = "2.1 AssignmentReceived generation=4 member_id=a#1 member_count=2"


@pytest.mark.parametrize(
    ("story", "wait"),
    [
        (
            f"{OLD}\n{SETTLED}\n500.0 RebalanceStarted generation=4 reason_id=new_member reason_member_id=c#1\n900.0 TopicCreated topic=t",
            EndlessWait(("b", "a"), has_joined=False),
        ),
        (
            f"{OLD}\n{SETTLED}\n500.0 RebalanceStarted generation=4 reason_id=new_member reason_member_id=c#1\n"
            "501.0 GenerationStarted generation=5 member_count=3\n900.0 TopicCreated topic=t",
            EndlessWait(("a",), has_joined=True),
        ),
        (
            "1.0 RebalanceStarted generation=3\n301.002 GenerationStarted generation=4\n301.01 AssignmentReceived generation=4",
            HeldUp(NamedMember(NAMELESS), pytest.approx(300.002)),
        ),
        (
            "1.0 RebalanceStarted generation=3\n301.002 GenerationStarted generation=4\n301.01 AssignmentReceived generation=4\n"
            "309.0 MemberFailed member_id=b#1\n309.0 RebalanceStarted generation=4\n"
            "311.0 GenerationStarted generation=5\n311.01 AssignmentReceived generation=5",
            HeldUp(NamedMember("b"), pytest.approx(300.002)),
        ),
    ],
    ids=["rejoin awaited", "assignment awaited", "removed unnamed", "removed and named by its old timer"],
)
def test_the_headline_names_the_wait_that_did_the_harm(story: str, wait: Any) -> None:
    incident = max(incidents_of(story), key=lambda each: each.stopped_seconds)
    assert (incident.severity, incident.headline.story) == ("critical", wait)


USUAL = {"member_join": 0.21, "member_leave": 0.15, "session_timeout": 0.02}


@pytest.mark.parametrize(
    ("changed", "severity"),
    [
        ({"alternatives": USUAL, "offenders": []}, "info"),
        ({"alternatives": {}, "offenders": [], "started_at": None}, "info"),
        ({"alternatives": USUAL}, "warning"),
        ({"alternatives": {}, "offenders": []}, "warning"),
        ({"alternatives": USUAL, "offenders": [], "outcome": "empty"}, "warning"),
    ],
    ids=["the usual causes", "no start", "somebody acted", "nothing explains it", "nobody is left"],
)
def test_only_a_start_that_no_log_shows_is_calm_without_a_cause(changed: dict[str, Any], severity: str) -> None:
    (row, *_) = replay(events_of(f"{START}\n{STABLE}".splitlines())).rebalances
    (incident,) = find_incidents([replace(row, cause="unknown", confidence=0.48, **changed)])
    assert incident.severity == severity


@pytest.mark.parametrize(("seconds", "severity"), [(2.0, "info"), (8.7, "info"), (11.3, "warning"), (61.3, "warning"), (300.4, "critical")])
def test_a_stop_of_minutes_is_never_expected(seconds: float, severity: str) -> None:
    story = f"{START}\n{STABLE}\n{turn(500, 1, 'new_member', 'b#1', seconds)}"
    assert max(incidents_of(story), key=lambda each: each.stopped_seconds).severity == severity


@pytest.mark.parametrize(
    ("confidence", "alternatives", "told"),
    [
        (0.98, {"poll_timeout": 0.02}, ("info", None)),
        (0.44, {"member_leave": 0.46, "poll_timeout": 0.1}, ("info", 0.44)),
        (0.44, {"member_leave": 0.3, "poll_timeout": 0.26}, ("warning", 0.44)),
        (0.7, {"session_timeout": 0.3}, ("warning", None)),
    ],
)
def test_what_may_well_be_a_failure_is_not_expected(
    confidence: float, alternatives: dict[str, float], told: tuple[str, float | None]
) -> None:
    (row, *_) = replay(events_of(f"{START}\n{STABLE}".splitlines())).rebalances
    row.cause, row.confidence, row.alternatives, row.offenders = "member_join", confidence, alternatives, []
    (incident,) = find_incidents([row])
    severity, reserve = told
    assert (incident.severity, incident.headline.story) == (severity, FrequentCause("member_join", reserve))


PUT_OUT = """1.000 ClientJoinSent client_id=a
4.010 ClientJoined generation=5 client_id=a member_id=a#1
4.020 ClientSynced generation=5 client_id=a member_id=a#1
880.000 {heard}
883.404 ClientJoinSent client_id=a
886.500 ClientJoined generation=6 client_id=a member_id=a#2
886.520 ClientSynced generation=6 client_id=a member_id=a#2"""


@pytest.mark.parametrize(
    ("heard", "severity", "act"),
    [
        ("ClientHeartbeatFailed generation=5 client_id=a member_id=a#1 error=UNKNOWN_MEMBER_ID", "warning", "session_timeout"),
        ("ClientGenerationReset client_id=a member_id=a#1 why=UNKNOWN_MEMBER_ID", "warning", "session_timeout"),
        ("ClientConfigured client_id=a session_timeout_ms=45000", "info", "member_restart"),
    ],
)
def test_a_process_that_was_put_out_is_not_one_that_was_restarted(heard: str, severity: str, act: str) -> None:
    """Both come back under another member id within one rebalance, and have the same cause."""
    (row,) = [row for row in replay(events_of(PUT_OUT.format(heard=heard).splitlines())).rebalances if row.generation_after == 6]
    (incident,) = find_incidents([row])
    assert (row.cause, incident.severity) == ("member_restart", severity)
    assert isinstance(incident.headline.story, MemberActions)
    assert incident.headline.story.times == ((act, 1),)
    assert bool(incident.static_membership_effect) == (severity == "info")


def test_seconds_of_a_wait_are_shared_among_those_that_were_waited_for() -> None:
    """Two rebalances wait for the second of two members, and only the longer one also for the first."""
    member = {"member_id": None, "instance_id": None, "host": None, "reason": "evicted"}
    first, second = (Person(client_id=name, **member) for name in ("a", "b"))
    (row,) = replay(events_of(turn(1_000, 1, "heartbeat_expiration", "x#1", join=20.0).splitlines())).rebalances
    shorter = replace(row, rebalance_id="r", started_at=row.over_at, join_seconds=15.0, duration_seconds=15.0, blockers=[second])
    found = find_incidents([replace(row, blockers=[first, second]), shorter])
    assert [incident.worst_offender for incident in found] == [second]


@pytest.mark.parametrize(
    ("lasted", "outcomes", "is_untimed"),
    [
        ((None, 0.0), ("stable", "empty"), True),
        ((None, None), ("stable", "stable"), True),
        ((0.0, 0.0), ("stable", "stable"), False),
        ((None, None), ("empty", "dead"), False),
        ((None, 2.0), ("stable", "stable"), False),
    ],
    ids=["one is not timed", "none is timed", "all are timed", "nobody was left", "one that stopped is timed"],
)
def test_nobody_stopped_is_told_only_where_each_length_is_known(
    lasted: tuple[float | None, float | None], outcomes: tuple[str, str], is_untimed: bool
) -> None:
    (row, *_) = replay(events_of(f"{START}\n{STABLE}".splitlines())).rebalances
    rows = [
        replace(row, rebalance_id=f"r{number}", duration_seconds=seconds, outcome=outcome, initial_delay_seconds=None)
        for number, (seconds, outcome) in enumerate(zip(lasted, outcomes, strict=True))
    ]
    (incident,) = find_incidents(rows)
    assert incident.headline.is_untimed == is_untimed


def person(name: str) -> Person:
    return Person(client_id=name, member_id=None, instance_id=None, host=None, reason="")


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ([("new_group", "ba", "")], "b"),
        ([("new_group", "cab", ""), ("member_join", "b", "")], "b"),
        ([("member_leave", "ba", "")], "b"),
        ([("member_join", "a", "c")], "c"),
        ([("new_group", "ba", ""), ("assignment_store_failed", "", ""), ("assignment_store_failed", "", "")], None),
        ([("new_group", "ba", ""), ("assignment_store_failed", "", ""), ("session_timeout", "c", "")], "c"),
        ([("new_group", "ba", ""), ("assignment_store_failed", "", ""), ("assignment_store_failed", "", "c")], "c"),
    ],
    ids=str,
)
def test_the_headline_names_whom_the_rows_name_first(rows: list[tuple[str, str, str]], told: str | None) -> None:
    """Each row: its cause, those that caused it, and those that were waited for."""
    (row, *_) = replay(events_of(f"{START}\n{STABLE}".splitlines())).rebalances
    made = [
        replace(row, rebalance_id=f"r{number}", cause=cause, offenders=list(map(person, who)), blockers=list(map(person, awaited)))
        for number, (cause, who, awaited) in enumerate(rows)
    ]
    (incident,) = find_incidents(made)
    assert (incident.worst_offender and incident.worst_offender.client_id) == told
    assert told is not None or incident.headline.story == FrequentCause("assignment_store_failed", None)
