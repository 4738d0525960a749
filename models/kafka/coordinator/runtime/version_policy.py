"""How coordinators differ by version, as data: what a handler asks for is a field here, never a version number."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.runtime.offsets_log import JAVA_ERRORS, SCALA_ERRORS, WriteErrors


class Extension(Enum):
    """When a new member prolongs the initial delay (addMemberAndRebalance, addMemberThenRebalanceOrCompleteJoin)."""

    WHILE_GENERATION_IS_0 = 0
    AFTER_EMPTY = 1


class SizeLimit(Enum):
    """How group.max.size is applied (handleJoinGroup, acceptJoiningMember)."""

    NONE = 0
    BY_MEMBERS = 1
    """Full for newcomers; an oversized group sheds members that have not rejoined yet."""
    BY_WAITING = 2
    """During a join phase those that wait count, otherwise the members."""


class Swap(Enum):
    """What the return of a static member under a new id does (updateStaticMemberAndRebalance)."""

    ANSWER = 0
    """Answered at once with the present generation."""
    VOTE = 1
    """Answered at once unless another protocol would win now; then a rebalance."""
    REBALANCE = 2


class EpochGuard(Enum):
    """Which orders to load or to give up a partition are heeded, by the epoch of its leadership that they name."""

    NONE = 0
    NOT_OLDER = 1
    """Those of the latest epoch or a later one, also once the partition has been given up (maybeUpdateCoordinatorEpoch)."""
    NEWER = 2
    """Those of a later epoch than what is loaded is of (scheduleLoadOperation, scheduleUnloadOperation)."""


class Retention(Enum):
    """What the retention of an offset is counted from (removeExpiredOffsets, offsetExpirationCondition)."""

    PER_OFFSET = 0
    """From its commit, whatever becomes of the group."""
    PER_GROUP = 1
    """KIP-211: from when the group became empty; from the commit for groups without a protocol type."""
    PER_SUBSCRIPTION = 2
    """And from the commit in groups with members, for topics that none of them subscribes to."""
    PER_STABLE_SUBSCRIPTION = 3
    """The same, but only while the group is Stable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One version's coordinator. The defaults are those of 1.1; `_SINCE` says what changed when."""

    version: str = "1.1"
    is_java: bool = False
    """Whether it is the coordinator written anew in Java."""

    # Who may be a member.
    hands_out_member_ids: bool = False
    """A newcomer is given an id and must come back with it (KIP-394); the group waits for ids that are out."""
    knows_static_members: bool = False
    """KIP-345: ids outlive members, absent static members stay in the group, the leader is elected anew if absent."""
    size_limit: SizeLimit = SizeLimit.NONE
    size_refusal_forgets_pending: bool = False
    """Whether a refused pending id is no longer waited for (GroupMetadata.remove)."""
    limits_first_join: bool = False
    """Whether a new member's parked join is given up after five minutes (NewMemberJoinTimeoutMs)."""
    refuses_unmapped_instance: bool = False
    """Whether an instance id must be known if it is given (validateCurrentMember), not only not be another member's."""
    dead_group: Error = Error.UNKNOWN_MEMBER_ID
    """The answer where the group was just removed or handed over."""
    max_session_ms: int = 300_000
    """Default of group.max.session.timeout.ms."""

    # Join phase.
    extension: Extension = Extension.WHILE_GENERATION_IS_0
    expiry_cuts_initial_delay: bool = False
    """Whether an expiry during the initial delay ends the phase if all others have joined (removeMemberAndUpdateClassicGroup)."""
    any_join_completes: bool = True
    """Whether every JoinGroup ends with an attempt to complete the phase, refused ones too (handleJoinGroup)."""
    second_wait_is_initial: bool = False
    """Whether a phase that nobody rejoined still counts as initial when it is prolonged (previousState)."""
    rejoin_updates_timeouts: bool = False
    replaced_stays_new: bool = True
    """Whether the replacement of a static member that never finished a join is as new as that one (replaceGroupInstance)."""
    swap_in_stable: Swap = Swap.ANSWER
    swap_in_completing: Swap = Swap.ANSWER
    skips_assignment: bool = False
    """A returning static leader is told so, and that it need not assign (KIP-814)."""
    absentees_keep_timers: bool = True
    """Whether the timers of members that a join phase drops stay queued."""

    # SyncGroup.
    limits_sync: bool = False
    """Whether members that don't send SyncGroup in time are removed (schedulePendingSync)."""
    sync_needs_members: bool = False
    """Whether the end of that time fails over ids that are members no more (onExpirePendingSync)."""
    checks_sync_protocol: bool = False
    missing_protocol_differs: bool = True
    """Whether a protocol in SyncGroup is inconsistent with a group that has none yet (isProtocolInconsistent)."""
    stable_sync_renews: bool = True
    """Whether SyncGroup in a Stable group renews the session."""

    # Heartbeat, LeaveGroup.
    accepts_heartbeat_while_completing: bool = False
    checks_state_first: bool = True
    """Whether CompletingRebalance is answered before generation (Heartbeat) and membership (OffsetCommit) are looked at."""
    leaves_in_one_step: bool = False
    """Whether a batch of leaves is followed by one rebalance step, not by one for each (classicGroupLeaveToClassicGroup)."""
    tells_leave_last: bool = False
    """Whether a leave is announced after the rebalance that it begins."""
    instance_decides_leaver: bool = False
    """Whether a known instance id says who leaves, and one with a pending id is a fault (handleLeaveGroup until 2.8)."""
    pending_leave_ends_timer: bool = False

    # Offsets.
    commit_to_unknown_group: Error = Error.ILLEGAL_GENERATION
    """OffsetCommit v9 with a generation; older requests always get ILLEGAL_GENERATION."""
    transaction_makes_group: bool = True
    """Whether TxnOffsetCommit makes a group that is not there even if it names a generation (getOrMaybeCreateGroup)."""
    checks_transactional_member: bool = False
    """Whether offsets in a transaction are taken from present members only (KIP-447)."""
    knows_stable_offsets: bool = False
    """Whether OffsetFetch can ask for stable offsets (KIP-447)."""
    transactions_hold_expiry: bool = False
    """Whether an offset that a transaction may replace can't expire meanwhile (cleanupExpiredOffsets)."""
    tells_idle_clean_up: bool = True
    """Whether a clean-up is announced that found nothing (cleanupGroupMetadata)."""
    retention: Retention = Retention.PER_OFFSET
    retention_ms: int = 86_400_000
    """Default of offsets.retention.minutes."""

    # Writing and loading.
    write_errors: WriteErrors = SCALA_ERRORS
    stores_new_groups: bool = False
    """Whether a group is written as soon as it exists (newEmptyGroupMetadataRecord)."""
    stores_static_swap: bool = False
    """Whether the return of a static member is written before it is answered (KAFKA-9801)."""
    stores_state_time: bool = False
    """Whether the moment since when a group is in its state is written (KIP-211)."""
    epoch_guard: EpochGuard = EpochGuard.NONE
    is_owned_while_loading: bool = False
    """Whether requests of that time are told to wait, not to look elsewhere (validateGroupStatus)."""

    # Timers.
    excused_have_no_timer: bool = True
    """Whether renewing the session of a member with a parked request queues nothing (tryCompleteElseWatch)."""


