"""The cluster stage: facts from the few lines about a whole cluster.

One ordered pass per cluster learns loads and unloads of `__consumer_offsets` partitions, changes of topics, starts and
stops of brokers, and timeouts in force. The facts are small and immutable for the group stage.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from models.clear_names import clear
from models.events import Event, LogPosition
from models.kafka.cluster.expiry_bursts import ExpiryBurst, bursts_of
from models.kafka.cluster.quorum_turns import QUORUM_EVENTS, QuorumTurns
from models.kafka.cluster.stale_changes import StaleChanges
from models.tolerances import int_tolerance
from models.units import SECONDS_PER_MINUTE

_DEFAULT_INITIAL_DELAY_MS = int_tolerance("kafka.facts.default_initial_delay_ms")
"""group.initial.rebalance.delay.ms since 0.11 (KafkaConfig)."""

DEFAULT_OFFSETS_RETENTION_MINUTES = int_tolerance("kafka.facts.default_offsets_retention_minutes")
"""offsets.retention.minutes since 2.0 (KafkaConfig, KIP-186)."""

OLD_OFFSETS_RETENTION_MINUTES = int_tolerance("kafka.facts.old_offsets_retention_minutes")
"""offsets.retention.minutes before 2.0."""

CLUSTER_EVENTS = frozenset(
    {
        *QUORUM_EVENTS,
        "IsrRefused",
        "LogDirWriteFailed",
        "PartitionLoadStarted",
        "PartitionLoaded",
        "PartitionLoadFailed",
        "PartitionUnloadStarted",
        "PartitionUnloaded",
        "CoordinatorElected",
        "CoordinatorResigned",
        "CoordinatorStarted",
        "CoordinatorStopped",
        "BrokerConfigured",
        "BrokerStarting",
        "BrokerStarted",
        "BrokerStopping",
        "BrokerStopped",
        "KafkaVersion",
        "ClusterId",
        "TopicCreated",
        "PartitionsAdded",
        "TopicDeleted",
        "PartitionCreated",
        "GroupSettingCapped",
        "GroupsDeleted",
        "OffsetsExpired",
        "StaticMemberKept",
        "LeaderReplaced",
        "BrokersChanged",
        "BrokersFailed",
        "BrokerFenced",
        "BrokerLeaving",
        "BrokerLeft",
        "LogDamaged",
    }
)
"""Events read by the cluster stage.

The group stage gets their content as facts.
"""

EXPIRY_EVENTS = frozenset({"MemberFailed", "ModernMemberFenced"})
"""Expiries of members.

The cluster stage reads those that several groups have at once.
"""


@dataclass(frozen=True, slots=True)
class Load:
    """A node loaded an offsets partition, or gave it up (`is_loaded` False).

    `at` is in microseconds.
    """

    at: int
    node: str | None
    partition: int
    is_loaded: bool
    event: Event


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A creation, deletion or growth of a topic."""

    at: int
    topic: str
    kind: str  # created, grown, deleted
    event: Event


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A start or stop of a broker process."""

    at: int
    node: str | None
    kind: str  # starting, started, stopping, stopped
    event: Event


@dataclass(frozen=True, slots=True)
class BrokerDeparture:
    """A controller's loss of a broker, by shutdown or failure."""

    at: int
    node: str
    event: Event


@dataclass(frozen=True, slots=True)
class DamagedLog:
    """A file with changed bytes somewhere between two times.

    A line of it may be changed or missing.
    """

    at: int
    until: int
    file: str
    event: Event


