"""Why partitions lost their leaders, and how each vacancy ended.

A vacancy is the time between two leaderships. What dates it, who was down and which replicas were in sync decide its
cause; the next leader decides how it ended.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from models.events import Event
from models.kafka.partitions.brokers import BrokerAbsence, Brokers
from models.kafka.partitions.event_fields import nodes_field
from models.kafka.partitions.partition_history import MOMENT_US, NO_LEADER, Leadership, LeadershipSource, Nodes, PartitionHistory
from models.kafka.partitions.partition_stage import PartitionStage
from models.tolerances import int_tolerance

TAKEN_OVER_US = int_tolerance("kafka.leader_loss.taken_over_us")
"""Maximum time from a departure to the leader change it causes."""


class Vacancy(NamedTuple):
    """A time without a leader, with the leaderships around it."""

    before: Leadership | None
    leaderless: list[Leadership]
    after: Leadership | None


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaderLoss:
    """Cause and end of a vacancy, with what they rest on.

    Microseconds; `ended_at` is None while the vacancy lasts.
    """

    began_at: int
    has_begun_unseen: bool
    """Whether it began unseen; then `began_at` is its last moment."""
    ended_at: int | None
    cause: str
    ended_by: str
    leader: str | None
    """The leader that was lost."""
    replicas: Nodes
    isr: Nodes
    """In-sync replicas when the leader was lost."""
    absences: list[BrokerAbsence]
    """Brokers that were down when the leader was lost."""
    dir_failures: list[Event]
    """Failed directories, if they are the cause."""
    quorum_losses: list[Event]
    """Lines of controllers without a quorum, if that is the cause."""

    @property
    def lost_brokers(self) -> list[str]:
        """Brokers that were down, and voters missing from the quorum."""
        return list(dict.fromkeys((*(absence.node for absence in self.absences), *_silent_voters(self.quorum_losses))))


# -- vacancies -----------------------------------------------------------------------------------------------


def vacancies(leaderships: Sequence[Leadership]) -> Iterator[Vacancy]:
    """Times without a leader, from consecutive leaderships."""
    before: Leadership | None = None
    leaderless: list[Leadership] = []
    for leadership in leaderships:
        if leadership.leader == NO_LEADER:
            leaderless.append(leadership)
            continue
        if leaderless and not _is_momentary(leaderless, leadership) and not _is_unsure(leaderless, leadership):
            yield Vacancy(before, leaderless, leadership)
        elif before is not None and not leaderless and _is_unclean_move(before, leadership):
            yield Vacancy(before, [_moment_without_leader(leadership)], leadership)
        before, leaderless = leadership, []
    if leaderless:
        yield Vacancy(before, leaderless, None)


def _is_unclean_move(before: Leadership, after: Leadership) -> bool:
    """Whether a leader was replaced at once by one that was not in sync.

    Where the replicas move with the leader, as with storage that brokers share, it lacks nothing.
    """
    stays = all(before.leader in (nodes_field(event, "replicas") or (before.leader,)) for event in after.events)
    return after.is_unclean and after.leader != before.leader and stays


def _moment_without_leader(after: Leadership) -> Leadership:
    """The vacancy of no length before an unclean leader."""
    isr = next((isr for event in after.events if (isr := nodes_field(event, "isr_before"))), None)
    return replace(after, leader=NO_LEADER, isr=isr, events=[])


def _is_momentary(leaderless: list[Leadership], after: Leadership) -> bool:
    """Whether a guessed vacancy is shorter than MOMENT_US, so only a move."""
    return all(leadership.is_guessed for leadership in leaderless) and after.at - leaderless[0].at < MOMENT_US


def _is_unsure(leaderless: list[Leadership], after: Leadership) -> bool:
    """Whether only the new leader's own line shows the vacancy.

    A controller's line counts, though the vacancy then began before the logs. An unclean leader counts, since records may
    be lost.
    """
    is_decided = any(leadership.source is LeadershipSource.DECIDED for leadership in leaderless)
    return not after.is_unclean and not is_decided and begins_unseen(leaderless, after)


def begins_unseen(leaderless: list[Leadership], after: Leadership | None) -> bool:
    """Whether no line shows when a vacancy began, only that it ended."""
    return after is not None and all(not leadership.has_time and leadership.at >= after.at for leadership in leaderless)


# -- one vacancy ---------------------------------------------------------------------------------------------


def leader_loss(history: PartitionHistory, stage: PartitionStage, vacancy: Vacancy) -> LeaderLoss:
    """Find out why and when a partition lost its leader, and how that ended."""
    before, leaderless, after = vacancy
    brokers = stage.brokers
    began_at, departure = _began(history, brokers, before, leaderless[0])
    ended_at = _ended(brokers, began_at, after)
    leader = before.leader if before is not None else None
    isr = _isr_at(history, before, leaderless, began_at)
    absences = _absences(brokers, history, isr, leader, began_at, departure)
    replicas = tuple(dict.fromkeys((*(history.candidates or isr), *_dropped_as_they_went(history, brokers, began_at))))
    cause = _cause_by_brokers(replicas, isr, absences, brokers, began_at)
    failed = dir_failures(brokers, {*isr, *filter(None, (leader,))}, began_at)
    if cause == "unknown" and _has_leader_lost_its_dir(failed, leader, isr, absences):
        cause = "log_dir_failed"
    # With a quorum, a replica in sync could have been elected.
    quorum_losses = stage.controllers.missing(began_at, ended_at) if cause == "unknown" and isr else []
    return LeaderLoss(
        began_at=began_at,
        has_begun_unseen=departure is None and begins_unseen(leaderless, after),
        ended_at=ended_at,
        cause="no_controller" if quorum_losses else cause,
        ended_by=_ended_by(replicas, isr, leader, after),
        leader=leader,
        replicas=replicas,
        isr=isr,
        absences=absences,
        dir_failures=[*failed.values()] if cause == "log_dir_failed" else [],
        quorum_losses=quorum_losses,
    )


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


def _ended(brokers: Brokers, began_at: int, after: Leadership | None) -> int | None:
    """Time of the new leader's election, None if there is none.

    If only its own broker reports it, the controller elected it at the broker's return. Epochs order lines of several
    clocks, so the time is at least `began_at`.
    """
    if after is None:
        return None
    returned = None if after.has_time else brokers.last_return(after.leader, began_at, after.at)
    return max(began_at, after.at if returned is None else returned)


def _isr_at(history: PartitionHistory, before: Leadership | None, leaderless: list[Leadership], at: int) -> Nodes:
    """The in-sync replicas when the leader was lost."""
    isr = next((leadership.isr for leadership in leaderless if leadership.isr and leadership.source is not LeadershipSource.SEEN), None)
    if isr:
        return isr
    known = [change.isr for change in history.isr_changes if change.at <= at and change.isr]
    if known:
        return known[-1]
    seen = next((leadership.isr for leadership in leaderless if leadership.isr), None)
    return (
        seen or (before.isr if before is not None and before.isr else None) or (history.candidates if len(history.candidates) == 1 else ())
    )


def _dropped_as_they_went(history: PartitionHistory, brokers: Brokers, at: int) -> Iterator[str]:
    """Brokers with which the in-sync replicas shrank.

    Where no line lists the replicas, these were among them.
    """
    if history.replicas:
        return
    for change in history.isr_changes:
        for node, absences in sorted(brokers.absences.items()):
            went = any(absence.down_at is not None and 0 <= change.at - absence.down_at <= MOMENT_US for absence in absences)
            if change.at <= at and went and node not in change.isr:
                yield node


def _absences(
    brokers: Brokers, history: PartitionHistory, isr: Nodes, leader: str | None, at: int, departure: BrokerAbsence | None
) -> list[BrokerAbsence]:
    """Brokers that were down when the leader was lost.

    Members of the ISR, or otherwise the last leader.
    """
    nodes = dict.fromkeys((*isr, *(() if leader is None else (leader,)))) or history.candidates
    absences = [absence for node in nodes if (absence := brokers.gone_at(node, at + MOMENT_US)) is not None]
    if departure is not None and all(absence.node != departure.node for absence in absences):
        absences.append(departure)
    if not nodes and not absences:  # no line names the replicas: who has just gone was one of them
        absences = [absence for absence in brokers.all() if absence.down_at is not None and 0 <= at - absence.down_at <= TAKEN_OVER_US]
    return absences


def _cause_by_brokers(replicas: Nodes, isr: Nodes, absences: list[BrokerAbsence], brokers: Brokers, at: int) -> str:
    if not absences:
        return "unknown"
    if len(replicas) == 1:
        return "controlled_shutdown_single_replica" if absences[0].is_controlled else "broker_down_single_replica"
    if not replicas or any(brokers.gone_at(node, at + MOMENT_US) is None for node in isr):
        return "unknown"  # a replica could have been elected
    return "all_replicas_down" if all(brokers.gone_at(node, at + MOMENT_US) is not None for node in replicas) else "isr_lost"


def dir_failures(brokers: Brokers, nodes: Iterable[str], at: int) -> dict[str, Event]:
    """Brokers that stayed up with a failed directory, and its first line."""
    failures = {node: brokers.dir_failures(node, at - TAKEN_OVER_US, at + MOMENT_US) for node in sorted(nodes)}
    return {node: lines[0] for node, lines in failures.items() if lines and brokers.gone_at(node, at + MOMENT_US) is None}


def _has_leader_lost_its_dir(failed: Container[str], leader: str | None, isr: Nodes, absences: Iterable[BrokerAbsence]) -> bool:
    """Whether failed directories took the leader and every in-sync replica."""
    gone = {absence.node for absence in absences}
    led = isr if leader is None else (leader,)
    return any(node in failed for node in led) and all(node in failed or node in gone for node in isr)


def _silent_voters(quorum_losses: Iterable[Event]) -> Iterator[str]:
    """Voters without which there was no quorum."""
    for event in quorum_losses:
        heard = {*(nodes_field(event, "heard") or ()), *filter(None, (event.node,))}
        yield from (voter for voter in nodes_field(event, "voters") or () if voter not in heard)
        yield from nodes_field(event, "silent") or ()


def _ended_by(replicas: Nodes, isr: Nodes, leader: str | None, after: Leadership | None) -> str:
    if after is None:
        return "open"
    if leader is None and after.is_unclean:
        return "unclean_election"
    if after.leader == (leader if leader is not None else isr[0] if len(isr) == 1 else None):
        return "replica_returned"
    if after.leader in isr:
        return "isr_election"
    if replicas and after.leader not in replicas:
        return "reassigned"
    if is_from_elr(after):
        return "isr_election"
    return "unclean_election" if isr or after.is_unclean else "isr_election"


def is_from_elr(leadership: Leadership) -> bool:
    """Whether a leader came from the ELR, which holds all that is committed."""
    return any(event.fields.get("election") == "ELR" for event in leadership.events)
