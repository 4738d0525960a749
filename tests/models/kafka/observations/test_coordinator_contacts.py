"""Which coordinator each client had found, and when it lost it: each limit met exactly."""

from __future__ import annotations

import pytest

from models.kafka.observations import coordinator_contacts
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.coordinator_contacts import CoordinatorContacts
from tests.models.kafka.reconstruction.lines import client

K = ActionKind


def act(kind: ActionKind, at: int, node: str | None = None) -> MemberAction:
    return MemberAction(kind, at, None, None, None, None, None, client("Note", at, node=node))


def contacts_of(*actions: MemberAction, actor: str = "a") -> CoordinatorContacts:
    contacts = CoordinatorContacts()
    for action in actions:
        (contacts.begin if action.kind is K.START else contacts.end)(action, actor)
    return contacts


@pytest.mark.parametrize(("at", "node"), [(4, None), (5, "1"), (8, "1"), (9, "2")])
def test_a_client_takes_the_broker_that_it_found_last_for_its_coordinator(at: int, node: str | None) -> None:
    contacts = contacts_of(act(K.START, 5, "1"), act(K.START, 9, "2"))

    assert contacts.node("a", at) == node
    assert contacts.node("b", at) is None


def test_members_have_one_coordinator_or_none_is_known() -> None:
    contacts = contacts_of(act(K.START, 5, "1"))
    contacts.begin(act(K.START, 6, "2"), "b")

    assert [contacts.common_node(names, 9) for names in ("a", "b", "ac", "ab", "c", "")] == ["1", "2", "1", None, None, None]


@pytest.mark.parametrize(("after", "until", "but", "at"), [(5, 9, None, 5), (6, 9, None, 9), (6, 8, None, None), (5, 9, "a", None)])
def test_the_first_loss_of_others_lies_between_two_times(after: int, until: int, but: str | None, at: int | None) -> None:
    assert contacts_of(act(K.LOST_COORDINATOR, 5), act(K.LOST_COORDINATOR, 9)).first_loss(after, until, but) == at


@pytest.mark.parametrize(
    ("actions", "ended"),
    [
        ([act(K.START, 7)], True),
        ([act(K.START, 5)], False),
        ([act(K.START, 10)], False),
        ([act(K.LOST_COORDINATOR, 6), act(K.START, 7)], False),
        ([act(K.LOST_COORDINATOR, 4), act(K.START, 7)], True),
    ],
)
def test_a_process_has_ended_if_another_looks_for_the_coordinator(actions: list[MemberAction], ended: bool) -> None:
    assert contacts_of(*actions).has_ended(act(K.JOIN, 5), "a", 9) is ended


def test_the_last_contact_before_a_time_is_kept() -> None:
    contacts = contacts_of(act(K.START, 5, "1"), act(K.START, 6, "2"), act(K.START, 9, "3"), act(K.LOST_COORDINATOR, 6))
    contacts.forget(6)

    assert [contacts.node("a", at) for at in (5, 8, 9)] == [None, "2", "3"]
    assert contacts.first_loss(0, 9, None) is None


def test_contacts_are_kept_up_to_a_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(coordinator_contacts, "CONTACTS_MAX", 2)
    monkeypatch.setattr(coordinator_contacts, "CLIENTS_KEPT_MAX", 2)
    contacts = contacts_of(*(act(kind, at, "1") for at in (1, 2, 3) for kind in (K.START, K.LOST_COORDINATOR)))
    assert (contacts.node("a", 1), contacts.node("a", 2), contacts.first_loss(0, 9, None)) == (None, "1", 2)

    for name in "bc":
        contacts.begin(act(K.START, 5, "1"), name)
        contacts.end(act(K.LOST_COORDINATOR, 5), name)
    assert ([contacts.node(name, 9) for name in "abc"], contacts.first_loss(0, 9, None)) == ([None, "1", "1"], 5)
