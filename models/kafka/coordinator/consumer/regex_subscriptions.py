"""Subscriptions by pattern, and when patterns are resolved.

A task matches patterns against all topic names after the request that caused it. It resolves all patterns of the group
at once. Source: 4.0.0, GroupMetadataManager.java, maybeUpdateRegularExpressions, handleRegularExpressionsResult.
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
    """Compile a pattern, or refuse an invalid one.

    Brokers use RE2; syntax known to both RE2 and Python has the same meaning.
    """
    try:
        return re.compile(regex)
    except re.error as error:
        raise Refusal(Error.INVALID_REGULAR_EXPRESSION) from error


def check_regex(group: ConsumerGroup, before: Member, after: Member) -> None:
    """Refuse an invalid pattern that is new to the group.

    Source: throwIfRegularExpressionIsInvalid.
    """
    if after.regex and after.regex != before.regex and after.regex not in group.regexes:
        compiled(after.regex)


def takes_over_resolution(group: ConsumerGroup, before: Member, after: Member) -> bool:
    """Whether the member switches to a pattern already resolved for others.

    That raises the group epoch.
    """
    return bool(after.regex) and after.regex != before.regex and after.regex in group.regexes and after.regex in group.resolutions


def needs_resolution(group: ConsumerGroup, before: Member, after: Member, now_ms: int, created: int) -> bool:
    """Whether a member's request makes its group resolve patterns again.

    Call it before the group is changed, because resolutions that the request drops still count. `created` is the number of
    topics created so far; grown or deleted topics are no reason.
    """
    if not (group.regexes or after.regex):
        return False  # the usual case, once for each heartbeat
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
    """Resolve all patterns of a group; True if any result changed."""
    changed = False
    for regex in group.regexes:
        pattern = compiled(regex)
        matched = tuple(topic for topic in sorted(topics) if pattern.fullmatch(topic))
        known = group.resolutions.get(regex)
        changed = changed or (known.topics if known else ()) != matched
        group.resolutions[regex] = Resolution(matched, now_ms, created)
    return changed
