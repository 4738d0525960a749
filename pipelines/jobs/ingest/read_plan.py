"""Compare the files found with `bronze.log_files`: what to read, and from where.

Content is identified by the hash of its beginning and by checkpoints further on, not by name or inode. So a renamed,
compressed or copied file is the same content, a grown one is read from its last start, and content that lost its name
to another file keeps its rows under a new name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain, count
from operator import attrgetter
from typing import Any

from parsers.reading.reader import SourceFile
from parsers.reading.resume import Start, content_end
from parsers.sources import filesystems
from parsers.sources.compression import READ_ERROR
from parsers.sources.content_checkpoints import Checkpoint, head_hashes, length_if_begins_as
from parsers.sources.files import IDENTITY_BYTES, UNREADABLE, SkippedFile, content_length
from pipelines.jobs.registry.resume_states import ResumeState, parse_state

_LITTLE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class KnownFile:
    """Content read by an earlier run.

    `is_cut` is True if reading ended early by an error of the store or of the enclosing archive, which may be gone now.
    `states` are texts by path; few files are compared by their state, so it is parsed when needed.
    """

    path: str
    file_id: str
    size_bytes: int
    bytes_read: int
    options_id: str | None
    is_cut: bool = False
    content_bytes: int | None = None
    """End of the content before trailing zero bytes, as in a preallocated file."""
    zeros: int = 0
    """Number of leading zero bytes, as in `SourceFile`."""
    states: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    @property
    def start(self) -> Start | None:
        """Where reading can continue."""
        state = self._state()
        return Start(state["offset"], state["line"]) if state.get("offset") else None

    @property
    def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Hashes at some places of the content."""
        return tuple((at, digest) for at, digest in self._state().get("checkpoints", ()))

    def _state(self) -> ResumeState:
        return parse_state(self.states.get(self.path, "{}"))

    @property
    def end(self) -> int:
        """End of the content."""
        return self.bytes_read if self.content_bytes is None else self.content_bytes

    @property
    def short(self) -> int | None:
        """Length of the content if it is shorter than the identity, else None."""
        length = self.end - self.zeros
        return length if length < IDENTITY_BYTES else None


@dataclass(slots=True)
class Plan:
    """The result of the comparison.

    `read` are files to read, from a start or completely; the other fields are about paths in the tables.
    """

    read: list[tuple[SourceFile, Start | None]] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    """Path of this input -> path of its known content after this run."""
    renamed: dict[str, str] = field(default_factory=dict)
    """Paths of known content -> the new path of its rows."""
    gone: set[str] = field(default_factory=set)
    """Paths with rows to delete: their content is read again, or has another path."""
    sizes: dict[str, int] = field(default_factory=dict)
    """Paths after this run -> size on disk, if only that has changed."""
    stale: list[str] = field(default_factory=list)
    """Paths of this input with outdated records: catalogue or options have changed."""
    unread: set[str] = field(default_factory=set)
    """Paths that are unreadable at the moment, with known content."""

    @property
    def is_empty(self) -> bool:
        return not (self.read or self.renamed or self.gone or self.sizes or self.stale)


def plan(
    known: Iterable[KnownFile],
    sources: Sequence[SourceFile],
    skipped: Sequence[SkippedFile],
    options_id: Callable[[SourceFile], str],
    *,
    rebuild: bool = False,
    exists: Callable[[str], bool] = filesystems.exists,
) -> Plan:
    """Plan what to read.

    With `rebuild` everything found is read completely; content that no longer exists keeps its rows.
    """
    matching = _SourceMatcher(list(known), sources, skipped, exists)
    result = Plan()
    for source in sources:
        match = matching.of.get(source.name)
        if match is None:
            result.read.append((source, None))
        else:
            _decide(result, source, *match, options_id(source), matching, rebuild=rebuild)
    for skip in skipped:
        if skip.reason.startswith(UNREADABLE) and skip.name in matching.by_path and skip.name not in matching.taken:
            result.unread.add(skip.name)
    _rename_displaced(result, matching, skipped)
    return result


