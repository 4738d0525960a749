"""Lines of remoting clients about faults: failing listeners, missing locks, lost routes.

Catalogue entries name the fault of a line (`fault`). Many of these lines name no group, for they are of the whole
process, or of a queue; they belong to the groups whose consumers run in it and read that topic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from models.events import Event
from models.rocketmq.object_text import DEFAULT_TOPIC, RETRY
from models.rocketmq.observations.client_processes import ClientProcess
from models.rocketmq.observations.fault_stretches import FaultStretch, take_line
from models.tolerances import int_tolerance

_APART_US = int_tolerance("rocketmq.client_faults.apart_us")
"""Maximum time between two lines of a fault that no timer repeats."""


@dataclass(frozen=True, slots=True)
class FaultLimits:
    """What makes lines a fault.

    Lines at most `apart_us` from each other are one fault, if they last for `least_us` and are `least_lines`, or if one is an event
    that says so at once.
    """

    apart_us: int = _APART_US
    least_us: int = 0
    least_lines: int = 1
    at_once: frozenset[str] = frozenset()


LIMITS: Mapping[str, FaultLimits] = {
    "allocation_failed": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.allocation_failed.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.allocation_failed.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.allocation_failed.least_lines"),
    ),
    "broker_unreachable": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.broker_unreachable.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.broker_unreachable.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.broker_unreachable.least_lines"),
    ),
    "consume_timeout_exceeded": FaultLimits(apart_us=int_tolerance("rocketmq.client_faults.consume_timeout_exceeded.apart_us")),
    "consumer_not_started": FaultLimits(),
    "consumption_disabled": FaultLimits(),
    "listener_failed": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.listener_failed.apart_us"),
        least_lines=int_tolerance("rocketmq.client_faults.listener_failed.least_lines"),
    ),
    "listener_slow": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.listener_slow.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.listener_slow.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.listener_slow.least_lines"),
    ),
    "lock_missing": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.lock_missing.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.lock_missing.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.lock_missing.least_lines"),
        at_once=frozenset({"RocketQueueLockAsked"}),  # a lock that it had could not be renewed
    ),
    "name_server_unreachable": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.name_server_unreachable.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.name_server_unreachable.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.name_server_unreachable.least_lines"),
    ),
    "offset_not_kept": FaultLimits(least_lines=int_tolerance("rocketmq.client_faults.offset_not_kept.least_lines")),
    "offset_out_of_range": FaultLimits(),
    "offset_reset": FaultLimits(),
    "reading_failed": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.reading_failed.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.reading_failed.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.reading_failed.least_lines"),
    ),
    "route_missing": FaultLimits(
        apart_us=int_tolerance("rocketmq.client_faults.route_missing.apart_us"),
        least_us=int_tolerance("rocketmq.client_faults.route_missing.least_us"),
        least_lines=int_tolerance("rocketmq.client_faults.route_missing.least_lines"),
    ),
}
"""Limits of each fault, by the word that catalogue entries use."""


@dataclass(frozen=True, slots=True)
class ClientStretch:
    """Lines of a fault in one log.

    The client is empty if a broker wrote them.
    """

    fault: str
    client_id: str
    topic: str | None
    stretch: FaultStretch


@dataclass(frozen=True, slots=True)
class _Key:
    log: str
    client_id: str
    group: str | None
    topic: str | None
    fault: str
    is_told_at_once: bool


@dataclass(slots=True)
class ClientFaults:
    """Lines of faults by log, before it is known whose they are."""

    _stretches: dict[_Key, list[FaultStretch]] = field(default_factory=dict)

    def feed(self, event: Event, at: int) -> None:
        """Take a line of any kind."""
        fault = event.fields.get("fault")
        limits = LIMITS.get(fault) if isinstance(fault, str) else None
        if limits is None or event.topic == DEFAULT_TOPIC or (event.topic or "").startswith(RETRY):
            return
        key = _Key(event.place.log, event.client_id or "", event.group, event.topic, str(fault), event.name in limits.at_once)
        take_line(self._stretches.setdefault(key, []), event, at, limits.apart_us)

    def by_group(self, processes: Iterable[ClientProcess]) -> dict[str, list[ClientStretch]]:
        """Stretches of each group, given all client processes."""
        by_log: dict[str, list[ClientProcess]] = {}
        by_client: dict[str, list[ClientProcess]] = {}
        for process in processes:
            by_log.setdefault(process.file, []).append(process)
            by_client.setdefault(process.client_id, []).append(process)
        by_group: dict[str, list[ClientStretch]] = {}
        for key, stretches in self._stretches.items():
            near = by_client.get(key.client_id, []) if key.client_id else by_log.get(key.log, [])
            for stretch in stretches:
                for group, client_id in _affected(key, stretch, near).items():
                    by_group.setdefault(group, []).append(ClientStretch(key.fault, client_id, key.topic, stretch))
        return by_group


def _affected(key: _Key, stretch: FaultStretch, near: Iterable[ClientProcess]) -> dict[str, str]:
    """Groups that a stretch is about, with the client of each."""
    clients: dict[str, str] = {}
    readers: set[str] = set()
    for process in near:  # by start, so the last one that had begun stays
        if process.begun_at <= stretch.last_at:
            clients[process.group] = process.client_id
            if key.topic in process.read or key.topic in process.topics:
                readers.add(process.group)
    if key.group is not None:
        return {key.group: clients.get(key.group, key.client_id)}
    return {group: client_id for group, client_id in clients.items() if not readers or group in readers}
