"""Expected log lines of coordinator events, by broker version.

Each rule gives the message, its level and its fields; the message catalogue has the wording. An event that a version
does not log has no announcement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from models.kafka.coordinator.protocol.errors import Error
from models.kafka.coordinator.runtime.outcomes import LoggedChange
from models.kafka.coordinator.runtime.version_policy import Policy, parse_version


@dataclass(frozen=True, slots=True)
class Announcement:
    """An expected line of server.log, before it is worded.

    `node` and `partition` identify the group's coordinator.
    """

    message: str
    level: str
    at_ms: int
    fields: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class AnnouncedMessage:
    """A message and its log level by version.

    `scala` and `java` list (first version, level) for each implementation; a level of None means that the line is no longer
    written.
    """

    message: str
    scala: tuple[tuple[str, str | None], ...] = (("0.11", "INFO"),)
    java: tuple[tuple[str, str | None], ...] = (("3.7", "INFO"),)
    java_message: str = ""
    """Message of the coordinator in Java, if it differs."""

    def level(self, policy: Policy) -> str | None:
        """Log level in a version, None if the line isn't written."""
        version = parse_version(policy.version)
        level = None
        for since, given in self.java if policy.is_java else self.scala:
            if parse_version(since) <= version:
                level = given
        return level

    def message_of(self, policy: Policy) -> str:
        """Catalogue name of the message in a version."""
        return self.java_message if policy.is_java and self.java_message else self.message


SINCE_2_2 = (("2.2", "INFO"),)
SINCE_2_3 = (("2.3", "INFO"),)
NOT_WRITTEN: tuple[tuple[str, str | None], ...] = ()
HIDDEN_SINCE_4_0 = (("3.7", "INFO"), ("4.0", "DEBUG"))

