"""Rows that are final leave the replay, and nothing that is later than they say changes them."""

from __future__ import annotations

import dataclasses
from dataclasses import fields
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import replay
from models.cluster import ClusterFacts
from models.events import Event, Place, Witness
from models.kafka.history import GroupHistory
from models.replay import SETTLE_DRAFTS, GroupStage, replay_group
from models.rows import Rebalance

US = 1_000_000
FACTS = ClusterFacts("c")


def line(name: str, second: int, **values: object) -> Event:
    at = second * US
    fixed = {name: values.pop(name) for name in ("generation", "member_id", "node") if name in values}
    place = Place("server.log", second + 1, second)
    return Event(name, at, at, place, Witness.COORDINATOR, group="g", fields=values, **{"node": "1", **fixed})  # type: ignore[arg-type]


def rebalance(second: int, generation: int, member: str, node: str) -> list[Event]:
    """A member joins, or one that was there is gone, turn by turn."""
    goes = generation % 2 == 1
    told = {"reason_id": "heartbeat_expiration" if goes else "new_member", "reason_member_id": member}
    return [
        *([line("MemberExpired", second, member_id=member, node=node)] if goes else []),
        line("RebalanceStarted", second, generation=generation, node=node, **told),
        line("GenerationStarted", second + 1, generation=generation + 1, member_count=2, node=node),
        line("AssignmentReceived", second + 2, generation=generation + 1, member_id=f"leader-{generation // 2}", member_count=2, node=node),
    ]


@st.composite
def stories(draw: st.DrawFn) -> list[Event]:
    """Rebalances, some close to each other and some not, with members that stay or change, and coordinators that move."""
    events, second = [], 10
    for generation, gap in enumerate(draw(st.lists(st.sampled_from([5, 90, 125, 400, 700, 5_000, 100_000]), min_size=1, max_size=9)), 1):
        member = f"m-{draw(st.integers(0, 2))}"
        events += rebalance(second, generation, member, draw(st.sampled_from("112")))
        second += 2 + gap
    return events


def all_rows(history: GroupHistory) -> list[tuple[str, object]]:
    return [(table.name, row) for table in fields(history) for row in getattr(history, table.name)]


LONGEST = pytest.mark.parametrize("longest", [replay.EPISODE_MAX, 2])
"""All of this holds wherever episodes end."""


@LONGEST
@settings(max_examples=60, deadline=None)
@given(stories())
def test_what_comes_later_than_a_row_says_does_not_change_it(longest: int, events: list[Event]) -> None:
    with mock.patch.object(replay, "EPISODE_MAX", longest):
        whole = all_rows(replay_group("c", "g", events, FACTS))
        for count in range(1, len(events)):
            following = events[count].order_us
            for table, row in all_rows(replay_group("c", "g", events[:count], FACTS)):
                if row.final_at is not None and row.final_at < following:  # type: ignore[attr-defined]
                    assert (table, row) in whole


@LONGEST
@settings(max_examples=60, deadline=None)
@given(stories())
def test_a_resumed_replay_gives_the_rows_that_were_not_final_when_its_state_was_taken(longest: int, events: list[Event]) -> None:
    with mock.patch.object(replay, "EPISODE_MAX", longest):
        whole = all_rows(replay_group("c", "g", events, FACTS))
        for count in range(1, len(events)):
            upto = events[count].order_us - 1
            if upto < events[count - 1].order_us:
                continue
            stage = GroupStage("c", "g", FACTS)
            for event in events[:count]:
                stage.feed(event)
            stage.catch_up(upto)
            resumed = GroupStage.resumed("c", "g", FACTS, stage.state())
            for event in events[count:]:
                resumed.feed(event)
            told = all_rows(resumed.finish())
            later = [(table, row) for table, row in whole if row.final_at is None or row.final_at > upto]  # type: ignore[attr-defined]
            assert sorted(map(repr, told)) == sorted(map(repr, later))


