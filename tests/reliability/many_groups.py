"""The same rebalances in many groups or in few: what a group costs by itself."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import groupscope
from tests.reliability.growing_log import stamped

BEGAN = 1_795_250_000.0
HOUR = 3_600.0
_COORDINATOR = "kafka.coordinator.group.GroupCoordinator"


def _lines(groups: int, each: int) -> Iterator[tuple[float, str]]:
    for group in range(groups):
        for turn in range(each):
            at = BEGAN + group * 0.004 + turn * HOUR
            member = f"c-{group}-{turn}-0a1b2c3d-1111-2222-3333-{group:012d}"
            home, name = f"(__consumer_offsets-{group % 50})", f"g-{group}"
            reason = f"Adding new member {member} with group instance id None; client reason: not provided"
            yield (
                at,
                f"Preparing to rebalance group {name} in state PreparingRebalance with old generation {turn} {home} (reason: {reason})",
            )
            yield at + 3.0, f"Stabilized group {name} generation {turn + 1} {home} with {turn + 1} members"
            yield (
                at + 3.01,
                f"Assignment received from leader {member} for group {name} for generation {turn + 1}. "
                f"The group has {turn + 1} members, 0 of which are static.",
            )


def write(folder: Path, groups: int, each: int) -> None:
    """A server log of groups with so many rebalances each, an hour apart."""
    folder.mkdir(parents=True, exist_ok=True)
    lines = sorted(_lines(groups, each))
    text = "".join(stamped(at, f"[GroupCoordinator 1]: {text}", _COORDINATOR) for at, text in lines)
    (folder / "server.log").write_text(text, encoding="utf-8")


def measure(place: Path, groups: int) -> tuple[float, float]:
    """Seconds of CPU for many groups of one rebalance, and for a tenth of groups of ten."""
    found = []
    for count, each in ((groups, 1), (groups // 10, 10)):
        write(place / str(count), count, each)
        best = float("inf")
        for _ in range(3):
            began = time.process_time()
            groupscope.analyze([str(place / str(count))])
            best = min(best, time.process_time() - began)
        found.append(best)
    return found[0], found[1]
