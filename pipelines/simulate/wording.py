"""Messages of the simulator as lines of a version.

Uses the catalogue's wordings, the logger's name, and log4j's layout.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import lru_cache, partial
from typing import Any

from models.kafka.coordinator.runtime.version_policy import Policy
from models.kafka.simulation.world import WrittenLine
from parsers.catalogue.catalogue import Catalogue, catalogue
from parsers.catalogue.entries import Pattern
from parsers.catalogue.templates import LinePart, write
from parsers.catalogue.wordings import agree, version_key

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
    "_max_size": 0,
    "_size": 0,
}

START = datetime(2026, 1, 5, tzinfo=UTC)
"""Start of simulated time."""


@dataclass(frozen=True, slots=True)
class LineForm:
    """How one wording is written where certain fields are given."""

    constants: Mapping[str, Any]
    level: str
    parts: Sequence[LinePart]
    logger: str


class MessageWriter:
    """Words messages as one version does."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._catalogue: Catalogue = catalogue()
        self._forms: dict[tuple[str, tuple[str, ...]], list[LineForm]] = {}
        self._others = OLD_PREFIXES | (SCALA_PREFIXES if policy.is_java else JAVA_PREFIXES)

    def line(self, written: WrittenLine) -> str | None:
        """The line of a message, None if the version has no wording for it."""
        fields = written.fields
        if "reason_id" in fields:
            fields = {**fields, "reason": self._reason({**FILLERS, "_group": fields.get("group"), **fields})}
        form = self._form(written, fields)
        if form is None:
            return None
        text = write(form.parts, fields).replace("[Consumer instanceId=None, ", "[Consumer ", 1)  # prefix of a dynamic member
        return f"[{stamp(written.at_ms)}] {written.level or form.level} {text} ({form.logger})"

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

    def _form(self, written: WrittenLine, fields: Mapping[str, Any]) -> LineForm | None:
        """The most specific wording.

        Fixed values take precedence over fields; of a client's wordings the one with the given level.
        """
        key = written.message, tuple(fields)
        known = self._forms.get(key)
        if known is None:
            known = self._forms[key] = self._forms_of(written.message, frozenset(fields))
        fitting = [form for form in known if not form.constants or agree(form.constants, fields)]
        of_level = [form for form in fitting if form.level == written.level] if isinstance(written.source, str) else []
        return next(iter(of_level or fitting), None)

    def _forms_of(self, message: str, named: frozenset[str]) -> list[LineForm]:
        """Wordings for which these fields suffice, the most specific first."""
        wordings, filled = self._catalogue.wordings, {name: value for name, value in FILLERS.items() if name not in named}
        given = named | filled.keys()
        known = [
            pattern
            for pattern in wordings.of(message, self._policy.version)
            if pattern.prefix not in self._others and wordings.needs(pattern, given) <= given and wordings.fits(pattern, filled)
        ]
        known.sort(key=lambda pattern: (-len(pattern.constants), -len(wordings.needs(pattern, given))))
        return [
            LineForm(
                {name: value for name, value in pattern.constants.items() if name in named},
                pattern.level,
                _filled_in(wordings.parts(pattern, given), filled),
                self._logger(message, pattern),
            )
            for pattern in known
        ]

    def _logger(self, message: str, pattern: Pattern) -> str:
        of_shard = SHARD_LOGGERS.get(message) if pattern.prefix in JAVA_PREFIXES else None
        named = of_shard or MESSAGE_LOGGERS.get(message) or LOGGERS.get(pattern.prefix)
        return named or (COORDINATOR if message.startswith("kafka.client.") else METADATA)


def _filled_in(parts: Sequence[LinePart], filled: Mapping[str, Any]) -> list[LinePart]:
    """Parts of a line with the fields that are always the same."""
    made: list[LinePart] = []
    for part in parts:
        if isinstance(part, tuple) and (part[1] in filled or not part[1]):
            part = part[0](filled[part[1]]) if part[1] else (partial(_with_fillers, part[0]), "")
        if isinstance(part, str) and made and isinstance(made[-1], str):
            made[-1] += part
        else:
            made.append(part)
    return made


def _with_fillers(render: Callable[[Any], str], fields: Mapping[str, Any]) -> str:
    return render({**FILLERS, **fields})


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
    seconds, millis = divmod(at_ms, 1000)
    return f"{_second(seconds)},{millis:03}"


@lru_cache(maxsize=1024)
def _second(seconds: int) -> str:
    return (START + timedelta(seconds=seconds)).strftime("%Y-%m-%d %H:%M:%S")
