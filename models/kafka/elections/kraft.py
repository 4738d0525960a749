"""Partition changes of the KRaft controller: leader, ISR and change record.

Source: Kafka 4.0.0, `PartitionChangeBuilder.java`. `change` turns a registration and the wanted changes into a record;
`apply` gives the registration after it. Node -1 is "no leader". Eligible leader replicas (ELR, KIP-966) left the ISR
while it was already smaller than min.insync.replicas, so they have all committed records; the last known ELR have lost
that property.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

NO_LEADER_ID = -1
METADATA_VERSION = re.compile(r"(\d+)\.(\d+)(?:-IV(\d+))?")


class Election(StrEnum):
    """Candidates that an election may choose."""

    PREFERRED = "PREFERRED"  # the first replica if it may lead, else the current leader
    ONLINE = "ONLINE"  # the current leader, else any replica with all committed records
    UNCLEAN = "UNCLEAN"  # as ONLINE, else any live replica


class LeaderRecovery(StrEnum):
    """Whether an uncleanly elected leader has recovered (KIP-704).

    Such a leader may lack committed records.
    """

    RECOVERED = "RECOVERED"
    RECOVERING = "RECOVERING"


@dataclass(frozen=True, slots=True)
class Registration:
    """A partition in the metadata log."""

    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    leader_recovery: LeaderRecovery = LeaderRecovery.RECOVERED


@dataclass(frozen=True, slots=True)
class ElectionRequest:
    """Wanted changes of a partition, and the rules for them.

    A target of None means the registered value. `alive` are the brokers that may lead: neither fenced nor shutting down.
    """

    alive: frozenset[int]
    election: Election = Election.ONLINE
    min_isr: int = 1
    isr: tuple[int, ...] | None = None
    replicas: tuple[int, ...] | None = None
    leader_recovery: LeaderRecovery | None = None
    unclean_shutdown_replicas: tuple[int, ...] = ()
    elr_enabled: bool = False
    use_last_known_leader: bool = False
    metadata_version: str = "4.0-IV3"


@dataclass(frozen=True, slots=True)
class ElectionResult:
    """The elected node; `unclean` if it may lack committed records."""

    node: int
    unclean: bool = False


@dataclass(frozen=True, slots=True)
class ChangeRecord:
    """A PartitionChangeRecord; None leaves a field unchanged."""

    isr: tuple[int, ...] | None = None
    leader: int | None = None
    replicas: tuple[int, ...] | None = None
    removing: tuple[int, ...] | None = None
    adding: tuple[int, ...] | None = None
    elr: tuple[int, ...] | None = None
    last_known_elr: tuple[int, ...] | None = None
    leader_recovery: LeaderRecovery | None = None

    @property
    def is_empty(self) -> bool:
        """Whether it changes nothing and is therefore not written."""
        return self == _NOTHING


_NOTHING = ChangeRecord()


@dataclass(frozen=True, slots=True)
class _Targets:
    """Target values of a partition while its change is built."""

    isr: tuple[int, ...]
    replicas: tuple[int, ...]
    removing: tuple[int, ...]
    adding: tuple[int, ...]
    elr: tuple[int, ...]
    last_known_elr: tuple[int, ...]


# -- election ----------------------------------------------------------------------------------------------


def elect_leader(partition: Registration, wanted: ElectionRequest) -> ElectionResult:
    """Elect a leader without building a change record."""
    return _elect(partition, wanted, _given(partition, wanted))


def _given(partition: Registration, wanted: ElectionRequest) -> _Targets:
    return _Targets(
        isr=partition.isr if wanted.isr is None else wanted.isr,
        replicas=partition.replicas if wanted.replicas is None else wanted.replicas,
        removing=partition.removing,
        adding=partition.adding,
        elr=partition.elr,
        last_known_elr=partition.last_known_elr,
    )


def _elect(partition: Registration, wanted: ElectionRequest, targets: _Targets) -> ElectionResult:
    valid = [replica for replica in targets.replicas if _may_lead(replica, wanted, targets)]
    preferred = targets.replicas[0] if targets.replicas else NO_LEADER_ID
    if wanted.election is Election.PREFERRED and preferred in valid:
        return ElectionResult(preferred)
    if _may_lead(partition.leader, wanted, targets):
        return ElectionResult(partition.leader)
    if valid:
        return ElectionResult(valid[0])
    if _last_known_leader_may_return(partition, wanted, targets):
        return ElectionResult(partition.last_known_elr[0], unclean=True)
    if wanted.election is Election.UNCLEAN:
        anyone = next((replica for replica in targets.replicas if replica in wanted.alive), NO_LEADER_ID)
        return ElectionResult(anyone, unclean=anyone != NO_LEADER_ID)
    return ElectionResult(NO_LEADER_ID)


def _may_lead(replica: int, wanted: ElectionRequest, targets: _Targets) -> bool:
    """Whether a replica may lead; ELR count while the ISR is empty."""
    return replica in wanted.alive and (replica in targets.isr or (not targets.isr and replica in targets.elr))


def _last_known_leader_may_return(partition: Registration, wanted: ElectionRequest, targets: _Targets) -> bool:
    """Whether the last known leader is the only candidate left.

    Version 4.0.0 does not check that it is alive; it only logs that.
    """
    return (
        wanted.elr_enabled and wanted.use_last_known_leader and not targets.isr and not targets.elr and len(partition.last_known_elr) == 1
    )


# -- the change --------------------------------------------------------------------------------------------


def change(partition: Registration, wanted: ElectionRequest) -> ChangeRecord | None:
    """Record that brings a partition closer to the targets, None without changes."""
    targets = _with_eligible_replicas(partition, wanted, _with_finished_reassignment(partition, _given(partition, wanted)))
    targets, record = _with_leader(partition, wanted, targets)
    record = _bump_if_replicas_removed(partition, targets, record)
    record = _record_eligible_replicas(partition, wanted, targets, record)
    record = _record_isr(partition, wanted, targets, record)
    record = _record_last_known_leader(partition, wanted, record)
    record = replace(
        record,
        replicas=_if_changed(targets.replicas, partition.replicas),
        removing=_if_changed(targets.removing, partition.removing),
        adding=_if_changed(targets.adding, partition.adding),
    )
    if wanted.leader_recovery not in (None, partition.leader_recovery):
        record = replace(record, leader_recovery=wanted.leader_recovery)
    return None if record.is_empty else record


def apply(partition: Registration, record: ChangeRecord | None) -> Registration:
    """Registration after a record.

    A named leader raises the leader epoch even if it is the same one.
    """
    if record is None:
        return partition
    return Registration(
        replicas=_or(record.replicas, partition.replicas),
        isr=_or(record.isr, partition.isr),
        leader=partition.leader if record.leader is None else record.leader,
        leader_epoch=partition.leader_epoch + (record.leader is not None),
        partition_epoch=partition.partition_epoch + 1,
        removing=_or(record.removing, partition.removing),
        adding=_or(record.adding, partition.adding),
        elr=_or(record.elr, partition.elr),
        last_known_elr=_or(record.last_known_elr, partition.last_known_elr),
        leader_recovery=record.leader_recovery or partition.leader_recovery,
    )


def _or(recorded: tuple[int, ...] | None, registered: tuple[int, ...]) -> tuple[int, ...]:
    return registered if recorded is None else recorded


def _if_changed(target: tuple[int, ...], registered: tuple[int, ...]) -> tuple[int, ...] | None:
    return None if target == registered else target


def _without(replicas: Iterable[int], *gone: Iterable[int]) -> tuple[int, ...]:
    left_out = {replica for group in gone for replica in group}
    return tuple(replica for replica in replicas if replica not in left_out)


def _with_finished_reassignment(partition: Registration, targets: _Targets) -> _Targets:
    """Finish a reassignment once all remaining replicas are in the ISR.

    Replicas that were not added count as well.
    """
    if not targets.adding and not targets.removing:
        return targets
    replicas = _without(targets.replicas, partition.removing)
    isr = _without(targets.isr, partition.removing)
    if not isr or not set(replicas) <= set(isr):
        return targets
    return replace(targets, replicas=replicas, isr=isr, removing=(), adding=())


def _with_eligible_replicas(partition: Registration, wanted: ElectionRequest, targets: _Targets) -> _Targets:
    """Keep replicas eligible that leave an ISR below the minimum.

    Replicas with an unclean shutdown lost their log and are excluded.
    """
    if not wanted.elr_enabled:
        return targets
    if len(targets.isr) >= wanted.min_isr:
        return replace(targets, elr=(), last_known_elr=())
    former = {*partition.elr, *partition.isr}
    elr = tuple(sorted(former.difference(targets.isr, wanted.unclean_shutdown_replicas)))
    last_known = tuple(sorted(former.union(partition.last_known_elr).difference(targets.isr, elr)))
    return replace(targets, elr=elr, last_known_elr=last_known)


def _with_leader(partition: Registration, wanted: ElectionRequest, targets: _Targets) -> tuple[_Targets, ChangeRecord]:
    elected = _elect(partition, wanted, targets)
    if elected.node == partition.leader:
        return targets, _NOTHING
    record = ChangeRecord(leader=elected.node)
    if elected.node in targets.elr:
        targets = replace(targets, isr=(elected.node,), elr=_without(targets.elr, [elected.node]))
    if elected.unclean:
        # No replica is known to match an unclean leader, so the ISR is the leader alone.
        record = replace(record, isr=(elected.node,))
        if partition.leader_recovery is not LeaderRecovery.RECOVERING:
            record = replace(record, leader_recovery=LeaderRecovery.RECOVERING)
    return targets, record


def _bump_if_replicas_removed(partition: Registration, targets: _Targets, record: ChangeRecord) -> ChangeRecord:
    """Raise the leader epoch, so that a removed replica's fetches fail."""
    if record.leader is None and not set(partition.replicas) <= set(targets.replicas):
        return replace(record, leader=partition.leader)
    return record


