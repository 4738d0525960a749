"""Convert local times of log lines to UTC.

Most log lines have no zone. Rules give the zone of each file. Offsets are looked up once per quarter of an hour,
because since 1972 no zone has changed its offset within one.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import numpy as np
import numpy.typing as npt

QUARTER_US = 900 * 1_000_000
_EPOCH = datetime(1970, 1, 1)  # without a zone on purpose, for local time
_Ints = npt.NDArray[np.int64]


class UnknownZoneError(ValueError):
    """A zone name unknown to the time zone database."""


@lru_cache(maxsize=64)
def zone_named(name: str) -> ZoneInfo | timezone:
    """Return a zone: `Europe/Berlin`, `UTC`, or an offset such as `+08:00` or `GMT+8`."""
    text = name.strip()
    sign_at = max(text.find("+"), text.find("-"))
    if sign_at >= 0 and text[:sign_at].upper() in {"", "GMT", "UTC"}:
        digits = text[sign_at + 1 :].replace(":", "")
        if digits.isdigit() and len(digits) in {1, 2, 3, 4}:
            hours, minutes = (int(digits[:-2]), int(digits[-2:])) if len(digits) > 2 else (int(digits), 0)
            if hours <= 18 and minutes < 60:
                shift = timedelta(hours=hours, minutes=minutes)
                return timezone(shift if text[sign_at] == "+" else -shift)
    if text.upper() in {"UTC", "Z", "GMT"}:
        return UTC
    try:
        return ZoneInfo(text)
    except (ZoneInfoNotFoundError, ValueError, OSError) as problem:
        raise UnknownZoneError(f"unknown time zone {name!r}: use a name such as Europe/Berlin or an offset such as +08:00") from problem


@dataclass(slots=True)
class ZoneConverter:
    """Converts local microseconds of one zone to UTC.

    Local microseconds count as if the wall clock were UTC.
    """

    zone: str
    _tz: ZoneInfo | timezone = field(init=False, repr=False)
    _quarters: dict[int, tuple[int, bool]] = field(init=False, repr=False, default_factory=dict)

    def __post_init__(self) -> None:
        self._tz = zone_named(self.zone)

    def quarter(self, quarter: int) -> tuple[int, bool]:
        """Offset of a quarter in microseconds, and True if its local times are ambiguous.

        Ambiguous times occur twice or never.
        """
        known = self._quarters.get(quarter)
        if known is None:
            known = self._quarters[quarter] = self._look_up(quarter)
        return known

    def _look_up(self, quarter: int) -> tuple[int, bool]:
        try:
            local = _EPOCH + timedelta(microseconds=quarter * QUARTER_US)
        except OverflowError:
            return 0, False
        first = local.replace(tzinfo=self._tz, fold=0).utcoffset()
        second = local.replace(tzinfo=self._tz, fold=1).utcoffset()
        if first is None or second is None:
            return 0, False
        return first // timedelta(microseconds=1), first != second

    def utc(self, local_us: int) -> tuple[int, bool]:
        """UTC microseconds, and True if the local time occurs twice or never."""
        offset, odd = self.quarter(local_us // QUARTER_US)
        return local_us - offset, odd

    def utc_many(self, local_us: _Ints) -> tuple[_Ints, npt.NDArray[np.bool_]]:
        """Convert many times.

        Of an ambiguous time the first occurrence is used.
        """
        quarters, places = np.unique(local_us // QUARTER_US, return_inverse=True)
        quarter_offsets = [self.quarter(quarter) for quarter in quarters.tolist()]
        offsets = np.array([offset for offset, _ in quarter_offsets], dtype=np.int64)
        odd = np.array([flag for _, flag in quarter_offsets], dtype=bool)
        if not len(quarter_offsets):
            return local_us.copy(), np.zeros(0, dtype=bool)
        return local_us - offsets[places], odd[places]


def path_matches(glob: str, relative: str) -> bool:
    """Whether a glob matches a path, or its last folders.

    The path is relative to the argument. `*` also matches slashes. Bundles often have one top folder, which need not be
    named.
    """
    globs = (glob, glob[3:]) if glob.startswith("**/") else (glob,)
    parts = relative.split("/")
    return any(fnmatch.fnmatchcase("/".join(parts[start:]), glob) for glob in globs for start in range(len(parts)))


@dataclass(frozen=True, slots=True)
class FileOption:
    """The value of an option for a file.

    `is_named` is False for an option without a glob.
    """

    value: str
    is_named: bool


class Rules:
    """Options of the form `VALUE` or `GLOB=VALUE`.

    The last matching glob applies, else the last plain value.
    """

    def __init__(self, rules: Iterable[tuple[str | None, str]]) -> None:
        self._rules = list(rules)
        self._met: set[str] = set()

    def rule_for(self, relative: str) -> FileOption | None:
        """Return the rule for a file, or None."""
        chosen: FileOption | None = None
        for glob, value in self._rules:
            if glob is None:
                if chosen is None or not chosen.is_named:
                    chosen = FileOption(value, is_named=False)
            elif path_matches(glob, relative):
                self._met.add(glob)
                chosen = FileOption(value, is_named=True)
        return chosen

    def unmatched(self) -> list[str]:
        """Globs without a matching file so far, in the given order."""
        return [glob for glob, _ in self._rules if glob is not None and glob not in self._met]


def check_zones(rules: Iterable[tuple[Any, str]]) -> None:
    """Raise UnknownZoneError before the first line is read."""
    for _, zone in rules:
        zone_named(zone)
