"""Highlights in lines of evidence: names, generations, and what happened."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from dashboards.view.answer import Person, Rebalance
from dashboards.wording.escaping import visible

MARKED_GROUP, MARKED_OFFENDER, MARKED_BLOCKER, MARKED_WORDS = range(4)
"""Kinds of highlights."""

# Words for start, end and failure in lines of coordinators, clients and RocketMQ. They do not change between versions.
_HAPPENED = re.compile(
    r"Preparing to rebalance|Stabilized|Assignment received|(?:has|have) (?:failed|left|been fenced)|LeaveGroup"
    r"|heartbeat expiration|poll timeout has expired|(?:Re-)?[Jj]oining group|[Jj]oins group|rejoin(?:ing)?|Removing member"
    r"|Adding new (?:dynamic |static )?member"
    r"|[Ss]ession (?:expired|timed out|timeout)|Updating metadata|unknown member|Successfully joined|Finished assignment|Revoke previously"
    r"|heartbeat (?:failed|request)|metadata (?:change|update)d?|consumer (?:is being|got) closed|Unloading|Loading|Elected"
    r"|doRebalance|rebalanced|NotifyConsumerIdsChanged|consumer.{0,12}changed|SHUTDOWN|unregister|CloseEvent",
)
_GENERATION = re.compile(r"generation(?:Id)?[ =:]+\d+")
_NAMES_MIN = 3
"""Shorter names would match everywhere."""


def highlight_positions(text: str, item: Rebalance) -> list[int]:
    """Positions of highlights in the displayed text.

    A flat list of start, length and kind, in order.
    """
    matches = sorted(_marks_in(text, item), key=lambda mark: (mark[0], -mark[1]))
    flat: list[int] = []
    end = 0
    for start, length, kind in matches:
        if start >= end:
            flat += (start, length, kind)
            end = start + length
    return flat


def _marks_in(text: str, item: Rebalance) -> Iterator[tuple[int, int, int]]:
    for kind, names in ((MARKED_OFFENDER, _names(item.offenders)), (MARKED_BLOCKER, _names(item.blockers)), (MARKED_GROUP, (item.group,))):
        for name in map(visible, names):
            yield from ((start, len(name), kind) for start in _places(text, name))
    for pattern in (_HAPPENED, _GENERATION):
        yield from ((match.start(), match.end() - match.start(), MARKED_WORDS) for match in pattern.finditer(text))


def _names(people: Iterable[Person]) -> dict[str, None]:
    """Names of these members in lines.

    A longer name may contain a shorter one, and wins if both start at the same position.
    """
    return dict.fromkeys(
        name
        for person in people
        for name in (person.member_id, person.instance_id, person.client_id, person.host)
        if name and len(name) >= _NAMES_MIN
    )


def _places(text: str, name: str) -> Iterator[int]:
    """Positions of the name as a whole word."""
    start = text.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if not (_is_in_name(text[start - 1 : start]) or _is_in_name(text[end : end + 1])):
            yield start
        start = text.find(name, end)


def _is_in_name(character: str) -> bool:
    return character.isalnum() or character in ("_", "-") if character else False
