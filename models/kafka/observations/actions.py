"""Actions of members, from every kind of witness.

A coordinator's line, a request and a client's own line about the same action become `MemberAction`s of one kind, so that the
diagnosis reads actions and not wordings. Client lines are written when a request is sent, coordinator lines when it
takes effect, and request lines when it was answered (its arrival is computed here).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from models.events import Event, Witness, int_field, names_field, text_field
from models.tolerances import int_tolerance
from models.units import US_PER_MS

LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE = 14, 15
"""Error codes (protocol/Errors.java)."""

MEMBER_ID_REQUIRED = 79
"""Error that gives a new member its id (KIP-394).

It joins again at once.
"""

GIVEN_ID = "need to re-join with the given member-id"
"""Beginning of the reason for which a new member joins again (AbstractCoordinator.JoinGroupResponseHandler)."""

ALREADY_REBALANCING = "group is already rebalancing"
"""Why a member rejoins whose heartbeat was refused so (AbstractCoordinator.HeartbeatResponseHandler)."""

BEGAN_ANOTHER = "RebalanceInProgressException"
"""Part of why a member rejoins whose SyncGroup was refused.

Another rebalance had begun (AbstractCoordinator).
"""

SYNC_ERRORS = {-1: "UNKNOWN_SERVER_ERROR", 15: "COORDINATOR_NOT_AVAILABLE", 16: "NOT_COORDINATOR", 27: "REBALANCE_IN_PROGRESS"}
"""SyncGroup errors that concern more than the sender (protocol/Errors.java)."""


PARKED_US = int_tolerance("kafka.request_windows.parked_us")
"""Waiting time of a JoinGroup that a join phase parked: assumed."""


class ActionKind(StrEnum):
    JOIN = "join"  # a new member sends JoinGroup
    REJOIN = "rejoin"  # a known member sends JoinGroup again
    NAMELESS_JOIN = "nameless_join"  # a client that no line names sends JoinGroup, anew or again
    LEAVE = "leave"
    LEAVE_ANSWERED = "leave_answered"  # the client hears that it was taken, or why not
    LEAVE_UNANSWERED = "leave_unanswered"  # the client waited for the answer as long as a close may take
    EXPIRE = "expire"  # session timeout
    EVICT = "evict"  # no rejoin before the rebalance timeout
    SYNC_MISSED = "sync_missed"  # no SyncGroup
    REPLACE = "replace"  # a static member with a new member id
    ID_HANDED_OUT = "id_handed_out"
    ID_EXPIRED = "id_expired"
    POLL_TIMEOUT = "poll_timeout"  # the client detects max.poll.interval.ms
    REBALANCE_NOTICED = "told"  # a heartbeat or commit notified the client of a rebalance
    FENCED = "fenced"  # the coordinator no longer knows the member
    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    CLOSE = "close"
    REVOKE = "revoke"
    LOST = "lost"  # it gives up all partitions, as it is out of its generation
    LOST_COORDINATOR = "lost_coordinator"  # the client cannot reach its coordinator
    START = "start"  # the client looks for its coordinator again
    WANTS_REJOIN = "wants_rejoin"  # the client states why it will rejoin
    JOIN_FAILED = "join_failed"
    JOINED = "joined"  # JoinGroup answered with a generation
    SYNCED = "synced"
    SYNC_FAILED = "sync_failed"
    COMMIT_REFUSED = "commit_refused"
    DENIED = "denied"  # the broker does not authorize a request
    ASSIGNED = "assigned"
    STEP = "step"  # a callback of the client's has returned


JOIN_REQUESTS = frozenset({ActionKind.JOIN, ActionKind.REJOIN, ActionKind.NAMELESS_JOIN})
"""Requests that are sent again to the next coordinator if one is lost."""


@dataclass(frozen=True, slots=True)
class MemberAction:
    """One action.

    `at` is microseconds on the witness's clock; `generation` is None unless the line has one.
    """

    kind: ActionKind
    at: int
    member_id: str | None
    client_id: str | None
    instance_id: str | None
    why: str | None
    generation: int | None
    event: Event

    @property
    def is_certain(self) -> bool:
        """True if the coordinator itself logged the action."""
        return self.event.witness is Witness.COORDINATOR


GOING = frozenset({ActionKind.LEAVE, ActionKind.FENCED, ActionKind.POLL_TIMEOUT})
"""Actions that show a member out of its generation."""


def follows_in_log(action: MemberAction, other: MemberAction) -> bool:
    """Whether an action is logged behind another one of the same log."""
    place, before = action.event.place, other.event.place
    return action.at >= other.at and place.file == before.file and place.byte_offset > before.byte_offset


def is_going(action: MemberAction) -> bool:
    """Whether the action shows a member out of its generation."""
    return action.kind in GOING


def is_rebalance_notice(action: MemberAction) -> bool:
    """Whether the action shows that a client heard of a rebalance.

    Since 3.0 its own wish to rejoin says so (ConsumerCoordinator).
    """
    return action.kind is ActionKind.REBALANCE_NOTICED or (action.kind is ActionKind.WANTS_REJOIN and says_rebalancing(action.why))


def is_refused_sync(action: MemberAction) -> bool:
    """Whether a refused SyncGroup is all that tells of another rebalance.

    Clients whose libraries name the error by its id tell their wish to rejoin, too.
    """
    return action.kind is ActionKind.SYNC_FAILED and "rebalance in progress" in (action.why or "").lower().replace("_", " ")


def says_rebalancing(why: str | None) -> bool:
    """Whether a member's reason to rejoin says that a rebalance had begun."""
    return why is not None and (why == ALREADY_REBALANCING or BEGAN_ANOTHER in why)


