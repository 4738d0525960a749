"""Rows that are final leave the replay, and nothing that is later than they say changes them."""

from __future__ import annotations

import dataclasses
from dataclasses import fields
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models import weights
from models.events import Event, LogPosition, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.groups import bounds
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.verdicts.history import GroupHistory
from models.rows import Rebalance
from tests.conftest import LONG, examples
from tests.replaying import replay_group

US = 1_000_000
FACTS = ClusterFacts("c")


def line(name: str, second: int, **values: object) -> Event:
    at = second * US
    fixed = {name: values.pop(name) for name in ("generation", "member_id", "node") if name in values}
    place = LogPosition("server.log", second + 1, second)
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


def epoch(second: int, number: int, members: set[str], member: str, witnessed: bool) -> list[Event]:
    """A member of a KIP-848 group comes, or goes if it is there; then all that tell of themselves move to their new shares."""
    goes = member in members
    members ^= {member}
    return [
        line("ModernMemberLeft" if goes else "ModernMemberJoined", second, member_id=member, client_id=member),
        *([line("GroupEpochBumped", second, generation=number)] if members else []),
        *([line("TargetComputed", second + 1, generation=number, assignor="uniform")] if members else []),
        *(
            moved(second + delay, each, state)
            for delay, state in ((1, "RECONCILING"), (3, "STABLE"))
            for each in sorted(members)
            if witnessed
        ),
    ]


def moved(second: int, member: str, state: str) -> Event:
    told = line("ClientMemberState", second, member_id=member, to_state=state)
    return dataclasses.replace(told, witness=Witness.CLIENT, client_id=member)


@st.composite
def modern_stories(draw: st.DrawFn) -> list[Event]:
    """Epochs, some close to each other and some not, of members that have logs of their own or none; some are not written at first."""
    events: list[Event] = []
    members: set[str] = set()
    number, second, witnessed = 0, 10, draw(st.booleans())
    for gap in draw(st.lists(st.sampled_from([1, 4, 90, 125, 400, 700, 5_000, 100_000]), min_size=1, max_size=9)):
        number += draw(st.sampled_from([1, 1, 1, 1, 0])) if events else 1
        told = epoch(second, number, members, f"m-{draw(st.integers(0, 3))}", witnessed)
        number += not members  # the group is empty: its epoch rises without a line
        events += told[: len(told) - draw(st.sampled_from([0, 0, 0, 1]))]
        second += 4 + gap
    return sorted(events, key=lambda event: event.order_us)


@st.composite
def stories(draw: st.DrawFn) -> list[Event]:
    """Rebalances, some close to each other and some not, with members that stay or change, and coordinators that move."""
    events, second = [], 10
    for generation, gap in enumerate(draw(st.lists(st.sampled_from([5, 90, 125, 400, 700, 5_000, 100_000]), min_size=1, max_size=9)), 1):
        member = f"m-{draw(st.integers(0, 2))}"
        events += rebalance(second, generation, member, draw(st.sampled_from("112")))
        second += 2 + gap
    return events


