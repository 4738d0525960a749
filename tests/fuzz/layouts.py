"""Real records in random layouts: `python -m tests.fuzz.layouts N`.

    N                compositions (default 10,000); each holds a block of lines of one log
    --seed N         the first seed (default 0); the same seed gives the same compositions
    --parts          recognised share of each part, the worst first
    --show N         compositions that lost most, with their text

A composition is a header with a time in some format, up to two wrappings of each line, lines cut at a width or at words, and
damage. What is read of it is held to what was read of the lines as they were written. It ends with 1 where fewer than 97 % of the
records are recognised, more than one in 100,000 lines is invented, or anything raises.
"""

from __future__ import annotations

import argparse
import random
import sys
import traceback
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from parsers.catalogue.catalogue import catalogue
from parsers.formats.detection import FileFormat
from parsers.formats.time_zones import ZoneConverter
from parsers.reading.forms import choose_form
from parsers.records.chunks import parse_chunk
from parsers.records.context import ChunkContext
from tests.fuzz.layout_parts import DAMAGES, HEADERS, WRAPPINGS, WRAPS, Line, bare_line, of_class
from tests.fuzz.mutations import Seed, seeds

ROOT = Path(__file__).resolve().parents[2]
RECOGNISED_LEAST = 0.97
INVENTED_MOST = 1e-5
_BLOCK = (3, 30)
_LINES_OF_A_FILE = 150
_LONGEST = 2_000
"""Longer lines are listings, which nobody pastes."""

Told = tuple[str, str | None]
"""Message and group of an event."""


@dataclass(frozen=True, slots=True)
class Block:
    """Lines that follow each other in a log, and what they tell."""

    lines: Sequence[Line]
    told: Sequence[Told]


@dataclass(slots=True)
class LayoutTally:
    """What was read of compositions."""

    lines: int = 0
    due: int = 0
    recognised: int = 0
    grouped: int = 0
    misnamed: int = 0
    """Records taken for others, which are not recognised."""
    invented: int = 0
    """Records beyond those that there are."""
    faults: dict[str, str] = field(default_factory=dict)
    by_part: dict[str, Counter[str]] = field(default_factory=dict)
    losses: list[tuple[int, str, str]] = field(default_factory=list)

    @property
    def is_good(self) -> bool:
        """Whether the limits are kept."""
        kept = self.recognised >= RECOGNISED_LEAST * self.due and self.invented <= INVENTED_MOST * self.lines
        return kept and not self.faults

    def note(self, parts: Sequence[str], text: str, due: Counter[Told], found: Counter[Told]) -> None:
        """Add what was found in one composition."""
        names, seen = _messages(due), _messages(found)
        recognised, count = (names & seen).total(), due.total()
        extra = max(0, seen.total() - count)
        self.due += count
        self.lines += text.count("\n")
        self.recognised += recognised
        self.grouped += (due & found).total()
        self.misnamed += (seen - names).total() - extra
        self.invented += extra
        for part in parts:
            at = self.by_part.setdefault(part, Counter())
            at["due"] += count
            at["recognised"] += recognised
            at["invented"] += extra
        if recognised < count or seen - names:
            self.losses.append((count - recognised + (seen - names).total(), " / ".join(parts), text))


def _messages(told: Counter[Told]) -> Counter[str]:
    found: Counter[str] = Counter()
    for (message, _), count in told.items():
        found[message] += count
    return found


def read(text: str) -> Counter[Told]:
    """Messages and groups in a text."""
    told = choose_form(text.encode(), is_complete=True)
    return Counter(_events(told, text)) if isinstance(told, FileFormat) else Counter()


def _events(told: FileFormat, text: str) -> list[Told]:
    context = ChunkContext("fuzz.log", "fuzz", told, ZoneConverter("UTC"), byte_offset=told.bom_bytes, is_final=True)
    events = parse_chunk(text.encode()[told.bom_bytes :], context, catalogue()).events
    return list(zip(events["message"].to_pylist(), events["group"].to_pylist(), strict=True))


def blocks(found: Sequence[Seed], dice: random.Random) -> Iterator[Block]:
    """Blocks of recognised lines, without end."""
    held: dict[int, list[tuple[Line, Told]]] = {}
    while True:
        number = dice.randrange(len(found))
        if number not in held:
            held[number] = list(_recognised(found[number]))
        lines = held[number]
        if not lines:
            continue
        begin = dice.randrange(len(lines))
        block = lines[begin : begin + dice.randint(*_BLOCK)]
        yield Block([line for line, _ in block], [told for _, told in block])


