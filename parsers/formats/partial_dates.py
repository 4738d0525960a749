"""Completion of times that lack the day or the year.

The file's first day or year is chosen by `parsers.reading.file_dates`; without it, times count from 1970 or from a leap year.
Where a time is much earlier than the one before, a midnight or a new year has passed; where a date is much later, its line is a late
one of the year before.
"""

from __future__ import annotations

from calendar import isleap, leapdays
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from parsers.formats.timestamps import DAY_US, EPOCH_DAY, LEAP_YEAR, DateFormat

YEAR_US = 366 * DAY_US
_FIRST_DAY = date(LEAP_YEAR, 1, 1).toordinal() - EPOCH_DAY
_MARCH = 60
"""Days of a leap year before March."""


@dataclass(slots=True)
class PartialDates:
    """Days since 1970, or years since LEAP_YEAR, of a file's times.

    `latest` is the last time as written, in microseconds.
    """

    days: int = 0
    years: int = 0
    latest: int | None = None

    def complete(self, local: int, form: DateFormat) -> int:
        """Complete the next time of a file by its day or year."""
        step = 0 if self.latest is None else local - self.latest
        self.latest = local
        if form.is_yearless:
            self.years += (step < -YEAR_US // 2) - (step > YEAR_US // 2)
            return in_later_year(local, self.years)
        self.days += step < -DAY_US // 2
        return local + self.days * DAY_US


def in_later_year(at: int, years: int) -> int:
    """The same month, day and time of day, years after LEAP_YEAR."""
    day, rest = divmod(at, DAY_US)
    return _day_in_later_year(day, years) * DAY_US + rest


@lru_cache(maxsize=4096)
def _day_in_later_year(day: int, years: int) -> int:
    year, number = LEAP_YEAR + years, day - _FIRST_DAY
    if number >= _MARCH and not isleap(year):
        number -= 1
    return 365 * (year - 1970) + leapdays(1970, year) + number
