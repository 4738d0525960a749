"""Troubles of clients whose group no line names, as incidents.

Such a client was put out of its group, was refused or stopped, and no rebalance can show it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from models.causes import Cause
from models.events import Event
from models.evidence import evidence, line_of
from models.ids import make_id
from models.incidents.fault_facts import UnattributedTrouble
from models.incidents.incident_rows import incident_row
from models.incidents.refusals import FENCED, REFUSAL_LINES_MAX, TROUBLES, refusal_of
from models.kafka.observations.log_rotation import log_before_rotation
from models.rows import KAFKA, Incident, Person
from models.units import US_PER_SECOND

NOT_AUTHORIZED = "ClientTroubled not_authorized"
"""A trouble that is not the client's own error."""

HANDOVERS = frozenset({"ClientRevoked"})
"""Events that show a rebalance or a close, and no trouble of the client."""

CLIENT_TROUBLES = HANDOVERS | {
    "ClientPollTimedOut",
    "ClientCoordinatorLost",
    "ClientHeartbeatFailed",
    "ClientFenced",
    "ClientLost",
    "StaticMemberFenced",
    "ClientTroubled",
    "ClientJoinFailed",
    NOT_AUTHORIZED,
}
"""Events about a client itself that also concern its group."""

REPORTED_TROUBLES = frozenset({"polled_late", "commit_refused", "not_in_generation", "fenced", "join_refused", "no_broker"})
"""Troubles of clients that programs around them report."""

UNNAMED = "group_unnamed"
"""Kind of an incident whose group no line names."""

NO_BROKER = "no_broker_reached"
"""Kind of an incident of a client that reaches no broker."""

UNATTRIBUTED_KINDS = frozenset({UNNAMED, NO_BROKER, *TROUBLES})
"""Kinds that such incidents have; those of brokers without groups have others."""

_REPORTED_KINDS = {"fenced": FENCED.kind, "no_broker": NO_BROKER}
"""Kinds of reported troubles that have advice of their own."""

_POLLED_LATE = frozenset({"ClientPollTimedOut", "polled_late"})

_PASSING = frozenset({"ClientCoordinatorLost", "ClientJoinFailed"})
"""Troubles that a client mostly gets over without losing its place."""

_LOST_PLACE = frozenset({"ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID", "FENCED_INSTANCE_ID"})
"""Answers to a heartbeat of a client that is no member any more."""

_SESSION_OVER = "session timed out"
"""Why a client that had no answer for its session gives its coordinator up."""

_GIVES_PLACE_UP = "kafka.librdkafka.session_timed_out"
"""Message of librdkafka about the same, which has an error as its reason."""

_REPORT = "ClientErrorReported"


@dataclass(slots=True)
class _Spell:
    """Lines of one client about one trouble, close to each other."""

    kind: str
    trouble: str
    client: str | None
    is_grave: bool = False
    is_reported: bool = False
    lines: list[Event] = field(default_factory=list)
    logs: set[str] = field(default_factory=set)
    count: int = 0
    first_at: int = 0
    last_at: int = 0

    def add(self, event: Event) -> None:
        """Take one more line; they come in order of time."""
        self.first_at = self.first_at if self.count else event.time_us
        self.last_at, self.count = event.time_us, self.count + 1
        self.is_grave = self.is_grave or _is_grave(event)
        self.logs.add(log_before_rotation(event.place.file))
        if len(self.lines) < REFUSAL_LINES_MAX:
            self.lines.append(line_of(event))


