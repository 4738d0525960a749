"""What to read: paths, folders, globs and standard input to source files with an identity.

Whether a file is a log, and in which form, is told by its content and never by its name. What was met in a
folder and is no log is skipped; what was named on the command line and cannot be read is rejected.
"""

from __future__ import annotations

import glob
import os
import re
import stat
import sys
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from parsers.sources import filesystems as stores
from parsers.sources.archives import DamagedArchiveError
from parsers.sources.duplicates import copies_among
from parsers.sources.files import BLOCK_BYTES, COPY, UNREADABLE, Skipped, SourceFile, printable
from parsers.sources.filesystems import State
from parsers.sources.inspection import Look, Part, look_into

if TYPE_CHECKING:
    from parsers.sources.inspection import Look


@dataclass(slots=True)
class Discovery:
    """What was found: files to read, files that are not read, arguments that name nothing, and by their names all files on disk that were
    looked into, each with what later runs may rely on, if so."""

    files: list[SourceFile] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    looks: dict[str, Look | None] = field(default_factory=dict)


_GLOB_CHARACTERS = re.compile(r"[*?\[]")
_ROTATED = re.compile(r"(?:[.-][\dT_:.-]+|\.(?:gz|bz2|xz|zst|old|bak|log))+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A path to look at. `state` is what a listing told of it: time of its last change, and size."""

    path: str
    name: str
    relative: str
    named: bool
    state: State | None = None
    trouble: OSError | None = None
    """Why a folder can't be listed, where it is one."""


def discover(paths: Sequence[str], *, rotated: bool = False, before: Callable[[str], Look | None] = lambda _: None) -> Discovery:
    """Look at all paths. With `rotated`, files named also bring their rotated siblings. `before` gives by a file's name what an earlier
    run saw in it: one that has not changed since is not opened."""
    search = _Search(before)
    for argument in paths:
        candidates = list(_candidates(argument, rotated=rotated))
        if not candidates:
            search.found.missing.append(argument)
        search.look_ahead(candidates)
        for candidate in candidates:
            search.take(candidate)
    search.conclude()
    return search.found


def _candidates(argument: str, *, rotated: bool) -> Iterator[_Candidate]:
    if argument == "-":
        spooled = _spool(sys.stdin.buffer.fileno())
        yield _Candidate(spooled, "-", "-", named=True)
        return
    if stores.scheme_of(argument) is not None:
        yield from _remote(argument)
        return
    if os.path.isdir(argument):
        for path, trouble in _walk(argument):
            relative = printable(os.path.relpath(path, argument))
            yield _Candidate(path, printable(path), relative, named=trouble is not None, trouble=trouble)
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
        for place, state in stores.walk(argument):
            yield _Candidate(place, place, place[len(argument.rstrip("/")) + 1 :], named=False, state=state)
    elif stores.exists(argument):
        yield _Candidate(argument, argument, argument.rpartition("/")[2], named=True)
    elif _GLOB_CHARACTERS.search(argument):
        base = argument[: _GLOB_CHARACTERS.search(argument).start()].rpartition("/")[0]  # type: ignore[union-attr]
        for place, state in stores.matches(argument):
            yield _Candidate(place, place, place[len(base) + 1 :], named=True, state=state)


def _walk(folder: str) -> Iterator[tuple[str, OSError | None]]:
    """Files below a folder, and folders that can't be listed, with the reason.

    Links to folders are followed after all else, so that what is within reach by its own name keeps that name. A folder is listed once,
    and none that the given one is in.
    """
    troubles: list[OSError] = []
    listed = {_folder_id(each) for each in Path(folder).resolve().parents}
    waiting = deque([folder])
    while waiting:
        for root, folders, names in os.walk(waiting.popleft(), onerror=troubles.append):
            folders.sort()
            one = _folder_id(root)
            if one in listed:
                folders.clear()
                continue
            listed.add(one)
            waiting.extend(path for path in (os.path.join(root, name) for name in folders) if os.path.islink(path))
            for name in sorted(names):
                yield os.path.join(root, name), None
    yield from ((str(trouble.filename), trouble) for trouble in troubles if not isinstance(trouble, FileNotFoundError))


def _folder_id(path: str | Path) -> object:
    """What tells a folder from others by whatever path it is reached; one that has just vanished is like no other."""
    try:
        status = os.stat(path)
    except OSError:
        return path
    return status.st_dev, status.st_ino


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
        while block := os.read(descriptor, BLOCK_BYTES):
            target.write(block)
    return path


_Inside = tuple[list[Part], Exception | None]
"""What stands in a file, and what kept the rest from being told."""


def _inside(file: tuple[str, State]) -> _Inside:
    path, (_, size) = file
    parts: list[Part] = []
    try:
        for part in look_into(path, size):
            parts.append(part)
    except (DamagedArchiveError, OSError) as problem:
        return parts, problem
    return parts, None


@dataclass(slots=True)
class _Search:
    """The files that were looked at so far. `parts` are the contents of those that can be read, by name; `ahead` what was seen by path
    in files that come next."""

    before: Callable[[str], Look | None]
    found: Discovery = field(default_factory=Discovery)
    parts: dict[str, Part] = field(default_factory=dict)
    taken: dict[str, Look] = field(default_factory=dict)
    seen: set[object] = field(default_factory=set)
    ahead: dict[str, _Inside] = field(default_factory=dict)
    began: int = field(default_factory=time.time_ns)

    def look_ahead(self, candidates: Sequence[_Candidate]) -> None:
        """Look into listed files of a store, all of which are waited for together."""
        listed = {each.path: (each, each.state) for each in candidates if each.state is not None and each.path not in self.seen}
        new = [(path, state) for path, (each, state) in listed.items() if self._known(each, path, state) is None]
        self.ahead = {path: inside for (path, _), inside in zip(new, stores.at_once(_inside, new, itemgetter(0)), strict=True)}

    def _known(self, candidate: _Candidate, path: str, state: State) -> Look | None:
        """What an earlier run saw in a file that has not changed since."""
        known = self.before(candidate.name) if path == candidate.path else None
        return known if known is not None and (known.modified, known.size_bytes) == state else None

    def take(self, candidate: _Candidate) -> None:
        size = 0
        self.found.looks.setdefault(candidate.name, None)
        try:
            if candidate.trouble is not None:
                raise candidate.trouble
            path, state, one = _regular(candidate)
            modified, size = state
            if one in self.seen:
                self._skip(candidate.name, "the same file was named before", size)
                return
            self.seen.add(one)
            known = self._known(candidate, path, state)
            if known is not None:
                self._place(candidate, path, known.parts, unchanged=True)
                self.taken[candidate.name] = known
                return
            parts, problem = self.ahead.pop(path) if path in self.ahead else _inside((path, state))
            self._place(candidate, path, parts, unchanged=False)
            if problem is not None:
                raise problem
            if path == candidate.path:
                self.taken[candidate.name] = Look(modified, size, tuple(parts))
        except _NotRegularError as other:
            self._skip(candidate.name, str(other), size, named=candidate.named)
        except DamagedArchiveError as damage:
            # An archive of logs is missed wherever it was met.
            named = candidate.named or any(source.path == candidate.path for source in self.found.files)
            self._skip(candidate.name, str(damage), size, named=named)
        except OSError as failure:
            self._skip(candidate.name, f"{UNREADABLE}: {failure.strerror or failure}", size, named=candidate.named)

    def _place(self, candidate: _Candidate, path: str, parts: Sequence[Part], *, unchanged: bool) -> None:
        """Files to read, or that are not read, as what stands in a file on disk."""
        for part in parts:
            inner = f"/{part.name}" if part.archive else ""
            name = f"{candidate.name}{inner}" + (f"#{part.number}" if part.number > 1 else "")  # as `tar -r` appends what has grown
            if part.file_id is None or part.format is None:
                self._skip(name, part.reason or "empty", part.size_bytes, named=candidate.named and not part.excused)
                continue
            relative = part.name if part.archive and candidate.named else f"{candidate.relative}{inner}"
            named = candidate.named and part.archive is None
            told = (part.compression, part.size_bytes, part.file_id, part.format, part.archive, part.start, unchanged, part.zeros)
            self.found.files.append(SourceFile(path, name, relative, named, *told, outer=part.outer))
            self.parts[name] = part

    def _skip(self, name: str, reason: str, size: int, *, named: bool = False) -> None:
        self.found.skipped.append(Skipped(name, reason, named=named, size_bytes=size))

    def conclude(self) -> None:
        """Read the same content once, and say what later runs may rely on."""
        found = self.found
        copies = copies_among(found.files, self.parts)
        for source in found.files:
            if source.name in copies:
                original = copies[source.name]
                found.skipped.append(Skipped(source.name, f"{COPY} {original}", False, source.size_bytes, original))
        found.files = [source for source in found.files if source.name not in copies]
        found.looks |= {name: look for name, look in self.taken.items() if look.holds(self.began)}


class _NotRegularError(Exception):
    """A path that is no file with a content."""


def _regular(candidate: _Candidate) -> tuple[str, State, object]:
    """Where the content can be read twice, which is beside the path when a pipe was named; its time of change and size; what tells it
    from others. Raises OSError."""
    if stores.scheme_of(candidate.path) is not None:
        return candidate.path, candidate.state or stores.state_of(candidate.path), candidate.path
    path, status = candidate.path, os.stat(candidate.path)
    if stat.S_ISFIFO(status.st_mode) and candidate.named:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            path = _spool(descriptor)
        finally:
            os.close(descriptor)
        status = os.stat(path)
    elif not stat.S_ISREG(status.st_mode):
        raise _NotRegularError("not a regular file")
    return path, (status.st_mtime_ns, status.st_size), (status.st_dev, status.st_ino)