def has_only_given_id(action: MemberAction) -> bool:
    """Whether a JoinGroup was answered with a member id only.

    That is no join yet, nor a refusal. Requests have the error's code, clients its name.
    """
    return int_field(action.event, "error_code") == MEMBER_ID_REQUIRED or "MEMBER_ID_REQUIRED" in (action.why or "")


def doubt_us(expiry: MemberAction) -> int:
    """How much earlier a session may have ended, in microseconds."""
    return int_field(expiry.event, "doubt_us") or 0


def is_given_id(action: MemberAction) -> bool:
    """Whether a client is given its first id, and so is new."""
    return has_only_given_id(action) or (action.why or "").startswith(GIVEN_ID)


def says_unknown_member(action: MemberAction) -> bool:
    """Whether a member hears that the coordinator no longer knows it."""
    return action.kind is ActionKind.FENCED and any(words in f"{action.why or ''}{action.event.text}" for words in _UNKNOWN)


def is_unknown_as_it_joins(action: MemberAction) -> bool:
    """Whether a JoinGroup is refused as its member is known no more."""
    return action.kind is ActionKind.JOIN_FAILED and any(words in (action.why or "") for words in _UNKNOWN)


def is_unknown_as_it_leaves(action: MemberAction) -> bool:
    """Whether a LeaveGroup is refused as its member is known no more."""
    return action.kind is ActionKind.LEAVE_ANSWERED and any(words in (action.why or "") for words in _UNKNOWN)


def says_session_over(action: MemberAction) -> bool:
    """Whether no heartbeat of a client was answered for a session."""
    why = (action.why or "").lower()
    return any(words in why for words in _SESSION_OVER)


def says_old_generation(action: MemberAction) -> bool:
    """Whether a member hears that the group has another generation than its own."""
    return action.kind is ActionKind.FENCED and any(words in (action.why or "") for words in _OLD_GENERATION)


def gives_up_some(revocation: MemberAction) -> bool:
    """Whether a revocation is of any partition, as far as its line says.

    A first join has nothing to give up (clients before 2.4 print the empty list).
    """
    return "partitions" not in revocation.event.fields or bool(names_field(revocation.event, "partitions"))


def says_group_went_on(action: MemberAction) -> bool:
    """Whether a refused commit says that the group went on without its member."""
    return action.kind is ActionKind.COMMIT_REFUSED and any(words in (action.why or "") for words in (*_UNKNOWN, _HAS_REBALANCED))


def ends_ownership(action: MemberAction) -> bool:
    """Whether a member's time with its partitions is over, as the group goes on."""
    return says_group_went_on(action) or (action.kind in {ActionKind.REVOKE, ActionKind.LOST} and gives_up_some(action))


def stays_till_expiry(action: MemberAction) -> bool:
    """Whether a static member polled too late, which sends no LeaveGroup.

    It is a member until its session ends (AbstractCoordinator.maybeLeaveGroup since 2.3, KIP-345; rd_kafka_cgrp_leave_maybe).
    """
    return action.kind is ActionKind.POLL_TIMEOUT and action.instance_id is not None


def would_tell_of_leading(action: MemberAction) -> bool:
    """Whether a member that gets its assignment tells if it made it.

    Consumers in Java do, at the same level (ConsumerCoordinator.onLeaderElected since 2.4); workers of Connect and registries don't.
    """
    protocol = text_field(action.event, "protocol")
    return action.event.message == _SYNCED and protocol is not None and protocol not in _OF_SILENT_LEADERS


_SYNCED = "kafka.client.synced"
_OF_SILENT_LEADERS = frozenset({"default", "compatible", "sessioned", "v0", "v1"})
"""Protocols of Connect (ConnectProtocolCompatibility) and Schema Registry."""

TOLD_OUT = frozenset({"ClientGenerationReset", "ClientHeartbeatFailed"})
"""Events by which a member hears that it is out of its group."""

