"""States as text: what comes back is what was written, down to which objects are one and the same."""

from __future__ import annotations

import json
from collections import Counter, deque
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import pytest

from models import state_codec as state_text
from models.events import Event, LogPosition, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.observations.roster import RosterMember
from models.kafka.partitions.controllers import Controllers, ControllerTerm
from models.state_codec import UnreadableState, read, write

EVENT = Event(
    "GroupDied",
    1,
    2,
    LogPosition("a/server.log", 3, 4),
    Witness.COORDINATOR,
    fields={"reason": "größer", "members": ["x", None, 1.5, True]},
)
PLAIN = [None, True, 7, -(1 << 62), 0.25, "", "line\nbreak \u2028 \U0001f600"]


@pytest.mark.parametrize(
    "value",
    [
        *PLAIN,
        PLAIN,
        (1, (2, ("a",))),
        {1, 2},
        frozenset({"b", "a"}),
        deque([1, 2], maxlen=None),
        Counter({"a": 2}),
        MappingProxyType({"a": 1}),
        {("log", None): [1], "order": 2, "kept": 3},
        State.STABLE,
        EVENT,
        RosterMember("m-1", client_id="c"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_is_read_is_what_was_written(value: object) -> None:
    found = read(write(value, {}), {})
    assert (found, type(found)) == (value, type(value))
    if isinstance(value, dict):
        assert list(found) == list(value)


def test_what_is_one_object_stays_one_and_what_is_outside_is_given_again() -> None:
    facts, member = ClusterFacts("c"), RosterMember("m-1")
    held = {"members": {"m-1": member, "m-2": RosterMember("m-2")}, "current": member, "facts": [facts, facts], "events": (EVENT, EVENT)}
    other = ClusterFacts("other")
    found = read(write(held, {"facts": facts}), {"facts": other})

    assert found["members"]["m-1"] is found["current"] is not member
    assert found["events"][0] is found["events"][1]
    assert found["facts"][0] is found["facts"][1] is other
    found["current"].host = "h"
    assert member.host is None


def test_equal_sets_are_written_alike() -> None:
    names = [f"client-{number}" for number in range(50)]
    assert write(set(names), {}) == write({*reversed(names)}, {})


@dataclass
class Foreign:
    path: Path


def test_only_data_of_the_models_is_written() -> None:
    for value in (Foreign(Path()), Path(), object(), print):
        with pytest.raises(TypeError):
            write([value], {})
    loop: list[object] = []
    loop.append(loop)
    with pytest.raises(ValueError, match="holds itself"):
        write(loop, {})
    with pytest.raises(ValueError, match="Out of range"):
        write([float("nan")], {})


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[1,[],[],[0]]",
        '[99,[],[],"a"]',
        '[1,["os:system"],[[0,"true"]],[0]]',
        '[1,["models.nothing:Here"],[[0]],[0]]',
        '[1,["models.ids:make_id"],[[0]],[0]]',
        '[1,["models.kafka.observations.roster:Member"],[[0,"m-1"]],[0]]',
        '[1,[],[["outside","facts"]],[0]]',
        "[" * 100_000,
        '[1,["models.kafka.reconstruction.classic_states:State"],[["enum",0,"Asleep"]],[0]]',
    ],
)
def test_what_is_no_state_of_these_models_is_refused(text: str) -> None:
    with pytest.raises(UnreadableState):
        read(text, {})


def test_a_format_of_another_time_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    text = write("a", {})
    monkeypatch.setattr(state_text, "FORMAT", 2)
    with pytest.raises(UnreadableState, match="format 1: this version reads 2"):
        read(text, {})


def test_fields_that_a_class_got_later_have_their_defaults() -> None:
    format_, names, objects, place = json.loads(write(Controllers([ControllerTerm("1", 5, EVENT)], [EVENT]), {}))
    index = next(number for number, (kind, *_) in enumerate(objects) if kind == names.index("Controllers"))
    shorter = [*objects[:index], objects[index][:-1], *objects[index + 1 :]]

    assert read(json.dumps([format_, names, shorter, place]), {}) == Controllers([ControllerTerm("1", 5, EVENT)], [])


def test_a_class_that_lacks_other_fields_is_refused() -> None:
    format_, names, objects, place = json.loads(write(RosterMember("m-1"), {}))

    with pytest.raises(UnreadableState):
        read(json.dumps([format_, names, [each[:-1] for each in objects], place]), {})