@dataclass(slots=True)
class ClusterFacts:
    """Facts of one cluster.

    Lists are ordered by time.
    """

    cluster: str = "default"
    loads: list[Load] = field(default_factory=list)
    takeovers: list[Load] = field(default_factory=list)
    """Loads of partitions that their former node, lost by then, never gave up."""
    topic_changes: list[TopicChange] = field(default_factory=list)
    node_changes: list[NodeChange] = field(default_factory=list)
    departures: list[BrokerDeparture] = field(default_factory=list)
    damaged: list[DamagedLog] = field(default_factory=list)
    deletions: list[tuple[int, str, Event]] = field(default_factory=list)
    expiries: list[Event] = field(default_factory=list)
    """Lines of brokers that removed expired offsets."""
    expiry_bursts: list[ExpiryBurst] = field(default_factory=list)
    full_disks: list[Event] = field(default_factory=list)
    stale_changes: StaleChanges = field(default_factory=StaleChanges)
    quorum: QuorumTurns = field(default_factory=QuorumTurns)
    leaders_replaced: list[Event] = field(default_factory=list)
    kept: list[Event] = field(default_factory=list)
    broker_settings: dict[str, dict[str, object]] = field(default_factory=dict)
    capped: dict[tuple[str, str], Event] = field(default_factory=dict)
    """Last line about each setting of a group that the broker bounds."""
    versions: dict[str, str] = field(default_factory=dict)
    offsets_partitions: int | None = None
    initial_delay_ms: int = _DEFAULT_INITIAL_DELAY_MS
    offsets_retention_seconds: float = DEFAULT_OFFSETS_RETENTION_MINUTES * SECONDS_PER_MINUTE
    retention_told: bool = False
    session_timeout_ms: int | None = None
    protocol_sessions_ms: dict[str, int] = field(default_factory=dict)
    """Session timeout of groups of each newer protocol, which brokers set."""
    rebalance_timeout_ms: int | None = None
    logs_end: int | None = None
    client_ends: Mapping[str, int] = field(default_factory=dict)
    """Last time in each client's file."""
    attributed_events: dict[str, list[Event]] = field(default_factory=dict)
    """Clients' lines without a group, by the group that they concern.

    See `models.kafka.observations.attribution`.
    """

    def topic_changes_between(self, start: int, end: int) -> list[TopicChange]:
        """Changes of non-internal topics in the half-open interval (start, end]."""
        low = bisect_right(self.topic_changes, start, key=lambda change: change.at)
        high = bisect_right(self.topic_changes, end, key=lambda change: change.at)
        return [change for change in self.topic_changes[low:high] if not change.topic.startswith("__")]

    def node_changes_between(self, start: int, end: int) -> list[NodeChange]:
        """Starts and stops of brokers in the closed interval."""
        low = bisect_left(self.node_changes, start, key=lambda change: change.at)
        high = bisect_right(self.node_changes, end, key=lambda change: change.at)
        return self.node_changes[low:high]

    def taken_over_between(self, start: int, end: int) -> list[Load]:
        """Offsets partitions moved because of a lost broker, in the closed interval."""
        low = bisect_left(self.takeovers, start, key=lambda load: load.at)
        high = bisect_right(self.takeovers, end, key=lambda load: load.at)
        return self.takeovers[low:high]

    def loads_between(self, start: int, end: int) -> list[Load]:
        """Loads and unloads of offsets partitions in the closed interval."""
        low = bisect_left(self.loads, start, key=lambda load: load.at)
        return self.loads[low : bisect_right(self.loads, end, key=lambda load: load.at)]

    def handover(self, partition: int | None, giver: str | None, taker: str | None, by: int) -> tuple[Event | None, Event | None]:
        """The last lines about an offsets partition that moved, by a time.

        By the first one it was given up, by the second one it was loaded.
        """
        given: Event | None = None
        taken: Event | None = None
        if partition is None:
            return None, None
        for place in range(bisect_right(self.loads, by, key=lambda load: load.at) - 1, -1, -1):
            load = self.loads[place]
            if load.partition != partition:
                continue
            if load.is_loaded and load.node == taker and taken is None:
                taken = load.event
            elif not load.is_loaded and load.node == giver and given is None:
                given = load.event
            else:
                break
        return (given, taken) if taken is not None else (None, None)

    def damaged_between(self, files: Container[str], start: int, end: int) -> DamagedLog | None:
        """The first of these files that is damaged within the closed interval."""
        upto = bisect_right(self.damaged, end, key=lambda damage: damage.at)
        return next((damage for damage in self.damaged[:upto] if damage.until >= start and damage.file in files), None)

    def expiry_near(self, at: int, reach_us: int) -> Event | None:
        """Line about expired offsets within `reach_us` of a time."""
        index = bisect_left(self.expiries, at - reach_us, key=lambda event: event.time_us)
        expiry = self.expiries[index] if index < len(self.expiries) else None
        return expiry if expiry is not None and expiry.time_us <= at + reach_us else None

    def was_deleted(self, group: str, at: int, reach_us: int) -> bool:
        """Whether somebody had a group deleted within `reach_us` of a time."""
        low = bisect_left(self.deletions, at - reach_us, key=lambda deletion: deletion[0])
        high = bisect_right(self.deletions, at + reach_us, key=lambda deletion: deletion[0])
        return any(name == group for _, name, _ in self.deletions[low:high])

    def session_ms_of(self, group: str | None, protocol: str | None = None) -> int | None:
        """Session timeout that brokers set for a group.

        Its own where that is out of bounds, or else that of its `protocol`: consumer, share or streams.
        """
        settings = (event for (named, setting), event in self.capped.items() if named == group and setting.endswith(SESSION_TIMEOUT))
        return next((_int(event.fields.get("effective")) for event in settings), self.protocol_sessions_ms.get(protocol or ""))

    def partition_of(self, group: str) -> int | None:
        """The offsets partition of a group, None while the partition count is unknown."""
        return partition_for(clear(group), self.offsets_partitions) if self.offsets_partitions else None


