"""Times as typed: ISO 8601, time of day, words, epoch, or duration."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from models.durations import UNITS_US, span_us
from models.units import EPOCH
from pipelines.errors import UsageError

AROUND = timedelta(minutes=10)
"""Distance of `--around` to both sides."""
LONGEST_US = 36_500 * UNITS_US["d"]
"""Maximum duration back from the end; no logs are older.

Keeps results within the range of dates.
"""


JUST_BEHIND = timedelta(hours=1)
"""Maximum lead of a time of day over the last record.

With logs until 09:58, 10:00 means the same day; a later time means the day before.
"""


@dataclass(frozen=True, slots=True)
class Moment:
    """A time that may depend on the end of the logs."""

    text: str
    zone: str
    back: timedelta | None = None
    of_day: time | None = None
    absolute: int | None = None
    shift: timedelta = timedelta(0)

    def micros(self, last_at: int | None) -> int:
        """Microseconds since 1970; `last_at` is the last record's time."""
        return self._micros(last_at) + self.shift // timedelta(microseconds=1)

    def _micros(self, last_at: int | None) -> int:
        if self.absolute is not None:
            return self.absolute
        if last_at is None:
            raise UsageError(f"{self.text!r} is counted from the last record, but the logs have no times; give a full time")
        end = EPOCH + timedelta(microseconds=last_at)
        if self.back is not None:
            return _micros(end - self.back)
        local = end.astimezone(ZoneInfo(self.zone))
        match = (
            local.replace(hour=self.of_day.hour, minute=self.of_day.minute, second=self.of_day.second, microsecond=self.of_day.microsecond)
            if self.of_day
            else local
        )
        return _micros(match if match <= local + JUST_BEHIND else match - timedelta(days=1))


_EXAMPLES = "2026-03-01T10:00, '2026-03-01 10:00:05.123+01:00', 10:00, 'yesterday 14:03', now-1h, 1772359200 and 2h"
_EPOCH_TIME = re.compile(r"(?P<seconds>\d{10})(?P<fraction>\.\d{1,6})?|(?P<millis>\d{13})|(?P<micros>\d{16})")
_OF_NOW = re.compile(r"now(?:\s*-\s*(?P<back>\S+))?", re.IGNORECASE)
_OF_A_DAY = re.compile(r"(?P<day>today|yesterday)(?:[ T](?P<time>\S+))?", re.IGNORECASE)
_DAYS_BACK = {"today": 0, "yesterday": 1}


def moment(text: str, zone: str, option: str, now: datetime | None = None) -> Moment:
    """Parse a time; one without a zone is in `zone`.

    `now` stands for the clock of this machine.
    """
    back = stretch(text)
    if back is not None:
        return Moment(text, zone, back=back)
    spoken = _epoch_time(text.strip())
    if spoken is None:
        spoken = _by_the_clock(text.strip(), zone, now or datetime.now(UTC))
    if spoken is not None:
        return Moment(text, zone, absolute=spoken)
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?", text.strip()):
            return Moment(text, zone, of_day=time.fromisoformat(text.strip().rjust(5, "0").replace(",", ".")))
        parsed = datetime.fromisoformat(text.strip().replace(",", "."))
        return Moment(text, zone, absolute=_micros(parsed if parsed.tzinfo else parsed.replace(tzinfo=ZoneInfo(zone))))
    except (ValueError, OverflowError) as error:
        raise UsageError(f"{option} {text!r} is no time; examples are {_EXAMPLES}") from error


def _epoch_time(text: str) -> int | None:
    """Parse seconds, milliseconds or microseconds since 1970."""
    match = _EPOCH_TIME.fullmatch(text)
    if match is None:
        return None
    if match["seconds"]:
        return int(match["seconds"]) * 1_000_000 + int((match["fraction"] or ".0")[1:].ljust(6, "0"))
    return int(match["millis"]) * 1000 if match["millis"] else int(match["micros"])


def _by_the_clock(text: str, zone: str, now: datetime) -> int | None:
    """Parse `now`, `now-1h`, `today` or `yesterday 14:03`."""
    if match := _OF_NOW.fullmatch(text):
        back = stretch(match["back"]) if match["back"] else timedelta(0)
        return None if back is None else _micros(now - back)
    match = _OF_A_DAY.fullmatch(text)
    if match is None:
        return None
    try:
        of_day = time.fromisoformat((match["time"] or "00:00").rjust(5, "0").replace(",", "."))
    except ValueError:
        return None
    day = now.astimezone(ZoneInfo(zone)).date() - timedelta(days=_DAYS_BACK[match["day"].lower()])
    return _micros(datetime.combine(day, of_day, of_day.tzinfo or ZoneInfo(zone)))


def stretch(text: str) -> timedelta | None:
    """Parse a duration such as 500ms, 45s or 5m; None if invalid."""
    duration_us = span_us(text.strip())
    return None if duration_us is None or duration_us > LONGEST_US else timedelta(microseconds=duration_us)


def span_seconds(text: str, option: str) -> float:
    """Seconds of a stretch of time given to an option."""
    duration_us = stretch(text)
    if duration_us is None:
        raise UsageError(f"{option} {text!r} is no stretch of time; examples are 500ms, 45s and 5m")
    return duration_us.total_seconds()


def window(text: str, zone: str) -> tuple[Moment, Moment]:
    """Parse `TIME` or `TIME/SPAN` into the interval from -SPAN to +SPAN."""
    when, slash, span = text.rpartition("/")
    duration_us = stretch(span) if slash else None
    if slash and duration_us is None:
        raise UsageError(f"--around {text!r}: {span!r} is no stretch of time; examples are 90s, 5m and 2h")
    middle = moment(when if slash else text, zone, "--around")
    reach = duration_us if duration_us is not None else AROUND
    return replace(middle, shift=-reach), replace(middle, shift=reach)


def _micros(when: datetime) -> int:
    return (when - EPOCH) // timedelta(microseconds=1)
