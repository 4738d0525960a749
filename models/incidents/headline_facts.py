"""Facts for the headlines of incidents.

`pipelines.headlines` puts it into words. The models decide which member is named, what it did and whether it counts. How
many of several names are shown, units and plurals are wording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from models.incidents.fault_facts import FaultFacts, UnattributedTrouble

Replica: TypeAlias = tuple[str, int]
"""Topic and partition."""

# -- rebalances of a Kafka group ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class NamedMember:
    """A member by its best known name, with its host."""

    name: str
    host: str | None = None


@dataclass(frozen=True, slots=True)
class TurnRestarts:
    """Restarts of all members, one after the other."""

    member_count: int
    missing: tuple[str, ...] = ()
    """Members that were not back, though others were restarted after them."""


@dataclass(frozen=True, slots=True)
class Migration:
    """Change of a group's protocol.

    `protocol` is the one that the group has now, None if it had it before, too.
    """

    protocol: str | None


@dataclass(frozen=True, slots=True)
class BriefMembers:
    """Members that came and went again within the episode."""

    member_count: int


@dataclass(frozen=True, slots=True)
class RejoinRequest:
    """Reasons that clients gave for rebalances.

    `member` is None if it was none in particular.
    """

    member: NamedMember | None
    is_planned: bool
    text: str


@dataclass(frozen=True, slots=True)
class FrequentCause:
    """The most frequent cause, if no member is known.

    `probability` is None if the cause is sure enough to be named without reserve.
    """

    cause: str
    probability: float | None = None


@dataclass(frozen=True, slots=True)
class EndlessWait:
    """A wait that had not ended when the logs did.

    `has_joined` says that it was for the members' SyncGroup, and not for them to rejoin.
    """

    members: tuple[str, ...]
    has_joined: bool


@dataclass(frozen=True, slots=True)
class HeldUp:
    """Time that a member made the others wait."""

    member: NamedMember
    seconds: float


@dataclass(frozen=True, slots=True)
class MemberActions:
    """A member's actions as causes of rebalances, with counts.

    `probability` is None if they are sure enough to be named without reserve; `other_count` members did the same.
    """

    member: NamedMember
    times: tuple[tuple[str, int], ...]
    probability: float | None = None
    other_count: int = 0


@dataclass(frozen=True, slots=True)
class ActionsTogether:
    """What several members did at once, of whom none stands out."""

    member_count: int
    cause: str


@dataclass(frozen=True, slots=True)
class PauseVictims:
    """Members whose sessions expired while their coordinator paused.

    `broker` is None if they had several coordinators or an unknown one.
    """

    member_count: int
    broker: str | None


EpisodeStory: TypeAlias = (
    BriefMembers
    | Migration
    | TurnRestarts
    | RejoinRequest
    | FrequentCause
    | EndlessWait
    | HeldUp
    | MemberActions
    | ActionsTogether
    | PauseVictims
)
"""Story of an episode."""


@dataclass(frozen=True, slots=True)
class EpisodeFacts:
    """Rebalances of one group that follow each other closely.

    `moving_seconds` says for how long partitions moved if nobody had to stop for that; if it is None and so is
    `stopped_seconds`, nobody stopped as far as the logs reach.
    """

    group: str
    rebalance_count: int
    span_seconds: float | None
    stopped_seconds: float | None
    moving_seconds: float | None
    story: EpisodeStory
    has_new_coordinator: bool = False
    is_open: bool = False
    """Members stop for the last one, which is not over."""
    is_untimed: bool = False
    """No line tells how long some of them lasted."""
    emptied_by: str | None = None
    """Failure by which the last members went, None if there is none."""


# -- other incidents of a Kafka group ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PauseFacts:
    """Sessions of several groups that a coordinator's pause ended together."""

    broker: str | None
    member_count: int
    groups: tuple[str, ...]
    expiry_seconds: float
    """Time from the first end of a session to the last one."""


@dataclass(frozen=True, slots=True)
class MoveFacts:
    """A coordinator that moved while its group went on.

    `gap_seconds` is the time without one, None if unknown.
    """

    group: str
    from_node: str | None
    to_node: str | None
    gap_seconds: float | None


