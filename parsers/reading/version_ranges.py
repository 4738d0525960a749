"""Versions that may have written a file, derived from its wordings.

Each wording has the versions in which it was seen. What the wordings of one product in a file have in common is the range
of its version. Wordings that have none in common are of a product that was upgraded, or of two programs that write to one
file: such a file has a range for each. The newest version of a product stands for all that may follow.

A report holds the narrowest ranges of each product, because parts of a file give the same ranges as the whole only if
nothing is narrowed before all are known.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import pyarrow as pa

from parsers.catalogue.catalogue import Catalogue, catalogue
from parsers.catalogue.wording_versions import VersionRange, wording_versions
from parsers.catalogue.wordings import version_key
from parsers.formats.layouts import AnyLayout

_SAMPLES_MAX = 6
"""Records of one message that are looked at.

Its wordings differ, and the first one may not be the telling one.
"""

_NARROWEST_SEPARATOR = "; "
_UPGRADE_SEPARATOR = " and "
_CLOSING = "\"', }]"
"""What ends a document in which a record is quoted."""
_LOGGER = re.compile(r" \([\w.$]+\)$")
_LOGGER_MAX = 200
"""Characters at the end in which a logger may stand."""

_OR_LATER = " or later"

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
        self._ranges: dict[str, set[VersionRange]] = {}
        self._lines: Counter[str] = Counter()

    def note(self, events: pa.RecordBatch) -> None:
        """Take in the wordings of each message's first records."""
        messages = events.column("message").to_pylist()
        counts = Counter(messages)
        for message, count in counts.items():
            product = self._known.product_of(message)
            if product is not None:
                self._lines[product] += count
        open_ones = {message for message in counts if self._looked_at[message] < _SAMPLES_MAX}
        for row in self._rows(messages, open_ones):
            self._take(messages[row], events.column("text")[row].as_py())

    def _rows(self, messages: list[str | None], open_ones: set[str | None]) -> Iterator[int]:
        for row, message in enumerate(messages):
            if message in open_ones and message is not None:
                self._looked_at[message] += 1
                if self._looked_at[message] >= _SAMPLES_MAX:
                    open_ones.discard(message)
                yield row
            if not open_ones:
                return

    def _take(self, message: str, text: str | None) -> None:
        product = self._known.product_of(message)
        if product is None or not text:
            return
        seen = next((seen for form in self._messages_in(text) if (seen := self._known.seen_in(message, form)) is not None), None)
        if seen is not None:
            self._ranges.setdefault(product, set()).add(seen)

    def _messages_in(self, text: str) -> Iterator[str]:
        """Yield the message alone, then with the words before it."""
        header = self._layout.read(text, (text + "\n").index("\n"))
        if header is not None:
            yield header.message
        line = " ".join(text.split()).rstrip(_CLOSING)
        logger = _LOGGER.search(line, max(0, len(line) - _LOGGER_MAX))
        yield line if logger is None else line[: logger.start()]

    def ranges_by_product(self) -> dict[str, str]:
        """Return the range of each product, the most frequent first."""
        return {
            product: _written(self._ranges[product], self._known.newest(product))
            for product, _ in sorted(self._lines.items(), key=lambda pair: (-pair[1], pair[0]))
            if product in self._ranges
        }


def _written(ranges: Iterable[VersionRange], newest: str) -> str:
    """Write the narrowest of some ranges, the oldest first."""
    return _NARROWEST_SEPARATOR.join(range_in_words(version_range, newest) for version_range in narrowest(ranges))


def narrowest(ranges: Iterable[VersionRange]) -> list[VersionRange]:
    """Return the ranges that contain no other one, the oldest first."""
    kept: list[VersionRange] = []
    widest_first = sorted(ranges, key=lambda version_range: _last(version_range[1]), reverse=True)
    for low, high in sorted(widest_first, key=lambda version_range: version_key(version_range[0])):
        while kept and _last(high) <= _last(kept[-1][1]):
            kept.pop()
        kept.append((low, high))
    return kept


def intersection(version_range: VersionRange, other: VersionRange) -> VersionRange | None:
    """Intersect two ranges, None if they share nothing."""
    low, high = max(version_range[0], other[0], key=version_key), min(version_range[1], other[1], key=_last)
    return (low, high) if version_key(low) <= _last(high) else None


def _last(version: str) -> tuple[int, ...]:
    """Return a key for the last release that a version names."""
    return (*version_key(version), _ANY)


def range_in_words(version_range: VersionRange, newest: str) -> str:
    """Write a range, such as `3.8 to 4.1` or `4.2 or later`."""
    low, high = version_range
    if version_key(high) >= version_key(newest):
        return f"{low}{_OR_LATER}"
    return low if low == high else f"{low} to {high}"


def of_parts(parts: Iterable[Mapping[str, str]]) -> dict[str, str]:
    """Return the narrowest ranges of a file's parts."""
    merged: dict[str, list[VersionRange]] = {}
    for part in parts:
        for product, words in part.items():
            merged.setdefault(product, []).extend(_ranges_in(words))
    return {product: _written(ranges, _OPEN) for product, ranges in merged.items()}


def _ranges_in(words: str) -> list[VersionRange]:
    return [_range_of(name) for name in words.split(_NARROWEST_SEPARATOR)]


def _range_of(words: str) -> VersionRange:
    low, _, high = words.removesuffix(_OR_LATER).partition(" to ")
    return low, _OPEN if words.endswith(_OR_LATER) else high or low


def range_of_file(kind: str, ranges: Mapping[str, str]) -> str | None:
    """Return the range of the product that wrote the file, if known.

    An upgraded product has several: `2.8 to 3.1 and 3.7 or later`.
    """
    of_writer = [words for product, words in ranges.items() if (product in SERVERS) is (kind != "client")]
    if not of_writer:
        return None
    return _UPGRADE_SEPARATOR.join(range_in_words(version_range, _OPEN) for version_range in _in_common(_ranges_in(of_writer[0])))


def _in_common(ranges: Sequence[VersionRange]) -> list[VersionRange]:
    """Intersect neighbouring ranges as long as they share a version."""
    shared: list[VersionRange] = []
    for version_range in ranges:
        both = intersection(shared[-1], version_range) if shared else None
        if both is None:
            shared.append(version_range)
        else:
            shared[-1] = both
    return shared
