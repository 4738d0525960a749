"""Incidents of RocketMQ's servers where no group is in the logs.

Where groups are, their own rows tell what a broker's loss or a change of master did to them.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from models.clear_names import clear
from models.events import Event, text_field
from models.evidence import evidence
from models.ids import make_id
from models.incidents.fault_facts import LostBrokers, MasterAbsence
from models.incidents.headline_facts import ServerFacts
from models.incidents.incident_rows import incident_row
from models.rocketmq.observations.set_masters import MasterChange
from models.rows import ROCKETMQ, Incident
from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

TOGETHER_US = int_tolerance("rocketmq.server_incidents.together_us")
"""Maximum time between a name server's lines about one loss."""

SERVER_LINES_MAX = 8


def server_incidents(
    cluster: str, lines: Iterable[tuple[int, Event]], changes: Iterable[MasterChange], end: int
) -> Iterator[Incident[ServerFacts]]:
    """Brokers that name servers lost, and changes of masters, by kind and time."""
    placed = sorted(lines, key=lambda line: (line[0], line[1].place.file, line[1].place.byte_offset))
    back: dict[str | None, list[int]] = {}
    for at, event in placed:
        if event.name == "RocketBrokerRegistered":
            back.setdefault(text_field(event, "address"), []).append(at)
    for part in _losses(placed):
        names = sorted({_name(event) for _, event in part} - {""}, key=clear)
        began_at = part[0][0]
        addresses = {address for _, event in part if (address := text_field(event, "address"))}
        ended_at = min(filter(None, (_first_from(back.get(address, []), began_at) for address in addresses)), default=None)
        facts = LostBrokers(tuple(names), None if ended_at is None else (ended_at - began_at) // US_PER_SECOND)
        yield _incident(cluster, "broker_unregistered", began_at, ended_at, facts, [event for _, event in part])
    for change in sorted(changes, key=lambda change: (change.began_at, change.broker)):
        since = end if change.elected_at is None else change.elected_at
        absence = MasterAbsence(change.broker, (since - change.began_at) // US_PER_SECOND, change.ended_at is None, change.master)
        yield _incident(cluster, "master_changed", change.began_at, change.ended_at, absence, change.lines)


def _first_from(times: Sequence[int], at: int) -> int | None:
    """The first of these times, in order, that is not before `at`."""
    place = bisect_left(times, at)
    return times[place] if place < len(times) else None


def _losses(lines: Iterable[tuple[int, Event]]) -> Iterator[list[tuple[int, Event]]]:
    """Lines about losses, those of one moment together."""
    part: list[tuple[int, Event]] = []
    for at, event in lines:
        if event.name != "RocketBrokerLost":
            continue
        if part and at - part[-1][0] > TOGETHER_US:
            yield part
            part = []
        part.append((at, event))
    if part:
        yield part


def _name(event: Event) -> str:
    return str(event.fields.get("broker") or event.fields.get("address") or "")


def _incident(
    cluster: str, kind: str, began_at: int, ended_at: int | None, facts: LostBrokers | MasterAbsence, lines: Sequence[Event]
) -> Incident[ServerFacts]:
    return incident_row(
        cluster=cluster,
        system=ROCKETMQ,
        incident_id=make_id("incident", cluster, kind, began_at, *(facts.names if isinstance(facts, LostBrokers) else (facts.broker,))),
        kind=kind,
        severity="warning",
        started_at=began_at,
        ended_at=ended_at,
        headline=ServerFacts(facts),
        evidence=evidence(list(lines)[:SERVER_LINES_MAX]),
    )