@dataclass(slots=True)
class UnattributedLines:
    """Lines about clients that belong to no group, by cluster."""

    by_cluster: dict[str, list[Event]] = field(default_factory=dict)
    logs_with_groups: set[str] = field(default_factory=set)
    """Logs of clients that name a group elsewhere."""

    def incidents(self, gap_seconds: float) -> list[Incident[UnattributedTrouble]]:
        """Incidents of all clusters; `gap_seconds` separate two of one client."""
        gap_us = int(gap_seconds * US_PER_SECOND)
        return [
            _incident(cluster, spell, ordinal)
            for cluster, events in sorted(self.by_cluster.items())
            for spell, ordinal in _spells(self._telling(events), gap_us)
        ]

    def notes(self) -> list[tuple[str, UnattributedTrouble]]:
        """What is no incident of its own, each with its log.

        Partitions that were given up, and what programs report in logs that name a group elsewhere.
        """
        counts = Counter(
            (event.place.file, None if _is_report(event) else client_of(event), trouble_of(event), _is_report(event))
            for events in self.by_cluster.values()
            for event in events
            if event.name in HANDOVERS or (_is_known_report(event) and self._names_group(event))
        )
        return [
            (file, UnattributedTrouble(client, trouble, count, is_reported))
            for (file, client, trouble, is_reported), count in sorted(counts.items(), key=str)
        ]

    def _telling(self, events: Iterable[Event]) -> Iterator[Event]:
        """Lines about troubles in order of time.

        Those of programs count where the client tells nothing itself.
        """
        ordered = sorted(events, key=lambda event: (event.time_us, event.place.file, event.place.byte_offset))
        by_clients = [event for event in ordered if trouble_of(event) in CLIENT_TROUBLES - HANDOVERS]
        logs = {log_before_rotation(event.place.file) for event in by_clients}
        for event in ordered:
            if _is_known_report(event):
                if log_before_rotation(event.place.file) not in logs and not self._names_group(event):
                    yield event
            elif trouble_of(event) in CLIENT_TROUBLES - HANDOVERS:
                yield event

    def _names_group(self, event: Event) -> bool:
        return log_before_rotation(event.place.file) in self.logs_with_groups


def client_of(event: Event) -> str | None:
    """Best known name of the client."""
    return event.client_id or event.instance_id or event.member_id or None


def trouble_of(event: Event) -> str:
    """What a line or a program tells of a client."""
    if _is_report(event):
        return str(event.fields.get("trouble"))
    if event.name == "ClientLeaveSent" and "poll timeout has expired" in str(event.fields.get("why")):
        return "ClientPollTimedOut"
    named = f"{event.name} {event.fields.get('trouble')}"
    return named if named == NOT_AUTHORIZED else event.name


def _is_report(event: Event) -> bool:
    return event.name == _REPORT


def _is_known_report(event: Event) -> bool:
    return _is_report(event) and event.fields.get("trouble") in REPORTED_TROUBLES


def _is_grave(event: Event) -> bool:
    """Whether the client lost its place by it, or stopped."""
    if event.name in _PASSING:
        return event.message == _GIVES_PLACE_UP or event.fields.get("why") == _SESSION_OVER or refusal_of(event) is not None
    return event.name != "ClientHeartbeatFailed" or event.fields.get("error") in _LOST_PLACE or refusal_of(event) is not None


def _kind_of(event: Event) -> str:
    if _is_report(event):
        return _REPORTED_KINDS.get(str(event.fields.get("trouble")), UNNAMED)
    refusal = refusal_of(event)
    return UNNAMED if refusal is None else refusal.kind


def _spells(events: Iterable[Event], gap_us: int) -> Iterator[tuple[_Spell, int]]:
    """Spells of clients, each with its number among those of the same kind."""
    last: dict[tuple[str, str, str | None], _Spell] = {}
    ordinals = Counter[tuple[str, str, str | None]]()
    spells: list[tuple[_Spell, int]] = []
    for event in events:
        key = kind, trouble, client = _kind_of(event), trouble_of(event), None if _is_report(event) else client_of(event)
        spell = last.get(key)
        if spell is None or event.time_us - spell.last_at > gap_us:
            spell = last[key] = _Spell(kind, trouble, client, is_reported=_is_report(event))
            ordinals[key] += 1
            spells.append((spell, ordinals[key]))
        spell.add(event)
    return iter(spells)


def _incident(cluster: str, spell: _Spell, ordinal: int) -> Incident[UnattributedTrouble]:
    person = None if spell.client is None else _person(spell.client, spell.lines[0])
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("unattributed", cluster, spell.kind, spell.trouble, spell.client, ordinal)),
        kind=spell.kind,
        severity="warning" if spell.is_grave else "info",
        started_at=spell.first_at,
        ended_at=spell.last_at,
        root_cause=Cause.POLL_TIMEOUT if spell.trouble in _POLLED_LATE else None,
        worst_offender=person,
        headline=UnattributedTrouble(spell.client, spell.trouble, spell.count, spell.is_reported, len(spell.logs)),
        evidence=evidence(spell.lines),
    )


def _person(client: str, line: Event) -> Person:
    return Person(line.member_id, line.client_id or client, line.instance_id, None, UNNAMED, first=True)
