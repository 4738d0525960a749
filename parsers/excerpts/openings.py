"""First fixed words of messages, where a record may begin in a text."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, AnyStr

import ahocorasick_rs
import numpy as np

from parsers.excerpts.program_errors import program_error_patterns

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from parsers.catalogue.catalogue import Catalogue
    from parsers.formats.lines import Buffer, Ints

_COMPLETED, _RECEIVED = "Completed request:", "Processor "
"""First words of requests.

Most of those received concern no group.
"""
_LETTERS = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_LARGE_BYTES = 1 << 22
"""Bytes from which on a search that takes longer to make is made."""
_TELLING_WORDS = 24
"""Characters of fixed words that say which product wrote them."""

THREAD = "[thrd:"
"""Mark that stands within other prefixes, too, so that no record ends before it."""

_TELLING = 9
"""Fewer characters than this begin many other texts."""
_FOLLOWING = 12
"""Fewer characters than this follow a name in many other texts."""


class Openings:
    """First words of prefixes and of messages without a prefix, searched all at once."""

    def __init__(self, catalogue: Catalogue) -> None:
        outer = [prefix for prefix in catalogue.prefixes.values() if not prefix.inside and not prefix.mark]
        prefixes = {form.literals[0] for prefix in outer for form in prefix.texts}
        marks = {mark for prefix in catalogue.prefixes.values() for mark in prefix.marks if mark != THREAD}
        plain = {_first_words(pattern.template.literals) for pattern in catalogue.patterns if not pattern.prefix} | {_COMPLETED}
        threads = [THREAD] if any(THREAD in prefix.marks for prefix in catalogue.prefixes.values()) else []
        self._prefixes = sorted(text for text in prefixes | marks if len(text) >= _TELLING)
        self._plain = sorted({text for text in plain if len(text.strip()) >= _TELLING} - set(self._prefixes))
        self._texts = [*self._prefixes, *threads, *self._plain, _RECEIVED]
        self._heads = len(self._prefixes) + len(threads)
        self._firsts = _brief_openings(catalogue)
        self._anchors = ahocorasick_rs.AhoCorasick(list(self._firsts))
        self._anchors_in_bytes = ahocorasick_rs.BytesAhoCorasick([text.encode() for text in self._firsts])
        self._firsts_of = list(self._firsts.values())
        self._search = ahocorasick_rs.AhoCorasick(self._texts)
        self._catalogue = catalogue
        self._errors = _error_numbers(catalogue, self._texts)
        self._in_bytes = [text.encode() for text in self._texts]
        self._bytes = ahocorasick_rs.BytesAhoCorasick(self._in_bytes)
        self._leads = _leads(self._search, catalogue.group_loggers.passed_over)
        self._leads_in_bytes = {number: tuple(lead.encode() for lead in leads) for number, leads in self._leads.items()}

    def may_know(self, message: str) -> bool:
        """Whether a message contains an entry's longest fixed words."""
        return message.startswith((_COMPLETED, _RECEIVED)) or self._catalogue.has_words(message)

    def has_rare_words(self, message: str) -> bool:
        """Whether a message contains an entry's rare fixed words."""
        return any(len(words) >= _TELLING_WORDS for words in self._catalogue.words_in(message))

    def has_words_in_case(self, text: str, change: Callable[[str], str]) -> bool:
        """Whether a text has first words of messages that a change of case alters."""
        return any((changed := change(words)) != words and changed in text for words in self._texts if len(words) >= _FOLLOWING)

    @cached_property
    def _bytes_for_long(self) -> ahocorasick_rs.BytesAhoCorasick:
        return ahocorasick_rs.BytesAhoCorasick(self._in_bytes, implementation=ahocorasick_rs.Implementation.DFA)

    def places(self, text: str) -> list[int]:
        """Positions at which a message may begin, ascending.

        An error in another message's text is part of it.
        """
        hits = self._search.find_matches_as_indexes(text, overlapping=True)
        if len(hits) > 1:
            hits = [hit for hit in hits if hit[0] not in self._errors] or hits
        apart = (hit for hit in hits if not _is_in_word(text, hit[1]))
        brief = self._brief_places(text)
        return sorted(
            {start for number, start, _ in apart if not (number in self._leads and text[:start].endswith(self._leads[number]))}.union(brief)
        )

    def _brief_places(self, text: str) -> list[int]:
        """Positions of messages found by words behind their first name."""
        anchors = self._anchors.find_matches_as_indexes(text, overlapping=True)
        starts = (_last_before(text, self._firsts_of[number], start, "\n") for number, start, _ in anchors)
        return [start for start in starts if start >= 0 and not _is_in_word(text, start)]

    def has_only_program_errors(self, text: str) -> bool:
        """Whether a text has only errors that a program reports."""
        hits = self._search.find_matches_as_indexes(text, overlapping=True)
        return bool(hits) and all(number in self._errors for number, _, _ in hits)

    def prefix_places(self, text: str) -> list[int]:
        """Positions of prefixes; each starts a record."""
        count = len(self._prefixes)
        hits = self._search.find_matches_as_indexes(text, overlapping=True)
        return sorted({start for number, start, _ in hits if number < count and not _is_in_word(text, start)})

    def byte_places(self, data: Buffer, *, is_telling: bool = False) -> tuple[Ints, Ints]:
        """Byte positions of prefixes, and of messages without one.

        With `is_telling`, without those that are seldom read. Errors that programs report begin a record only where nothing else does.
        """
        count, last = self._heads, len(self._texts) - 1
        search = self._bytes if len(data) < _LARGE_BYTES else self._bytes_for_long
        hits = search.find_matches_as_indexes(data, overlapping=True)
        hits = [hit for hit in hits if hit[0] != last] if is_telling else hits
        hits = [hit for hit in hits if hit[0] not in self._errors] or hits
        prefixes = [start for number, start, _ in hits if number < count or number in self._errors]
        plain = [
            start
            for number, start, _ in hits
            if number >= count
            and number not in self._errors
            and not _is_inside(data, start)
            and not (number in self._leads and self._is_led(data, number, start))
        ]
        plain += self._brief_byte_places(data)
        return np.unique(np.array(prefixes, dtype=np.int64)), np.unique(np.array(plain, dtype=np.int64))

    def _brief_byte_places(self, data: Buffer) -> list[int]:
        anchors = self._anchors_in_bytes.find_matches_as_indexes(data, overlapping=True)
        if not anchors:
            return []
        text = bytes(data)
        starts = (_last_before(text, self._firsts_of[number].encode(), start, b"\n") for number, start, _ in anchors)
        return [start for start in starts if start >= 0 and not _is_inside(data, start)]

    def _is_led(self, data: Buffer, number: int, start: int) -> bool:
        """Return True for words within a text that is passed over."""
        return any(bytes(data[max(0, start - len(lead)) : start]) == lead for lead in self._leads_in_bytes[number])


