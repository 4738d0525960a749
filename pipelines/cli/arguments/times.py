"""Points in time as people type them: ISO 8601, a time of day, or a stretch counted back from the last record."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from zoneinfo import ZoneInfo

from models.durations import UNITS_US, span_us
from pipelines.errors import UsageError

AROUND = timedelta(minutes=10)
"""How far `--around` reaches to both sides."""
LONGEST_US = 36_500 * UNITS_US["d"]
"""No logs are as old as this, and times that are counted back from theirs stay within what a date can be."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


JUST_BEHIND = timedelta(hours=1)
"""A time of day this little behind the last record is of the same day: who types 10:00 for logs until 09:58 means no other."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in time that may need the end of the logs, or a day, to be known."""

    text: str
    zone: str
    back: timedelta | None = None
    of_day: time | None = None
    absolute: int | None = None
    shift: timedelta = timedelta(0)

    def micros(self, last_at: int | None) -> int:
        """Microseconds since 1970. `last_at` is the time of the last record."""
        return self._micros(last_at) + self.shift // timedelta(microseconds=1)

    def _micros(self, last_at: int | None) -> int:
        if self.absolute is not None:
            return self.absolute
        if last_at is None:
            raise UsageError(f"{self.text!r} is counted from the last record, but the logs have no times; give a full time")
        end = _EPOCH + timedelta(microseconds=last_at)
        if self.back is not None:
            return _micros(end - self.back)
        local = end.astimezone(ZoneInfo(self.zone))
        found = (
            local.replace(hour=self.of_day.hour, minute=self.of_day.minute, second=self.of_day.second, microsecond=self.of_day.microsecond)
            if self.of_day
            else local
        )
        return _micros(found if found <= local + JUST_BEHIND else found - timedelta(days=1))


def moment(text: str, zone: str, option: str) -> Moment:
    """Read a time; without a zone of its own it is in `zone`."""
    back = stretch(text)
    if back is not None:
        return Moment(text, zone, back=back)
    try:
        if re.fullmatch(r"\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?", text.strip()):
            return Moment(text, zone, of_day=time.fromisoformat(text.strip().rjust(5, "0").replace(",", ".")))
        found = datetime.fromisoformat(text.strip().replace(",", "."))
        return Moment(text, zone, absolute=_micros(found if found.tzinfo else found.replace(tzinfo=ZoneInfo(zone))))
    except (ValueError, OverflowError) as error:
        raise UsageError(
            f"{option} {text!r} is no time; examples are 2026-03-01T10:00, '2026-03-01 10:00:05.123+01:00', 10:00 and 2h"
        ) from error


def stretch(text: str) -> timedelta | None:
    """A stretch of time such as 500ms, 45s or 5m; None where it is none."""
    found = span_us(text.strip())
    return None if found is None or found > LONGEST_US else timedelta(microseconds=found)


def window(text: str, zone: str) -> tuple[Moment, Moment]:
    """`TIME` or `TIME/SPAN`: from SPAN before the time to SPAN after it."""
    when, slash, span = text.rpartition("/")
    found = stretch(span) if slash else None
    if slash and found is None:
        raise UsageError(f"--around {text!r}: {span!r} is no stretch of time; examples are 90s, 5m and 2h")
    middle = moment(when if slash else text, zone, "--around")
    reach = found if found is not None else AROUND
    return replace(middle, shift=-reach), replace(middle, shift=reach)


def _micros(when: datetime) -> int:
    return (when - _EPOCH) // timedelta(microseconds=1)
