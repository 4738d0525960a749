"""Episodes of rebalance, with their harm.

An episode covers changes of one topic's shares, from the first until each queue has one owner again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from models.ids import make_id
from models.rocketmq.diagnosis.ownership import OwnershipWindow
from models.rocketmq.object_text import names_in_short
from models.rocketmq.observations.allocation_runs import AllocationRun, TopicLines
from models.rocketmq.observations.client_processes import last_of
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.rocketmq.time_ranges import Spans, TimeRange
from models.rocketmq.timing import ASSIGNED_APART_US
from models.rows import AllocationChange, Conformance, Person, Rebalance
from models.tolerances import int_tolerance
from models.units import FOREVER, SURE, US_PER_SECOND

QUIET_US = int_tolerance("rocketmq.episodes.quiet_us")
"""Maximum gap between changes of one episode."""

COMMIT_US = int_tolerance("rocketmq.episodes.commit_us")
"""Interval at which clients report offsets.

Messages read by a dead client since its last report are delivered again.
"""

EVIDENCE_MAX = 60

ABRUPT = frozenset({"consumer_crash", "channel_expired", "connection_lost"})
"""Departures in which a client can't report its offsets."""


@dataclass(slots=True)
class _Episode:
    started_at: int
    reached_at: int
    rows: list[AllocationChange] = field(default_factory=list)


@dataclass(slots=True)
class ConsumptionImpact:
    """Effects of one topic's windows on consumption.

    `is_owned` is False if queues have no single owner by design.
    """

    windows: list[OwnershipWindow]
    is_owned: bool
    group: RocketmqGroup
    lines: TopicLines
    wrong: Spans = field(init=False)
    doubled: Spans = field(init=False)
    by_queue: list[Spans] = field(init=False)

    def __post_init__(self) -> None:
        self.wrong = Spans((window.started_at, window.ended_at) for window in self.windows if window.kind != "owned")
        self.doubled = Spans((window.started_at, window.ended_at) for window in self.windows if window.kind == "two_owners")
        queues: dict[str, list[TimeRange]] = {}
        for window in self.windows:
            if window.kind == "no_owner":
                queues.setdefault(window.queue, []).append((window.started_at, window.ended_at))
        self.by_queue = [Spans(spans) for _, spans in sorted(queues.items())]

    def paused(self, begin: int, end: int) -> list[float]:
        """Seconds without an owner, for each affected queue."""
        return [seconds for spans in self.by_queue if (seconds := spans.seconds(begin, end))]

    def again(self, rows: Sequence[AllocationChange]) -> float:
        """Seconds of messages that dead clients had read but not reported."""
        lost: dict[str, float] = {}
        for row in rows:
            for person in row.offenders:
                if person.reason in ABRUPT and person.client_id:
                    lost[person.client_id] = max(lost.get(person.client_id, 0.0), self._unreported(person.client_id))
        return max(lost.values(), default=0.0)

    def _unreported(self, client_id: str) -> float:
        life = next((process for process in reversed(self.group.lives_of(client_id)) if process.lost_at is not None), None)
        if life is None or life.lost_at is None:
            return COMMIT_US / US_PER_SECOND
        for at, event in reversed(self.lines.by_life.get(life, ())):
            if event.name == "RocketOffsetSent" and at <= life.lost_at:
                return min(max(life.lost_at - last_of(event, at), 0), COMMIT_US) / US_PER_SECOND
        return COMMIT_US / US_PER_SECOND


def episodes_of(
    cluster: str, topic: str, changes: Sequence[tuple[AllocationChange, AllocationRun]], harm: ConsumptionImpact, logs_end: int = 0
) -> Iterable[Rebalance]:
    """Episodes of one topic of a group; `changes` must be in order.

    One that is open lasts at least until the logs end.
    """
    episodes: list[_Episode] = []
    for row, run in changes:
        begin, reached = harm.wrong.touching(run.asked_at, run.at)
        if episodes and begin <= episodes[-1].reached_at + _gap(episodes[-1].rows[-1], row, run):
            last = episodes[-1]
            last.reached_at = max(last.reached_at, reached)
            last.rows.append(row)
        else:
            episodes.append(_Episode(begin, reached, [row]))
    for episode in episodes:
        yield _rebalance(cluster, topic, episode, harm, logs_end)


def _gap(last: AllocationChange, row: AllocationChange, run: AllocationRun) -> int:
    """Maximum time between two changes of one episode.

    Clients of proxies ask for themselves, so the same cause reaches each at another time.
    """
    together = run.is_assigned and row.cause == last.cause and row.cause != "consumer_start"
    return ASSIGNED_APART_US if together else QUIET_US


def _rebalance(cluster: str, topic: str, episode: _Episode, harm: ConsumptionImpact, logs_end: int) -> Rebalance:
    rows, first = episode.rows, episode.rows[0]
    ended = None if episode.reached_at >= FOREVER else episode.reached_at
    until = ended if ended is not None else max(row.changed_at or 0 for row in rows)
    pauses = harm.paused(episode.started_at, until)
    twice = round(harm.doubled.seconds(episode.started_at, until) + harm.again(rows), 6)
    offenders = {person.client_id: person.reason for row in rows if row.cause == first.cause for person in row.offenders}
    silent = sorted(who for who in offenders if who and not harm.group.has_file(who))
    return Rebalance(
        cluster=cluster,
        system="rocketmq",
        rebalance_id=make_id("rebalance", cluster, first.group, topic, None, episode.started_at),
        group=first.group,
        topic=topic,
        protocol="rocketmq",
        protocol_type=None,
        assignor=first.strategy,
        generation_before=None,
        generation_after=None,
        started_at=episode.started_at,
        joined_at=None,
        ended_at=ended,
        initial_delay_seconds=None,
        join_seconds=None,
        sync_seconds=None,
        reconcile_seconds=None,
        duration_seconds=(until - episode.started_at) / US_PER_SECOND if ended is not None else None,
        at_least_seconds=(max(until, logs_end) - episode.started_at) / US_PER_SECOND if ended is None else None,
        outcome="stable" if ended is not None else "open",
        cause=first.cause,
        root_cause=None,
        confidence=first.confidence,
        alternatives=first.alternatives,
        settled_by=f"rocketmq_client.log of {names_in_short(silent)}" if silent and first.confidence < SURE else None,
        offenders=[Person(None, who, None, None, reason, first=not index) for index, (who, reason) in enumerate(offenders.items())],
        blockers=[],
        members_before=None,
        members_after=rows[-1].clients,
        member_seconds_stopped=None,
        partition_seconds_stopped=round(sum(pauses), 6) if harm.is_owned else None,
        duplicate_window=twice if harm.is_owned else None,
        conformance=Conformance(0, 0),
        coordinator=None,
        trigger_text=None,
        evidence=[line for row in rows for line in row.evidence][:EVIDENCE_MAX],
        advice_id=None,
        pause_seconds=max(pauses, default=0.0) if harm.is_owned else None,
        backlog_seconds=round(max(pauses, default=0.0) + twice, 6) if harm.is_owned else None,
    )
