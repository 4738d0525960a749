"""Assignment of lines to rebalances, with their role as cause or effect."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from models.event_kinds import EVENTS
from models.events import Event, Witness
from models.rows import Person, Rebalance
from models.tolerances import int_tolerance
from models.units import US_PER_SECOND

_NEAR_US = int_tolerance("incidents.line_placement.near_us")
"""Maximum distance of client lines from the rebalance they are about.

Clocks differ, and heartbeats are in between.
"""

BEHIND_US = int_tolerance("incidents.line_placement.behind_us")
"""Maximum time from a broker's line to its effect on groups.

Sessions run out in between.
"""

CAUSES = frozenset(
    {
        "MemberFailed", "MemberLeft", "MemberAdded", "MemberIdHandedOut", "PendingMemberJoined", "PendingMemberExpired",
        "StaticMemberReplaced", "RebalanceStarted", "SyncMissing", "GroupStoreFailed", "GroupDied", "GroupConverted",
        "ClientSubscribed", "ClientUnsubscribed", "ClientClosed", "ClientLeaveSent", "ClientPollTimedOut", "ClientStarted",
        "ClientConfigured", "ClientRejoinRequested", "ClientCoordinatorFound", "ClientDisconnected", "ClientFenced",
        "LeaveGroupCompleted", "DeleteGroupsCompleted", "FindCoordinatorCompleted",
        "ModernMemberJoined", "ModernMemberLeft", "ModernMemberFenced", "ModernSubscriptionChanged", "SubscriptionMetadataChanged",
    }
)  # fmt: skip
"""Lines that cause rebalances if their member is an offender.

Joins are distinguished by their member.
"""

JOINS = frozenset({"ClientJoining", "ClientJoinSent", "JoinGroupCompleted", "RequestReceived"})

EFFECTS_OF_OTHERS = ("group is already rebalancing", "rebalance failed due to", "rebalance_in_progress")
"""Reasons of a rejoin that another member caused."""

_OLD_GENERATION = frozenset({"RebalanceStarted", "ClientHeartbeatFailed", "HeartbeatCompleted", "OffsetCommitCompleted"})
"""Events that carry the generation before the rebalance."""

_OF_PROCESSES = frozenset({"KafkaVersion", "ClusterId"})
"""Events of a client's process, whatever its group does."""

_OUT_OF_GENERATION = ("unknown_member", "illegal_generation", "not aware of this member", "not the current generation")
"""Words of answers to a member of an old generation (Errors.java)."""

_ANSWERED = frozenset({"ClientHeartbeatFailed", "ClientCommitFailed", "ClientSyncFailed", "ClientJoinFailed"})
"""Events in which such answers stand."""

_BEHIND = {
    "BrokerStopping": ("coordinator_failover", "broker_outage"),
    "BrokerStopped": ("coordinator_failover", "broker_outage"),
    "BrokerStarting": ("coordinator_failover", "broker_outage"),
    "BrokersFailed": ("coordinator_failover", "broker_outage"),
    "BrokerFenced": ("coordinator_failover", "broker_outage"),
    "BrokersChanged": ("coordinator_failover", "broker_outage"),
    "PartitionLoaded": ("coordinator_failover", "broker_outage"),
    "PartitionUnloaded": ("coordinator_failover", "broker_outage"),
    "TopicCreated": ("metadata_change",),
    "PartitionsAdded": ("metadata_change",),
    "TopicDeleted": ("metadata_change",),
    "PartitionCreated": ("metadata_change",),
    "IsrChanged": ("assignment_store_failed",),
}
"""Causes or root causes explained by lines of brokers."""


class RoleReason(StrEnum):
    """Why a line has its role; `pipelines.headlines.line_roles` has the words."""

    STATIC_RETURN = "static_return"
    STATIC_TAKEOVER = "static_takeover"
    NO_REBALANCE_THEN = "no_rebalance_then"
    NO_GROUP = "no_group"
    NO_KNOWN_LINE = "no_known_line"
    UNKNOWN_MEANING = "unknown_meaning"
    ANNOUNCEMENT = "announcement"
    REJOIN_OF_REBALANCING = "rejoin_of_rebalancing"
    OWN_JOIN = "own_join"
    ANSWER = "answer"
    OWN_ACTION = "own_action"
    COORDINATOR_REACTION = "coordinator_reaction"
    ACTION_OF_ANOTHER = "action_of_another"
    CONSEQUENCE = "consequence"
    BROKER_EVENT = "broker_event"