_SINCE: tuple[tuple[str, dict[str, Any]], ...] = (
    ("2.0", {"absentees_keep_timers": False, "retention_ms": 604_800_000, "is_owned_while_loading": True}),
    ("2.1", {"retention": Retention.PER_GROUP, "stores_state_time": True}),
    ("2.1.1", {"limits_first_join": True}),
    ("2.2", {"hands_out_member_ids": True, "size_limit": SizeLimit.BY_MEMBERS}),
    (
        "2.3",
        {
            "knows_static_members": True,
            "dead_group": Error.COORDINATOR_NOT_AVAILABLE,
            "max_session_ms": 1_800_000,
            "checks_state_first": False,
        },
    ),
    ("2.4", {"retention": Retention.PER_SUBSCRIPTION, "instance_decides_leaver": True}),
    (
        "2.5",
        {
            "swap_in_completing": Swap.REBALANCE,
            "checks_sync_protocol": True,
            "checks_transactional_member": True,
            "knows_stable_offsets": True,
        },
    ),
    ("2.6", {"size_limit": SizeLimit.BY_WAITING}),
    ("2.6.1", {"swap_in_stable": Swap.VOTE, "accepts_heartbeat_while_completing": True, "stores_static_swap": True}),
    ("2.7", {"tells_idle_clean_up": False}),
    ("2.8", {"retention": Retention.PER_STABLE_SUBSCRIPTION}),
    ("2.8.1", {"limits_sync": True, "sync_needs_members": True, "epoch_guard": EpochGuard.NOT_OLDER}),
    (
        "3.0",
        {
            "refuses_unmapped_instance": True,
            "size_refusal_forgets_pending": True,
            "instance_decides_leaver": False,
            "sync_needs_members": False,
            "tells_leave_last": True,
        },
    ),
    ("3.2", {"skips_assignment": True}),
    ("3.4", {"rejoin_updates_timeouts": True}),
)

