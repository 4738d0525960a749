"""Plain data of pictures, which only pages show."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.view.evidence import Line


@dataclass(frozen=True, slots=True)
class MemberPart:
    """Actions of one member in one rebalance.

    `join_delay_seconds` is None if no line shows when the member rejoined. `stays` is False for a member that left.
    """

    name: str
    role: str
    is_first: bool
    join_delay_seconds: float | None
    stays: bool


@dataclass(frozen=True, slots=True)
class HeadCount:
    """Member count of a group, from each of these times on."""

    cluster: str
    group: str
    steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class OwnershipSpan:
    """RocketMQ: a stretch of time with the same owners of a queue.

    `ended_at` is None while it lasts.
    """

    kind: str
    owners: tuple[str, ...]
    started_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class QueueLane:
    """RocketMQ: owners of a queue over time, within one group."""

    cluster: str
    group: str
    topic: str
    queue: str
    stretches: tuple[OwnershipSpan, ...]

    @property
    def is_contested(self) -> bool:
        """True if the queue ever had no owner, or two."""
        return any(stretch.kind != "owned" for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class BrokerOutage:
    """A period in which a broker was not running."""

    cluster: str
    node: str
    down_at: int | None
    up_at: int | None
    how: str
    evidence: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class WhatIfLane:
    """Effect of another configuration on a group.

    `perhaps` counts rebalances that were possibly avoidable.
    """

    cluster: str
    group: str
    count: int
    avoided: int
    perhaps: int
    added: int
    stopped_seconds: float
    saved_seconds: float
    saved_member_seconds: float
    was: tuple[tuple[int, int], ...] = ()
    """Begin and end of each rebalance that there was."""
    would_be: tuple[tuple[int, int], ...] = ()
    """Begin and end of each rebalance that there would have been."""
    assumed: tuple[str, ...] = ()
    """What the group's logs do not tell, and what is taken for it."""


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Another configuration, its `whatif` options, and its effect on each group."""

    title: str
    options: str
    assumes: tuple[str, ...]
    groups: tuple[WhatIfLane, ...]

    def total(self, name: str) -> float:
        """Sum of one attribute over all groups."""
        values: list[float] = [getattr(group, name) for group in self.groups]
        return sum(values)


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """Partitions left without a leader if a broker stopped now.

    `exposed` holds (partition, reason); `of` is the number of all partitions.
    """

    cluster: str
    node: str
    exposed: tuple[tuple[str, str], ...]
    of: int
