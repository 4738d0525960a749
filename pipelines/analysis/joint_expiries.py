"""Selection of the expiries that several groups have at once.

The cluster stage gets only these, so a log with millions of expiries needs no more memory.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from models.kafka.cluster.expiry_bursts import BURST_US, GROUPS_MIN
from models.kafka.cluster.facts import EXPIRY_EVENTS
from parsers.arrow_arrays import codes_of, flags, integers_of, known_of, strings

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
    at, group = _whole(expiries["at"]), _whole(expiries["group"])
    known = known_of(at) & known_of(group)
    if not known.any():
        return flags(known)
    moments = _ranks(integers_of(at) // BURST_US, known)
    groups = codes_of(group)
    group_count = int(groups.max()) + 1
    seconds = codes_of(_whole(expiries["file"])) * (int(moments.max()) + 2) + moments
    # Each group once in each second; then the groups of a second together with those of the next.
    pairs = np.unique(seconds[known] * group_count + groups[known])
    of_second, counts = np.unique(pairs // group_count, return_counts=True)
    following = np.where(np.diff(of_second, append=of_second[-1]) == 1, np.append(counts[1:], 0), 0)
    in_both = np.bincount(np.searchsorted(of_second, pairs // group_count), np.isin(pairs + group_count, pairs), len(of_second))
    crowded = of_second[counts + following - in_both >= GROUPS_MIN]
    return flags(known & np.isin(seconds, [crowded, crowded + 1]))


def _whole(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _ranks(values: npt.NDArray[np.int64], known: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """Small numbers in the order of values, consecutive where these are."""
    distinct, place = np.unique(np.where(known, values, values[known][0]), return_inverse=True)
    return np.cumsum(np.minimum(np.diff(distinct, prepend=distinct[0]), 2))[place]
