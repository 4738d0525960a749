"""Compressed logs with one flipped bit, analysed beside the intact ones."""

from __future__ import annotations

import gzip
import random
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import groupscope

SERVER = "server.log"


def folders(root: Path) -> list[Path]:
    """Scenarios with a server log."""
    return sorted({path.parent for path in root.rglob(f"{SERVER}*") if path.stat().st_size > 500})


def flipped(packed: bytes, dice: random.Random) -> bytes:
    """One bit of the compressed data changed, neither in the header nor in the checksum."""
    data = bytearray(packed)
    data[dice.randrange(20, len(data) - 8)] ^= 1 << dice.randrange(8)
    return bytes(data)


def compare(logs: Sequence[Path], dice: random.Random, tally: Counter[str]) -> None:
    """Count what becomes of the rebalances of one log's files if a bit of the first is flipped."""
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for path in logs:
            data = path.read_bytes()
            packed = data if data[:2] == b"\x1f\x8b" else gzip.compress(data)
            (place / f"{path.name.removesuffix('.gz')}.gz").write_bytes(packed)
        intact = {row.rebalance_id: row for row in groupscope.analyze([name]).rebalances}
        first = min(place.iterdir(), key=lambda path: (not path.name.startswith(SERVER), path.name))
        first.write_bytes(flipped(first.read_bytes(), dice))
        damaged = groupscope.analyze([name])
        file = next((row for row in damaged.log_files if row["path"].endswith(first.name)), {"status": "missing", "reason": ""})
    tally[f"files {file['status']}"] += 1
    tally["files"] += 1
    for row in damaged.rebalances:
        known = intact.pop(row.rebalance_id, None)
        doubted = "an undamaged copy" in (row.settled_by or "")
        tally["marked" if doubted else "unmarked"] += 1
        tally["invented" if known is None else "same cause" if known.cause == row.cause else "another cause"] += 1
    tally["lost"] += len(intact)


def measure(root: Path, count: int, seed: int) -> Counter[str]:
    """Flip a bit in `count` scenarios drawn at random."""
    dice, tally = random.Random(seed), Counter[str]()  # noqa: S311 - repeatable
    found = folders(root)
    for _ in range(count):
        folder = dice.choice(found)
        compare(sorted(path for path in folder.glob(f"{SERVER}*") if path.stat().st_size > 500), dice, tally)
    return tally
