"""What only pages show, as plain data: pictures need more than tables do."""

from __future__ import annotations

from dataclasses import dataclass

from dashboards.view.evidence import Line


@dataclass(frozen=True, slots=True)
class Part:
    """What one member did in one rebalance. `join_delay_seconds` is None where no line tells when it came back, if it `stays`."""

    name: str
    role: str
    first: bool
    join_delay_seconds: float | None
    stays: bool


@dataclass(frozen=True, slots=True)
class HeadCount:
    """How many members a group had, from each of these times on."""

    cluster: str
    group: str
    steps: tuple[tuple[int, int], ...]


@dataclass(frozen=True, slots=True)
class Held:
    """RocketMQ: a stretch in which a queue had these owners; `ended_at` is None while it lasts."""

    kind: str
    owners: tuple[str, ...]
    started_at: int
    ended_at: int | None


@dataclass(frozen=True, slots=True)
class QueueLane:
    """RocketMQ: a queue over time, as the clients of one group shared it."""

    cluster: str
    group: str
    topic: str
    queue: str
    stretches: tuple[Held, ...]

    @property
    def contested(self) -> bool:
        """Whether it ever had no owner, or two."""
        return any(stretch.kind != "owned" for stretch in self.stretches)


@dataclass(frozen=True, slots=True)
class BrokerOutage:
    """A time in which a broker did not run."""

    cluster: str
    node: str
    down_at: int | None
    up_at: int | None
    how: str
    evidence: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Outlook:
    """A group as it would have fared under another configuration. `perhaps` counts rebalances that might not have been."""

    cluster: str
    group: str
    count: int
    avoided: int
    perhaps: int
    added: int
    stopped_seconds: float
    saved_seconds: float
    saved_member_seconds: float


@dataclass(frozen=True, slots=True)
class WhatIf:
    """Another configuration, the options of `whatif` that ask for it, and how each group would have fared."""

    title: str
    options: str
    assumes: tuple[str, ...]
    groups: tuple[Outlook, ...]

    def total(self, name: str) -> float:
        """The sum of one attribute over all groups."""
        values: list[float] = [getattr(one, name) for one in self.groups]
        return sum(values)


@dataclass(frozen=True, slots=True)
class BrokerLoss:
    """Which partitions would have no leader if a broker stopped now: (partition, why) for each; `of` partitions in all."""

    cluster: str
    node: str
    exposed: tuple[tuple[str, str], ...]
    of: int