def later(event: Event, seconds: int) -> Event:
    at = event.order_us + seconds * US
    return dataclasses.replace(event, at_us=at, order_us=at, place=LogPosition("server.log", at // US + 1, at // US))


@st.composite
def migrations(draw: st.DrawFn) -> list[Event]:
    """A group is converted from one protocol to the other and back."""
    events: list[Event] = []
    for modern in draw(st.lists(st.booleans(), min_size=2, max_size=4)):
        second = (events[-1].order_us // US if events else 0) + draw(st.sampled_from([1, 90, 700, 5_000]))
        part = draw(modern_stories() if modern else stories())
        events += [line("GroupConverted", second, to_type="consumer" if modern else "classic"), *(later(each, second) for each in part)]
    return events


DAYS = 86_400


def process(second: int, generation: int, client: int, ahead: int, *, goes: bool) -> list[Event]:
    """A client's process in a generation, by its own log, whose clock is ahead by so many seconds; it may go then."""
    names = {"ClientConfigured": 0, "ClientSubscribed": 0, "ClientJoining": 0, "ClientJoined": 1, "ClientSynced": 2}
    told = [line(name, second + after + ahead) for name, after in {**names, **({"ClientLeaveSent": 5} if goes else {})}.items()]
    own = {"place": LogPosition(f"c-{client}.log", second, second), "witness": Witness.CLIENT, "client_id": f"c-{client}", "node": None}
    joined = {"ClientJoined", "ClientSynced", "ClientLeaveSent"}
    return [
        dataclasses.replace(
            each,
            generation=generation if each.name in joined else None,
            member_id=f"c-{client}-{generation}" if each.name in joined else None,
            **own,  # type: ignore[arg-type]
        )
        for each in told
    ]


@st.composite
def processes(draw: st.DrawFn) -> list[Event]:
    """Rebalances of clients that have logs, some of which are not heard of for long."""
    events, second = [], 1_000
    for generation in range(1, draw(st.integers(2, 7))):
        events += rebalance(second, generation, f"m-{generation}", "1")
        for client in draw(st.sets(st.integers(0, 2), min_size=1)):
            events += process(second, generation + 1, client, (0, 5, -5)[client], goes=draw(st.booleans()))
        second += draw(st.sampled_from([90, 700, DAYS // 2, 2 * DAYS, 20 * DAYS, 40 * DAYS]))
    return sorted(events, key=lambda event: event.order_us)


def all_rows(history: GroupHistory) -> list[tuple[str, object]]:
    return [(table.name, row) for table in fields(history) for row in getattr(history, table.name)]


EXAMPLES = examples(15, 60)
"""Each history is replayed as often as it has events."""
LONGEST = pytest.mark.parametrize("longest", [pytest.param(bounds.EPISODE_MAX, marks=LONG), 2])
"""All of this holds wherever episodes end."""


@LONGEST
@settings(max_examples=EXAMPLES, deadline=None)
@given(stories() | modern_stories() | migrations() | processes())
def test_what_comes_later_than_a_row_says_does_not_change_it(longest: int, events: list[Event]) -> None:
    with mock.patch.object(bounds, "EPISODE_MAX", longest):
        whole = all_rows(replay_group("c", "g", events, FACTS))
        for count in range(1, len(events)):
            following = events[count].order_us
            for table, row in all_rows(replay_group("c", "g", events[:count], FACTS)):
                if row.final_at is not None and row.final_at < following:  # type: ignore[attr-defined]
                    assert (table, row) in whole


@LONGEST
@settings(max_examples=EXAMPLES, deadline=None)
@given(stories() | modern_stories() | migrations() | processes())
def test_a_resumed_replay_gives_the_rows_that_were_not_final_when_its_state_was_taken(longest: int, events: list[Event]) -> None:
    with mock.patch.object(bounds, "EPISODE_MAX", longest):
        whole = all_rows(replay_group("c", "g", events, FACTS))
        for count in range(1, len(events)):
            upto = events[count].order_us - 1
            if upto < events[count - 1].order_us:
                continue
            stage = GroupStage(GroupMemory("c", "g", FACTS))
            for event in events[:count]:
                stage.feed(event)
            stage.advance_to(upto)
            resumed = GroupStage(GroupMemory.resumed("c", "g", FACTS, stage.checkpoint()))
            for event in events[count:]:
                resumed.feed(event)
            told = all_rows(resumed.close())
            later = [(table, row) for table, row in whole if row.final_at is None or row.final_at > upto]  # type: ignore[attr-defined]
            assert sorted(map(repr, told)) == sorted(map(repr, later))


def test_a_state_is_as_large_as_what_is_open() -> None:
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    sizes = []
    for generation in range(1, 200):
        for event in rebalance(generation * 2_000, generation, f"m-{generation}", "1"):
            stage.feed(event)
        stage.advance_to((generation + 1) * 2_000 * US - 1)
        sizes.append(len(stage.checkpoint()))
    assert sizes[-1] < 3 * sizes[10]
    assert stage.row_count < 5
    rows = stage.close()
    assert len(rows.rebalances) == len(rows.incidents) == 199
    assert len(rows.member_sessions) == 299  # of two rebalances one has a new leader


def final_of(row: Rebalance) -> int:
    assert row.final_at is not None
    return row.final_at // US


def test_the_rebalances_of_an_episode_are_final_together_ten_minutes_after_the_last() -> None:
    events = [*rebalance(100, 1, "m-1", "1"), *rebalance(160, 2, "m-2", "1"), *rebalance(2_000, 3, "m-1", "1")]
    assert [final_of(row) for row in replay_group("c", "g", events, FACTS).rebalances] == [762, 762, 2602]


def test_members_and_states_are_final_before_the_episode_is_over() -> None:
    events = [event for generation in range(1, 41) for event in rebalance(generation * 60, generation, f"m-{generation % 3}", "1")]
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    for event in events:
        stage.feed(event)
    [released] = [stage.memory.rows.final]
    assert not released.rebalances
    assert {row.final_at is None for row in (*released.rebalance_members, *released.group_transitions)} == {False}
    ranked = len(stage.memory.rows.open.rebalances)
    assert ranked > 25
    members = {row.rebalance_id for row in released.rebalance_members}
    assert members == {row.rebalance_id for row in stage.memory.rows.open.rebalances}
    assert len(released.group_transitions) >= 2 * ranked
    rows = stage.close()
    assert rows.rebalance_members == replay_group("c", "g", events, FACTS).rebalance_members
    assert len(rows.incidents) == 1


def test_while_a_rebalance_is_open_its_row_is_not_final() -> None:
    *_, last = replay_group("c", "g", [*rebalance(100, 1, "m-1", "1"), *rebalance(2_000, 2, "m-2", "1")[:-1]], FACTS).rebalances
    assert (last.outcome, last.final_at) == ("open", None)


def test_what_is_held_is_bounded_in_a_storm_without_end() -> None:
    """No rebalance is ten minutes over, yet the first ones are judged: too many wait behind them."""
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    for generation in range(1, 81):
        for event in rebalance(generation * 5, generation, f"m-{generation % 3}", "1"):
            stage.feed(event)
    assert len(stage.memory.rows.open.rebalances) == 80 - bounds.UNRANKED_WINDOWS_MAX
    assert len(stage.close().rebalances) == 80


def test_an_episode_without_end_is_told_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for generation in range(1, 251) for event in rebalance(generation * 5, generation, f"m-{generation % 3}", "1")]
    one = replay_group("c", "g", events, FACTS)
    monkeypatch.setattr(bounds, "EPISODE_MAX", 100)
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    monkeypatch.setattr(bounds, "DRAIN_BATCH_ROWS", 100)
    several = GroupHistory()
    for event in events:
        stage.feed(event)
        for left in stage.drain_final():
            several.take(left)
        assert len(stage.memory.rows.open.rebalances) < 100
        assert not stage.memory.rows.final.rebalances
        assert stage.row_count < 1_000
    assert len(several.rebalances) == 100
    several.take(stage.close())
    assert sorted(each.rebalance_count for each in one.incidents) == [250]
    assert sorted(each.rebalance_count for each in several.incidents) == [50, 100, 100]
    for told in (one, several):  # what an episode says of its rebalances is its own
        told.rebalances = [dataclasses.replace(row, root_cause=None) for row in told.rebalances]
    for name in ("rebalances", "rebalance_members", "group_transitions"):
        before, after = ([dataclasses.replace(row, final_at=None) for row in getattr(told, name)] for told in (one, several))
        assert before == after


def test_an_episode_of_many_members_is_told_as_several(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [event for generation in range(1, 101) for event in crowded(generation * 60, generation, members=10)]
    one = replay_group("c", "g", events, FACTS)
    assert [each.rebalance_count for each in one.incidents] == [100]
    monkeypatch.setattr(bounds, "EPISODE_MEMBERS_MAX", 200)
    stage, several = GroupStage(GroupMemory("c", "g", FACTS)), GroupHistory()
    for event in events:
        stage.feed(event)
        assert len(stage.memory.rows.open.rebalance_members) < 200
        for left in stage.drain_final():
            several.take(left)
        assert len(stage.memory.rows.final.rebalance_members) < 200
    assert len(several.rebalance_members) > 600
    several.take(stage.close())
    assert sorted(each.rebalance_count for each in several.incidents) == [21, 39, 40]
    plain = [sorted(each.rebalance_member_id for each in told.rebalance_members) for told in (one, several)]
    assert plain[0] == plain[1]
    assert len(plain[0]) >= 1_000


def crowded(second: int, generation: int, members: int) -> list[Event]:
    """A rebalance that each member tells of in a log."""
    joins = [dataclasses.replace(line("ClientJoining", second + 1), witness=Witness.CLIENT, client_id=f"c-{n}") for n in range(members)]
    return sorted([*joins, *rebalance(second, generation, "m-0", "1")], key=lambda event: event.order_us)


def epochs(count: int, apart: int, witnessed: bool = True) -> list[Event]:
    members = {"m-9"}
    return [event for number in range(1, count + 1) for event in epoch(number * apart, number, members, f"m-{number % 3}", witnessed)]


@pytest.mark.parametrize("witnessed", [True, False])
def test_epochs_of_one_episode_are_final_together(witnessed: bool) -> None:
    members: set[str] = set()
    seconds = [100, 160, 2_000]
    events = [event for number, second in enumerate(seconds, 1) for event in epoch(second, number, members, f"m-{number}", witnessed)]
    rows = replay_group("c", "g", events, FACTS).rebalances
    last = 3  # the last line of an epoch
    told = [160 + last + 600, 160 + last + 600, 2_000 + last + 600]
    untold = [2_000 + 600, 2_000 + 600, 2_000 + 3_600 + 600]  # a member that doesn't reach its epoch may still be fenced
    assert [final_of(row) for row in rows] == (told if witnessed else untold)
    assert [row.outcome for row in rows] == (["stable"] * 3 if witnessed else ["open"] * 3)


def test_an_epoch_is_not_final_while_a_member_is_on_its_way() -> None:
    *events, arrived = epoch(100, 1, set(), "m-1", witnessed=True)
    [row] = replay_group("c", "g", events, FACTS).rebalances
    assert (row.outcome, final_of(row)) == ("open", 100 + 3_600 + 600)
    late = dataclasses.replace(arrived, at_us=3_000 * US, order_us=3_000 * US)
    [row] = replay_group("c", "g", [*events, late], FACTS).rebalances
    assert (row.outcome, row.reconcile_seconds, final_of(row)) == ("stable", 2_899, 3_600)


def test_what_is_held_of_epochs_without_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    events = sorted(epochs(3_000, 20), key=lambda event: event.order_us)
    one = replay_group("c", "g", events[:3_000], FACTS)
    monkeypatch.setattr(bounds, "EPISODE_MAX", 100)
    assert len(one.incidents) == 1
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    held = sizes = 0
    for number, event in enumerate(events):
        stage.feed(event)
        held = max(held, stage.row_count)
        if number == len(events) // 4:
            sizes = len(stage.checkpoint())
    assert held < 250
    assert len(stage.checkpoint()) < 2 * sizes
    rows = stage.close()
    assert len({row.rebalance_id for row in rows.rebalances}) == 3_000
    plain = [[dataclasses.replace(row, final_at=None, root_cause=None) for row in told.rebalances] for told in (one, rows)]
    alike = len(plain[0]) - 31  # the last ten minutes are not judged by what comes after
    assert plain[0][:alike] == plain[1][:alike]


def keys(history: GroupHistory) -> list[tuple[str, str]]:
    named = {"client_states": "client_state_id", "member_sessions": "member_session_id", "divergences": "divergence_id"}
    return [(table, getattr(row, named[table])) for table, row in all_rows(history) if table in named]


def test_clients_that_are_gone_are_told_of_and_forgotten() -> None:
    """Processes that are new each time have names of their own: a stream application of some years had thousands."""
    stage, sizes = GroupStage(GroupMemory("c", "g", FACTS)), []
    for turn in range(1, 100):
        second = turn * DAYS
        events = [*rebalance(second, turn, f"m-{turn}", "1"), *process(second, turn + 1, turn, 5 * (turn % 2), goes=turn % 3 > 0)]
        for event in sorted(events, key=lambda event: event.order_us):
            stage.feed(event)
        stage.advance_to((second + 2_000) * US)
        sizes.append(len(stage.checkpoint()))
        held = (
            stage.memory.roster.members,
            stage.memory.roster._current,
            stage.memory.logs.states._lanes,
            stage.memory.logs.clients._ids,
            stage.memory.timeline.skews.bounds,
        )
        assert all(len(each) < 40 for each in held)
        assert len(stage.memory.knowledge.settings) == len(stage.memory.knowledge.topics) < 40
    assert sizes[-1] < 1.2 * sizes[40]
    rows = stage.close()
    assert len({row.client_id for row in rows.client_states}) == 99
    assert {row.client_id for row in rows.member_sessions} >= {f"c-{turn}" for turn in range(1, 100)}
    assert len(rows.divergences) == 50  # every other clock is ahead
    assert len(set(keys(rows))) == len(keys(rows))


def test_a_client_that_comes_back_after_long_is_told_of_anew() -> None:
    told = ((1_000, 1), (40 * DAYS, 2), (41 * DAYS, 2), (90 * DAYS, 1))
    events = []
    for turn, (second, client) in enumerate(told, 1):
        events += [*rebalance(second, turn, f"m-{turn}", "1"), *process(second, turn + 1, client, -5 * (client % 2), goes=client == 1)]
    events.sort(key=lambda event: event.order_us)
    rows = replay_group("c", "g", events, FACTS)
    assert [row.state for row in rows.client_states if row.client_id == "c-1"] == ["UNJOINED", "REBALANCING", "STABLE", "UNJOINED"] * 2
    assert [row.final_at is not None for row in rows.divergences] == [True, False]
    assert len(set(keys(rows))) == len(keys(rows))


def test_epochs_that_wait_hold_who_came_and_went_and_not_all_that_are_there() -> None:
    members = {f"m-{number}" for number in range(500)}
    joins = [line("ModernMemberJoined", 10, member_id=member, client_id=member) for member in sorted(members)]
    events = [*joins, line("GroupEpochBumped", 10, generation=1)]
    for number in range(2, 302):
        events += epoch(10 + number, number, members, f"m-{number % 7}", witnessed=False)
    events.sort(key=lambda event: event.order_us)
    stage, sizes = GroupStage(GroupMemory("c", "g", FACTS)), []
    for event in events:
        stage.feed(event)
        if event.name == "GroupEpochBumped":
            sizes.append(len(stage.checkpoint()) if len(stage.memory.rebalances.modern.progress.windows) in {10, 300} else 0)
    small, large = (size for size in sizes if size)
    assert large < small + 290 * 1_500  # with all of 500 members each would be five times as large
    assert stage.memory.rebalances.modern.named() == {each.member_id for each in joins}
    assert [row.members_after for row in stage.close().rebalances[-3:]] == [496, 495, 494]


def test_deeds_of_a_group_without_a_known_rebalance_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "ACTIONS_MAX", 300)
    monkeypatch.setattr(bounds, "ACTIONS_HELD_MAX", 100)
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    for second in range(1_000):
        told = line("ClientCommitFailed", second, error="it has no coordinator")
        stage.feed(dataclasses.replace(told, witness=Witness.CLIENT, client_id="c-1"))
        assert len(stage.memory.timeline.actions) <= 300
    assert stage.memory.timeline.actions[-1].event.at_us == 999 * US


@pytest.mark.parametrize("known", [[], epoch(0, 1, set(), "m-1", witnessed=True)])
def test_what_is_held_of_clients_whose_coordinator_is_silent_is_bounded(known: list[Event], monkeypatch: pytest.MonkeyPatch) -> None:
    def states() -> list[Event]:
        moves = [(second + delay, state) for second in range(4, 40_000, 20) for delay, state in ((0, "RECONCILING"), (1, "STABLE"))]
        return [*known, *(moved(second, "m-1", state) for second, state in moves)]

    def told() -> list[object]:
        return [dataclasses.replace(row, final_at=None) for row in replay_group("c", "g", states(), FACTS).client_states]

    whole = told()
    monkeypatch.setattr(bounds, "STRETCHES_MAX", 100)
    assert told() == whole
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    left = 0
    for event in states():
        stage.feed(event)
        left += sum(len(rows.client_states) for rows in stage.drain_final())
        assert len(stage.memory.rebalances.modern.progress.reconciliations.spans) < 250
        assert stage.memory.logs.states.unwritten_count < 1_000
    assert left + len(stage.close().client_states) == len(whole)


def test_a_group_that_is_deleted_begins_anew() -> None:
    for gap in (100, 5_000):
        members = {"m-9"}
        first = [*epoch(10, 1, members, "m-1", False), line("GroupDied", 10 + gap)]
        rows = replay_group("c", "g", [*first, *epoch(20 + gap, 1, {"m-8"}, "m-2", False)], FACTS).rebalances
        assert [(row.generation_before, row.generation_after, row.cause, row.members_after) for row in rows] == [(0, 1, "new_group", 1)] * 2


def test_an_epoch_that_is_told_of_again_much_later_is_another_one() -> None:
    first = epoch(10, 1, {"m-9"}, "m-1", False)
    rows = replay_group("c", "g", [*first, *epoch(5_000, 1, {"m-8"}, "m-2", False)], FACTS).rebalances
    assert [(row.generation_before, row.generation_after, row.members_after) for row in rows] == [(0, 1, 1), (0, 1, 1)]
    first = [*epoch(10, 1, {"m-9"}, "m-1", False), *epoch(20, 2, {"m-9"}, "m-2", False)]
    rows = replay_group("c", "g", [*first, *epoch(5_000, 2, {"m-8"}, "m-3", False)], FACTS).rebalances
    assert [(row.generation_before, row.generation_after, row.members_after) for row in rows] == [(0, 1, 1), (1, 2, 2), (1, 2, 3)]


def test_a_group_that_is_classic_again_has_no_epoch_that_waits() -> None:
    """A member was on its way, and no log says that it arrived."""
    members = {"m-9"}
    events = [*epoch(10, 1, members, "m-1", True)[:-2], line("GroupConverted", 30, to_type="classic")]
    stage = GroupStage(GroupMemory("c", "g", FACTS))
    for event in [*events, *(each for turn in range(1, 200) for each in rebalance(turn * 2_000, turn, f"c-{turn}", "1"))]:
        stage.feed(event)
    assert stage.row_count < 10
    assert len(stage.memory.roster.members) < 100


def test_the_leaves_of_a_large_group_that_is_closed_are_found_at_once() -> None:
    joins = [line("ModernMemberJoined", 10, member_id=f"m-{number}", client_id=f"m-{number}") for number in range(700)]
    leaves = [
        [
            line("ModernMemberLeft", second, member_id=f"m-{number}", client_id=f"m-{number}"),
            line("GroupEpochBumped", second, generation=second),
        ]
        for number, second in enumerate(range(100, 800))
    ]
    events = [*joins, line("GroupEpochBumped", 10, generation=1), *(event for each in leaves for event in each)][:-1]
    rows = replay_group("c", "g", events, FACTS).rebalances[1:]
    assert [row.outcome for row in rows[-2:]] == ["superseded", "empty"]
    late = {round(row.alternatives["poll_timeout"], 2) for row in rows[200:]}
    assert late == {weights.EMPTIED_BY_LATE_POLLS.value}  # and not the share of one of several


def test_clocks_that_go_back_do_not_make_rows_final_too_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounds, "EPISODE_MAX", 2)
    early = [dataclasses.replace(event, at_us=(event.at_us or 0) - 3_600 * US) for event in rebalance(10_060, 2, "m-2", "1")]
    events = [*rebalance(10_000, 1, "m-1", "1"), *early]
    final = {row.final_at for row in replay_group("c", "g", events, FACTS).rebalances}
    later = {row.final_at for row in replay_group("c", "g", [*events, *rebalance(10_300, 3, "m-1", "1")], FACTS).rebalances[:2]}
    assert final == later == {10_602 * US + 1}


def test_a_state_holds_what_the_cluster_tells_of_the_group_until_then() -> None:
    place = LogPosition("c.log", 1, 1)
    stray = Event("ClientCoordinatorLost", 8 * US, 8 * US, place, Witness.CLIENT, group="g", client_id="c-1", fields={"why": "gone"})
    facts = ClusterFacts("c", attributed_events={"g": [stray]})
    stage = GroupStage(GroupMemory("c", "g", facts))
    stage.feed(line("HeartbeatCompleted", 5))
    stage.advance_to(7 * US)
    assert stage.event_count == 1
    stage.advance_to(9 * US)
    assert stage.event_count == 2
    resumed = GroupStage(GroupMemory.resumed("c", "g", facts, stage.checkpoint()))
    resumed.feed(line("HeartbeatCompleted", 20))
    assert resumed.event_count == 3
