"""States of share and streams groups by their recorded log lines alone, compared with what the coordinators held."""

from __future__ import annotations

import gzip
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.groups.rows.epoch_states import CERTAIN, EpochStates
from parsers.catalogue.catalogue import catalogue
from parsers.catalogue.entries import Match
from tests.adapters.recorded_lines import LOGGERS, PREFIX

RECORDINGS = sorted((Path(__file__).parents[4] / "recordings").glob("*.jsonl.gz"))


def events_of(step: dict[str, Any]) -> Iterator[Event]:
    """The step's lines as events."""
    for number, line in enumerate(step.get("log", []), 1):
        _, _, rest = line.partition(" ")
        logger, _, message = rest.partition(": ")
        match = catalogue().match(LOGGERS.get(logger, logger), PREFIX + message)
        if isinstance(match, Match) and match.event:
            at_us = step["t_end"] * 1_000
            place = LogPosition("server.log", number, number)
            yield Event(match.event, at_us, at_us, place, Witness.COORDINATOR, match.message_id, line, **match.columns, fields=match.fields)


def compared(trace: dict[str, Any]) -> Counter[str]:
    """How many steps end in the recorded state, epoch and members, by what is compared."""
    states, found = EpochStates(), Counter[str]()
    held: dict[str, Any] = {}
    for step in trace["steps"]:
        held = step.get("state", {"g1": held})["g1"]
        for event in events_of(step):
            states.feed(event)
        if held["state"] == "Absent" or (states.epoch is None and not states.members):
            continue
        state, certainty = states.state
        found["steps"] += 1
        if certainty == CERTAIN:
            found["certain"] += 1
            found["state"] += state == held["state"]
        found["epoch"] += states.epoch == held["epoch"]
        found["members"] += set(states.members) == {member["member"] for member in held["members"]}
    return found


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.name.removesuffix(".jsonl.gz"))
def test_lines_alone_tell_state_epoch_and_members(path: Path) -> None:
    total: Counter[str] = Counter()
    with gzip.open(path) as lines:
        for line in lines:
            total += compared(json.loads(line))
    assert total["steps"] > 0
    assert total["state"] == total["certain"], "a state is surely wrong"
    assert total["epoch"] == total["members"] == total["steps"]


def test_a_refused_join_is_no_member() -> None:
    """A streams group logs the join first and refuses it then, for instance as the application has another topology."""
    states = EpochStates()
    for number, (name, member, fields) in enumerate(
        [
            ("ModernMemberJoined", "m1", {}),
            ("GroupEpochBumped", "m1", {}),
            ("ModernMemberJoined", "m2", {}),
            ("ModernMemberMoved", "m1", {"member_epoch": 2, "state": "STABLE"}),
        ],
        1,
    ):
        generation = 2 if name == "GroupEpochBumped" else None
        place = LogPosition("server.log", number, number)
        told = {"group_type": "streams", **fields}
        states.feed(Event(name, number, number, place, Witness.COORDINATOR, member_id=member, generation=generation, fields=told))
    assert set(states.members) == {"m1"}
