"""Text that programs write behind each message: source line, thread, fields, time."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from parsers.formats.pages import Unwrapped

TAIL = "tail:"
"""Prefix of the names of these wrappers."""

_LONGEST = 120
"""Characters at the end of a line in which its tail stands."""
_MOST = 8
"""Words of a tail."""
_SHARED = 0.7
"""Part of the lines that must have a tail.

Others may be cut, or of another program.
"""
_LEAST = 2

_WORD, _WORD_FORM = "w", r"(?=[./$@~+-]*\w)[\w./$@~+-]+"
_WORDS = re.compile(_WORD_FORM)
_BLANK_FORM = r"\s+"
_SEPARATOR = re.compile(r"(?:,|;|\s*\||\t)?\s(?=\S)|\t")
_TELLING = re.compile(r"[^\w\s]")
"""A tail of words alone may be part of a message."""
_LOGGER = re.compile(r"\((?:[a-z]\w*\.)+(?:[A-Z][\w$]*|logger)(?::\d+)?\)$", re.ASCII)
"""The logger, which layouts read."""
_TIME = re.compile(rb"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?:Z|[+-]\d\d:?\d\d)?")


@dataclass(frozen=True, slots=True)
class TailWrapper:
    """Text after each message, in the form that most lines have.

    A time among them is that of the record.
    """

    name: str
    regex: re.Pattern[bytes]

    def peel(self, line: bytes) -> Unwrapped | None:
        """The line without its tail, None if it has none."""
        match = self.regex.search(line)
        if match is None:
            return None
        time = _TIME.search(match[0])
        return Unwrapped(line[: match.start()], time[0] if time is not None else None)


def tail_named(name: str) -> TailWrapper:
    """Make the wrapper for the tail encoded in its name."""
    form = name.removeprefix(TAIL)
    parts = (_WORD_FORM if part == _WORD else _BLANK_FORM if part.isspace() else re.escape(part) for part in re.split(r"(w|\s+)", form))
    return TailWrapper(name, re.compile(rf"{''.join(parts)}\s*\Z".encode(), re.ASCII))


def tail_wrappers(lines: Sequence[str]) -> list[str]:
    """Names of wrappers for the tails of most lines, shortest first."""
    counts = Counter(form for line in lines for form in set(_forms(line)))
    enough = max(_LEAST, _SHARED * len(lines))
    return [f"{TAIL}{form}" for form in sorted(counts, key=lambda form: (len(form), form)) if counts[form] >= enough]


def _forms(line: str) -> list[str]:
    """Forms of the last words of a line: each word is one letter."""
    end = line.rstrip()
    if _LOGGER.search(end, max(0, len(end) - _LONGEST)) is not None:
        return []
    begin = max(0, len(end) - _LONGEST)
    starts = [match.start() for match in _SEPARATOR.finditer(end, begin)][-_MOST:]
    forms = (_WORDS.sub(_WORD, end[start:]) for start in starts if start)
    return [form for form in forms if _TELLING.search(form) is not None]
