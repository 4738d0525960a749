"""The states of clients, by their own lines."""

from __future__ import annotations

from tests.models.kafka.groups.script import events_of, replay


def told(story: str) -> list[tuple[str, str, float, float | None]]:
    rows = replay(events_of(story.splitlines())).client_states
    return [
        (row.client_id, row.state, (row.started_at or 0) / 1e6, row.ended_at / 1e6 if row.ended_at is not None else None) for row in rows
    ]


def test_from_the_first_subscription_to_the_close() -> None:
    story = """
1.0 ClientSubscribed client_id=a topics=t
1.5 ClientJoining client_id=a
4.0 ClientJoined client_id=a member_id=a#1 generation=1
4.2 ClientSynced client_id=a member_id=a#1 generation=1
20.0 ClientHeartbeatRebalancing client_id=a
20.4 ClientJoining client_id=a
21.0 ClientSynced client_id=a member_id=a#1 generation=2
30.0 ClientSubscribed client_id=a topics=t,u
40.0 ClientLeaveSent client_id=a member_id=a#1
40.1 ClientClosed client_id=a
50.0 ClientSubscribed client_id=a topics=t
"""
    assert told(story) == [
        ("a", "UNJOINED", 1.0, 1.5),
        ("a", "REBALANCING", 1.5, 4.2),
        ("a", "STABLE", 4.2, 20.4),
        ("a", "REBALANCING", 20.4, 21.0),
        ("a", "STABLE", 21.0, 40.0),
        ("a", "UNJOINED", 40.0, 40.1),
        ("a", "UNJOINED", 50.0, None),
    ]


def test_clients_are_kept_apart_and_evictions_show() -> None:
    story = """
1.0 ClientJoining client_id=a
1.1 ClientJoining client_id=b
2.0 ClientAssigned client_id=a partitions=t-0
2.1 ClientAssigned client_id=b partitions=t-1
9.0 ClientGenerationReset client_id=b why=UNKNOWN_MEMBER_ID
"""
    assert [each for each in told(story) if each[0] == "b"] == [
        ("b", "REBALANCING", 1.1, 2.1),
        ("b", "STABLE", 2.1, 9.0),
        ("b", "UNJOINED", 9.0, None),
    ]
    assert told(story)[1] == ("a", "STABLE", 2.0, None)


def test_states_of_the_newer_protocol_go_by_the_same_names() -> None:
    story = """
1.0 ClientMemberState client_id=a from_state=UNSUBSCRIBED to_state=JOINING
2.0 ClientMemberState client_id=a from_state=JOINING to_state=RECONCILING
3.0 ClientMemberState client_id=a from_state=RECONCILING to_state=STABLE
9.0 ClientMemberState client_id=a from_state=STABLE to_state=STALE
"""
    assert [each[1:] for each in told(story)] == [("REBALANCING", 1.0, 3.0), ("STABLE", 3.0, 9.0), ("UNJOINED", 9.0, None)]


def test_a_close_of_a_client_that_was_not_seen_before_tells_no_state() -> None:
    assert told("40.1 ClientClosed client_id=a\n") == []
