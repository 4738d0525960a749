"""Time stamps: Java date patterns compiled, and their text as microseconds.

A stamp gives local microseconds (the wall clock counted as if it were UTC), the offset from UTC where the
stamp states one, and whether it holds a date at all. `parsers.excerpts.stamps` finds stamps where no layout says
where they stand.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import NamedTuple

from parsers.formats.calendars import gregorian_year

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr)}
EPOCH_DAY = date(1970, 1, 1).toordinal()
DAY_US = 86_400_000_000
CALENDAR_US = range((1 - EPOCH_DAY + 1) * DAY_US, (date.max.toordinal() - EPOCH_DAY) * DAY_US)
"""Times that every library can show in any zone.

The years 1 to 9999, less a day at each end.
"""
_DIGITS_MAX = 18

_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|(?:UTC|GMT)?[+-]\d{2}(?::?\d{2})?))?"
# Kafka's and most other layouts: ISO 8601 with blank or T, with comma or dot or no fraction, with or without an offset.
_ISO = (
    r"(?P<year>\d{4})-(?P<month>\d{2})-(?P<day>\d{2})[ T](?P<hour>\d{2}):(?P<minute>\d{2}):(?P<second>\d{2})"
    r"(?:[.,](?P<fraction>\d{1,9}))?" + _ZONE
)
# Names that log4j and log4j2 give to date patterns.
_NAMED: dict[str, str] = {
    "ISO8601_BASIC": "yyyyMMdd'T'HHmmss,SSS",
    "ISO8601_BASIC_PERIOD": "yyyyMMdd'T'HHmmss.SSS",
    "ABSOLUTE": "HH:mm:ss,SSS",
    "ABSOLUTE_PERIOD": "HH:mm:ss.SSS",
    "COMPACT": "yyyyMMddHHmmssSSS",
    "DATE": "dd MMM yyyy HH:mm:ss,SSS",
    "DATE_PERIOD": "dd MMM yyyy HH:mm:ss.SSS",
}
_ISO_NAMES = {"", "DEFAULT", "ISO8601", "ISO8601_PERIOD", "ISO8601_OFFSET_DATE_TIME_HHMM", "ISO8601_OFFSET_DATE_TIME_HHCMM"}
_LETTERS: tuple[tuple[str, str], ...] = (
    ("yyyy", r"(?P<year>\d{4})"),
    ("yy", r"(?P<year>\d{2})"),
    ("MMM", r"(?P<month>[A-Za-z]{3})"),
    ("MM", r"(?P<month>\d{2})"),
    ("M", r"(?P<month>\d{1,2})"),
    ("dd", r"(?P<day>[ \d]\d)"),
    ("d", r"(?P<day>\d{1,2})"),
    ("HH", r"(?P<hour>\d{2})"),
    ("hh", r"(?P<hour>\d{2})"),
    ("H", r"(?P<hour>\d{1,2})"),
    ("h", r"(?P<hour>\d{1,2})"),
    ("mm", r"(?P<minute>\d{2})"),
    ("ss", r"(?P<second>\d{2})"),
    ("EEE", r"[A-Za-z]{3}"),
    ("a", r"(?P<half>AM|PM|am|pm)"),
    ("XXX", r"(?P<zone>Z|[+-]\d{2}:\d{2})"),
    ("Z", r"(?P<zone>[+-]\d{4})"),
    ("z", r"(?P<zone>[A-Z]{1,5}|[+-]\d{2}:?\d{2})"),
)


LEAP_YEAR = 1972
"""Year of times without one: it has a 29 February."""


class TimeStamp(NamedTuple):
    """A time stamp; `local_us` is None when it is no valid time.

    Such as one of month 13.
    """

    local_us: int | None
    offset_us: int | None


@dataclass(frozen=True, slots=True)
class DateFormat:
    """A way to write times.

    `is_iso` stamps begin with `yyyy-MM-dd HH:mm:ss` at fixed places.
    """

    pattern: str
    regex: str
    read: Callable[[str], TimeStamp]
    has_date: bool
    is_iso: bool
    is_yearless: bool = False
    """True if stamps lack only a year; they are read as of LEAP_YEAR."""
    zone_us: int | None = None
    """Offset of all stamps, which is in none."""

    @property
    def is_absolute(self) -> bool:
        """True if stamps count from the epoch, independent of time zones."""
        return self.pattern.startswith("UNIX")


def offset_us(text: str) -> int | None:
    """Offset of `Z`, `+01:00`, `+0100`, `GMT+8`; None for other names."""
    bare = text.upper()
    for name in ("UTC", "GMT"):
        bare = bare.removeprefix(name)
    if bare in {"", "Z"}:
        return 0
    digits = bare[1:].replace(":", "")
    if bare[0] not in "+-" or not (digits.isascii() and digits.isdecimal()):
        return None
    minutes = int(digits[:2]) * 60 + int(digits[2:4] or 0)
    return (minutes if bare[0] == "+" else -minutes) * 60_000_000


@lru_cache(maxsize=4096)
def _day_us(year: int, month: int, day: int) -> int | None:
    try:
        return (date(gregorian_year(year), month, day).toordinal() - EPOCH_DAY) * DAY_US
    except ValueError:
        return None


def civil_us(year: int, month: int, day: int, hour: int, minute: int, second: int) -> int | None:
    """Local microseconds, None for an invalid date or time.

    Second 60 (a leap second) counts as the next minute.
    """
    if hour > 23 or minute > 59 or second > 60:
        return None
    day_us = _day_us(year, month, day)
    return None if day_us is None else day_us + ((hour * 60 + minute) * 60 + second) * 1_000_000


@lru_cache(maxsize=4096)
def _iso_second(text: str) -> int | None:
    """Read `yyyy-MM-dd HH:mm:ss`, fast: log lines come many a second.

    The blank may be a T.
    """
    try:
        return civil_us(int(text[:4]), int(text[5:7]), int(text[8:10]), int(text[11:13]), int(text[14:16]), int(text[17:19]))
    except ValueError:
        return None


def read_iso(stamp: str) -> TimeStamp:
    """Read `yyyy-MM-dd HH:mm:ss`, with or without a fraction and an offset."""
    second = _iso_second(stamp[:19])
    if second is None or len(stamp) == 19:
        return TimeStamp(second, None)
    end = 19
    if stamp[19] in ",.":
        end = 20
        while end < len(stamp) and "0" <= stamp[end] <= "9":
            end += 1
        second += int(stamp[20:end].ljust(6, "0")[:6])
    zone = stamp[end:].strip()
    return TimeStamp(second, offset_us(zone) if zone else None)


_EPOCH_US = {10: 1_000_000.0, 13: 1_000.0, 16: 1.0, 19: 0.001}
"""Length of the unit of a count since 1970, by its digits.

