"""Read members of tar and zip archives as streams, also of nested ones.

A compressed tar can only be read forward, and the directory of a zip grows with its number of files. So archives stay
open at the position where reading stopped, and reading one member after the other passes each archive once. Nothing is
unpacked to disk except a zip within an archive, because its directory is at its end: it is written to an unnamed file.
"""

from __future__ import annotations

import io
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import IO, BinaryIO, cast

from parsers.sources.compression import ForwardReader, compression_of, open_stream, read_up_to, stream_of
from parsers.sources.filesystems import open_file, state_of
from parsers.sources.foreign_files import office_document

_BLOCK = 512
_DRAIN = 1 << 20
_BUFFER = 1 << 16
_SPOOLED_MEMORY = 16 << 20
"""Maximum bytes in memory of a zip within an archive."""

_PARKED_MAX = 4
"""Maximum number of idle open archives."""

# Members that mark a zip as a program or a document: it contains no logs, and possibly thousands of files.
_NO_BUNDLES = frozenset({"META-INF/MANIFEST.MF", "[Content_Types].xml", "mimetype"})

Step = tuple[str, int, int]
"""A position in an archive: kind of archive, start and size."""


class NoBundleError(Exception):
    """An archive that is a program or a document, as its text says."""


class DamagedArchiveError(Exception):
    """The rest of an archive is unreadable; the text says why and where."""


class LimitError(DamagedArchiveError):
    """An archive exceeds a limit, which the text names."""


@dataclass(slots=True)
class UnpackingLimits:
    """Limits of an archive and those nested in it: files, bytes, depth.

    A bomb of some kilobytes unpacks to petabytes; real bundles of logs stay far below these limits.
    """

    entries: int = 100_000
    nested_bytes: int = 64 << 30
    depth: int = 3
    left: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.left = {"files": self.entries, "bytes": self.nested_bytes}

    def take_entry(self) -> None:
        """Count one file. Raises LimitError."""
        self.left["files"] -= 1
        if self.left["files"] < 0:
            raise LimitError(f"more than {self.entries:,} files in the archive: the rest is not read; unpack it, or split it")

    def take_bytes(self, count: int) -> None:
        """Count unpacked bytes of a nested archive. Raises LimitError."""
        self.left["bytes"] -= count
        if self.left["bytes"] < 0:
            raise LimitError(f"more than {self.nested_bytes:,} bytes in the archive and those in it: the rest is not read; unpack it")


@dataclass(frozen=True, slots=True)
class ArchiveEntry:
    """A regular file of an archive.

    `start` is its first byte in an unpacked tar, its index in a zip.
    """

    name: str
    start: int
    size: int


Opener = Callable[[], BinaryIO]
"""Opens an entry.

Raises OSError if that fails, for example without a password.
"""


def archive_of(path: str, compression: str | None) -> str | None:
    """Kind of archive by content: `zip`, `tar`, or `tar+gzip` and the like.

    `compression` comes from the first bytes of the file.
    """
    if compression in {"zip", "tar"}:
        return compression
    if compression is None:
        return None
    stream = open_stream(path, compression)
    try:
        return f"tar+{compression}" if compression_of(read_up_to(stream, _BLOCK)) == "tar" else None
    finally:
        stream.close()


def entries(path: str, archive: str) -> Iterator[tuple[ArchiveEntry, Opener]]:
    """Regular files of an archive, in order.

    Each must be opened and read before the next. Raises NoBundleError for an archive that cannot contain logs,
    DamagedArchiveError if the rest is unreadable.
    """
    return zip_entries(open_file(path)) if archive == "zip" else tar_entries(open_stream(path, _packing(archive)))


def open_entry(path: str, archive: str, start: int, size: int, outer: tuple[Step, ...] = ()) -> BinaryIO:
    """Open one file of an archive for reading forward.

    `outer` are the enclosing archives, outermost first. Raises OSError.
    """
    cursor = _cursor((path, outer, archive), start)
    return _buffered(_ZipEntry(cursor, start) if isinstance(cursor.at, zipfile.ZipFile) else _TarEntry(cursor, cursor.at, start, size))


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(raw, _BUFFER))


