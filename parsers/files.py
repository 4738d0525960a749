"""What to read: paths, folders, globs and standard input to source files with an identity.

Whether a file is a log, and in which form, is told by its content and never by its name. What was met in a
folder and is no log is skipped; what was named on the command line and cannot be read is rejected.
"""

from __future__ import annotations

import glob
import hashlib
import os
import re
import stat
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

from parsers import places as stores
from parsers.archives import DamagedArchiveError, NoBundleError, archive_of, entries, open_entry
from parsers.formats import FileFormat, tell_format
from parsers.streams import PlainStream, Stream, compression_of, open_stream, read_up_to, stream_of

IDENTITY_BYTES = 4096
COPY, UNREADABLE = "the same content stands in", "cannot be read"
"""How the reasons begin of files whose content another one has, and of such that may be read at another time."""
# How much of a file is looked at, step by step, until it shows what it is.
_SAMPLE_STEPS = (1 << 16, 1 << 20, 1 << 24)
_SPOOL_BLOCK = 1 << 20
_HEAD_BYTES = 512
# What begins a log tells it from others; compressed, few bytes may become more.
_TELLING_BYTES = 64
_PACKING_BYTES = 1024
_GLOB_CHARACTERS = re.compile(r"[*?\[]")
_ROTATED = re.compile(r"(?:[.-][\dT_:.-]+|\.(?:gz|bz2|xz|zst|old|bak|log))+")


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to read. `path` opens it, `name` is printable, `relative` is what globs are held against.

    A file of an archive has the path of the archive; `start` is its place there (see `parsers.archives.Entry`). `size_bytes` is how
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

    def open(self) -> Stream:
        if self.archive is None:
            return open_stream(self.path, self.compression, self.size_bytes)
        return stream_of(open_entry(self.path, self.archive, self.start, self.size_bytes), self.compression)

    @property
    def plain(self) -> bool:
        """Whether `path` holds the content as it is, so that any place of it can be read."""
        return self.archive is None and self.compression is None

    def is_as_found(self, stream: Stream) -> bool:
        """Whether the file that is open still begins as when it was found: another one may have its name by now, or it may have been
        emptied. Archives are not asked. Raises OSError."""
        if isinstance(stream, PlainStream) and self.archive is None:
            return _identity(stream.head(IDENTITY_BYTES)) == self.file_id
        return self.archive is not None or _identity(head_of(self)) == self.file_id


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that is not read. `named` on the command line means rejected. `copy_of` is the name of the file that has its content."""

    name: str
    reason: str
    named: bool
    size_bytes: int = 0
    copy_of: str | None = None


@dataclass(slots=True)
class Discovery:
    files: list[SourceFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Candidate:
    path: str
    name: str
    relative: str
    named: bool


class NotALogError(Exception):
    """The content is nothing that can be read; the text says why."""


def printable(path: str) -> str:
    """A path as text. Bytes that are no UTF-8 are shown as `\\xNN`, since a table cannot hold them."""
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def discover(paths: Sequence[str], *, rotated: bool = False) -> Discovery:
    """Look at all paths. With `rotated`, files named also bring their rotated siblings."""
    found = Discovery()
    seen: set[object] = set()
    for argument in paths:
        candidates = list(_candidates(argument, rotated=rotated))
        if not candidates:
            found.missing.append(argument)
        for candidate in candidates:
            _take(candidate, found, seen)
    _drop_copies(found)
    return found


def _candidates(argument: str, *, rotated: bool) -> Iterator[_Candidate]:
    if argument == "-":
        spooled = _spool(sys.stdin.buffer.fileno())
        yield _Candidate(spooled, "-", "-", named=True)
        return
    if stores.scheme_of(argument) is not None:
        yield from _remote(argument)
        return
    if os.path.isdir(argument):
        for path in _walk(argument):
            yield _Candidate(path, printable(path), printable(os.path.relpath(path, argument)), named=False)
        return
    if os.path.lexists(argument):
        yield _Candidate(argument, printable(argument), printable(os.path.basename(argument)), named=True)
        if rotated:
            for path in _siblings(argument):
                yield _Candidate(path, printable(path), printable(os.path.basename(path)), named=False)
        return
    if _GLOB_CHARACTERS.search(argument):
        base = os.path.dirname(argument[: _GLOB_CHARACTERS.search(argument).start()])  # type: ignore[union-attr]
        for match in sorted(glob.glob(argument, recursive=True)):
            if os.path.isdir(match):
                continue
            yield _Candidate(match, printable(match), printable(os.path.relpath(match, base or ".")), named=True)


def _remote(argument: str) -> Iterator[_Candidate]:
    """Files of an object store, or by a `file:` URI: those below a folder, or those that fit a glob."""
    path = stores.local_path(argument)
    if path is not None:
        yield from _candidates(path, rotated=False)
    elif stores.is_folder(argument):
        for place in stores.walk(argument):
            yield _Candidate(place, place, place[len(argument.rstrip("/")) + 1 :], named=False)
    elif stores.exists(argument):
        yield _Candidate(argument, argument, argument.rpartition("/")[2], named=True)
    elif _GLOB_CHARACTERS.search(argument):
        base = argument[: _GLOB_CHARACTERS.search(argument).start()].rpartition("/")[0]  # type: ignore[union-attr]
        for place in stores.matches(argument):
            yield _Candidate(place, place, place[len(base) + 1 :], named=True)


def _walk(folder: str) -> Iterator[str]:
    for root, folders, names in os.walk(folder, onerror=None):
        folders.sort()
        for name in sorted(names):
            yield os.path.join(root, name)


def _siblings(path: str) -> list[str]:
    """`server.log.2024-05-01-13`, `server.log.1.gz`, `server-2024-05-01.log` beside `server.log`."""
    folder, name = os.path.split(path)
    stem, extension = os.path.splitext(name)
    found = []
    for other in sorted(os.listdir(folder or ".")):
        starts = [start for start in (name, stem) if start and other.startswith(start)]
        if other != name and extension in other and any(_ROTATED.fullmatch(other[len(start) :]) for start in starts):
            found.append(os.path.join(folder, other))
    return found


def _spool(descriptor: int) -> str:
    """Copy a pipe to a temporary file that goes away with the process: a source must be readable twice."""
    import atexit

    handle, path = tempfile.mkstemp(prefix="groupscope-", suffix=".stdin")
    atexit.register(Path(path).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as target:
        while block := os.read(descriptor, _SPOOL_BLOCK):
            target.write(block)
    return path


def _take(candidate: _Candidate, found: Discovery, seen: set[object]) -> None:
    size = 0
    try:
        path, size, identity = _regular(candidate)
        if identity in seen:
            raise _SameFileError("the same file was named before")
        seen.add(identity)
        _look_into(candidate, path, size, found)
    except (_SameFileError, NoBundleError) as problem:
        found.skipped.append(Skipped(candidate.name, str(problem), named=False, size_bytes=size))
    except NotALogError as problem:
        found.skipped.append(Skipped(candidate.name, str(problem), candidate.named, size))
    except DamagedArchiveError as problem:
        # An archive of logs is missed wherever it was met.
        named = candidate.named or any(source.path == candidate.path for source in found.files)
        found.skipped.append(Skipped(candidate.name, str(problem), named, size))
    except OSError as problem:
        found.skipped.append(Skipped(candidate.name, f"{UNREADABLE}: {problem.strerror or problem}", candidate.named, size))


class _SameFileError(Exception):
    """One file by two names or arguments."""


def _regular(candidate: _Candidate) -> tuple[str, int, object]:
    """Where the content can be read twice, which is beside the path when a pipe was named; its size; what tells it from others."""
    if stores.scheme_of(candidate.path) is not None:
        return candidate.path, stores.state_of(candidate.path)[1], candidate.path
    path, status = candidate.path, os.stat(candidate.path)
    if stat.S_ISFIFO(status.st_mode) and candidate.named:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            path = _spool(descriptor)
        finally:
            os.close(descriptor)
        status = os.stat(path)
    elif not stat.S_ISREG(status.st_mode):
        raise NotALogError("not a regular file")
    return path, status.st_size, (status.st_dev, status.st_ino)


def _look_into(candidate: _Candidate, path: str, size: int, found: Discovery) -> None:
    with stores.open_file(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        raise NotALogError("empty")
    compression = compression_of(head)
    archive = archive_of(path, compression)
    if archive:
        _look_into_archive(candidate, path, archive, found)
        return
    identity, told = _look(open_stream(path, compression, size))
    found.files.append(SourceFile(path, candidate.name, candidate.relative, candidate.named, compression, size, identity, told))


def _look_into_archive(candidate: _Candidate, path: str, archive: str, found: Discovery) -> None:
    named: Counter[str] = Counter()
    for entry, opener in entries(path, archive):
        inner = printable(entry.name.removeprefix("./").lstrip("/"))
        named[inner] += 1
        name = f"{candidate.name}/{inner}" + (f"#{named[inner]}" if named[inner] > 1 else "")  # as `tar -r` appends what has grown
        try:
            with opener() as file:
                compression = compression_of(file.peek(_HEAD_BYTES)[:_HEAD_BYTES])  # type: ignore[attr-defined]
                if compression in {"tar", "zip"}:
                    raise NotALogError(f"a {compression} archive in an archive: unpack the outer one first")
                identity, told = _look(stream_of(file, compression))
        except (NotALogError, OSError) as problem:
            found.skipped.append(Skipped(name, str(problem), named=False, size_bytes=entry.size))
            continue
        relative = inner if candidate.named else f"{candidate.relative}/{inner}"
        found.files.append(SourceFile(path, name, relative, False, compression, entry.size, identity, told, archive, entry.start))


def _look(stream: Stream) -> tuple[str, FileFormat]:
    """Identity and form of the content, from as little of it as is enough."""
    try:
        sample = b""
        zeros = 0
        told: FileFormat | str = "empty"
        identity = b""
        for step in _SAMPLE_STEPS:
            more = read_up_to(stream, step - len(sample))
            identity = identity or (sample + more)[:IDENTITY_BYTES]
            while more and not more.strip(b"\x00"):
                # A sparse hole, as a power cut leaves it: the log begins after it.
                zeros += len(more)
                more = read_up_to(stream, step)
            sample += more
            told = tell_format(sample, complete=len(sample) < step) if sample else "binary" if zeros else "empty"
            if isinstance(told, FileFormat) or told != "no header" or len(sample) < step:
                break
        if stream.problem and not sample:
            raise NotALogError(stream.problem)
        if isinstance(told, str):
            raise NotALogError({"no header": "not a log: no line is in a known layout"}.get(told, told))
        return _identity(identity), told
    finally:
        stream.close()


def head_of(source: SourceFile) -> bytes:
    """What the identity of a file is made of, as it is now. Raises OSError."""
    stream = source.open()
    try:
        return read_up_to(stream, IDENTITY_BYTES)
    finally:
        stream.close()


def _identity(head: bytes) -> str:
    return hashlib.sha256(head).hexdigest()[:32]


def _drop_copies(found: Discovery) -> None:
    """Read the same content once: of files that begin alike, one that the other repeats as a whole is skipped."""
    by_identity: dict[str, list[SourceFile]] = {}
    for source in found.files:
        by_identity.setdefault(source.file_id, []).append(source)
    dropped: dict[str, str] = {}
    for group in by_identity.values():
        kept: list[tuple[SourceFile, int]] = []
        for source in group if len(group) > 1 else ():
            with suppress(OSError):  # it may be gone by now, which its reader will say
                kept.append((source, content_length(source)))
        kept.sort(key=lambda item: -item[1])
        for place, (source, length) in enumerate(kept):
            for other, _ in kept[:place]:
                if other.name not in dropped and _begins_with(other, source, length):
                    dropped[source.name] = other.name
                    break
    dropped |= _short_copies([source for source in found.files if source.name not in dropped])
    found.skipped += [
        Skipped(source.name, f"{COPY} {dropped[source.name]}", named=False, size_bytes=source.size_bytes, copy_of=dropped[source.name])
        for source in found.files
        if source.name in dropped
    ]
    found.files = [source for source in found.files if source.name not in dropped]


def _short_copies(sources: Sequence[SourceFile]) -> dict[str, str]:
    """Files shorter than an identity's bytes with which a longer one begins: by name, with the longer one's name."""
    if all(source.size_bytes > IDENTITY_BYTES + _PACKING_BYTES for source in sources):
        return {}
    heads: dict[bytes, list[tuple[bytes, str]]] = {}
    for source in sources:
        with suppress(OSError):
            head = head_of(source)
            heads.setdefault(head[:_TELLING_BYTES], []).append((head, source.name))
    found: dict[str, str] = {}
    for alike in heads.values():
        # In order, what a head begins stands right behind it. Equal heads were told apart before.
        for (head, name), (longer, other) in reversed(list(pairwise(sorted(alike)))):
            if len(head) < IDENTITY_BYTES and len(longer) > len(head) and longer.startswith(head):
                found[name] = found.get(other, other)
    return found


def content_length(source: SourceFile) -> int:
    """Bytes after decompression."""
    return sum(len(block) for block in _blocks(source)) if source.compression else source.size_bytes


def _blocks(source: SourceFile) -> Iterator[bytes]:
    stream = source.open()
    try:
        while block := read_up_to(stream, _SPOOL_BLOCK):
            yield block
    finally:
        stream.close()


def _begins_with(longer: SourceFile, shorter: SourceFile, length: int) -> bool:
    try:
        return _agree(longer, shorter, length)
    except OSError:
        return False


def _agree(longer: SourceFile, shorter: SourceFile, length: int) -> bool:
    left = length
    for one, two in zip(_blocks(longer), _blocks(shorter), strict=False):
        size = min(len(two), left)
        if one[:size] != two[:size]:
            return False
        left -= size
        if left <= 0:
            return True
    return left <= 0


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
                if not read_up_to(stream, min(_SPOOL_BLOCK, offset - stream.position)):
                    return found
            found[offset] = read_up_to(stream, length)
    finally:
        stream.close()
    return found
