"""Find files to read: from paths, folders, globs and standard input.

Content decides whether a file is a log, and in which form; its name does not. A file in a folder that is no log is
skipped; one named on the command line that cannot be read is rejected.
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
from functools import partial
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING

from parsers.formats.detection import Teller, detect_format
from parsers.sources import filesystems as stores
from parsers.sources.archives import DamagedArchiveError
from parsers.sources.duplicates import copies_among
from parsers.sources.files import BLOCK_BYTES, COPY, UNREADABLE, SkippedFile, SourceFile, printable
from parsers.sources.filesystems import GLOB_CHARACTERS, FileState
from parsers.sources.inspection import ContentPart, Inspection, inspect_contents

if TYPE_CHECKING:
    from parsers.sources.inspection import Inspection


@dataclass(slots=True)
class Discovery:
    """The result: files to read, other files, and arguments without files.

    `inspections` holds the inspection of each file on disk, by name, None if later runs may not rely on it.
    """

    files: list[SourceFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    inspections: dict[str, Inspection | None] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    """Notes for the user about how files are read."""


_ROTATED = re.compile(r"(?:[.-][\dT_:.-]+|\.(?:gz|bz2|xz|zst|old|bak|log))+")


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A path to inspect.

    `state` is the time of change and size from a listing.
    """

    path: str
    name: str
    relative: str
    is_named: bool
    state: FileState | None = None
    trouble: OSError | None = None
    """Why a folder or a store cannot be listed, if it is one."""


def discover(
    paths: Sequence[str],
    *,
    include_rotated: bool = False,
    before: Callable[[str], Inspection | None] = lambda _: None,
    tell: Teller = detect_format,
) -> Discovery:
    """Inspect all paths.

    With `include_rotated`, named files include their rotated siblings. `before` returns an earlier run's inspection of a file
    by name; an unchanged file is not opened. `tell` tells the form of a content.
    """
    search = _Search(before, tell)
    for argument in paths:
        candidates = list(_candidates(argument, include_rotated=include_rotated))
        if not candidates:
            search.discovery.missing.append(argument)
        search.look_ahead(candidates)
        for candidate in candidates:
            search.take(candidate)
    search.conclude()
    return search.discovery


def _candidates(argument: str, *, include_rotated: bool) -> Iterator[_Candidate]:
    if argument == "-":
        spooled = _spool(sys.stdin.buffer.fileno())
        yield _Candidate(spooled, "-", "-", is_named=True)
        return
    if stores.scheme_of(argument) is not None:
        yield from _remote(argument)
        return
    if os.path.isdir(argument):
        for path, trouble in _walk(argument):
            relative = printable(os.path.relpath(path, argument))
            yield _Candidate(path, printable(path), relative, is_named=trouble is not None, trouble=trouble)
        return
    if os.path.lexists(argument):
        yield _Candidate(argument, printable(argument), printable(os.path.basename(argument)), is_named=True)
        for path in _siblings(argument) if include_rotated else ():
            yield _Candidate(path, printable(path), printable(os.path.basename(path)), is_named=False)
        return
    yield from _matches(argument)


def _matches(pattern: str) -> Iterator[_Candidate]:
    """Files that match a glob, named from the first folder without a wildcard on."""
    wildcard = GLOB_CHARACTERS.search(pattern)
    if wildcard is None:
        return
    base = os.path.dirname(pattern[: wildcard.start()]) or "."
    for path in sorted(glob.glob(pattern, recursive=True)):
        if not os.path.isdir(path):
            yield _Candidate(path, printable(path), printable(os.path.relpath(path, base)), is_named=True)


def _remote(argument: str) -> Iterator[_Candidate]:
    """Files of a store or `file:` URI, in a folder or matching a glob."""
    path = stores.local_path(argument)
    if path is not None:
        yield from _candidates(path, include_rotated=False)
        return
    try:
        yield from _stored(argument)
    except OSError as trouble:
        yield _Candidate(argument, argument, argument, is_named=True, trouble=trouble)