@dataclass(frozen=True, slots=True)
class LoadFacts:
    """Offsets partitions that a broker took long to load; the longest time."""

    broker: str | None
    partitions: tuple[int, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class DiskFacts:
    """A broker whose disk was full, with the directories on it."""

    broker: str | None
    folders: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class StaleLeaderFacts:
    """A broker whose changes of in-sync replicas were refused, as its state was outdated."""

    broker: str | None
    partition_count: int
    seconds: float
    is_lasting: bool


@dataclass(frozen=True, slots=True)
class QuorumFacts:
    """A quorum of controllers that lost its leader.

    `node` knew none for the longest time. `epochs` are those of the first leader known and of the last line. `why` is `quorum_lost`,
    `resigned`, `fetch_timeout` or empty; `silent` are voters that did not answer. `is_start` says that the node had just started,
    `is_cut` that its first line is no beginning.
    """

    node: str | None
    is_voter: bool
    seconds: float
    leader_before: str | None
    leader_after: str | None
    epochs: tuple[int, int]
    election_count: int
    why: str = ""
    timeout_seconds: float | None = None
    silent: tuple[str, ...] = ()
    is_open: bool = False
    is_start: bool = False
    is_cut: bool = False

    @property
    def is_kept(self) -> bool:
        """Whether the node found its leader again in the same epoch."""
        return self.leader_after is not None and not self.is_start and not self.is_cut and self.epochs[0] == self.epochs[1]


@dataclass(frozen=True, slots=True)
class ApartFacts:
    """Clients of a group that found no coordinator; the longest time.

    `why` says what kept them from it, empty if no line does; `is_open` that they had found none when the logs ended.
    """

    group: str
    client_count: int
    seconds: float
    why: str = ""
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class RestorationFacts:
    """Threads of Streams that restored state as they started; the longest time.

    `is_open` says that they were not done when the logs ended.
    """

    group: str
    thread_count: int
    seconds: float
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class RefusalFacts:
    """Refusals of one consumer for one reason.

    `kind` is that of a `RefusalKind`; `name` is None if no line names the consumer.
    """

    group: str
    name: str | None
    kind: str
    count: int


@dataclass(frozen=True, slots=True)
class EmptinessFacts:
    """A group without members, as the logs end, and how the last ones went.

    `name` is None if no line names any; `is_inferred` says that members' logs alone show it.
    """

    group: str
    seconds: float
    cause: str
    name: str | None
    other_count: int
    is_inferred: bool


@dataclass(frozen=True, slots=True)
class TopologyFacts:
    """A streams topology that is not ready, as its line says."""

    group: str
    state: str
    detail: str | None


@dataclass(frozen=True, slots=True)
class LastDeliveryFacts:
    """A record on its last delivery attempt, and the number of others."""

    group: str
    partition: str
    offset: str
    other_count: int


@dataclass(frozen=True, slots=True)
class SharePartitionFacts:
    """Kinds of trouble with records of a share partition, with counts."""

    group: str
    partition: str
    why: str
    count: int


@dataclass(frozen=True, slots=True)
class StaticReturnFacts:
    """Static members that came back in time."""

    group: str
    instance_ids: tuple[str, ...]
    count: int


@dataclass(frozen=True, slots=True)
class StaticTakeoverFacts:
    """Two consumers that take turns at one place."""

    group: str
    instance_id: str
    count: int


@dataclass(frozen=True, slots=True)
class RemovalFacts:
    """A removed group. `had_offsets` is False if it may have had none."""

    group: str
    on_request: bool
    empty_seconds: float | None
    had_offsets: bool


# -- partitions and brokers --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class LossConsequences:
    """Consequences of lost brokers for groups."""

    groups_without_coordinator: int = 0
    rebalance_count: int = 0


@dataclass(frozen=True, slots=True)
class OutageFacts:
    """Partitions that had no leader.

    `brokers` are those that went, `directory_brokers` those that only lost a directory. `longest_seconds` is None while an
    outage lasts, and 0 if all of them began before the logs.
    """

    brokers: tuple[str, ...]
    directory_brokers: tuple[str, ...]
    partitions: frozenset[Replica]
    longest_seconds: float | None
    at_risk_count: int
    coordinator_count: int
    consequences: LossConsequences = LossConsequences()
    has_begun_unseen: bool = False


@dataclass(frozen=True, slots=True)
class AbsenceFacts:
    """Brokers that went without an outage of a partition.

    `shutdown_kind` is None if they did not all go in the same way.
    """

    brokers: tuple[str, ...]
    back: tuple[str, ...]
    """Those of them that were seen again."""
    shutdown_kind: str | None
    longest_seconds: float | None
    """The longest absence of those that are back."""
    moved_leaderships: int
    consequences: LossConsequences = LossConsequences()


@dataclass(frozen=True, slots=True)
class DirectoryFacts:
    """Log directories that failed while their broker stayed up.

    `led` are the replicas there whose partition the broker led, `has_unknown_leaders` says that some may be missing in it,
    and `has_moved_all` that all of these leaderships are known to have moved.
    """

    broker: str
    folders: tuple[str, ...]
    replicas: tuple[Replica, ...]
    led: tuple[Replica, ...]
    has_unknown_leaders: bool
    moved_leaderships: int
    has_moved_all: bool


# -- RocketMQ ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class QueueHarm:
    """Queues without an owner or with two; the longest time."""

    kind: str
    queue_count: int
    topics: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, slots=True)
class StandingQuarrel:
    """A fault that lasts through the episode."""

    fault: FaultFacts


@dataclass(frozen=True, slots=True)
class ClientAction:
    """A client's most frequent action as a cause of rebalances."""

    client_id: str
    cause: str
    times: int


QueueStory: TypeAlias = StandingQuarrel | ClientAction | FrequentCause
"""Story of a RocketMQ group's episode."""


@dataclass(frozen=True, slots=True)
class QueueFacts:
    """Rebalances of one RocketMQ group that follow each other closely."""

    group: str
    rebalance_count: int
    harms: tuple[QueueHarm, ...]
    story: QueueStory
    is_empty: bool = False


@dataclass(frozen=True, slots=True)
class ServerFacts:
    """What RocketMQ's servers tell where no group is in the logs."""

    fault: FaultFacts


HeadlineFacts: TypeAlias = (
    EpisodeFacts
    | PauseFacts
    | MoveFacts
    | LoadFacts
    | DiskFacts
    | StaleLeaderFacts
    | QuorumFacts
    | ServerFacts
    | ApartFacts
    | RestorationFacts
    | RefusalFacts
    | EmptinessFacts
    | TopologyFacts
    | LastDeliveryFacts
    | SharePartitionFacts
    | StaticReturnFacts
    | StaticTakeoverFacts
    | RemovalFacts
    | OutageFacts
    | AbsenceFacts
    | DirectoryFacts
    | QueueFacts
    | UnattributedTrouble
)
"""Facts of one headline."""
