"""Grouping of files into logs, because processes continue in new files.

They do so when a file is full or at midnight. RocketMQ moves full files to a folder beside them
(`otherdays/broker.1.log.gz`, `otherdays/rocketmq_client-2.log.gz`); other loggers number or date them
(`application.log.1`, `application.log.2026-11-21.gz`).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

from models.events import Event, LogPosition

_FOLDER = re.compile(r"(?:^|(?<=/))other_?days/")
_PACKED = re.compile(r"\.(?:gz|bz2|xz|zst)$")
_NUMBER = r"[.-](?:\d{4}-?\d\d-?\d\d(?:[.-]\d{1,5})?|\d{1,5})"
_AFTER = re.compile(rf"(?<=\.log)(?:{_NUMBER})+$")
_BEFORE = re.compile(rf"(?:{_NUMBER})+(?=\.log$)")

FILE_BYTES = 1 << 48
"""Larger than any file."""


@dataclass(frozen=True, slots=True)
class RotatedPlace(LogPosition):
    """A position in a log of several files."""

    whole: str
    begins: int

    @property
    def log(self) -> str:
        """Name of the whole log."""
        return self.whole

    @property
    def position(self) -> int:
        """Byte offset within the whole log."""
        return self.begins + self.byte_offset


@lru_cache(maxsize=65_536)
def log_name_of(file: str) -> str:
    """Name of the log that a file belongs to.

    A number before the suffix may be a process id, so it counts only in a folder of old files.
    """
    name, old = _FOLDER.subn("", _PACKED.sub("", file))
    name = _AFTER.sub("", name)
    return _BEFORE.sub("", name) if old or "rocketmq_client-" in name else name


class Logs:
    """Files of a cluster grouped into logs, in order."""

    def __init__(self, first_at: Mapping[str, int]) -> None:
        """Group files into logs; `first_at` is each file's first time."""
        files: dict[str, list[str]] = defaultdict(list)
        for file in sorted(first_at, key=lambda file: (first_at[file], file)):
            files[log_name_of(file)].append(file)
        self._begins = {file: FILE_BYTES * rank for parts in files.values() if len(parts) > 1 for rank, file in enumerate(parts)}
        self.rounds = [
            frozenset(parts[rank] for parts in files.values() if rank < len(parts))
            for rank in range(max(map(len, files.values()), default=1))
        ]
        """Files by reading round: the first of each log, the second, etc."""

    def placed(self, events: Iterable[Event]) -> Iterable[Event]:
        """Add the log position to events of logs with several files."""
        begins = self._begins
        return (self._placed(event) if event.place.file in begins else event for event in events) if begins else events

    def _placed(self, event: Event) -> Event:
        place = event.place
        return replace(
            event, place=RotatedPlace(place.file, place.line, place.byte_offset, log_name_of(place.file), self._begins[place.file])
        )

    def in_order(self, events: Iterable[Event]) -> Iterable[Event]:
        """Sort events that come file by file into log order."""
        placed = self.placed(events)
        return sorted(placed, key=lambda event: (event.place.log, event.place.position)) if self._begins else placed
