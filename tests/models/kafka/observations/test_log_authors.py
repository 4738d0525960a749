"""Lines that name no client are of the one client that writes their log."""

from __future__ import annotations

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.observations.log_authors import LogAuthors
from models.kafka.observations.roster import Roster


def member(client: str, number: int) -> str:
    return f"{client}-00000000-0000-4000-8000-{number:012d}"


A1, A2, B1 = member("a", 1), member("a", 2), member("b", 1)


def line(member_id: str | None = None, client_id: str | None = None, file: str = "app.log", witness: Witness = Witness.CLIENT) -> Event:
    return Event("ClientJoining", 1, 1, LogPosition(file, 1, 1), witness, group="g", member_id=member_id, client_id=client_id)


@pytest.mark.parametrize(
    ("before", "client"),
    [
        ([], None),
        ([line(A1)], "a"),
        ([line(A1), line(A1)], "a"),
        ([line(A1), line(A2)], "a"),  # the client began anew
        ([line(A1), line(A2), line(A1)], None),  # two members that share a client id
        ([line(A1), line(B1)], None),
        ([line(A1), line(B1), line(A1)], None),
        ([line(A1, file="app.log.1")], "a"),
        ([line(A1, file="other.log")], None),
        ([line(A1, witness=Witness.COORDINATOR)], None),
        ([line("no id of a coordinator")], None),
    ],
)
def test_a_line_is_of_the_client_that_its_log_named(before: list[Event], client: str | None) -> None:
    authors, roster = LogAuthors(), Roster()
    for each in before:
        authors.name(each, roster)
    assert authors.name(line(), roster).client_id == client


def test_a_static_member_goes_by_the_client_id_that_another_line_gave() -> None:
    authors, roster = LogAuthors(), Roster()
    static = member("instance-7", 1)
    roster.observe(static, 1, client_id="a", instance_id="instance-7")
    authors.name(line(static), roster)
    assert authors.name(line(), roster).client_id == "a"


def test_lines_that_name_their_client_stay_as_they_are() -> None:
    authors, roster = LogAuthors(), Roster()
    authors.name(line(A1), roster)
    named = line(client_id="c")
    assert authors.name(named, roster) is named


def test_logs_are_forgotten() -> None:
    authors, roster = LogAuthors(), Roster()
    authors.name(line(A1), roster)
    authors.forget({"app.log"})
    assert authors.name(line(), roster).client_id is None
