"""Checkpoints of groups and outages: rules, rows, and insertion before later events.

See the rules of incremental runs in `pipelines.transforms`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from models.clear_names import learn_names
from models.events import Event
from models.ids import make_id
from models.kafka.groups.group_stage import GroupStage
from models.state_codec import UnreadableState
from parsers.redaction.pseudonyms import BadKeyError, Redaction

SNAPSHOTS = "group_snapshots"
CLUSTER_SNAPSHOTS = "cluster_snapshots"
STATE_TABLES = frozenset({SNAPSHOTS, CLUSTER_SNAPSHOTS})
"""Tables with large rows."""
STATE = "state"
_UPTO = "_upto_at"

STATE_MAX = 16_000_000
"""Maximum length of a checkpoint, in characters.

Each is read and written as one row. Without it the group is replayed from an earlier checkpoint or from its beginning.
"""

HOLDS_NO_MORE = ""
"""Marker in place of a checkpoint: replay from the beginning.

Used if the stored one is unreadable or brokers' clocks turn out to differ.
"""

ROWS_MAX = 16_000
"""Maximum number of unfinished rows in a checkpoint.

Each adds about a kilobyte.
"""


@dataclass(frozen=True, slots=True)
class CheckpointRules:
    """Conditions for taking a checkpoint.

    At least `events` events since the last one, at least `events_per_row` events per unfinished row, and `lags_seconds`
    before the end of a cluster's logs. A checkpoint holds the unfinished rows, so if each event makes one it is neither
    smaller nor faster to read than the events. Files of the same period arrive in one batch or in consecutive ones, so
    records older than a quarter of an hour seldom change; daily shipping adds to the previous day.
    """

    events: int = 100
    events_per_row: float = 4.0
    lags_seconds: tuple[float, ...] = (900.0, 86_400.0)


@dataclass(frozen=True, slots=True)
class CheckpointBoundary:
    """A time (microseconds) for a checkpoint, and the facts that it depends on."""

    upto: int
    facts_until: int
    facts: str
    """Fingerprint of what was known of the cluster until `facts_until`.

    For outages it includes what groups read.
    """
    catalogue_version: str
    model_version: str


@dataclass(frozen=True, slots=True)
class GroupCheckpoint:
    """A row of the table without its run."""

    cluster: str
    group_snapshot_id: str
    group: str
    covers_until_at: int
    facts_until_at: int
    facts_fingerprint: str
    state: str
    catalogue_version: str
    model_version: str


@dataclass(frozen=True, slots=True)
class ClusterCheckpoint:
    """A row of the table of clusters' outages without its run."""

    cluster: str
    cluster_snapshot_id: str
    covers_until_at: int
    facts_fingerprint: str
    state: str
    catalogue_version: str
    model_version: str


NEVER = CheckpointBoundary(0, 0, "", "", "")


@dataclass(slots=True)
class CheckpointSeal:
    """Encrypts checkpoints under the key by which names are redacted.

    What is not redacted stays as it is. A checkpoint may hold plaintext of names, and its replay needs the names of the
    events before it, so these are encrypted with it.
    """

    redaction: Redaction | None = None
    _names: set[str] = field(default_factory=set)

    def learn(self, names: Mapping[str, str]) -> None:
        """Let the models know plaintexts of pseudonyms, and keep them for checkpoints."""
        learn_names(names)
        self._names.update(names.values())

    def close(self, state: str) -> str:
        """Return a checkpoint as it may be stored."""
        return state if self.redaction is None else self.redaction.encrypt([state, *sorted(self._names)])

    def open(self, stored: str) -> str:
        """Return a stored checkpoint as the models wrote it.

        Raises UnreadableState if it was encrypted under another key, or is damaged.
        """
        if self.redaction is None:
            return stored
        try:
            state, *names = self.redaction.open_sealed(stored)
        except BadKeyError as problem:
            raise UnreadableState(str(problem)) from None
        self.learn({self.redaction.name(name): name for name in names})
        return state


