"""Lines that a recorded coordinator logged, beside the events that its model announces."""

from __future__ import annotations

from typing import Any

from models.kafka.coordinator.runtime.outcomes import LoggedChange, Outcome
from parsers.catalogue.catalogue import catalogue
from parsers.catalogue.entries import Match

PREFIX = "[GroupCoordinator id=1 topic=__consumer_offsets partition=0] "
LOGGERS = {
    "GroupMetadataManager": "org.apache.kafka.coordinator.group.GroupMetadataManager",
    "StreamsGroup": "org.apache.kafka.coordinator.group.streams.StreamsGroup",
    "InternalTopicManager": "org.apache.kafka.coordinator.group.streams.topics.InternalTopicManager",
}
WITH_EPOCH = frozenset({"GroupEpochBumped", "TargetComputed"})
"""Events whose lines name the group's epoch."""
NOT_COMPARED = frozenset({"CoordinatorNote", "StreamsMemberDescribed", "StreamsTopologyChecked"})
"""Events that the models need not announce."""


def recorded_events(lines: list[str]) -> list[tuple[Any, ...]]:
    """Read the lines with the message catalogue: event, member, and epoch where it is told."""
    events = []
    for line in lines:
        _, _, rest = line.partition(" ")
        logger, _, message = rest.partition(": ")
        if logger not in LOGGERS:
            continue  # housekeeping of the shard
        match = catalogue().match(LOGGERS[logger], PREFIX + message)
        if not isinstance(match, Match):
            events.append(("unread", line))
        elif match.event not in NOT_COMPARED:
            told = {**match.columns, **match.fields}
            events.append(_event(match.event or "", told.get("member_id"), told))
    return events


def announced_events(outcome: Outcome) -> list[tuple[Any, ...]]:
    """Events of the model in the same form."""
    changes = [change for change in outcome.changes if isinstance(change, LoggedChange) and change.event not in NOT_COMPARED]
    return [_event(change.event, change.member, {"generation": change.generation, **change.fields}) for change in changes]


def _event(name: str, member: str | None, fields: Any) -> tuple[Any, ...]:
    if name in WITH_EPOCH:
        return name, fields["generation"]
    if name == "SubscriptionMetadataChanged":
        return (name,)
    if name == "ModernMemberMoved":
        return name, member, fields["member_epoch"], fields["previous_epoch"], fields["state"]
    return name, member
