"""Times, counts and shares for human readers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from dashboards.wording.durations import NO_VALUE, duration

MICROSECONDS = 1_000_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def lasted(seconds: float | None, at_least: float | None) -> str:
    """A duration, or its lower bound if the end is unknown."""
    return duration(seconds) if seconds is not None or at_least is None else f"≥ {duration(at_least)}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """`1 rebalance`, `14 rebalances`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def share(value: float | None) -> str:
    """A confidence or a fraction in per cent; never rounded up to certainty."""
    if value is None:
        return NO_VALUE
    percent = round(value * 100)
    return f"{min(percent, 99) if value < 1 else percent} %"


def size(count: int | None) -> str:
    """A number of bytes in the largest fitting unit."""
    if count is None:
        return NO_VALUE
    value = float(count)
    for unit in ("B", "KiB", "MiB", "GiB"):
        if value < 1024 or unit == "GiB":
            return f"{value:.0f} {unit}" if unit == "B" or value >= 100 else f"{value:.1f} {unit}"
        value /= 1024
    return NO_VALUE


def listed(names: list[str], limit: int = 3) -> str:
    """`a`, `a and b`, `a, b, c and 4 more`."""
    if not names:
        return NO_VALUE
    if len(names) == 1:
        return names[0]
    if len(names) <= limit:
        return ", ".join(names[:-1]) + " and " + names[-1]
    return ", ".join(names[:limit]) + f" and {len(names) - limit} more"


@dataclass(frozen=True, slots=True)
class Clock:
    """Formats times in one zone.

    Times are microseconds since 1970 (UTC).
    """

    zone_name: str = "UTC"

    def at(self, when: int) -> datetime:
        """A time as a datetime of the zone."""
        return (_EPOCH + timedelta(microseconds=when)).astimezone(ZoneInfo(self.zone_name))

    def zone(self, when: int | None = None) -> str:
        """The zone as printed after a time: `UTC`, `CEST (+02:00)`."""
        if self.zone_name == "UTC":
            return "UTC"
        if when is None:
            return self.zone_name
        moment = self.at(when)
        offset = moment.strftime("%z")
        offset = f"{offset[:3]}:{offset[3:5]}"
        name = moment.tzname() or ""
        return offset if name[:1] in ("+", "-") or not name else f"{name} ({offset})"

    def full(self, when: int | None) -> str:
        """Date, time with milliseconds and zone, for sentences."""
        return f"{self.stamp(when)} {self.zone(when)}" if when is not None else "at an unknown time"

    def stamp(self, when: int | None) -> str:
        """Date and time with milliseconds, for tables with the zone in the heading."""
        if when is None:
            return NO_VALUE
        moment = self.at(when)
        return f"{moment:%Y-%m-%d %H:%M:%S}.{moment.microsecond // 1000:03d}"

    def local(self, moment: datetime) -> str:
        """Date and time of a datetime.

        A datetime without a zone is not converted.
        """
        if moment.tzinfo is None:
            return moment.isoformat(" ", timespec="milliseconds")
        return self.stamp((moment - _EPOCH) // timedelta(microseconds=1))

    def time(self, when: int | None) -> str:
        """Time of day with milliseconds, for use beside a date."""
        return self.stamp(when).partition(" ")[2] or NO_VALUE

    def day(self, when: int) -> str:
        """Date of a time in the zone."""
        return f"{self.at(when):%Y-%m-%d}"

    def span(self, start: int | None, end: int | None) -> str:
        """A range of times with the zone, the date not repeated."""
        if start is None or end is None:
            known = start if start is not None else end
            return self.full(known) if known is not None else "at unknown times"
        same_day = self.day(start) == self.day(end)
        first = f"{self.at(start):%Y-%m-%d %H:%M:%S}"
        last = f"{self.at(end):%Y-%m-%d %H:%M:%S}"
        if first == last:
            return f"{first} {self.zone(end)}"
        return f"{first} to {last.partition(' ')[2] if same_day else last} {self.zone(end)}"


@dataclass(frozen=True, slots=True)
class MarkedClock(Clock):
    """Writes marks instead of times; the page replaces them.

    It converts each time to the zone chosen by the reader. The marks are control characters, which no text from a log
    contains after `dashboards.wording.escaping.visible`.
    """

    def full(self, when: int | None) -> str:
        return f"\x01{when}\x02" if when is not None else "at an unknown time"
