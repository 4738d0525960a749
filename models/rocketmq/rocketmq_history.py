"""Rows of a cluster's RocketMQ groups.

Changes of shares, owners of queues, standing faults, episodes and incidents.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from models.evidence import evidence
from models.ids import make_id
from models.incidents.fault_facts import FaultFacts
from models.incidents.headline_facts import HeadlineFacts
from models.incidents.incidents import Limits
from models.rocketmq.diagnosis.balance import Balance
from models.rocketmq.diagnosis.causes import Judge
from models.rocketmq.diagnosis.client_faults import client_faults
from models.rocketmq.diagnosis.episodes import ConsumptionImpact, episodes_of
from models.rocketmq.diagnosis.fault_incidents import fault_incident, faults_alone
from models.rocketmq.diagnosis.listed_episodes import listed_episodes
from models.rocketmq.diagnosis.orderly_pauses import orderly_pauses
from models.rocketmq.diagnosis.ownership import GroupOwnership, OwnershipWindow, has_owners, long_windows
from models.rocketmq.diagnosis.popping import pop_faults
from models.rocketmq.diagnosis.rocketmq_incidents import incidents_of
from models.rocketmq.diagnosis.server_incidents import server_incidents
from models.rocketmq.diagnosis.standing_faults import StandingFault, faults_of
from models.rocketmq.diagnosis.verdicts import Verdict
from models.rocketmq.event_partitions import Parts
from models.rocketmq.observations.allocation_runs import AllocationRun, TopicLines
from models.rocketmq.observations.topic_routes import QUEUES_MAX, QueueCountExcess
from models.rocketmq.rocketmq_stage import RocketmqGroup, RocketStage
from models.rows import ROCKETMQ, AllocationChange, Condition, Divergence, Incident, Person, QueueOwnership, Rebalance


@dataclass(slots=True)
class RocketHistory:
    """Rows of one topic of a group, or of a group.

    Attributes have the names of the tables.
    """

    allocation_changes: list[AllocationChange] = field(default_factory=list)
    queue_ownership: list[QueueOwnership] = field(default_factory=list)
    conditions: list[Condition[FaultFacts]] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    incidents: list[Incident[HeadlineFacts]] = field(default_factory=list)
    divergences: list[Divergence] = field(default_factory=list)


def history_of_groups(cluster: str, parts: Parts, until: int = 0, limits: Limits | None = None) -> Iterator[RocketHistory]:
    """Rows of all groups: first by topic, then group-wide.

    `until` is the end of the servers' files.
    """
    for _, rows in histories_of(cluster, parts, until, limits):
        yield from rows


def histories_of(cluster: str, parts: Parts, until: int = 0, limits: Limits | None = None) -> Iterator[tuple[str, Iterator[RocketHistory]]]:
    """As `history_of_groups`, by group, so that an error concerns one group only."""
    stage = RocketStage(parts, until)
    groups = stage.groups()
    excesses = [_excess(cluster, excess) for excess in stage.routes.beyond.values()]
    changes = (change for known in stage.masters.changes.values() for change in known)
    alone = [] if groups else [*server_incidents(cluster, stage.routes.lines, changes, stage.last_at)]
    if excesses or alone:
        yield "", iter([RocketHistory(divergences=excesses, incidents=[*alone])])
    for name, group in sorted(groups.items()):
        yield name, _rows_of(cluster, group, stage, limits or Limits())


def _rows_of(cluster: str, group: RocketmqGroup, stage: RocketStage, limits: Limits) -> Iterator[RocketHistory]:
    yield from _GroupHistory(cluster, group, stage).rows(limits)


class _GroupHistory:
    """Processes one group and keeps what its group-wide rows depend on."""

    def __init__(self, cluster: str, group: RocketmqGroup, stage: RocketStage) -> None:
        self.cluster = cluster
        self.group = group
        self.stage = stage
        self.judge = Judge(group, stage.routes)
        self.owned = has_owners(group)
        self.ownership = GroupOwnership(group, stage.routes, stage.last_at, tells_moves=stage.tells_moves)
        self.balance = Balance(stage.last_at)
        self.episodes: list[Rebalance] = []
        self.wrong: list[OwnershipWindow] = []

    def rows(self, limits: Limits) -> Iterator[RocketHistory]:
        for topic in sorted({*self.stage.topics_of(self.group), *self.ownership.topics}):
            yield self._topic_rows(self.stage.lines(self.group, topic))
        listed = [*listed_episodes(self.cluster, self.group, self.judge, self.stage.boots)]
        self.episodes += [replace(row, evidence=[]) for row in listed]
        end = self.stage.last_at
        faults = faults_of(self.group, self.ownership.unlogged_processes, end)
        faults += self.balance.faults([*self.group.lives, *self.ownership.unlogged_processes])
        faults += pop_faults(self.group, end)
        faults += client_faults(self.group, end)
        faults += orderly_pauses(self.group, (change for known in self.stage.masters.changes.values() for change in known), end)
        conditions = [_condition(self.cluster, self.group.name, fault) for fault in faults]
        incidents = [*incidents_of(self.episodes, self.wrong, faults, end, limits)]
        incidents += [fault_incident(self.cluster, self.group.name, fault) for fault in faults_alone(faults, incidents, end)]
        yield RocketHistory(conditions=conditions, rebalances=listed, incidents=[*incidents])

    def _topic_rows(self, lines: TopicLines) -> RocketHistory:
        cluster, name, end = self.cluster, self.group.name, self.stage.last_at
        ordinals: Counter[str] = Counter()
        changes: list[tuple[AllocationChange, AllocationRun]] = []
        for run, verdict in self.judge.runs_with_verdicts(lines.runs):
            changes.append((_change(cluster, name, run, verdict, ordinals[run.life.client_id]), run))
            ordinals[run.life.client_id] += 1
        windows = self.ownership.windows(lines)
        self.balance.add(lines.topic, windows, lines.runs)
        lasting_windows = long_windows(windows, end)
        self.wrong += [window for window in lasting_windows if window.kind != "owned"]
        episodes = [
            *episodes_of(cluster, lines.topic, changes, ConsumptionImpact(windows, self.owned, self.group, lines), self.stage.last_at)
        ]
        self.episodes += [replace(row, evidence=[]) for row in episodes]
        return RocketHistory(
            [row for row, _ in changes], [_ownership(cluster, name, window) for window in lasting_windows], rebalances=episodes
        )


def _excess(cluster: str, excess: QueueCountExcess) -> Divergence:
    return Divergence(
        cluster,
        ROCKETMQ,
        make_id("queues", cluster, excess.topic, excess.broker),
        None,
        excess.at,
        f"at most {QUEUES_MAX:,} queues of a topic on one broker",
        f"{excess.queues:,} of {excess.topic}; what was said of them is left out",
        evidence([excess.event]),
    )


def _condition(cluster: str, group: str, fault: StandingFault) -> Condition[FaultFacts]:
    return Condition(
        cluster,
        ROCKETMQ,
        make_id("condition", cluster, group, fault.kind, fault.started_at),
        fault.kind,
        group,
        fault.members,
        fault.started_at,
        fault.ended_at,
        fault.facts,
        evidence(fault.evidence),
    )


def _change(cluster: str, group: str, run: AllocationRun, verdict: Verdict, ordinal: int) -> AllocationChange:
    topic = run.topic
    return AllocationChange(
        cluster,
        ROCKETMQ,
        make_id("allocation_change", cluster, group, topic, run.life.client_id, ordinal),
        group,
        topic,
        run.life.client_id,
        run.at,
        verdict.cause,
        verdict.confidence,
        verdict.alternatives,
        [
            Person(None, who, None, None, cause or verdict.cause, first=not index)
            for index, (who, cause) in enumerate(verdict.offenders.items())
        ],
        verdict.trigger,
        run.added,
        run.removed,
        [text.queue for text in run.share],
        run.queues,
        run.clients,
        run.strategy,
        evidence([*verdict.evidence, *run.lines]),
    )


def _ownership(cluster: str, group: str, window: OwnershipWindow) -> QueueOwnership:
    return QueueOwnership(
        cluster,
        ROCKETMQ,
        make_id("queue_ownership", cluster, group, window.topic, window.queue, window.kind, window.started_at),
        group,
        window.topic,
        window.queue,
        window.kind,
        list(window.owners),
        window.started_at,
        window.ended_at,
        window.confidence,
        window.inferred,
    )
