"""Floods: one line of a log, written thousands of times.

What one line costs must depend neither on how often it was written before, nor on the numbers in it.
"""

from __future__ import annotations

import random
import re
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from tests.fuzz.answers import analyse
from tests.fuzz.lines import Tally, parsed
from tests.fuzz.mutations import Seed

LINES_OF_A_FLOOD = 2_000
STEPS_SECONDS = (0.05, 1.0)
LINE_BYTES_MAX = 2_500
GROWTH_MAX = 8.0
"""A flood of four times the lines takes four times the time, and less of it for what is done once."""
SECONDS_TO_COMPARE = 8.0
"""Only floods that take longer are compared with shorter ones."""

_TIME = re.compile(rb"\d{4}-\d\d-\d\d([ T])\d\d:\d\d:\d\d([,.])\d{3}")
_NUMBER = re.compile(rb"(?<![\w.:,-])\d{1,4}(?![\w.:-])")
_BEGIN = datetime(2026, 5, 5, tzinfo=UTC)


def lines_by_message(seeds: Sequence[Seed]) -> dict[str, tuple[str, bytes]]:
    """The first line of each message, with its file's name."""
    first: dict[str, tuple[str, bytes]] = {}
    for seed in seeds:
        data = b"\n".join(seed.lines) + b"\n"
        events = parsed(seed, data).events
        for message, begin, length in zip(*(events[name].to_pylist() for name in ("message", "byte_offset", "byte_length")), strict=True):
            line = data[begin : begin + length].rstrip(b"\n")
            if message not in first and len(line) <= LINE_BYTES_MAX and _TIME.search(line):
                first[message] = Path(seed.source.name).name.removesuffix(".gz"), line
    return first


def flood(line: bytes, count: int, step_seconds: float, *, is_growing: bool) -> Iterator[bytes]:
    """A line again and again, with its time going on, and its other numbers if they grow."""
    for number in range(count):
        at = _BEGIN + timedelta(seconds=number * step_seconds)
        yield _TIME.sub(partial(_time_of, at), _NUMBER.sub(partial(_number_after, number), line) if is_growing else line)


def _time_of(at: datetime, form: re.Match[bytes]) -> bytes:
    return at.strftime(f"%Y-%m-%d{form[1].decode()}%H:%M:%S{form[2].decode()}").encode() + b"%03d" % (at.microsecond // 1000)


def _number_after(added: int, digits: re.Match[bytes]) -> bytes:
    return b"%d" % (int(digits[0]) + added)


def check(line: tuple[str, bytes], count: int, dice: random.Random, tally: Tally) -> None:
    """Analyse a flood of a line; what raises, and what takes ever longer, is kept."""
    check_flood(line, count, dice.choice(STEPS_SECONDS), tally, is_growing=bool(dice.randrange(2)))


def check_flood(line: tuple[str, bytes], count: int, step_seconds: float, tally: Tally, *, is_growing: bool) -> None:
    """The same with a step and with numbers that grow or not."""
    seconds = _seconds(line, count, step_seconds, tally, is_growing=is_growing)
    tally.lines += count
    if seconds > SECONDS_TO_COMPARE:
        part = _seconds(line, count // 4, step_seconds, tally, is_growing=is_growing)
        if seconds > GROWTH_MAX * part:
            tally.fault(f"{count:,} lines take {seconds:.1f} s, {count // 4:,} take {part:.1f} s", line[1])


def _seconds(line: tuple[str, bytes], count: int, step_seconds: float, tally: Tally, *, is_growing: bool) -> float:
    name, text = line
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, name).write_bytes(b"\n".join(flood(text, count, step_seconds, is_growing=is_growing)) + b"\n")
        began = time.process_time()
        analyse(Path(folder), tally)
        return time.process_time() - began
