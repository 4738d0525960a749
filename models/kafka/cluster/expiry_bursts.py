"""Sessions of several groups that one coordinator ends at once.

A session ends one timeout after its own last heartbeat, and heartbeats of different groups come at different times. Where the
sessions of several groups end together, they were overdue: the coordinator itself stood still, as in a long collection of
garbage or on a slow disk, or nothing reached it.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

from models.events import Event
from models.evidence import line_of
from models.tolerances import int_tolerance

BURST_US = int_tolerance("kafka.expiry_bursts.together_us")
"""Maximum distance of such an expiry from the first one.

A third of heartbeat.interval.ms, 3 s by default (ConsumerConfig): sessions that end in time are spread over all of it.
"""

GROUPS_MIN = 3
"""Minimum number of groups.

That sessions of two groups end together is not so rare (assumed).
"""

LOAD_US = int_tolerance("kafka.expiry_bursts.load_us")
"""Time after a load within which sessions may end together.

They began anew with it, and last 45 s by default since 3.0 (KIP-735).
"""

LINES_MAX = 6


@dataclass(frozen=True, slots=True)
class ExpiryBurst:
    """Expiries of several groups at one coordinator; times are microseconds."""

    at: int
    until: int
    node: str | None
    groups: tuple[str, ...]
    member_count: int
    lines: tuple[Event, ...]
    told_by: str
    """The group that has the incident, so that there is one."""

    def holds(self, group: str, at: int) -> bool:
        """Whether a line of a group at a time is about these expiries."""
        return self.at <= at <= self.until + BURST_US and group in self.groups


def bursts_near(bursts: Sequence[ExpiryBurst], at: int) -> Sequence[ExpiryBurst]:
    """Bursts, of those in order of time, that may hold a line."""
    # One lasts for less than TOGETHER_US, and holds lines as long after it.
    low = bisect_left(bursts, at - 2 * BURST_US, key=lambda burst: burst.at)
    return bursts[low : bisect_right(bursts, at, lo=low, key=lambda burst: burst.at)]


def assigned_to_one_of(burst: ExpiryBurst, groups: Collection[str]) -> ExpiryBurst:
    """The burst, for the first of these groups that is in it."""
    return replace(burst, told_by=next((group for group in burst.groups if group in groups), burst.told_by))


def bursts_of(expiries: Iterable[Event], loaded: Sequence[tuple[int, str | None]]) -> list[ExpiryBurst]:
    """Find bursts among expiries in any order.

    `loaded` are times and nodes of loads, in order.
    """
    by_node: dict[str | None, dict[tuple[int, str, int], Event]] = {}
    for event in expiries:
        if event.group is not None and event.at_us is not None and is_expiry(event):
            place = event.place
            by_node.setdefault(event.node, {})[event.at_us, place.file, place.byte_offset] = event
    bursts = [burst for node, events in by_node.items() for burst in _of_node(node, [events[key] for key in sorted(events)], loaded)]
    return sorted(bursts, key=lambda burst: (burst.at, burst.node or "", burst.groups))


def is_expiry(event: Event) -> bool:
    """Whether a member is removed because its session ended.

    Members of the newer protocols are fenced for other reasons, too.
    """
    return event.name == "MemberFailed" or "session expired" in str(event.fields.get("why") or "")


def _of_node(node: str | None, events: Sequence[Event], loaded: Sequence[tuple[int, str | None]]) -> Iterator[ExpiryBurst]:
    times = [event.time_us for event in events]
    first = 0
    while first < len(events):
        after = bisect_left(times, times[first] + BURST_US)
        together = events[first:after]
        groups = sorted({event.group for event in together if event.group is not None})
        if len(groups) < GROUPS_MIN or _follows_load(node, times[first], loaded):
            first += 1
            continue
        members = {(event.group, event.member_id) for event in together}
        yield ExpiryBurst(
            times[first],
            times[after - 1],
            node,
            tuple(groups),
            len(members),
            tuple(map(line_of, _shown(together))),
            groups[0],
        )
        first = after


def _shown(events: Sequence[Event]) -> Iterator[Event]:
    """The first expiry of each group."""
    seen: set[str | None] = set()
    for event in events:
        if event.group not in seen and len(seen) < LINES_MAX:
            seen.add(event.group)
            yield event


def _follows_load(node: str | None, at: int, loaded: Sequence[tuple[int, str | None]]) -> bool:
    low = bisect_left(loaded, at - LOAD_US, key=lambda load: load[0])
    return any(node in {None, load[1]} for load in loaded[low : bisect_left(loaded, at + 1, key=lambda load: load[0])])
