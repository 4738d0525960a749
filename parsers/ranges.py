"""How the work of reading many files is shared out: small files together, large plain files in ranges.

Only files whose records can be told from any place on are cut: plain UTF-8 without envelopes and zero bytes, in a
layout with dates. Ranges begin at multiples of a block, so that runs of heartbeats are folded as in one piece.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from parsers.files import SourceFile
from parsers.folding import FOLD_BLOCK_BYTES
from parsers.places import open_file, read_at

# A compressed log is so much larger when it is read.
_PACKED = 10
_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class Range:
    """A file, or the records that begin in `[start, stop)` of it. `line` is the number of the line that holds the byte before."""

    source: SourceFile
    start: int = 0
    stop: int | None = None
    line: int = 1

    @property
    def weight(self) -> int:
        """How much there is to read, in bytes."""
        if self.source.compression:
            return self.source.size_bytes * _PACKED
        return (self.source.size_bytes if self.stop is None else self.stop) - self.start


def share_out(sources: Sequence[SourceFile], shares: int, share_bytes: int) -> list[list[Range]]:
    """Ranges of all files in at least `shares` parts (if there is enough to read) of `share_bytes` at most, as files allow."""
    lots = _lots(sources, share_bytes)
    weights = [sum(part.weight for part in lot) for lot in lots]
    count = max(1, min(len(lots), max(shares, -(-sum(weights) // share_bytes))))
    parts: list[list[Range]] = [[] for _ in range(count)]
    heap = [(0, number) for number in range(count)]
    # The largest first, each to whoever has the least to do.
    for lot_weight, lot in sorted(zip(weights, lots, strict=True), key=lambda each: (-each[0], each[1][0].source.name, each[1][0].start)):
        weight, number = heapq.heappop(heap)
        parts[number] += lot
        heapq.heappush(heap, (weight + lot_weight, number))
    return [part for part in parts if part]


def _lots(sources: Sequence[SourceFile], share_bytes: int) -> list[list[Range]]:
    """Ranges that one reader reads best: files of a compressed tar together, in their order there, all else by itself."""
    bundles: dict[str, list[Range]] = {}
    alone = []
    for source in sources:
        if source.archive and source.archive.startswith("tar+"):
            bundles.setdefault(source.path, []).append(Range(source))
        else:
            alone += [[part] for part in cut(source, share_bytes)]
    return [*alone, *bundles.values()]


def cut(source: SourceFile, share_bytes: int) -> list[Range]:
    """The file in ranges of about `share_bytes`, or as a whole."""
    step = max(FOLD_BLOCK_BYTES, share_bytes // FOLD_BLOCK_BYTES * FOLD_BLOCK_BYTES)
    told = source.format
    date = told.layout.date
    dated = told.layout_name == "json" or (date is not None and date.dated)
    if not source.plain or told.wrappers or told.encoding != "utf-8" or not dated or source.size_bytes <= step:
        return [Range(source)]
    starts = list(range(step, source.size_bytes, step))
    lines = _lines_before(source, starts)
    if lines is None:
        return [Range(source)]
    edges = [(0, 1), *zip(starts, lines, strict=True)]
    stops: list[int | None] = [*starts, None]
    return [Range(source, start, stop, line) for (start, line), stop in zip(edges, stops, strict=True)]


def _lines_before(source: SourceFile, starts: Sequence[int]) -> list[int] | None:
    """For each start the number of the line that holds the byte before it; None when the file holds zero bytes, or can't be read
    any more, which its reader will say."""
    try:
        with open_file(source.path) as file:
            return _lines_at(file, starts)
    except OSError:
        return None


def _lines_at(file: BinaryIO, starts: Sequence[int]) -> list[int] | None:
    found: list[int] = []
    count = 0
    before = 0
    for start in starts:
        for block in _blocks(file, before, start - 1):
            if b"\x00" in block:
                return None
            count += block.count(b"\n")
        before = start - 1
        found.append(count + 1)
    return found


def _blocks(file: BinaryIO, begin: int, end: int) -> Iterator[bytes]:
    while begin < end:
        block = read_at(file, min(_READ, end - begin), begin)
        if not block:
            return
        yield block
        begin += len(block)