def _stored(argument: str) -> Iterator[_Candidate]:
    """Files of a store. Raises OSError if it can't be asked."""
    if stores.is_folder(argument):
        for place, state in stores.walk(argument):
            yield _Candidate(place, place, place[len(argument.rstrip("/")) + 1 :], is_named=False, state=state)
    elif stores.exists(argument):
        yield _Candidate(argument, argument, argument.rpartition("/")[2], is_named=True)
    elif GLOB_CHARACTERS.search(argument):
        base = argument[: GLOB_CHARACTERS.search(argument).start()].rpartition("/")[0]  # type: ignore[union-attr]
        for place, state in stores.matches(argument):
            yield _Candidate(place, place, place[len(base) + 1 :], is_named=True, state=state)


def _walk(folder: str) -> Iterator[tuple[str, OSError | None]]:
    """Files below a folder, and unlisted folders with the reason.

    Links to folders are followed last, so that files reachable without links keep those paths. A folder is listed only
    once, and parents of the given one never.
    """
    troubles: list[OSError] = []
    listed = {_folder_id(parent) for parent in Path(folder).resolve().parents}
    waiting = deque([folder])
    while waiting:
        for root, folders, names in os.walk(waiting.popleft(), onerror=troubles.append):
            folders.sort()
            folder_id = _folder_id(root)
            if folder_id in listed:
                folders.clear()
                continue
            listed.add(folder_id)
            waiting.extend(path for path in (os.path.join(root, name) for name in folders) if os.path.islink(path))
            for name in sorted(names):
                yield os.path.join(root, name), None
    yield from ((str(trouble.filename), trouble) for trouble in troubles if not isinstance(trouble, FileNotFoundError))


def _folder_id(path: str | Path) -> object:
    """Unique id of a folder, whatever its path.

    The path itself if it has just vanished.
    """
    try:
        status = os.stat(path)
    except OSError:
        return path
    return status.st_dev, status.st_ino


def _siblings(path: str) -> list[str]:
    """Rotated siblings of a file, such as `server.log.1.gz` of `server.log`.

    Further forms: `server.log.2024-05-01-13`, `server-2024-05-01.log`.
    """
    folder, name = os.path.split(path)
    stem, extension = os.path.splitext(name)
    siblings = []
    for other in sorted(os.listdir(folder or ".")):
        starts = [start for start in (name, stem) if start and other.startswith(start)]
        if other != name and extension in other and any(_ROTATED.fullmatch(other[len(start) :]) for start in starts):
            siblings.append(os.path.join(folder, other))
    return siblings


def _spool(descriptor: int) -> str:
    """Copy a pipe to a temporary file, because a source is read twice.

    The file is deleted at the end of the process.
    """
    import atexit

    handle, path = tempfile.mkstemp(prefix="groupscope-", suffix=".stdin")
    atexit.register(Path(path).unlink, missing_ok=True)
    with os.fdopen(handle, "wb") as target:
        while block := os.read(descriptor, BLOCK_BYTES):
            target.write(block)
    return path


_Inside = tuple[list[ContentPart], Exception | None]
"""Contents of a file, and the error that ended its inspection."""


def _inside(file: tuple[str, FileState], tell: Teller) -> _Inside:
    path, (_, size) = file
    parts: list[ContentPart] = []
    try:
        for part in inspect_contents(path, size, tell):
            parts.append(part)
    except (DamagedArchiveError, OSError) as problem:
        return parts, problem
    return parts, None


