"""What a coordinator's pause did: to its groups together, and to each of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from models.incidents.headline_facts import EpisodeFacts, MemberActions, NamedMember, PauseFacts, PauseVictims
from models.incidents.incidents import find_incidents
from models.kafka.cluster.expiry_bursts import ExpiryBurst
from models.kafka.groups.rows.coordinator_pauses import bursts_behind, pause_effects, pause_incident
from models.rows import Rebalance
from tests.models.kafka.groups.script import events_of, replay

STUCK_SECONDS = 60.0
BURST = ExpiryBurst(500_000_000, 500_000_000, None, ("a", "b", "orders"), 3, (), "a")
EXPIRED = """
1.0 RebalanceStarted generation=0 reason_id=new_member reason_member_id=a#1
4.1 GenerationStarted generation=1 member_count=3
4.2 AssignmentReceived generation=1 member_id=a#1 member_count=3
500.0 RebalanceStarted generation=1 reason_id=heartbeat_expiration reason_member_id=b#1
500.5 GenerationStarted generation=2 member_count=2
500.6 AssignmentReceived generation=2 member_id=a#1 member_count=2
"""


def expired(*coordinators: str | None) -> list[Rebalance]:
    """Rebalances of expired members, one for each coordinator."""
    row = max(replay(events_of(EXPIRED.splitlines())).rebalances, key=lambda each: each.began)
    row.root_cause = "coordinator_pause"
    return [replace(row, rebalance_id=str(number), coordinator=node) for number, node in enumerate(coordinators)]


@pytest.mark.parametrize(
    ("coordinators", "broker"), [(("2",), "2"), (("2", "2"), "2"), (("2", "3"), None), ((None,), None)], ids=["one", "twice", "two", "none"]
)
def test_a_group_is_told_whose_members_expired_at_which_coordinator(coordinators: tuple[str | None, ...], broker: str | None) -> None:
    rows = expired(*coordinators)
    (incident,) = find_incidents(rows)
    before = incident.headline
    pause_effects(incident, rows, [BURST], STUCK_SECONDS)

    assert isinstance(before.story, MemberActions)
    assert incident.headline == replace(before, story=PauseVictims(len(rows), broker))
    assert (incident.kind, incident.severity, incident.worst_offender) == ("single", "info", None)


def test_what_a_pause_does_not_explain_stays_as_it_is() -> None:
    rows = expired("2")
    rows[0].root_cause = "client_pause"
    (incident,) = find_incidents(rows)
    pause_effects(incident, rows, [BURST], STUCK_SECONDS)

    actions = MemberActions(NamedMember("b"), (("session_timeout", 1),))
    assert incident.headline == EpisodeFacts("orders", 1, pytest.approx(0.6), pytest.approx(0.6), None, actions)
    assert incident.severity == "warning"


def test_a_pause_that_one_group_shows_needs_attention_itself() -> None:
    rows = expired("2")
    (incident,) = find_incidents(rows)
    pause_effects(incident, rows, [], STUCK_SECONDS)
    assert (incident.kind, incident.severity) == ("coordinator_pause", "warning")


def test_a_pause_is_told_of_all_its_groups() -> None:
    burst = ExpiryBurst(100_000_000, 100_150_000, "2", ("a", "b", "c"), 12, (), "a")
    incident = pause_incident("c", burst)

    assert incident.headline == PauseFacts("2", 12, ("a", "b", "c"), 0.15)
    assert incident.started_at == 100_000_000


@pytest.mark.parametrize(
    ("root", "moved_seconds", "group", "is_told"),
    [
        ("coordinator_pause", 0, "orders", True),
        (None, 0, "orders", True),  # the group was rebalancing already, so that the expiries did not begin it
        ("broker_outage", 0, "orders", False),
        (None, 60, "orders", False),
        ("coordinator_pause", 0, "a", False),
    ],
    ids=["behind it", "within it", "of another root", "later", "of another group"],
)
def test_one_group_tells_of_the_pause_for_all(root: str | None, moved_seconds: int, group: str, *, is_told: bool) -> None:
    """The incidents of the other groups are lowered, so that this one must not be missing."""
    (row,) = expired("2")
    row.root_cause = root
    at = (row.ended_at if root is None else row.started_at) or 0
    burst = replace(BURST, at=at + moved_seconds * 1_000_000, told_by="orders")

    assert bursts_behind([burst], group, [row]) == ([burst] if is_told else [])
