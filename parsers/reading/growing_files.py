"""Readers of growing files: new bytes to events.

A record is complete when the next one begins, or when nothing has followed it for a while.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import BinaryIO

from parsers.reading.forms import choose_form
from parsers.reading.reader import CHUNK_BYTES, FileReader, ReadOptions
from parsers.records.chunks import ParsedChunk, parse_chunk
from parsers.records.context import OpenRecord
from parsers.redaction.secrets import mask_credentials
from parsers.sources.files import SourceFile, identity_of

TOLD_BYTES = 1 << 15
"""Maximum number of bytes from which the form of a stream is derived."""


class LiveReader(FileReader):
    """Reads a content as it arrives."""

    def __init__(self, source: SourceFile, options: ReadOptions) -> None:
        # Runs of heartbeats are not folded, because they would wait for the end of their block.
        super().__init__(source, replace(options, fold_runs=False))
        self._rest = b""

    @property
    def source(self) -> SourceFile:
        """The source being read."""
        return self._source

    def renewed(self, source: SourceFile) -> LiveReader:
        """A reader of the file that replaced this one.

        What is known of its writer stays known.
        """
        fresh = LiveReader(source, self._options)
        fresh.report, fresh._newest = self.report, self._newest
        fresh._versions, fresh._cluster_ids = self._versions, self._cluster_ids
        return fresh

    def feed(self, data: bytes) -> ParsedChunk:
        """Read further bytes; the last record stays open."""
        return self._read(self._rest + data, is_final=False)

    def settle(self) -> ParsedChunk | None:
        """Read the last record, which nothing has followed.

        Lines that follow it nevertheless are skipped.
        """
        end = self._rest.rfind(b"\n") + 1 if self._context.format.encoding == "utf-8" else len(self._rest)
        if not end:
            return None
        tail = self._rest[end:]
        parsed = self._read(self._rest[:end], is_final=True)
        context = parsed.context
        opened = OpenRecord(b"", context.line, context.byte_offset, begins=False, mid_line=False, discard=True)
        self._context, self._rest = replace(context, is_final=False, open_record=opened), tail
        return parsed

    def _read(self, data: bytes, *, is_final: bool) -> ParsedChunk:
        parsed = parse_chunk(data, replace(self._context, is_final=is_final), self._catalogue)
        self._note(parsed)
        parsed.events, parsed.unknown, parsed.rejected = map(mask_credentials, (parsed.events, parsed.unknown, parsed.rejected))
        self._redact(parsed)
        self._context, self._rest = parsed.context, bytes(parsed.rest)
        self._conclude()
        return parsed


def stream_source(name: str, head: bytes, *, is_complete: bool) -> SourceFile | str:
    """A stream as a source, or why it is no log."""
    layout = choose_form(head, is_complete=is_complete)
    if isinstance(layout, str):
        return layout
    return SourceFile(
        path=name, name=name, relative=name, is_named=True, compression=None, size_bytes=len(head), file_id=identity_of(head), format=layout
    )


class GrowingFile:
    """A plain file that is followed, also across rotations."""

    def __init__(self, source: SourceFile, options: ReadOptions) -> None:
        self.reader = LiveReader(source, options)
        self._source = source
        self._file: BinaryIO | None = open(source.path, "rb")  # noqa: SIM115 - stays open, so that a renamed file is read to its end
        self._file.seek(source.format.bom_bytes)
        self._waited = False

    @property
    def identity(self) -> tuple[int, int] | None:
        """Device and inode of the file being read."""
        if self._file is None:
            return None
        status = os.fstat(self._file.fileno())
        return status.st_dev, status.st_ino

    @property
    def source(self) -> SourceFile:
        """The file as found last."""
        return self._source

    def close(self) -> None:
        """Stop reading the file."""
        if self._file is not None:
            self._file.close()
            self._file = None

    def grown(self) -> list[ParsedChunk]:
        """Events added since the last call."""
        chunks = self._added()
        if not self._was_replaced():
            return chunks
        ended = self.reader.settle()
        return [*chunks, *([ended] if ended is not None else []), *self._begun()]

    def _added(self) -> list[ParsedChunk]:
        chunks = []
        while self._file is not None and (data := self._file.read(CHUNK_BYTES)):
            chunks.append(self.reader.feed(data))
        if chunks:
            self._waited = False
        elif not self._waited:
            self._waited = True
            ended = self.reader.settle()
            chunks += [ended] if ended is not None else []
        return chunks

    def _was_replaced(self) -> bool:
        """Whether the content at this path was replaced."""
        if self._file is None:
            return os.path.exists(self._source.path)
        try:
            status = os.stat(self._source.path)
        except OSError:
            return False
        return (status.st_dev, status.st_ino) != self.identity or status.st_size < self._file.tell()

    def _begun(self) -> list[ParsedChunk]:
        """Begin the new content, once its form is known."""
        self.close()
        try:
            file = open(self._source.path, "rb")  # noqa: SIM115 - stays open
        except OSError:
            return []
        head = file.read(TOLD_BYTES)
        # The format is unknown while the first line is still being written.
        layout = stream_source(self._source.name, head, is_complete=False) if b"\n" in head else ""
        if isinstance(layout, str):
            file.close()
            return []
        self._source = replace(self._source, format=layout.format, file_id=layout.file_id, size_bytes=layout.size_bytes)
        self.reader = self.reader.renewed(self._source)
        self._file = file
        file.seek(layout.format.bom_bytes)
        return self._added()
