"""Distribute files among tasks: small ones together, large plain ones in ranges.

Only files that can be read from any position are split: plain UTF-8 without envelopes and zero bytes, in a layout with
dates. Ranges begin at multiples of a block, so that runs of heartbeats are folded as in an undivided file.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise

from parsers.reading.resume import Start, ends_of_lines, is_resumable
from parsers.records.run_folding import FOLD_BLOCK_BYTES
from parsers.sources.files import SourceFile

StartedSource = tuple[SourceFile, Start | None]
LineEndsByFile = Mapping[str, Sequence[int] | None]
"""Numbers of line ends between the edges of a file's ranges, by name.

None for a file that cannot be split.
"""

# Estimated compression ratio of logs.
_PACKED = 10


@dataclass(frozen=True, slots=True)
class Range:
    """A file, or the records that begin in `[start, stop)` of it.

    `line` is the number of the line with the byte before.
    """

    source: SourceFile
    start: int = 0
    stop: int | None = None
    line: int = 1

    @property
    def weight(self) -> int:
        """Estimated bytes to read."""
        if self.source.compression:
            return self.source.size_bytes * _PACKED
        return (self.source.size_bytes if self.stop is None else self.stop) - self.start


def share_out(sources: Sequence[StartedSource], shares: int, share_bytes: int, lines: LineEndsByFile | None = None) -> list[list[Range]]:
    """Distribute ranges of all files among at least `shares` tasks, if possible.

    Each has at most `share_bytes`, as far as files can be split. `lines` holds line counts for `edges`, by name, if
    they are known.
    """
    lots = _lots(sources, share_bytes, lines or {})
    weights = [sum(part.weight for part in lot) for lot in lots]
    count = max(1, min(len(lots), max(shares, -(-sum(weights) // share_bytes))))
    parts: list[list[Range]] = [[] for _ in range(count)]
    heap = [(0, number) for number in range(count)]
    # The largest first, each to the task with the least work.
    for lot_weight, lot in sorted(zip(weights, lots, strict=True), key=lambda pair: (-pair[0], pair[1][0].source.name, pair[1][0].start)):
        weight, number = heapq.heappop(heap)
        parts[number] += lot
        heapq.heappush(heap, (weight + lot_weight, number))
    return [part for part in parts if part]


def _lots(sources: Sequence[StartedSource], share_bytes: int, lines: LineEndsByFile) -> list[list[Range]]:
    """Ranges grouped for efficient reading.

    Files of a compressed tar or of nested archives stay together and in order.
    """
    bundles: dict[str, list[Range]] = {}
    alone = []
    for source, start in sources:
        if source.archive and (source.outer or source.archive.startswith("tar+")):
            bundles.setdefault(source.path, []).append(Range(source))
        else:
            ranges = _ranges(source, start, share_bytes, lines[source.name]) if source.name in lines else split(source, share_bytes, start)
            alone += [[part] for part in ranges]
    return [*alone, *bundles.values()]


def split(source: SourceFile, share_bytes: int, start: Start | None = None) -> list[Range]:
    """Split the file from its start on in ranges of about `share_bytes`, if possible."""
    places = edges(source, share_bytes, start)
    return _ranges(source, start, share_bytes, _ends_between(source.path, places) if len(places) > 1 else [])


def edges(source: SourceFile, share_bytes: int, start: Start | None = None) -> list[int]:
    """Starts of a file's ranges.

    Only the start of the file if it is not split.
    """
    step = max(FOLD_BLOCK_BYTES, share_bytes // FOLD_BLOCK_BYTES * FOLD_BLOCK_BYTES)
    begin = start.offset if start is not None else 0
    return [begin, *(range(begin // step * step + step, source.size_bytes, step) if is_resumable(source) else ())]


def _ranges(source: SourceFile, start: Start | None, share_bytes: int, ends: Sequence[int] | None) -> list[Range]:
    """Make the ranges.

    `ends` are the line counts between edges, None if the file cannot be split.
    """
    begin = start or Start(0, 1)
    if not ends:
        return [Range(source, begin.offset, None, begin.line)]
    places = edges(source, share_bytes, start)
    lines = accumulate(ends, initial=begin.line)
    return [Range(source, place, stop, line) for place, stop, line in zip(places, [*places[1:], None], lines, strict=True)]


def _ends_between(path: str, places: Sequence[int]) -> list[int] | None:
    ends: list[int] = []
    for begin, end in pairwise(places):
        count = ends_of_lines(path, begin, end)
        if count is None:
            return None
        ends.append(count)
    return ends