Seconds to nanoseconds, from 2001 to 2286.
"""


def read_epoch(stamp: str) -> int | None:
    """Microseconds since 1970 of a count in any unit, else None."""
    whole, _, fraction = stamp.partition(".")
    unit = _EPOCH_US.get(len(whole))
    if unit is None or not (whole.isascii() and whole.isdecimal()) or (fraction and not _is_count(fraction)):
        return None
    count = int(whole)
    if unit < 1:
        return count // round(1 / unit)
    return count * int(unit) + (int(fraction.ljust(6, "0")[:6]) * int(unit) // 1_000_000 if fraction else 0)


def _read_match(regex: re.Pattern[str], stamp: str) -> TimeStamp:
    match = regex.fullmatch(stamp)
    if match is None:
        return TimeStamp(None, None)
    groups = match.groupdict()
    month_text = groups.get("month") or "1"
    month = int(month_text) if month_text.isdigit() else _MONTHS.get(month_text.lower(), 0)
    year = int(groups.get("year") or (LEAP_YEAR if groups.get("month") else 1970))
    hour = int(groups.get("hour") or 0)
    if half := groups.get("half"):
        hour = hour % 12 + (12 if half.lower() == "pm" else 0)
    second = civil_us(
        year + 2000 if year < 100 else year,
        month,
        int(groups.get("day") or 1),
        hour,
        int(groups.get("minute") or 0),
        int(groups.get("second") or 0),
    )
    if second is None:
        return TimeStamp(None, None)
    fraction = groups.get("fraction")
    zone = groups.get("zone")
    return TimeStamp(second + (int(fraction.ljust(6, "0")[:6]) if fraction else 0), offset_us(zone) if zone else None)


def _unix(scale: int) -> Callable[[str], TimeStamp]:
    def read(stamp: str) -> TimeStamp:
        whole, _, fraction = stamp.partition(".")
        if not _is_count(whole) or (fraction and not _is_count(fraction)):
            return TimeStamp(None, None)
        extra = int(fraction.ljust(6, "0")[:6]) if fraction else 0
        return TimeStamp(int(whole) * scale + extra, 0)

    return read


def _is_count(text: str) -> bool:
    """Return True for digits, no more of them than a time has."""
    return text.isascii() and text.isdecimal() and len(text) <= _DIGITS_MAX


def _java_regex(pattern: str) -> str:
    out: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern[at] == "'":
            end = pattern.find("'", at + 1)
            end = len(pattern) if end < 0 else end
            out.append(re.escape(pattern[at + 1 : end]) if end > at + 1 else "'")
            at = end + 1
            continue
        if pattern[at] in "Sn":
            end = at
            while end < len(pattern) and pattern[end] in "Sn":
                end += 1
            out.append(rf"(?P<fraction>\d{{{end - at}}})")
            at = end
            continue
        for letters, regex in _LETTERS:
            if pattern.startswith(letters, at):
                out.append(regex)
                at += len(letters)
                break
        else:
            out.append(re.escape(pattern[at]))
            at += 1
    return "".join(out)


@lru_cache(maxsize=64)
def date_format(pattern: str) -> DateFormat:
    """Compile the text in `%d{...}`.

    A name of log4j's, `UNIX`, `UNIX_MILLIS`, or a Java date pattern.
    """
    if pattern in _ISO_NAMES:
        return DateFormat(pattern, _without_names(_ISO), read_iso, has_date=True, is_iso=True)
    if pattern == "UNIX":
        return DateFormat(pattern, r"\d{9,10}(?:\.\d{1,9})?", _unix(1_000_000), has_date=True, is_iso=False)
    if pattern == "UNIX_MILLIS":
        return DateFormat(pattern, r"\d{12,13}", _unix(1_000), has_date=True, is_iso=False)
    pattern, comma, zone = pattern.partition(",GMT")
    if comma:
        return _zoned(pattern, offset_us("GMT" + zone))
    source = _java_regex(_NAMED.get(pattern, pattern))
    regex = re.compile(source)
    has_year = "(?P<year>" in source
    yearless = not has_year and "(?P<month>" in source
    return DateFormat(
        pattern, _without_names(source), lambda stamp: _read_match(regex, stamp), has_year, is_iso=False, is_yearless=yearless
    )


def _zoned(pattern: str, offset: int | None) -> DateFormat:
    """Compile logback's date with a zone of its own.

    `%d{yyyy-MM-dd HH:mm:ss,GMT+8}`: the offset is in no stamp and holds for all.
    """
    source = _java_regex(pattern)
    iso = pattern.startswith("yyyy-")
    regex = re.compile(source)

    def read(stamp: str) -> TimeStamp:
        return TimeStamp((read_iso(stamp) if iso else _read_match(regex, stamp)).local_us, offset)

    return DateFormat(f"{pattern},GMT", _without_names(source), read, has_date=True, is_iso=iso, zone_us=offset)


def _without_names(regex: str) -> str:
    """The regex for use inside another one, where names would clash."""
    return re.sub(r"\(\?P<\w+>", "(?:", regex)
