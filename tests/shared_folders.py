"""Folders that cost minutes to fill: one of the processes that test side by side does, and all read them."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """The folder of this name, filled by whoever comes first while the others wait. One whose filling failed is filled anew."""
    base = factory.getbasetemp()
    beside = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base
    place, done = beside / f"once-{name}", beside / f"once-{name}.done"
    with (beside / f"once-{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not done.exists():
            shutil.rmtree(place, ignore_errors=True)
            place.mkdir()
            fill(place)
            done.touch()
    return place
