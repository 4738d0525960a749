"""Rows of the gold tables, the output of the models.

A dataclass for each table, a field for each column of `pipelines.schema.tables`, to which a test holds them. Fields
that end in `_at` are microseconds since 1970 (UTC), durations are seconds, unknown is None.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, TypeVar

from models.times import first_known

KAFKA, ROCKETMQ = "kafka", "rocketmq"
"""Values of `system`."""
ONE_OF = ", one of "
"""Text before the number of candidates in a reason."""
Headline = TypeVar("Headline", covariant=True)
Detail = TypeVar("Detail", covariant=True)
"""Facts or words of an incident's headline, and of a standing fault."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A line that supports a verdict."""

    file: str
    line: int
    byte_offset: int
    text: str
    inferred: bool = False  # True if the line implies the step but does not state it


@dataclass(frozen=True, slots=True)
class Person:
    """A member as offender or blocker; `reason` is its action."""

    member_id: str | None
    client_id: str | None
    instance_id: str | None
    host: str | None
    reason: str
    first: bool = False

    @property
    def act(self) -> str:
        """The reason without the number of candidates and what the member's own log adds."""
        return self.reason.partition(": ")[0].partition(ONE_OF)[0]


@dataclass(frozen=True, slots=True)
class Conformance:
    """Number of observations that the model inferred or could not explain."""

    inferred_steps: int = 0
    unexplained_lines: int = 0


@dataclass(slots=True)
class GroupTransition:
    cluster: str
    system: str
    transition_id: str
    group: str
    from_state: str | None
    to_state: str
    changed_at: int | None
    trigger: str
    generation: int | None
    member_count: int | None
    leader: str | None
    inferred: bool
    evidence: list[Evidence] = field(default_factory=list)
    final_at: int | None = None


@dataclass(frozen=True, slots=True)
class GroupStateMember:
    """A member in the coordinator's model; certainties are certain, inferred or unknown."""

    member_id: str | None
    instance_id: str | None
    certainty: str
    rejoined: bool | None
    rejoined_certainty: str
    synced: bool | None
    synced_certainty: str
    awaited: bool | None
    awaited_certainty: str


@dataclass(frozen=True, slots=True)
class GroupStateTimer:
    """A timer in the coordinator's model."""

    timer: str  # join, sync, pending_member, new_member_join
    member_id: str | None
    deadline_ms: int
    """Since 1970."""
    certainty: str


@dataclass(slots=True)
class GroupState:
    """A group in its coordinator's model after a line."""

    cluster: str
    system: str
    group_state_id: str
    group: str
    changed_at: int
    final_at: int | None = field(default=None, kw_only=True)
    state: str | None
    state_certainty: str
    generation: int | None
    generation_certainty: str
    leader: str | None
    leader_certainty: str
    member_count: int | None
    member_count_certainty: str
    members: list[GroupStateMember]
    pending_members: list[str] | None
    pending_certainty: str
    timers: list[GroupStateTimer]
    missing_lines: int
    unexplained_lines: int
    evidence: list[Evidence] = field(default_factory=list)


@dataclass(slots=True)
class Rebalance:
    cluster: str
    system: str
    rebalance_id: str
    group: str
    topic: str | None
    protocol: str
    protocol_type: str | None
    assignor: str | None
    generation_before: int | None
    generation_after: int | None
    started_at: int | None
    joined_at: int | None
    ended_at: int | None
    final_at: int | None = field(default=None, kw_only=True)
    initial_delay_seconds: float | None
    join_seconds: float | None
    sync_seconds: float | None
    reconcile_seconds: float | None
    duration_seconds: float | None
    at_least_seconds: float | None
    outcome: str
    cause: str
    root_cause: str | None
    confidence: float
    alternatives: dict[str, float]
    settled_by: str | None
    offenders: list[Person]
    blockers: list[Person]
    members_before: int | None
    members_after: int | None
    member_seconds_stopped: float | None
    partition_seconds_stopped: float | None
    duplicate_window: float | None
    conformance: Conformance
    coordinator: str | None
    trigger_text: str | None
    evidence: list[Evidence]
    advice_id: str | None
    pause_seconds: float | None = None
    backlog_seconds: float | None = None
    measurements_ms: dict[str, float] = field(default_factory=dict)

    @property
    def began(self) -> int:
        """Start of the rebalance, or its first known time."""
        return first_known(self.started_at, self.joined_at, self.ended_at)

    @property
    def over_at(self) -> int:
        """End of the rebalance, or its last known time."""
        return first_known(self.ended_at, self.joined_at, self.started_at)


@dataclass(slots=True)
class RebalanceMember:
    cluster: str
    system: str
    rebalance_member_id: str
    rebalance_id: str
    group: str
    member_id: str | None
    client_id: str | None
    instance_id: str | None
    host: str | None
    role: str  # trigger, joined, left, blocker, leader, bystander
    is_first_of_role: bool
    join_delay_seconds: float | None
    session_before: str | None
    session_after: str | None
    final_at: int | None = None


@dataclass(slots=True)
class ClientState:
    """A time in which a client's own log shows one state.

    `ended_at` is None while it lasts.
    """

    cluster: str
    system: str
    client_state_id: str
    group: str
    client_id: str
    member_id: str | None
    instance_id: str | None
    state: str  # UNJOINED, REBALANCING, STABLE
    started_at: int | None
    ended_at: int | None
    evidence: list[Evidence] = field(default_factory=list)
    final_at: int | None = None