def _record_eligible_replicas(partition: Registration, wanted: ElectionRequest, targets: _Targets, record: ChangeRecord) -> ChangeRecord:
    none_left = record.isr is not None or not wanted.elr_enabled
    elr = () if none_left else targets.elr
    last_known = () if none_left else targets.last_known_elr
    record = replace(record, elr=_if_changed(elr, partition.elr))
    if wanted.use_last_known_leader:
        return record  # the field then names the last leader, see `_record_last_known_leader`
    return replace(record, last_known_elr=_if_changed(last_known, partition.last_known_elr))


def _record_isr(partition: Registration, wanted: ElectionRequest, targets: _Targets, record: ChangeRecord) -> ChangeRecord:
    """Record the ISR; without ELR it keeps its last member."""
    if record.isr is None and targets.isr != partition.isr and (targets.isr or wanted.elr_enabled):
        record = replace(record, isr=targets.isr)
    shrunk = record.isr is not None and not set(partition.isr) <= set(record.isr)
    if shrunk and record.leader is None and isr_shrink_raises_epoch(wanted.metadata_version):
        record = replace(record, leader=partition.leader)
    return record


def isr_shrink_raises_epoch(metadata_version: str) -> bool:
    """Whether an ISR shrink raises the leader epoch (until 3.6, KAFKA-15021)."""
    match = METADATA_VERSION.fullmatch(metadata_version)
    if match is None:
        message = f"not a metadata version: {metadata_version!r}"
        raise ValueError(message)
    return (int(match[1]), int(match[2])) < (3, 6)


def _record_last_known_leader(partition: Registration, wanted: ElectionRequest, record: ChangeRecord) -> ChangeRecord:
    """Record the last leader while the partition has none."""
    if not (wanted.elr_enabled and wanted.use_last_known_leader):
        return record
    if record.isr == () and partition.last_known_elr != (partition.leader,):
        return replace(record, last_known_elr=(partition.leader,))
    leads = partition.leader if record.leader is None else record.leader
    if leads != NO_LEADER_ID and partition.last_known_elr:
        return replace(record, last_known_elr=())
    return record
