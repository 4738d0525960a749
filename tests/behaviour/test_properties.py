"""What must hold for any log at all: no exception, an unbroken chain of states, one end per rebalance."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.event_kinds import EVENTS
from models.events import Event, LogPosition, Witness
from models.incidents.incidents import find_incidents
from models.kafka.cluster.facts import learn, partition_for
from models.kafka.coordinator.protocol.group_states import VALID_PREVIOUS, State
from models.kafka.reconstruction.classic_states import LoggedGroup, enter_state
from models.kafka.verdicts.history import GroupHistory
from tests.conftest import examples
from tests.replaying import replay_group

GROUP = "g"
MEMBERS = [
    "a-00000000-0000-4000-8000-000000000001",
    "a-00000000-0000-4000-8000-000000000002",
    "b-00000000-0000-4000-8000-000000000001",
    "x",
]
NAMES = sorted(name for name, kind in EVENTS.items() if "group" in kind.fields)
REASONS = [
    "new_member",
    "leave",
    "heartbeat_expiration",
    "leader_rejoin",
    "update_metadata",
    "sync_store_error",
    "pending_sync_expiration",
    None,
]


@st.composite
def event_lists(draw: Callable[..., object]) -> list[Event]:
    """Any events of one group in order: torn, repeated and contradictory ones among them."""
    events = []
    at = 1_000_000
    for number in range(draw(st.integers(0, 40))):
        name = draw(st.sampled_from(NAMES))
        kind = EVENTS[name]
        at += draw(st.sampled_from([0, 1_000, 50_000, 3_000_000, 700_000_000]))
        fields: dict[str, object] = {}
        if "reason_id" in kind.fields:
            fields["reason_id"] = draw(st.sampled_from(REASONS))
            fields["reason_member_id"] = draw(st.sampled_from([*MEMBERS, None]))
        for field in ("members", "why", "state", "error_code", "total_ms", "response_generation", "member_count", "client_reason"):
            if field in kind.fields and draw(st.booleans()):
                fields[field] = draw(st.sampled_from([0, 1, 3, 25, "Stable", "Empty", "poll timeout has expired", [MEMBERS[0]], 12.5]))
        events.append(
            Event(
                name,
                at,
                at,
                LogPosition(f"{kind.witness}.log", number + 1, number),
                Witness(kind.witness),
                "",
                name,
                node=draw(st.sampled_from(["1", "2", None])),
                group=GROUP,
                generation=draw(st.sampled_from([None, 0, 1, 2, 3, 7])),
                member_id=draw(st.sampled_from([*MEMBERS, None])),
                client_id=draw(st.sampled_from(["a", "b", None])) if kind.witness in {Witness.CLIENT, Witness.REQUEST} else None,
                fields=fields,
            )
        )
    return events


def replay(events: list[Event]) -> GroupHistory:
    return replay_group("c", GROUP, events, learn([]))


@settings(max_examples=examples(120, 300), deadline=None)
@given(event_lists())
def test_any_log_gives_a_history(events: list[Event]) -> None:
    history = replay(events)
    find_incidents(history.rebalances)
    for row in history.rebalances:
        assert 0 < row.confidence <= 1
        assert sum(row.alternatives.values()) + row.confidence <= 1.001
        assert row.cause not in row.alternatives
        # Members alone may not tell when it was over.
        is_told = row.outcome != "superseded" or not row.conformance.inferred_steps
        is_told = is_told and (row.outcome != "stable" or row.joined_at is not None)
        assert row.ended_at is not None or row.outcome == "open" or row.protocol != "classic" or not is_told
        assert all(value is None or value >= 0 for value in (row.join_seconds, row.sync_seconds, row.duration_seconds))
    assert len({row.rebalance_id for row in history.rebalances}) == len(history.rebalances)


def breaks(events: list[Event]) -> list[tuple[str, str | None]]:
    """Neighbours in the chain of states that do not fit."""
    chain = replay(events).group_transitions
    return [
        (before.to_state, after.from_state) for before, after in pairwise(chain) if after.from_state not in {before.to_state, None, "Empty"}
    ]


@settings(max_examples=examples(80, 200), deadline=None)
@given(event_lists())
def test_the_chain_of_states_is_unbroken(events: list[Event]) -> None:
    assert breaks(events) == []


@pytest.mark.parametrize("is_loaded", [False, True])
def test_the_chain_goes_on_where_a_member_worked_on_without_a_line_of_its_assignment(is_loaded: bool) -> None:
    named = [
        *[("AssignmentReceived", 1_000_000)] * 4,
        ("ClientJoined", 1_000_000),
        ("ClientHeartbeatRebalancing", 701_000_000),
        *[("GroupLoaded", 701_000_000)] * is_loaded,
    ]
    events = [
        Event(
            name,
            at,
            at,
            LogPosition(f"{EVENTS[name].witness}.log", number + 1, number),
            Witness(EVENTS[name].witness),
            "",
            name,
            node="1",
            group=GROUP,
            generation=1 if name == "ClientJoined" else None,
            member_id=MEMBERS[0],
            client_id="a" if EVENTS[name].witness == "client" else None,
        )
        for number, (name, at) in enumerate(named)
    ]
    assert replay(events).group_transitions
    assert breaks(events) == []


@settings(max_examples=examples(50, 100), deadline=None)
@given(event_lists())
def test_the_same_log_gives_the_same_history(events: list[Event]) -> None:
    assert replay(events) == replay(list(events))


@given(st.lists(st.sampled_from(list(State)), max_size=20))
def test_only_legal_steps_are_written_down(states: list[State]) -> None:
    group = LoggedGroup()
    for state in states:
        for step in enter_state(group, state):
            legal = step.before is None or step.before in VALID_PREVIOUS[step.after]
            assert legal or (step.after is state and not step.inferred)
        assert group.state is state


def test_a_group_hashes_to_the_partition_that_kafka_gives_it() -> None:
    # Names and partitions as real brokers printed them, offsets.topic.num.partitions=8.
    seen = {"inventory-e": 4, "shipping-e": 6, "audit-trail-i": 0, "clickstream-h2": 1, "email-sender-i": 2, "fraud-score-i": 5}
    assert {group: partition_for(group, 8) for group in seen} == seen


def test_a_rebalance_is_not_judged_before_its_end_however_much_is_held(monkeypatch: pytest.MonkeyPatch) -> None:
    def line(name: str, at: int, number: int, **columns: object) -> Event:
        witness = Witness(EVENTS[name].witness)
        return Event(name, at, at, LogPosition("server.log", number, number), witness, "", name, node="1", group=GROUP, **columns)  # type: ignore[arg-type]

    starts = line("RebalanceStarted", 1_000_000, 1, generation=1, fields={"reason_id": "leader_rejoin", "reason_member_id": MEMBERS[0]})
    joins = [line("MemberAdded", 1_000_000 + number, number, member_id=MEMBERS[2]) for number in range(2, 9)]
    ends = line("GenerationStarted", 3_000_000, 9, generation=2, fields={"member_count": 2})
    expected = replay([starts, *joins, ends])
    monkeypatch.setattr("models.kafka.groups.bounds.ACTIONS_HELD_MAX", 3)
    assert replay([starts, *joins, ends]) == expected
