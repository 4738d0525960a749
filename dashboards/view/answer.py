"""The answer as plain data: everything that pages and screens show.

`build.py` makes it from the rows of an analysis or of the gold tables. Numbers and words are complete here and tested
without HTML. Times are microseconds since 1970 (UTC), durations are seconds, None is unknown. Text is unchanged from
the logs; the code that shows it must escape it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conf.causes import RecommendedAction
from dashboards.view.evidence import Line
from models.downtime import PROTOCOLS_WITHOUT_STOP, waited_seconds

if TYPE_CHECKING:
    from dashboards.view.charts import BrokerLoss, BrokerOutage, HeadCount, MemberPart, QueueLane, WhatIf
    from dashboards.view.settings import SettingAdvice

SEVERITIES_WORST_FIRST = ("critical", "warning", "info")
"""Worst first."""

NEWER_PROTOCOLS = PROTOCOLS_WITHOUT_STOP
"""Protocols with members that keep working while partitions move (KIP-848).

Their brokers do not log the end of a rebalance.
"""

SHOWN_AS_SURE = 0.9
"""Minimum confidence of a cause called sure."""

SHOWN_AS_LIKELY = 0.6
"""Minimum confidence of a cause that is no guess."""


@dataclass(frozen=True, slots=True)
class Person:
    """A member as an offender or a blocker."""

    name: str
    member_id: str | None
    client_id: str | None
    instance_id: str | None
    host: str | None
    reason: str
    first: bool

    @property
    def where(self) -> str:
        """Name and host."""
        return f"{self.name} on {self.host}" if self.host else self.name


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance.

    `stopped_seconds` is its duration without the initial delay, because that is expected waiting.
    """

    id: str
    cluster: str
    system: str
    group: str
    topic: str | None
    protocol: str
    assignor: str | None
    generation_before: int | None
    generation_after: int | None
    started_at: int | None
    joined_at: int | None
    ended_at: int | None
    initial_delay_seconds: float | None
    join_seconds: float | None
    sync_seconds: float | None
    reconcile_seconds: float | None
    duration_seconds: float | None
    at_least_seconds: float | None
    stopped_seconds: float
    outcome: str
    cause: str
    cause_title: str
    family: str
    expected: bool
    root_cause: str | None
    confidence: float
    alternatives: tuple[tuple[str, float], ...]
    settled_by: str | None
    offenders: tuple[Person, ...]
    blockers: tuple[Person, ...]
    members_before: int | None
    members_after: int | None
    member_seconds_stopped: float | None
    partition_seconds_stopped: float | None
    duplicate_window: float | None
    inferred_steps: int
    unexplained_lines: int
    coordinator: str | None
    trigger_text: str | None
    evidence: tuple[Line, ...]
    advice: tuple[RecommendedAction, ...]
    measurements_ms: Mapping[str, float] = field(default_factory=dict)
    pause_seconds: float | None = None
    backlog_seconds: float | None = None

    @property
    def is_sure(self) -> bool:
        """True if the confidence reaches `SHOWN_AS_SURE`."""
        return self.confidence >= SHOWN_AS_SURE

    @property
    def lasted_seconds(self) -> float:
        """Duration, or its lower bound if the end is unknown."""
        return (self.duration_seconds if self.duration_seconds is not None else self.at_least_seconds) or 0.0

    @property
    def waiting_seconds(self) -> float:
        """Duration of the join phase, or of the rebalance if unknown."""
        return self.join_seconds if self.join_seconds is not None else self.lasted_seconds

    @property
    def held_up_seconds(self) -> float:
        """Time that ready members waited for the blockers."""
        return waited_seconds(self)

    @property
    def assignment_seconds(self) -> float:
        """Time after the join phase."""
        if self.sync_seconds is not None or self.reconcile_seconds is not None:
            return (self.sync_seconds or 0.0) + (self.reconcile_seconds or 0.0)
        return max(0.0, self.lasted_seconds - self.waiting_seconds)

    @property
    def generations(self) -> str:
        """Generations before and after, empty for protocols without generations."""
        if self.system != "kafka":
            return ""
        before = "?" if self.generation_before is None else str(self.generation_before)
        after = "?" if self.generation_after is None else str(self.generation_after)
        return f"{before} → {after}"