class RowReason(StrEnum):
    """Why a line belongs to a rebalance."""

    EVIDENCE = "evidence"
    GENERATION = "generation"
    JUST_BEFORE = "just_before"
    TIME = "time"
    HEARD_LATER = "heard_later"


_CALM = {"StaticMemberKept": RoleReason.STATIC_RETURN, "StaticMemberReplaced": RoleReason.STATIC_TAKEOVER}
"""Reasons of lines that made a rebalance unnecessary."""


@dataclass(frozen=True, slots=True)
class LineRole:
    """Role of a line: cause, effect, behind or apart, with the reason.

    `row_reason` is why it belongs to the rebalance. `cause` and `following_count` are those of rebalances behind which a
    broker's line stands.
    """

    part: str
    row: Rebalance | None
    reason: RoleReason
    row_reason: RowReason | None = None
    group: str | None = None
    generation: int | None = None
    cause: str | None = None
    following_count: int = 0


def place_line(event: Event, rows: Iterable[Rebalance]) -> LineRole:
    """Find the rebalance of a recognised line within its cluster."""
    at = event.time_us
    if event.name == "StaticMemberKept":
        return LineRole("apart", None, _CALM[event.name])
    if event.group is None:
        rows = list(rows)
        groups = _groups_of_client(event, at, rows) if event.witness is Witness.CLIENT else set()
        if len(groups) != 1:
            return _behind(event, at, rows)
        event = replace(event, group=groups.pop())
    group_rows = sorted((row for row in rows if row.group == event.group), key=lambda row: row.began)
    row, row_reason = _row_of(event, at, group_rows)
    if row is None or (event.name in _CALM and not _is_behind(event, row)):
        return LineRole("apart", None, _CALM.get(event.name, RoleReason.NO_REBALANCE_THEN), group=event.group)
    part, reason = _part(event, at, row)
    return LineRole(part, row, reason, row_reason, event.group, event.generation)


def _over(row: Rebalance) -> int | None:
    return row.ended_at if row.ended_at is not None else None if row.outcome == "open" else row.joined_at


def _row_of(event: Event, at: int, rows: Sequence[Rebalance]) -> tuple[Rebalance | None, RowReason | None]:
    named = [row for row in rows if _stands_on(row, event)]
    if named:
        return min(named, key=lambda row: abs(row.began - at)), RowReason.EVIDENCE
    made = _by_generation(event, at, rows)
    if made is not None:
        return made, RowReason.GENERATION
    if event.name in CAUSES or event.name in JOINS:
        following = next((row for row in rows if 0 <= row.began - at <= _NEAR_US and _is_behind(event, row)), None)
        if following is not None:
            return following, RowReason.JUST_BEFORE
    near = [(away, -row.began, row) for row in rows if (away := _away(row, at)) is not None]
    if near:
        return min(near, key=lambda row: row[:2])[2], RowReason.TIME
    earlier = [row for row in rows if row.began <= at] if _is_out(event) else []
    return (earlier[-1], RowReason.HEARD_LATER) if earlier else (None, None)


def _is_out(event: Event) -> bool:
    """Whether a client hears that its group went on without it, however late."""
    error = str(event.fields.get("error") or "").lower()
    return event.name == "ClientLost" or (event.name in _ANSWERED and any(words in error for words in _OUT_OF_GENERATION))


def _groups_of_client(event: Event, at: int, rows: Sequence[Rebalance]) -> set[str]:
    """Groups that a client's line without a group may be about.

    Groups of verdicts with this line, otherwise groups with the client as offender, otherwise those of verdicts with other lines of
    its log.
    """
    standing = {row.group for row in rows if _stands_on(row, event)}
    if standing:
        return standing
    near = [row for row in rows if _away(row, at) is not None]
    acted = {row.group for row in near if _is_behind(event, row)}
    if acted or event.name in _OF_PROCESSES:
        return acted
    return {
        row.group for row in near if any(line.file == event.place.file and _mentions(line.text, event.client_id) for line in row.evidence)
    }


