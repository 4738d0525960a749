"""Consumers that are refused for good or stopped by an error.

They read nothing until somebody acts, and no rebalance shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from models.events import Event, Witness
from models.evidence import evidence, line_of
from models.ids import make_id
from models.incidents.headline_facts import RefusalFacts
from models.incidents.incident_rows import incident_row
from models.rows import KAFKA, Incident, Person
from models.tolerances import int_tolerance


@dataclass(frozen=True, slots=True)
class RefusalKind:
    """A reason to refuse a consumer.

    `words` stand in errors of clients, `codes` are those of `Errors.java`.
    """

    kind: str
    words: tuple[str, ...]
    codes: frozenset[int]


REFUSAL_KINDS = (
    RefusalKind(
        "group_full",
        ("max size", "maximum size", "maximum number of members", "groupmaxsizereached", "group_max_size_reached"),
        frozenset({81}),
    ),
    RefusalKind(
        "inconsistent_protocol",
        (
            "incompatible with those of existing members",
            "inconsistentgroupprotocol",
            "inconsistent_group_protocol",
            "inconsistent group protocol",
        ),
        frozenset({23}),
    ),
    RefusalKind(
        "not_authorized",
        ("not authorized", "authorization failed", "authorizationfailed", "authorization_failed"),
        frozenset({29, 30, 31}),
    ),
    RefusalKind(
        "session_timeout_refused",
        ("session timeout is not within", "invalidsessiontimeout", "invalid_session_timeout", "invalid session timeout"),
        frozenset({26}),
    ),
    RefusalKind(
        "static_member_fenced",
        (
            "fenced by",
            "another consumer with the same group.instance.id",
            "fenced instance",
            "fencedinstance",
            "fenced_instance",
            "been fenced",
        ),
        frozenset({82, 111}),
    ),
)
"""The first one whose words or code match counts."""

TROUBLES = {kind.kind: kind for kind in REFUSAL_KINDS} | {
    trouble: RefusalKind(trouble, (), frozenset())
    for trouble in ("assignor_failed", "client_failed", "shutdown_requested", "not_authenticated")
}
"""What else stops a consumer, by the `trouble` of its line."""

SHUTDOWN = "Shutdown requested"
"""Reason of the rebalance by which a Streams application stops (StreamThread.maybeSendShutdown)."""

HEARD = "_elsewhere"
"""Suffix of a trouble that a client only hears of."""

_OF_GROUPS = frozenset({"shutdown_requested"})
"""Troubles that all members tell of, in one incident."""

_CRITICAL = frozenset({"shutdown_requested"})
"""Troubles after which nobody consumes."""

FENCED = REFUSAL_KINDS[-1]

_FENCING = frozenset({"ClientFenced", "StaticMemberFenced", "ModernMemberRefused"})
"""Events that show nothing but a refusal."""

DENIED = "GroupAccessDenied"
"""Events of an authorizer, which name a principal and no client."""

_TOLD_IN = {"ClientJoinFailed": "error", "ClientSyncFailed": "error", "ClientHeartbeatFailed": "error", "ClientRejoinRequested": "why"}
"""Field of an event that has a client's error."""

_EXCEPTION = re.compile(r"^rebalance failed due to (?:'.*' \()?(?P<name>\w+)\)?$", re.DOTALL)
"""Reason of a rejoin, with the class of what was thrown.

The client's log has the message, too, and the coordinator's only the class (AbstractCoordinator.joinGroupIfNeeded).
"""

_OF_ANSWERS = frozenset(
    {
        *("CoordinatorLoadInProgress", "CoordinatorNotAvailable", "Disconnect", "FencedInstanceId", "GroupAuthorization"),
        *("GroupMaxSizeReached", "IllegalGeneration", "InconsistentGroupProtocol", "InvalidGroupId", "InvalidSessionTimeout", "Kafka"),
        *("MemberIdRequired", "Network", "NotCoordinator", "RebalanceInProgress", "RetriableCommitFailed", "SaslAuthentication"),
        *("SslAuthentication", "Timeout", "TopicAuthorization", "UnjoinedGroup", "UnknownMemberId", "UnknownServer", "UnsupportedVersion"),
        *("Authentication", "Authorization", "ClusterAuthorization", "Interrupt", "InvalidTopic", "StaleMetadata", "Wakeup"),
    }
)
"""Exceptions of requests and their answers (common.errors).

All others come from the assignor.
"""

_ANSWERS = frozenset(
    {
        "FindCoordinatorCompleted",
        "JoinGroupCompleted",
        "SyncGroupCompleted",
        "HeartbeatCompleted",
        "ConsumerGroupHeartbeatCompleted",
        "ShareGroupHeartbeatCompleted",
        "StreamsGroupHeartbeatCompleted",
    }
)

_FAILED = "client_failed"

BEHIND_US = int_tolerance("incidents.refusals.behind_us")
"""Time in which a client that was refused says that it stops."""

REFUSAL_LINES_MAX = 4
"""Lines kept of a spell: its first ones tell enough."""


def refusal_of(event: Event) -> RefusalKind | None:
    """Reason for which an event refuses a consumer, None otherwise."""
    if event.name in _FENCING:
        return FENCED
    if event.name == DENIED:
        return next(kind for kind in REFUSAL_KINDS if kind.kind == "not_authorized")
    if event.name == "TargetFailed":
        return TROUBLES["assignor_failed"]
    if event.name == "RebalanceStarted":
        return TROUBLES["shutdown_requested"] if event.fields.get("client_reason") == SHUTDOWN else None
    if event.name in _TOLD_IN or "trouble" in event.fields:
        text = str(event.fields.get(_TOLD_IN.get(event.name, "detail")) or "")
        return next((kind for kind in REFUSAL_KINDS if any(words in text.lower() for words in kind.words)), None) or _trouble(event, text)
    code = event.fields.get("error_code") if event.name in _ANSWERS else None
    return next((kind for kind in REFUSAL_KINDS if code in kind.codes), None) if isinstance(code, int) else None