def _decide(
    result: Plan, source: SourceFile, file: KnownFile, length: int, options_id: str, matching: _SourceMatcher, *, rebuild: bool
) -> None:
    """Plan a source that begins with the content of a known file."""
    same_path, same_options = file.path == source.name, file.options_id == options_id
    if length < file.end:  # the missing part cannot be read again
        result.known[source.name] = _keep(result, source, file, length, matching)
    elif rebuild or not (same_options or same_path):
        result.read.append((source, None))
        if not same_path:
            result.gone.add(file.path)
    elif not same_options:
        result.stale.append(source.name)
        result.known[source.name] = file.path
    elif length > file.end or (source.is_plain and source.size_bytes < file.bytes_read):
        result.read.append((source, file.start))
        if not same_path and file.start is not None:
            result.renamed[file.path] = source.name
        elif not same_path:
            result.gone.add(file.path)
    else:
        result.known[source.name] = _keep(result, source, file, length, matching)


def _keep(result: Plan, source: SourceFile, file: KnownFile, length: int, matching: _SourceMatcher) -> str:
    """Return the path for known content that the source has completely or in part."""
    path = file.path
    if path != source.name and length == file.end and not matching.is_still_there(file):
        result.renamed[path] = path = source.name
    elif path != source.name and path in matching.present_names:
        result.renamed[path] = path = _spare_name(result, file, matching)
    if path == source.name and length == file.end and source.size_bytes != file.size_bytes:
        result.sizes[path] = source.size_bytes
    return path


def _spare_name(result: Plan, file: KnownFile, matching: _SourceMatcher) -> str:
    """Find a name for content that lost its name to another file.

    Former files with the same beginning may have used some.
    """
    names = (f"{file.path}@{file.file_id[:12]}{suffix}" for suffix in chain([""], (f"-{number}" for number in count(2))))
    taken = matching.by_path.keys() | set(result.renamed.values())
    return next(name for name in names if name not in taken)


def _rename_displaced(result: Plan, matching: _SourceMatcher, skipped: Sequence[SkippedFile]) -> None:
    """Rename known content that lost its name and was not found again."""
    copies = {skip.name: skip.copy_of for skip in skipped if skip.copy_of is not None}
    for path in sorted(matching.present_names & matching.by_path.keys() - matching.taken - result.unread):
        file = matching.by_path[path]
        if path in copies and matching.holds(copies[path], file):
            result.gone.add(path)
        else:
            result.renamed[path] = _spare_name(result, file, matching)


