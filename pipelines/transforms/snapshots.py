"""States of groups, and of clusters' outages, within their history: taken while events are replayed, and put before the events that
came later."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.events import Event
from models.ids import make_id
from models.kafka.groups.stage import GroupStage

SNAPSHOTS = "group_snapshots"
CLUSTER_SNAPSHOTS = "cluster_snapshots"
STATES = frozenset({SNAPSHOTS, CLUSTER_SNAPSHOTS})
"""Tables of which a row may be large."""
STATE = "state"
_UPTO = "_upto_at"

STATE_MAX = 16_000_000
"""A longer state (characters) is not kept: it costs a row of that size, read and written as one. The group is replayed from an earlier
state or from its beginning."""

HOLDS_NO_MORE = ""
"""In place of a state: the stored one can't be read, or brokers' clocks turn out to differ, so all is replayed from its beginning."""

ROWS_MAX = 16_000
"""With more rows that are not final a state is not even made: it would be as large as they are, a kilobyte each."""


@dataclass(frozen=True, slots=True)
class SnapshotRules:
    """When states are taken: after so many events of a group, where they are so many times its rows that are not final, and
    so long (seconds) before the end of a cluster's logs.

    A state holds rows that are not final, so while each event makes one it is neither smaller nor quicker to read than the
    events. Files of one time come in one batch or in some that follow each other, so what is a quarter of an hour old is seldom
    added to; what ships once a day adds to the day before.
    """

    events: int = 500
    events_per_row: float = 4.0
    lags_seconds: tuple[float, ...] = (900.0, 86_400.0)


@dataclass(frozen=True, slots=True)
class Boundary:
    """A time (microseconds) up to which states are to be taken, and the facts that they rest on."""

    upto: int
    facts_until: int
    facts: str
    """Fingerprint of what was known of the cluster of times until `facts_until`, and with those of clusters of what else counts."""
    catalogue_version: str
    model_version: str


@dataclass(frozen=True, slots=True)
class GroupSnapshot:
    """A row of the table, but for its run."""

    cluster: str
    group_snapshot_id: str
    group: str
    upto_at: int
    facts_until_at: int
    facts: str
    state: str
    catalogue_version: str
    model_version: str


@dataclass(frozen=True, slots=True)
class ClusterSnapshot:
    """A row of the table of clusters' outages, but for its run."""

    cluster: str
    cluster_snapshot_id: str
    upto_at: int
    facts: str
    state: str
    catalogue_version: str
    model_version: str


NEVER = Boundary(0, 0, "", "", "")


def unreadable(cluster: str, group: str) -> GroupSnapshot:
    """What the replay of a group tells in place of rows where its stored state can't be read."""
    return GroupSnapshot(cluster, "", group, NEVER.upto, NEVER.facts_until, NEVER.facts, HOLDS_NO_MORE, "", "")


@dataclass(slots=True)
class Taking:
    """Takes states of one group at each boundary, once enough was replayed since the last one."""

    cluster: str
    group: str
    boundaries: Sequence[Boundary]
    rules: SnapshotRules
    taken: list[GroupSnapshot] = field(default_factory=list)
    _fed: int = 0
    _due: deque[Boundary] = field(init=False)

    def __post_init__(self) -> None:
        self._due = deque(sorted(self.boundaries, key=lambda each: each.upto))

    def feed(self, stage: GroupStage, event: Event) -> None:
        """Replay the next event; take a state before it where it lies behind a boundary."""
        while self._due and event.order_us > self._due[0].upto:
            self._take(stage, self._due.popleft())
        stage.feed(event)
        self._fed += 1

    def end(self, stage: GroupStage) -> None:
        """All events were replayed: those that the group has are before the boundaries that are left."""
        while self._due:
            self._take(stage, self._due.popleft())

    def _take(self, stage: GroupStage, boundary: Boundary) -> None:
        stage.catch_up(boundary.upto)  # as if the next event came now
        rules, rows = self.rules, stage.row_count
        if not self._fed or self._fed < rules.events or rows > ROWS_MAX or stage.event_count < rules.events_per_row * rows:
            return
        state = stage.state()
        if len(state) > STATE_MAX:
            return
        self._fed = 0
        key = make_id("state", self.cluster, self.group, boundary.upto)
        told = (boundary.facts_until, boundary.facts, state, boundary.catalogue_version, boundary.model_version)
        self.taken.append(GroupSnapshot(self.cluster, key, self.group, boundary.upto, *told))


def resumed_at(events: DataFrame, snapshots: DataFrame, keys: Sequence[str] = ("cluster", "group")) -> DataFrame:
    """Events that no state of their group (or what `keys` name) holds yet, and before them, in rows that are no events, the states
    (`state`).

    `snapshots` are rows of the table, one of a group at most; events without a time are in every state.
    """
    reached = snapshots.select(*keys, F.col("upto_at").alias(_UPTO))
    is_later = F.col(_UPTO).isNull() | (F.col("order_at") > F.col(_UPTO))
    later = events.join(F.broadcast(reached), list(keys), "left").where(is_later)
    states = snapshots.select(*keys, STATE)
    return later.drop(_UPTO).withColumn(STATE, F.lit(None).cast("string")).unionByName(states, allowMissingColumns=True)


def with_state(batches: Iterator[pa.RecordBatch]) -> tuple[str | None, Iterator[pa.RecordBatch]]:
    """The state that stands before a group's events, if one does, and the events."""
    first = next(batches)
    state: str | None = first[STATE][0].as_py()
    return state, _chained(first if state is None else first.slice(1), batches)


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if first.num_rows:
        yield first
    yield from rest
