"""Support bundles, tar (compressed or not) and zip, also in each other, read member by member as streams.

A compressed tar can be read forward only, and the list of a zip is as long as the zip has files. Archives that were read from stay open
where their reading stopped, so that reading member after member passes through each once, however many there are. Nothing is unpacked to
disk but a zip that stands in an archive, whose list is at its end: it goes to a file without a name.
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

from parsers.sources.compression import Stream, compression_of, open_stream, read_up_to, stream_of
from parsers.sources.filesystems import open_file, state_of

_BLOCK = 512
_DRAIN = 1 << 20
_BUFFER = 1 << 16
_SPOOLED_MEMORY = 16 << 20
"""A zip in an archive is kept in memory up to so many bytes."""

_PARKED_MAX = 4
"""So many archives stay open when nobody reads them."""

# What says that a zip is a program or a document: their members are no logs, and there may be thousands.
_NO_BUNDLES = frozenset({"META-INF/MANIFEST.MF", "[Content_Types].xml", "mimetype"})

Step = tuple[str, int, int]
"""Where something stands in an archive: what the archive is, and start and size there."""


class NoBundleError(Exception):
    """An archive that is a program or a document; the text says so."""


class DamagedArchiveError(Exception):
    """The rest of an archive cannot be read; the text says why and where."""


class LimitError(DamagedArchiveError):
    """An archive holds more than is looked at; the text says which limit that is."""


@dataclass(slots=True)
class Budget:
    """How much of an archive and of those in it is looked at: files, bytes of archives in it, archives in each other.

    A bomb of some kilobytes unpacks to petabytes; no bundle of logs that was met comes near these limits.
    """

    entries: int = 100_000
    nested_bytes: int = 64 << 30
    depth: int = 3
    left: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.left = {"files": self.entries, "bytes": self.nested_bytes}

    def take_entry(self) -> None:
        """One file more is looked at. Raises LimitError."""
        self.left["files"] -= 1
        if self.left["files"] < 0:
            raise LimitError(f"more than {self.entries:,} files in the archive: the rest is not read; unpack it, or split it")

    def take_bytes(self, count: int) -> None:
        """More of an archive in an archive was unpacked. Raises LimitError."""
        self.left["bytes"] -= count
        if self.left["bytes"] < 0:
            raise LimitError(f"more than {self.nested_bytes:,} bytes in the archive and those in it: the rest is not read; unpack it")


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
    return zip_entries(open_file(path)) if archive == "zip" else tar_entries(open_stream(path, _packing(archive)))


def open_entry(path: str, archive: str, start: int, size: int, outer: tuple[Step, ...] = ()) -> BinaryIO:
    """One file of an archive, to be read forward; the archive may stand in others, the outermost first. Raises OSError where it cannot
    be opened."""
    cursor = _cursor((path, outer, archive), start)
    return _buffered(_ZipEntry(cursor, start) if isinstance(cursor.at, zipfile.ZipFile) else _TarEntry(cursor, cursor.at, start, size))


def _buffered(raw: io.RawIOBase) -> BinaryIO:
    return cast("BinaryIO", io.BufferedReader(raw, _BUFFER))


def spooled(file: BinaryIO, budget: Budget | None = None) -> BinaryIO:
    """What is left of a file that can only be read forward, as one that can be read at any place. Closes it. Raises OSError."""
    held = tempfile.SpooledTemporaryFile(_SPOOLED_MEMORY)  # noqa: SIM115 - whoever asked closes it
    try:
        with file:
            while block := file.read(_DRAIN):
                if budget is not None:
                    budget.take_bytes(len(block))
                held.write(block)
        held.seek(0)
    except BaseException:
        held.close()
        raise
    return cast("BinaryIO", held)


def zip_entries(file: BinaryIO) -> Iterator[tuple[Entry, Opener]]:
    """As `entries`, of an open zip, which is closed behind the last."""
    with file:
        try:
            bundle = zipfile.ZipFile(file)
        except zipfile.BadZipFile as problem:
            raise DamagedArchiveError(f"damaged zip archive: {problem}") from problem
        members = bundle.infolist()
        if any(member.filename in _NO_BUNDLES for member in members):
            raise NoBundleError("a program or document, not a bundle of logs")
        for number, member in enumerate(members):
            if not member.is_dir():
                yield Entry(member.filename, number, member.file_size), partial(_zip_member, bundle, number)


class _Guarded(io.RawIOBase):
    """A file of an archive; what goes wrong inside is an OSError, as it is with any file."""

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
    return _buffered(_Guarded(_opened_member(bundle, number)))


def _opened_member(bundle: zipfile.ZipFile, number: int) -> IO[bytes]:
    try:
        return bundle.open(bundle.infolist()[number])
    # A password, a method that zipfile lacks, a damaged header, another archive than was found.
    except (RuntimeError, NotImplementedError, zipfile.BadZipFile, IndexError) as problem:
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


def tar_entries(stream: Stream) -> Iterator[tuple[Entry, Opener]]:
    """As `entries`, of a tar that is unpacked meanwhile; the stream is closed behind the last."""
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


_Key = tuple[str, tuple[Step, ...], str]
"""An archive: the file on disk, the archives that it stands in, and what it is."""


@dataclass(slots=True)
class _Cursor:
    """An archive that is open, a tar at `at.position`. `state` tells whether the file on disk is still the same."""

    key: _Key
    state: tuple[int, int]
    at: Stream | zipfile.ZipFile
    file: BinaryIO | None = None
    """What the list of a zip was read from."""

    def reaches(self, start: int) -> bool:
        """Whether an entry can still be read from it."""
        return isinstance(self.at, zipfile.ZipFile) or (self.at.position <= start and not self.at.problem)

    def stands_in(self, key: _Key) -> bool:
        """Whether it is an archive within this one, which it holds open."""
        path, outer, archive = key
        mine = self.key[1]
        return self.key[0] == path and mine[: len(outer)] == outer and len(mine) > len(outer) and mine[len(outer)][0] == archive

    def close(self) -> None:
        """Close it; an archive around it stays open."""
        self.at.close()
        if self.file is not None:
            self.file.close()


_parked: list[_Cursor] = []
"""Archives where their reading stopped, the latest last."""


def _state(path: str) -> tuple[int, int]:
    return state_of(path)


def _cursor(key: _Key, start: int) -> _Cursor:
    state = _state(key[0])
    found = _taken(key, state, start)
    if found is None:
        for cursor in [each for each in _parked if each.stands_in(key)]:
            _parked.remove(cursor)
            cursor.close()
        found = _taken(key, state, start)
    return found or _opened(key, state)


def _taken(key: _Key, state: tuple[int, int], start: int) -> _Cursor | None:
    """The archive as it is parked, if an entry can be read from there."""
    for cursor in [each for each in _parked if each.key == key]:
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
    file = spooled(open_entry(path, *outer[-1], outer[:-1])) if outer else open_file(path)
    try:
        return _Cursor(key, state, zipfile.ZipFile(file), file)
    except zipfile.BadZipFile as problem:
        file.close()
        raise OSError(f"zip archive: {problem}") from problem


def _park(cursor: _Cursor) -> None:
    """Keep an archive open for the next who reads from it."""
    _parked.append(cursor)
    while len(_parked) > _PARKED_MAX:
        _parked.pop(0).close()


class _ZipEntry(_Guarded):
    """A file of a zip, by its number."""

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
    """A file of a tar: `size` bytes from `start` on of what the archive is when decompressed."""

    def __init__(self, cursor: _Cursor, stream: Stream, start: int, size: int) -> None:
        self._cursor, self._stream = cursor, stream
        self._left = size
        if not stream.skip(start - stream.position):
            stream.close()
            raise OSError(stream.problem or "the archive is shorter than when it was found")

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]
        stream = self._stream
        got = stream.readinto(memoryview(target)[: self._left]) if self._left else 0
        if not got and self._left:
            raise OSError(stream.problem or "the tar archive ends early")
        self._left -= got
        return got

    def close(self) -> None:
        if not self.closed:
            _park(self._cursor)
        super().close()