# The coordinator written anew in Java: opt-in from 3.7 (KRaft only), the only one since 4.0.
_JAVA: dict[str, Any] = {
    "is_java": True,
    "tells_leave_last": False,
    "extension": Extension.AFTER_EMPTY,
    "expiry_cuts_initial_delay": True,
    "any_join_completes": False,
    "second_wait_is_initial": True,
    "replaced_stays_new": False,
    "missing_protocol_differs": False,
    "stable_sync_renews": False,
    "leaves_in_one_step": True,
    "pending_leave_ends_timer": True,
    "commit_to_unknown_group": Error.GROUP_ID_NOT_FOUND,
    "excused_have_no_timer": False,
    "transaction_makes_group": False,
    "transactions_hold_expiry": True,
    "tells_idle_clean_up": True,
    "write_errors": JAVA_ERRORS,
    "stores_new_groups": True,
    "epoch_guard": EpochGuard.NEWER,
}
JAVA_SINCE = (4, 0)


def policy_for(version: str, *, java: bool | None = None) -> Policy:
    """The coordinator of a Kafka version, such as "2.8.2" or "4.0". `java`: whether it is the new one; by default since 4.0."""
    number = parse_version(version)
    changes: dict[str, Any] = {}
    for since, changed in _SINCE:
        if parse_version(since) <= number:
            changes |= changed
    if java or (java is None and number >= JAVA_SINCE):
        changes |= _JAVA
    return replace(Policy(), version=version, **changes)


@lru_cache(maxsize=256)
def parse_version(version: str) -> tuple[int, ...]:
    """Numbers of a version, without what follows them: "3.9.0-rc1" is (3, 9, 0), and (2, 8) comes before (2, 8, 1)."""
    found = re.match(r"\d+(?:\.\d+)*", version)
    if found is None:
        raise ValueError(f"not a version: {version!r}")
    return tuple(int(part) for part in found[0].split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The broker's settings that a coordinator looks at."""

    initial_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""
    min_session_ms: int = 6_000
    """group.min.session.timeout.ms"""
    max_session_ms: int = 1_800_000
    """group.max.session.timeout.ms"""
    max_size: int = 2**31 - 1
    """group.max.size"""
    new_member_join_timeout_ms: int = 300_000
    """A constant of the broker."""
    retention_ms: int = 604_800_000
    """offsets.retention.minutes"""
    retention_check_interval_ms: int = 600_000
    """offsets.retention.check.interval.ms"""
    commit_timeout_ms: int = 5_000
    """offsets.commit.timeout.ms; of all that a coordinator writes, not of commits alone"""


def default_settings(policy: Policy) -> Settings:
    """What a broker of this version has unless told otherwise."""
    return Settings(max_session_ms=policy.max_session_ms, retention_ms=policy.retention_ms)
