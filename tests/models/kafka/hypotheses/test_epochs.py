"""Why epochs rise: each condition alone, and each limit met exactly."""

from __future__ import annotations

import pytest

from models import weights
from models.causes import Cause
from models.events import Event, Witness
from models.kafka.cluster.facts import ClusterFacts, TopicChange
from models.kafka.hypotheses.epochs import NEW_PARTITIONS_US, STALE_US, EpochVerdict, judge_epoch
from models.kafka.observations.knowledge import GroupKnowledge
from models.kafka.observations.roster import Roster, RosterMember
from models.kafka.reconstruction.epochs.lines import LEFT_TARGET
from models.kafka.reconstruction.epochs.log import ModernReplay
from models.kafka.reconstruction.epochs.progress import EpochProgress
from models.kafka.reconstruction.epochs.unlogged_epochs import (
    GIVEN,
    NEW_PARTITIONS,
    NOTHING,
    NOTICED,
    REQUESTS,
    STUCK,
    TAKEN,
    TOPICS_EXIST,
    UNHEARD,
)
from models.kafka.reconstruction.epochs.windows import EpochChange, EpochWindow
from tests.models.kafka.reconstruction.lines import line

NOW = 10_000_000_000
ROSTER = Roster(members={"A": RosterMember("A", "a")})


def event(name: str = "GroupEpochBumped", at: int = 0, witness: Witness = Witness.COORDINATOR, **values: object) -> Event:
    return line(name, NOW + at, witness, **values)


def change(cause: Cause, reason: str = "why", witness: Witness = Witness.COORDINATOR) -> EpochChange:
    return EpochChange(cause, reason, event("ModernMemberJoined", witness=witness, member_id="A"))


def judge(
    *changes: EpochChange,
    epoch: int | None = 7,
    witness: Witness = Witness.COORDINATOR,
    known: GroupKnowledge | None = None,
    facts: ClusterFacts | None = None,
    reported: int = 0,
    rejoined: int | None = None,
    **values: object,
) -> EpochVerdict:
    window = EpochWindow(epoch, 6, event(witness=witness), list(changes))
    for name, value in values.items():
        setattr(window, name, value)
    modern = ModernReplay(EpochProgress(ROSTER, dropped=reported))
    if rejoined is not None:
        modern.feed(event("ModernMemberJoined", rejoined, member_id="A", rejoined=True))
    return judge_epoch(modern, window, known or GroupKnowledge(), facts or ClusterFacts())


def all_of(verdict: EpochVerdict) -> dict[str, float]:
    """Shares of all causes."""
    return {name: round(share, 6) for name, share in {verdict.cause.value: verdict.confidence, **verdict.alternatives}.items()}


def of(shares: weights.Shares) -> dict[str, float]:
    return {cause.value: round(share, 6) for cause, share in shares.of.items()}


def topics(at: int) -> ClusterFacts:
    return ClusterFacts(topic_changes=[TopicChange(NOW + at, "t", "created", event("TopicCreated"))])


LATEST = [(0, True), (1 - NEW_PARTITIONS_US, True), (-NEW_PARTITIONS_US, False), (1, False)]


# -- epochs that no coordinator logged -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shown", "weight"),
    [
        (REQUESTS, weights.EPOCH_BY_REQUESTS),
        (TOPICS_EXIST, weights.EPOCH_AS_TOPICS_EXIST),
        (NEW_PARTITIONS, weights.EPOCH_WITH_NEW_PARTITIONS),
        (TAKEN, weights.EPOCH_PARTITIONS_TAKEN),
        (GIVEN, weights.EPOCH_PARTITIONS_GIVEN),
        (NOTHING, weights.EPOCH_UNSEEN),
        (None, weights.EPOCH_UNSEEN),
    ],
)
def test_what_shows_an_unseen_epoch(shown: str | None, weight: weights.Shares) -> None:
    bumped = event(shown_by=shown)
    verdict = judge(witness=Witness.CLIENT, bumped=bumped)
    assert (all_of(verdict), verdict.settled_by) == (of(weight), "server.log at DEBUG")
    for at, is_near in LATEST:
        expected = weights.EPOCH_AFTER_TOPIC_CHANGE if is_near and shown in {NEW_PARTITIONS, REQUESTS} else weight
        assert all_of(judge(witness=Witness.CLIENT, bumped=bumped, facts=topics(at))) == of(expected)