def test_a_state_is_as_large_as_what_is_open() -> None:
    stage = GroupStage("c", "g", FACTS)
    sizes = []
    for generation in range(1, 200):
        for event in rebalance(generation * 2_000, generation, f"m-{generation}", "1"):
            stage.feed(event)
        stage.catch_up((generation + 1) * 2_000 * US - 1)
        sizes.append(len(stage.state()))
    assert sizes[-1] < 3 * sizes[10]
    assert stage.row_count < 5
    rows = stage.finish()
    assert len(rows.rebalances) == len(rows.incidents) == 199
    assert len(rows.member_sessions) == 299  # of two rebalances one has a new leader


def final_of(row: Rebalance) -> int:
    assert row.final_at is not None
    return row.final_at // US


def test_the_rebalances_of_an_episode_are_final_together_ten_minutes_after_the_last() -> None:
    events = [*rebalance(100, 1, "m-1", "1"), *rebalance(160, 2, "m-2", "1"), *rebalance(2_000, 3, "m-1", "1")]
    assert [final_of(row) for row in replay_group("c", "g", events, FACTS).rebalances] == [762, 762, 2602]


def test_while_a_rebalance_is_open_its_row_is_not_final() -> None:
    *_, last = replay_group("c", "g", [*rebalance(100, 1, "m-1", "1"), *rebalance(2_000, 2, "m-2", "1")[:-1]], FACTS).rebalances
    assert (last.outcome, last.final_at) == ("open", None)


def test_what_is_held_is_bounded_in_a_storm_without_end() -> None:
    """No rebalance is ten minutes over, yet the first ones are judged: too many wait behind them."""
    stage = GroupStage("c", "g", FACTS)
    for generation in range(1, 81):
        for event in rebalance(generation * 5, generation, f"m-{generation % 3}", "1"):
            stage.feed(event)
    assert len(stage.open.rebalances) == 80 - SETTLE_DRAFTS
    assert len(stage.finish().rebalances) == 80


def test_an_episode_without_end_is_told_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for generation in range(1, 251) for event in rebalance(generation * 5, generation, f"m-{generation % 3}", "1")]
    one = replay_group("c", "g", events, FACTS)
    monkeypatch.setattr(replay, "EPISODE_MAX", 100)
    stage = GroupStage("c", "g", FACTS)
    monkeypatch.setattr(replay, "LEAVING_ROWS", 100)
    several = GroupHistory()
    for event in events:
        stage.feed(event)
        for left in stage.let_out():
            several.take(left)
        assert len(stage.open.rebalances) < 100
        assert not stage.final.rebalances
        assert stage.row_count < 1_000
    assert len(several.rebalances) == 100
    several.take(stage.finish())
    assert sorted(each.rebalance_count for each in one.incidents) == [250]
    assert sorted(each.rebalance_count for each in several.incidents) == [50, 100, 100]
    for told in (one, several):  # what an episode says of its rebalances is its own
        told.rebalances = [dataclasses.replace(row, root_cause=None) for row in told.rebalances]
    for name in ("rebalances", "rebalance_members", "group_transitions"):
        before, after = ([dataclasses.replace(row, final_at=None) for row in getattr(told, name)] for told in (one, several))
        assert before == after


def test_a_state_holds_what_the_cluster_tells_of_the_group_until_then() -> None:
    place = Place("c.log", 1, 1)
    stray = Event("ClientCoordinatorLost", 8 * US, 8 * US, place, Witness.CLIENT, group="g", client_id="c-1", fields={"why": "gone"})
    facts = ClusterFacts("c", strays={"g": [stray]})
    stage = GroupStage("c", "g", facts)
    stage.feed(line("HeartbeatCompleted", 5))
    stage.catch_up(7 * US)
    assert stage.event_count == 1
    stage.catch_up(9 * US)
    assert stage.event_count == 2
    resumed = GroupStage.resumed("c", "g", facts, stage.state())
    resumed.feed(line("HeartbeatCompleted", 20))
    assert resumed.event_count == 3
