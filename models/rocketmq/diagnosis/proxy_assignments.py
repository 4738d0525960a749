"""Causes of assignments that a proxy changed, for gRPC clients.

A proxy derives assignments from the topic's route and from the group's order alone (RouteActivity.java, queryAssignment): each
client gets all queues of a group in order, else one queue (-1) that stands for all of a broker. Other clients play no part.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from models import weights
from models.events import Event
from models.rocketmq.diagnosis.verdicts import Verdict
from models.rocketmq.object_text import configured_in
from models.rocketmq.observations.allocation_runs import AllocationRun
from models.rocketmq.observations.topic_routes import Routes
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.rocketmq.timing import ASSIGNED_APART_US, ASSIGNMENT_US, CONSUMER_START_US

STATED = weights.SERVER_STATES.value
"""Confidence in what a server's line states."""

FORCED = weights.PROXY_IS_FORCED.value
"""Confidence in the only thing that makes a proxy assign so.

Source: RouteActivity.java; no server's line is there.
"""

OPEN = weights.COMMONER_OF_TWO.value
"""Confidence in the more frequent of two causes that look alike."""

WHOLE_BROKER = ":-1"
"""End of a queue's name that stands for all of a broker."""

_UP = frozenset({"RocketBrokerStarted", "RocketBrokerRegistered"})
_DOWN = frozenset({"RocketBrokerLost", "RocketBrokerStopping"})
_TOPIC = frozenset({"RocketTopicRouted", "RocketTopicAdministered"})
_EVIDENCE_MAX = 4


class AssignmentJudge:
    """Ranks causes for the assignments of one group's clients."""

    def __init__(self, group: RocketmqGroup, routes: Routes) -> None:
        self._group = group
        self._routes = routes

    def verdict(self, run: AllocationRun, before: AllocationRun | None) -> Verdict:
        """Cause of one assignment; `before` is the client's last one."""
        if before is None:
            return self._first(run)
        was, now = {text.queue for text in before.share}, {text.queue for text in run.share}
        gone, come = _brokers(was) - _brokers(now), _brokers(now) - _brokers(was)
        if was and not now:
            return self._nothing_left(run, gone)
        if now and was and not gone and not come:
            return self._same_brokers(run, before.at, was, now)
        return self._brokers_changed(run, "broker_down" if gone else "broker_up", gone or come)

    def _first(self, run: AllocationRun) -> Verdict:
        client_id = run.life.client_id
        if run.at <= run.life.ran_at + CONSUMER_START_US:
            return Verdict("consumer_start", STATED, {client_id: "consumer_start"})
        if run.share and run.removed:
            return Verdict("unknown", OPEN)  # the log begins after the client's start
        others = {"topic_route_appeared": round(1 - OPEN, 2)}
        return Verdict("subscription_change", OPEN, {client_id: "subscription_change"}, alternatives=others)

    def _same_brokers(self, run: AllocationRun, since: int, was: set[str], now: set[str]) -> Verdict:
        if _is_whole(was) != _is_whole(now):
            lines = [event for event in self._near(run.at, {"RocketGroupAdministered"}) if event.group == self._group.name]
            return Verdict("message_request_mode", STATED if lines else FORCED, evidence=lines[-_EVIDENCE_MAX:])
        lines = [event for at, event in self._timed(run.at) if at >= since - ASSIGNED_APART_US and _reads(event, run.topic) is not None]
        return Verdict("queue_count_change", STATED if lines else FORCED, evidence=lines[-_EVIDENCE_MAX:])

    def _brokers_changed(self, run: AllocationRun, cause: str, brokers: set[str]) -> Verdict:
        """A broker that came or went, or the topic's queues on it."""
        lines = self._about(run.at, _DOWN if cause == "broker_down" else _UP, brokers)
        if lines:
            return Verdict(cause, STATED, evidence=lines)
        comes = cause == "broker_up"
        lines = [
            event for _, event in self._timed(run.at) if _reads(event, run.topic) is comes and self._routes.broker_of(event) in brokers
        ]
        if lines:
            others = {cause: round(1 - STATED, 2)}
            return Verdict("queue_count_change", STATED, alternatives=others, evidence=lines[-_EVIDENCE_MAX:])
        return Verdict(cause, FORCED, alternatives={"queue_count_change": round(1 - FORCED, 2)})

    def _nothing_left(self, run: AllocationRun, brokers: set[str]) -> Verdict:
        lines = self._about(run.at, _DOWN, brokers)
        if lines:
            return Verdict("broker_down", STATED, evidence=lines)
        lost = self._group.trouble.stretches.get(("proxy_unreachable", run.life.client_id), ())
        known = [stretch.first for stretch in lost if stretch.began_at <= run.at <= stretch.last_at + ASSIGNMENT_US]
        others = {"queue_count_change": round(1 - OPEN, 2)}
        if known:
            offenders = {run.life.client_id: "connection_lost"}
            return Verdict(
                "connection_lost", OPEN, offenders, alternatives={"broker_down": round(1 - OPEN, 2)}, evidence=known[-_EVIDENCE_MAX:]
            )
        return Verdict("broker_down", OPEN, alternatives=others)

    def _about(self, at: int, names: frozenset[str], brokers: set[str]) -> list[Event]:
        """Servers' lines that a broker came or went."""
        return [event for event in self._near(at, names) if self._routes.broker_of(event) in brokers][-_EVIDENCE_MAX:]

    def _near(self, at: int, names: Iterable[str]) -> list[Event]:
        return [event for _, event in self._timed(at) if event.name in names]

    def _timed(self, at: int) -> list[tuple[int, Event]]:
        """Servers' lines whose effect may reach a client at a time."""
        lines = self._routes.lines
        return lines[bisect_left(lines, at - ASSIGNMENT_US, key=_time) : bisect_right(lines, at, key=_time)]


def _reads(event: Event, topic: str) -> bool | None:
    """Whether a topic can be read after a server's line about it.

    None for other lines.
    """
    if event.name == "RocketTopicConfigured":
        named, reads = configured_in(str(event.fields.get("after")))
        return reads != 0 if named == topic else None
    if event.name in _TOPIC and event.topic == topic:
        return not event.fields.get("deleted")
    return None


def _time(item: tuple[int, Event]) -> int:
    return item[0]


def _brokers(queues: Iterable[str]) -> set[str]:
    return {queue.rpartition(":")[0] for queue in queues}


def _is_whole(queues: Iterable[str]) -> bool:
    return all(queue.endswith(WHOLE_BROKER) for queue in queues)
