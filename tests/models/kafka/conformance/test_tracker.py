"""The tracker on lines of its own: what is proposed, what is certain, what is told of as missing or unexplained."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from models.events import Event, LogPosition, Witness
from models.kafka.conformance.expected_lines import DEFAULT_LEVELS, Sight
from models.kafka.conformance.explanation import is_named
from models.kafka.conformance.group_view import CERTAIN, INFERRED, UNKNOWN, View, view_of
from models.kafka.conformance.tracker import Tracker, bursts
from models.kafka.conformance.version_hints import version_of
from models.kafka.conformance.witnesses import Witnesses
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.coordinator.runtime.version_policy import policy_for
from models.units import US_PER_MS
from models.weights import LIKELIHOODS

GROUP = "orders"
COLUMNS = frozenset({"generation", "member_id", "instance_id", "node"})


def line(at_ms: int, name: str, **fields: Any) -> Event:
    columns = {key: fields.pop(key) for key in COLUMNS & fields.keys()}
    group = fields.pop("group", GROUP)
    witness = fields.pop("witness", Witness.COORDINATOR)
    at_us, place = at_ms * US_PER_MS, LogPosition("server.log", at_ms, at_ms)
    return Event(name, at_us, at_us, place, witness, group=group, fields=fields, **columns)


def began(at_ms: int, generation: int, reason_id: str = "", member: str | None = None, **fields: Any) -> Event:
    told = {"reason_id": reason_id, "reason_member_id": member} if reason_id else {}
    return line(at_ms, "RebalanceStarted", generation=generation, **told, **fields)


def stabilized(at_ms: int, generation: int, count: int | None = None) -> Event:
    return line(at_ms, "GenerationStarted", generation=generation, **({} if count is None else {"member_count": count}))


def assigned(at_ms: int, generation: int, leader: str | None = None, count: int | None = None) -> Event:
    return line(at_ms, "AssignmentReceived", generation=generation, member_id=leader, **({} if count is None else {"member_count": count}))


def handed_out(at_ms: int, member: str, state: str = "Empty") -> Event:
    return line(at_ms, "MemberIdHandedOut", member_id=member, state=state)


def pending_joined(at_ms: int, member: str, state: str = "Empty") -> Event:
    return line(at_ms, "PendingMemberJoined", member_id=member, state=state)


NEW_GROUP = (
    handed_out(0, "a-1"),
    pending_joined(10, "a-1"),
    began(10, 0, "new_member", "a-1"),
    handed_out(20, "b-1", "PreparingRebalance"),
    pending_joined(30, "b-1", "PreparingRebalance"),
    stabilized(6_010, 1, 2),
    assigned(6_020, 1, "a-1", 2),
)
"""A group of two, as 4.0 words it."""


def tracked(version: str, lines: Sequence[Event], levels: frozenset[str] = DEFAULT_LEVELS) -> tuple[Tracker, list[View]]:
    tracker = Tracker(GROUP, Sight(policy_for(version), levels))
    return tracker, [view_of(tracker) for _ in tracker.follow(lines)]


def names(view: View) -> list[str | None]:
    return [member.member_id for member in view.members]


def test_where_every_join_has_a_line_all_is_certain() -> None:
    tracker, views = tracked("4.0.0", NEW_GROUP)
    last = views[-1]
    assert (last.state.value, last.generation.value, last.leader.value) == (State.STABLE, 1, "a-1")
    assert {last.state.certainty, last.generation.certainty, last.leader.certainty, last.member_count.certainty} == {CERTAIN}
    assert names(last) == ["a-1", "b-1"]
    assert (tracker.best.missing, tracker.best.unexplained) == (0, 0)


def test_state_and_generation_between_two_lines_of_one_step_are_those_of_the_moment() -> None:
    """A leave sets off a rebalance; as its own line comes first, the group is still Stable."""
    left = (line(9_000, "MemberLeft", member_id="b-1"), began(9_000, 1, "leave", None, reason_members=["b-1"]))
    _, views = tracked("4.0.0", (*NEW_GROUP, *left))
    assert [view.state.value for view in views[-2:]] == [State.STABLE, State.PREPARING_REBALANCE]
    assert [member.rejoined.value for member in views[-1].members] == [False]


def test_a_newcomer_waits_and_the_others_are_awaited() -> None:
    lines = (handed_out(8_000, "c-1", "Stable"), pending_joined(9_000, "c-1", "Stable"), began(9_000, 1, "new_member", "c-1"))
    _, views = tracked("4.0.0", (*NEW_GROUP, *lines))
    rejoined = {member.member_id: member.rejoined for member in views[-1].members}
    assert {name: (fact.value, fact.certainty) for name, fact in rejoined.items()} == {
        "a-1": (False, CERTAIN),
        "b-1": (False, CERTAIN),
        "c-1": (True, CERTAIN),
    }


def test_who_has_rejoined_later_on_is_not_known() -> None:
    lines = (began(9_000, 1, "leader_rejoin", "a-1"), handed_out(9_500, "c-1", "PreparingRebalance"))
    _, views = tracked("4.0.0", (*NEW_GROUP, *lines))
    rejoined = {member.member_id: member.rejoined.certainty for member in views[-1].members}
    assert rejoined == {"a-1": CERTAIN, "b-1": UNKNOWN}


def test_a_hidden_join_is_a_member_without_a_name_until_a_line_tells_it() -> None:
    """2.8 does not write at INFO that an id is handed out and joins."""
    lines = [began(0, 0, "new_member", "a-1"), stabilized(6_000, 1, 2), assigned(6_010, 1)]
    _, views = tracked("2.8.2", lines)
    assert names(views[-1]) == ["a-1", None]
    assert (views[-1].member_count.value, views[-1].member_count.certainty) == (2, CERTAIN)
    lines += [line(9_000, "MemberFailed", member_id="b-1"), began(9_000, 1, "heartbeat_expiration", "b-1")]
    tracker, views = tracked("2.8.2", lines)
    assert names(views[-1]) == ["a-1"]
    assert tracker.best.unexplained == 0


def test_a_pending_id_holds_the_phase_open_where_the_last_member_went() -> None:
    """The last member leaves and the group does not become empty: an id must be out, which 2.8 does not write."""
    lines = [began(0, 0, "new_member", "a-1"), stabilized(3_000, 1, 1), assigned(3_010, 1)]
    lines += [line(9_000, "MemberLeft", member_id="a-1"), began(9_000, 1, "leave", "a-1")]
    tracker, views = tracked("2.8.2", lines)
    assert views[-1].state.value is State.PREPARING_REBALANCE
    assert not tracker.best.announced
    lines.append(line(12_000, "PendingMemberExpired", member_id="b-1"))
    lines.append(line(12_000, "GroupEmptied", generation=2))
    tracker, views = tracked("2.8.2", lines)
    assert (views[-1].state.value, tracker.best.missing, tracker.best.unexplained) == (State.EMPTY, 0, 0)


def test_a_deadline_removes_who_did_not_rejoin() -> None:
    lines = (began(9_000, 1, "leader_rejoin", "a-1"), line(309_000, "MembersNotRejoined", members=["b-1"]), stabilized(309_000, 2, 1))
    tracker, views = tracked("4.0.0", (*NEW_GROUP, *lines))
    assert names(views[-1]) == ["a-1"]
    assert (views[-1].generation.value, views[-1].member_count.certainty) == (2, CERTAIN)
    assert tracker.best.unexplained == 0


def test_a_line_that_nothing_explains_is_counted_and_followed() -> None:
    """Generations 2 to 6 are missing: the log has lost lines."""
    tracker, views = tracked("4.0.0", (*NEW_GROUP, began(9_000, 6, "leader_rejoin", "a-1")))
    assert tracker.best.unexplained > 0
    assert (views[-1].state.value, views[-1].generation.value) == (State.PREPARING_REBALANCE, 6)


def test_a_line_that_the_model_expects_and_that_is_not_there_is_counted() -> None:
    """A member of a Stable group fails; the beginning of the rebalance is lost, the new generation is not."""
    tracker, views = tracked("4.0.0", (*NEW_GROUP, line(9_000, "MemberFailed", member_id="b-1"), stabilized(9_500, 2, 1)))
    assert tracker.best.missing == 1
    assert (views[-1].state.value, views[-1].generation.value) == (State.COMPLETING_REBALANCE, 2)


def test_a_log_that_begins_in_the_middle_says_what_it_does_not_know() -> None:
    _, views = tracked("1.1.1", [began(0, 3), stabilized(300_003, 4)])
    assert [view.state.value for view in views] == [State.PREPARING_REBALANCE, State.COMPLETING_REBALANCE]
    assert views[-1].generation.value == 4
    assert views[-1].member_count.certainty == INFERRED
    assert names(views[-1])[0] is None


def test_a_group_that_moves_keeps_what_was_written_of_it() -> None:
    moved = (line(9_000, "GroupUnloaded", node="1"), line(9_500, "GroupLoaded", node="2", member_count=2, group_type="classic"))
    tracker, views = tracked("4.0.0", (*NEW_GROUP, *moved))
    assert views[-2].state.value is None
    assert (views[-1].state.value, names(views[-1])) == (State.STABLE, ["a-1", "b-1"])
    assert tracker.best.unexplained == 0


def test_a_clean_up_makes_it_uncertain_whether_an_empty_group_is_still_there() -> None:
    """Java's coordinator writes how much it removed, and not of which group."""
    lines = [line(0, "SimpleGroupCreated"), line(600_000, "OffsetsExpired", group=None, offsets_count=1)]
    _, views = tracked("4.0.0", lines)
    assert (views[0].state.value, views[0].state.certainty) == (State.EMPTY, CERTAIN)
    assert views[1].state.certainty == UNKNOWN


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([began(0, 3)], "1.1.1"),
        ([began(0, 3, "leader_rejoin", "a")], "2.1.1"),
        ([began(0, 3), line(5, "MemberLeft", member_id="a")], "2.2.2"),
        ([stabilized(0, 3, 2)], "2.8.2"),
        ([stabilized(0, 3, 2), assigned(5, 3, "a", 2)], "3.9.0"),
        ([], "1.1.1"),
    ],
)
def test_a_wording_tells_the_version(lines: list[Event], expected: str) -> None:
    assert version_of(lines) == expected