ANNOUNCED_MESSAGES: Mapping[str, AnnouncedMessage] = {
    "RebalanceStarted": AnnouncedMessage("kafka.group.rebalance_started"),
    "GenerationStarted": AnnouncedMessage("kafka.group.generation_started"),
    "AssignmentReceived": AnnouncedMessage("kafka.group.assignment_received"),
    "EmptyAssignmentSent": AnnouncedMessage("kafka.group.empty_assignment_sent", (("2.5", "WARN"),), (("3.7", "WARN"),)),
    "EmptyAssignmentsSet": AnnouncedMessage("kafka.group.empty_assignments_set", (("2.5", "WARN"),), (("3.7", "WARN"),)),
    "GroupEmptied": AnnouncedMessage("kafka.group.emptied"),
    "MemberFailed": AnnouncedMessage("kafka.group.member_failed"),
    "MemberLeft": AnnouncedMessage("kafka.group.member_left", (("0.11", "DEBUG"), ("2.2", "INFO"))),
    "MembersNotRejoined": AnnouncedMessage("kafka.group.members_not_rejoined", (("2.7", "INFO"),)),
    "NoMemberRejoined": AnnouncedMessage("kafka.group.no_member_rejoined", (("2.3", "ERROR"),), (("3.7", "ERROR"),)),
    "SyncMissing": AnnouncedMessage("kafka.group.sync_missing", (("2.8.1", "DEBUG"),), (("3.7", "DEBUG"),)),
    "MemberIdHandedOut": AnnouncedMessage("kafka.group.member_id_handed_out", (("2.4", "DEBUG"), ("3.0", "INFO"))),
    "MemberAdded": AnnouncedMessage("kafka.group.member_added", (("2.4", "DEBUG"), ("2.5", "INFO"))),
    "PendingMemberJoined": AnnouncedMessage("kafka.group.pending_member_joined", (("2.5", "DEBUG"),), (("3.7", "DEBUG"), ("4.0", "INFO"))),
    "PendingMemberLeft": AnnouncedMessage("kafka.group.pending_member_left", SINCE_2_2),
    "PendingMemberExpired": AnnouncedMessage("kafka.group.pending_member_expired", SINCE_2_2),
    "StaticMemberReplaced": AnnouncedMessage("kafka.group.static_member_replaced", SINCE_2_3),
    "StaticMemberKept": AnnouncedMessage("kafka.group.static_member_kept", SINCE_2_3),
    "StaticMemberFenced": AnnouncedMessage("kafka.group.static_member_fenced", (("2.3", "ERROR"), ("3.0", "INFO"))),
    "LeaderReplaced": AnnouncedMessage("kafka.group.leader_replaced", SINCE_2_3),
    "MemberLoaded": AnnouncedMessage("kafka.group.member_loaded", (("2.8", "INFO"),), NOT_WRITTEN),
    "GroupLoaded": AnnouncedMessage("kafka.group.loaded"),
    "GroupUnloaded": AnnouncedMessage("kafka.group.unloaded", java=(("3.8", "INFO"),)),
    "ModernMemberJoined": AnnouncedMessage("kafka.modern.member_joined", NOT_WRITTEN),
    "ModernMemberLeft": AnnouncedMessage("kafka.modern.member_left", NOT_WRITTEN),
    "ModernMemberFenced": AnnouncedMessage("kafka.modern.member_fenced", NOT_WRITTEN),
    "ModernMemberRefused": AnnouncedMessage("kafka.modern.static_member_refused", NOT_WRITTEN),
    "ModernMemberIdHandedOut": AnnouncedMessage("kafka.modern.member_id_handed_out", NOT_WRITTEN),
    "ModernMemberMoved": AnnouncedMessage("kafka.modern.member_moved", NOT_WRITTEN, HIDDEN_SINCE_4_0),
    "ModernSubscriptionChanged": AnnouncedMessage("kafka.modern.subscription_changed", NOT_WRITTEN, HIDDEN_SINCE_4_0),
    "SubscriptionMetadataChanged": AnnouncedMessage("kafka.modern.metadata_changed", NOT_WRITTEN, HIDDEN_SINCE_4_0),
    "GroupEpochBumped": AnnouncedMessage("kafka.modern.epoch_bumped", NOT_WRITTEN),
    "TargetComputed": AnnouncedMessage("kafka.modern.target_computed", NOT_WRITTEN),
    "GroupConverted": AnnouncedMessage("kafka.modern.converted", NOT_WRITTEN, (("4.0", "INFO"),)),
    "GroupConversionRefused": AnnouncedMessage("kafka.modern.conversion_refused", NOT_WRITTEN, (("3.8", "INFO"),)),
    "GroupDied": AnnouncedMessage("kafka.group.died", java=NOT_WRITTEN),
    "GroupsDeleted": AnnouncedMessage("kafka.group.deleted", (("1.1", "INFO"),)),
    "SimpleGroupCreated": AnnouncedMessage("kafka.group.simple_group_created", NOT_WRITTEN, (("4.0", "INFO"),)),
    "OffsetsExpired": AnnouncedMessage("kafka.offsets.expired", java_message="kafka.runtime.expired"),
}

NO_REASON: Mapping[bool, str] = {False: "", True: "not provided"}
"""Placeholder for a missing client reason, by `is_java` (JoinGroupRequest.joinReason)."""


def announce(policy: Policy, change: LoggedChange, node: int, partition: int) -> Announcement | None:
    """Return the log line of an event, None if none is written."""
    special = (other for fields, other in INSTEAD.get(change.event, ()) if fields.items() <= change.fields.items())
    rule = next(special, ANNOUNCED_MESSAGES.get(change.event))
    level = rule.level(policy) if rule is not None else None
    if rule is None or level is None:
        return None
    fields: dict[str, Any] = {
        "node": str(node),
        "partition": partition,
        "group": change.group,
        "generation": change.generation,
        "member_id": change.member,
        "instance_id": change.instance,
    }
    fields.update(change.fields)
    message = rule.message_of(policy)
    if message.startswith(_MODERN):
        fields["group_type"] = "consumer"
        if change.instance is None:
            del fields["instance_id"]  # members without one have wordings of their own
    if "client_reason" in fields:
        fields["client_reason"] = fields["client_reason"] or NO_REASON[policy.is_java]
    if change.event == "GroupStoreFailed":
        fields |= _store_failure(change, is_java=policy.is_java)
    if "_key" in fields:
        fields["_event"] = f"Timeout(tp=__consumer_offsets-{partition}, key={fields['_key']})"
    if fields.get("detail") in _ERROR_TEXTS:
        fields["detail"] = _ERROR_TEXTS[fields["detail"]]
    return Announcement(message, level, change.at_ms, {**_MORE.get(change.event, {}), **fields})