class _SourceMatcher:
    """Matches each source with known content.

    `of` maps the source's name to the content and the source's length.
    """

    def __init__(
        self, known: Sequence[KnownFile], sources: Sequence[SourceFile], skipped: Sequence[SkippedFile], exists: Callable[[str], bool]
    ) -> None:
        self.by_path = {file.path: file for file in known}
        self.present_names = {source.name for source in sources} | {skip.name for skip in skipped}
        self.taken: set[str] = set()
        self._sources = {source.name: source for source in sources}
        self._damaged = tuple(f"{skip.name}/" for skip in skipped)
        self.of: dict[str, tuple[KnownFile, int]] = {}
        self._exists = exists
        self._by_id: dict[str, list[KnownFile]] = {}
        for file in known:
            self._by_id.setdefault(file.file_id, []).append(file)
        self._look_ahead(sources)
        self._short = sorted({file.short for file in known if file.short is not None})
        self._lengths: dict[tuple[str, str], int | None] = {}
        # Each path keeps its own content before others look for theirs, but a match with the whole content precedes a
        # partial one.
        for whole in (True, False):
            for candidates in (self._same_path, self._candidates):
                self._match([source for source in sources if source.name not in self.of], candidates, is_whole=whole)

    def _look_ahead(self, sources: Sequence[SourceFile]) -> None:
        """Prefetch the bytes to be compared in changed files, and small additions."""
        wanted: dict[str, list[tuple[int, int]]] = {}
        for source in sources:
            file = self.by_path.get(source.name)
            if file is None or not source.is_plain or (source.is_unchanged and file.size_bytes == source.size_bytes):
                continue
            at = max((at for at, _ in file.checkpoints if at <= source.size_bytes), default=0)
            wanted[source.path] = [(max(0, at - IDENTITY_BYTES), at)] if at else []
            if file.start is not None and 0 < source.size_bytes - file.start.offset <= _LITTLE_BYTES:
                wanted[source.path].append((file.start.offset - 1, source.size_bytes))
        filesystems.ahead(wanted)

    def is_still_there(self, file: KnownFile) -> bool:
        """Whether the content may still exist under its path."""
        return file.path not in self.present_names and self._exists(file.path)

    def holds(self, name: str, file: KnownFile) -> bool:
        """Whether the source of this name has all of the content."""
        source = self._sources.get(name)
        with suppress(OSError):
            length = None if source is None else _length_if_same(file, source)
            return length is not None and length >= file.end
        return False

    def _match(self, sources: Sequence[SourceFile], candidates: Callable[[SourceFile], list[KnownFile]], *, is_whole: bool) -> None:
        """Match each source with its first free candidate.

        Candidates are compared by their beginning; with `is_whole` the source must have all of the content.
        """

        def first(source: SourceFile) -> tuple[KnownFile, int] | None:
            with suppress(OSError):  # the file is gone or unreadable, which its reader will report
                return self._first(source, candidates(source), is_whole=is_whole)
            return None

        for source, match in zip(sources, filesystems.map_concurrently(first, sources, attrgetter("path")), strict=True):
            if match is not None and match[0].path in self.taken:  # by a source compared at the same time
                match = first(source)
            if match is not None:
                self.of[source.name] = match
                self.taken.add(match[0].path)

    def _first(self, source: SourceFile, candidates: Iterable[KnownFile], *, is_whole: bool) -> tuple[KnownFile, int] | None:
        """The first free candidate with the same beginning, and the source's length."""
        for file in candidates:
            if file.path in self.taken:
                continue
            pair = source.name, file.path
            if pair not in self._lengths:
                self._lengths[pair] = _length_if_same(file, source, reads_anew=file.is_cut and not source.name.startswith(self._damaged))
            length = self._lengths[pair]
            if length is not None and (length >= file.end or not is_whole):
                return file, length
        return None

    def _same_path(self, source: SourceFile) -> list[KnownFile]:
        file = self.by_path.get(source.name)
        return [file] if file is not None else []

    def _candidates(self, source: SourceFile) -> list[KnownFile]:
        same = list(self._by_id.get(source.file_id, ()))
        for length, identity in head_hashes(source, self._short) if self._short else ():
            same += [file for file in self._by_id.get(identity, ()) if file.short == length and file not in same]
        return sorted(same, key=lambda file: -file.bytes_read)


def _length_if_same(file: KnownFile, source: SourceFile, *, reads_anew: bool = False) -> int | None:
    """Length of the source if its beginning matches the content, else None.

    The shorter of the two must be the beginning of the other. An unchanged file is not read, unless reading it anew may
    give more (`reads_anew`). Of an uncompressed one the end is compared too.
    """
    if (file.path, file.file_id, file.size_bytes) == (source.name, source.file_id, source.size_bytes) and not reads_anew:
        if source.is_unchanged:
            return file.end
        if not source.is_plain:
            return file.end if length_if_begins_as(source, file.checkpoints, are_alike=True) is not None else None
    if file.short is not None:
        same = file.file_id == source.file_id or (file.short, file.file_id) in head_hashes(source, [file.short])
        length = content_length(source) if same else None
    else:
        length = length_if_begins_as(source, file.checkpoints) if file.file_id == source.file_id else None
    hollow = length is not None and source.is_plain and file.content_bytes is not None
    return content_end(source, source.size_bytes) if hollow else length


KNOWN_COLUMNS = ("path", "file_id", "size_bytes", "bytes_read", "options_id", "status", "reason")
"""Columns of `log_files` that `known_files` takes."""


def known_files(rows: Iterable[Sequence[Any]], states: Mapping[str, str]) -> list[KnownFile]:
    """Known content from values of `KNOWN_COLUMNS`, and texts of states by path."""
    return [_known(row, states) for row in rows if row[1]]


def _known(row: Sequence[Any], states: Mapping[str, str]) -> KnownFile:
    path, file_id, size_bytes, bytes_read, options_id, status, reason = row
    state = parse_state(states.get(path, "{}"))
    is_cut = status != "ok" and (reason or "").startswith(READ_ERROR)
    return KnownFile(path, file_id, size_bytes or 0, bytes_read or 0, options_id, is_cut, state.get("end"), state.get("zeros", 0), states)
