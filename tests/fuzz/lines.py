"""Mutated lines through parsers and models to the answer."""

from __future__ import annotations

import random
import traceback
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parsers.catalogue.catalogue import catalogue
from parsers.formats.time_zones import ZoneConverter
from parsers.records.chunks import ParsedChunk, parse_chunk
from parsers.records.context import RAISED, ChunkContext
from parsers.redaction.secrets import mask_credentials
from tests.fuzz.mutations import Seed, mutated, renumbered

LINES_AT_ONCE = 200

Mutate = Callable[[bytes, Sequence[bytes], random.Random], bytes]
MUTATIONS: dict[str, Mutate] = {"lines": mutated, "numbers": lambda line, _, dice: renumbered(line, dice)}


@dataclass(slots=True)
class Tally:
    """Results of lines, and faults, each with the shortest input that shows it."""

    lines: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    faults: dict[str, bytes] = field(default_factory=dict)

    def note(self, problem: BaseException, data: bytes) -> None:
        """Record an exception, by where it was raised."""
        frame = traceback.extract_tb(problem.__traceback__)[-1]
        self.fault(f"{type(problem).__name__} at {Path(frame.filename).name}:{frame.lineno} {frame.name}: {str(problem)[:100]}", data)

    def fault(self, name: str, data: bytes) -> None:
        """Record a fault."""
        self.counts["faults"] += 1
        if name not in self.faults or len(data) < len(self.faults[name]):
            self.faults[name] = data


def batches(seeds: Sequence[Seed], count: int, mutate: Mutate, dice: random.Random) -> Iterator[tuple[Seed, list[bytes]]]:
    """`count` mutated lines in batches of one file each."""
    while count > 0:
        seed = dice.choice(seeds)
        at_once = min(count, LINES_AT_ONCE)
        yield seed, [b" ".join(mutate(dice.choice(seed.lines), seed.lines, dice).splitlines()) for _ in range(at_once)]
        count -= at_once


def parsed(seed: Seed, data: bytes) -> ParsedChunk:
    """The lines as a file like the original one."""
    context = ChunkContext("fuzz.log", "fuzz", seed.source.format, ZoneConverter("UTC"), is_final=True, fold_runs=True)
    chunk = parse_chunk(data, context, catalogue())
    for batch in (chunk.events, chunk.unknown, chunk.rejected):
        mask_credentials(batch)
    return chunk


def check(seed: Seed, lines: Sequence[bytes], tally: Tally) -> None:
    """Parse lines; reduce an exception to the line that raises it."""
    data = b"\n".join(lines) + b"\n"
    try:
        chunk = parsed(seed, data)
    except Exception as problem:
        if len(lines) == 1:
            tally.note(problem, lines[0])
            return
        before, middle = tally.counts["faults"], len(lines) // 2
        check(seed, lines[:middle], tally)
        check(seed, lines[middle:], tally)
        if tally.counts["faults"] == before:
            tally.note(problem, data)
        return
    tally.lines += len(lines)
    counts = chunk.counts
    for name in ("records", "recognised", "unknown", "rejected"):
        tally.counts[name] += getattr(counts, name)
    if counts.bytes != len(data):
        tally.fault("bytes that are not counted once", data)
    for row in chunk.rejected.to_pylist():
        if row["reason"].startswith(RAISED):
            tally.fault(row["reason"], row["text"].encode())