def _recognised(seed: Seed) -> Iterator[tuple[Line, Told]]:
    """Lines that are one record each and known, in the order of the file."""
    form = seed.source.format
    for data in seed.lines:
        text = data.decode("utf-8", "replace")
        if len(text) > _LONGEST or "\ufffd" in text or not text.isprintable():
            continue
        told = _events(form, text + "\n")
        header = form.layout.read(text) if not form.wrappers else None
        if len(told) == 1 and header is not None and header.is_whole:
            yield Line(text, header.level or "INFO", header.logger, header.thread or "main", header.message), told[0]


def composed(block: Block, dice: random.Random) -> tuple[list[str], str, list[Told]]:
    """One composition: the names of its parts, the text, and what it tells.

    What a text repeats word by word counts once.
    """
    headers = HEADERS if all(map(of_class, block.lines)) else {"as written": bare_line}
    chosen = [dice.choice(sorted(headers))]
    given = {headers[chosen[0]](line, number): told for number, (line, told) in enumerate(zip(block.lines, block.told, strict=True))}
    lines = list(given)
    damage = dice.choice(sorted(DAMAGES)) if dice.random() < 0.5 else ""
    if damage:
        chosen.append(damage)
        lines = [DAMAGES[damage](line, dice) for line in lines]
    wrap = dice.choice(sorted(WRAPS)) if dice.random() < 0.3 else ""
    for name in dice.sample(sorted(WRAPPINGS), dice.choice((0, 1, 1) if wrap else (0, 1, 1, 1, 2))):
        chosen.append(name)
        lines = [WRAPPINGS[name](line, number) for number, line in enumerate(lines)]
    if wrap:
        chosen.append(wrap)
        lines = [part for line in lines for part in WRAPS[wrap](line)]
    return chosen, "\n".join(lines) + "\n", list(given.values())


def run(count: int, found: Sequence[Seed], seed: int = 0) -> LayoutTally:
    """Compose and read."""
    dice, tally = random.Random(seed), LayoutTally()  # noqa: S311 - repeatable
    for block in blocks(found, dice):
        if count == 0:
            break
        count -= 1
        parts, text, due = composed(block, dice)
        try:
            tally.note(parts, text, Counter(due), read(text))
        except Exception as problem:
            frame = traceback.extract_tb(problem.__traceback__)[-1]
            tally.faults.setdefault(f"{type(problem).__name__} at {Path(frame.filename).name}:{frame.lineno}", text)
    return tally


def corpora_seeds(seed: int) -> list[Seed]:
    """Logs of the corpora, else of the samples."""
    shared = ROOT.parent / "shared" / "corpora"
    dice = random.Random(seed)  # noqa: S311 - repeatable
    folders = sorted(shared.glob("*/*")) if shared.is_dir() else [ROOT / "data_samples"]
    chosen = dice.sample(folders, min(len(folders), 5))
    return seeds([*chosen, *sorted(shared.glob("clients/*"))] if shared.is_dir() else chosen, dice, _LINES_OF_A_FILE)


def main() -> int:
    """Run as the arguments ask for, and print what was lost."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("count", type=int, nargs="?", default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--parts", action="store_true")
    parser.add_argument("--show", type=int, default=0)
    asked = parser.parse_args()
    tally = run(asked.count, corpora_seeds(asked.seed), asked.seed)
    say = sys.stdout.write
    if asked.parts:
        for part, at in sorted(tally.by_part.items(), key=lambda each: each[1]["recognised"] / max(1, each[1]["due"])):
            say(f"{at['recognised'] / max(1, at['due']):.3f} of {at['due']:6} {at['invented']:3} invented  {part}\n")
    for lost, parts, text in sorted(tally.losses, reverse=True)[: asked.show]:
        say(f"-- {lost} lost: {parts}\n{text[:1500]}\n")
    for fault, text in tally.faults.items():
        say(f"{fault}\n{text[:1500]}\n")
    share, groups = tally.recognised / max(1, tally.due), tally.grouped / max(1, tally.recognised)
    say(f"{asked.count:,} compositions, {tally.lines:,} lines, {tally.due:,} records: recognised {share:.4f}, ")
    say(f"of these with the right group {groups:.4f}, misnamed {tally.misnamed}, invented {tally.invented}, {len(tally.faults)} faults\n")
    return 0 if tally.is_good else 1


if __name__ == "__main__":
    raise SystemExit(main())