@pytest.mark.parametrize(
    ("cause", "reason", "by", "values", "weight"),
    [
        (Cause.SUBSCRIPTION_CHANGE, "why", Witness.CLIENT, {}, weights.EPOCH_AFTER_SUBSCRIBING),
        (Cause.SUBSCRIPTION_CHANGE, "why", Witness.REQUEST, {}, None),
        (Cause.MEMBER_JOIN, "why", Witness.CLIENT, {"epoch": 1, "protocol": "streams"}, weights.FIRST_EPOCH_OF_STREAMS),
        (Cause.MEMBER_JOIN, "why", Witness.CLIENT, {"epoch": 1}, weights.EPOCH_OF_EMPTY),
        (Cause.MEMBER_JOIN, "why", Witness.CLIENT, {"epoch": 3}, weights.FIRST_SEEN_EPOCH),
        (Cause.MEMBER_JOIN, "why", Witness.CLIENT, {"epoch": 3, "reported": 1}, None),
        (Cause.MEMBER_JOIN, "why", Witness.CLIENT, {"epoch": 3, "members_before": 2}, None),
        (Cause.MEMBER_JOIN, "why", Witness.CLIENT, {"epoch": None}, None),
        (Cause.REBALANCE_TIMEOUT, f"{STUCK} 3 within", Witness.CLIENT, {}, weights.REMOVED_WHILE_STUCK),
        (Cause.UNKNOWN, UNHEARD, Witness.CLIENT, {}, weights.REMOVED_UNHEARD),
        (Cause.UNKNOWN, NOTICED, Witness.CLIENT, {}, weights.REMOVED_AS_IT_HEARD),
    ],
)
def test_why_an_inferred_epoch_rose(
    cause: Cause, reason: str, by: Witness, values: dict[str, object], weight: weights.Shares | None
) -> None:
    verdict = judge(change(cause, reason, by), witness=Witness.CLIENT, **values)  # type: ignore[arg-type]

    assert all_of(verdict) == (of(weight) if weight else {cause.value: round(weights.EPOCH_TOLD.value, 6)})


# -- epochs that a coordinator logged --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("values", "weight"),
    [
        ({"was_empty": True}, weights.EPOCH_OF_EMPTY),
        ({"epoch": 1}, weights.EPOCH_OF_EMPTY),
        ({"epoch": 3}, None),
    ],
)
def test_the_first_member_of_a_group(values: dict[str, object], weight: weights.Shares | None) -> None:
    told = {Cause.MEMBER_JOIN.value: round(weights.EPOCH_TOLD.value, 6)}

    assert all_of(judge(change(Cause.MEMBER_JOIN), **values)) == (of(weight) if weight else told)  # type: ignore[arg-type]
    assert judge(change(Cause.SESSION_TIMEOUT), **values).cause is Cause.SESSION_TIMEOUT  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("versions", "weight"),
    [
        ([], weights.EPOCH_TWO_UNKNOWN_VERSION),
        (["4.3.0"], weights.EPOCH_TWO_SINCE_4_3),
        (["4.2.9"], weights.EPOCH_TWO_BEFORE_4_3),
        (["4.10"], weights.EPOCH_TWO_SINCE_4_3),
        (["4.0.0", "4.3.0"], weights.EPOCH_TWO_SINCE_4_3),
        (["4"], weights.EPOCH_TWO_UNKNOWN_VERSION),
        (["x.3", "4.x"], weights.EPOCH_TWO_UNKNOWN_VERSION),
    ],
)
def test_a_second_epoch_may_be_the_first(versions: list[str], weight: weights.Prior) -> None:
    facts = ClusterFacts(versions={str(number): version for number, version in enumerate(versions)})
    new = weight.value
    expected = {Cause.NEW_GROUP.value: round(new, 6), Cause.MEMBER_JOIN.value: round(1 - new, 6)}
    verdict = judge(change(Cause.MEMBER_JOIN), epoch=2, facts=facts)

    assert (all_of(verdict), verdict.settled_by) == (expected, "server.log at INFO")
    assert verdict.confidence == max(new, 1 - new)
    for values in ({"reported": 1}, {"members_before": 1}):
        assert judge(change(Cause.MEMBER_JOIN), epoch=2, facts=facts, **values).alternatives == {}  # type: ignore[arg-type]


