"""Errors of clients that programs report, anywhere in a record."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Catalogue, Match
    from parsers.catalogue.entries import Pattern

ERROR_REPORTED = "ClientErrorReported"
"""Event of messages that stand within those of any program."""


def program_error_patterns(catalogue: Catalogue) -> list[Pattern]:
    """Wordings of errors that programs report."""
    return [pattern for pattern in catalogue.patterns if pattern.message.emits == ERROR_REPORTED]


def program_error(catalogue: Catalogue, text: str) -> Match | None:
    """The first error that a program reports in a record or its stack."""
    words = _first_words(catalogue)
    for place in words.finditer(text) if words is not None else ():
        end = text.find("\n", place.start())
        match = catalogue.match(None, text[place.start() : end if end >= 0 else len(text)].rstrip())
        if match is not None and match.event == ERROR_REPORTED:
            return match
    return None


@lru_cache(maxsize=4)
def _first_words(catalogue: Catalogue) -> re.Pattern[str] | None:
    words = sorted({pattern.template.literals[0] for pattern in program_error_patterns(catalogue)})
    return re.compile("|".join(map(re.escape, words))) if words else None
