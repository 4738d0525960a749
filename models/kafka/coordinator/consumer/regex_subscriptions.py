"""Subscriptions by pattern: when patterns are resolved, and what follows (4.0.0, GroupMetadataManager.java).

Patterns are matched against the names of all topics by a task that runs after the request that asked for it, and then for all
patterns of the group at once (maybeUpdateRegularExpressions, handleRegularExpressionsResult).
"""

from __future__ import annotations

import re
from functools import lru_cache

from models.kafka.coordinator.consumer.errors import Refusal
from models.kafka.coordinator.consumer.group import ConsumerGroup, Resolution
from models.kafka.coordinator.consumer.member import Member
from models.kafka.coordinator.protocol.errors import Error

REFRESH_INTERVAL_MS = 10_000
"""REGEX_BATCH_REFRESH_INTERVAL_MS"""
PATTERNS_KEPT = 1024


@lru_cache(maxsize=PATTERNS_KEPT)
def compiled(regex: str) -> re.Pattern[str]:
    """A pattern, which brokers read as RE2 does; what both that and Python know means the same. Refuses an invalid one."""
    try:
        return re.compile(regex)
    except re.error as error:
        raise Refusal(Error.INVALID_REGULAR_EXPRESSION) from error


def check_regex(group: ConsumerGroup, before: Member, after: Member) -> None:
    """Refuse a pattern that is new in the group and invalid (throwIfRegularExpressionIsInvalid)."""
    if after.regex and after.regex != before.regex and after.regex not in group.regexes:
        compiled(after.regex)


def takes_over_resolution(group: ConsumerGroup, before: Member, after: Member) -> bool:
    """Whether the member changes to a pattern that others use and that is resolved, which raises the group epoch."""
    return bool(after.regex) and after.regex != before.regex and after.regex in group.regexes and after.regex in group.resolutions


def needs_resolution(group: ConsumerGroup, before: Member, after: Member, now_ms: int, created: int) -> bool:
    """Whether the request of a member makes its group resolve its patterns anew.

    Asked before the member is changed in the group, as resolutions that the request drops still count. `created` is how many
    topics have been created so far; that topics grow or go is no reason.
    """
    in_use = dict(group.regexes)
    if after.regex != before.regex:
        if before.regex:
            in_use[before.regex] -= 1
        if after.regex:
            in_use[after.regex] = in_use.get(after.regex, 0) + 1
    in_use = {regex: count for regex, count in in_use.items() if count}
    last = next(iter(group.resolutions.values()), None)
    if not in_use or (last is not None and now_ms <= last.at_ms + REFRESH_INTERVAL_MS):
        return False
    is_new = after.regex != before.regex and bool(after.regex) and after.regex not in group.regexes
    return is_new or len(in_use) != len(group.resolutions) or (last is not None and last.created < created)


def resolve(group: ConsumerGroup, topics: dict[str, int], now_ms: int, created: int) -> bool:
    """Resolve all patterns of a group; True if that, or the topics as they are now, calls for a new target."""
    changed = False
    for regex in group.regexes:
        pattern = compiled(regex)
        matched = tuple(topic for topic in sorted(topics) if pattern.fullmatch(topic))
        known = group.resolutions.get(regex)
        changed = changed or (known.topics if known else ()) != matched
        group.resolutions[regex] = Resolution(matched, now_ms, created)
    return changed
