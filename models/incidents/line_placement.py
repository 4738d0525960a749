"""Which rebalance a line belongs to, and whether it is a cause of it or an effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from models.events import EVENTS, Event, Witness
from models.rows import Person, Rebalance
from models.units import US_PER_SECOND

NEAR_US = 5 * US_PER_SECOND
"""Clients write of a rebalance this long before it starts or after it ended: two clocks, and heartbeats between."""

BEHIND_US = 60 * US_PER_SECOND
"""What happens to brokers stands this long before what it does to groups: sessions run out meanwhile."""

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
"""Lines of deeds that start rebalances, if their member is behind the one at hand. Joins are told apart by whose they are."""

JOINS = frozenset({"ClientJoining", "ClientJoinSent", "JoinGroupCompleted", "RequestReceived"})

EFFECTS_OF_OTHERS = ("group is already rebalancing", "rebalance failed due to", "rebalance_in_progress")
"""Reasons by which a member rejoins because others made it."""

_OLD_GENERATION = frozenset({"RebalanceStarted", "ClientHeartbeatFailed", "HeartbeatCompleted", "OffsetCommitCompleted"})
"""Events whose generation is the one before the rebalance."""

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
"""Lines of brokers, and causes or root causes that they stand behind."""


_CALM = {
    "StaticMemberKept": "a static member came back within its session timeout, unchanged, so that nobody had to rebalance (KIP-345)",
    "StaticMemberReplaced": "a static member came back within its session timeout and took its place; no rebalance followed (KIP-345)",
}
"""What lines tell that belong to no rebalance because they made one needless."""


@dataclass(frozen=True, slots=True)
class Placed:
    """The place of a line. `part`: cause, effect, behind, apart. `why` says how that is known."""

    part: str
    row: Rebalance | None
    why: str


def place(event: Event, rows: Iterable[Rebalance]) -> Placed:
    """Find the rebalance that a recognised line belongs to, among those of its cluster."""
    at = event.time_us
    if event.name == "StaticMemberKept":
        return Placed("apart", None, _CALM[event.name])
    if event.group is None:
        rows = list(rows)
        groups = _groups_of_client(event, at, rows) if event.witness is Witness.CLIENT else set()
        if len(groups) != 1:
            return _behind(event, at, rows)
        event = replace(event, group=groups.pop())
    own = sorted((row for row in rows if row.group == event.group), key=lambda row: row.began)
    row, known_by = _row_of(event, at, own)
    if row is None or (event.name in _CALM and not _is_behind(event, row)):
        return Placed("apart", None, _CALM.get(event.name, f"no rebalance of {event.group} was going on then"))
    part, why = _part(event, at, row)
    return Placed(part, row, f"{why}; {known_by}")


def _over(row: Rebalance) -> int | None:
    return row.ended_at if row.ended_at is not None else None if row.outcome == "open" else row.joined_at


def _row_of(event: Event, at: int, own: Sequence[Rebalance]) -> tuple[Rebalance | None, str]:
    named = [row for row in own if _stands_on(row, event)]
    if named:
        return min(named, key=lambda row: abs(row.began - at)), "its verdict stands on this line"
    made = _by_generation(event, at, own)
    if made is not None:
        return made, f"it speaks of generation {event.generation}"
    if event.name in CAUSES or event.name in JOINS:
        following = next((row for row in own if 0 <= row.began - at <= NEAR_US and _is_behind(event, row)), None)
        if following is not None:
            return following, "it stands just before the rebalance begins"
    near = [(away, -row.began, row) for row in own if (away := _away(row, at)) is not None]
    if near:
        return min(near, key=lambda each: each[:2])[2], "it stands in its time"
    return None, ""


def _groups_of_client(event: Event, at: int, rows: Sequence[Rebalance]) -> set[str]:
    """What a client's line may be about though it names no group: verdicts that stand on it, else what its client set off."""
    standing = {row.group for row in rows if _stands_on(row, event)}
    return standing or {row.group for row in rows if _is_behind(event, row) and _away(row, at) is not None}


def _stands_on(row: Rebalance, event: Event) -> bool:
    return any(line.file == event.place.file and line.line == event.place.line for line in row.evidence)


def _away(row: Rebalance, at: int) -> int | None:
    """Microseconds between a moment and the time of a rebalance, 0 within it; None where it is too far from it."""
    over = _over(row)
    before, after = row.began - at, at - over if over is not None else 0
    return max(before, after, 0) if before <= US_PER_SECOND and after <= NEAR_US else None


def _by_generation(event: Event, at: int, own: Sequence[Rebalance]) -> Rebalance | None:
    """Rebalances that left or made the generation of the line; with several lives of a group, the nearest."""
    if event.generation is None or event.generation < 0:
        return None
    if event.name in _OLD_GENERATION:
        found = [row for row in own if row.generation_before == event.generation]
    else:
        found = [row for row in own if row.generation_after == event.generation]
    nearest = min(found, key=lambda row: abs(row.began - at), default=None)
    if nearest is None or event.name not in {"HeartbeatCompleted", "OffsetCommitCompleted"}:
        return nearest
    over = _over(nearest)
    inside = nearest.began - NEAR_US <= at and (over is None or at <= over + NEAR_US)
    return nearest if inside else None


def _part(event: Event, at: int, row: Rebalance) -> tuple[str, str]:
    """Cause or effect."""
    if event.name == "RebalanceStarted":
        return "cause", "the coordinator says that it begins, and why"
    acted = _is_behind(event, row)
    said = f"{event.fields.get('why', '')} {event.fields.get('reason', '')}".lower()
    if any(words in said for words in EFFECTS_OF_OTHERS):
        return "effect", "the member rejoins because the group is rebalancing already"
    in_time = row.joined_at is None or at <= row.joined_at + US_PER_SECOND
    if event.name in JOINS:
        starts = acted and row.cause in {"new_group", "member_join", "member_restart"} and in_time
        return ("cause", "this member's join is what it is about") if starts else ("effect", "the member answers the rebalance")
    if event.name in CAUSES and in_time:
        if acted:
            return "cause", "this member's act is what it is about"
        if event.witness is Witness.COORDINATOR and not _who(event):
            return "cause", "it is what made the coordinator act"
        return "effect", "another member's act is what it is about"
    return "effect", "it follows from the rebalance"


def _who(event: Event) -> set[str]:
    return {name for name in (event.member_id, event.client_id, event.instance_id) if name}


def _is_behind(event: Event, row: Rebalance) -> bool:
    return any(_who(event) & _names(person) for person in row.offenders)


def _names(person: Person) -> set[str]:
    return {name for name in (person.member_id, person.client_id, person.instance_id) if name}


def _behind(event: Event, at: int, rows: Iterable[Rebalance]) -> Placed:
    """Lines of brokers name no group: what they may have done to groups."""
    wanted = _BEHIND.get(event.name, ())
    following = [row for row in rows if 0 <= row.began - at <= BEHIND_US and {row.cause, row.root_cause} & set(wanted)]
    if not following:
        return Placed("apart", None, "it names no group, and no rebalance that followed rests on it")
    first = min(following, key=lambda row: row.began)
    cause = first.root_cause if first.root_cause in wanted else first.cause
    count = f", and {len(following) - 1} more" if len(following) > 1 else ""
    return Placed("behind", first, f"it stands before {first.group}'s rebalance{count}, behind which is {str(cause).replace('_', ' ')}")


def meaning_of(event: Event) -> str:
    """What such a line means."""
    kind = EVENTS.get(event.name)
    return kind.meaning if kind is not None else ""
