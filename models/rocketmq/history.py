"""A cluster's RocketMQ groups as rows: changes of shares, owners of queues, standing faults, episodes of rebalance."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from models.evidence import evidence
from models.ids import make_id
from models.rocketmq.causes import Judge, Verdict
from models.rocketmq.conditions import faults_of
from models.rocketmq.ownership import Window, lasting, windows_of
from models.rocketmq.runs import Run
from models.rocketmq.stage import Group, RocketStage
from models.rows import AllocationChange, Condition, Conformance, Person, QueueOwnership, Rebalance

SYSTEM = "rocketmq"
QUIET_US = 2_000_000
"""Changes of a topic's shares that follow each other within this time belong to one episode."""


@dataclass(slots=True)
class RocketHistory:
    """Rows of one cluster; attributes are named as their tables."""

    allocation_changes: list[AllocationChange] = field(default_factory=list)
    queue_ownership: list[QueueOwnership] = field(default_factory=list)
    conditions: list[Condition] = field(default_factory=list)
    rebalances: list[Rebalance] = field(default_factory=list)


def history_of(cluster: str, stage: RocketStage) -> RocketHistory:
    """Judge everything that a stage was fed with."""
    history = RocketHistory()
    for name, group in sorted(stage.groups().items()):
        _group_rows(cluster, name, group, stage, history)
    return history


def _group_rows(cluster: str, name: str, group: Group, stage: RocketStage, history: RocketHistory) -> None:
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
    windows = windows_of(group, stage.routes, stage.last_at)
    history.queue_ownership += [_ownership(cluster, name, each) for each in lasting(windows, stage.last_at)]
    for fault in faults_of(group, stage.last_at):
        history.conditions.append(
            Condition(
                cluster,
                SYSTEM,
                make_id("condition", cluster, name, fault.kind, fault.started_at),
                fault.kind,
                name,
                fault.members,
                fault.started_at,
                fault.ended_at,
                evidence(fault.evidence),
            )
        )
    by_topic: dict[str, list[Window]] = defaultdict(list)
    for window in windows:
        by_topic[window.topic].append(window)
    for topic in sorted(changes):
        history.rebalances += _episodes(cluster, name, topic, changes[topic], by_topic.get(topic, []))


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
    )


# -- episodes ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Episode:
    started_at: int
    reached_at: int
    rows: list[AllocationChange] = field(default_factory=list)


def _episodes(
    cluster: str, group: str, topic: str, changes: list[tuple[AllocationChange, Run]], windows: Iterable[Window]
) -> Iterable[Rebalance]:
    """Changes of one topic's shares, from the first until each queue has one owner again."""
    wrong = _merged([(each.started_at, each.ended_at) for each in windows if each.kind != "owned"])
    episodes: list[_Episode] = []
    for row, run in changes:
        begin, reached = run.asked_at, run.at
        for low, high in wrong:
            if low <= reached and (high is None or high >= begin):
                begin = min(begin, low)
                reached = max(reached, high) if high is not None else _OPEN
        if episodes and begin <= episodes[-1].reached_at + QUIET_US:
            last = episodes[-1]
            last.reached_at = max(last.reached_at, reached)
            last.rows.append(row)
        else:
            episodes.append(_Episode(begin, reached, [row]))
    doubled = [(each.started_at, each.ended_at) for each in windows if each.kind == "two_owners"]
    for number, episode in enumerate(episodes):
        yield _rebalance(cluster, group, topic, number, episode, doubled)


_OPEN = 1 << 62


def _merged(spans: Iterable[tuple[int, int | None]]) -> list[tuple[int, int | None]]:
    found: list[tuple[int, int | None]] = []
    for low, high in sorted(spans, key=lambda span: (span[0], span[1] if span[1] is not None else _OPEN)):
        if found and (found[-1][1] is None or low <= (found[-1][1] or 0)):
            reached = found[-1][1]
            found[-1] = (found[-1][0], None if reached is None or high is None else max(reached, high))
        else:
            found.append((low, high))
    return found


def _rebalance(cluster: str, group: str, topic: str, number: int, episode: _Episode, doubled: list[tuple[int, int | None]]) -> Rebalance:
    rows, first = episode.rows, episode.rows[0]
    ended = None if episode.reached_at >= _OPEN else episode.reached_at
    last = max(row.changed_at or 0 for row in rows)
    until = ended if ended is not None else last
    seconds = (until - episode.started_at) / 1e6
    offenders = {person.client_id: person for row in rows if row.cause == first.cause for person in row.offenders}
    twice = _merged([(max(low, episode.started_at), min(high if high is not None else until, until)) for low, high in doubled])
    return Rebalance(
        cluster=cluster,
        system=SYSTEM,
        rebalance_id=make_id("rebalance", cluster, group, topic, None, number),
        group=group,
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
        duration_seconds=seconds if ended is not None else None,
        at_least_seconds=seconds if ended is None else None,
        outcome="stable" if ended is not None else "open",
        cause=first.cause,
        root_cause=None,
        confidence=first.confidence,
        alternatives=first.alternatives,
        settled_by=None,
        offenders=[Person(None, who, None, None, person.reason, first=not index) for index, (who, person) in enumerate(offenders.items())],
        blockers=[],
        members_before=None,
        members_after=rows[-1].clients,
        member_seconds_stopped=None,
        partition_seconds_stopped=None,
        duplicate_window=sum((high or low) - low for low, high in twice if (high or low) > low) / 1e6,
        conformance=Conformance(0, 0),
        coordinator=None,
        trigger_text=None,
        evidence=[line for row in rows for line in row.evidence][:60],
        advice_id=None,
    )