def spool(file: BinaryIO, budget: UnpackingLimits | None = None) -> BinaryIO:
    """Copy the rest of a forward-only file to a seekable one, and close it.

    Raises OSError.
    """
    spool = tempfile.SpooledTemporaryFile(_SPOOLED_MEMORY)  # noqa: SIM115 - the caller closes it
    try:
        with file:
            while block := file.read(_DRAIN):
                if budget is not None:
                    budget.take_bytes(len(block))
                spool.write(block)
        spool.seek(0)
    except BaseException:
        spool.close()
        raise
    return cast("BinaryIO", spool)


def zip_entries(file: BinaryIO) -> Iterator[tuple[ArchiveEntry, Opener]]:
    """Entries of an open zip, which is closed after the last one."""
    with file:
        try:
            bundle = zipfile.ZipFile(file)
        except zipfile.BadZipFile as problem:
            raise DamagedArchiveError(f"damaged zip archive: {problem}") from problem
        members = bundle.infolist()
        if any(member.filename in _NO_BUNDLES for member in members):
            raise NoBundleError(office_document())
        for number, member in enumerate(members):
            if not member.is_dir():
                yield ArchiveEntry(member.filename, number, member.file_size), partial(_zip_member, bundle, number)


class _GuardedFile(io.RawIOBase):
    """A file of an archive with damage reported as OSError, as for other files."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        try:
            data = self._file.read(len(target))
        except (zipfile.BadZipFile, tarfile.TarError, zlib.error, EOFError) as problem:
            raise OSError(f"damaged archive: {problem}") from problem
        target[: len(data)] = data
        return len(data)

    def close(self) -> None:
        if not self.closed:
            self._file.close()
        super().close()


def _zip_member(bundle: zipfile.ZipFile, number: int) -> BinaryIO:
    return _buffered(_GuardedFile(_opened_member(bundle, number)))


def _opened_member(bundle: zipfile.ZipFile, number: int) -> IO[bytes]:
    try:
        return bundle.open(bundle.infolist()[number])
    # A password, an unsupported method, a damaged header, or an archive that has changed.
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile, IndexError) as problem:
        raise OSError(f"zip archive: {problem}") from problem


class _Forward:
    """The input of tarfile.

    Remembers the position of the last non-zero byte, because archives end with zeros.
    """

    def __init__(self, stream: ForwardReader) -> None:
        self._stream = stream
        self.content_end = 0

    def read(self, size: int) -> bytes:
        block = read_up_to(self._stream, size)
        text = block.rstrip(b"\x00")
        if text:
            self.content_end = self._stream.position - len(block) + len(text)
        return block


def tar_entries(stream: ForwardReader) -> Iterator[tuple[ArchiveEntry, Opener]]:
    """Entries of a tar that is unpacked on the way.

    The stream is closed after the last one.
    """
    forward = _Forward(stream)
    try:
        with tarfile.open(fileobj=cast("io.BytesIO", forward), mode="r|") as bundle:
            for member in bundle:
                if member.isreg() and not member.issparse():
                    yield ArchiveEntry(member.name, member.offset_data, member.size), partial(_tar_entry, bundle, member)
                # Members are not needed again after reading, and an archive may hold a million.
                bundle.members = []  # type: ignore[attr-defined]
            end = bundle.offset
        while forward.read(_DRAIN):
            pass
        if stream.problem:
            raise DamagedArchiveError(f"{stream.problem} after byte {stream.position} of the tar archive")
        if stream.position < end:
            raise DamagedArchiveError(f"tar archive ends early, after byte {stream.position}")
        if forward.content_end > end:
            raise DamagedArchiveError(f"damaged tar archive: no header at byte {end}")
    except tarfile.TarError as problem:
        raise DamagedArchiveError(stream.problem or f"damaged tar archive: {problem}") from problem
    finally:
        stream.close()


def _tar_entry(bundle: tarfile.TarFile, member: tarfile.TarInfo) -> BinaryIO:
    return _buffered(_GuardedFile(cast("IO[bytes]", bundle.extractfile(member))))


def _packing(archive: str) -> str | None:
    return archive.removeprefix("tar+") if archive != "tar" else None


_Key = tuple[str, tuple[Step, ...], str]
"""Identity of an archive: file on disk, enclosing archives, and kind."""


@dataclass(slots=True)
class _Cursor:
    """An open archive; a tar is at `at.position`.

    `state` shows whether the file on disk is still the same.
    """

    key: _Key
    state: tuple[int, int]
    at: ForwardReader | zipfile.ZipFile
    file: BinaryIO | None = None
    """The file from which the directory of a zip was read."""

    def reaches(self, start: int) -> bool:
        """Whether an entry can still be read with this cursor."""
        return isinstance(self.at, zipfile.ZipFile) or (self.at.position <= start and not self.at.problem)

    def stands_in(self, key: _Key) -> bool:
        """Whether this archive is nested in another one, which it keeps open."""
        path, outer, archive = key
        identity = self.key[1]
        return self.key[0] == path and identity[: len(outer)] == outer and len(identity) > len(outer) and identity[len(outer)][0] == archive

    def close(self) -> None:
        """Close this archive; enclosing ones stay open."""
        self.at.close()
        if self.file is not None:
            self.file.close()


_parked: list[_Cursor] = []
"""Idle archives at their last position, most recent last."""


def _state(path: str) -> tuple[int, int]:
    return state_of(path)


def _cursor(key: _Key, start: int) -> _Cursor:
    state = _state(key[0])
    parked = _taken(key, state, start)
    if parked is None:
        for cursor in [parked for parked in _parked if parked.stands_in(key)]:
            _parked.remove(cursor)
            cursor.close()
        parked = _taken(key, state, start)
    return parked or _opened(key, state)


def _taken(key: _Key, state: tuple[int, int], start: int) -> _Cursor | None:
    """Take an idle archive if the entry can be read with it."""
    for cursor in [parked for parked in _parked if parked.key == key]:
        _parked.remove(cursor)
        if cursor.state == state and cursor.reaches(start):
            return cursor
        cursor.close()
    return None


def _opened(key: _Key, state: tuple[int, int]) -> _Cursor:
    path, outer, archive = key
    if archive != "zip":
        packing = _packing(archive)
        within = stream_of(open_entry(path, *outer[-1], outer[:-1]), packing) if outer else open_stream(path, packing)
        return _Cursor(key, state, within)
    file = spool(open_entry(path, *outer[-1], outer[:-1])) if outer else open_file(path)
    try:
        return _Cursor(key, state, zipfile.ZipFile(file), file)
    except zipfile.BadZipFile as problem:
        file.close()
        raise OSError(f"zip archive: {problem}") from problem


def _park(cursor: _Cursor) -> None:
    """Keep an archive open for the next reader."""
    _parked.append(cursor)
    while len(_parked) > _PARKED_MAX:
        _parked.pop(0).close()


class _ZipEntry(_GuardedFile):
    """A file of a zip, by index."""

    def __init__(self, cursor: _Cursor, number: int) -> None:
        self._cursor = cursor
        try:
            super().__init__(_opened_member(cast("zipfile.ZipFile", cursor.at), number))
        except OSError:
            cursor.close()
            raise

    def close(self) -> None:
        if not self.closed:
            super().close()
            _park(self._cursor)


class _TarEntry(io.RawIOBase):
    """A file of a tar: `size` bytes from `start` on, after decompression."""

    def __init__(self, cursor: _Cursor, stream: ForwardReader, start: int, size: int) -> None:
        self._cursor, self._stream = cursor, stream
        self._left = size
        if not stream.skip(start - stream.position):
            stream.close()
            raise OSError(stream.problem or "the archive is shorter than when it was found")

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        stream = self._stream
        byte_count = stream.readinto(memoryview(target)[: self._left]) if self._left else 0
        if not byte_count and self._left:
            raise OSError(stream.problem or "the tar archive ends early")
        self._left -= byte_count
        return byte_count

    def close(self) -> None:
        if not self.closed:
            _park(self._cursor)
        super().close()
