"""Years of other calendars: read as Gregorian ones where that is known, and always said."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from parsers.formats.calendars import calendar_of, gregorian_year
from parsers.formats.timestamps import date_format
from parsers.reading.reader import find_files
from tests.parsers.reading.source_files import read_bytes

FAILED = (
    "[GroupCoordinator 1]: Member app-1 in group orders has failed, removing it from the group (kafka.coordinator.group.GroupCoordinator)"
)


@pytest.mark.parametrize(
    ("stamp", "expected"),
    [
        ("2569-11-21 09:07:55,040", datetime(2026, 11, 21, 9, 7, 55, 40_000, UTC)),
        ("2567-02-29 23:59:59,999", datetime(2024, 2, 29, 23, 59, 59, 999_000, UTC)),  # 2567 would be no leap year
        ("2026-11-21 09:07:55,040", datetime(2026, 11, 21, 9, 7, 55, 40_000, UTC)),
        ("1405-08-30 09:07:55,040", datetime(1405, 8, 30, 9, 7, 55, 40_000, UTC)),
    ],
)
@pytest.mark.parametrize("layout", ["[{at}] INFO {said}", "{at} 1 INFO [main] {said}"])
def test_buddhist_years_are_read_as_gregorian_ones(tmp_path: Path, stamp: str, expected: datetime, layout: str) -> None:
    events = read_bytes(tmp_path, (layout.format(at=stamp, said=FAILED) + "\n").encode()).rows()
    assert [each["at"] for each in events] == [expected]


def test_a_file_of_another_calendar_says_so(tmp_path: Path) -> None:
    for name, year in (("a.log", 2569), ("b.log", 2026), ("c.log", 1405)):
        (tmp_path / name).write_text(f"[{year}-11-21 09:07:55,040] INFO {FAILED}\n")
    found = find_files([str(tmp_path)])
    assert [note.rpartition("/")[2] for note in found.notes] == [
        "a.log: Buddhist year 2569 read as 2026",
        "c.log: year 1405 of an unknown calendar, kept as written",
    ]
    assert [source.format.name for source in found.files] == [
        "kafka, Buddhist year 2569 read as 2026",
        "kafka",
        "kafka, year 1405 of an unknown calendar, kept as written",
    ]


@pytest.mark.parametrize("text", ["21/11/2569 09:07:55", "2569-11-21T09:07:55", "21 Nov 2569 09:07:55"])
def test_the_year_is_told_from_the_usual_forms_of_dates(text: str) -> None:
    assert calendar_of(f"[{text}] INFO x") == "Buddhist year 2569 read as 2026"


def test_other_years_stay() -> None:
    assert [gregorian_year(year) for year in (1970, 2026, 2099, 1405, 9999)] == [1970, 2026, 2099, 1405, 9999]
    assert date_format("").read("2569-11-21 00:00:00") == date_format("").read("2026-11-21 00:00:00")