@dataclass(slots=True)
class MemberSession:
    cluster: str
    system: str
    member_session_id: str
    group: str
    member_id: str
    client_id: str | None
    host: str | None
    instance_id: str | None
    first_seen_at: int | None
    last_seen_at: int | None
    ended_how: str  # left, expired, evicted, replaced, fenced, removed, open
    rebalances_caused: int
    member_seconds_stopped_caused: float
    library: str | None = None
    client_version: str | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    final_at: int | None = None


@dataclass(slots=True)
class Incident(Generic[Headline]):
    """Related rebalances or outages; models give a headline's facts, tables its words."""

    cluster: str
    system: str
    incident_id: str
    kind: str
    severity: str
    groups: list[str]
    started_at: int | None
    ended_at: int | None
    rebalance_count: int
    stopped_seconds: float
    root_cause: str | None
    worst_offender: Person | None
    headline: Headline
    rebalance_ids: list[str]
    outage_ids: list[str]
    restarted_members: list[str] = field(default_factory=list)
    static_membership_effect: dict[str, float] = field(default_factory=dict)
    evidence: list[Evidence] = field(default_factory=list)
    final_at: int | None = None


@dataclass(slots=True)
class PartitionOutage:
    """A time in which a partition had no leader."""

    cluster: str
    system: str
    outage_id: str
    topic: str
    partition: int
    offline_at: int | None
    online_at: int | None
    cause: str
    ended_by: str
    lost_brokers: list[str]
    replicas: list[str]
    isr: list[str]
    leader_epoch_before: int | None
    leader_before: str | None
    leader_after: str | None
    at_risk: bool | None
    groups: list[str]
    settled_by: str | None
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class UnderReplicatedSpan:
    """A time in which a partition had fewer in-sync replicas than replicas."""

    cluster: str
    system: str
    under_replicated_span_id: str
    topic: str
    partition: int
    started_at: int | None
    ended_at: int | None
    cause: str
    ended_by: str
    replicas: list[str]
    isr: list[str]  # the smallest one
    missing: list[str]
    lost_brokers: list[str]
    settled_by: str | None
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class PartitionPlacement:
    """Placement of a partition at the end of the logs.

    `replicas_known` is True if a line named all its replicas.
    """

    cluster: str
    system: str
    partition_placement_id: str
    topic: str
    partition: int
    replicas: list[str]
    replicas_known: bool
    isr: list[str] | None
    leader: str | None


@dataclass(slots=True)
class Broker:
    """A broker at the end of the logs, with partition counts."""

    cluster: str
    system: str
    broker_id: str
    node: str
    running: bool
    partitions: int
    leaderships: int


@dataclass(slots=True)
class LeaderMove:
    cluster: str
    system: str
    leader_move_id: str
    topic: str
    partition: int
    from_node: str | None
    to_node: str | None
    moved_at: int | None
    leader_epoch: int | None
    reason: str | None
    is_clean_election: bool | None
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class BrokerOutage:
    cluster: str
    system: str
    broker_outage_id: str
    node: str
    down_at: int | None
    up_at: int | None
    shutdown_kind: str  # controlled, killed, session_expired, fenced, log_dir_failed
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class CoordinatorMove:
    cluster: str
    system: str
    coordinator_move_id: str
    group: str
    offsets_partition: int | None
    from_node: str | None
    to_node: str | None
    left_at: int | None
    loaded_at: int | None
    gap_seconds: float | None
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class OffsetExpiration:
    cluster: str
    system: str
    offset_expiration_id: str
    group: str
    empty_since: int | None
    expires_at: int | None
    retention_seconds: float | None
    has_expired: bool
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class Divergence:
    """An observation that the model could not explain."""

    cluster: str
    system: str
    divergence_id: str
    group: str | None
    at: int | None
    expected: str
    observed: str
    evidence: list[Evidence]
    final_at: int | None = None


@dataclass(slots=True)
class LearnedFact:
    """A zone, skew, version, node, timeout, load, outage or gap learned from files."""

    cluster: str
    system: str
    learned_fact_id: str
    kind: str
    subject: str
    value: str
    evidence: list[Evidence]


@dataclass(slots=True)
class AllocationChange:
    """A change of a RocketMQ client's share of a topic.

    Queues are named `broker:id`.
    """

    cluster: str
    system: str
    allocation_change_id: str
    group: str
    topic: str
    client_id: str
    changed_at: int | None
    cause: str
    confidence: float
    alternatives: dict[str, float]
    offenders: list[Person]
    trigger: str | None
    added: list[str]
    removed: list[str]
    allocated: list[str]
    queues: int | None
    clients: int | None
    strategy: str | None
    evidence: list[Evidence]


@dataclass(slots=True)
class QueueOwnership:
    """A time in which a queue had one owner, none, or several."""

    cluster: str
    system: str
    queue_ownership_id: str
    group: str
    topic: str
    queue: str
    kind: str
    owners: list[str]
    started_at: int | None
    ended_at: int | None
    confidence: float
    inferred: bool


@dataclass(slots=True)
class Condition(Generic[Detail]):
    """A standing fault of a RocketMQ group; models give facts, tables words."""

    cluster: str
    system: str
    condition_id: str
    kind: str
    group: str
    members: list[str]
    started_at: int | None
    ended_at: int | None
    detail: Detail
    evidence: list[Evidence]
