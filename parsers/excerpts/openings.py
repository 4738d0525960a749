"""First fixed words of messages, where a record may begin in a text."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

import ahocorasick_rs
import numpy as np

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue
    from parsers.formats.lines import Buffer, Ints

_REQUEST = "Completed request:"
_TELLING = 9
"""Fewer characters than this begin many other texts."""


class Openings:
    """First words of prefixes and of messages without a prefix, searched all at once."""

    def __init__(self, catalogue: Catalogue) -> None:
        outer = [prefix for prefix in catalogue.prefixes.values() if not prefix.inside and not prefix.mark]
        prefixes = {form.literals[0] for prefix in outer for form in prefix.texts}
        marks = {prefix.mark for prefix in catalogue.prefixes.values() if prefix.mark}
        plain = {pattern.template.literals[0] for pattern in catalogue.patterns if not pattern.prefix} | {_REQUEST}
        self._prefixes = sorted(text for text in prefixes | marks if len(text) >= _TELLING)
        self._plain = sorted({text for text in plain if len(text.strip()) >= _TELLING} - set(self._prefixes))
        self._texts = [*self._prefixes, *self._plain]
        self._search = ahocorasick_rs.AhoCorasick(self._texts)
        self._bytes = ahocorasick_rs.BytesAhoCorasick([text.encode() for text in self._texts])

    def places(self, text: str) -> list[int]:
        """Places at which a message may begin, ascending."""
        return sorted({start for _, start, _ in self._search.find_matches_as_indexes(text, overlapping=True)})

    def prefix_places(self, text: str) -> list[int]:
        """Places of prefixes; each starts a record."""
        count = len(self._prefixes)
        return sorted({start for number, start, _ in self._search.find_matches_as_indexes(text, overlapping=True) if number < count})

    def byte_places(self, data: Buffer) -> tuple[Ints, Ints]:
        """Places in bytes of prefixes, and of messages without one."""
        count = len(self._prefixes)
        found = self._bytes.find_matches_as_indexes(data, overlapping=True)
        prefixes = [start for number, start, _ in found if number < count]
        plain = [start for number, start, _ in found if number >= count]
        return np.unique(np.array(prefixes, dtype=np.int64)), np.unique(np.array(plain, dtype=np.int64))


@lru_cache(maxsize=4)
def openings_of(catalogue: Catalogue) -> Openings:
    """The openings of a catalogue, made once."""
    return Openings(catalogue)
