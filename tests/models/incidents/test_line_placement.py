"""Of any line: which rebalance it belongs to, and whether it is a cause of it or an effect."""

from __future__ import annotations

import pytest

from models.event_kinds import EVENTS
from models.events import Event, LogPosition, Witness
from models.incidents.line_placement import CAUSES, JOINS, LineRole, RoleReason, RowReason, meaning_of, place_line
from models.rows import Rebalance
from pipelines.headlines.line_roles import role_reason
from tests.models.kafka.groups.script import events_of, parse, replay

S = 1_000_000
STORY = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.0 GenerationStarted generation=1 member_count=2
4.1 AssignmentReceived generation=1 member_id=a#1 member_count=2
60.0 MemberFailed member_id=b#1
60.001 RebalanceStarted generation=1 reason_id=heartbeat_expiration reason_member_id=b#1
62.0 GenerationStarted generation=2 member_count=1
62.1 AssignmentReceived generation=2 member_id=a#1 member_count=1
90.0 RebalanceStarted generation=2 reason_id=new_member reason_member_id=b#2
91.0 GenerationStarted generation=3 member_count=2
91.1 AssignmentReceived generation=3 member_id=a#1 member_count=2
"""
ROWS: list[Rebalance] = replay(events_of(STORY.splitlines())).rebalances

# A line, the generation before the rebalance that it belongs to, and its part in it.
LINES = [
    ("60.0 MemberFailed member_id=b#1", 1, "cause"),
    ("60.001 RebalanceStarted generation=1 reason_id=heartbeat_expiration reason_member_id=b#1", 1, "cause"),
    ("61.5 ClientHeartbeatRebalancing client_id=a", 1, "effect"),
    ("61.6 ClientRevoked client_id=a partitions=t-0", 1, "effect"),
    ('61.6 ClientRejoinRequested client_id=a why="group is already rebalancing"', 1, "effect"),
    ("61.7 ClientJoining client_id=a member_id=a#1", 1, "effect"),
    ("62.05 ClientJoined client_id=a member_id=a#1 generation=2", 1, "effect"),
    ("63.0 ClientAssigned client_id=a partitions=t-0,t-1", 1, "effect"),
    ("80.0 ClientHeartbeatFailed client_id=b member_id=b#1 generation=1 error=UNKNOWN_MEMBER_ID", 1, "effect"),
    ("89.9 ClientCoordinatorFound client_id=b", 2, "cause"),
    ("89.99 ClientJoining client_id=b", 2, "cause"),
    ("90.5 ClientSubscribed client_id=b", 2, "cause"),
    ("30.0 ClientNote client_id=a", None, "apart"),
    ("75.0 ClientAssigned client_id=a partitions=t-0", None, "apart"),
    ("3.0 MemberIdHandedOut member_id=a#1", 0, "cause"),
    ("80.0 ClientHeartbeatFailed client_id=b error=UNKNOWN_MEMBER_ID", 1, "effect"),
    ("80.0 ClientCommitFailed client_id=b error=ILLEGAL_GENERATION", 1, "effect"),
    ("80.0 ClientCommitFailed client_id=b error=REQUEST_TIMED_OUT", None, "apart"),
    ("80.0 ClientLost client_id=b partitions=t-0", 1, "effect"),
    ("0.5 ClientLost client_id=b partitions=t-0", 0, "effect"),
    ("62.05 HeartbeatCompleted client_id=a member_id=a#1 generation=2 error_code=0", 1, "effect"),
    ("75.0 HeartbeatCompleted client_id=a member_id=a#1 generation=2 error_code=0", None, "apart"),
    ("60.0 MemberFailed member_id=c#1", 1, "effect"),
    ("60.002 GroupStoreFailed error=x", 1, "cause"),
]


def placed(line: str, rows: list[Rebalance] = ROWS) -> LineRole:
    return place_line(parse(line, 1000), rows)


@pytest.mark.parametrize(("line", "generation", "part"), LINES, ids=[line.split()[1] + "@" + line.split()[0] for line, _, _ in LINES])
def test_where_a_line_belongs(line: str, generation: int | None, part: str) -> None:
    found = placed(line)
    assert (found.row.generation_before if found.row else None, found.part) == (generation, part)
    assert role_reason(found)


def test_a_line_that_a_verdict_stands_on_belongs_to_it() -> None:
    evidence = ROWS[1].evidence[0]
    event = parse(evidence.text, evidence.line)
    assert place_line(event, ROWS).row_reason is RowReason.EVIDENCE


OTHER_LOG = "elsewhere.log"


@pytest.mark.parametrize(
    ("name", "at", "file", "part"),
    [
        ("ClientRevoked", 61, None, "effect"),
        ("ClientRevoked", 75, None, "apart"),
        ("ClientRevoked", 61, OTHER_LOG, "apart"),
        ("KafkaVersion", 61, None, "apart"),
    ],
)
def test_a_clients_line_without_a_group_belongs_to_that_of_its_log(name: str, at: int, file: str | None, part: str) -> None:
    log = ROWS[1].evidence[0].file
    event = Event(name, at * S, at * S, LogPosition(file or log, 99, 99), Witness.CLIENT)
    assert place_line(event, ROWS).part == part


def test_a_brokers_line_may_stand_behind_what_follows() -> None:
    for row in (rows := replay(events_of(STORY.splitlines())).rebalances):
        row.root_cause = "coordinator_failover" if row.generation_before == 1 else None
    found = placed("50.0 BrokerStopping node=1", rows)
    assert (found.part, found.row and found.row.generation_before) == ("behind", 1)
    assert found.cause == "coordinator_failover"
    assert placed("50.0 BrokerStopping node=1").part == "apart"


def test_lines_of_another_group_are_not_mixed_up() -> None:
    found = placed("61.5 ClientHeartbeatRebalancing client_id=a group=other")
    assert (found.part, found.row) == ("apart", None)


@pytest.mark.parametrize(
    "line", ["75.0 StaticMemberKept state=Stable", "75.0 StaticMemberReplaced member_id=s#2 old_member_id=s#1 instance_id=s"]
)
def test_a_static_return_in_time_is_told_as_such(line: str) -> None:
    found = placed(line)
    assert (found.part, found.row) == ("apart", None)
    assert found.reason in {RoleReason.STATIC_RETURN, RoleReason.STATIC_TAKEOVER}


def test_every_name_is_one_of_the_registry() -> None:
    assert EVENTS.keys() >= CAUSES | JOINS
    assert meaning_of(parse("1.0 ClientHeartbeatRebalancing client_id=a", 1)) == "A heartbeat was told of a rebalance."


@pytest.mark.parametrize(("at", "generation"), [("11.2", 1), ("11.45", 1), ("11.85", 2), ("12.1", 2), ("13.4", 3), ("16.0", 3)])
def test_of_rebalances_in_a_row_the_one_that_was_going_on(at: str, generation: int) -> None:
    story = [
        "10.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1",
        "10.1 GenerationStarted generation=1 member_count=2",
    ]
    for number, begin in ((1, 11.0), (2, 12.0), (3, 13.0)):
        story += [
            f"{begin} RebalanceStarted generation={number} reason_id=new_member reason_member_id=b#{number}",
            f"{begin + 0.3} GenerationStarted generation={number + 1} member_count=2",
            f"{begin + 0.31} AssignmentReceived generation={number + 1} member_id=a#1 member_count=2",
        ]
    found = placed(f"{at} ClientHeartbeatRebalancing client_id=a", replay(events_of(story)).rebalances)
    assert found.row is not None
    assert found.row.generation_before == generation