HEARTBEAT_PROTOCOLS = ("consumer", "share", "streams")
"""Protocols whose timeouts brokers set (KIP-848, KIP-932, KIP-1071)."""
SESSION_TIMEOUT = "session.timeout.ms"

_FULL = ("no space left on device", "not enough space on the disk")
"""Words of Linux (ENOSPC) and Windows for a full disk."""


def java_hash(text: str) -> int:
    """String.hashCode of Java, over UTF-16 code units, as a signed 32-bit number."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(encoded), 2):
        value = (31 * value + (encoded[index] << 8 | encoded[index + 1])) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def partition_for(group: str, partition_count: int) -> int:
    """Partition of `__consumer_offsets` for a group.

    As GroupMetadataManager.partitionFor; Utils.abs maps the least number to 0.
    """
    value = java_hash(group)
    return 0 if value == -(1 << 31) else abs(value) % partition_count


_LOADS = {"PartitionLoaded": True, "PartitionUnloadStarted": False, "PartitionUnloaded": False}
_NODE_CHANGES = {
    "BrokerStarting": "starting",
    "CoordinatorStarted": "starting",
    "BrokerStarted": "started",
    "BrokerStopping": "stopping",
    "CoordinatorStopped": "stopping",
    "BrokerStopped": "stopped",
}
_TOPIC_CHANGES = {"TopicCreated": "created", "PartitionsAdded": "grown", "TopicDeleted": "deleted", "PartitionCreated": "grown"}


_DEPARTURE_FIELDS = {
    "BrokersChanged": "removed",
    "BrokersFailed": "brokers",
    "BrokerFenced": "broker",
    "BrokerLeaving": "broker",
    "BrokerLeft": "broker",
}
"""Events about departing brokers in a controller's log, with their field."""


def _nodes(value: object) -> list[str]:
    return [str(node) for node in value] if isinstance(value, (list, tuple)) else [] if value is None else [str(value)]


