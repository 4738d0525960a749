"""Whether "(Re-)joining group" is a process's first join, by the lines before it in a client's log."""

from __future__ import annotations

import pytest

from models.events import Event
from models.kafka.observations.actions import ActionKind
from models.kafka.observations.first_joins import Clients
from tests.models.kafka.reconstruction.lines import client

FIRST, AGAIN = ActionKind.JOIN, ActionKind.REJOIN
JOINING = client("Joining", 0, client_id="a")
JOINED = client("Joined", 0, client_id="a", generation=1)
HAS_SOME = client("Assigned", 0, client_id="a", partitions=["t-0"])
HAS_NONE = client("Assigned", 0, client_id="a", partitions=[])
FOUND = client("CoordinatorFound", 0, client_id="a")
LOST = client("CoordinatorLost", 0, client_id="a")
GIVES_UP_SOME = client("Revoked", 0, client_id="a", partitions=["t-0"])
GIVES_UP_NONE = client("Revoked", 0, client_id="a", partitions=[])


def subscribed(*topics: str) -> Event:
    return client("Subscribed", 0, client_id="a", topics=list(topics))


def kind_after(*lines: Event, silent: bool = False) -> ActionKind:
    clients = Clients()
    for line in lines:
        if line is JOINED:
            clients.feed(JOINING, set())
        clients.feed(line, set())
    if silent:
        clients.forget([("client.log", "a")])
    [action] = clients.feed(JOINING, set())
    return action.kind


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([], FIRST),
        ([subscribed("t"), FOUND, GIVES_UP_NONE], FIRST),
        ([subscribed("t"), FOUND, GIVES_UP_NONE, JOINED, HAS_SOME], AGAIN),
        ([JOINED, HAS_NONE, GIVES_UP_NONE], AGAIN),
        ([JOINED, HAS_SOME, HAS_NONE, GIVES_UP_NONE], AGAIN),
        ([JOINED, HAS_SOME, GIVES_UP_NONE], FIRST),
        ([JOINED, HAS_NONE, HAS_SOME, GIVES_UP_NONE], FIRST),
        ([JOINED, HAS_SOME, GIVES_UP_SOME], AGAIN),
        ([GIVES_UP_SOME], AGAIN),
        ([GIVES_UP_NONE], FIRST),
        ([JOINED, HAS_NONE, client("LeaveSent", 0, client_id="a"), GIVES_UP_NONE], FIRST),
    ],
)
def test_members_of_old_clients_say_that_they_give_up_nothing_if_they_have_nothing(lines: list[Event], kind: ActionKind) -> None:
    assert kind_after(*lines) is kind


@pytest.mark.parametrize(
    ("lines", "kind"),
    [
        ([subscribed("t", "u"), FOUND, JOINED, LOST, subscribed("t"), FOUND], AGAIN),
        ([subscribed("t", "u"), FOUND, JOINED, LOST, subscribed("t", "u"), FOUND], FIRST),
        ([subscribed("t", "u"), FOUND, JOINED, LOST, subscribed("u", "t"), FOUND], FIRST),
        ([FOUND, JOINED, LOST, subscribed("t"), FOUND], FIRST),
        ([subscribed("t", "u"), FOUND, JOINED, client("LeaveSent", 0, client_id="a"), subscribed("t"), FOUND], FIRST),
        ([subscribed("t", "u"), FOUND, JOINED, client("Closed", 0, client_id="a"), subscribed("t"), FOUND], FIRST),
        ([subscribed("t", "u"), FOUND, JOINED, subscribed("t")], AGAIN),
    ],
    ids=["other topics", "the same", "in another order", "topics not known", "behind a leave", "behind a close", "coordinator known"],
)
def test_a_member_that_asks_for_other_topics_without_its_coordinator_runs_on(lines: list[Event], kind: ActionKind) -> None:
    assert kind_after(*lines) is kind


@pytest.mark.parametrize("name", ["JoinFailed", "SyncFailed"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ("UNKNOWN_MEMBER_ID", FIRST),
        ("The coordinator is not aware of this member. Need to re-join the group.", FIRST),
        ("REBALANCE_IN_PROGRESS", AGAIN),
        (None, AGAIN),
    ],
)
def test_whom_the_coordinator_knows_no_more_joins_anew(name: str, error: str | None, kind: ActionKind) -> None:
    assert kind_after(JOINED, client(name, 0, client_id="a", error=error)) is kind


@pytest.mark.parametrize("name", ["RejoinRequested", "GenerationReset"])
@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("consumer pro-actively leaving the group", FIRST),
        ("need to revoke partitions [t-0] as indicated by the current assignment", AGAIN),
        (None, AGAIN),
    ],
)
def test_a_static_member_that_polled_too_late_joins_anew(name: str, why: str | None, kind: ActionKind) -> None:
    assert kind_after(JOINED, client(name, 0, client_id="a", **{"why": why} if why else {})) is kind


@pytest.mark.parametrize("lines", [[JOINED], [JOINED, HAS_NONE, GIVES_UP_NONE], [subscribed("t"), JOINED, subscribed("u"), FOUND]])
def test_nothing_is_known_of_a_client_that_was_silent_for_long(lines: list[Event]) -> None:
    assert kind_after(*lines) is AGAIN
    assert kind_after(*lines, silent=True) is FIRST
