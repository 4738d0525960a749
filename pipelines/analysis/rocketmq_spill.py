"""Store RocketMQ's events so that each topic of a group can be read separately.

Implements `models.rocketmq.event_partitions.Parts`. Beyond a memory limit events go to disk: those of a topic in one
batch per spill, all others in order of arrival.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

from models.events import Event
from models.rocketmq.event_partitions import BY_TOPIC, HEEDED, LOCKS, TopicKey
from parsers.arrow_arrays import alike, flags, numbers, strings
from pipelines.schema.row_conversion import events_of
from pipelines.scratch import scratch

HELD_BYTES_MAX = 48 << 20
"""Events held in memory before they are written to disk."""

ROWS_AT_ONCE = 8_192
"""Number of rows converted to events at once."""

_HEEDED = strings(sorted(HEEDED))
_BY_TOPIC = strings(sorted(BY_TOPIC))
_LOCKS = strings(sorted(LOCKS))


class RocketStore:
    """Collects batches.

    They must arrive file by file, each file in its order.
    """

    def __init__(self, held_bytes_max: int = HELD_BYTES_MAX) -> None:
        self._held_bytes_max = held_bytes_max
        self._held_bytes = 0
        self._rest: list[pa.RecordBatch] = []
        self._topics: list[pa.RecordBatch] = []
        self._met: set[tuple[str, str]] = set()  # (file, group)
        self._files: set[str] = set()
        self._rests: list[Path] = []
        self._runs: list[tuple[Path, dict[TopicKey, int]]] = []
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def add(self, batch: pa.RecordBatch) -> None:
        """Add a batch of events of any kind."""
        batch = batch.filter(pc.is_in(batch["event"], value_set=_HEEDED))
        if not batch.num_rows:
            return
        self._files.update(batch["file"].unique().to_pylist())
        named = pc.and_(pc.is_valid(batch["group"]), pc.is_valid(batch["topic"]))
        by_topic = pc.and_(named, pc.is_in(batch["event"], value_set=_BY_TOPIC))
        self._hold(self._topics, batch.filter(by_topic))
        self._hold(self._rest, batch.filter(pc.or_(pc.invert(by_topic), self._firsts(batch, by_topic))))
        if self._held_bytes > self._held_bytes_max:
            self._spill()

    def _hold(self, batches: list[pa.RecordBatch], batch: pa.RecordBatch) -> None:
        if batch.num_rows:
            batches.append(batch)
            self._held_bytes += batch.nbytes

    def _firsts(self, batch: pa.RecordBatch, by_topic: pa.Array) -> pa.Array:
        """Mark each client file's first row about a group's topics."""
        by_subscription = pc.and_(by_topic, pc.invert(pc.is_in(batch["event"], value_set=_LOCKS)))
        rows = np.flatnonzero(np.asarray(by_subscription.to_pylist(), dtype=bool))
        firsts = rows[alike([batch[name].take(numbers(rows)) for name in ("file", "group")])[0]]
        is_first = np.zeros(batch.num_rows, dtype=bool)
        for row, file, group in zip(
            firsts.tolist(), *(batch[name].take(numbers(firsts)).to_pylist() for name in ("file", "group")), strict=True
        ):
            if (file, group) not in self._met:
                self._met.add((file, group))
                is_first[row] = True
        return flags(is_first)

    def _spill(self) -> None:
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="groupscope-", dir=scratch())
            os.chmod(self._folder.name, 0o700)
        number = len(self._rests) + len(self._runs)
        if self._topics:
            runs = _by_key(self._topics)
            path = Path(self._folder.name) / f"topics-{number}.arrow"
            _write(path, [batch for _, batch in runs])
            self._runs.append((path, {key: index for index, (key, _) in enumerate(runs)}))
        if self._rest:
            path = Path(self._folder.name) / f"rest-{number}.arrow"
            _write(path, self._rest)
            self._rests.append(path)
        self._topics, self._rest, self._held_bytes = [], [], 0

    def clusters(self, cluster_of: Callable[[str], str]) -> list[tuple[str, ClusterParts]]:
        """The parts of each cluster, by its name.

        `cluster_of` returns the cluster of a file, by path.
        """
        files: dict[str, list[str]] = {}
        for file in sorted(self._files):
            files.setdefault(cluster_of(file), []).append(file)
        by_key = dict(_by_key(self._topics))
        return [(name, ClusterParts(self, by_key, None if len(files) == 1 else strings(files[name]))) for name in sorted(files)]

    def rest(self) -> Iterator[pa.RecordBatch]:
        """All events not read by topic, and the first ones of each topic."""
        for path in self._rests:
            with pa.OSFile(str(path), "rb") as source:
                reader = pa.ipc.open_file(source)
                yield from (reader.get_batch(index) for index in range(reader.num_record_batches))
        yield from self._rest

    def spilled(self, key: TopicKey) -> Iterator[pa.RecordBatch]:
        """Batches of a topic on disk."""
        for path, places in self._runs:
            if key in places:
                with pa.OSFile(str(path), "rb") as source:
                    yield pa.ipc.open_file(source).get_batch(places[key])

    def spilled_keys(self) -> set[TopicKey]:
        """Topics with batches on disk."""
        return {key for _, places in self._runs for key in places}

    def close(self) -> None:
        """Delete the files on disk."""
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def __enter__(self) -> RocketStore:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class ClusterParts:
    """One cluster's events in the common store.

    `files` are the cluster's files, None if it is the only cluster.
    """

    store: RocketStore
    topic_batches: dict[TopicKey, pa.RecordBatch]
    files: pa.Array | None

    def rest(self, files: Collection[str] | None = None) -> Iterator[Event]:
        wanted = None if files is None else strings(sorted(files))
        batches = self.store.rest()
        return self._events(batches if wanted is None else (_of_files(batch, wanted) for batch in batches))

    def topics(self) -> Sequence[TopicKey]:
        """Keys of all parts, sorted."""
        return sorted({*self.topic_batches, *self.store.spilled_keys()})

    def events_of(self, key: TopicKey) -> Iterator[Event]:
        """Events of one part."""
        yield from self._events(self.store.spilled(key))
        if key in self.topic_batches:
            yield from self._events([self.topic_batches[key]])

    def _events(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Event]:
        for batch in batches:
            cluster_batch = batch if self.files is None else _of_files(batch, self.files)
            for start in range(0, cluster_batch.num_rows, ROWS_AT_ONCE):
                yield from events_of(cluster_batch.slice(start, ROWS_AT_ONCE))


def _of_files(batch: pa.RecordBatch, files: pa.Array) -> pa.RecordBatch:
    return batch.filter(pc.is_in(batch["file"], value_set=files))


def _by_key(batches: Sequence[pa.RecordBatch]) -> list[tuple[TopicKey, pa.RecordBatch]]:
    """One batch per group and topic; rows keep their order."""
    if not batches:
        return []
    table = pa.Table.from_batches(batches).combine_chunks()
    order = pc.sort_indices(table.select(["group", "topic"]), sort_keys=[("group", "ascending"), ("topic", "ascending")])
    [whole] = table.take(order).combine_chunks().to_batches()
    ends = sorted({end for name in ("group", "topic") for end in pc.run_end_encode(whole[name]).run_ends.to_pylist()})
    cuts = zip([0, *ends], ends, strict=False)
    return [((whole["group"][low].as_py(), whole["topic"][low].as_py()), whole.slice(low, high - low)) for low, high in cuts]


def _write(path: Path, batches: Sequence[pa.RecordBatch]) -> None:
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