def _int(value: object) -> int | None:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def learn(events: Iterable[Event], cluster: str = "default") -> ClusterFacts:
    """Learn the facts of one cluster from its `CLUSTER_EVENTS` and `EXPIRY_EVENTS`, in any order."""
    facts = ClusterFacts(cluster)
    lists: list[Event] = []
    expired: list[Event] = []
    for event in events:
        if event.name in EXPIRY_EVENTS:
            expired.append(event)
        lesson = _LESSONS.get(event.name)
        if lesson is not None:
            lesson(facts, event)
        if event.name == "BrokersChanged":
            lists.append(event)
    facts.departures += _unannounced_departures(lists)
    facts.loads.sort(key=lambda load: (load.at, _order(load.event.place)))
    facts.takeovers = _takeovers(facts.loads)
    facts.expiry_bursts = bursts_of(expired, [(load.at, load.node) for load in facts.loads if load.is_loaded])
    facts.topic_changes.sort(key=lambda change: (change.at, _order(change.event.place)))
    facts.node_changes.sort(key=lambda change: (change.at, _order(change.event.place)))
    facts.departures.sort(key=lambda departure: (departure.at, _order(departure.event.place)))
    facts.damaged.sort(key=lambda damage: (damage.at, _order(damage.event.place)))
    facts.deletions.sort(key=lambda deletion: (deletion[0], deletion[1]))
    if not facts.retention_told and _is_old(facts):
        facts.offsets_retention_seconds = OLD_OFFSETS_RETENTION_MINUTES * SECONDS_PER_MINUTE
    for lines in (facts.expiries, facts.leaders_replaced, facts.kept, facts.full_disks):
        lines.sort(key=lambda event: (event.time_us, _order(event.place)))
    return facts


def _unannounced_departures(lists: list[Event]) -> Iterator[BrokerDeparture]:
    """Brokers that disappear from a controller's list of live ones without a line.

    A new controller only lists the brokers that it finds.
    """
    live: set[str] = set()
    for event in sorted(lists, key=lambda event: (event.time_us, _order(event.place))):
        named = event.fields.get("live")
        if isinstance(named, (list, tuple)):
            now = {str(node) for node in named}
            named_nodes = {*_nodes(event.fields.get("removed")), *_nodes(event.fields.get("bounced"))}
            yield from (BrokerDeparture(event.time_us, node, event) for node in sorted(live - now - named_nodes))
            live = now


def _is_old(facts: ClusterFacts) -> bool:
    """Whether the brokers' own files show only versions before 2.0.

    Other files do not count, because clients print their library's version too.
    """
    files = {change.event.place.file for change in facts.node_changes}
    versions = [version for file, version in facts.versions.items() if file in files]
    return bool(versions) and all(version.startswith(("0.", "1.")) for version in versions)


def _order(place: LogPosition) -> tuple[str, int]:
    return place.file, place.byte_offset


def _takeovers(loads: Iterable[Load]) -> list[Load]:
    holders: dict[int, str | None] = {}
    takeovers = []
    for load in loads:
        holder = holders.get(load.partition)
        if not load.is_loaded:
            if load.node == holder:
                holders.pop(load.partition, None)
            continue
        if holder is not None and load.node is not None and load.node != holder:
            takeovers.append(load)
        holders[load.partition] = load.node
    return takeovers


def _learn_load(facts: ClusterFacts, event: Event) -> None:
    if event.partition is not None:
        facts.loads.append(Load(event.time_us, event.node, event.partition, _LOADS[event.name], event))


def _learn_topic_change(facts: ClusterFacts, event: Event) -> None:
    if event.topic:
        facts.topic_changes.append(TopicChange(event.time_us, event.topic, _TOPIC_CHANGES[event.name], event))


def _learn_node_change(facts: ClusterFacts, event: Event) -> None:
    facts.node_changes.append(NodeChange(event.time_us, event.node, _NODE_CHANGES[event.name], event))


def _learn_departures(facts: ClusterFacts, event: Event) -> None:
    facts.departures.extend(BrokerDeparture(event.time_us, node, event) for node in _nodes(event.fields.get(_DEPARTURE_FIELDS[event.name])))


