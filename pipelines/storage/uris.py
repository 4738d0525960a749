"""Locations of warehouses and names of their tables.

URIs are opaque: paths are only appended.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipelines.errors import UsageError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def is_uri(place: str) -> bool:
    """Return True for a place with a scheme (`s3a://bucket/x`), False for a path."""
    return _SCHEME.match(place) is not None


def warehouse_uri(place: str) -> str:
    """Return a warehouse as a URI or absolute path, without a trailing slash."""
    return place.rstrip("/") if is_uri(place) else str(Path(place).absolute())


def nothing_at(place: str) -> str:
    """Message about an input without files.

    Raises OSError if its store cannot be reached.
    """
    from parsers.sources import filesystems as places

    if not places.is_folder(place):
        return f"{place}: no such file or folder"
    local = places.local_path(place)
    can_be_read = local is None or os.access(local, os.R_OK | os.X_OK)
    return f"{place}: the folder is empty" if can_be_read else f"{place}: the folder can't be read: permission denied"


def catalog_parts(catalog: str) -> list[str]:
    """Split `SCHEMA` or `CATALOG.SCHEMA`. Raises UsageError."""
    parts = catalog.split(".")
    if len(parts) > 2 or not all(part and part == part.strip() and not set(part) & set("`/\\") for part in parts):
        raise UsageError(f"--catalog {catalog!r}: expected SCHEMA or CATALOG.SCHEMA")
    return parts
