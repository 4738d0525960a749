"""Support bundles, tar (compressed or not) and zip, read member by member as streams: nothing is unpacked to disk.

A compressed tar can be read forward only. Where its reading stopped is kept, so that reading member after member
passes through the archive once, however many there are.
"""

from __future__ import annotations

import io
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import IO, BinaryIO, cast

from parsers.sources.compression import Stream, compression_of, open_stream, read_up_to
from parsers.sources.filesystems import local_path, open_file, state_of

_BLOCK = 512
_DRAIN = 1 << 20
_BUFFER = 1 << 16
# What says that a zip is a program or a document: their members are no logs, and there may be thousands.
_NO_BUNDLES = frozenset({"META-INF/MANIFEST.MF", "[Content_Types].xml", "mimetype"})


class NoBundleError(Exception):
    """An archive that is a program or a document; the text says so."""


class DamagedArchiveError(Exception):
    """The rest of an archive cannot be read; the text says why and where."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A regular file of an archive. `start` is its first byte in an unpacked tar, its number in a zip."""

    name: str
    start: int
    size: int


Opener = Callable[[], BinaryIO]
"""Opens an entry. Raises OSError where it cannot be opened: for want of a password, say."""


def archive_of(path: str, compression: str | None) -> str | None:
    """`zip`, `tar` or `tar+gzip` and the like, by content. `compression` is what the first bytes of the file say."""
    if compression in {"zip", "tar"}:
        return compression
    if compression is None:
        return None
    stream = open_stream(path, compression)
    try:
        return f"tar+{compression}" if compression_of(read_up_to(stream, _BLOCK)) == "tar" else None
    finally:
        stream.close()


def entries(path: str, archive: str) -> Iterator[tuple[Entry, Opener]]:
    """Regular files in their order, each to be opened and read before the next is asked for.

    Raises NoBundleError for an archive that cannot hold logs, DamagedArchiveError where the rest cannot be read.
    """
    return _zip_entries(path) if archive == "zip" else _tar_entries(path, archive)


def open_entry(path: str, archive: str, start: int, size: int) -> BinaryIO:
    """One file of an archive, to be read forward. Raises OSError where it cannot be opened."""
    return _zip_entry(path, start) if archive == "zip" else _buffered(_TarEntry(path, archive, start, size))


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(raw, _BUFFER))


def _bundle(path: str) -> zipfile.ZipFile:
    place = local_path(path)
    return zipfile.ZipFile(open_file(path) if place is None else place)


def _zip_entries(path: str) -> Iterator[tuple[Entry, Opener]]:
    try:
        with _bundle(path) as bundle:
            members = bundle.infolist()
    except zipfile.BadZipFile as problem:
        raise DamagedArchiveError(f"damaged zip archive: {problem}") from problem
    if any(member.filename in _NO_BUNDLES for member in members):
        raise NoBundleError("a program or document, not a bundle of logs")
    for number, member in enumerate(members):
        if not member.is_dir():
            yield Entry(member.filename, number, member.file_size), partial(_zip_entry, path, number)


class _Guarded(io.RawIOBase):
    """A file of an archive; what goes wrong inside is an OSError, as it is with any file."""

    def __init__(self, file: IO[bytes], also: zipfile.ZipFile | None = None) -> None:
        self._file = file
        self._also = also

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
            if self._also:
                self._also.close()
        super().close()


def _zip_entry(path: str, number: int) -> BinaryIO:
    bundle = _bundle(path)
    try:
        return _buffered(_Guarded(bundle.open(bundle.infolist()[number]), bundle))
    # A password, a method that zipfile lacks, a damaged header, another archive than was found.
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile, IndexError) as problem:
        bundle.close()
        raise OSError(f"zip archive: {problem}") from problem


class _Forward:
    """What tarfile reads from: remembers where the last byte was that is not zero, since archives end with zeros."""

    def __init__(self, stream: Stream) -> None:
        self._stream = stream
        self.content_end = 0

    def read(self, size: int) -> bytes:
        block = read_up_to(self._stream, size)
        told = block.rstrip(b"\x00")
        if told:
            self.content_end = self._stream.position - len(block) + len(told)
        return block


def _tar_entries(path: str, archive: str) -> Iterator[tuple[Entry, Opener]]:
    stream = open_stream(path, _packing(archive))
    forward = _Forward(stream)
    try:
        with tarfile.open(fileobj=cast("io.BytesIO", forward), mode="r|") as bundle:
            for member in bundle:
                if member.isreg() and not member.issparse():
                    yield Entry(member.name, member.offset_data, member.size), partial(_tar_entry, bundle, member)
                # Members that were read are not asked for again, and an archive may hold a million.
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
    return _buffered(_Guarded(cast("IO[bytes]", bundle.extractfile(member))))


def _packing(archive: str) -> str | None:
    return archive.removeprefix("tar+") if archive != "tar" else None


@dataclass(slots=True)
class _Cursor:
    """An archive that is open at `stream.position`. `state` tells whether the file is still the same."""

    key: tuple[str, str]
    state: tuple[int, int]
    stream: Stream


_parked: list[_Cursor] = []
"""At most one: where the last reading of a compressed tar stopped."""


def _state(path: str) -> tuple[int, int]:
    return state_of(path)


def _cursor(path: str, archive: str, start: int) -> _Cursor:
    state = _state(path)
    while _parked:
        cursor = _parked.pop()
        if cursor.key == (path, archive) and cursor.state == state and cursor.stream.position <= start and not cursor.stream.problem:
            return cursor
        cursor.stream.close()
    return _Cursor((path, archive), state, open_stream(path, _packing(archive)))


class _TarEntry(io.RawIOBase):
    """A file of a tar: `size` bytes from `start` on of what the archive is when decompressed."""

    def __init__(self, path: str, archive: str, start: int, size: int) -> None:
        self._cursor = _cursor(path, archive, start)
        self._left = size
        stream = self._cursor.stream
        if not stream.skip(start - stream.position):
            stream.close()
            raise OSError(stream.problem or "the archive is shorter than when it was found")

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        stream = self._cursor.stream
        got = stream.readinto(memoryview(target)[: self._left]) if self._left else 0
        if not got and self._left:
            raise OSError(stream.problem or "the tar archive ends early")
        self._left -= got
        return got

    def close(self) -> None:
        if not self.closed:
            if _parked:
                self._cursor.stream.close()
            else:
                _parked.append(self._cursor)
        super().close()