def test_a_burst_is_what_follows_directly() -> None:
    lines = [line(at_ms, "MemberLeft", member_id="a") for at_ms in (0, 1, 3, 10, 9)]
    assert [[each.time_us // US_PER_MS for each in burst] for burst in bursts(lines)] == [[0, 1, 3], [10], [9]]


def test_requests_name_members_and_tell_when_they_came() -> None:
    witnesses = Witnesses()
    request: dict[str, Any] = {"witness": Witness.REQUEST, "response_generation": 4, "error_code": 0, "protocols": ["range"]}
    witnesses.take(line(9_900, "JoinGroupCompleted", member_id="a-1", total_ms=1_000, members=["a-1", "b-1"], leader_id="a-1", **request))
    witnesses.take(line(9_900, "JoinGroupCompleted", member_id="b-1", total_ms=200, leader_id="a-1", **request))
    tracker = Tracker(GROUP, Sight(policy_for("1.1.1")))
    lines = [witnesses.enriched(each) for each in (began(8_800, 3), stabilized(9_895, 4))]
    views = [witnesses.applied(view_of(tracker), 9_000 * US_PER_MS, 8_800 * US_PER_MS) for _ in tracker.follow(lines)]
    assert sorted(member.member_id or "" for member in views[-1].members) == ["a-1", "b-1"]
    assert {member.certainty for member in views[-1].members} == {CERTAIN}
    assert views[-1].votes.value == {"range": 2}


def test_weights_have_sources_and_only_what_is_stated_costs_nothing() -> None:
    assert all(each.source for each in LIKELIHOODS.values())
    assert [name for name, each in LIKELIHOODS.items() if each.value >= 0] == ["stated"]


def test_names_that_stand_for_members_are_no_names() -> None:
    tracker, _ = tracked("2.8.2", [began(0, 0, "new_member", "a-1"), stabilized(6_000, 1, 2)])
    assert tracker.best.group is not None
    assert sorted(is_named(member) for member in tracker.best.group.members) == [False, True]
