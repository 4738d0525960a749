"""Read the planned files, except those that changed after they were found.

Logs may be rotated at any moment. A file that was renamed, emptied or recreated before it was read would be mistaken
for another, so its records are dropped. Known rows stay, and the next run finds its new state.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from parsers.reading.reader import CHANGED_WHILE_READ, Discovery, SourceFile
from parsers.reading.resume import Start
from parsers.sources.files import UNREADABLE, SkippedFile
from pipelines.jobs.ingest.read_plan import Plan

StoredPart = Mapping[str, Any]
StartedSources = Sequence[tuple[SourceFile, Start | None]]


class Content(Protocol):
    """Records read from files."""

    def reports(self) -> Mapping[str, Sequence[StoredPart]]:
        """Reports on the parts of each file, by its name."""

    def leave_out(self, files: Iterable[str]) -> None:
        """Exclude these files from now on."""

    def release(self) -> None:
        """Free the records."""


C = TypeVar("C", bound=Content)


@dataclass(slots=True)
class BatchReading(Generic[C]):
    """Unchanged files, their plan, and what was read: records and reports."""

    discovery: Discovery
    todo: Plan
    records: C | None = None
    parts: Mapping[str, Sequence[StoredPart]] = field(default_factory=dict)
    missed: dict[str, str] = field(default_factory=dict)
    """Files that changed before they were read -> reason."""


def read_planned(discovery: Discovery, plan: Callable[[Discovery], Plan], parse: Callable[[StartedSources], C]) -> BatchReading[C]:
    """Read the files that `plan` selects, with `parse`."""
    reading: BatchReading[C] = BatchReading(discovery, plan(discovery))
    while True:
        if reading.records is None and reading.todo.read:
            reading.records = parse(reading.todo.read)
        reading.parts = reading.records.reports() if reading.records is not None else {}
        missed = {name: why for name, parts in reading.parts.items() if (why := _why_missed(parts)) is not None}
        if reading.records is None or not missed:
            return reading
        before = reading.todo
        reading.missed |= missed
        reading.discovery = _without(reading.discovery, missed)
        reading.todo = plan(reading.discovery)
        if _starts(reading.todo.read) == _starts(start for start in before.read if start[0].name not in missed):
            reading.records.leave_out(missed)
        else:  # content has moved from one file to another
            reading.records.release()
            reading.records = None


def _why_missed(parts: Iterable[StoredPart]) -> str | None:
    """Return why the records of a file cannot be used, else None."""
    for part in parts:
        reason = part["reason"] or ""
        if reason == CHANGED_WHILE_READ:
            return f"{UNREADABLE}: {CHANGED_WHILE_READ}; the next run reads it"
        if part["status"] == "rejected" and reason.startswith(UNREADABLE):
            return str(reason)
    return None


def _without(discovery: Discovery, missed: Mapping[str, str]) -> Discovery:
    """The files found, with the missed ones reported as unreadable."""
    skipped = [
        SkippedFile(
            file.name, missed[file.name], is_named=file.is_named and CHANGED_WHILE_READ not in missed[file.name], size_bytes=file.size_bytes
        )
        for file in discovery.files
        if file.name in missed
    ]
    return dataclasses.replace(
        discovery, files=[file for file in discovery.files if file.name not in missed], skipped=[*discovery.skipped, *skipped]
    )


def _starts(sources: Iterable[tuple[SourceFile, Start | None]]) -> dict[str, Start | None]:
    return {source.name: start for source, start in sources}
