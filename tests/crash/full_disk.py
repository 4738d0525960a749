"""Runs on a disk that is full before they end, each followed by one with room: `--full-disk`."""

from __future__ import annotations

import contextlib
import random
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from pipelines.exit_codes import CANNOT_WRITE, GOOD
from tests.crash.loop import Course, Stage, again, bytes_below
from tests.pipelines.site import Site

_ROOM_BYTES = 512 << 20


@contextlib.contextmanager
def small_disk(place: Path, size_bytes: int) -> Iterator[None]:
    """Mount a disk in memory. Needs root."""
    place.mkdir(parents=True)
    _mount(place, size_bytes)
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def _mount(place: Path, size_bytes: int, option: str = "") -> None:
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"{option}size={size_bytes // 1024}k", "tmpfs", str(place)], check=True)


def filled(stage: Stage, whole: Course, place: Path, draw: random.Random, *, is_first: bool) -> tuple[str, list[str]]:
    """Run with too little room for the tables, then again with enough.

    The first run of a warehouse, or the one after the log has grown. Returns the room and what is wrong afterwards.
    """
    kept = 0 if is_first else bytes_below(stage.cut.warehouse)
    room = draw.randrange(4096, bytes_below(stage.whole.warehouse) if is_first else whole.grown_bytes)
    site = Site(place)
    with small_disk(site.warehouse, kept + room):
        shutil.copytree(stage.whole.logs, site.logs)
        if not is_first:
            shutil.copytree(stage.cut.warehouse, site.warehouse, dirs_exist_ok=True)
        code, said = stage.start(site, {}).ended()
        wrong = [] if code in (GOOD, CANNOT_WRITE) else [f"the run without room ended with {code}: {said[-2000:]}"]
        wrong += ["a stack trace on standard error"] if "Traceback" in said else []
        _mount(site.warehouse, _ROOM_BYTES, "remount,")
        wrong += again(stage, site)
    return f"{'first' if is_first else 'next'} run with room for {room >> 10} KiB ended with {code}", wrong
