"""States that older versions stored: a replay goes on from them as if it had never stopped, or refuses them as a whole."""

from __future__ import annotations

import json
import lzma
import types
import typing
from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from models.events import Event
from models.incidents import fault_facts, headline_facts
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.outages.outage_stage import OutageStage
from models.kafka.partitions.broker_clocks import BrokerClocks
from models.state_codec import UnreadableState
from models.stored_classes import ADDED_FIELDS, STORED, class_of, stable_name
from pipelines.analysis import stages
from pipelines.analysis.in_process import analyze
from tests.conftest import ROOT
from tests.test_resumed_outages import everything as everything_of_partitions
from tests.test_resumed_replay import everything as everything_of_groups

OLDER = json.loads(lzma.decompress((ROOT / "tests" / "warehouses" / "states-of-version-2.json.xz").read_bytes()))
"""Each taken before the event that came after so many others, by the last version that wrote the modules of classes into states."""


@pytest.mark.parametrize("older", OLDER, ids=lambda older: f"{older['kind']}-{older['sample'].replace('/', '-')}")
def test_a_replay_goes_on_from_an_older_state(older: dict[str, Any], samples: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    everything = everything_of_groups if older["kind"] == "group" else everything_of_partitions
    monkeypatch.chdir(samples / "kafka")  # places in states are those of the files as they were named
    whole = everything(analyze([older["sample"]]))
    resumed: list[Any] = []

    def go_on(stage: Any, reached: tuple[str, int], restored: Callable[[], Any]) -> None:
        if not resumed and reached == (older["of"], older["events"]):
            try:
                _become(stage, restored())
                resumed.append(stage)
            except UnreadableState as refusal:  # classes have other fields since: the job replays from the beginning then
                resumed.append(refusal)

    def resumed_memory(of: GroupMemory) -> GroupMemory:
        return GroupMemory.resumed(of.cluster, of.group, of.facts, older["state"], of.limits)

    class ResumedGroup(GroupStage):
        def feed(self, event: Event) -> None:
            go_on(
                self,
                (self.memory.group, self.event_count),
                lambda: GroupStage(
                    GroupMemory.resumed(self.memory.cluster, self.memory.group, self.memory.facts, older["state"], self.memory.limits)
                ),
            )
            super().feed(event)

    class ResumedOutages(OutageStage):
        def feed(self, event: Event) -> None:
            go_on(
                self,
                (self.cluster, self.event_count),
                lambda: OutageStage.resumed(self.cluster, self.facts, older["state"], self.node_of, self.readers, self.gap_seconds),
            )
            super().feed(event)

    kind = ResumedGroup if older["kind"] == "group" else ResumedOutages
    monkeypatch.setattr(stages, kind.__base__.__name__, kind)

    assert everything(analyze([older["sample"]])) == whole
    assert resumed
    assert older["kind"] == "group" or isinstance(resumed[0], OutageStage)


@pytest.mark.parametrize("older", OLDER, ids=lambda older: f"{older['kind']}-{older['sample'].replace('/', '-')}")
def test_names_of_before_stand_for_classes_of_today(older: dict[str, Any]) -> None:
    """Also where a class has other fields by now, for which its states are refused."""
    _, names, _, _ = json.loads(older["state"])

    assert names
    assert all(":" in name and stable_name(class_of(name)) == name.rpartition(":")[2] for name in names)


def _become(stage: Any, other: Any) -> None:
    if isinstance(other, GroupStage):
        other.memory.rows.final = stage.memory.rows.final  # those rows are written by then
    for name in type(other).__slots__:
        if name != "final":  # as are those of partitions
            setattr(stage, name, getattr(other, name))


def held(kind: Any, seen: set[type]) -> Iterator[type]:
    """Classes of the models that objects of this type may hold."""
    for part in typing.get_args(kind):
        if not isinstance(part, str):
            yield from held(part, seen)
    if not isinstance(kind, type) or isinstance(kind, types.GenericAlias) or kind in seen or not kind.__module__.startswith("models."):
        return
    if is_dataclass(kind) or issubclass(kind, Enum):
        seen.add(kind)
        yield kind
    if is_dataclass(kind):
        hints = typing.get_type_hints(kind)
        for each in fields(kind):
            yield from held(hints[each.name], seen)


FACTS = [*vars(headline_facts).values(), *vars(fault_facts).values()]
OF_FINAL_ROWS = {each.__qualname__ for each in FACTS if is_dataclass(each)} | {"Outages"}
PARTS = {"ActionTimeline", "EpisodeRows", "LastingConditions", "MemberLogs", "UnrankedRebalances"}
"""What a group stage holds its state in, written field by field."""
NOT_WRITTEN = {"ClusterFacts", "PartitionStage"} | OF_FINAL_ROWS | PARTS
"""What reading is given again, what is written field by field, and rows that are final, with the facts of headlines."""


def test_all_that_states_may_hold_has_a_name() -> None:
    roots = (GroupMemory, OutageStage, BrokerClocks)
    found = {each for root in roots for each in held(root, set())} - set(roots[:2])
    missing = []
    for each in found:
        try:
            stable_name(each)
        except KeyError:
            missing.append(each.__qualname__)

    assert set(missing) <= NOT_WRITTEN


@pytest.mark.parametrize("name", STORED)
def test_a_name_stands_for_one_class(name: str) -> None:
    found = class_of(name)

    assert is_dataclass(found) or issubclass(found, Enum)
    assert stable_name(found) == name
    assert ":" not in name


@pytest.mark.parametrize("name", ADDED_FIELDS)
def test_fields_that_came_later_are_of_a_stored_class_and_have_a_default(name: str) -> None:
    of_class = {each.name: each for each in fields(class_of(name))}

    assert name in STORED
    for added in ADDED_FIELDS[name]:
        assert of_class[added].default is not MISSING or of_class[added].default_factory is not MISSING
