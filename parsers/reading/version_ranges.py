"""Versions that may have written a file, derived from its wordings.

Each wording has the versions in which it was seen. What the wordings of one product in a file have in common is the range
of its version. The newest version of a product stands for all that may follow.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from parsers.catalogue.catalogue import Catalogue, catalogue, version_key
from parsers.catalogue.wording_versions import Range, wording_versions
from parsers.formats.layouts import AnyLayout

SAMPLES_MAX = 6
"""Records of one message that are looked at.

Its wordings differ, and the first one may not be the telling one.
"""

_ANY = 999
_OPEN = "999999"
"""Upper end of a range that has none."""
SERVERS = ("kafka", "rocketmq")
"""Products whose own files tell the version of a server."""


class VersionRanges:
    """Version ranges of one file, by product."""

    def __init__(self, layout: AnyLayout, known: Catalogue | None = None) -> None:
        self._layout = layout
        self._known = wording_versions(known or catalogue())
        self._looked_at: Counter[str] = Counter()
        self._ranges: dict[str, Range | None] = {}
        self._lines: Counter[str] = Counter()

    def note(self, events: pa.RecordBatch) -> None:
        """Take in the wordings of each message's first records."""
        messages = events.column("message").to_pylist()
        counts = Counter(messages)
        for message, count in counts.items():
            product = self._known.product_of(message)
            if product is not None:
                self._lines[product] += count
        open_ones = {message for message in counts if self._looked_at[message] < SAMPLES_MAX}
        for row in self._rows(messages, open_ones):
            self._take(messages[row], events.column("text")[row].as_py())

    def _rows(self, messages: list[str | None], open_ones: set[str | None]) -> Iterator[int]:
        for row, message in enumerate(messages):
            if message in open_ones and message is not None:
                self._looked_at[message] += 1
                if self._looked_at[message] >= SAMPLES_MAX:
                    open_ones.discard(message)
                yield row
            if not open_ones:
                return

    def _take(self, message: str, text: str | None) -> None:
        product = self._known.product_of(message)
        if product is None or not text:
            return
        header = self._layout.read(text, (text + "\n").index("\n"))
        seen = None if header is None else self._known.seen_in(message, header.message)
        if seen is None:
            return
        before = self._ranges.get(product, seen)
        self._ranges[product] = None if before is None else intersection(before, seen)

    def ranges_by_product(self) -> dict[str, str]:
        """Return the range of each product, the most frequent first."""
        return {
            product: words
            for product, _ in sorted(self._lines.items(), key=lambda pair: (-pair[1], pair[0]))
            if (words := in_words(self._ranges.get(product), self._known.newest(product))) is not None
        }


def intersection(version_range: Range, other: Range) -> Range | None:
    """Intersect two ranges, None if they share nothing."""
    low, high = max(version_range[0], other[0], key=version_key), min(version_range[1], other[1], key=_last)
    return (low, high) if version_key(low) <= _last(high) else None


def _last(version: str) -> tuple[int, ...]:
    """Return a key for the last release that a version names."""
    return (*version_key(version), _ANY)


def in_words(version_range: Range | None, newest: str) -> str | None:
    """Write a range, such as `3.8 to 4.1` or `4.2 or later`."""
    if version_range is None:
        return None
    low, high = version_range
    if version_key(high) >= version_key(newest):
        return f"{low} or later"
    return low if low == high else f"{low} to {high}"


def of_parts(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Intersect the ranges of a file's parts."""
    merged: dict[str, str] = {}
    for part in parts:
        for product, words in part.items():
            merged[product] = _common(merged[product], words) if product in merged else words
    return {product: words for product, words in merged.items() if words}


def _common(name: str, other: str) -> str:
    both = intersection(_range_of(name), _range_of(other))
    if both is None:
        return ""
    low, high = both
    return f"{low} or later" if high == _OPEN else low if low == high else f"{low} to {high}"


def _range_of(words: str) -> Range:
    low, _, high = words.removesuffix(" or later").partition(" to ")
    return low, _OPEN if words.endswith(" or later") else high or low


def range_of_file(kind: str, ranges: Mapping[str, str]) -> str | None:
    """Return the range of the product that wrote the file, if known."""
    server_ranges = [words for product, words in ranges.items() if (product in SERVERS) is (kind != "client")]
    return server_ranges[0] if server_ranges else None