@dataclass(slots=True)
class _Search:
    """Files inspected so far.

    `parts` are the readable contents by name, `ahead` the contents of the next files by path.
    """

    before: Callable[[str], Inspection | None]
    tell: Teller
    discovery: Discovery = field(default_factory=Discovery)
    parts: dict[str, ContentPart] = field(default_factory=dict)
    taken: dict[str, Inspection] = field(default_factory=dict)
    seen: set[object] = field(default_factory=set)
    ahead: dict[str, _Inside] = field(default_factory=dict)
    began: int = field(default_factory=time.time_ns)

    def look_ahead(self, candidates: Sequence[_Candidate]) -> None:
        """Inspect listed files of a store concurrently."""
        listed = {
            candidate.path: (candidate, candidate.state)
            for candidate in candidates
            if candidate.state is not None and candidate.path not in self.seen
        }
        new = [(path, state) for path, (candidate, state) in listed.items() if self._known(candidate, path, state) is None]
        inspections = stores.map_concurrently(partial(_inside, tell=self.tell), new, itemgetter(0))
        self.ahead = {path: inside for (path, _), inside in zip(new, inspections, strict=True)}

    def _known(self, candidate: _Candidate, path: str, state: FileState) -> Inspection | None:
        """An earlier run's inspection of an unchanged file."""
        known = self.before(candidate.name) if path == candidate.path else None
        return known if known is not None and (known.modified, known.size_bytes) == state else None

    def take(self, candidate: _Candidate) -> None:
        size = 0
        self.discovery.inspections.setdefault(candidate.name, None)
        try:
            if candidate.trouble is not None:
                raise candidate.trouble
            path, state, folder_id = _regular(candidate)
            modified, size = state
            if folder_id in self.seen:
                self._skip(candidate.name, "the same file was named before", size)
                return
            self.seen.add(folder_id)
            known = self._known(candidate, path, state)
            if known is not None:
                self._place(candidate, path, known.parts, is_unchanged=True)
                self.taken[candidate.name] = known
                return
            parts, problem = self.ahead.pop(path) if path in self.ahead else _inside((path, state), self.tell)
            self._place(candidate, path, parts, is_unchanged=False)
            if problem is not None:
                raise problem
            if path == candidate.path:
                self.taken[candidate.name] = Inspection(modified, size, tuple(parts))
        except _NotRegularError as other:
            self._skip(candidate.name, str(other), size, is_named=candidate.is_named)
        except DamagedArchiveError as damage:
            # A damaged archive of logs is reported even if it was not named.
            named = candidate.is_named or any(source.path == candidate.path for source in self.discovery.files)
            self._skip(candidate.name, str(damage), size, is_named=named)
        except OSError as failure:
            self._skip(candidate.name, f"{UNREADABLE}: {failure.strerror or failure}", size, is_named=candidate.is_named)

    def _place(self, candidate: _Candidate, path: str, parts: Sequence[ContentPart], *, is_unchanged: bool) -> None:
        """Add the contents of a file on disk to the result."""
        for part in parts:
            inner = f"/{part.name}" if part.archive else ""
            name = f"{candidate.name}{inner}" + (f"#{part.number}" if part.number > 1 else "")  # `tar -r` repeats the names of grown files
            if part.file_id is None or part.format is None:
                self._skip(name, part.reason or "empty", part.size_bytes, is_named=candidate.is_named and not part.is_excused)
                continue
            relative = part.name if part.archive and candidate.is_named else f"{candidate.relative}{inner}"
            named = candidate.is_named and part.archive is None
            place_fields = (
                part.compression,
                part.size_bytes,
                part.file_id,
                part.format,
                part.archive,
                part.start,
                is_unchanged,
                part.zeros,
            )
            self.discovery.files.append(SourceFile(path, name, relative, named, *place_fields, outer=part.outer))
            self.parts[name] = part

    def _skip(self, name: str, reason: str, size: int, *, is_named: bool = False) -> None:
        self.discovery.skipped.append(SkippedFile(name, reason, is_named=is_named, size_bytes=size))

    def conclude(self) -> None:
        """Remove copies of the same content, and mark what later runs may rely on."""
        discovery = self.discovery
        copies = copies_among(discovery.files, self.parts)
        for source in discovery.files:
            if source.name in copies:
                original = copies[source.name]
                discovery.skipped.append(SkippedFile(source.name, f"{COPY} {original}", False, source.size_bytes, original))
        discovery.files = [source for source in discovery.files if source.name not in copies]
        discovery.inspections |= {name: look for name, look in self.taken.items() if look.holds(self.began)}


class _NotRegularError(Exception):
    """A path without readable content, such as a device."""


def _regular(candidate: _Candidate) -> tuple[str, FileState, object]:
    """Location, state and unique id of a file's content.

    The location differs from the path if a pipe was named, because content is read twice. Raises OSError.
    """
    if stores.scheme_of(candidate.path) is not None:
        return candidate.path, candidate.state or stores.state_of(candidate.path), candidate.path
    path, status = candidate.path, os.stat(candidate.path)
    if stat.S_ISFIFO(status.st_mode) and candidate.is_named:
        descriptor = os.open(path, os.O_RDONLY)
        try:
            path = _spool(descriptor)
        finally:
            os.close(descriptor)
        status = os.stat(path)
    elif not stat.S_ISREG(status.st_mode):
        raise _NotRegularError("not a regular file")
    return path, (status.st_mtime_ns, status.st_size), (status.st_dev, status.st_ino)
