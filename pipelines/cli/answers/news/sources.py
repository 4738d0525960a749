"""Sources that are followed: growing files, folders, and standard input."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from parsers.reading.file_reports import merge_reports, report_row
from parsers.reading.growing_files import TOLD_BYTES, GrowingFile, LiveReader, stream_source
from parsers.reading.reader import ReadOptions, find_files, read_file
from parsers.records.chunks import ParsedChunk
from parsers.sources.files import SourceFile
from pipelines.errors import NothingReadable
from pipelines.storage.uris import nothing_at

POLL_SECONDS = 0.5
"""Pause between two looks at files that do not grow."""
SEARCH_SECONDS = 10.0
"""Pause between two searches for new files."""
_BLOCK_BYTES = 1 << 20


@dataclass(slots=True)
class FollowedFiles:
    """Paths whose files are read again as they grow."""

    paths: Sequence[str]
    options: ReadOptions
    wait: Callable[[float], None] = time.sleep
    growing: dict[str, GrowingFile] = field(default_factory=dict)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    """Rows of `log_files` for files that cannot grow."""
    _identities: set[tuple[int, int]] = field(default_factory=set)
    _searched_at: float = 0.0

    def rounds(self) -> Iterator[list[ParsedChunk]]:
        """Additions, round by round, without end.

        The first round holds the existing content.
        """
        yield self._search(is_first=True)
        while True:
            chunks = [chunk for file in self.growing.values() for chunk in file.grown()]
            self._identities.update(identity for file in self.growing.values() if (identity := file.identity))
            if time.monotonic() - self._searched_at > SEARCH_SECONDS:
                chunks += self._search(is_first=False)
            yield chunks
            self.wait(POLL_SECONDS)

    def _search(self, *, is_first: bool) -> list[ParsedChunk]:
        """Take up files that are new."""
        self._searched_at = time.monotonic()
        discovery = find_files(self.paths, self.options)
        if is_first and discovery.missing:
            raise NothingReadable(nothing_at(discovery.missing[0]))
        chunks: list[ParsedChunk] = []
        for source in discovery.files:
            if source.name in self.growing or source.name in self.rows:
                continue
            chunks += self._open(source) if _grows(source) else self._whole(source)
        return chunks

    def _open(self, source: SourceFile) -> list[ParsedChunk]:
        try:
            file = GrowingFile(source, self.options)
        except OSError:
            return []
        if file.identity in self._identities:  # a file that was followed has been renamed
            file.close()
            return []
        self.growing[source.name] = file
        if file.identity is not None:
            self._identities.add(file.identity)
        return file.grown()

    def _whole(self, source: SourceFile) -> list[ParsedChunk]:
        reader = read_file(source, self.options)
        chunks = list(reader)
        self.rows[source.name] = _row(reader, source, self.options)
        return chunks

    def reports(self) -> list[dict[str, Any]]:
        """Rows of `log_files`, as far as the files have been read."""
        return [*self.rows.values(), *(_row(file.reader, file.source, self.options) for file in self.growing.values())]


def _grows(source: SourceFile) -> bool:
    return source.is_plain and "://" not in source.path and os.path.isfile(source.path)


@dataclass(slots=True)
class FollowedStream:
    """Standard input, until its writer closes it."""

    options: ReadOptions
    descriptor: int = field(default_factory=lambda: sys.stdin.fileno())
    reader: LiveReader | None = None

    def rounds(self) -> Iterator[list[ParsedChunk]]:
        """Additions, round by round.

        An empty round is a pause of the writer.
        """
        head, reason = b"", "it is empty"
        while True:
            data = self._next()
            if self.reader is not None:
                yield self._fed(data)
            else:
                head += data or b""
                stream_format = stream_source("-", head, is_complete=data == b"") if _is_enough(head, data) else ""
                if isinstance(stream_format, str):
                    reason = stream_format or reason
                else:
                    self.reader = LiveReader(stream_format, self.options)
                    yield [self.reader.feed(head[stream_format.format.bom_bytes :])]
            if data == b"":
                break
        if self.reader is None:
            raise NothingReadable(f"no log could be read; -: {reason}")
        yield self._fed(None)

    def _next(self) -> bytes | None:
        """The next bytes: None if the writer pauses, empty at the end."""
        ready, _, _ = select.select([self.descriptor], [], [], POLL_SECONDS)
        return os.read(self.descriptor, _BLOCK_BYTES) if ready else None

    def _fed(self, data: bytes | None) -> list[ParsedChunk]:
        assert self.reader is not None  # noqa: S101 - for the type checker
        chunk = self.reader.feed(data) if data else self.reader.settle()
        return [] if chunk is None else [chunk]

    def reports(self) -> list[dict[str, Any]]:
        """The row of `log_files`, as far as the stream has been read."""
        return [] if self.reader is None else [_row(self.reader, self.reader.source, self.options)]


def _is_enough(head: bytes, data: bytes | None) -> bool:
    """Whether enough was read, or if the writer pauses."""
    return (b"\n" in head and data is None) or len(head) >= TOLD_BYTES or (data == b"" and bool(head))


def _row(reader: Any, source: SourceFile, options: ReadOptions) -> dict[str, Any]:
    [row] = merge_reports([report_row(reader.report)])
    return {**row, "cluster_option": options.cluster_of(source.relative)}