def _learn_deletions(facts: ClusterFacts, event: Event) -> None:
    groups = event.fields.get("groups")
    names = groups if isinstance(groups, (list, tuple)) else [part.strip() for part in str(groups or "").split(",")]
    facts.deletions.extend((event.time_us, str(name), event) for name in names if name)


def _learn_expiry(facts: ClusterFacts, event: Event) -> None:
    if _int(event.fields.get("offsets_count")):
        facts.expiries.append(event)


def _learn_version(facts: ClusterFacts, event: Event) -> None:
    version = event.fields.get("version")
    if isinstance(version, str):
        facts.versions.setdefault(event.place.file, version)


def _learn_damage(facts: ClusterFacts, event: Event) -> None:
    since = _int(event.fields.get("since_us"))
    facts.damaged.append(DamagedLog(event.time_us if since is None else since, event.time_us, event.place.file, event))


def _learn_leader(facts: ClusterFacts, event: Event) -> None:
    facts.leaders_replaced.append(event)


def _learn_kept(facts: ClusterFacts, event: Event) -> None:
    facts.kept.append(event)


def _learn_settings(facts: ClusterFacts, event: Event) -> None:
    """Learn settings from a KafkaConfig block.

    They are taken for the whole cluster, because its brokers share these settings.
    """
    settings = {name: value for name, value in event.fields.items() if value is not None}
    facts.broker_settings.setdefault(event.node or event.place.file, {}).update(settings)
    delay = _int(settings.get("initial_rebalance_delay_ms"))
    if delay is not None:
        facts.initial_delay_ms = delay
    for protocol in HEARTBEAT_PROTOCOLS:
        session_ms = _int(settings.get(f"{protocol}_session_timeout_ms"))
        if session_ms is not None:
            facts.protocol_sessions_ms[protocol] = session_ms
    retention = _int(settings.get("offsets_retention_minutes"))
    if retention is not None:
        facts.offsets_retention_seconds = retention * SECONDS_PER_MINUTE
        facts.retention_told = True
    facts.offsets_partitions = _int(settings.get("offsets_partitions")) or facts.offsets_partitions


def _learn_capped_setting(facts: ClusterFacts, event: Event) -> None:
    key = (event.group or "", str(event.fields.get("setting")))
    known = facts.capped.get(key)
    if known is None or (known.time_us, _order(known.place)) <= (event.time_us, _order(event.place)):
        facts.capped[key] = event


def _learn_full_disk(facts: ClusterFacts, event: Event) -> None:
    if any(words in str(event.fields.get("error") or "").lower() for words in _FULL):
        facts.full_disks.append(event)


def _learn_stale_change(facts: ClusterFacts, event: Event) -> None:
    facts.stale_changes.learn(event)


def _learn_quorum(facts: ClusterFacts, event: Event) -> None:
    facts.quorum.learn(event)


_LESSONS: Mapping[str, Callable[[ClusterFacts, Event], None]] = {
    **dict.fromkeys(_LOADS, _learn_load),
    **dict.fromkeys(_TOPIC_CHANGES, _learn_topic_change),
    **dict.fromkeys(_NODE_CHANGES, _learn_node_change),
    **dict.fromkeys(_DEPARTURE_FIELDS, _learn_departures),
    "BrokerConfigured": _learn_settings,
    "GroupSettingCapped": _learn_capped_setting,
    "GroupsDeleted": _learn_deletions,
    "OffsetsExpired": _learn_expiry,
    "KafkaVersion": _learn_version,
    "LeaderReplaced": _learn_leader,
    "StaticMemberKept": _learn_kept,
    "LogDamaged": _learn_damage,
    "LogDirWriteFailed": _learn_full_disk,
    "IsrRefused": _learn_stale_change,
    **dict.fromkeys(QUORUM_EVENTS, _learn_quorum),
}
"""Handlers by event name; other events contain no facts about the cluster."""
