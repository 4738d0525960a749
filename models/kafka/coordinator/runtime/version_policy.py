"""Differences between coordinator versions, as data.

Handlers ask for a field of the policy, never for a version number.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum
from functools import lru_cache
from typing import Any

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.runtime.offsets_log import JAVA_ERRORS, SCALA_ERRORS, WriteErrors


class Extension(Enum):
    """Condition for a new member to extend the initial delay.

    Source: addMemberAndRebalance, addMemberThenRebalanceOrCompleteJoin.
    """

    WHILE_GENERATION_IS_0 = 0
    AFTER_EMPTY = 1


class SizeLimit(Enum):
    """Application of group.max.size (handleJoinGroup, acceptJoiningMember)."""

    NONE = 0
    BY_MEMBERS = 1
    """Refuses new members; oversized groups refuse members that have not rejoined."""
    BY_WAITING = 2
    """During a join phase waiting members count, otherwise all members."""


class StaticReturn(Enum):
    """Effect of a static member's return with a new id.

    Source: updateStaticMemberAndRebalance.
    """

    ANSWER = 0
    """The current generation is sent at once."""
    VOTE = 1
    """As ANSWER if the protocol stays, otherwise a rebalance."""
    REBALANCE = 2


class EpochGuard(Enum):
    """Condition by leader epoch to obey an order to load or unload."""

    NONE = 0
    NOT_OLDER = 1
    """Orders of the latest or a later epoch, even after unloading (maybeUpdateCoordinatorEpoch)."""
    NEWER = 2
    """Orders of a later epoch than the loaded one.

    Source: scheduleLoadOperation, scheduleUnloadOperation.
    """


class Retention(Enum):
    """Start of an offset's retention (removeExpiredOffsets, offsetExpirationCondition)."""

    PER_OFFSET = 0
    """From its commit, regardless of the group."""
    PER_GROUP = 1
    """From when the group became empty (KIP-211).

    From the commit for groups without a protocol type.
    """
    PER_SUBSCRIPTION = 2
    """As PER_GROUP, and from the commit for topics without a subscribed member."""
    PER_STABLE_SUBSCRIPTION = 3
    """As PER_SUBSCRIPTION, but only while the group is Stable."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """Rules of one version's coordinator.

    The defaults are those of 1.1; `_SINCE` lists later changes.
    """

    version: str = "1.1"
    is_java: bool = False
    """Whether it is the coordinator in Java."""

    # Membership.
    hands_out_member_ids: bool = False
    """Whether new members get an id and must rejoin with it (KIP-394).

    The group waits for ids that were handed out.
    """
    knows_static_members: bool = False
    """Whether static membership is supported (KIP-345).

    Ids outlive members, absent static members stay in the group, and an absent leader is replaced.
    """
    size_limit: SizeLimit = SizeLimit.NONE
    size_refusal_forgets_pending: bool = False
    """Whether refusal for size discards a pending id (GroupMetadata.remove)."""
    limits_first_join: bool = False
    """Whether a new member's parked join expires after five minutes (NewMemberJoinTimeoutMs)."""
    refuses_unmapped_instance: bool = False
    """Whether an unknown instance id is refused (validateCurrentMember)."""
    dead_group: Error = Error.UNKNOWN_MEMBER_ID
    """Error for a group that was just removed or unloaded."""
    max_session_ms: int = 300_000
    """Default of group.max.session.timeout.ms."""

    # Join phase.
    extension: Extension = Extension.WHILE_GENERATION_IS_0
    expiry_cuts_initial_delay: bool = False
    """Whether a session expiry can end the initial delay early.

    It does if all other members have joined (removeMemberAndUpdateClassicGroup).
    """
    any_join_completes: bool = True
    """Whether every JoinGroup, even a refused one, tries to complete the phase.

    Source: handleJoinGroup.
    """
    second_wait_is_initial: bool = False
    """Whether an extended phase that nobody rejoined counts as initial (previousState)."""
    rejoin_updates_timeouts: bool = False
    replaced_stays_new: bool = True
    """Whether a static member's replacement inherits "never joined" (replaceGroupInstance)."""
    swap_in_stable: StaticReturn = StaticReturn.ANSWER
    swap_in_completing: StaticReturn = StaticReturn.ANSWER
    skips_assignment: bool = False
    """Whether a returning static leader may skip the assignment (KIP-814)."""
    absentees_keep_timers: bool = True
    """Whether the timers of members removed by a join phase stay queued."""

    # SyncGroup.
    limits_sync: bool = False
    """Whether members that miss the SyncGroup deadline are removed (schedulePendingSync)."""
    sync_needs_members: bool = False
    """Whether that deadline fails if ids are no longer members (onExpirePendingSync)."""
    checks_sync_protocol: bool = False
    missing_protocol_differs: bool = True
    """Whether any protocol in SyncGroup mismatches a group without one (isProtocolInconsistent)."""
    stable_sync_renews: bool = True
    """Whether SyncGroup in a Stable group renews the session."""

    # Heartbeat, LeaveGroup.
    accepts_heartbeat_while_completing: bool = False
    checks_state_first: bool = True
    """Whether state is checked before generation (Heartbeat) and membership (OffsetCommit).

    In CompletingRebalance the response is then REBALANCE_IN_PROGRESS.
    """
    leaves_in_one_step: bool = False
    """Whether a batch of leaves causes one rebalance, not one each.

    Source: classicGroupLeaveToClassicGroup.
    """
    tells_leave_last: bool = False
    """Whether a leave is logged after the rebalance that it starts."""
    instance_decides_leaver: bool = False
    """Whether a known instance id identifies the leaving member.

    A pending id with an instance id is then a fault (handleLeaveGroup until 2.8).
    """
    pending_leave_ends_timer: bool = False

    # Offsets.
    commit_to_unknown_group: Error = Error.ILLEGAL_GENERATION
    """Error for OffsetCommit v9 with a generation.

    Older requests always get ILLEGAL_GENERATION.
    """
    transaction_makes_group: bool = True
    """Whether TxnOffsetCommit with a generation creates a missing group (getOrMaybeCreateGroup)."""
    checks_transactional_member: bool = False
    """Whether only members may commit offsets in a transaction (KIP-447)."""
    knows_stable_offsets: bool = False
    """Whether OffsetFetch can ask for stable offsets (KIP-447)."""
    transactions_hold_expiry: bool = False
    """Whether an offset can't expire while a transaction may replace it.

    Source: cleanupExpiredOffsets.
    """
    tells_idle_clean_up: bool = True
    """Whether a clean-up without effect is logged (cleanupGroupMetadata)."""
    retention: Retention = Retention.PER_OFFSET
    retention_ms: int = 86_400_000
    """Default of offsets.retention.minutes."""

    # Writing and loading.
    write_errors: WriteErrors = SCALA_ERRORS
    stores_new_groups: bool = False
    """Whether a new group is written at once (newEmptyGroupMetadataRecord)."""
    stores_static_swap: bool = False
    """Whether a static member's return is written before the response (KAFKA-9801)."""
    stores_state_time: bool = False
    """Whether the time of the last state change is written (KIP-211)."""
    epoch_guard: EpochGuard = EpochGuard.NONE
    is_owned_while_loading: bool = False
    """Whether requests during loading get COORDINATOR_LOAD_IN_PROGRESS, not NOT_COORDINATOR (validateGroupStatus)."""

    # Timers.
    excused_have_no_timer: bool = True
    """Whether members with a parked request have no session timer (tryCompleteElseWatch)."""


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
            "swap_in_completing": StaticReturn.REBALANCE,
            "checks_sync_protocol": True,
            "checks_transactional_member": True,
            "knows_stable_offsets": True,
        },
    ),
    ("2.6", {"size_limit": SizeLimit.BY_WAITING}),
    ("2.6.1", {"swap_in_stable": StaticReturn.VOTE, "accepts_heartbeat_while_completing": True, "stores_static_swap": True}),
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

