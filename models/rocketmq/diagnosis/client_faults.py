"""Standing faults that lines of a group's remoting clients tell of.

Clients of one group mostly suffer together, so what several of them tell at a time is one fault.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator

from models.clear_names import clear
from models.incidents.fault_facts import ClientFault
from models.rocketmq.diagnosis.standing_faults import FAULT_LINES_MAX, StandingFault
from models.rocketmq.observations.fault_lines import LIMITS, ClientStretch
from models.rocketmq.rocketmq_stage import RocketmqGroup
from models.units import US_PER_SECOND

RESET, MOVED = "offset_reset", "offset_out_of_range"

_POINTS = frozenset({"consume_timeout_exceeded", "consumer_not_started", MOVED, RESET})
"""Faults that don't last beyond their last line."""

_LASTING = frozenset({"consumption_disabled"})
"""Faults that last until somebody mends them."""


def client_faults(group: RocketmqGroup, end: int) -> list[StandingFault]:
    """Faults of a group's clients, by time."""
    by_fault: defaultdict[str, list[ClientStretch]] = defaultdict(list)
    for lines in group.client_faults:
        by_fault[lines.fault].append(lines)
    resets = [lines.stretch.began_at for lines in by_fault[RESET]]
    faults = [
        _fault(fault, together, end)
        for fault, stretches in by_fault.items()
        for together in _together(fault, stretches)
        if fault != MOVED or not _follows_any(together[0].stretch.began_at, resets)
    ]
    return sorted(faults, key=lambda fault: (fault.started_at, fault.kind))


def _follows_any(at: int, resets: Iterable[int]) -> bool:
    """Whether a time follows a reset.

    Clients of 5.x learn of a reset by an offset that is out of range.
    """
    return any(0 <= at - reset_at + US_PER_SECOND <= LIMITS[RESET].apart_us for reset_at in resets)


def _together(fault: str, stretches: Iterable[ClientStretch]) -> Iterator[list[ClientStretch]]:
    """Stretches that are one fault, if they are enough of one."""
    part: list[ClientStretch] = []
    reached_at = 0
    for lines in sorted(stretches, key=lambda lines: (lines.stretch.began_at, lines.client_id, lines.topic or "")):
        if part and lines.stretch.began_at - reached_at > LIMITS[fault].apart_us:
            if _is_enough(fault, part):
                yield part
            part = []
        part.append(lines)
        reached_at = max(reached_at, lines.stretch.last_at)
    if part and _is_enough(fault, part):
        yield part


def _is_enough(fault: str, part: list[ClientStretch]) -> bool:
    limits = LIMITS[fault]
    if any(lines.stretch.first.name in limits.at_once for lines in part):
        return True
    has_lasted = _last_at(part) - part[0].stretch.began_at >= limits.least_us
    return has_lasted and sum(lines.stretch.count for lines in part) >= limits.least_lines


def _last_at(part: Iterable[ClientStretch]) -> int:
    return max(lines.stretch.last_at for lines in part)


def _fault(kind: str, part: list[ClientStretch], end: int) -> StandingFault:
    clients = sorted({lines.client_id for lines in part if lines.client_id}, key=clear)
    topics = sorted({lines.topic for lines in part if lines.topic})
    facts = ClientFault(kind, tuple(clients), tuple(topics), sum(lines.stretch.count for lines in part))
    last_at = _last_at(part)
    is_open = kind in _LASTING or (kind not in _POINTS and end - last_at <= LIMITS[kind].apart_us)
    ends = [line for lines in part for line in (lines.stretch.first, lines.stretch.last)]
    unique = list({(line.place.file, line.place.byte_offset): line for line in ends}.values())
    return StandingFault(kind, clients, part[0].stretch.began_at, None if is_open else last_at, facts, unique[:FAULT_LINES_MAX])
