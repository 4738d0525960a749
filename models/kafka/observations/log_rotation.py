"""The log that a rotated file of a client or broker belongs to."""

from __future__ import annotations

import re
from functools import lru_cache

LOGS_REMEMBERED = 1 << 16
"""Number of cached file names.

The log of a file is needed several times for each client event.
"""

_ROTATED = re.compile(r"(?:\.(?:\d{1,5}|\d{4}-?\d\d-?\d\d(?:-\d\d)?|gz|bz2|xz|zst))+$")


@lru_cache(maxsize=LOGS_REMEMBERED)
def log_before_rotation(file: str) -> str:
    """The log that a rotated file belongs to: `app.log.3.gz` to `app.log`."""
    return _ROTATED.sub("", file)