@dataclass(frozen=True, slots=True)
class MemberWait:
    """Rebalances in which others waited for a member, and for how long.

    A rebalance that waited for several is shared out among them.
    """

    name: str
    count: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Incident:
    """An episode of rebalances or outages.

    `trigger` is the most frequent cause of its rebalances; `confidence` and `rivals` refer to it. `cause` is the root
    cause if one is known, else the trigger.
    """

    number: int
    id: str
    cluster: str
    system: str
    kind: str
    severity: str
    groups: tuple[str, ...]
    started_at: int | None
    ended_at: int | None
    rebalance_count: int
    stopped_seconds: float
    cause: str | None
    trigger: str | None
    cause_title: str
    headline: str
    meaning: str
    advice: tuple[RecommendedAction, ...]
    confidence: float | None
    rivals: tuple[tuple[str, float], ...]
    settled_by: tuple[str, ...]
    worst_offender: Person | None
    rebalance_ids: tuple[str, ...]
    outage_ids: tuple[str, ...]
    measured: tuple[str, ...] = ()
    """Measurements that support the advice, as sentences."""
    evidence: tuple[Line, ...] = ()
    """Lines of an incident that has neither rebalances nor outages."""
    root_cause: str | None = None
    held_up: tuple[MemberWait, ...] = ()
    """Whom the others waited for, the longest first."""
    lost_brokers: tuple[str, ...] = ()
    """Brokers that its outages lost."""
    selected_count: int = 0
    """Number of its rebalances within the selection."""

    @property
    def kind_title(self) -> str:
        """The kind in words.

        An incident with a single fault has the title of its cause.
        """
        return self.cause_title.lower() if self.kind == "single" else self.kind.replace("_", " ")


@dataclass(frozen=True, slots=True)
class Offender:
    """A member of a group, with the rebalances it caused and delayed.

    `caused` counts rebalances triggered by the member, `blocked` those in which others waited for it. A rebalance of
    both kinds counts in each, its stopped time once.
    """

    cluster: str
    system: str
    group: str
    name: str
    hosts: tuple[str, ...]
    caused: int
    blocked: int
    stopped_seconds: float
    causes: tuple[tuple[str, int], ...]
    families: tuple[tuple[str, int], ...]
    first_at: int | None
    last_at: int | None


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """Rebalances with the same doubt.

    `confidence` is their mean.
    """

    system: str
    cause: str
    cause_title: str
    rivals: tuple[str, ...]
    settled_by: str | None
    count: int
    confidence: float
    groups: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StateStretch:
    """A group in one state.

    `ended_at` is None while the state lasts.
    """

    state: str
    started_at: int
    ended_at: int | None
    generation: int | None
    member_count: int | None
    inferred: bool


@dataclass(frozen=True, slots=True)
class Lane:
    """States of a group, or of one of its clients, over time."""

    cluster: str
    group: str
    stretches: tuple[StateStretch, ...]
    client: str | None = None


@dataclass(frozen=True, slots=True)
class Outage:
    """A partition without leader."""

    id: str
    cluster: str
    topic: str
    partition: int
    offline_at: int | None
    online_at: int | None
    seconds: float | None
    cause: str
    cause_title: str
    ended_by: str
    lost_brokers: tuple[str, ...]
    at_risk: bool | None
    groups: tuple[str, ...]
    evidence: tuple[Line, ...]
    advice: tuple[RecommendedAction, ...]

    @property
    def why(self) -> str:
        """The cause in words.

        If another replica was available, it is only the loss of the leader.
        """
        if self.cause != "unknown" or not self.lost_brokers:
            return self.cause.replace("_", " ")
        return "leader down"

    @property
    def is_failover(self) -> bool:
        """True if another in-sync replica took over quickly, as expected."""
        return self.ended_by == "isr_election" and self.seconds is not None and self.seconds < FAILOVER_SECONDS


FAILOVER_SECONDS = 1.0
"""Maximum duration of an election that needs no line of its own."""


@dataclass(frozen=True, slots=True)
class Move:
    """A move of a group's coordinator."""

    cluster: str
    group: str
    from_node: str | None
    to_node: str | None
    left_at: int | None
    loaded_at: int | None
    gap_seconds: float | None
    evidence: tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class AtRisk:
    """Committed offsets that expired or will expire."""

    cluster: str
    group: str
    empty_since: int | None
    expires_at: int | None
    retention_seconds: float | None
    is_lost: bool


@dataclass(frozen=True, slots=True)
class Condition:
    """RocketMQ: a standing fault of a group."""

    cluster: str
    group: str
    kind: str
    title: str
    members: tuple[str, ...]
    started_at: int | None
    ended_at: int | None
    evidence: tuple[Line, ...]
    advice: tuple[RecommendedAction, ...]
    detail: str = ""


