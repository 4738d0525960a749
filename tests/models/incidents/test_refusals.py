"""Consumers that are refused for good, and groups that are removed with their offsets, are incidents of their own."""

from __future__ import annotations

import pytest

from models.incidents.headline_facts import HeadlineFacts, RefusalFacts, RemovalFacts
from models.incidents.refusals import REFUSAL_KINDS, refusal_of
from models.rows import Incident
from tests.models.kafka.groups.script import events_of, replay

FULL = "The consumer group has reached its max size."
PROTOCOL = "The group member's supported protocols are incompatible with those of existing members or first group member tried to join"


def incidents_of(story: str) -> list[Incident[HeadlineFacts]]:
    return [each for each in replay(events_of(story.splitlines())).incidents if not each.rebalance_ids]


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (f'9 ClientJoinFailed client_id=b error="{FULL}"', "group_full"),
        ('9 ClientJoinFailed client_id=b error="The group has reached its maximum size."', "group_full"),
        ('9 ClientJoinFailed client_id=b error="[Error 81] GroupMaxSizeReachedError"', "group_full"),
        ("9 JoinGroupCompleted client_id=b error_code=81", "group_full"),
        (f'9 ClientJoinFailed client_id=b error="{PROTOCOL}"', "inconsistent_protocol"),
        ("9 JoinGroupCompleted client_id=b error_code=23", "inconsistent_protocol"),
        ('9 ClientJoinFailed client_id=b error="Group authorization failed."', "not_authorized"),
        ("9 FindCoordinatorCompleted client_id=b error_code=30", "not_authorized"),
        ("9 GroupAccessDenied principal=User:b operation=READ", "not_authorized"),
        ("9 JoinGroupCompleted client_id=b error_code=26", "session_timeout_refused"),
        ("9 ClientFenced client_id=b instance_id=b-0", "static_member_fenced"),
        ("9 StaticMemberFenced member_id=b#1 instance_id=b-0", "static_member_fenced"),
        ('9 ClientRejoinRequested client_id=b why="rebalance failed due to x (GroupMaxSizeReachedException)"', "group_full"),
        ('9 ClientJoinFailed client_id=b error="This is not the correct coordinator."', None),
        ("9 JoinGroupCompleted client_id=b error_code=79", None),
        ("9 JoinGroupCompleted client_id=b error_code=0", None),
    ],
)
def test_only_what_a_retry_does_not_cure_is_a_refusal(line: str, kind: str | None) -> None:
    (event,) = events_of([line])
    found = refusal_of(event)
    assert (found.kind if found else None) == kind
    assert [each.kind for each in incidents_of(line)] == ([kind] if kind else [])


def test_a_refusal_is_told_once_however_often_and_by_whomever_it_is_told() -> None:
    refused = [f'{at} ClientJoinFailed client_id=b error="{FULL}"' for at in (9.0, 20.0, 31.0)]
    answers = [f"{at} JoinGroupCompleted client_id=b error_code=81" for at in (8.9, 19.9, 30.9)]
    (incident,) = incidents_of("\n".join([*refused, *answers]))
    assert (incident.severity, incident.headline) == ("warning", RefusalFacts("orders", "b", "group_full", 3))
    assert (incident.started_at, incident.ended_at) == (8_900_000, 31_000_000)
    assert incident.worst_offender is not None
    assert incident.worst_offender.client_id == "b"
    assert incident.evidence[0].line == 4


DENIED = "{at} GroupAccessDenied principal={who} operation=READ client_host=10.0.0.5 request=JoinGroup"
UNAUTHORIZED = '{at} ClientJoinFailed client_id={who} error="Not authorized to access group: Group authorization failed."'


def test_an_authorizer_names_the_principal_it_denied() -> None:
    (incident,) = incidents_of("\n".join(DENIED.format(at=at, who="User:shop") for at in (9, 10, 11)))
    assert incident.headline == RefusalFacts("orders", "User:shop", "not_authorized", 3)
    assert incident.worst_offender is not None
    assert incident.worst_offender.host == "10.0.0.5"


@pytest.mark.parametrize("first", [0, 1])
def test_a_client_and_the_authorizer_tell_of_one_refusal(first: int) -> None:
    lines = [DENIED.format(at=9 + first, who="User:shop"), UNAUTHORIZED.format(at=10 - first, who="b")]
    (incident,) = incidents_of("\n".join(lines))
    assert incident.headline == RefusalFacts("orders", "b", "not_authorized", 1)
    assert len(incident.evidence) == 2


def test_two_denied_principals_are_two_incidents() -> None:
    found = incidents_of("\n".join(DENIED.format(at=9, who=who) for who in ("User:shop", "User:audit")))
    assert {each.headline for each in found} == {RefusalFacts("orders", who, "not_authorized", 1) for who in ("User:audit", "User:shop")}


def test_refusals_after_a_quiet_time_are_another_incident() -> None:
    first, second = incidents_of("9 JoinGroupCompleted client_id=b error_code=81\n900 JoinGroupCompleted client_id=b error_code=81")
    assert first.incident_id != second.incident_id
    assert (first.final_at or 0) < (second.started_at or 0)


def test_each_reason_has_words_and_codes() -> None:
    assert all(kind.words and kind.codes for kind in REFUSAL_KINDS)


EMPTIED = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.0 GenerationStarted generation=1 member_count=1
4.1 AssignmentReceived generation=1 member_id=a#1 member_count=1
60.0 RebalanceStarted generation=1 reason_id=leave reason_member_id=a#1
60.1 GroupEmptied generation=2
"""


@pytest.mark.parametrize(
    ("end", "told"),
    [
        ("700000 GroupDied generation=2", [("offsets_lost", "warning", True)]),
        ("2000 GroupDied generation=2", [("offsets_lost", "warning", True)]),
        ("90 GroupDied generation=2", [("offsets_lost", "info", False)]),
        ("90 GroupDied generation=2\n90.1 OffsetsExpired offsets_count=3", [("offsets_lost", "warning", True)]),
        ("", []),
    ],
    ids=["after its retention", "after a cleanup that it outlived", "at the next cleanup", "with offsets that expired", "not removed"],
)
def test_a_removed_group_is_as_bad_as_what_went_with_it(end: str, told: list[tuple[str, str, bool]]) -> None:
    found = incidents_of(EMPTIED + end)
    assert [(each.kind, each.severity, each.headline.had_offsets) for each in found if isinstance(each.headline, RemovalFacts)] == told
