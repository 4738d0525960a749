"""A server log that grows at a given rate and is rotated by renaming."""

from __future__ import annotations

import contextlib
import gzip
import shutil
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

GROUPS = 40
IN_TURN = 4
"""Groups that rebalance at a time, as in a deployment of one service after another; of GROUPS none rests."""
TURN_SECONDS = 120
ROTATED_BYTES = 20_000_000
KEPT = 6
STEP_SECONDS = 0.25
_COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
_NOISE = (
    "[UnifiedLog partition=orders-{n}, dir=/var/lib/kafka] Deleting segment files LogSegment(baseOffset={n}, size=1073741824, "
    "lastModifiedTime=1795250829000, largestRecordTimestamp=1795250829000)",
    "kafka.log.UnifiedLog$",
)


def stamped(at: float, text: str, logger: str) -> str:
    """A line of Kafka's own layout."""
    moment = datetime.fromtimestamp(at, UTC)
    return f"[{moment:%Y-%m-%d %H:%M:%S},{moment.microsecond // 1000:03d}] INFO {text} ({logger})\n"


def rebalance(at: float, group: int, generation: int) -> Iterator[str]:
    """The lines of one rebalance, in which a member joins."""
    name, member = f"group-{group}", f"client-{group}-00000000-0000-4000-8000-{generation:012d}"
    reason = f"Adding new member {member} with group instance id None; client reason: rebalance failed due to MemberIdRequiredException"
    home = f"(__consumer_offsets-{group})"
    for later, text in (
        (0.0, f"Preparing to rebalance group {name} in state PreparingRebalance with old generation {generation} {home}"
              f" (reason: {reason})"),
        (0.05, f"Stabilized group {name} generation {generation + 1} {home} with 1 members"),
        (0.06, f"Assignment received from leader {member} for group {name} for generation {generation + 1}."
               " The group has 1 members, 0 of which are static."),
    ):  # fmt: skip
        yield stamped(at + later, f"[GroupCoordinator 1]: {text}", _COORDINATOR)


class GrowingLog:
    """Writes until it is stopped, from a thread of its own."""

    def __init__(self, folder: Path, bytes_per_second: int, rebalances_per_second: float = 2.0, in_turn: int = IN_TURN) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / "server.log"
        self._rate, self._often, self._in_turn = bytes_per_second, rebalances_per_second, in_turn
        self.bytes = self.rebalances = self.rotations = 0
        self._generations = [0] * GROUPS
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._write, daemon=True)

    def step(self, at: float, seconds: float) -> None:
        """Write what belongs to some seconds."""
        due = int(self._often * seconds) + (self._often * seconds % 1 > self.bytes % 997 / 997)
        lines = [line for _ in range(due) for line in self._rebalance(at)]
        size, wanted, number = sum(map(len, lines)), self._rate * seconds, 0
        while size < wanted:
            lines.append(stamped(at + 0.06, _NOISE[0].format(n=self.bytes + number), _NOISE[1]))
            size, number = size + len(lines[-1]), number + 1
        with self._path.open("a", encoding="utf-8") as file:
            file.writelines(lines)
        self.bytes += size
        if self._path.stat().st_size >= ROTATED_BYTES:
            self.rotate()

    def _rebalance(self, at: float) -> Iterator[str]:
        """The next rebalance, of a group whose turn it is."""
        group = (int(at // TURN_SECONDS) * self._in_turn + self.rebalances % self._in_turn) % GROUPS
        self.rebalances += 1
        self._generations[group] += 1
        return rebalance(at, group, self._generations[group] - 1)

    def rotate(self) -> None:
        """Rename as logrotate does with `delaycompress`."""
        self.rotations += 1
        for number in range(KEPT, 0, -1):
            for ending in ("", ".gz"):
                old = self._path.with_name(f"server.log.{number}{ending}")
                if old.exists():
                    old.unlink() if number == KEPT else old.rename(old.with_name(f"server.log.{number + 1}{ending}"))
        self._path.rename(self._path.with_name("server.log.1"))
        second = self._path.with_name("server.log.2")
        if second.exists():
            with second.open("rb") as plain, gzip.open(f"{second}.part", "wb", compresslevel=1) as packed:
                shutil.copyfileobj(plain, packed)
            Path(f"{second}.part").rename(f"{second}.gz")
            second.unlink()

    def _write(self) -> None:
        last = time.time()
        while not self._over.wait(STEP_SECONDS):
            now = time.time()
            self.step(now, now - last)
            last = now

    def __enter__(self) -> GrowingLog:
        self.step(time.time(), 1.0)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        with contextlib.suppress(RuntimeError):
            self._thread.join()
