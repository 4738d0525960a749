"""Incidents of clients whose group no line names."""

from __future__ import annotations

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.observations.unattributed_troubles import UnattributedLines

S = 1_000_000
GAP_SECONDS = 60.0


def trouble(name: str, second: int, client: str | None = None, log: str = "app.log", message: str = "", **fields: object) -> Event:
    at, place = second * S, LogPosition(log, second, second)
    return Event(name, at, at, place, Witness.CLIENT, message, client_id=client, fields=fields)


def incidents_of(*events: Event, logs_with_groups: frozenset[str] = frozenset()) -> list[tuple[str, str, str, int, int]]:
    lines = UnattributedLines({"prod": list(events)}, set(logs_with_groups))
    return [
        (row.kind, row.severity, row.headline.trouble, row.headline.count, row.headline.log_count) for row in lines.incidents(GAP_SECONDS)
    ]


GRAVITY = [
    (trouble("ClientPollTimedOut", 1), "group_unnamed", "warning"),
    (trouble("ClientLeaveSent", 1, why="consumer poll timeout has expired."), "group_unnamed", "warning"),
    (trouble("ClientLost", 1), "group_unnamed", "warning"),
    (trouble("ClientHeartbeatFailed", 1, error="REBALANCE_IN_PROGRESS"), "group_unnamed", "info"),
    (trouble("ClientHeartbeatFailed", 1, error="UNKNOWN_MEMBER_ID"), "group_unnamed", "warning"),
    (trouble("ClientCoordinatorLost", 1, why="[Error 16] NotCoordinatorError"), "group_unnamed", "info"),
    (trouble("ClientCoordinatorLost", 1, why="session timed out"), "group_unnamed", "warning"),
    (trouble("ClientCoordinatorLost", 1, message="kafka.librdkafka.session_timed_out"), "group_unnamed", "warning"),
    (trouble("ClientJoinFailed", 1, error="NOT_COORDINATOR"), "group_unnamed", "info"),
    (trouble("ClientJoinFailed", 1, error="GROUP_AUTHORIZATION_FAILED"), "not_authorized", "warning"),
    (trouble("ClientFenced", 1), "static_member_fenced", "warning"),
    (trouble("StaticMemberFenced", 1), "static_member_fenced", "warning"),
    (trouble("ClientTroubled", 1, trouble="not_authorized"), "not_authorized", "warning"),
    (trouble("ClientTroubled", 1, trouble="client_failed"), "client_failed", "warning"),
    (trouble("ClientErrorReported", 1, trouble="fenced"), "static_member_fenced", "warning"),
    (trouble("ClientErrorReported", 1, trouble="commit_refused"), "group_unnamed", "warning"),
    (trouble("ClientErrorReported", 1, trouble="no_broker"), "no_broker_reached", "warning"),
]


@pytest.mark.parametrize(("event", "kind", "severity"), GRAVITY, ids=[f"{event.name} {dict(event.fields)}" for event, _, _ in GRAVITY])
def test_a_client_that_lost_its_place_needs_attention(event: Event, kind: str, severity: str) -> None:
    assert [(found[0], found[1]) for found in incidents_of(event)] == [(kind, severity)]


def test_what_is_given_up_is_noted_and_no_incident() -> None:
    lines = UnattributedLines({"prod": [trouble("ClientRevoked", 1), trouble("ClientRevoked", 2)]})

    assert lines.incidents(GAP_SECONDS) == []
    assert [(log, note.trouble, note.count) for log, note in lines.notes()] == [("app.log", "ClientRevoked", 2)]


def test_lines_close_to_each_other_are_one_incident_whatever_log_they_stand_in() -> None:
    events = [trouble("ClientPollTimedOut", second, "rdkafka", f"pod-{second}.log") for second in (1, 50, 500)]

    assert incidents_of(*events) == [
        ("group_unnamed", "warning", "ClientPollTimedOut", 2, 2),
        ("group_unnamed", "warning", "ClientPollTimedOut", 1, 1),
    ]


def test_incidents_have_ids_of_their_own_in_any_order_of_the_lines() -> None:
    events = [trouble("ClientPollTimedOut", second, client) for second, client in ((1, "a"), (1, "b"), (500, "a"))]
    forth, back = (
        [row.incident_id for row in UnattributedLines({"prod": given}).incidents(GAP_SECONDS)] for given in (events, events[::-1])
    )

    assert len(set(forth)) == len(events)
    assert sorted(forth) == sorted(back)


def test_what_a_client_tells_itself_is_not_told_again_by_its_program() -> None:
    events = trouble("ClientPollTimedOut", 1), trouble("ClientErrorReported", 2, trouble="polled_late")

    assert [trouble for _, _, trouble, _, _ in incidents_of(*events)] == ["ClientPollTimedOut"]


def test_what_a_program_reports_in_a_log_that_names_a_group_is_only_noted() -> None:
    lines = UnattributedLines({"prod": [trouble("ClientErrorReported", 2, trouble="polled_late")]}, {"app.log"})

    assert lines.incidents(GAP_SECONDS) == []
    assert [note.trouble for _, note in lines.notes()] == ["polled_late"]
