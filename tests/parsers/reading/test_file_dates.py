"""Files whose lines have no date, or no year, beside files that have one."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from parsers.formats.partial_dates import PartialDates
from parsers.formats.timestamps import CALENDAR_US, date_format
from parsers.reading.reader import ReadOptions, date_files, find_files, list_files, read_file
from pipelines.analysis.in_process import AnalyzeOptions, analyze

BROKER = """[{day} 09:00:00,000] INFO [GroupCoordinator 1]: Preparing to rebalance group orders in state PreparingRebalance with old \
generation 0 (__consumer_offsets-1) (reason: Adding new member app-1-6d2f0b2e-8f0e-4f5b-9c0f-3a1c1d1c2a11 with group instance id None) \
(kafka.coordinator.group.GroupCoordinator)
[{day} 09:00:03,000] INFO [GroupCoordinator 1]: Stabilized group orders generation 1 (__consumer_offsets-1) with 1 members \
(kafka.coordinator.group.GroupCoordinator)
[{day} 09:00:03,010] INFO [GroupCoordinator 1]: Assignment received from leader app-1-6d2f0b2e-8f0e-4f5b-9c0f-3a1c1d1c2a11 for group \
orders for generation 1. The group has 1 members, 0 of which are static. (kafka.coordinator.group.GroupCoordinator)
"""
JOINED = (
    "[Consumer clientId=app-1, groupId=orders] Successfully joined group with generation Generation{generationId=1, "
    "memberId='app-1-6d2f0b2e-8f0e-4f5b-9c0f-3a1c1d1c2a11', protocol='range'}"
)
LOGGER = "o.a.k.c.c.internals.ConsumerCoordinator"


def times(folder: Path, name: str, zone: str = "UTC") -> list[datetime]:
    options = ReadOptions(log_tz=[("*app*", zone)])
    found = find_files([str(folder)], options)
    source = next(source for source in found.files if source.name.endswith(name))
    return [at for chunk in read_file(source, options) for at in chunk.events.column("at").to_pylist()]


@pytest.mark.parametrize(
    ("stamp", "zone", "expected"),
    [
        ("09:00:03.005", "UTC", "2026-03-05T09:00:03.005"),
        ("08:50:00.000", "UTC", "2026-03-05T08:50:00"),  # it began a little before the broker's log
        ("02:00:00.000", "UTC", "2026-03-06T02:00:00"),  # after midnight
        ("10:00:03.005", "Europe/Berlin", "2026-03-05T09:00:03.005"),
    ],
)
def test_a_file_without_dates_is_of_the_day_of_the_others(tmp_path: Path, stamp: str, zone: str, expected: str) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-03-05"))
    (tmp_path / "app.log").write_text(f"{stamp} [main] INFO {LOGGER} - {JOINED}\n")
    assert times(tmp_path, "app.log", zone) == [datetime.fromisoformat(expected).replace(tzinfo=UTC)]


def test_days_go_on_past_midnight(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-02-28"))
    lines = [f"{stamp} [main] INFO {LOGGER} - {JOINED}" for stamp in ("23:59:59.000", "00:00:01.000")]
    (tmp_path / "app.log").write_text("\n".join(lines) + "\n")
    assert [f"{at:%m-%d %H:%M:%S}" for at in times(tmp_path, "app.log")] == ["02-28 23:59:59", "03-01 00:00:01"]


def test_syslog_without_a_year_is_of_the_day_of_the_others(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-01-02"))
    (tmp_path / "app.log").write_text(f"Jan  2 09:00:03 host app[17]: INFO {JOINED}\n")
    assert [f"{at:%Y-%m-%d %H:%M:%S}" for at in times(tmp_path, "app.log")] == ["2026-01-02 09:00:03"]


@pytest.mark.parametrize(
    ("days", "stamps", "expected"),
    [
        (["2026-03-01", "2026-03-05"], ["Mar  2 09:00:03"], ["2026-03-02 09:00:03"]),
        (["2026-01-02"], ["Dec 30 09:00:03", "Jan  2 09:00:04"], ["2025-12-30 09:00:03", "2026-01-02 09:00:04"]),
        (["2025-12-30"], ["Dec 31 23:59:59", "Jan  1 00:00:01"], ["2025-12-31 23:59:59", "2026-01-01 00:00:01"]),
        (
            ["2025-12-30"],
            ["Dec 31 23:59:59", "Jan  1 00:00:01", "Dec 31 23:59:58"],
            ["2025-12-31 23:59:59", "2026-01-01 00:00:01", "2025-12-31 23:59:58"],
        ),
        (["2024-02-28"], ["Feb 28 23:59:59", "Feb 29 00:00:01"], ["2024-02-28 23:59:59", "2024-02-29 00:00:01"]),
        (["2025-02-28"], ["Feb 28 23:59:59", "Mar  1 00:00:01"], ["2025-02-28 23:59:59", "2025-03-01 00:00:01"]),
        ([], ["Feb 29 23:59:59", "Mar  1 00:00:01"], ["1972-02-29 23:59:59", "1972-03-01 00:00:01"]),
        (["2023-03-01", "2026-03-05"], ["Mar  2 09:00:03"], ["1972-03-02 09:00:03"]),  # either year could be meant
    ],
)
def test_a_year_is_that_of_the_nearest_dated_lines(tmp_path: Path, days: list[str], stamps: list[str], expected: list[str]) -> None:
    for day in days:
        (tmp_path / f"server.log.{day}").write_text(BROKER.format(day=day))
    (tmp_path / "app.log").write_text("".join(f"{stamp} host app[17]: INFO {JOINED}\n" for stamp in stamps))
    assert [f"{at:%Y-%m-%d %H:%M:%S}" for at in times(tmp_path, "app.log")] == expected
    note = next(note for note in find_files([str(tmp_path)]).notes if "app.log" in note)
    assert note.endswith(f"taken as of {expected[0][:4]}, by the other lines" if expected[0] > "1973" else "they are shown as of 1972")


def test_years_without_end_make_no_record_raise() -> None:
    dates, form = PartialDates(), date_format("MM-dd HH:mm:ss")
    for _ in range(20_000):
        for month in (1, 5, 9):
            local = form.read(f"{month:02d}-01 00:00:00").local_us
            assert local is not None
            latest = dates.complete(local, form)
    assert dates.years == 19_999
    assert latest not in CALENDAR_US  # so that the reader rejects it as no time


@pytest.mark.parametrize("stamp", ["I0305 09:00:03.123456   12 app.go:7]", "03-05 09:00:03.123456 I", "03/05 09:00:03.123456 [INFO]"])
def test_months_and_days_are_read_in_other_forms(tmp_path: Path, stamp: str) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-03-05"))
    (tmp_path / "app.log").write_text(f"{stamp} {JOINED}\n{stamp} {JOINED.replace('=1,', '=2,')}\n")
    assert {f"{at:%Y-%m-%d %H:%M:%S.%f}" for at in times(tmp_path, "app.log")} == {"2026-03-05 09:00:03.123456"}


def test_a_year_behind_the_time_of_day_is_read(tmp_path: Path) -> None:
    (tmp_path / "app.log").write_text(f"Thu Mar  5 09:00:03 2026 INFO {JOINED}\nThu Mar  5 09:00:04 UTC 2026 INFO {JOINED}\n")
    assert [f"{at:%Y-%m-%d %H:%M:%S}" for at in times(tmp_path, "app.log")] == ["2026-03-05 09:00:03", "2026-03-05 09:00:04"]


@pytest.mark.parametrize("days", [[], ["2026-03-01", "2026-03-05"]])
def test_without_one_day_it_stays_undated_and_says_so(tmp_path: Path, days: list[str]) -> None:
    for day in days:
        (tmp_path / f"server.log.{day}").write_text(BROKER.format(day=day))
    (tmp_path / "app.log").write_text(f"09:00:03.005 [main] INFO {LOGGER} - {JOINED}\n")
    found = find_files([str(tmp_path)])
    assert [note.endswith("they are shown as of 1970") for note in found.notes] == [True]
    assert times(tmp_path, "app.log")[0].year == 1970


def test_dated_lines_in_a_file_date_the_others(tmp_path: Path) -> None:
    dated = f"2026-03-05 09:00:00,000 INFO [main] {LOGGER}: {JOINED}"
    lines = [f"09:00:0{n}.000 [main] INFO {LOGGER} - {JOINED}" for n in range(1, 9)]
    (tmp_path / "app.log").write_text("\n".join([*lines[:4], dated, *lines[4:]]) + "\n")
    assert {at.date().isoformat() for at in times(tmp_path, "app.log")} == {"2026-03-05"}


def test_a_client_without_dates_adds_to_its_brokers_rebalance_and_opens_none(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-03-05"))
    (tmp_path / "app.log").write_text(f"09:00:03.005 [main] INFO {LOGGER} - {JOINED}\n")
    found = analyze([str(tmp_path)], AnalyzeOptions(ReadOptions()))
    assert [row.generation_after for row in found.rebalances] == [1]
    assert "taken as of 2026-03-05" in found.warnings[0]


def test_dated_files_are_as_they_were(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-03-05"))
    found = find_files([str(tmp_path)])
    assert found.notes == []
    assert {source.format.base_days for source in found.files} == {0}


def test_a_run_without_news_does_not_read_beginnings_again(tmp_path: Path) -> None:
    (tmp_path / "server.log").write_text(BROKER.format(day="2026-03-05"))
    (tmp_path / "app.log").write_text(f"09:00:03.005 [main] INFO {LOGGER} - {JOINED}\n")
    listed = list_files([str(tmp_path)], ReadOptions())
    assert [source.format.base_days for source in listed.files] == [0, 0]
    date_files(listed, ReadOptions())
    assert listed.files == find_files([str(tmp_path)]).files
    assert any(source.format.base_days for source in listed.files)
