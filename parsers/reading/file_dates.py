"""Days for files whose times have none, by the other files beside them.

logback's default writes a time of day alone, and syslog no year, so that its date is no use. Such a file is taken to begin on the day on
which its first line comes next after the beginning of the dated files. Where these begin on several days, or none is there, the file
keeps 1970, and the durations in it stay right.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from parsers.formats.detection import FileFormat
from parsers.formats.timestamps import DAY_US
from parsers.sources.discovery import Discovery
from parsers.sources.files import SourceFile

if TYPE_CHECKING:
    from collections.abc import Callable

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EARLY_US = DAY_US // 24
"""How long before the first dated line an undated file may begin: assumed."""
SPREAD_US = DAY_US - DAY_US // 6
"""Dated files that begin further apart than this show several days."""
DATED_FILES_MAX = 20
"""Number of dated files that are asked; the first ones by name."""


def may_lack_date(told: FileFormat) -> bool:
    """Whether times of this form may have no date."""
    date = getattr(told.layout, "date", None)
    return not told.base_days and (bool(told.shape) or (date is not None and not date.dated))


Times = tuple[int, int]
"""The first and the last time in the beginning of a file (microseconds)."""


def with_dates(found: Discovery, times_of: Callable[[SourceFile], Times | None]) -> list[str]:
    """Date the undated files of a discovery; what was done, a line each.

    Ordinary files cost nothing.
    """
    undated: dict[int, Times] = {}
    for number, source in enumerate(found.files):
        times = times_of(source) if may_lack_date(source.format) else None
        if times is not None and is_undated(times[0]):
            undated[number] = times
    if not undated:
        return []
    others = [source for number, source in enumerate(found.files) if number not in undated][:DATED_FILES_MAX]
    begins = [times[0] for times in map(times_of, others) if times is not None and not is_undated(times[0])]
    dated: dict[str, list[str]] = {}
    for number, (first, last) in undated.items():
        source = found.files[number]
        shift = _days_to(first, begins if is_undated(last) else [last])
        found.files[number] = replace(source, format=replace(source.format, base_days=shift or 0))
        dated.setdefault(_day(first, shift), []).append(source.name)
    return [_note(names, day) for day, names in dated.items()]


def _day(at: int, shift: int | None) -> str:
    return "" if shift is None else f"{EPOCH + timedelta(days=shift, microseconds=at):%Y-%m-%d}"


def _note(names: Sequence[str], day: str) -> str:
    files = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    if not day:
        return f"{files}: times without a date, and nothing tells the day: they are shown as of 1970"
    return f"{files}: times without a date, taken as of {day}, when the other lines begin"


def is_undated(at: int) -> bool:
    """Whether a time is one of 1970, when no product of ours was there."""
    return 0 <= at < 365 * DAY_US


def _days_to(at: int, begins: Sequence[int]) -> int | None:
    """Days from 1970 to an undated file, None if dated ones do not tell."""
    if not begins or max(begins) - min(begins) > SPREAD_US:
        return None
    return -((at - min(begins) + EARLY_US) // DAY_US)
