"""Selection of the expiries that several groups have at once.

The cluster stage gets only these, so a log with millions of expiries needs no more memory.
"""

from __future__ import annotations

from collections import defaultdict

import pyarrow as pa
import pyarrow.compute as pc

from models.kafka.cluster.expiry_bursts import BURST_US, GROUPS_MIN
from models.kafka.cluster.facts import EXPIRY_EVENTS
from parsers.arrow_arrays import flags, strings
from pipelines.schema.row_conversion import micros

EXPIRY_COLUMNS = ("file", "group", "at")
"""Columns that the selection needs."""

_EXPIRY_NAMES = strings(sorted(EXPIRY_EVENTS))


def expiries_in(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return the expiries of a batch."""
    return batch.filter(pc.is_in(batch["event"], value_set=_EXPIRY_NAMES))


def joint(expiries: pa.RecordBatch | pa.Table) -> pa.Array:
    """Flag expiries near those of several other groups in the same file.

    These are a few more than the models take for a burst.
    """
    files, groups = expiries["file"].to_pylist(), expiries["group"].to_pylist()
    moments = [None if at is None else at // BURST_US for at in micros(expiries["at"])]
    seen: dict[tuple[str, int], set[str]] = defaultdict(set)
    for file, group, moment in zip(files, groups, moments, strict=True):
        if moment is not None and group is not None:
            seen[file, moment].add(group)
    none: set[str] = set()
    crowded = {
        (file, second)
        for file, moment in seen
        if len(seen[file, moment] | seen.get((file, moment + 1), none)) >= GROUPS_MIN
        for second in (moment, moment + 1)
    }
    return flags([(file, moment) in crowded for file, moment in zip(files, moments, strict=True)])
