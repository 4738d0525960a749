"""Leader elections: the rules by hand, what must hold for any input, and a sample of what the real controllers decided."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.kafka.elections.kraft import (
    NO_LEADER_ID,
    ChangeRecord,
    Election,
    ElectionRequest,
    ElectionResult,
    LeaderRecovery,
    Registration,
    apply,
    change,
    elect_leader,
    isr_shrink_raises_epoch,
)
from models.kafka.elections.zookeeper import BrokerLiveness, ElectionReason, LeaderAndIsr, Replicas, elect
from tests.conformance import check_file


def brokers(*running: int, leaving: tuple[int, ...] = ()) -> BrokerLiveness:
    return BrokerLiveness(frozenset(running), frozenset(leaving))


LED_BY_1 = LeaderAndIsr(leader=1, leader_epoch=7, isr=(1, 2))

ZOOKEEPER = {
    "offline: the first live replica in the ISR, in the order of the assignment": (
        ElectionReason.OFFLINE, Replicas((3, 2, 1)), brokers(1, 2, 3), LED_BY_1, {}, LeaderAndIsr(2, 8, (1, 2)),
    ),
    "offline: brokers that went leave the ISR": (
        ElectionReason.OFFLINE, Replicas((1, 2, 3)), brokers(2, 3), LED_BY_1, {}, LeaderAndIsr(2, 8, (2,)),
    ),
    "offline: a broker that shuts down is as good as gone": (
        ElectionReason.OFFLINE, Replicas((1, 2, 3)), brokers(1, 2, 3, leaving=(1,)), LED_BY_1, {}, LeaderAndIsr(2, 8, (2,)),
    ),
    "offline: nobody while the whole ISR is down": (
        ElectionReason.OFFLINE, Replicas((1, 2, 3)), brokers(3), LED_BY_1, {}, None,
    ),
    "offline, unclean allowed: whoever lives leads alone": (
        ElectionReason.OFFLINE, Replicas((1, 2, 3)), brokers(3), LED_BY_1, {"unclean_enabled": True}, LeaderAndIsr(3, 8, (3,)),
    ),
    "offline, unclean allowed: the ISR still goes first": (
        ElectionReason.OFFLINE, Replicas((3, 2, 1)), brokers(2, 3), LED_BY_1, {"unclean_enabled": True}, LeaderAndIsr(2, 8, (2,)),
    ),
    "offline: a broker in the ISR alone, outside the assignment, is kept there": (
        ElectionReason.OFFLINE, Replicas((2,)), brokers(2, 9), LeaderAndIsr(1, 7, (9, 2)), {}, LeaderAndIsr(2, 8, (9, 2)),
    ),
    "reassign: replicas that are to go are no candidates": (
        ElectionReason.REASSIGN, Replicas((1, 2, 3), removing=(1,)), brokers(1, 2, 3), LED_BY_1, {}, LeaderAndIsr(2, 8, (1, 2)),
    ),
    "preferred: the first replica": (
        ElectionReason.PREFERRED, Replicas((2, 1)), brokers(1, 2), LED_BY_1, {}, LeaderAndIsr(2, 8, (1, 2)),
    ),
    "preferred: nobody else": (
        ElectionReason.PREFERRED, Replicas((3, 1, 2)), brokers(1, 2, 3), LED_BY_1, {}, None,
    ),
    "controlled shutdown: somebody who stays, and those who go leave the ISR": (
        ElectionReason.CONTROLLED_SHUTDOWN, Replicas((1, 2)), brokers(1, 2, leaving=(1,)), LED_BY_1, {}, LeaderAndIsr(2, 8, (2,)),
    ),
    "controlled shutdown: nobody if all of the ISR goes": (
        ElectionReason.CONTROLLED_SHUTDOWN, Replicas((1, 2)), brokers(1, 2, leaving=(1, 2)), LED_BY_1, {}, None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", ZOOKEEPER)
def test_the_zookeeper_controller_elects(rule: str) -> None:
    strategy, replicas, running, current, options, expected = ZOOKEEPER[rule]

    assert elect(strategy, replicas, running, current, **options).leadership == expected


@pytest.mark.parametrize(
    ("strategy", "told"),
    [
        (ElectionReason.OFFLINE, (1,)),
        (ElectionReason.CONTROLLED_SHUTDOWN, (1, 3)),
        (ElectionReason.PREFERRED, (1, 2, 3)),
        (ElectionReason.REASSIGN, (1, 2)),
    ],
)
def test_without_leadership_nobody_is_elected_and_the_same_replicas_are_told(strategy: ElectionReason, told: tuple[int, ...]) -> None:
    outcome = elect(strategy, Replicas((1, 2, 3), removing=(3,)), brokers(1, 3, leaving=(3,)), None, unclean_enabled=True)

    assert (outcome.leadership, outcome.replicas) == (None, told)


PARTITION = Registration(replicas=(1, 2, 3), isr=(1, 2, 3), leader=1, leader_epoch=7, partition_epoch=20)
LEADERLESS = Registration((1, 2, 3), isr=(), leader=NO_LEADER_ID, leader_epoch=8, partition_epoch=21)


def registered(base: Registration, **fields: object) -> Registration:
    return Registration(**{**{name: getattr(base, name) for name in Registration.__slots__}, **fields})  # type: ignore[arg-type]


def alive(*nodes: int, **fields: object) -> ElectionRequest:
    return ElectionRequest(frozenset(nodes), **fields)  # type: ignore[arg-type]


KRAFT = {
    "the leader stays while it may": (PARTITION, alive(1, 2, 3), None),
    "a leader that is fenced passes on to the first in the order of the assignment": (
        registered(PARTITION, isr=(3, 2, 1)), alive(2, 3, isr=(3, 2)), ChangeRecord(leader=2, isr=(3, 2)),
    ),
    "preferred: back to the first replica": (
        registered(PARTITION, leader=3), alive(1, 2, 3, election=Election.PREFERRED), ChangeRecord(leader=1),
    ),
    "preferred: the present leader where the first replica may not lead": (
        registered(PARTITION, leader=3, isr=(2, 3)), alive(1, 2, 3, election=Election.PREFERRED), None,
    ),
    "no replica of the ISR is alive: no leader, the ISR stays": (
        registered(PARTITION, isr=(1,)), alive(2, 3, isr=()), ChangeRecord(leader=NO_LEADER_ID),
    ),
    "unclean: the first that is alive leads alone and has to recover": (
        registered(PARTITION, isr=(1,)), alive(2, 3, isr=(), election=Election.UNCLEAN),
        ChangeRecord(leader=2, isr=(2,), leader_recovery=LeaderRecovery.RECOVERING),
    ),
    "unclean, still recovering: no need to say so again": (
        registered(PARTITION, isr=(1,), leader_recovery=LeaderRecovery.RECOVERING), alive(3, isr=(), election=Election.UNCLEAN),
        ChangeRecord(leader=3, isr=(3,)),
    ),
    "ELR: who leaves an ISR below the minimum stays eligible": (
        registered(PARTITION, isr=(1, 2)), alive(1, isr=(1,), min_isr=2, elr_enabled=True), ChangeRecord(isr=(1,), elr=(2,)),
    ),
    "ELR: who crashed uncleanly doesn't": (
        registered(PARTITION, isr=(1, 2)), alive(1, isr=(1,), min_isr=2, elr_enabled=True, unclean_shutdown_replicas=(2,)),
        ChangeRecord(isr=(1,), last_known_elr=(2,)),
    ),
    "ELR: with the ISR empty an eligible replica is a clean leader": (
        registered(LEADERLESS, elr=(2, 3)), alive(3, min_isr=2, elr_enabled=True), ChangeRecord(leader=3, isr=(3,), elr=(2,)),
    ),
    "ELR: a full ISR needs none": (
        registered(PARTITION, isr=(1,), elr=(2,), last_known_elr=(3,)), alive(1, 2, 3, isr=(1, 2), min_isr=2, elr_enabled=True),
        ChangeRecord(isr=(1, 2), elr=(), last_known_elr=()),
    ),
    "the last known leader is written down when a partition becomes leaderless": (
        registered(PARTITION, isr=(1,)), alive(2, isr=(), min_isr=2, elr_enabled=True, use_last_known_leader=True),
        ChangeRecord(leader=NO_LEADER_ID, isr=(), elr=(1,), last_known_elr=(1,)),
    ),
    "and elected when it is all that is left, dead or alive, as 4.0.0 only logs that": (
        registered(LEADERLESS, last_known_elr=(1,)), alive(2, elr_enabled=True, use_last_known_leader=True),
        ChangeRecord(leader=1, isr=(1,), last_known_elr=(), leader_recovery=LeaderRecovery.RECOVERING),
    ),
    "a reassignment ends when all that stay are in sync": (
        registered(PARTITION, replicas=(4, 1, 2), isr=(1, 2), adding=(4,), removing=(1,)), alive(1, 2, 4, isr=(1, 2, 4)),
        ChangeRecord(leader=4, replicas=(4, 2), isr=(2, 4), adding=(), removing=()),
    ),
    "and not before": (
        registered(PARTITION, replicas=(4, 1, 2, 3), isr=(1, 2), adding=(4,), removing=(1,)), alive(1, 2, 4, isr=(1, 2, 4)),
        ChangeRecord(isr=(1, 2, 4)),
    ),
    "a removed replica raises the leader epoch under the same leader": (
        PARTITION, alive(1, 2, 3, replicas=(1, 2), isr=(1, 2)), ChangeRecord(leader=1, replicas=(1, 2), isr=(1, 2)),
    ),
    "leaving the ISR raised it up to 3.5": (
        PARTITION, alive(1, 2, isr=(1, 2), metadata_version="3.5-IV2"), ChangeRecord(leader=1, isr=(1, 2)),
    ),
    "and does no more": (PARTITION, alive(1, 2, isr=(1, 2), metadata_version="3.6-IV0"), ChangeRecord(isr=(1, 2))),
    "a leader that has recovered says so": (
        registered(PARTITION, leader_recovery=LeaderRecovery.RECOVERING), alive(1, 2, 3, leader_recovery=LeaderRecovery.RECOVERED),
        ChangeRecord(leader_recovery=LeaderRecovery.RECOVERED),
    ),
}  # fmt: skip


@pytest.mark.parametrize("rule", KRAFT)
def test_the_kraft_controller_changes(rule: str) -> None:
    partition, wanted, expected = KRAFT[rule]

    assert change(partition, wanted) == expected


def test_a_named_leader_raises_the_leader_epoch_and_any_record_the_partition_epoch() -> None:
    moved = apply(PARTITION, ChangeRecord(leader=1))
    shrunk = apply(PARTITION, ChangeRecord(isr=(1,)))

    assert (moved.leader_epoch, moved.partition_epoch) == (8, 21)
    assert (shrunk.leader_epoch, shrunk.partition_epoch, shrunk.isr) == (7, 21, (1,))
    assert apply(PARTITION, None) is PARTITION


def test_the_last_known_leader_is_an_unclean_choice() -> None:
    partition = registered(LEADERLESS, last_known_elr=(1,))

    assert elect_leader(partition, alive(elr_enabled=True, use_last_known_leader=True)) == ElectionResult(1, unclean=True)


def test_a_metadata_version_must_be_one() -> None:
    with pytest.raises(ValueError, match="not a metadata version"):
        isr_shrink_raises_epoch("latest")


# -- whatever the input ------------------------------------------------------------------------------------

NODES = st.integers(0, 5)
NODE_LISTS = st.lists(NODES, unique=True, max_size=5).map(tuple)
NODE_SETS = st.frozensets(NODES)
OPTIONAL_LISTS = st.none() | NODE_LISTS
LEADERSHIPS = st.builds(LeaderAndIsr, NODES, st.integers(0, 99), NODE_LISTS)
REPLICAS = st.builds(Replicas, NODE_LISTS, NODE_LISTS, NODE_LISTS)
BROKERS = st.builds(BrokerLiveness, NODE_SETS, NODE_SETS)
REGISTRATIONS = st.builds(
    Registration,
    replicas=NODE_LISTS,
    isr=NODE_LISTS,
    leader=NODES | st.just(NO_LEADER_ID),
    leader_epoch=st.integers(0, 99),
    partition_epoch=st.integers(0, 99),
    removing=NODE_LISTS,
    adding=NODE_LISTS,
    elr=NODE_LISTS,
    last_known_elr=NODE_LISTS,
    leader_recovery=st.sampled_from(LeaderRecovery),
)
WANTED = st.builds(
    ElectionRequest,
    alive=NODE_SETS,
    election=st.sampled_from(Election),
    min_isr=st.integers(1, 4),
    isr=OPTIONAL_LISTS,
    replicas=OPTIONAL_LISTS,
    leader_recovery=st.none() | st.sampled_from(LeaderRecovery),
    unclean_shutdown_replicas=NODE_LISTS,
    elr_enabled=st.booleans(),
    use_last_known_leader=st.booleans(),
    metadata_version=st.sampled_from(["3.3-IV3", "3.5-IV2", "3.6-IV0", "4.0-IV3"]),
)


@given(st.sampled_from(ElectionReason), REPLICAS, BROKERS, LEADERSHIPS, st.booleans())
def test_a_new_leader_runs_and_is_assigned_and_the_epoch_rises_by_one(
    strategy: ElectionReason, replicas: Replicas, running: BrokerLiveness, current: LeaderAndIsr, unclean: bool
) -> None:
    found = elect(strategy, replicas, running, current, unclean_enabled=unclean).leadership

    if found is not None:
        assert found.leader in replicas.all
        assert found.leader in running.online
        assert found.leader in found.isr
        assert found.leader_epoch == current.leader_epoch + 1
        assert found.leader in current.isr or (strategy is ElectionReason.OFFLINE and unclean)


@given(REGISTRATIONS, WANTED)
def test_kraft_elects_the_living_save_for_the_last_known_leader(partition: Registration, wanted: ElectionRequest) -> None:
    elected = elect_leader(partition, wanted)

    assert elected.node == NO_LEADER_ID or elected.node in wanted.alive or (elected.unclean and wanted.use_last_known_leader)
    assert elected.node != NO_LEADER_ID or not elected.unclean


@given(REGISTRATIONS, WANTED)
def test_epochs_never_fall_and_a_leader_is_in_its_isr(partition: Registration, wanted: ElectionRequest) -> None:
    record = change(partition, wanted)
    after = apply(partition, record)

    assert after.partition_epoch == partition.partition_epoch + (record is not None)
    assert partition.leader_epoch <= after.leader_epoch <= partition.leader_epoch + 1
    assert after.leader == partition.leader or after.leader_epoch > partition.leader_epoch
    if after.leader not in (NO_LEADER_ID, partition.leader):
        assert after.leader in after.isr


@given(REGISTRATIONS, WANTED)
def test_without_elr_no_eligible_replicas_are_kept(partition: Registration, wanted: ElectionRequest) -> None:
    after = apply(partition, change(partition, wanted))

    assert wanted.elr_enabled or after.elr == ()
    assert not wanted.elr_enabled or not set(after.elr) & set(after.isr) or after.elr == partition.elr


@pytest.mark.parametrize("name", ["elections-2.8.2", "kraft-elections-4.0.0"])
def test_the_real_controllers_decided_the_same(shared: Path, name: str) -> None:
    result = check_file(shared / "vectors" / f"{name}.jsonl.gz", every=2)

    assert result.mismatches == []
    assert result.equal == result.lines > 0