_MODERN = "kafka.modern."
INSTEAD: Mapping[str, tuple[tuple[Mapping[str, Any], AnnouncedMessage], ...]] = {
    "GroupStoreFailed": (
        ({"_what": "empty"}, AnnouncedMessage("kafka.group.empty_write_failed", (("0.11", "WARN"),), (("3.7", "WARN"),))),
        ({"_what": "new"}, AnnouncedMessage("kafka.group.empty_write_failed", NOT_WRITTEN, (("3.7", "WARN"),))),
        ({"_what": "static"}, AnnouncedMessage("kafka.group.static_member_not_stored", (("2.6", "WARN"),), (("3.7", "WARN"),))),
        ({"_told": Error.UNKNOWN_SERVER_ERROR.value}, AnnouncedMessage("kafka.group.append_failed", (("1.0", "ERROR"),), NOT_WRITTEN)),
    ),
    "ModernMemberJoined": (({"rejoined": True}, AnnouncedMessage(f"{_MODERN}static_member_rejoined", NOT_WRITTEN)),),
    "ModernMemberLeft": (({"temporarily": True}, AnnouncedMessage(f"{_MODERN}static_member_left_for_a_while", NOT_WRITTEN)),),
    "ModernMemberRefused": (({"why": "fenced"}, AnnouncedMessage(f"{_MODERN}static_member_fenced", NOT_WRITTEN)),),
    "CoordinatorNote": tuple(
        ({"_note": note}, rule)
        for note, rule in {
            "leader_not_replaced": AnnouncedMessage("kafka.group.leader_not_replaced", SINCE_2_3),
            "late_heartbeat_timer": AnnouncedMessage("kafka.group.late_heartbeat_timer", SINCE_2_2, NOT_WRITTEN),
            "late_session_timer": AnnouncedMessage("kafka.group.late_session_timer", NOT_WRITTEN, (("3.7", "DEBUG"),)),
            "load_ignored": AnnouncedMessage(
                "kafka.offsets.load_repeated", (("2.8.1", "INFO"),), java_message="kafka.runtime.load_ignored"
            ),
            "unload_ignored": AnnouncedMessage(
                "kafka.offsets.unload_repeated", (("2.8.1", "INFO"),), (("3.9", "INFO"),), "kafka.runtime.unload_ignored"
            ),
            "write_failed": AnnouncedMessage("kafka.runtime.write_failed", NOT_WRITTEN, (("3.8", "ERROR"),)),
            "timer_rescheduled": AnnouncedMessage("kafka.runtime.timer_rescheduled", NOT_WRITTEN),
            "topics_scanned": AnnouncedMessage(f"{_MODERN}topics_scanned", NOT_WRITTEN, (("4.0", "INFO"),)),
        }.items()
    ),
}
"""Rules that replace `ANNOUNCED_MESSAGES` for events with these field values."""

_ERROR_TEXTS: Mapping[str, str] = {
    Error.COORDINATOR_NOT_AVAILABLE: "The coordinator is not available.",
    Error.MESSAGE_TOO_LARGE: "The request included a message larger than the max message size the server will accept.",
    Error.NOT_COORDINATOR: "This is not the correct coordinator.",
    Error.NOT_ENOUGH_REPLICAS: "Messages are rejected since there are fewer in-sync replicas than required.",
    Error.REBALANCE_IN_PROGRESS: "The group is rebalancing, so a rejoin is needed.",
    Error.REQUEST_TIMED_OUT: "The request timed out.",
    Error.UNKNOWN_SERVER_ERROR: "The server experienced an unexpected error when processing the request.",
}
"""Messages of error codes (Errors.java)."""


def _store_failure(change: LoggedChange, *, is_java: bool) -> Mapping[str, Any]:
    """Fields of a line about a failed write of a group.

    Java logs the log's own error for members and new groups; otherwise the error sent to clients is logged.
    """
    name = change.fields["error"] if is_java and change.fields["_what"] != "empty" else change.fields["_told"]
    return {"error": _ERROR_TEXTS.get(name, name), "_member_id": change.member, "_instance_id": change.instance}


_MORE: Mapping[str, Mapping[str, Any]] = {
    "RebalanceStarted": {"state": "PreparingRebalance"},  # the line is written after the transition
    "GroupLoaded": {"group_type": "classic"},
    "OffsetsExpired": {"duration_ms": 0},
    "TargetComputed": {"duration_ms": 1},
}
