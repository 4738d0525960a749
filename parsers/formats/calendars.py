"""Years of calendars other than the Gregorian one.

A JVM in a Thai locale counts years from 543 BC, with the months and days of the Gregorian calendar. Other calendars have other
months, too, so that their dates can't be converted one by one.
"""

from __future__ import annotations

import re

BUDDHIST_AHEAD = 543
"""Years by which the Buddhist calendar is ahead, as `java.util` counts them."""
_BUDDHIST_YEARS = range(1900 + BUDDHIST_AHEAD, 2200 + BUDDHIST_AHEAD)
_OTHER_YEARS = range(1300, 1600)
"""Present years of the Persian and the Islamic calendar."""
_YEAR = re.compile(
    r"(?<![\w.:/-])(?:(\d{4})([-/.])\d\d?\2\d\d?|\d\d?([-/.])\d\d?\3(\d{4})|\d\d? [A-Z][a-z]{2} (\d{4}))[ T,]+\d\d?:\d\d:\d\d", re.ASCII
)


def gregorian_year(year: int) -> int:
    """Convert the year of a time stamp to the Gregorian calendar."""
    return year - BUDDHIST_AHEAD if year in _BUDDHIST_YEARS else year


def calendar_of(text: str) -> str:
    """Note about the first year in a text, if it needs one."""
    match = _YEAR.search(text)
    if match is None:
        return ""
    year = int(match[1] or match[4] or match[5])
    if year in _BUDDHIST_YEARS:
        return f"Buddhist year {year} read as {gregorian_year(year)}"
    return f"year {year} of an unknown calendar, kept as written" if year in _OTHER_YEARS else ""