_HAS_REBALANCED = "the group has already rebalanced"
"""In the text of a CommitFailedException, and of kafka-python's CommitFailedError."""

_SESSION_OVER = ("session timed out", "session expired")
"""Words of the Java client (AbstractCoordinator.HeartbeatThread) and kafka-python."""

_OLD_GENERATION = ("ILLEGAL_GENERATION", "IllegalGeneration")

_UNKNOWN = ("UNKNOWN_MEMBER_ID", "not aware of this member", "UnknownMemberId")


def arrived_at(event: Event) -> int:
    """Arrival of a request at the broker.

    The time of its answer minus the total time (RequestChannel.scala).
    """
    return event.time_us - _spent(event, "total_ms")


def handled_at(event: Event) -> int:
    """Time at which the broker took a request from its queue."""
    return min(arrived_at(event) + _spent(event, "request_queue_ms"), event.time_us)


def answered_at(event: Event) -> int:
    """Time at which the answer was ready; it is logged once sent."""
    return max(event.time_us - _spent(event, "response_queue_ms") - _spent(event, "send_ms"), arrived_at(event))


def has_waited(event: Event) -> bool:
    """Whether the answer had to wait for something else."""
    return answered_at(event) - handled_at(event) >= PARKED_US


def is_taken_unanswered(event: Event) -> bool:
    """Whether the coordinator took the request, and its answer timed out.

    Since 4.0 an answer waits until earlier records of the partition are replicated. A member's session goes on, and its join counts,
    though the answer is that the coordinator is not available (CoordinatorRuntime.scheduleWriteOperation, OperationTimeout).
    """
    return int_field(event, "error_code") == COORDINATOR_NOT_AVAILABLE and has_waited(event)


def _spent(event: Event, name: str) -> int:
    spent = event.fields.get(name)
    return int(spent * US_PER_MS) if isinstance(spent, (int, float)) else 0


def _action(event: Event, kind: ActionKind, *, at: int | None = None, member_id: str | None = None, why: str | None = None) -> MemberAction:
    when = at if at is not None else event.time_us
    return MemberAction(kind, when, member_id or event.member_id or None, event.client_id, event.instance_id, why, event.generation, event)


def _simple(kind: ActionKind, why: str | None = None) -> Callable[[Event], list[MemberAction]]:
    """Convert an event to one action.

    `why` names the field with the reason.
    """
    return lambda event: [_action(event, kind, why=text_field(event, why) if why else None)]


def _each_member(kind: ActionKind) -> Callable[[Event], list[MemberAction]]:
    return lambda event: [_action(event, kind, member_id=member_id) for member_id in names_field(event, "members")]


def _join_sent(event: Event) -> list[MemberAction]:
    kind = ActionKind.REJOIN if event.member_id else ActionKind.JOIN
    return [_action(event, kind, why=text_field(event, "reason"))]


def _join_completed(event: Event) -> list[MemberAction]:
    """JoinGroup in the request log.

    The arrival is the action; the answer contains the member id and the generation.
    """
    if int_field(event, "error_code") == LOAD_IN_PROGRESS:
        return []  # the coordinator had not loaded the group yet
    asked_as = text_field(event, "request_member_id")
    actions = [
        _action(
            event,
            ActionKind.REJOIN if asked_as else ActionKind.JOIN,
            at=arrived_at(event),
            member_id=asked_as,
            why=text_field(event, "reason"),
        )
    ]
    generation = int_field(event, "response_generation")
    if int_field(event, "error_code") == 0 and generation is not None and generation >= 0:
        actions.append(
            MemberAction(ActionKind.JOINED, actions[0].at, event.member_id, event.client_id, event.instance_id, None, generation, event)
        )
    return actions


def _leave_completed(event: Event) -> list[MemberAction]:
    if int_field(event, "error_code") not in (0, None) and not is_taken_unanswered(event):
        return []
    members = names_field(event, "members") or [event.member_id or ""]
    return [_action(event, ActionKind.LEAVE, at=arrived_at(event), member_id=member, why=text_field(event, "reason")) for member in members]


def _heartbeat_completed(event: Event) -> list[MemberAction]:
    kind = _HEARTBEAT_ERRORS.get(int_field(event, "error_code") or 0)
    return [_action(event, kind)] if kind else []


_HEARTBEAT_ERRORS = {
    22: ActionKind.REBALANCE_NOTICED,
    25: ActionKind.FENCED,
    27: ActionKind.REBALANCE_NOTICED,
    30: ActionKind.DENIED,
    82: ActionKind.FENCED,
}
"""What the answer to a heartbeat tells, by its error (protocol/Errors.java)."""


