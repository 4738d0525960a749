"""Files that logs are read from: where they are, how their content is told from others, and what is not read and why."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from parsers.formats.detection import FileFormat
from parsers.sources import filesystems as stores
from parsers.sources.archives import Step, open_entry
from parsers.sources.compression import PlainStream, Stream, open_stream, read_up_to, stream_of

if TYPE_CHECKING:
    pass

IDENTITY_BYTES = 4096
BLOCK_BYTES = 1 << 20
"""So much of a file is read at a time."""
COPY, UNREADABLE = "the same content stands in", "cannot be read"
"""How the reasons begin of files whose content another one has, and of such that may be read at another time."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read. `path` opens it, `name` is printable, `relative` is what globs are held against.

    A file of an archive has the path of the archive; `start` is its place there (see `parsers.sources.archives.Entry`). `size_bytes` is how
    much of the file there was when it was found: what has come since is for the next run, since the identity of a short file,
    and what an earlier run knows of it, are told from just so much.
    """

    path: str
    name: str
    relative: str
    named: bool
    compression: str | None
    size_bytes: int
    file_id: str
    format: FileFormat
    archive: str | None = None
    start: int = 0
    unchanged: bool = False
    """Its size and time of change are those that an earlier run found."""
    zeros: int = 0
    """How many zero bytes it begins with, where they are more than an identity is made of: a file has such a hole that was emptied
    under a program that goes on writing at its place."""
    outer: tuple[Step, ...] = ()
    """The archives that its archive stands in, the outermost first."""

    def open(self) -> Stream:
        """A stream of what the file holds, decompressed."""
        if self.archive is None:
            return open_stream(self.path, self.compression, self.size_bytes)
        return stream_of(open_entry(self.path, self.archive, self.start, self.size_bytes, self.outer), self.compression)

    @property
    def plain(self) -> bool:
        """Whether `path` holds the content as it is, so that any place of it can be read."""
        return self.archive is None and self.compression is None

    def is_as_found(self, stream: Stream) -> bool:
        """Whether the file that is open still begins as when it was found: another one may have its name by now, or it may have been
        emptied. Archives are not asked: what passes of them tells. Raises OSError."""
        if isinstance(stream, PlainStream) and self.archive is None:
            return identity_of(stream.head(IDENTITY_BYTES, self.zeros), self.zeros) == self.file_id
        return self.archive is not None or identity_of(head_of(self), self.zeros) == self.file_id


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read. `named` on the command line means rejected. `copy_of` is the name of the file that has its content."""

    name: str
    reason: str
    named: bool
    size_bytes: int = 0
    copy_of: str | None = None


def printable(path: str) -> str:
    """A path as text. Bytes that are no UTF-8 are shown as `\\xNN`, since a table cannot hold them."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def head_of(source: SourceFile) -> bytes:
    """What the identity of a file is made of, as it is now. Raises OSError."""
    stream = source.open()
    try:
        return read_up_to(stream, IDENTITY_BYTES) if stream.skip(source.zeros) else b""
    finally:
        stream.close()


def identity_of(head: bytes, zeros: int = 0) -> str:
    """What tells a content from others, made of how it begins behind a hole of `zeros` bytes. Zeros at the end of a head are room that
    is still to be written."""
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
    """Bytes at (byte_offset, byte_length) of the decompressed content, in one forward pass."""
    wanted = sorted(set(places))
    found: dict[int, bytes] = {}
    if source.plain:
        with stores.open_file(source.path) as file:
            for offset, length in wanted:
                file.seek(offset)
                found[offset] = file.read(length)
        return found
    stream = source.open()
    try:
        for offset, length in wanted:
            while stream.position < offset:
                if not read_up_to(stream, min(BLOCK_BYTES, offset - stream.position)):
                    return found
            found[offset] = read_up_to(stream, length)
    finally:
        stream.close()
    return found
