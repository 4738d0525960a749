"""Lines of real logs and their mutations."""

from __future__ import annotations

import random
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from parsers.reading.reader import ReadOptions, find_files
from parsers.sources.files import SourceFile

LINES_OF_A_FILE = 2_000
LINE_BYTES = 8 << 10
_DIGITS = re.compile(rb"\d+")

NUMBERS: tuple[bytes, ...] = (
    b"", b"0", b"-1", b"-0", b"00000000007", b"127", b"128", b"32768", b"65536", b"2147483647", b"2147483648", b"-2147483649",
    b"4000000", b"999999999", b"9999999999", b"9007199254740993", b"123456789012345", b"253402300800000", b"999999999999999999",
    b"9223372036854775807", b"9223372036854775808", b"-9223372036854775809", b"100000000000000000000", b"1e999", b"1e5", b"0.3.7",
    b"1.", b".5", b"0x1F", b"1_000", b"NaN", b"Infinity", b"-Infinity", b"null", b"true", b'"7"', b"[]", b"{}", "٣".encode(), "²".encode(),
    "７".encode(), b"\xff", b"9" * 400, b"9" * 5_000,
)  # fmt: skip
"""Replacements of numbers: limits of types, larger ones, and lookalikes."""

PIECES: tuple[bytes, ...] = (
    b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"\r", b"\t", b"  ", b"[", b"]", b"(", b")", b"{", b"}", b"'", b'"', b"\\", b", ", b"=", b": ",
    b" -> ", b"null", b"None", b"Some(", b"Optional[", b"\\u0000", b"\\ud800", "é".encode(), "\u2028".encode(), "😀".encode(), b"%RETRY%",
    b"[" * 200, b"{" * 2_000, b"a" * 3_000, b"(reason: ", b") (kafka.coordinator.group.GroupCoordinator)", b"\x1b[31m", b"; ", b"-", b",",
)  # fmt: skip
"""Insertions between characters of a line."""


@dataclass(frozen=True, slots=True)
class Seed:
    """A file of a real log, and some of its lines."""

    source: SourceFile
    lines: Sequence[bytes]


def seeds(folders: Iterable[Path], dice: random.Random, lines_max: int = LINES_OF_A_FILE) -> list[Seed]:
    """All logs below some folders, with lines from all of their parts."""
    found = find_files([str(folder) for folder in folders], ReadOptions())
    made = []
    for source in found.files:
        lines = list(_lines(source))
        if lines:
            made.append(Seed(source, lines if len(lines) <= lines_max else dice.sample(lines, lines_max)))
    return made


def _lines(source: SourceFile) -> Iterator[bytes]:
    stream = source.open()
    try:
        content, buffer = bytearray(), memoryview(bytearray(1 << 20))
        while (count := stream.readinto(buffer)) and len(content) < 64 << 20:
            content += buffer[:count]
    finally:
        stream.close()
    return (line[:LINE_BYTES] for line in bytes(content).splitlines() if line.strip())


def mutated(line: bytes, others: Sequence[bytes], dice: random.Random) -> bytes:
    """Change, remove, repeat or move some bytes of a line."""
    for _ in range(dice.choice((1, 1, 2, 4))):
        at, to = sorted((dice.randrange(len(line) + 1), dice.randrange(len(line) + 1)))
        match dice.randrange(8):
            case 0:
                line = line[:at] + dice.choice(PIECES) + line[at:]
            case 1:
                line = line[:at] + line[to:]
            case 2:
                line = line[:at]
            case 3:
                line = line[:at] + line[at:to] * 2 + line[to:]
            case 4:
                line = line[:at] + bytes([dice.randrange(256)]) + line[at + 1 :]
            case 5:
                other = dice.choice(others)
                line = line[:at] + other[dice.randrange(len(other) + 1) :]
            case 6:
                line = line.swapcase() if dice.random() < 0.1 else line[:at] + line[at:to][::-1] + line[to:]
            case _:
                line = renumbered(line, dice)
    return line


def renumbered(line: bytes, dice: random.Random) -> bytes:
    """Replace one or two numbers of a line, mostly not those of its time."""
    places = list(_DIGITS.finditer(line))
    if dice.random() < 0.9:
        places = [found for found in places if found.start() > 26] or places
    for found in sorted(dice.sample(places, min(len(places), dice.choice((1, 1, 2)))), key=lambda each: -each.start()):
        line = line[: found.start()] + dice.choice(NUMBERS) + line[found.end() :]
    return line