def unreadable(cluster: str, group: str) -> GroupCheckpoint:
    """The row that reports an unreadable checkpoint of a group."""
    return GroupCheckpoint(cluster, "", group, NEVER.upto, NEVER.facts_until, NEVER.facts, HOLDS_NO_MORE, "", "")


@dataclass(slots=True)
class CheckpointRecorder:
    """Takes checkpoints of one group at each boundary, after enough events."""

    cluster: str
    group: str
    boundaries: Sequence[CheckpointBoundary]
    rules: CheckpointRules
    seal: CheckpointSeal = field(default_factory=CheckpointSeal)
    taken: list[GroupCheckpoint] = field(default_factory=list)
    _fed: int = 0
    _due: deque[CheckpointBoundary] = field(init=False)

    def __post_init__(self) -> None:
        self._due = deque(sorted(self.boundaries, key=lambda boundary: boundary.upto))

    def feed(self, stage: GroupStage, event: Event) -> None:
        """Replay the next event, after the checkpoints that are due before it."""
        while self._due and event.order_us > self._due[0].upto:
            self._take(stage, self._due.popleft())
        stage.feed(event)
        self._fed += 1

    def end(self, stage: GroupStage) -> None:
        """Take the remaining checkpoints after the last event."""
        while self._due:
            self._take(stage, self._due.popleft())

    def _take(self, stage: GroupStage, boundary: CheckpointBoundary) -> None:
        stage.advance_to(boundary.upto)  # as if the next event came now
        rules, rows = self.rules, stage.row_count
        if not self._fed or self._fed < rules.events or rows > ROWS_MAX or stage.event_count < rules.events_per_row * rows:
            return
        state = self.seal.close(stage.checkpoint())
        if len(state) > STATE_MAX:
            return
        self._fed = 0
        key = make_id("state", self.cluster, self.group, boundary.upto)
        columns = (boundary.facts_until, boundary.facts, state, boundary.catalogue_version, boundary.model_version)
        self.taken.append(GroupCheckpoint(self.cluster, key, self.group, boundary.upto, *columns))


def prepend_checkpoints(events: DataFrame, snapshots: DataFrame, keys: Sequence[str] = ("cluster", "group")) -> DataFrame:
    """Events later than their group's checkpoint, and the checkpoints before them.

    Checkpoints are rows with a `state` instead of an event. `snapshots` has at most one row per group (or other
    `keys`). Events without a time are in every checkpoint.
    """
    reached = snapshots.select(*keys, F.col("covers_until_at").alias(_UPTO))
    is_later = F.col(_UPTO).isNull() | (F.col("file_time_max_at") > F.col(_UPTO))
    later = events.join(F.broadcast(reached), list(keys), "left").where(is_later)
    states = snapshots.select(*keys, STATE)
    return later.drop(_UPTO).withColumn(STATE, F.lit(None).cast("string")).unionByName(states, allowMissingColumns=True)


def later_events(events: pa.Table, snapshots: pa.Table, keys: Sequence[str] = ("cluster", "group")) -> pa.Table:
    """Events later than their group's checkpoint, as `prepend_checkpoints` chooses them."""
    reached = dict(zip(_tuples(snapshots, keys), snapshots["covers_until_at"].cast(pa.int64()).to_pylist(), strict=True))
    upto = pa.array(map(reached.get, _tuples(events, keys)), pa.int64())
    is_later = pc.greater(events["file_time_max_at"].cast(pa.int64()), upto).fill_null(False)
    return events.filter(pc.or_(pc.is_null(upto), is_later))


def _tuples(rows: pa.Table, names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(rows[name].to_pylist() for name in names), strict=True)


def split_checkpoint(batches: Iterator[pa.RecordBatch]) -> tuple[str | None, Iterator[pa.RecordBatch]]:
    """Split the checkpoint, if any, from the group's events."""
    first = next(batches)
    state: str | None = first[STATE][0].as_py()
    return state, _chained(first if state is None else first.slice(1), batches)


def _chained(first: pa.RecordBatch, rest: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    if first.num_rows:
        yield first
    yield from rest
