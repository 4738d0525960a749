"""How often Python looks for objects that hold each other and nobody else holds."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

OBJECTS_BETWEEN_COLLECTIONS = 50_000


@contextmanager
def rarely_collected() -> Iterator[None]:
    """Records and rows come by the million and make no cycles: to look for some after each 700 objects takes about a
    tenth of the time."""
    before = gc.get_threshold()
    if before[0]:
        gc.set_threshold(max(before[0], OBJECTS_BETWEEN_COLLECTIONS), *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
