"""Contexts of single rebalances, with actions at exact times."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from inspect import signature
from typing import TypeVar

from models.events import Event, Witness
from models.kafka.cluster.facts import ClusterFacts
from models.kafka.coordinator.protocol.group_states import State
from models.kafka.hypotheses.context.join_phase import LoggedJoinPhase
from models.kafka.hypotheses.context.rebalance_context import RebalanceContext
from models.kafka.observations.actions import ActionKind, MemberAction
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.reconstruction.classic_states import RebalanceWindow
from tests.models.kafka.reconstruction.lines import line

NOW = 10_000_000_000
SECOND = 1_000_000
PREVIOUS_JOINED, PREVIOUS_ENDED = NOW - 100 * SECOND, NOW - 99 * SECOND
JOINED, ENDED = NOW + 3 * SECOND, NOW + 4 * SECOND
WINDOW = frozenset(RebalanceWindow.__dataclass_fields__)
T = TypeVar("T")
NEIGHBOURS = frozenset({"previous", "following"})
KNOWN = frozenset(GroupKnowledge.__dataclass_fields__)


def act(
    kind: ActionKind,
    at: int = 0,
    who: str | None = "a",
    member: str | None = None,
    witness: Witness = Witness.COORDINATOR,
    why: str | None = None,
    generation: int | None = None,
    instance: str | None = None,
    event: Event | None = None,
    name: str = "Note",
    **values: object,
) -> MemberAction:
    """An action of client `who`, whose member id is its name in capitals."""
    member_id = member if member is not None else who.upper() if who else None
    event = event or line(name, NOW + at, witness, "a.log", client_id=who, member_id=member_id, **values)
    return MemberAction(kind, NOW + at, member_id or None, who, instance, why, generation, event)


def by_client(kind: ActionKind, at: int = 0, who: str | None = "a", **values: object) -> MemberAction:
    return act(kind, at, who, witness=Witness.CLIENT, **values)  # type: ignore[arg-type]


def by_request(kind: ActionKind, at: int = 0, who: str | None = "a", **values: object) -> MemberAction:
    return act(kind, at, who, witness=Witness.REQUEST, **values)  # type: ignore[arg-type]


def started(at: int = 0, **values: object) -> Event:
    return line("RebalanceStarted", NOW + at, node="1", generation=4, **values)


def before(at: int = -100 * SECOND, **values: object) -> RebalanceWindow:
    """The rebalance before, which ended a second after its join phase."""
    window = RebalanceWindow(0, 3, State.STABLE, "1", generation_after=4, outcome="stable", ended_at=PREVIOUS_ENDED)
    window.started = line("RebalanceStarted", NOW + at - SECOND, node="1", generation=3)
    window.joined = line("GenerationStarted", NOW + at, node="1", generation=4)
    for name, value in values.items():
        setattr(window, name, value)
    return window


def context(
    *actions: MemberAction,
    first: Iterable[str] = ("a", "b"),
    last: Iterable[str] = ("a", "b"),
    members: Iterable[RosterMember] = (),
    facts: ClusterFacts | None = None,
    group: str | None = "orders",
    **values: object,
) -> RebalanceContext:
    """A rebalance from generation 4, with members `first`, to 5, with members `last`."""
    window = RebalanceWindow(0, 4, State.STABLE, "1", started=started(), generation_after=5, outcome="stable", ended_at=ENDED)
    window.joined = line("GenerationStarted", JOINED, node="1", generation=5)
    window.previous_joined_at, window.previous_ended_at = PREVIOUS_JOINED, PREVIOUS_ENDED
    known = GroupKnowledge(generations={4: {name: name.upper() for name in first}, 5: {name: name.upper() for name in last}})
    roster = Roster(members={member.member_id: member for member in members})
    neighbours: dict[str, RebalanceWindow | None] = {"previous": before(), "following": None}
    for name, value in values.items():
        if name in WINDOW:
            setattr(window, name, value)
        if name in KNOWN:
            setattr(known, name, value)
        if name in NEIGHBOURS:
            neighbours[name] = value  # type: ignore[assignment]
        assert name in WINDOW | KNOWN | NEIGHBOURS, name
    ordered = sorted(actions, key=lambda action: action.at)
    phase = LoggedJoinPhase(window, neighbours["previous"], neighbours["following"], ordered, roster)
    return RebalanceContext(phase, roster, facts or ClusterFacts(), known, group)


def taking(rule: Callable[..., T], rebalance: RebalanceContext, *others: object) -> T:
    """What a rule says that takes some parts of a rebalance, and more behind these."""
    names = list(signature(rule).parameters)
    parts = [getattr(rebalance, name) for name in names[: len(names) - len(others)]]
    return rule(*parts, *others)