def test_who_is_out_of_the_target_may_have_gone_in_any_way() -> None:
    verdict = judge(change(Cause.MEMBER_LEAVE, LEFT_TARGET))

    assert (all_of(verdict), verdict.settled_by) == (of(weights.OUT_OF_TARGET), "server.log at INFO")


@pytest.mark.parametrize(
    ("protocol", "targeted", "versions", "weight"),
    [
        ("share", False, [], weights.NO_ACT_OF_SHARES),
        ("streams", False, [], weights.NO_ACT_OF_STREAMS),
        ("streams", True, [], weights.NO_ACT_OF_OLDER_STREAMS),
        ("streams", False, ["4.4.0"], weights.NO_ACT_OF_STREAMS),
        ("streams", False, ["4.3.0"], weights.NO_ACT_OF_OLDER_STREAMS),
        ("streams", True, ["4.4.0"], weights.NO_ACT_OF_OLDER_STREAMS),
    ],
)
def test_epochs_without_an_act(protocol: str, targeted: bool, versions: list[str], weight: weights.Shares) -> None:
    facts = ClusterFacts(versions=dict.fromkeys("x", versions[0]) if versions else {})
    verdict = judge(protocol=protocol, targeted=event("TargetComputed") if targeted else None, facts=facts)

    assert (all_of(verdict), verdict.settled_by) == (of(weight), "server.log at INFO")
    assert verdict.confidence == max(weight.of.values())


@pytest.mark.parametrize(
    ("members", "clients", "weight"),
    [
        (frozenset({"A"}), {"a"}, weights.EPOCH_ALL_LOGGED),
        (frozenset({"A", "B"}), {"a"}, weights.EPOCH_UNTOLD),
        (frozenset({"A"}), set(), weights.EPOCH_UNTOLD),
        (frozenset(), {"a"}, weights.EPOCH_UNTOLD),
    ],
)
def test_topics_or_subscriptions(members: frozenset[str], clients: set[str], weight: weights.Shares) -> None:
    known = GroupKnowledge(clients=clients)
    assert all_of(judge(members=members, known=known)) == of(weight)
    for at, is_near in LATEST:
        expected = weights.EPOCH_AFTER_TOPIC_CHANGE if is_near else weight
        assert all_of(judge(members=members, known=known, facts=topics(at))) == of(expected)


@pytest.mark.parametrize(
    ("known", "values", "weight"),
    [
        ({"stale_at": {"a": [NOW]}}, {}, weights.EPOCH_LATE_NOTICED),
        ({"stale_at": {"A": [NOW]}}, {}, weights.EPOCH_LATE_NOTICED),
        ({"stale_at": {"a": [NOW - STALE_US]}}, {}, weights.EPOCH_LATE_NOTICED),
        ({"stale_at": {"a": [NOW + STALE_US]}}, {}, weights.EPOCH_LATE_NOTICED),
        ({"stale_at": {"a": [NOW - STALE_US - 1]}}, {}, None),
        ({"stale_at": {"b": [NOW]}}, {}, None),
        ({"clients": {"a"}}, {}, weights.EPOCH_LEFT_LOGGED),
        ({"clients": {"b"}}, {}, None),
        ({}, {"rejoined": 1}, weights.EPOCH_LEFT_KEPT_ID),
        ({}, {"rejoined": 0}, None),
        ({}, {"closes": True}, None),
    ],
)
def test_a_leave_by_will_or_a_late_poll(known: dict[str, object], values: dict[str, object], weight: weights.Shares | None) -> None:
    verdict = judge(change(Cause.MEMBER_LEAVE), known=GroupKnowledge(**known), **values)  # type: ignore[arg-type]
    late = (weights.EMPTIED_BY_LATE_POLLS if values.get("closes") else weights.EPOCH_POLLED_LATE).value
    untold = {Cause.MEMBER_LEAVE.value: round(1 - late - weights.EPOCH_NEITHER.value, 6), Cause.POLL_TIMEOUT.value: round(late, 6)}

    assert all_of(verdict) == (of(weight) if weight else untold)
