"""Header and message of a record, also if it was wrapped, padded or cut."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parsers.formats.layouts import ANY_PRODUCT, AnyLayout, Header, json_layout, layouts
from parsers.formats.message_values import with_keys_below, with_text_keys

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue, Match

# A stack trace after the message, not part of it.
_STACK = re.compile(r"\n(?:\s+at |\s*\.{3} \d+ |Caused by: |\s*Suppressed: |[\w.$]+(?:Exception|Error)\b)")
# A line of settings, or a stack trace with its exception, which is no rest of the line before.
_INDENTED = re.compile(r"\n(?:\t|(?:[\w.$]+(?:Exception|Error)\b[^\n]*\n(?:[^\n]*\n){0,3}?)?[ \t]+at )")
PADDING = " " * 8
"""Blanks up to the edge of a window, copied with the text."""
_PADDED = re.compile(r" {8,}")
# The rest of a cut word.
_REST_OF_WORD = re.compile(r"[\w%|-]{1,64}")
_FULL = 0.9  # part of the widest line from which on a line may have been cut
MAX_FOLDS = 12
MAX_CUTS = 3
"""Opening brackets within which a line may have been cut."""


@dataclass(frozen=True, slots=True)
class RecordMatcher:
    """Understands records of one layout by the catalogue; it counts and keeps nothing."""

    layout: AnyLayout
    catalogue: Catalogue

    def understand(self, text: str) -> tuple[Header | None, Match | None]:
        """Header and match of a record.

        Tried in the file's layout, then in another one, then as a wrapped or cut line.
        """
        first_end = text.find("\n")
        first_end = len(text) if first_end < 0 else first_end
        header = self.layout.read(text, first_end)
        match = self._match(header)
        if header is not None and (not header.is_whole or "\n" in header.message) and _may_be_wrapped(text, first_end):
            joined, meant = self._unfolded(text, header)
            if meant is not None:
                return joined, meant
        if match is not None and header is not None:
            return header, match
        if header is None or not header.is_whole or self.layout.product == ANY_PRODUCT:
            header, match = self._in_another_layout(text, first_end, header)
        if match is None and header is not None and first_end < len(text):
            header, match = self._unfolded(text, header)
        if match is None and header is not None and not header.is_whole:
            header, match = self._without_logger(text, header)
        return header, match

    def _match(self, header: Header | None) -> Match | None:
        if header is None:
            return None
        message = header.message
        if "\n" not in message:
            match = (PADDING in message and self._without_padding(header)) or self.catalogue.match(header.logger, message)
            return match or self._with_values(header)
        stack = _STACK.search(message)
        match = self.catalogue.match(header.logger, message[: stack.start()] if stack else message)
        return match or self.catalogue.match(header.logger, message[: message.index("\n")].rstrip()) or self._with_values_below(header)

    def _with_values(self, header: Header) -> Match | None:
        """Match a message that has its keys and values behind it."""
        if "=" not in header.message and "\t{" not in header.message:
            return None
        message = with_text_keys(json_layout().structured, header.message)
        return self.catalogue.match(header.logger, message) if message is not None else None

    def _with_values_below(self, header: Header) -> Match | None:
        """Match a message whose keys and values stand below it."""
        message = with_keys_below(json_layout().structured, header.message) if "\n    " in header.message else None
        return self.catalogue.match(header.logger, message) if message is not None else None

    def _without_padding(self, header: Header) -> Match | None:
        """Match a line that was copied with the blanks of its window.

        They may stand within a word or between two.
        """
        tries = (self.catalogue.match(header.logger, _PADDED.sub(glue, header.message)) for glue in ("", " "))
        return next((header for header in tries if header is not None), None)

    def _in_another_layout(self, text: str, first_end: int, header: Header | None) -> tuple[Header | None, Match | None]:
        for layout in layouts():
            if layout is self.layout or layout.date is None:
                continue
            other = layout.read(text, first_end)
            if other is None or not other.is_whole:
                continue
            match = self._match(other)
            if match is not None:
                return other, match
            header = header or other
        return header, None

    def _unfolded(self, text: str, header: Header) -> tuple[Header, Match | None]:
        """Join lines that a terminal has wrapped.

        The catalogue must know the joined line but not the first one.
        """
        indented = _INDENTED.search(text)
        pieces = text[: indented.start() if indented else None].split("\n", MAX_FOLDS)
        for glue in ("", " "):
            for count in range(2, len(pieces) + 1):
                joined = self.layout.read(glue.join(pieces[:count]).rstrip())
                if joined is not None and joined.is_whole and (match := self._match(joined)) is not None:
                    return (joined, match) if glue else self._with_rest(pieces, count, joined, match)
        return header, None

    def _with_rest(self, pieces: Sequence[str], count: int, joined: Header, match: Match) -> tuple[Header, Match]:
        """Add the next line if it holds the rest of the last word.

        A name cut in two is worse than none.
        """
        rest = pieces[count] if count < len(pieces) else ""
        if _REST_OF_WORD.fullmatch(rest) is None or len(pieces[count - 1]) < _FULL * max(map(len, pieces)):
            return joined, match
        longer = self.layout.read("".join(pieces[: count + 1]))
        longer_match = self._match(longer)
        return (longer, longer_match) if longer is not None and longer_match is not None else (joined, match)

    def _without_logger(self, text: str, header: Header) -> tuple[Header, Match | None]:
        """Match a line that was cut within its last brackets.

        They hold its logger, after a complete message, or its reason.
        """
        line = text[: text.find("\n")] if "\n" in text else text
        for _ in range(MAX_CUTS):
            line = line[: max(line.rfind(" ("), 0)]
            bare = self.layout.read(line) if line else None
            match = self._match(bare)
            if bare is not None and match is not None and not self.catalogue.swallows(match):
                return bare, match
        return header, None


def _may_be_wrapped(text: str, first_end: int) -> bool:
    """Whether the second line may continue the first."""
    return first_end < len(text) and _INDENTED.match(text, first_end) is None
