"""Rows of tables that delta-rs has opened, for Arrow: from files of this machine's disk by Arrow's own way.

delta-rs opens files for Arrow in Python. Arrow's threads read ahead, and one that does so while the interpreter ends takes
the process with it: SIGABRT in place of the exit code.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    import pyarrow as pa
    from deltalake import DeltaTable
    from pyarrow.fs import FileSystem


def files_of(table: DeltaTable) -> FileSystem | None:
    """Arrow's own way to the files of a table on this machine's disk; None for one elsewhere."""
    from pyarrow import fs

    parts = urlsplit(table.table_uri)
    return fs.SubTreeFileSystem(unquote(parts.path), fs.LocalFileSystem()) if parts.scheme == "file" else None


def table_of(table: DeltaTable, columns: list[str] | None = None, filters: list[tuple[str, str, Any]] | None = None) -> pa.Table:
    """Rows of a table, as many as there are."""
    return table.to_pyarrow_table(columns=columns, filters=filters, filesystem=files_of(table))
