"""Conversion of partition and broker histories into rows.

Rows are times without a leader, leader moves and broker outages.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.partitions.broker_clocks import Skew
from models.kafka.partitions.brokers import BrokerAbsence, Brokers
from models.kafka.partitions.event_fields import nodes_field
from models.kafka.partitions.partition_history import MOMENT_US, NO_LEADER, Leadership, LeadershipSource, Nodes, PartitionHistory
from models.kafka.partitions.partition_stage import PartitionStage
from models.rows import KAFKA, BrokerOutage, Divergence, Evidence, LeaderMove, PartitionOutage
from models.times import begin_of, in_order
from models.tolerances import whole

TAKEN_OVER_US = whole("kafka.outage_rows.taken_over_us")
"""Maximum time from a departure to the leader change it causes."""


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
    for gap in _gaps(leaderships):
        yield _outage(cluster, history, stage, gap)


Gap = tuple[Leadership | None, list[Leadership], Leadership | None]


def _gaps(leaderships: Sequence[Leadership]) -> Iterator[Gap]:
    """Leadership before, vacancies in between, and leadership after."""
    before: Leadership | None = None
    vacant: list[Leadership] = []
    for leadership in leaderships:
        if leadership.leader == NO_LEADER:
            vacant.append(leadership)
            continue
        if vacant and not _is_momentary(vacant, leadership) and not _begins_unseen(vacant, leadership):
            yield before, vacant, leadership
        before, vacant = leadership, []
    if vacant:
        yield before, vacant, None


def _is_momentary(vacant: list[Leadership], after: Leadership) -> bool:
    """Whether a guessed vacancy is shorter than MOMENT_US, so only a move."""
    return all(leadership.is_guessed for leadership in vacant) and after.at - vacant[0].at < MOMENT_US


def _begins_unseen(vacant: list[Leadership], after: Leadership) -> bool:
    """Whether only the new leader's line shows the vacancy.

    It then lies before the logs begin.
    """
    return all(not leadership.has_time and leadership.at >= after.at for leadership in vacant)


def _ended(brokers: Brokers, offline_at: int, after: Leadership | None) -> int | None:
    """Time of the new leader's election, None if there is none.

    If only its own broker reports it, the controller elected it at the broker's return. Epochs order lines of several
    clocks, so the time is at least `offline_at`.
    """
    if after is None:
        return None
    returned = None if after.has_time else brokers.last_return(after.leader, offline_at, after.at)
    return max(offline_at, after.at if returned is None else returned)


def _outage(cluster: str, history: PartitionHistory, stage: PartitionStage, gap: Gap) -> PartitionOutage:
    before, vacant, after = gap
    brokers = stage.brokers
    offline_at, departure = _began(history, brokers, before, vacant[0])
    leader_before = before.leader if before is not None else None
    isr = _isr_at(history, before, vacant, offline_at)
    lost = _lost(brokers, history, isr, leader_before, offline_at, departure)
    replicas = history.candidates or isr
    ended_by = _ended_by(replicas, isr, leader_before, after)
    online_at = _ended(brokers, offline_at, after)
    failed = dir_failures(brokers, {*isr, *filter(None, (leader_before,))}, offline_at)
    cause = _cause(replicas, isr, lost, brokers, offline_at)
    if cause == "unknown" and _has_leader_lost_its_dir(failed, leader_before, isr, lost):
        cause = "log_dir_failed"
    without_controller = stage.controllers.missing(offline_at, online_at) if cause == "unknown" and isr else []
    if without_controller:
        cause = "no_controller"  # a replica in sync could have been elected
    epoch = before.epoch if before is not None else None
    if epoch is None and vacant[0].epoch is not None and vacant[0].epoch > 0:
        epoch = vacant[0].epoch - 1
    return PartitionOutage(
        cluster=cluster,
        system=KAFKA,
        outage_id=make_id("outage", cluster, *history.key, *_numbered(epoch, offline_at)),
        topic=history.topic,
        partition=history.partition,
        offline_at=offline_at,
        online_at=online_at,
        cause=cause,
        ended_by=ended_by,
        lost_brokers=list(dict.fromkeys((*(absence.node for absence in lost), *_silent_voters(without_controller)))),
        replicas=list(replicas),
        isr=list(isr),
        leader_epoch_before=epoch,
        leader_before=leader_before,
        leader_after=None if after is None else after.leader,
        at_risk=None if after is None else after.is_unclean or ended_by == "unclean_election",
        groups=[],
        settled_by=_settled_by(cause, lost, gap, stage),
        evidence=_lines(lost, vacant, after, [*(failed.values() if cause == "log_dir_failed" else ()), *without_controller]),
    )


def _silent_voters(controllers: Iterable[Event]) -> Iterator[str]:
    """Voters without which there was no quorum."""
    for event in controllers:
        heard = {*(nodes_field(event, "heard") or ()), *filter(None, (event.node,))}
        yield from (voter for voter in nodes_field(event, "voters") or () if voter not in heard)
        yield from nodes_field(event, "silent") or ()


def _numbered(epoch: int | None, at: int) -> tuple[object, ...]:
    """Key within one lifetime: the leader epoch, or the time without one."""
    return (epoch,) if epoch is not None else ("at", at)


def _began(history: PartitionHistory, brokers: Brokers, before: Leadership | None, first: Leadership) -> tuple[int, BrokerAbsence | None]:
    """Start of a vacancy, with the departure that dates it, if any.

    A broker that learns of the vacancy later doesn't know its start; the departure of the last leader does.
    """
    after = before.at if before is not None else None
    if first.has_time:
        return first.at, None
    for node in (*((before.leader,) if before is not None else ()), *history.candidates, *(e.node for e in first.events if e.node)):
        departure = brokers.last_departure(node, first.at, after)
        if departure is not None and departure.down_at is not None:
            return departure.down_at, departure
    return first.at, None


def _isr_at(history: PartitionHistory, before: Leadership | None, vacant: list[Leadership], at: int) -> Nodes:
    """The in-sync replicas when the leader was lost."""
    isr = next((leadership.isr for leadership in vacant if leadership.isr and leadership.source is not LeadershipSource.SEEN), None)
    if isr:
        return isr
    known = [change.isr for change in history.isr_changes if change.at <= at and change.isr]
    if known:
        return known[-1]
    seen = next((leadership.isr for leadership in vacant if leadership.isr), None)
    return (
        seen or (before.isr if before is not None and before.isr else None) or (history.candidates if len(history.candidates) == 1 else ())
    )


def _lost(
    brokers: Brokers, history: PartitionHistory, isr: Nodes, leader_before: str | None, at: int, departure: BrokerAbsence | None
) -> list[BrokerAbsence]:
    """Brokers that were down when the leader was lost.

    Members of the ISR, or otherwise the last leader.
    """
    nodes = dict.fromkeys((*isr, *(() if leader_before is None else (leader_before,)))) or history.candidates
    lost = [absence for node in nodes if (absence := brokers.gone_at(node, at + MOMENT_US)) is not None]
    if departure is not None and all(absence.node != departure.node for absence in lost):
        lost.append(departure)
    return lost


def _cause(replicas: Nodes, isr: Nodes, lost: list[BrokerAbsence], brokers: Brokers, at: int) -> str:
    if not lost:
        return "unknown"
    if len(replicas) == 1:
        return "controlled_shutdown_single_replica" if lost[0].is_controlled else "broker_down_single_replica"
    if not replicas or any(brokers.gone_at(node, at + MOMENT_US) is None for node in isr):
        return "unknown"  # a replica could have been elected
    return "all_replicas_down" if all(brokers.gone_at(node, at + MOMENT_US) is not None for node in replicas) else "isr_lost"


def dir_failures(brokers: Brokers, nodes: Iterable[str], at: int) -> dict[str, Event]:
    """Brokers that stayed up with a failed directory, and its first line."""
    failures = {node: brokers.dir_failures(node, at - TAKEN_OVER_US, at + MOMENT_US) for node in sorted(nodes)}
    return {node: lines[0] for node, lines in failures.items() if lines and brokers.gone_at(node, at + MOMENT_US) is None}


def _has_leader_lost_its_dir(failed: Container[str], leader: str | None, isr: Nodes, lost: Iterable[BrokerAbsence]) -> bool:
    """Whether failed directories took the leader and every in-sync replica."""
    gone = {absence.node for absence in lost}
    led = isr if leader is None else (leader,)
    return any(node in failed for node in led) and all(node in failed or node in gone for node in isr)


def _ended_by(replicas: Nodes, isr: Nodes, leader_before: str | None, after: Leadership | None) -> str:
    if after is None:
        return "open"
    if after.leader == (leader_before if leader_before is not None else isr[0] if len(isr) == 1 else None):
        return "replica_returned"
    if after.leader in isr:
        return "isr_election"
    if replicas and after.leader not in replicas:
        return "reassigned"
    if _is_eligible(after):
        return "isr_election"
    return "unclean_election" if isr or after.is_unclean else "isr_election"


def _is_eligible(leadership: Leadership) -> bool:
    """Whether a leader came from the ELR, which holds all that is committed."""
    return any(event.fields.get("election") == "ELR" for event in leadership.events)


def _settled_by(cause: str, lost: list[BrokerAbsence], gap: Gap, stage: PartitionStage) -> str | None:
    """Files that would settle what was only inferred: vacancy, cause or end.

    None if nothing was inferred.
    """
    _, _, after = gap
    inferred = any(absence.is_suspected or absence.witness is None for absence in lost)
    inferred = inferred or (after is not None and after.source is LeadershipSource.IMPLIED and not stage.is_kraft)
    if cause != "unknown" and not inferred:
        return None
    file_name = (
        "controller.log of the active KRaft controller" if stage.is_kraft else "controller.log and state-change.log of the controller"
    )
    silent = sorted({absence.node for absence in lost if absence.is_suspected} - stage.suspicions.with_file)
    return file_name if not silent else f"{file_name}, or server.log of broker {' and '.join(silent)}"


def _lines(lost: list[BrokerAbsence], vacant: list[Leadership], after: Leadership | None, behind: list[Event]) -> list[Evidence]:
    """Evidence in order: vacancy, departures, directories, controllers, new leader."""
    rows: dict[tuple[str, int], Evidence] = {}

    def add(events: Sequence[Event], *, inferred: bool) -> None:
        for row in evidence(events, inferred=inferred):
            rows.setdefault((row.file, row.byte_offset), row)

    for leadership in vacant:
        if leadership.source is not LeadershipSource.IMPLIED:
            add(leadership.events, inferred=False)
    for absence in lost:
        add([*absence.events[:1], *([absence.witness] if absence.witness is not None else [])], inferred=True)
    add(behind, inferred=True)
    if after is not None:
        add(after.events, inferred=after.source is LeadershipSource.IMPLIED)
    return list(rows.values())


# -- moves ---------------------------------------------------------------------------------------------------


def leader_moves(cluster: str, history: PartitionHistory, brokers: Brokers, leaderships: Iterable[Leadership]) -> Iterator[LeaderMove]:
    """Leader changes between brokers, from consecutive leaderships.

    A vacancy may lie in between.
    """
    before: Leadership | None = None
    vacant: list[Leadership] = []
    for leadership in leaderships:
        if leadership.leader == NO_LEADER:
            vacant.append(leadership)
            continue
        if before is not None and before.leader != leadership.leader:
            yield LeaderMove(
                cluster=cluster,
                system=KAFKA,
                leader_move_id=make_id("leader_move", cluster, *history.key, *_numbered(leadership.epoch, leadership.at)),
                topic=history.topic,
                partition=history.partition,
                from_node=before.leader,
                to_node=leadership.leader,
                moved_at=leadership.at,
                leader_epoch=leadership.epoch,
                reason=_reason(history, brokers, before, leadership),
                is_clean_election=_is_clean(history, vacant, leadership),
                evidence=[
                    *evidence(leadership.events, inferred=leadership.source is LeadershipSource.IMPLIED),
                    *_behind_move(history, brokers, before, leadership),
                ],
            )
        before, vacant = leadership, []


def _is_clean(history: PartitionHistory, vacant: list[Leadership], leadership: Leadership) -> bool | None:
    """Whether the new leader was in sync, None if unknown."""
    if leadership.is_unclean:
        return False
    if _is_eligible(leadership):
        return True
    left = next((gone.isr for gone in reversed(vacant) if gone.isr), None)
    if left is not None:
        return leadership.leader in left
    known = [change.isr for change in history.isr_changes if change.at <= leadership.at]
    return True if any(leadership.leader in isr for isr in known[-2:]) else None


def _reassigned_by(history: PartitionHistory, leadership: Leadership) -> list[Event]:
    """Lines about a reassignment that ended just before a leadership began."""
    return [event for event in history.reassigned if 0 <= leadership.at - event.time_us <= TAKEN_OVER_US][-1:]


def _behind_move(history: PartitionHistory, brokers: Brokers, before: Leadership, leadership: Leadership) -> list[Evidence]:
    """Lines that tell why a leadership moved, if it was not its broker's departure."""
    failed = dir_failures(brokers, (before.leader,), leadership.at)
    return [*evidence(_reassigned_by(history, leadership)), *evidence(failed.values(), inferred=True)]


