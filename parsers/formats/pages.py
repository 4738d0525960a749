"""Envelopes around each line of a page: how a page, a mail or a document writes text."""

from __future__ import annotations

import quopri
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from parsers.formats.cleaning import cleaned

_BORDERS = tuple(border.encode() for border in "│┃║")
_BOXED = re.compile(r"\s*[│┃║](.*)[│┃║]\s*")
_SOFT_BREAK = re.compile(rb"^[^\n]{60,75}=\r?$", re.MULTILINE)
_SOFT_BREAKS = 2
"""Lines cut as in a mail before a text is read as one."""


class Unwrapped(NamedTuple):
    """Content of an envelope."""

    line: bytes
    stamp: bytes | None = None
    partial: bool = False


class Wrapper(Protocol):
    """Removes one kind of envelope from a line."""

    @property
    def name(self) -> str:
        """Name in reports."""

    def peel(self, line: bytes) -> Unwrapped | None:
        """Return the line inside the envelope, with its stamp.

        None if the line has no such envelope.
        """


@dataclass(frozen=True, slots=True)
class PageWrapper:
    """Tags, entities, colours as editors show them, and blanks of other widths."""

    name: str = "page"

    def peel(self, line: bytes) -> Unwrapped | None:
        text = line.decode("utf-8", "backslashreplace")
        plain = cleaned(text)
        return None if plain is text else Unwrapped(encoded(plain))


@dataclass(frozen=True, slots=True)
class BoxWrapper:
    """Borders of a box that a terminal program draws around its lines."""

    name: str = "box"

    def peel(self, line: bytes) -> Unwrapped | None:
        found = _BOXED.fullmatch(line.decode("utf-8", "replace"))
        return None if found is None else Unwrapped(encoded(found[1].rstrip()))


@dataclass(frozen=True, slots=True)
class MailWrapper:
    """Quoted-printable, as mails in archives are written (RFC 2045)."""

    name: str = "quoted_printable"

    def peel(self, line: bytes) -> Unwrapped | None:
        bare = line.rstrip()
        partial = bare.endswith(b"=")
        return Unwrapped(quopri.decodestring(bare.removesuffix(b"=")), partial=partial)


PAGES: dict[str, Wrapper] = {"page": PageWrapper(), "box": BoxWrapper(), "quoted_printable": MailWrapper()}


def page_wrappers(sample: bytes) -> Iterator[str]:
    """Names of wrappers around a whole page, told by most of its lines."""
    if len(_SOFT_BREAK.findall(sample)) >= _SOFT_BREAKS:
        yield "quoted_printable"
    if any(border in sample for border in _BORDERS):
        lines = sample.split(b"\n")
        if 2 * sum(_BOXED.fullmatch(line.decode("utf-8", "replace")) is not None for line in lines) >= len(lines):
            yield "box"


def encoded(text: str) -> bytes:
    """A text as UTF-8."""
    return text.encode("utf-8", "replace")
