"""Rebalances that only brokers witness.

Whoever comes or goes makes the others share out the queues anew.
Without any log of a group's clients their shares are unknown, and so is when each of them was done.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from models import weights
from models.evidence import evidence
from models.ids import make_id
from models.rocketmq.diagnosis.causes import Judge
from models.rocketmq.diagnosis.episodes import QUIET_US
from models.rocketmq.diagnosis.unlogged_clients import RECONNECT_US
from models.rocketmq.diagnosis.verdicts import Verdict
from models.rocketmq.observations.client_lists import ClientList, ListChange, ListChangeKind
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.rows import Conformance, Person, Rebalance
from models.units import US_PER_SECOND


def listed_episodes(cluster: str, group: RocketmqGroup, judge: Judge, boots: Mapping[str, Sequence[int]]) -> Iterator[Rebalance]:
    """Rebalances of a group without logs of its clients, by time.

    `boots` are starts of brokers by log.
    """
    client_list = max(group.lists.values(), key=lambda known: len(known.steps), default=None)
    if group.lives or group.is_broadcast or client_list is None:
        return
    for steps in _together(client_list.steps):
        verdict = _verdict(client_list, steps, judge, boots.get(client_list.broker, ()))
        yield _rebalance(cluster, group.name, steps, verdict, is_empty=_empties(steps, group, client_list.broker))


def _empties(steps: Sequence[ListChange], group: RocketmqGroup, broker: str) -> bool:
    """Whether a broker dropped the group as these clients went.

    No other broker may have any. Lines may have whole seconds.
    """
    emptied, first_at, until = group.emptied.get(broker, ()), steps[0].at - US_PER_SECOND, steps[-1].at + QUIET_US
    is_dropped = bisect_left(emptied, first_at) < bisect_right(emptied, until)
    return is_dropped and not any(known.versions[known.index_at(until)] for known in group.lists.values())


def _verdict(client_list: ClientList, steps: Sequence[ListChange], judge: Judge, boots: Sequence[int]) -> Verdict:
    lines = [step.line for step in steps if step.line is not None]
    restart = next((step for step in steps if step.how is ListChangeKind.RESTARTED), None)
    if restart is not None:
        is_stopping = restart.line is not None and restart.line.name == "RocketBrokerStopping"
        return Verdict("broker_down" if is_stopping else "broker_up", weights.SERVER_STATES.value, evidence=lines)
    came, went = _moved(steps)
    verdict = judge.members(steps[-1].at, came, went, client_list)
    is_booting = any(0 <= steps[0].at - booted_at <= RECONNECT_US for booted_at in boots)
    if verdict.cause == "consumer_start" and is_booting:
        share = weights.START_AS_BROKER_BOOTS.value
        return replace(verdict, confidence=share, alternatives={"broker_up": round(1 - share, 3)})
    return verdict


def _together(steps: Iterable[ListChange]) -> Iterator[list[ListChange]]:
    """Changes that follow each other closely."""
    part: list[ListChange] = []
    for step in steps:
        if part and step.at - part[-1].at > QUIET_US:
            yield part
            part = []
        part.append(step)
    if part:
        yield part


def _moved(steps: Sequence[ListChange]) -> tuple[set[str], set[str]]:
    """Clients that came, and that went.

    A list that begins in the middle of a broker's life lacks clients, so its versions don't tell who went.
    """
    last = {step.who: step.how for step in steps}
    came = {who for who, how in last.items() if how is ListChangeKind.CONNECTED}
    return came, last.keys() - came


def _rebalance(cluster: str, group: str, steps: Sequence[ListChange], verdict: Verdict, *, is_empty: bool) -> Rebalance:
    began, until = steps[0].at, steps[-1].at
    return Rebalance(
        cluster=cluster,
        system="rocketmq",
        rebalance_id=make_id("rebalance", cluster, group, None, None, began),
        group=group,
        topic=None,
        protocol="rocketmq",
        protocol_type=None,
        assignor=None,
        generation_before=None,
        generation_after=None,
        started_at=began,
        joined_at=None,
        ended_at=until,
        initial_delay_seconds=None,
        join_seconds=None,
        sync_seconds=None,
        reconcile_seconds=None,
        duration_seconds=None,
        at_least_seconds=(until - began) / US_PER_SECOND,
        outcome="empty" if is_empty else "stable",
        cause=verdict.cause,
        root_cause=None,
        confidence=verdict.confidence,
        alternatives=verdict.alternatives,
        settled_by="rocketmq_client.log of the group's consumers",
        offenders=[Person(None, who, None, None, reason, first=not index) for index, (who, reason) in enumerate(verdict.offenders.items())],
        blockers=[],
        members_before=None,
        members_after=0 if is_empty else None,
        member_seconds_stopped=None,
        partition_seconds_stopped=None,
        duplicate_window=None,
        conformance=Conformance(0, 0),
        coordinator=None,
        trigger_text=None,
        evidence=evidence(verdict.evidence),
        advice_id=None,
    )