def _heartbeat_failed(event: Event) -> list[MemberAction]:
    """A heartbeat that a client could not send, or that was refused."""
    error = text_field(event, "error")
    if "COORDINATOR" in (error or ""):
        return [_action(event, ActionKind.LOST_COORDINATOR, why=error)]  # which does not tell of the member
    is_denied = any(words in (error or "").upper() for words in ("AUTHORIZATION", "AUTHENTICATION"))
    return [_action(event, ActionKind.DENIED if is_denied else ActionKind.FENCED, why=error)]


def _troubled(event: Event) -> list[MemberAction]:
    """A connection that TLS or SASL ends, as good as a denied request."""
    return [_action(event, ActionKind.DENIED)] if text_field(event, "trouble") == "not_authenticated" else []


def _leave_answered(event: Event) -> list[MemberAction]:
    error = text_field(event, "error")
    return [_action(event, ActionKind.LEAVE_UNANSWERED if error == "unanswered" else ActionKind.LEAVE_ANSWERED, why=error)]


def _polled_late(event: Event) -> list[MemberAction]:
    """A late poll, by its timer; or the return of who polls again.

    AbstractHeartbeatRequestManager.resetPollTimer.
    """
    kind = ActionKind.JOIN if event.message == "kafka.client.polled_too_late" else ActionKind.POLL_TIMEOUT
    return [_action(event, kind)]


def _sync_completed(event: Event) -> list[MemberAction]:
    code = int_field(event, "error_code")
    return [_action(event, ActionKind.SYNC_FAILED, why=SYNC_ERRORS.get(code, str(code)))] if code else []


def _received(event: Event) -> list[MemberAction]:
    """A request at its arrival (TRACE).

    A crash may prevent the answer to these joins and leaves.
    """
    api = text_field(event, "api")
    asked_as = text_field(event, "request_member_id")
    if api == "JOIN_GROUP":
        return [_action(event, ActionKind.REJOIN if asked_as else ActionKind.JOIN, member_id=asked_as, why=text_field(event, "reason"))]
    return []


_READERS: dict[str, Callable[[Event], list[MemberAction]]] = {
    "MemberFailed": _simple(ActionKind.EXPIRE),
    "MemberLeft": _simple(ActionKind.LEAVE, "client_reason"),
    "MembersNotRejoined": _each_member(ActionKind.EVICT),
    "SyncMissing": _each_member(ActionKind.SYNC_MISSED),
    "MemberIdHandedOut": _simple(ActionKind.ID_HANDED_OUT),
    "PendingMemberJoined": _simple(ActionKind.JOIN),
    "PendingMemberExpired": _simple(ActionKind.ID_EXPIRED),
    "MemberAdded": _simple(ActionKind.JOIN),
    "StaticMemberReplaced": _simple(ActionKind.REPLACE),
    "JoinGroupCompleted": _join_completed,
    "LeaveGroupCompleted": _leave_completed,
    "SyncGroupCompleted": _sync_completed,
    "HeartbeatCompleted": _heartbeat_completed,
    "RequestReceived": _received,
    "GroupAccessDenied": _simple(ActionKind.DENIED),
    "ClientSubscribed": _simple(ActionKind.SUBSCRIBE),
    "ClientUnsubscribed": _simple(ActionKind.UNSUBSCRIBE),
    "ClientJoinSent": _join_sent,
    "ClientJoined": _simple(ActionKind.JOINED),
    "ClientJoinFailed": _simple(ActionKind.JOIN_FAILED, "error"),
    "ClientSynced": _simple(ActionKind.SYNCED),
    "ClientSyncFailed": _simple(ActionKind.SYNC_FAILED, "error"),
    "ClientLeaveSent": _simple(ActionKind.LEAVE, "why"),
    "ClientLeaveAnswered": _leave_answered,
    "ClientPollTimedOut": _polled_late,
    "ClientHeartbeatRebalancing": _simple(ActionKind.REBALANCE_NOTICED),
    "ClientHeartbeatFailed": _heartbeat_failed,
    "ClientGenerationReset": _simple(ActionKind.FENCED, "why"),
    "ClientRejoinRequested": _simple(ActionKind.WANTS_REJOIN, "why"),
    "ClientCoordinatorFound": _simple(ActionKind.START),
    "ClientCoordinatorLost": _simple(ActionKind.LOST_COORDINATOR, "why"),
    "ClientRevoked": _simple(ActionKind.REVOKE),
    "ClientLost": _simple(ActionKind.LOST),
    "ClientAssigned": _simple(ActionKind.ASSIGNED),
    "ClientStepEnded": _simple(ActionKind.STEP),
    "ClientClosed": _simple(ActionKind.CLOSE),
    "ClientCommitFailed": _simple(ActionKind.COMMIT_REFUSED, "error"),
    "ClientTroubled": _troubled,
}


def actions_in(event: Event) -> list[MemberAction]:
    """Return the actions in an event, empty for other events."""
    reader = _READERS.get(event.name)
    return reader(event) if reader else []
