"""Days and years for files whose times have none, by other files.

logback's default writes a time of day alone: such a file is taken to begin on the day on which its first line comes next after the
beginning of the dated files. Where these begin on several days, or none is there, the file keeps 1970. Syslog writes no year: such a
file is taken to begin in the year that is nearest to the dated files. The durations in a file are right either way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from parsers.formats.detection import FileFormat
from parsers.formats.partial_dates import YEAR_US, in_later_year
from parsers.formats.timestamps import DAY_US, LEAP_YEAR
from parsers.sources.discovery import Discovery
from parsers.sources.files import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLY_US = DAY_US // 24
"""Maximum time from an undated file's start to the first dated line: assumed."""
SPREAD_US = DAY_US - DAY_US // 6
"""Dated files that begin further apart than this show several days."""
DATED_FILES_MAX = 20
"""Number of dated files that are asked; the first ones by name."""


def may_lack_date(file_format: FileFormat) -> bool:
    """Whether times in this format may lack a date."""
    date = getattr(file_format.layout, "date", None)
    return not (file_format.base_days or file_format.base_years) and (bool(file_format.shape) or (date is not None and not date.has_date))


Times = tuple[int, int]
"""The first and the last time in the beginning of a file (microseconds)."""


def with_dates(discovery: Discovery, times_of: Callable[[SourceFile], Times | None]) -> list[str]:
    """Date the undated files of a discovery; return one note per file.

    Ordinary files cost nothing.
    """
    undated: dict[int, Times] = {}
    for number, source in enumerate(discovery.files):
        times = times_of(source) if may_lack_date(source.format) else None
        if times is not None and is_undated(times[0]):
            undated[number] = times
    if not undated:
        return []
    others = [source for number, source in enumerate(discovery.files) if number not in undated][:DATED_FILES_MAX]
    begins = [times[0] for times in map(times_of, others) if times is not None and not is_undated(times[0])]
    names_by_date: dict[str, list[str]] = {}
    for number, (first, last) in undated.items():
        source = discovery.files[number]
        near = begins if is_undated(last) else [last]
        if _has_month(first):
            years = _years_to(first, near)
            discovery.files[number] = replace(source, format=replace(source.format, base_years=years or 0))
            note = _of_year(None if years is None else in_later_year(first, years))
        else:
            days = _days_to(first, near)
            discovery.files[number] = replace(source, format=replace(source.format, base_days=days or 0))
            note = _of_day(None if days is None else first + days * DAY_US)
        names_by_date.setdefault(note, []).append(source.name)
    return [f"{names[0] if len(names) == 1 else f'{names[0]} and {len(names) - 1} more'}: {note}" for note, names in names_by_date.items()]


def _of_day(at: int | None) -> str:
    if at is None:
        return "times without a date, and nothing tells the day: they are shown as of 1970"
    return f"times without a date, taken as of {_EPOCH + timedelta(microseconds=at):%Y-%m-%d}, when the other lines begin"


def _of_year(at: int | None) -> str:
    if at is None:
        return f"times without a year, and nothing tells it: they are shown as of {LEAP_YEAR}"
    return f"times without a year, taken as of {_EPOCH + timedelta(microseconds=at):%Y}, by the other lines"


def is_undated(at: int) -> bool:
    """Return True for a time in the early seventies, before these products."""
    return 0 <= at < (LEAP_YEAR + 2 - _EPOCH.year) * YEAR_US


def _has_month(at: int) -> bool:
    """Whether an undated time lacks only the year."""
    return at >= (LEAP_YEAR - _EPOCH.year) * YEAR_US - DAY_US * 2


def _years_to(at: int, begins: Sequence[int]) -> int | None:
    """Years from LEAP_YEAR to a yearless file, None if unknown."""
    if not begins or max(begins) - min(begins) > YEAR_US // 2:
        return None
    year = (_EPOCH + timedelta(microseconds=min(begins))).year - LEAP_YEAR
    return min((year - 1, year, year + 1), key=lambda years: abs(in_later_year(at, years) - min(begins)))


def _days_to(at: int, begins: Sequence[int]) -> int | None:
    """Days from 1970 to an undated file, None if unknown."""
    if not begins or max(begins) - min(begins) > SPREAD_US:
        return None
    return -((at - min(begins) + EARLY_US) // DAY_US)
