"""Times in any text: where they stand, and how each is read.

Layouts have theirs as patterns in `parsers.formats.data`, compiled by `parsers.formats.timestamps`.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable
from datetime import UTC, datetime
from typing import NamedTuple

from parsers.excerpts.month_names import HALF_OF_DAY, MONTH_NAME, is_afternoon, month_number
from parsers.formats.timestamps import DateFormat, date_format

_CLOCK = r"(?P<clock>\d\d?:\d\d:\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z\b|UTC\b|GMT\b|[+-]\d\d:?\d\d\b))?"
_HALF = r"(?: (?P<half>[AaPp][Mm]\b|(?i:vorm|nachm)\b\.?))?"
_MONTH = r"(?P<name>Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*"
_BETWEEN = r"(?:[ T,@_|:]|, | @ | at ){1,3}"
_FORMS = tuple(
    re.compile(rf"(?<![A-Za-z0-9_.:/-]){form}", re.ASCII)
    for form in (
        r"(?P<year>20\d\d)(?P<month>\d\d)(?P<day>\d\d)[T_-]?(?P<packed>\d{6})(?:[.,]?(?P<fraction>\d{1,9}))?(?P<zone>Z|[+-]\d\d:?\d\d)?(?![\w-])",
        r"(?P<year>\d{4})[年년] ?(?P<month>\d\d?)[月월] ?(?P<day>\d\d?)[日일] ?(?P<eastern>上午|下午|午前|午後|오전|오후)? ?"
        r"(?P<hour>\d\d?)[時时点點시:] ?(?P<minute>\d\d?)[分분:] ?(?P<pair>\d\d?)[秒초]?(?:[.,](?P<fraction>\d{1,9}))?",
        r"(?P<year>\d{4})[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?) (?P<eastern>上午|下午|午前|午後|오전|오후) ?"
        r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<pair>\d\d)(?:[.,](?P<fraction>\d{1,9}))?",
        rf"(?P<year>\d{{4}})[-/.](?P<month>\d\d?)[-/.](?P<day>\d\d?){_BETWEEN}{_CLOCK}{_HALF}{_ZONE}",
        rf"(?P<year>\d{{4}})(?P<month>\d\d)(?P<day>\d\d)[ T_-]{_CLOCK}{_ZONE}",
        rf"(?P<first>\d\d?)[-/.](?P<second>\d\d?)[-/.](?P<year>\d{{4}}){_BETWEEN}{_CLOCK}{_HALF}{_ZONE}",
        rf"(?P<left>\d\d?)(?P<mark>[/.])(?P<right>\d\d?)(?P=mark)(?P<year>\d\d){_BETWEEN}{_CLOCK}{_HALF}(?![\w:])",
        rf"(?P<day>\d\d?)[ /-]{_MONTH}[ /-](?P<year>\d{{4}}){_BETWEEN}{_CLOCK}{_HALF}{_ZONE}",
        rf"{_MONTH} +(?P<day>\d\d?),? (?P<year>\d{{4}}){_BETWEEN}{_CLOCK}{_HALF}{_ZONE}",
        rf"{_MONTH} +(?P<day>\d\d?) {_CLOCK}(?: (?P<zone>UTC|GMT))? (?P<year>\d{{4}})\b",
        rf"(?P<year>\d\d)[-/](?P<month>\d\d)[-/](?P<day>\d\d){_BETWEEN}{_CLOCK}",
        rf"(?i:{MONTH_NAME}) +(?P<day>\d\d?),? (?P<year>\d{{4}}),? {_CLOCK}(?i:{HALF_OF_DAY})",
        rf"(?P<day>\d\d?)\.? (?i:{MONTH_NAME}) (?P<year>\d{{4}}),? {_CLOCK}(?i:{HALF_OF_DAY})",
    )
)
_OF_A_YEAR = re.compile(
    rf"(?<![\w.:/-])(?:{_MONTH} +(?P<day>\d\d?)|(?:[IWEF](?=\d{{4}} ))?(?P<month>\d\d)[-/]?(?P<date>\d\d)) {_CLOCK}(?![\w:])", re.ASCII
)
"""Month and day without a year.

