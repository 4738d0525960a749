"""Time, level and logger before a message, remembered by its form."""

from __future__ import annotations

import re
from typing import NamedTuple

from parsers.excerpts.stamps import FoundStamp, has_false_date, last_placed, stamp_of
from parsers.formats.layouts import level_named

_LOGGER = re.compile(r"(?<![\w.$/@])(?P<logger>(?:[a-z]\w*\.)+(?:[\w$]+\.)*[A-Za-z$][\w$]*|[A-Z][A-Za-z]+(?:\$\w+)*)(?![\w.@=])", re.ASCII)
_LEVEL = re.compile(
    r"(?<![\w.-])(?:(?P<plain>TRACE|DEBUG|INFO|WARN|WARNING|ERROR|FATAL|SEVERE|CRITICAL)"
    r"|(?:level|severity|lvl|loglevel)\"? *[:=] *\"?(?P<named>[A-Za-z]+)"
    r"|\[(?P<boxed>trace|debug|info|warn|warning|error|fatal)\])(?![\w-])",
    re.ASCII | re.IGNORECASE,
)
_DIGITS = str.maketrans("0123456789", "0000000000")
_FORMS_MAX = 4096
"""Forms of leads that are kept in mind."""


class Lead(NamedTuple):
    """Time, level and logger before a message."""

    stamp: FoundStamp | None
    level: str | None
    logger: str | None


class _Places(NamedTuple):
    """Form of the time, and positions of time and logger."""

    form: int | None
    stamp: tuple[int, int]
    level: str | None
    logger: tuple[int, int]


class Leads:
    """Leads by their form: the text with its digits alike.

    A lead of a known form is read by places; one whose digits are no time there is read anew. Only forms with a date are kept, and none of
    a text with digits that are no date where one is looked for: the next text of its form may have one there.
    """

    def __init__(self) -> None:
        self._places: dict[str, _Places] = {}

    def read(self, text: str) -> Lead:
        """Time, level and logger in a text: of each, the last one."""
        form = text.translate(_DIGITS)
        places = self._places.get(form)
        stamp = None if places is None or places.form is None else stamp_of(places.form, text, *places.stamp)
        if places is None or stamp is None:
            places = _places_in(text)
            stamp = None if places.form is None else stamp_of(places.form, text, *places.stamp)
            if stamp is not None and stamp.date.has_date and not has_false_date(text) and len(self._places) < _FORMS_MAX:
                self._places[form] = places
        begin, end = places.logger
        return Lead(stamp, places.level, text[begin:end] or None)


def _places_in(text: str) -> _Places:
    """Places in a text; the level behind its time counts most."""
    placed = last_placed(text, 0, len(text))
    begin, end = (placed.stamp.begin, placed.stamp.end) if placed is not None else (0, 0)
    logger = next(reversed([match.span("logger") for match in _LOGGER.finditer(text)]), (0, 0))
    return _Places(None if placed is None else placed.form, (begin, end), level_in(text[end:]) or level_in(text), logger)


def level_in(text: str) -> str | None:
    """The last level named in a text."""
    level = next(reversed(list(_LEVEL.finditer(text))), None)
    return None if level is None else level_named((level["plain"] or level["named"] or level["boxed"]).upper())
