"""Where warehouses are, and what names their tables have. URIs are opaque: they are only added to."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pipelines.errors import UsageError

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def is_uri(place: str) -> bool:
    """A place with a scheme (`s3a://bucket/x`, `file:/x`), not a path on this machine."""
    return _SCHEME.match(place) is not None


def warehouse_uri(place: str) -> str:
    """A warehouse as a URI or an absolute path, without a slash at its end."""
    return place.rstrip("/") if is_uri(place) else str(Path(place).absolute())


def nothing_at(place: str) -> str:
    """What is said of an input that brings no file. Raises OSError where its store can't be asked."""
    from parsers.sources import filesystems as places

    if not places.is_folder(place):
        return f"{place}: no such file or folder"
    local = places.local_path(place)
    can_be_read = local is None or os.access(local, os.R_OK | os.X_OK)
    return f"{place}: the folder is empty" if can_be_read else f"{place}: the folder can't be read: permission denied"


def catalog_parts(catalog: str) -> list[str]:
    """`SCHEMA`, or `CATALOG.SCHEMA`, in its parts. Raises UsageError."""
    parts = catalog.split(".")
    if len(parts) > 2 or not all(part and part == part.strip() and not set(part) & set("`/\\") for part in parts):
        raise UsageError(f"--catalog {catalog!r}: expected SCHEMA or CATALOG.SCHEMA")
    return parts
