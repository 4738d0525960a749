"""Folders that take minutes to fill, filled once and shared by parallel tests."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest


def made_once(factory: pytest.TempPathFactory, name: str, fill: Callable[[Path], None]) -> Path:
    """Return the folder of this name, filled by the first process.

    Others wait. A folder is filled again after a failure.
    """
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