# The coordinator in Java: opt-in from 3.7 (KRaft only), the only one since 4.0.
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


def policy_for(version: str, *, is_java: bool | None = None) -> Policy:
    """Policy of a Kafka version, such as "2.8.2" or "4.0".

    `is_java` selects the implementation; by default Java since 4.0.
    """
    number = parse_version(version)
    changes: dict[str, Any] = {}
    for since, changed in _SINCE:
        if parse_version(since) <= number:
            changes |= changed
    if is_java or (is_java is None and number >= JAVA_SINCE):
        changes |= _JAVA
    return replace(Policy(), version=version, **changes)


@lru_cache(maxsize=256)
def parse_version(version: str) -> tuple[int, ...]:
    """Numbers of a version without suffix: "3.9.0-rc1" is (3, 9, 0).

    (2, 8) sorts before (2, 8, 1). Raises ValueError if there is no number.
    """
    match = re.match(r"\d+(?:\.\d+)*", version)
    if match is None:
        raise ValueError(f"not a version: {version!r}")
    return tuple(int(part) for part in match[0].split("."))


@dataclass(frozen=True, slots=True, kw_only=True)
class CoordinatorSettings:
    """Broker settings used by a coordinator."""

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
    """offsets.commit.timeout.ms; applies to all writes of a coordinator."""


def broker_defaults(policy: Policy) -> CoordinatorSettings:
    """Default settings of a broker of this version."""
    return CoordinatorSettings(max_session_ms=policy.max_session_ms, retention_ms=policy.retention_ms)
