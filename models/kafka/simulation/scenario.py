"""Scenarios: members of groups, brokers, and the faults applied to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

from models.durations import UNITS_US, span_us
from models.kafka.coordinator.consumer.settings import MigrationPolicy

T = TypeVar("T")
CLASSIC, MODERN = "classic", "consumer"
_PROTOCOLS = (CLASSIC, MODERN)
COOPERATIVE = "cooperative-sticky"
ASSIGNORS = ("range", COOPERATIVE)


class ScenarioError(Exception):
    """An invalid scenario; the message names the error."""


def duration_ms(value: object) -> int:
    """Milliseconds of a duration such as "250ms", "30s", "5m" or "1h"."""
    duration_us = span_us(value, is_whole=True) if isinstance(value, str) else None
    if duration_us is None:
        raise ScenarioError(f"{value!r} is no duration such as '250ms', '30s', '5m' or '1h'")
    return duration_us // UNITS_US["ms"]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupPlan:
    """A consumer group: its members and their settings."""

    name: str = "orders"
    members: int = 4
    topics: Mapping[str, int] = field(default_factory=lambda: {"orders-events": 12})
    """Partition counts by topic."""
    protocol: str = CLASSIC
    """group.protocol: "classic", or "consumer" (KIP-848)."""
    assignor: str = "range"
    """partition.assignment.strategy of classic members: "range" or "cooperative-sticky"."""
    static: bool = False
    """Whether members have a group.instance.id."""
    session_ms: int = 10_000
    heartbeat_ms: int = 3_000
    max_poll_ms: int = 300_000
    poll_ms: int = 400
    """Average time between two polls of the application."""
    commit_ms: int = 5_000
    """auto.commit.interval.ms"""
    metadata_ms: int = 60_000
    """metadata.max.age.ms: maximum delay until changed topics are noticed."""
    start_ms: int = 500
    """Interval in which members start."""
    first_ms: int = 1_000
    """Start of that interval."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedFault:
    """A fault of a member, group or broker.

    It occurs once (`at_ms`) or repeatedly (`every_ms`, on average).
    """

    kind: str
    group: str | None = None
    """None means the first group, or any group with `every_ms`."""
    member: int | None = None
    """Number of the member from 1; None means any running one."""
    at_ms: int | None = None
    every_ms: int | None = None
    for_ms: int = 20_000
    """Duration of the fault."""
    back_ms: int | None = None
    """Delay until a stopped member starts again; None: never."""
    count: int = 1
    """Number of members or partitions added."""
    broker: int | None = None
    """Number of the broker; None means the group's coordinator."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A complete scenario."""

    name: str = "scenario"
    description: str = ""
    duration_ms: int = 300_000
    brokers: int = 1
    initial_delay_ms: int = 3_000
    """group.initial.rebalance.delay.ms"""
    max_size: int = 2**31 - 1
    """group.max.size"""
    consumer_session_ms: int = 45_000
    """group.consumer.session.timeout.ms"""
    consumer_heartbeat_ms: int = 5_000
    """group.consumer.heartbeat.interval.ms"""
    migration: str = "bidirectional"
    """group.consumer.migration.policy"""
    closes: bool = True
    """Whether all members are closed gracefully at the end."""
    groups: tuple[GroupPlan, ...] = (GroupPlan(),)
    faults: tuple[InjectedFault, ...] = ()

    def check(self, kinds: Mapping[str, object]) -> None:
        """Raise ScenarioError for unknown faults, groups or brokers, and duplicate names."""
        groups = {group.name for group in self.groups}
        if len(groups) < len(self.groups):
            raise ScenarioError("two groups have one name")
        for group in self.groups:
            if group.protocol not in _PROTOCOLS or group.assignor not in ASSIGNORS:
                raise ScenarioError(f"{group.name}: 'protocol' is one of {', '.join(_PROTOCOLS)}, 'assignor' one of {', '.join(ASSIGNORS)}")
        if self.migration not in {policy.value for policy in MigrationPolicy}:
            raise ScenarioError(f"'migration' is one of {', '.join(policy.value for policy in MigrationPolicy)}")
        for fault in self.faults:
            if fault.kind not in kinds:
                raise ScenarioError(f"no fault is called {fault.kind!r}; known are {', '.join(sorted(kinds))}")
            if fault.group is not None and fault.group not in groups:
                raise ScenarioError(f"{fault.kind}: there is no group {fault.group!r}")
            if (fault.at_ms is None) == (fault.every_ms is None):
                raise ScenarioError(f"{fault.kind}: either 'at' or 'every' must be given")
            if fault.broker is not None and not 1 <= fault.broker <= self.brokers:
                raise ScenarioError(f"{fault.kind}: there is no broker {fault.broker}")


def scenario_of(name: str, table: Mapping[str, Any], members: int | None = None) -> Scenario:
    """Build a scenario from a parsed file.

    `members` overrides the sizes of all groups.
    """
    groups = tuple(_read(GroupPlan, plan, "group") for plan in table.get("group", [{}]))
    if members is not None:
        groups = tuple(_sized(group, members) for group in groups)
    faults = tuple(_read(InjectedFault, plan, "fault") for plan in table.get("fault", []))
    rest = {key: value for key, value in table.items() if key not in ("group", "fault")}
    return _read(Scenario, {"name": name, **rest, "groups": groups, "faults": faults}, "scenario")


def _sized(group: GroupPlan, members: int) -> GroupPlan:
    values = {field.name: getattr(group, field.name) for field in fields(group)}
    return GroupPlan(**{**values, "members": members})


def _read(kind: type[T], table: Mapping[str, Any], section: str) -> T:
    """Build a dataclass from a table whose keys lack the suffix `_ms`."""
    known: dict[str, Callable[[Any], Any]] = {
        field.name.removesuffix("_ms"): duration_ms if field.name.endswith("_ms") else _as_is
        for field in fields(kind)  # type: ignore[arg-type]
    }
    values: dict[str, Any] = {}
    for key, value in table.items():
        if key not in known:
            raise ScenarioError(f"a {section} has no {key!r}; it has {', '.join(sorted(known))}")
        name = key if known[key] is _as_is else f"{key}_ms"
        values[name] = known[key](value)
    try:
        return kind(**values)
    except TypeError as error:
        raise ScenarioError(f"a {section} lacks something: {error}") from error


def _as_is(value: Any) -> Any:
    return value