def _reason(history: PartitionHistory, brokers: Brokers, before: Leadership, leadership: Leadership) -> str | None:
    """Reason for a leader move, None if unknown."""
    departure = brokers.last_departure(before.leader, leadership.at + MOMENT_US, leadership.at - TAKEN_OVER_US)
    if departure is not None and before.at <= (departure.down_at or 0) + MOMENT_US:
        return f"broker {before.leader} {'was stopped' if departure.is_controlled else 'was lost'}"
    if brokers.was_leaving(before.leader, leadership.at - TAKEN_OVER_US, leadership.at):
        return f"broker {before.leader} was stopped"
    if brokers.absent_at(before.leader, leadership.at) is not None:
        return f"broker {before.leader} was lost"
    if _reassigned_by(history, leadership):
        return "reassignment finished"
    if any(0 <= leadership.at - at <= TAKEN_OVER_US for at in history.preferred):
        return "preferred replica elected"
    if dir_failures(brokers, (before.leader,), leadership.at):
        return f"a log directory of broker {before.leader} failed"
    if history.replicas and history.replicas[0] == leadership.leader:
        return "preferred replica elected"
    return None


# -- brokers -------------------------------------------------------------------------------------------------


def broker_outage(cluster: str, absence: BrokerAbsence) -> BrokerOutage:
    """Row of a broker's outage."""
    key = ("down", absence.down_at) if absence.down_at is not None else ("up", absence.up_at)
    down_at, up_at = in_order(begin_of(absence.down_at, absence.up_at), absence.up_at)
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
