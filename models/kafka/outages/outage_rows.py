"""Rows of times without a leader, broker outages and corrected clocks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.outages.leader_loss import LeaderLoss, Vacancy, leader_loss, vacancies
from models.kafka.partitions.broker_clocks import Skew
from models.kafka.partitions.brokers import BrokerAbsence
from models.kafka.partitions.partition_history import Leadership, LeadershipSource, PartitionHistory
from models.kafka.partitions.partition_stage import PartitionStage
from models.rows import KAFKA, BrokerOutage, Divergence, Evidence, PartitionOutage
from models.times import begin_of, raised_in_order


def clock_divergences(cluster: str, skews: Iterable[Skew]) -> Iterator[Divergence]:
    """Rows for brokers with a clock other than the controller's.

    Their times were corrected.
    """
    for skew in skews:
        yield Divergence(
            cluster=cluster,
            system=KAFKA,
            divergence_id=make_id("skew", cluster, "broker", skew.node, skew.reference),
            group=None,
            at=skew.lines[-1].time_us,
            expected=f"the clock of node {skew.reference}",
            observed=f"node {skew.node} is {abs(skew.ahead) / 1_000_000:.3f} s {'ahead' if skew.ahead > 0 else 'behind'};"
            " its times were corrected",
            evidence=evidence(skew.lines),
        )


# -- partitions without a leader -----------------------------------------------------------------------------


def partition_outages(
    cluster: str, history: PartitionHistory, stage: PartitionStage, leaderships: Sequence[Leadership]
) -> Iterator[PartitionOutage]:
    """Outages of a partition, from consecutive leaderships."""
    for vacancy in vacancies(leaderships):
        yield _outage(cluster, history, stage, vacancy)


def _outage(cluster: str, history: PartitionHistory, stage: PartitionStage, vacancy: Vacancy) -> PartitionOutage:
    loss, after = leader_loss(history, stage, vacancy), vacancy.after
    epoch = _epoch_before(vacancy)
    return PartitionOutage(
        cluster=cluster,
        system=KAFKA,
        outage_id=make_id("outage", cluster, *history.key, *leader_epoch_key(epoch, loss.began_at)),
        topic=history.topic,
        partition=history.partition,
        offline_at=None if loss.has_begun_unseen else loss.began_at,
        online_at=loss.ended_at,
        cause=loss.cause,
        ended_by=loss.ended_by,
        lost_brokers=loss.lost_brokers,
        replicas=list(loss.replicas),
        isr=list(loss.isr),
        leader_epoch_before=epoch,
        leader_before=loss.leader,
        leader_after=None if after is None else after.leader,
        at_risk=None if after is None else after.is_unclean or loss.ended_by == "unclean_election",
        groups=[],
        settled_by=_settled_by(loss, after, stage),
        evidence=_lines(loss, vacancy),
    )


def _epoch_before(vacancy: Vacancy) -> int | None:
    """The leader epoch before a vacancy, which itself may have raised it."""
    if vacancy.before is not None and vacancy.before.epoch is not None:
        return vacancy.before.epoch
    first = vacancy.leaderless[0].epoch
    return first - 1 if first is not None and first > 0 else None


def leader_epoch_key(epoch: int | None, at: int) -> tuple[object, ...]:
    """Key within one lifetime: the leader epoch, or the time without one."""
    return (epoch,) if epoch is not None else ("at", at)


def _settled_by(loss: LeaderLoss, after: Leadership | None, stage: PartitionStage) -> str | None:
    """Files that would settle what was only inferred: vacancy, cause or end.

    None if nothing was inferred.
    """
    inferred = any(absence.is_suspected or absence.witness is None for absence in loss.absences)
    inferred = inferred or (after is not None and after.source is LeadershipSource.IMPLIED and not stage.is_kraft)
    if loss.cause != "unknown" and not inferred:
        return None
    file_name = (
        "controller.log of the active KRaft controller" if stage.is_kraft else "controller.log and state-change.log of the controller"
    )
    silent = sorted({absence.node for absence in loss.absences if absence.is_suspected} - stage.suspicions.with_file)
    return file_name if not silent else f"{file_name}, or server.log of broker {' and '.join(silent)}"


def _lines(loss: LeaderLoss, vacancy: Vacancy) -> list[Evidence]:
    """Evidence in order: vacancy, departures, directories, controllers, new leader."""
    rows: dict[tuple[str, int], Evidence] = {}

    def add(events: Sequence[Event], *, inferred: bool) -> None:
        for row in evidence(events, inferred=inferred):
            rows.setdefault((row.file, row.byte_offset), row)

    for leadership in vacancy.leaderless:
        if leadership.source is not LeadershipSource.IMPLIED:
            add(leadership.events, inferred=False)
    for absence in loss.absences:
        add([*absence.events[:1], *([absence.witness] if absence.witness is not None else [])], inferred=True)
    add([*loss.dir_failures, *loss.quorum_losses], inferred=True)
    if vacancy.after is not None:
        add(vacancy.after.events, inferred=vacancy.after.source is LeadershipSource.IMPLIED)
    return list(rows.values())


# -- brokers -------------------------------------------------------------------------------------------------


def broker_outage(cluster: str, absence: BrokerAbsence) -> BrokerOutage:
    """Row of a broker's outage."""
    key = ("down", absence.down_at) if absence.down_at is not None else ("up", absence.up_at)
    down_at, up_at = raised_in_order(begin_of(absence.down_at, absence.up_at), absence.up_at)
    return BrokerOutage(
        cluster=cluster,
        system=KAFKA,
        broker_outage_id=make_id("broker_outage", cluster, absence.node, *key),
        node=absence.node,
        down_at=down_at,
        up_at=up_at,
        shutdown_kind=absence.how,
        evidence=evidence([*absence.events[:6], *absence.ends[:2]]),
    )
