"""Where warehouses are. URIs are opaque: they are only added to."""

from __future__ import annotations

import re
from pathlib import Path

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def is_uri(place: str) -> bool:
    """A place with a scheme (`s3a://bucket/x`, `file:/x`), not a path on this machine."""
    return _SCHEME.match(place) is not None


def warehouse_uri(place: str) -> str:
    """A warehouse as a URI or an absolute path, without a slash at its end."""
    return place.rstrip("/") if is_uri(place) else str(Path(place).absolute())