def is_of_assignor(why: str) -> bool:
    """Whether a reason to rejoin is an exception of the leader's assignor."""
    thrown = _EXCEPTION.search(why)
    return thrown is not None and thrown["name"].removesuffix("Exception") not in _OF_ANSWERS


def _trouble(event: Event, text: str) -> RefusalKind | None:
    """What stops a consumer, by its line or its assignor's exception."""
    trouble = "assignor_failed" if is_of_assignor(text) else str(event.fields.get("trouble"))
    return TROUBLES.get(trouble.removesuffix(HEARD))


@dataclass(slots=True)
class Spell:
    """Refusals of one consumer for one reason, close to each other.

    Times are microseconds.
    """

    kind: str
    ordinal: int
    person: Person
    first_at: int
    last_at: int
    counts: dict[str, int] = field(default_factory=dict)
    lines: list[Event] = field(default_factory=list)
    principal: str | None = None
    """Principal that the authorizer denied."""

    @property
    def count(self) -> int:
        """Number of refusals; each kind of line shows the same ones."""
        return max(self.counts.values(), default=0)

    def add(self, event: Event, at: int) -> None:
        """Take one more refusal."""
        self.first_at, self.last_at = min(self.first_at, at), max(self.last_at, at)
        self.counts[event.name] = self.counts.get(event.name, 0) + 1
        self.add_line(event)

    def add_line(self, event: Event) -> None:
        """Take a line about it that is no refusal of its own."""
        if len(self.lines) < REFUSAL_LINES_MAX:
            self.lines.append(line_of(event))


@dataclass(slots=True)
class Refusals:
    """Spells of one group that may go on, by reason and consumer."""

    spells: dict[tuple[str, str], Spell] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)
    """Number of spells so far, by reason."""

    def feed(self, event: Event, at: int, actor: str | None) -> None:
        """Take an event.

        `at` is its time on the coordinator's clock, `actor` the name of the client.
        """
        kind = refusal_of(event)
        if kind is None:
            return
        denied = event.name == DENIED
        principal = str(event.fields.get("principal") or "") or None if denied else None
        is_heard = str(event.fields.get("trouble") or "").endswith(HEARD)
        name = "" if kind.kind in _OF_GROUPS else principal or event.instance_id or actor or event.client_id or event.member_id or ""
        if kind.kind == _FAILED and (refusal := self._just_refused(name, at)) is not None:
            refusal.add_line(event)
            return
        spell = self.spells.get((kind.kind, name)) or self._by_the_other_log(kind.kind, is_denied=denied)
        if spell is None:
            person = _nobody(kind.kind) if is_heard else _person(event, kind.kind)
            self.ordinals[kind.kind] = ordinal = self.ordinals.get(kind.kind, 0) + 1
            spell = self.spells[kind.kind, name] = Spell(kind.kind, ordinal, person, at, at)
        elif event.witness is Witness.CLIENT and spell.person.client_id is None:
            spell.person = spell.person if is_heard else replace(spell.person, client_id=event.client_id)
        spell.principal = spell.principal or principal
        spell.add(event, at)

    def _just_refused(self, name: str, at: int) -> Spell | None:
        """The refusal for which a client stops now, if it told of one."""
        others = (spell for (kind, other), spell in self.spells.items() if kind != _FAILED and other == name)
        return next((spell for spell in others if 0 <= at - spell.last_at <= BEHIND_US), None)

    def _by_the_other_log(self, kind: str, *, is_denied: bool) -> Spell | None:
        """The only refusal that just one of client and authorizer tells."""
        others = [spell for spell in self.spells.values() if spell.kind == kind]
        alone = [spell for spell in others if (DENIED not in spell.counts if is_denied else spell.counts.keys() == {DENIED})]
        return alone[0] if len(alone) == len(others) == 1 else None

    def over_by(self, until: int, gap_us: int) -> Iterator[tuple[int, Spell]]:
        """Remove and yield the spells that no later refusal can join.

        Each comes with the time at which it was final.
        """
        for key, spell in sorted(self.spells.items(), key=lambda item: (item[1].last_at, item[0])):
            over_at = spell.last_at + gap_us + 1
            if over_at <= until:
                del self.spells[key]
                yield over_at, spell


def _person(event: Event, kind: str) -> Person:
    member_id = event.member_id or event.fields.get("reason_member_id")
    return Person(str(member_id) if member_id else None, event.client_id, event.instance_id, _host(event), kind, first=True)


def _nobody(kind: str) -> Person:
    return Person(None, None, None, None, kind, first=True)


def _host(event: Event) -> str | None:
    host = event.fields.get("client_host")
    return host if isinstance(host, str) and host else None


def refusal_incident(cluster: str, group: str, spell: Spell) -> Incident[RefusalFacts]:
    """A spell of refusals as an incident."""
    person = spell.person
    name = person.client_id or person.instance_id or person.member_id or spell.principal
    return incident_row(
        cluster=cluster,
        system=KAFKA,
        incident_id=make_id("incident", make_id("refusal", cluster, group, spell.kind, spell.ordinal)),
        kind=spell.kind,
        severity="critical" if spell.kind in _CRITICAL else "warning",
        groups=[group],
        started_at=spell.first_at,
        ended_at=spell.last_at,
        worst_offender=spell.person,
        headline=RefusalFacts(group, name, spell.kind, spell.count),
        evidence=evidence(spell.lines),
    )