def _brief_openings(catalogue: Catalogue) -> dict[str, str]:
    """First words too brief to tell, by fixed words behind them.

    Where a prefix begins with the first words, too, not by words that messages behind prefixes have.
    """
    prefixes = [form.literals[0] for prefix in catalogue.prefixes.values() for form in prefix.texts]
    behind_prefixes = "\n".join(words for pattern in catalogue.patterns if pattern.prefix for words in pattern.template.literals)
    firsts: dict[str, str] = {}
    for pattern in catalogue.patterns:
        first, *others = pattern.template.literals
        if pattern.prefix or not (first.endswith(" ") and first[:-1].isalpha() and len(first.strip()) < _TELLING):
            continue
        is_shared = any(f"[{first}" in prefix for prefix in prefixes)
        telling = (words for words in others if len(words.strip()) >= _FOLLOWING)
        anchors = (words for words in telling if not (is_shared and words in behind_prefixes))
        if (anchor := next(anchors, None)) is not None:
            firsts[anchor] = first
    return firsts


def _last_before(text: AnyStr, words: AnyStr, end: int, newline: AnyStr) -> int:
    """The last position of words in a line before a position, -1 without."""
    return text.rfind(words, text.rfind(newline, 0, end) + 1, end)


def _error_numbers(catalogue: Catalogue, texts: Sequence[str]) -> frozenset[int]:
    """Numbers of the texts that stand within messages of any program."""
    words = {_first_words(pattern.template.literals) for pattern in program_error_patterns(catalogue)}
    return frozenset(number for number, text in enumerate(texts) if text in words)


def _leads(search: ahocorasick_rs.AhoCorasick, passed_over: Sequence[str]) -> dict[int, tuple[str, ...]]:
    """Words before openings in texts that are passed over, by number.

    What another program says in such words is no message of the catalogue.
    """
    leads: dict[int, tuple[str, ...]] = {}
    for text in passed_over:
        for number, start, _ in search.find_matches_as_indexes(text, overlapping=True):
            if start:
                leads[number] = (*leads.get(number, ()), text[:start])
    return leads


def _is_in_word(text: str, start: int) -> bool:
    """Return True for a position between two letters."""
    return start > 0 and text[start].isalpha() and text[start - 1].isalpha()


def _is_inside(data: Buffer, start: int) -> bool:
    """Return True for a position inside a word."""
    return start > 0 and data[start] in _LETTERS and data[start - 1] in _LETTERS


def _first_words(literals: Sequence[str]) -> str:
    """The first fixed words.

    Where a name begins the message, with the blank behind it.
    """
    return literals[1] if len(literals) > 1 and not literals[0] and literals[1].startswith(" ") else literals[0]


@lru_cache(maxsize=4)
def openings_of(catalogue: Catalogue) -> Openings:
    """The openings of a catalogue, made once."""
    return Openings(catalogue)
