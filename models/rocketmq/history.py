"""A cluster's RocketMQ groups as rows: changes of shares, owners of queues, standing faults, episodes of rebalance."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from dataclasses import dataclass, field

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.incidents import Limits
from models.rocketmq.balance import unevenness
from models.rocketmq.causes import Judge, Verdict
from models.rocketmq.conditions import LINES_MAX, Fault, faults_of
from models.rocketmq.episodes import Harm, episodes_of
from models.rocketmq.incidents import incidents_of
from models.rocketmq.ownership import Window, has_owners, lasting, ownership_of
from models.rocketmq.runs import Run
from models.rocketmq.stage import Group, RocketStage
from models.rows import AllocationChange, Condition, Incident, Person, QueueOwnership, Rebalance

SYSTEM = "rocketmq"
RUNS_LOOKED_AT = 256


@dataclass(slots=True)
class RocketHistory:
    """Rows of one cluster; attributes are named as their tables."""

    allocation_changes: list[AllocationChange] = field(default_factory=list)
    queue_ownership: list[QueueOwnership] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)
    incidents: list[Incident] = field(default_factory=list)


def history_of(cluster: str, stage: RocketStage, limits: Limits | None = None) -> RocketHistory:
    """Judge everything that a stage was fed with."""
    history = RocketHistory()
    for name, group in sorted(stage.groups().items()):
        _group_rows(cluster, name, group, stage, history, limits or Limits())
    return history


def _group_rows(cluster: str, name: str, group: Group, stage: RocketStage, history: RocketHistory, limits: Limits) -> None:
    judge = Judge(group, stage.routes)
    judged = [(run, judge.judge(run)) for run in group.runs]
    changes: dict[str, list[tuple[AllocationChange, Run]]] = defaultdict(list)
    ordinals: Counter[tuple[str, str]] = Counter()
    for run, verdict in judged:
        key = (run.topic, run.life.client_id)
        row = _change(cluster, name, run, verdict, ordinals[key])
        ordinals[key] += 1
        changes[run.topic].append((row, run))
        history.allocation_changes.append(row)
    held = ownership_of(group, stage.routes, stage.last_at)
    windows = held.windows
    told = lasting(windows, stage.last_at)
    history.queue_ownership += [_ownership(cluster, name, each) for each in told]
    faults = faults_of(group, held.unseen, stage.last_at)
    for fault in unevenness(windows, [*group.lives, *held.unseen], stage.last_at):
        fault.evidence = _shares_before(group, fault)
        faults.append(fault)
    history.conditions += [_condition(cluster, name, fault) for fault in faults]
    by_topic: dict[str, list[Window]] = defaultdict(list)
    for window in windows:
        by_topic[window.topic].append(window)
    owned = has_owners(group)
    episodes: list[Rebalance] = []
    for topic in sorted(changes):
        episodes += episodes_of(cluster, topic, changes[topic], Harm(by_topic.get(topic, []), owned, group))
    history.rebalances += episodes
    history.incidents += incidents_of(episodes, told, faults, stage.last_at, limits)


def _shares_before(group: Group, fault: Fault) -> list[Event]:
    """Result lines from which an unevenness follows: those of the clients that it stands on, else the last ones."""
    until = bisect_right(group.runs, fault.started_at, key=lambda run: run.at)
    last = {(run.life.client_id, run.topic): run.result for run in group.runs[max(until - RUNS_LOOKED_AT, 0) : until]}
    mine = [line for (who, _), line in last.items() if who in fault.members]
    return (mine or [*last.values()])[-LINES_MAX:]


def _condition(cluster: str, group: str, fault: Fault) -> Condition:
    return Condition(
        cluster,
        SYSTEM,
        make_id("condition", cluster, group, fault.kind, fault.started_at),
        fault.kind,
        group,
        fault.members,
        fault.started_at,
        fault.ended_at,
        fault.detail,
        evidence(fault.evidence),
    )


def _change(cluster: str, group: str, run: Run, verdict: Verdict, ordinal: int) -> AllocationChange:
    own = run.topic
    return AllocationChange(
        cluster,
        SYSTEM,
        make_id("allocation_change", cluster, group, own, run.life.client_id, ordinal),
        group,
        own,
        run.life.client_id,
        run.at,
        verdict.cause,
        verdict.confidence,
        verdict.alternatives,
        [
            Person(None, who, None, None, deed or verdict.cause, first=not index)
            for index, (who, deed) in enumerate(verdict.offenders.items())
        ],
        verdict.trigger,
        run.added,
        run.removed,
        [each.queue for each in run.share],
        run.queues,
        run.clients,
        run.strategy,
        evidence([*verdict.evidence, *run.lines]),
    )


def _ownership(cluster: str, group: str, window: Window) -> QueueOwnership:
    return QueueOwnership(
        cluster,
        SYSTEM,
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