Syslog has `May  3 10:00:01`, glog `I0503 10:00:01.123456`, and many programs `05-03 10:00:01`.
"""
_OF_A_DAY = re.compile(rf"(?<![\w.:/-]){_CLOCK}{_HALF}(?![\w:])", re.ASCII)
_EPOCH = re.compile(
    r"(?:(?<=\|)|<millis>"
    r"|\"?\b(?:ts|time|timestamp|@timestamp|timeMillis|timeUnixNano|observedTimeUnixNano|eventTimestamp|date"
    r"|__REALTIME_TIMESTAMP)\"? *[:=] *\"?"
    r"|^[\[(<\"' ]{0,3}(?=1\d{9}(?:\.\d{1,9})?[\])>\"',;|\s]))"
    r"(?P<epoch>\d{10}(?:\.\d{1,9})?|\d{13}|\d{16}|\d{19})\b",
    re.ASCII | re.MULTILINE,
)
BARE_MILLIS = (
    r"(?:^|(?<=[\s\[(\"'|`]))(?<!\":\s)(?<!\":[\"\[])(?<!,\s)(?P<epoch>1\d{12})(?=[\s\])\"'|,;:]|$)"  # no value, nor one of a list
)
"""Milliseconds without a name, as some headers have them."""
_BARE = re.compile(BARE_MILLIS, re.ASCII)

_MONTHS = {name: number for number, name in enumerate(calendar.month_abbr[1:], start=1)}
_NOON = 12
_CENTURY = 2000
_SECOND_DIGITS = 10


class FoundStamp(NamedTuple):
    """A time in a text: position, and the text that `date` reads."""

    begin: int
    end: int
    text: str
    date: DateFormat


class PlacedStamp(NamedTuple):
    """A time, with the form by which `stamp_of` reads similar ones."""

    form: int
    stamp: FoundStamp


def last_stamp(text: str, begin: int, end: int) -> FoundStamp | None:
    """The last time between two positions, preferably with a date."""
    stamp = last_placed(text, begin, end)
    return None if stamp is None else stamp.stamp


def last_placed(text: str, begin: int, end: int) -> PlacedStamp | None:
    """The last time between two positions, with its form."""
    best: PlacedStamp | None = None
    for number in (*range(len(_FORMS)), _EPOCH_FORM):
        for match in _READERS[number][0].finditer(text, begin, end):
            if (best is None or match.start() >= best.stamp.end) and (stamp := _READERS[number][1](match)) is not None:
                best = PlacedStamp(number, stamp)
    if best is not None:
        return best
    for match in _BARE.finditer(text, begin, end):
        return PlacedStamp(_BARE_FORM, _epoch(match))
    for number in (_YEAR_FORM, _DAY_FORM):
        for match in _READERS[number][0].finditer(text, begin, end):
            stamp = _READERS[number][1](match)
            best = best if stamp is None else PlacedStamp(number, stamp)
        if best is not None:
            break
    return best


def stamp_of(form: int, text: str, begin: int, end: int) -> FoundStamp | None:
    """The time between two positions in a known form, None without one."""
    regex, read = _READERS[form]
    match = regex.match(text, begin)
    return read(match) if match is not None and match.span() == (begin, end) else None


def has_false_date(text: str) -> bool:
    """Whether a text contains an invalid date."""
    return any(_dated(match) is None for form in _FORMS for match in form.finditer(text))


def first_stamp(text: str, begin: int, end: int) -> FoundStamp | None:
    """The first time with a date between two positions."""
    stamps = [stamp for form in _FORMS if (match := form.search(text, begin, end)) and (stamp := _dated(match)) is not None]
    stamps += [_epoch(match)] if (match := _EPOCH.search(text, begin, end)) else []
    return min(stamps, key=lambda stamp: stamp.begin, default=None)


def is_clock(text: str) -> bool:
    """Return True for a time of day without a date."""
    return _OF_A_DAY.fullmatch(text) is not None


def _of_a_day(match: re.Match[str]) -> FoundStamp:
    """A time of day."""
    return FoundStamp(match.start(), match.end(), _clock_text(match), date_format("HH:mm:ss.SSSSSS"))


def _of_a_year(match: re.Match[str]) -> FoundStamp | None:
    """A time with month and day."""
    fields = match.groupdict()
    month = _MONTHS[fields["name"]] if fields["name"] else int(fields["month"] or 0)
    text = f"{month:02d}-{int(fields['day'] or fields['date'] or 0):02d} {_clock_text(match)}"
    form = date_format("MM-dd HH:mm:ss.SSSSSS")
    return FoundStamp(match.start(), match.end(), text, form) if form.read(text).local_us is not None else None


def _dated(match: re.Match[str]) -> FoundStamp | None:
    """A time as ISO text."""
    fields = match.groupdict()
    month, day = _month_and_day(fields)
    year = int(fields["year"])
    clock = _clock_text(match)
    text = f"{year + _CENTURY if year < 100 else year:04d}-{month:02d}-{day:02d} {clock}{fields.get('zone') or ''}"
    date = date_format("")
    return FoundStamp(match.start(), match.end(), text, date) if date.read(text).local_us is not None else None


def _month_and_day(fields: dict[str, str | None]) -> tuple[int, int]:
    """Month and day.

    Of two numbers that may be either, the first is the day unless only the second can be.
    """
    if fields.get("local"):
        return month_number(str(fields["local"])), int(fields["day"] or 0)
    if fields.get("name"):
        return _MONTHS[str(fields["name"])], int(fields["day"] or 0)
    if fields.get("left"):
        # With a year of two digits, slashes are mostly of the United States, who write the month first.
        left, right = int(fields["left"] or 0), int(fields["right"] or 0)
        return (left, right) if fields["mark"] == "/" and left <= len(_MONTHS) else (right, left)
    if fields.get("first") is None:
        return int(fields["month"] or 0), int(fields["day"] or 0)
    first, second = int(fields["first"] or 0), int(fields["second"] or 0)
    return (first, second) if second > len(_MONTHS) >= first else (second, first)


def _clock_text(match: re.Match[str]) -> str:
    """Time of day with six digits of a second."""
    fields = match.groupdict()
    if packed := fields.get("packed"):
        hour, rest = packed[:2], f"{packed[2:4]}:{packed[4:]}"
    elif fields.get("minute"):
        hour, rest = fields["hour"], f"{int(fields['minute']):02d}:{int(fields['pair']):02d}"
    else:
        hour, rest = fields["clock"].split(":", 1)
    number = int(hour)
    half = fields.get("half") or fields.get("eastern")
    if half:
        number = number % _NOON + (_NOON if is_afternoon(half) else 0)
    return f"{number:02d}:{rest}.{(match['fraction'] or '').ljust(6, '0')[:6]}"


def _epoch(match: re.Match[str]) -> FoundStamp:
    """A count of seconds, or of smaller units, since 1970."""
    whole, _, fraction = match["epoch"].partition(".")
    digits = (whole + fraction).ljust(_SECOND_DIGITS + 6, "0")[: _SECOND_DIGITS + 6]
    at = datetime.fromtimestamp(int(digits[:_SECOND_DIGITS]), UTC)
    return FoundStamp(match.start(), match.end(), f"{at:%Y-%m-%d %H:%M:%S}.{digits[_SECOND_DIGITS:]}Z", date_format(""))


_READERS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str]], FoundStamp | None]], ...] = (
    *((form, _dated) for form in _FORMS),
    (_EPOCH, _epoch),
    (_BARE, _epoch),
    (_OF_A_YEAR, _of_a_year),
    (_OF_A_DAY, _of_a_day),
)
_EPOCH_FORM, _BARE_FORM, _YEAR_FORM, _DAY_FORM = range(len(_FORMS), len(_READERS))
