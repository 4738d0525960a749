"""Source files: location, identity of content, and reasons for skipping."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parsers.formats.detection import FileFormat
from parsers.sources import filesystems as stores
from parsers.sources.archives import Step, open_entry
from parsers.sources.compression import ForwardReader, PlainStream, open_stream, read_up_to, stream_of

if TYPE_CHECKING:
    pass

IDENTITY_BYTES = 4096
BLOCK_BYTES = 1 << 20
"""Number of bytes read at once."""
COPY, UNREADABLE = "the same content stands in", "cannot be read"
"""Prefixes of reasons: a copy of another file, and a possibly temporary failure."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read.

    `path` opens it, `name` is printable, `relative` is matched with globs. A file of an archive has the path of the
    archive, and `start` is its position there (see `parsers.sources.archives.Entry`). `size_bytes` is the size when the
    file was found. Later additions are left to the next run, because the identity of a short file, and what an earlier
    run knows about it, cover only these bytes.
    """

    path: str
    name: str
    relative: str
    is_named: bool
    compression: str | None
    size_bytes: int
    file_id: str
    format: FileFormat
    archive: str | None = None
    start: int = 0
    is_unchanged: bool = False
    """True if size and time of change are those found by an earlier run."""
    zeros: int = 0
    """Number of leading zero bytes, if longer than an identity.

    A file has such a hole if it was truncated while a program continued to write at its old position.
    """
    outer: tuple[Step, ...] = ()
    """Enclosing archives of its archive, outermost first."""

    def open(self) -> ForwardReader:
        """Open a stream of the decompressed content."""
        if self.archive is None:
            return open_stream(self.path, self.compression, self.size_bytes)
        return stream_of(open_entry(self.path, self.archive, self.start, self.size_bytes, self.outer), self.compression)

    @property
    def is_plain(self) -> bool:
        """True if `path` holds the content uncompressed and seekable."""
        return self.archive is None and self.compression is None

    def is_as_found(self, stream: ForwardReader) -> bool:
        """Whether the open file still has the identity that was found.

        It may have been replaced or truncated. Archives are checked while they are read. Raises OSError.
        """
        if isinstance(stream, PlainStream) and self.archive is None:
            return identity_of(stream.head(IDENTITY_BYTES, self.zeros), self.zeros) == self.file_id
        return self.archive is not None or identity_of(head_of(self), self.zeros) == self.file_id


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not read.

    `is_named` on the command line means rejected. `copy_of` is the name of the file with the same content.
    """

    name: str
    reason: str
    is_named: bool
    size_bytes: int = 0
    copy_of: str | None = None


def printable(path: str) -> str:
    """A path as text.

    Bytes that are not UTF-8 become `\\xNN`, because tables cannot hold them.
    """
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def head_of(source: SourceFile) -> bytes:
    """Current bytes that determine a file's identity. Raises OSError."""
    stream = source.open()
    try:
        return read_up_to(stream, IDENTITY_BYTES) if stream.skip(source.zeros) else b""
    finally:
        stream.close()


def identity_of(head: bytes, zeros: int = 0) -> str:
    """Identity of content, from its beginning after a hole of `zeros` bytes.

    Zeros at the end are ignored, because they may be preallocated space.
    """
    hole = f"{zeros}\0".encode() if zeros else b""
    return hashlib.sha256(hole + head.rstrip(b"\x00")).hexdigest()[:32]


def content_length(source: SourceFile) -> int:
    """Bytes after decompression. Raises OSError."""
    if source.compression is None:
        return source.size_bytes
    stream = source.open()
    try:
        while read_up_to(stream, BLOCK_BYTES):
            pass
        return stream.position
    finally:
        stream.close()


def read_places(source: SourceFile, places: Iterable[tuple[int, int]]) -> dict[int, bytes]:
    """Bytes at (byte_offset, byte_length) of the decompressed content, in one pass."""
    wanted = sorted(set(places))
    contents: dict[int, bytes] = {}
    if source.is_plain:
        with stores.open_file(source.path) as file:
            for offset, length in wanted:
                file.seek(offset)
                contents[offset] = file.read(length)
        return contents
    stream = source.open()
    try:
        for offset, length in wanted:
            while stream.position < offset:
                if not read_up_to(stream, min(BLOCK_BYTES, offset - stream.position)):
                    return contents
            contents[offset] = read_up_to(stream, length)
    finally:
        stream.close()
    return contents