@dataclass(frozen=True, slots=True)
class ContestedQueues:
    """RocketMQ: queues of a topic with no owner or two.

    `seconds` is the longest time of a single queue.
    """

    cluster: str
    group: str
    topic: str
    kind: str
    queues: tuple[str, ...]
    owners: tuple[str, ...]
    started_at: int | None
    ended_at: int | None
    seconds: float | None
    inferred: bool = False

    @property
    def title(self) -> str:
        """The kind in words."""
        return self.kind.replace("_", " ") + (" (inferred)" if self.inferred else "")


@dataclass(frozen=True, slots=True)
class Divergence:
    """An observation that the model could not explain."""

    cluster: str
    group: str | None
    at: int | None
    expected: str
    observed: str
    evidence: tuple[Line, ...]

    @property
    def is_of_zones(self) -> bool:
        """True if it is about the time zone of a client's log."""
        return self.expected.startswith("the time zone of node")


@dataclass(frozen=True, slots=True)
class UnknownLine:
    """A line without a catalogue entry, with numbers and names masked."""

    template: str
    logger: str | None
    version: str | None
    count: int
    file: str
    line: int
    sample: str | None
    level: str | None = None


@dataclass(frozen=True, slots=True)
class RejectedRecord:
    """An unreadable record."""

    file: str
    line: int
    byte_offset: int
    reason: str
    text: str | None


@dataclass(frozen=True, slots=True)
class LogFile:
    """An input file."""

    path: str
    cluster: str
    system: str | None
    kind: str | None
    node: str | None
    version: str | None
    time_zone: str | None
    first_at: int | None
    last_at: int | None
    bytes_read: int | None
    lines: int
    recognised: int
    unknown: int
    rejected: int
    status: str
    reason: str | None


@dataclass(frozen=True, slots=True)
class Totals:
    """Headline numbers; `untimed` rebalances stopped their group for an unknown time."""

    groups: int
    rebalances: int
    unexpected: int
    stopped_seconds: float
    sure: int
    incidents: int
    attention: int
    outages: int
    files_read: int
    files_skipped: int
    first_at: int | None
    last_at: int | None
    untimed: int = 0


@dataclass(frozen=True, slots=True)
class Answer:
    """Everything shown by one page or screen.

    Incidents and offenders are sorted worst first, the rest by time. `parts` (by rebalance id) and the fields after it
    are for pages only, and empty for screens; but `remedies` are for both.
    """

    totals: Totals
    incidents: Sequence[Incident]
    rebalances: Sequence[Rebalance]
    offenders: Sequence[Offender]
    open_questions: Sequence[OpenQuestion]
    lanes: Sequence[Lane]
    client_lanes: Sequence[Lane] = field(default_factory=tuple)
    outages: Sequence[Outage] = field(default_factory=tuple)
    moves: Sequence[Move] = field(default_factory=tuple)
    at_risk: Sequence[AtRisk] = field(default_factory=tuple)
    conditions: Sequence[Condition] = field(default_factory=tuple)
    contested: Sequence[ContestedQueues] = field(default_factory=tuple)
    doubts: Sequence[Divergence] = field(default_factory=tuple)
    unknown: Sequence[UnknownLine] = field(default_factory=tuple)
    rejected: Sequence[RejectedRecord] = field(default_factory=tuple)
    files: Sequence[LogFile] = field(default_factory=tuple)
    is_narrowed: bool = False
    """Whether filters or a window leave rows out."""
    groups_left: int = 0  # without a rebalance, though members left in some way
    partitions_short: tuple[int, int] = (0, 0)  # ever, and as the logs end
    parts: Mapping[str, Sequence[MemberPart]] = field(default_factory=dict)
    head_counts: Sequence[HeadCount] = field(default_factory=tuple)
    queue_lanes: Sequence[QueueLane] = field(default_factory=tuple)
    broker_outages: Sequence[BrokerOutage] = field(default_factory=tuple)
    what_ifs: Sequence[WhatIf] = field(default_factory=tuple)
    broker_losses: Sequence[BrokerLoss] = field(default_factory=tuple)
    proofs: Mapping[str, Sequence[tuple[str, str]]] = field(default_factory=dict)
    """Proofs by rebalance id, in parts (kind, text)."""
    settings: Sequence[SettingAdvice] = field(default_factory=tuple)
    remedies: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Settings that would have helped, by incident id."""
