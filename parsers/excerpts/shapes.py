"""The usual shape of the records of a file, learned from its beginning."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from parsers.excerpts.excerpt_reader import Excerpt
from parsers.excerpts.stamps import last_stamp

_LEAST_WIDTH = 60
_LEAST_FULL = 2
_LEAST_TAILED = 3
"""Lines that must share an end before it is one of their layout."""

_MARKS = re.compile(r"[^\w]{1,20}")
_SEPARATOR = re.compile(r"[ ,;|][^\w ]?")
_WORDS = re.compile(r"[^\W_]+(?:[.\-/@$_]+[^\W_]+)*")
_CLOCK = re.compile(r"\d\d:\d\d:\d\d")
_LONGEST = 80


@dataclass(frozen=True, slots=True)
class Shape:
    """Layout of records: a pattern in log4j's notation.

    `width` is that of a terminal that wrapped them, or 0.
    """

    pattern: str
    width: int = 0


def learned_shape(excerpts: Sequence[Excerpt], lines: Sequence[str]) -> Shape:
    """The most frequent shape of records, ties broken by its text."""
    shapes = Counter(_shape(excerpt) for excerpt in excerpts)
    pattern = min(shapes, key=lambda shape: (-shapes[shape], shape)) if shapes else "%m"
    return Shape(pattern, wrapped_width(lines))


def usual_tail(excerpts: Sequence[Excerpt]) -> str:
    """Punctuation after most messages."""
    tails = Counter(excerpt.behind.partition("\n")[0].rstrip() for excerpt in excerpts)
    tail = min(tails, key=lambda tail: (-tails[tail], tail))
    return tail if _MARKS.fullmatch(tail) and 2 * tails[tail] > len(excerpts) >= _LEAST_TAILED else ""


def common_tail(lines: Sequence[str]) -> str:
    """The text that ends all lines, after their messages.

    Lines that begin differently must share it, from a blank or a separator on.
    """
    texts = [line.rstrip() for line in lines]
    if len({text[:_LONGEST] for text in texts}) < _LEAST_TAILED:
        return ""
    first, last = min(ends := [text[::-1][:_LONGEST] for text in texts]), max(ends)
    shared = first[: next((at for at, (left, other) in enumerate(zip(first, last, strict=False)) if left != other), len(first))][::-1]
    begin = _SEPARATOR.search(shared)
    return shared[begin.start() :] if begin is not None else ""


def wrapped_width(lines: Sequence[str]) -> int:
    """The width at which lines were cut: that of several longest ones.

    Most of them go on in the next line, which has no time then.
    """
    lengths = Counter(map(len, lines))
    widest = max(lengths, default=0)
    if widest < _LEAST_WIDTH or lengths[widest] < _LEAST_FULL:
        return 0
    following = [after for line, after in pairwise(lines) if len(line) == widest]
    timed = sum(_CLOCK.search(line, 0, _LEAST_WIDTH) is not None for line in following)
    return widest if 2 * timed <= len(following) else 0


def _shape(excerpt: Excerpt) -> str:
    """The text around a message, with its parts by name.

    Other words are dots, since they may be names.
    """
    before, stamp = excerpt.before.rpartition("\n")[2], last_stamp(excerpt.before, 0, len(excerpt.before))
    if stamp is not None:
        # A header may span lines; everything from the line of the time on is part of it.
        before = excerpt.before[excerpt.before.rfind("\n", 0, stamp.begin) + 1 :]
        stamp = last_stamp(before, 0, len(before))
    front = _masked(before, excerpt)
    if stamp is not None:
        front = f"{_masked(before[: stamp.begin], excerpt)}%d{_masked(before[stamp.end :], excerpt)}"
    elif excerpt.header.stamp is not None:
        front = f"%d {front}"  # on an earlier line, or after the message
    named = excerpt.header.logger is not None and excerpt.header.logger not in before
    text = f"{front}%m{' (%c)' if named else ''}{_masked(excerpt.behind, excerpt)}"
    return re.sub(r"\s+", " ", text)[-_LONGEST:].strip()


def _masked(text: str, excerpt: Excerpt) -> str:
    level, logger = excerpt.header.level or "", excerpt.header.logger or ""

    def name(word: re.Match[str]) -> str:
        return "%p" if word[0].upper() in (level, f"{level}ING") else "%c" if word[0] == logger else "…"

    return _WORDS.sub(name, text)
