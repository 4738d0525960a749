"""What members did, whichever witness tells it.

A coordinator's line, a request and a client's own line about one and the same deed become `Act`s of one
kind, so that the diagnosis reads deeds and not wordings. Client lines are written when a request is sent,
coordinator lines when it takes effect, request lines when it was answered (its arrival is computed here).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from models.events import Event, Witness
from models.units import US_PER_MS

LOAD_IN_PROGRESS = 14
"""Error code (protocol/Errors.java)."""

ALREADY_REBALANCING = "group is already rebalancing"
"""Why a member rejoins whose heartbeat was refused so (AbstractCoordinator.HeartbeatResponseHandler)."""

SYNC_ERRORS = {-1: "UNKNOWN_SERVER_ERROR", 15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR", 27: "REBALANCE_IN_PROGRESS"}
"""Errors of SyncGroup that tell of more than its sender (protocol/Errors.java)."""


class Deed(StrEnum):
    JOIN = "join"  # a new member asks to join
    REJOIN = "rejoin"  # a member sends JoinGroup again
    LEAVE = "leave"
    EXPIRE = "expire"  # session timeout
    EVICT = "evict"  # not rejoined before the rebalance timeout
    SYNC_MISSED = "sync_missed"  # never sent SyncGroup
    REPLACE = "replace"  # static member under a new member id
    ID_HANDED_OUT = "id_handed_out"
    ID_EXPIRED = "id_expired"
    POLL_TIMEOUT = "poll_timeout"  # the client notices max.poll.interval.ms
    TOLD = "told"  # a heartbeat or commit told the client of a rebalance
    FENCED = "fenced"  # the coordinator knows the member no more
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    CLOSE = "close"
    REVOKE = "revoke"
    LOST_COORDINATOR = "lost_coordinator"  # the client can't reach its coordinator
    START = "start"  # the client asks for its coordinator anew
    WANTS_REJOIN = "wants_rejoin"  # the client says why it will rejoin
    JOIN_FAILED = "join_failed"
    JOINED = "joined"  # JoinGroup answered with a generation
    SYNCED = "synced"
    SYNC_FAILED = "sync_failed"
    COMMIT_REFUSED = "commit_refused"
    ASSIGNED = "assigned"


@dataclass(frozen=True, slots=True)
class Act:
    """One deed. `at` is microseconds on the clock of the witness; `generation` where the line gives one."""

    deed: Deed
    at: int
    member_id: str | None
    client_id: str | None
    instance_id: str | None
    why: str | None
    generation: int | None
    event: Event

    @property
    def certain(self) -> bool:
        """The coordinator itself says so."""
        return self.event.witness is Witness.COORDINATOR


def text_field(event: Event, name: str) -> str | None:
    """A text field of the event; None where it is absent or empty."""
    value = event.fields.get(name)
    return value if isinstance(value, str) and value else None


def int_field(event: Event, name: str) -> int | None:
    """A whole-number field of the event; None where it is absent."""
    value = event.fields.get(name)
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def names_field(event: Event, name: str) -> list[str]:
    """A field that lists names, as a list or as text separated by commas."""
    value = event.fields.get(name)
    if isinstance(value, (list, tuple)):
        return [str(item) for item in value]
    return [part for part in (piece.strip() for piece in value.split(",")) if part] if isinstance(value, str) else []


def is_told(act: Act) -> bool:
    """Whether the deed shows that a client heard of a rebalance.

    Since 3.0 its own wish to rejoin says so (ConsumerCoordinator).
    """
    return act.deed is Deed.TOLD or (act.deed is Deed.WANTS_REJOIN and act.why == ALREADY_REBALANCING)


_ASSIGNED = re.compile(r"(?:^\{|\), )(.+?)=Assignment\(", re.DOTALL)


def assigned_members(event: Event) -> list[str]:
    """Member ids in a leader's "Finished assignment" line, `{member=Assignment(…), …}` (ConsumerCoordinator, since 2.4)."""
    value = text_field(event, "assignments")
    return _ASSIGNED.findall(value) if value else []


def arrived_at(event: Event) -> int:
    """When a request reached the broker: its answer's time less the total time (RequestChannel.scala)."""
    total = event.fields.get("total_ms")
    spent = int(total * US_PER_MS) if isinstance(total, (int, float)) else 0
    return event.time_us - spent


def _act(event: Event, deed: Deed, *, at: int | None = None, member_id: str | None = None, why: str | None = None) -> Act:
    when = at if at is not None else event.time_us
    return Act(deed, when, member_id or event.member_id or None, event.client_id, event.instance_id, why, event.generation, event)


def _simple(deed: Deed, why: str | None = None) -> Callable[[Event], list[Act]]:
    """Turn an event into one act; `why` names the field that holds the reason."""
    return lambda event: [_act(event, deed, why=text_field(event, why) if why else None)]


