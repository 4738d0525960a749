"""Read delta-rs tables with Arrow, local files by Arrow's own file system.

delta-rs opens files for Arrow in Python. If one of Arrow's read-ahead threads does so while the interpreter shuts down,
the process dies with SIGABRT instead of its exit code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem


def files_of(table: DeltaTable) -> FileSystem | None:
    """Arrow's file system for a local table, None for a remote one."""
    from pyarrow import fs

    parts = urlsplit(table.table_uri)
    return fs.SubTreeFileSystem(unquote(parts.path), fs.LocalFileSystem()) if parts.scheme == "file" else None


def table_of(table: DeltaTable, columns: list[str] | None = None, filters: list[tuple[str, str, Any]] | None = None) -> pa.Table:
    """Read all rows of a table."""
    return table.to_pyarrow_table(columns=columns, filters=filters, filesystem=files_of(table))
