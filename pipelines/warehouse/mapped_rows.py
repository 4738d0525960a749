"""Rows for lookups in a temporary file: of very many, a driver needs few."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING

import pyarrow as pa

from pipelines.scratch import scratch
from pipelines.warehouse.arrow_files import files_of

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from deltalake import DeltaTable

HELD_BYTES_MAX = 16 << 20
"""Rows with more bytes are written to the file."""

_BATCH_ROWS = 8_192


def read_mapped(log: DeltaTable, columns: Sequence[str] | None = None, condition: pc.Expression | None = None) -> pa.Table:
    """Rows of a table that meet a condition, in memory if they are few."""
    dataset = log.to_pyarrow_dataset(filesystem=files_of(log))
    scanner = dataset.scanner(
        columns=None if columns is None else list(columns),
        filter=condition,
        batch_size=_BATCH_ROWS,
        batch_readahead=2,
        fragment_readahead=1,
    )
    return mapped(scanner.to_batches(), scanner.projected_schema)


def mapped(batches: Iterable[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The rows of these batches: the system reads those of a file as they are looked up, and may drop them again.

    The file has no name any more when this returns, and goes with the table.
    """
    rest = iter(batches)
    first: list[pa.RecordBatch] = []
    for batch in rest:
        first.append(batch)
        if sum(part.nbytes for part in first) > HELD_BYTES_MAX:
            break
    else:
        return pa.Table.from_batches(first, schema)
    with tempfile.NamedTemporaryFile(prefix="groupscope-", dir=scratch()) as file:
        with pa.ipc.new_file(file, schema) as writer:
            for batch in chain(first, rest):
                writer.write_batch(batch)
            first.clear()
        file.flush()
        pa.default_memory_pool().release_unused()  # Arrow would keep what it has read
        return pa.ipc.open_file(pa.memory_map(file.name)).read_all()
