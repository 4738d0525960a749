"""Messages of the simulator as lines of a version.

Uses the catalogue's wordings, the logger's name, and log4j's layout.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from models.kafka.coordinator.runtime.version_policy import Policy
from models.kafka.simulation.world import WrittenLine
from parsers.catalogue.catalogue import Catalogue, catalogue
from parsers.catalogue.entries import Pattern
from parsers.catalogue.wordings import version_key

JAVA_PREFIXES = frozenset({"shard", "runtime", "group", "group_id", "group_equals", "group_member"})
SCALA_PREFIXES = frozenset({"scala", "manager"})
OLD_PREFIXES = frozenset({"manager_old"})
"""Prefixes of versions older than any simulated one."""

LOGGERS = {
    "scala": "kafka.coordinator.group.GroupCoordinator",
    "manager": "kafka.coordinator.group.GroupMetadataManager",
    "runtime": "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime",
    **dict.fromkeys(("shard", "group", "group_id", "group_equals"), "org.apache.kafka.coordinator.group.GroupMetadataManager"),
}
"""Loggers by prefix of a message."""
CLIENT = "org.apache.kafka.clients.consumer"
MESSAGE_LOGGERS = {
    "kafka.broker.partitions_added": "kafka.zk.AdminZkClient",
    "kafka.broker.partition_created": "kafka.log.LogManager",
    "kafka.broker.version": "org.apache.kafka.common.utils.AppInfoParser",
    "kafka.broker.started": "kafka.server.KafkaServer",
    "kafka.broker.stopping": "kafka.server.KafkaServer",
    "kafka.broker.stopped": "kafka.server.KafkaServer",
    "kafka.client.subscribed": f"{CLIENT}.KafkaConsumer",
    "kafka.client.closed": f"{CLIENT}.KafkaConsumer",
    "kafka.client.member_state": f"{CLIENT}.internals.ConsumerMembershipManager",
    "kafka.client.modern_revoking": f"{CLIENT}.internals.ConsumerMembershipManager",
    "kafka.client.modern_poll_timed_out": f"{CLIENT}.internals.ConsumerHeartbeatRequestManager",
    "kafka.client.polled_too_late": f"{CLIENT}.internals.ConsumerHeartbeatRequestManager",
    "kafka.client.modern_coordinator_found": f"{CLIENT}.internals.CoordinatorRequestManager",
    **dict.fromkeys(
        (f"kafka.client.{name}" for name in ("assigned", "revoked", "lost", "assignment_made", "generation_reset", "rejoin_requested")),
        f"{CLIENT}.internals.ConsumerCoordinator",
    ),
}
"""Loggers by message, if the prefix is not enough."""
RUNTIME = "org.apache.kafka.coordinator.common.runtime.CoordinatorRuntime"
SHARD_LOGGERS = {
    "kafka.group.deleted": "org.apache.kafka.coordinator.group.GroupCoordinatorShard",
    "kafka.group.simple_group_created": "org.apache.kafka.coordinator.group.OffsetMetadataManager",
    "kafka.runtime.expired": "org.apache.kafka.coordinator.group.GroupCoordinatorShard",
    "kafka.runtime.timer_rescheduled": RUNTIME,
}
"""Loggers by message, for shards with a class of their own."""
METADATA = "kafka.coordinator.group.GroupMetadata"
COORDINATOR = f"{CLIENT}.internals.AbstractCoordinator"

# Fields of lines that the model does not use.
FILLERS: Mapping[str, Any] = {
    "_scheduler": 0,
    "_records": 0,
    "_bytes": 0,
    "_summary": "LoadSummary(startTimeMs=0, endTimeMs=0, schedulerQueueTimeMs=0, numRecords=0, numBytes=0)",
    "_config": "GroupConfig@1",
    "_hash": 0,
    "reason_error": "NOT_ENOUGH_REPLICAS",
    "operation": "join-group",
}

START = datetime(2026, 1, 5, tzinfo=UTC)
"""Start of simulated time."""


class MessageWriter:
    """Words messages as one version does."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._catalogue: Catalogue = catalogue()
        self._patterns: dict[tuple[str, frozenset[str]], list[Pattern]] = {}
        self._others = OLD_PREFIXES | (SCALA_PREFIXES if policy.is_java else JAVA_PREFIXES)

    def line(self, written: WrittenLine) -> str | None:
        """The line of a message, None if the version has no wording for it."""
        fields = {**FILLERS, **self._defaults(written), **written.fields}
        if "reason_id" in fields:
            fields["reason"] = self._reason(fields)
        pattern = self._pattern(written, fields)
        if pattern is None:
            return None
        level = written.level or pattern.level
        text = self._catalogue.wordings.write(pattern, fields).replace(
            "[Consumer instanceId=None, ", "[Consumer ", 1
        )  # prefix of a dynamic member
        return f"[{stamp(written.at_ms)}] {level} {text} ({self._logger(written.message, pattern)})"

    def _defaults(self, written: WrittenLine) -> Mapping[str, Any]:
        return {"_group": written.fields.get("group"), "_max_size": 0, "_size": 0}

    def _reason(self, fields: Mapping[str, Any]) -> str:
        """The text of a reason: the version's wording with the most known fields."""
        version, given = version_key(self._policy.version), fields.keys()
        fitting = [
            template
            for reason in REASONS.get(fields["reason_id"], (fields["reason_id"],))
            for seen_in, template in self._catalogue.reasons.wordings.get(reason, ())
            if version_key(seen_in[0]) <= version <= version_key(seen_in[-1] + ".999") and template.needs() <= given
        ]
        if not fitting:
            return ""
        ends = "." if self._policy.is_java else ""
        wanted = [template for template in fitting if template.literals[-1].endswith(".") == bool(ends)] or fitting
        return max(wanted, key=lambda template: len(template.needs())).render(fields)  # the first of equals

    def _pattern(self, written: WrittenLine, fields: Mapping[str, Any]) -> Pattern | None:
        """The most specific wording.

        Fixed values take precedence over fields; of a client's wordings the one with the given level.
        """
        message, given = written.message, frozenset(fields)
        known = self._patterns.get((message, given))
        if known is None:
            known = [
                pattern
                for pattern in self._catalogue.wordings.of(message, self._policy.version)
                if pattern.prefix not in self._others and self._catalogue.wordings.needs(pattern, given) <= given
            ]
            known.sort(key=lambda pattern: (-len(pattern.constants), -len(self._catalogue.wordings.needs(pattern, given))))
            self._patterns[message, given] = known
        fitting = [pattern for pattern in known if self._catalogue.wordings.fits(pattern, fields)]
        of_level = [pattern for pattern in fitting if pattern.level == written.level] if isinstance(written.source, str) else []
        return next(iter(of_level or fitting), None)

    def _logger(self, message: str, pattern: Pattern) -> str:
        of_shard = SHARD_LOGGERS.get(message) if pattern.prefix in JAVA_PREFIXES else None
        named = of_shard or MESSAGE_LOGGERS.get(message) or LOGGERS.get(pattern.prefix)
        return named or (COORDINATOR if message.startswith("kafka.client.") else METADATA)


REASONS: Mapping[str, tuple[str, ...]] = {
    "static_update": ("static_member_update",),
    "static_protocol_change": ("static_member_protocol_change",),
    "leader_rejoin": ("leader_rejoin", "update_metadata"),
}
"""Reasons with other names in the catalogue.

Some had no wording in old versions (the leader's until 2.5).
"""


def stamp(at_ms: int) -> str:
    """A time in log4j's format, in UTC."""
    return (START + timedelta(milliseconds=at_ms)).strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