def _each_member(deed: Deed) -> Callable[[Event], list[Act]]:
    return lambda event: [_act(event, deed, member_id=member_id) for member_id in names_field(event, "members")]


def _join_sent(event: Event) -> list[Act]:
    deed = Deed.REJOIN if event.member_id else Deed.JOIN
    return [_act(event, deed, why=text_field(event, "reason"))]


def _join_completed(event: Event) -> list[Act]:
    """JoinGroup in the request log: the arrival is the deed, the answer tells the member id and generation."""
    if int_field(event, "error_code") == LOAD_IN_PROGRESS:
        return []  # no group was there yet that it could have come to
    asked_as = text_field(event, "request_member_id")
    acts = [_act(event, Deed.REJOIN if asked_as else Deed.JOIN, at=arrived_at(event), member_id=asked_as, why=text_field(event, "reason"))]
    generation = int_field(event, "response_generation")
    if int_field(event, "error_code") == 0 and generation is not None and generation >= 0:
        acts.append(Act(Deed.JOINED, acts[0].at, event.member_id, event.client_id, event.instance_id, None, generation, event))
    return acts


def _leave_completed(event: Event) -> list[Act]:
    if int_field(event, "error_code") not in (0, None):
        return []
    members = names_field(event, "members") or [event.member_id or ""]
    return [_act(event, Deed.LEAVE, at=arrived_at(event), member_id=member, why=text_field(event, "reason")) for member in members]


def _heartbeat_completed(event: Event) -> list[Act]:
    deed = {27: Deed.TOLD, 25: Deed.FENCED, 22: Deed.TOLD, 82: Deed.FENCED}.get(int_field(event, "error_code") or 0)
    return [_act(event, deed)] if deed else []


def _sync_completed(event: Event) -> list[Act]:
    code = int_field(event, "error_code")
    return [_act(event, Deed.SYNC_FAILED, why=SYNC_ERRORS.get(code, str(code)))] if code else []


def _received(event: Event) -> list[Act]:
    """A request at its arrival (TRACE): joins and leaves that a crash may keep from ever being answered."""
    api = text_field(event, "api")
    asked_as = text_field(event, "request_member_id")
    if api == "JOIN_GROUP":
        return [_act(event, Deed.REJOIN if asked_as else Deed.JOIN, member_id=asked_as, why=text_field(event, "reason"))]
    return []


_ACTS: dict[str, Callable[[Event], list[Act]]] = {
    "MemberFailed": _simple(Deed.EXPIRE),
    "MemberLeft": _simple(Deed.LEAVE, "client_reason"),
    "MembersNotRejoined": _each_member(Deed.EVICT),
    "SyncMissing": _each_member(Deed.SYNC_MISSED),
    "MemberIdHandedOut": _simple(Deed.ID_HANDED_OUT),
    "PendingMemberJoined": _simple(Deed.JOIN),
    "PendingMemberExpired": _simple(Deed.ID_EXPIRED),
    "MemberAdded": _simple(Deed.JOIN),
    "StaticMemberReplaced": _simple(Deed.REPLACE),
    "JoinGroupCompleted": _join_completed,
    "LeaveGroupCompleted": _leave_completed,
    "SyncGroupCompleted": _sync_completed,
    "HeartbeatCompleted": _heartbeat_completed,
    "RequestReceived": _received,
    "ClientSubscribed": _simple(Deed.SUBSCRIBE),
    "ClientUnsubscribed": _simple(Deed.UNSUBSCRIBE),
    "ClientJoinSent": _join_sent,
    "ClientJoined": _simple(Deed.JOINED),
    "ClientJoinFailed": _simple(Deed.JOIN_FAILED, "error"),
    "ClientSynced": _simple(Deed.SYNCED),
    "ClientSyncFailed": _simple(Deed.SYNC_FAILED, "error"),
    "ClientLeaveSent": _simple(Deed.LEAVE, "why"),
    "ClientPollTimedOut": _simple(Deed.POLL_TIMEOUT),
    "ClientHeartbeatRebalancing": _simple(Deed.TOLD),
    "ClientHeartbeatFailed": _simple(Deed.FENCED, "error"),
    "ClientGenerationReset": _simple(Deed.FENCED, "why"),
    "ClientRejoinRequested": _simple(Deed.WANTS_REJOIN, "why"),
    "ClientCoordinatorFound": _simple(Deed.START),
    "ClientCoordinatorLost": _simple(Deed.LOST_COORDINATOR, "why"),
    "ClientRevoked": _simple(Deed.REVOKE),
    "ClientAssigned": _simple(Deed.ASSIGNED),
    "ClientClosed": _simple(Deed.CLOSE),
    "ClientCommitFailed": _simple(Deed.COMMIT_REFUSED, "error"),
}


def acts_of(event: Event) -> list[Act]:
    """The deeds that an event tells; empty for events that tell none."""
    reader = _ACTS.get(event.name)
    return reader(event) if reader else []