def _mentions(text: str, client: str | None) -> bool:
    """Whether a line names a client, if the client has a name."""
    return client is None or re.search(rf"(?<![\w.-]){re.escape(client)}(?![\w.-])", text) is not None


def _stands_on(row: Rebalance, event: Event) -> bool:
    return any(line.file == event.place.file and line.line == event.place.line for line in row.evidence)


def _away(row: Rebalance, at: int) -> int | None:
    """Microseconds between a time and a rebalance, None if too far.

    0 within the rebalance.
    """
    over = _over(row)
    before, after = row.began - at, at - over if over is not None else 0
    return max(before, after, 0) if before <= US_PER_SECOND and after <= _NEAR_US else None


def _by_generation(event: Event, at: int, group_rows: Sequence[Rebalance]) -> Rebalance | None:
    """Rebalance with the line's generation; the nearest if there are several.

    A group that was deleted and created again has several.
    """
    if event.generation is None or event.generation < 0:
        return None
    if event.name in _OLD_GENERATION:
        rows = [row for row in group_rows if row.generation_before == event.generation]
    else:
        rows = [row for row in group_rows if row.generation_after == event.generation]
    nearest = min(rows, key=lambda row: abs(row.began - at), default=None)
    if nearest is None or event.name not in {"HeartbeatCompleted", "OffsetCommitCompleted"}:
        return nearest
    over = _over(nearest)
    inside = nearest.began - _NEAR_US <= at and (over is None or at <= over + _NEAR_US)
    return nearest if inside else None


def _part(event: Event, at: int, row: Rebalance) -> tuple[str, RoleReason]:
    """Role of the line within its rebalance, and the reason."""
    if event.name == "RebalanceStarted":
        return "cause", RoleReason.ANNOUNCEMENT
    acted = _is_behind(event, row)
    reason = f"{event.fields.get('why', '')} {event.fields.get('reason', '')}".lower()
    if any(words in reason for words in EFFECTS_OF_OTHERS):
        return "effect", RoleReason.REJOIN_OF_REBALANCING
    in_time = row.joined_at is None or at <= row.joined_at + US_PER_SECOND
    if event.name in JOINS:
        starts = acted and row.cause in {"new_group", "member_join", "member_restart"} and in_time
        return ("cause", RoleReason.OWN_JOIN) if starts else ("effect", RoleReason.ANSWER)
    if event.name in CAUSES and in_time:
        if acted:
            return "cause", RoleReason.OWN_ACTION
        if event.witness is Witness.COORDINATOR and not _who(event):
            return "cause", RoleReason.COORDINATOR_REACTION
        return "effect", RoleReason.ACTION_OF_ANOTHER
    return "effect", RoleReason.CONSEQUENCE


def _who(event: Event) -> set[str]:
    return {name for name in (event.member_id, event.client_id, event.instance_id) if name}


def _is_behind(event: Event, row: Rebalance) -> bool:
    return any(_who(event) & _names(person) for person in row.offenders)


def _names(person: Person) -> set[str]:
    return {name for name in (person.member_id, person.client_id, person.instance_id) if name}


def _behind(event: Event, at: int, rows: Iterable[Rebalance]) -> LineRole:
    """Place a line of a broker, which names no group."""
    wanted = _BEHIND.get(event.name, ())
    following = [row for row in rows if 0 <= row.began - at <= BEHIND_US and {row.cause, row.root_cause} & set(wanted)]
    if not following:
        return LineRole("apart", None, RoleReason.NO_GROUP)
    first = min(following, key=lambda row: row.began)
    cause = first.root_cause if first.root_cause in wanted else first.cause
    return LineRole("behind", first, RoleReason.BROKER_EVENT, group=first.group, cause=cause, following_count=len(following))


def meaning_of(event: Event) -> str:
    """Meaning of a line's event."""
    kind = EVENTS.get(event.name)
    return kind.meaning if kind is not None else ""
