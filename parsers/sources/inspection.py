"""Inspect files on disk: their contents, how to read each, or why not.

Inspections can be stored. While size and time of change of a file stay the same, the next run need not repeat them.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, BinaryIO

from parsers.formats.detection import NO_HEADER, FileFormat, Teller, detect_format
from parsers.sources import filesystems as places
from parsers.sources.archives import (
    ArchiveEntry,
    DamagedArchiveError,
    LimitError,
    NoBundleError,
    Opener,
    Step,
    UnpackingLimits,
    archive_of,
    entries,
    spool,
    tar_entries,
    zip_entries,
)
from parsers.sources.compression import READ_ERROR, BegunStream, ForwardReader, compression_of, open_stream, read_up_to, stream_of
from parsers.sources.files import IDENTITY_BYTES, identity_of, printable
from parsers.sources.foreign_files import BINARY, reason_of

TELLING_BYTES = 64
"""Length of the beginning that distinguishes most logs."""
_HEAD_BYTES = 512
_DATABASE = b"SQLite format 3\0"
"""Most of a database may be text."""
# Sizes of samples, increasing until the form of a file is known.
_SAMPLE_STEPS = (1 << 16, 1 << 20, 1 << 24)
# Time stamps of files have a resolution of up to two seconds; changes within it have the same time.
_TICK_NS = 3 * 10**9


@dataclass(slots=True)
class Measures:
    """Measurements of a content that others may begin with.

    Its length, and fingerprints of its beginnings by length, empty if it is shorter. `needed_lengths` are the lengths used by
    this run.
    """

    length: int | None = None
    beginnings: dict[int, str] = field(default_factory=dict)
    is_passing: bool = False
    """The store failed, so a later attempt may give more."""
    needed_lengths: set[int] = field(default_factory=set, compare=False)

    def keep_asked(self) -> None:
        """Discard fingerprints that are no longer used."""
        self.beginnings = {upto: fingerprint for upto, fingerprint in self.beginnings.items() if upto in self.needed_lengths}


@dataclass(frozen=True, slots=True)
class ContentPart:
    """Content of a file on disk (no `name`) or in an archive.

    `number` counts files of the same name. It has an identity and a format, or a `reason` why it cannot be read, which
    is no error if `is_excused`. `begins` is equal for contents with the same beginning, after `zeros` zero bytes.
    """

    size_bytes: int
    name: str = ""
    number: int = 1
    file_id: str | None = None
    format: FileFormat | None = None
    compression: str | None = None
    archive: str | None = None
    start: int = 0
    begins: int = 0
    zeros: int = 0
    reason: str | None = None
    is_excused: bool = False
    outer: tuple[Step, ...] = ()
    """Enclosing archives of its archive, outermost first."""
    is_passing: bool = False
    """The store failed, so a later inspection may give more."""
    measures: Measures = field(default_factory=Measures)


@dataclass(frozen=True, slots=True)
class Inspection:
    """Contents of a file with this size, last changed at `modified`.

    Nanoseconds since 1970; 0 if unknown.
    """

    modified: int
    size_bytes: int
    parts: tuple[ContentPart, ...]

    def holds(self, now: int) -> bool:
        """Whether a later run may rely on an inspection made at `now`.

        Nanoseconds since 1970. A later change must be visible in the time stamp.
        """
        return 0 < self.modified < now - _TICK_NS and not any(part.is_passing or part.measures.is_passing for part in self.parts)

    @property
    def has_names(self) -> bool:
        """True if it contains names other than that of the file."""
        return any(part.name for part in self.parts)

    def to_json(self) -> list[dict[str, Any]]:
        """The parts as JSON."""
        return [_part_values(part) for part in self.parts]

    @staticmethod
    def from_json(modified: int, size_bytes: int, contents: Iterable[Mapping[str, Any]]) -> Inspection:
        """Restore an inspection from the result of `to_json`."""
        return Inspection(modified, size_bytes, tuple(map(_part, contents)))


_PLAIN = ContentPart(0)


def _part_values(part: ContentPart) -> dict[str, Any]:
    values = {field.name: getattr(part, field.name) for field in fields(ContentPart)}
    values = {name: value for name, value in values.items() if name == "size_bytes" or value != getattr(_PLAIN, name)}
    if part.format is not None:
        values["format"] = asdict(part.format) | {"wrappers": list(part.format.wrappers)}
    if "measures" in values:
        values["measures"] = {"length": part.measures.length, "beginnings": sorted(map(list, part.measures.beginnings.items()))}
    return values


def _part(stored: Mapping[str, Any]) -> ContentPart:
    values = dict(stored)
    if "format" in values:
        values["format"] = FileFormat(**values["format"] | {"wrappers": tuple(values["format"]["wrappers"])})
    values["outer"] = tuple(map(tuple, values.get("outer", ())))
    measured = values.pop("measures", {})
    return ContentPart(**values, measures=Measures(measured.get("length"), dict(measured.get("beginnings", ()))))


def inspect_contents(path: str, size: int, tell: Teller = detect_format) -> Iterator[ContentPart]:
    """Contents of a file of `size` bytes.

    Raises OSError, and DamagedArchiveError if the rest is unreadable.
    """
    with places.open_file(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        yield ContentPart(size, reason="empty")
        return
    compression = compression_of(head)
    archive = archive_of(path, compression)
    if archive is None:
        yield _content(open_stream(path, compression, size), ContentPart(size, compression=compression), tell)
        return
    try:
        yield from _Bundle(UnpackingLimits(), tell).parts(entries(path, archive), archive)
    except NoBundleError as problem:
        yield ContentPart(size, reason=str(problem), is_excused=True)


@dataclass(slots=True)
class _Bundle:
    """An archive on disk: remaining limits, and counts of names."""

    budget: UnpackingLimits
    tell: Teller
    named: Counter[str] = field(default_factory=Counter)

    def parts(
        self, entries: Iterator[tuple[ArchiveEntry, Opener]], archive: str, prefix: str = "", outer: tuple[Step, ...] = ()
    ) -> Iterator[ContentPart]:
        """Contents of an archive, which may be nested."""
        for entry, opener in entries:
            self.budget.take_entry()
            name = prefix + printable(entry.name.removeprefix("./").lstrip("/"))
            self.named[name] += 1
            inner_part = ContentPart(entry.size, name, self.named[name], archive=archive, start=entry.start, is_excused=True, outer=outer)
            try:
                with opener() as file:
                    yield from self._entry(file, inner_part)
            except OSError as problem:
                # Damage of the archive itself is permanent; errors of the system have numbers.
                yield replace(inner_part, reason=str(problem), is_passing=problem.errno is not None)

    def _entry(self, file: BinaryIO, part: ContentPart) -> Iterator[ContentPart]:
        compression = compression_of(file.peek(_HEAD_BYTES)[:_HEAD_BYTES])  # type: ignore[attr-defined]
        if compression == "zip":
            yield from self._nested(part, "zip", lambda: zip_entries(spool(file, self.budget)))
            return
        packing = None if compression == "tar" else compression
        stream = stream_of(file, packing)
        head = read_up_to(stream, _HEAD_BYTES)
        if compression_of(head) == "tar":
            begun = BegunStream(head, stream, self.budget.take_bytes)
            yield from self._nested(part, f"tar+{packing}" if packing else "tar", lambda: tar_entries(begun))
        else:
            yield _content(BegunStream(head, stream), replace(part, compression=compression), self.tell)

    def _nested(
        self, part: ContentPart, archive: str, entries: Callable[[], Iterator[tuple[ArchiveEntry, Opener]]]
    ) -> Iterator[ContentPart]:
        """Contents of an archive nested in this one."""
        if len(part.outer) >= self.budget.depth - 1:
            yield replace(part, reason=f"an archive in {self.budget.depth} others is not read: unpack the outer one first")
            return
        logs = False
        try:
            for part_inside in self.parts(
                entries(), archive, f"{part.name}/", (*part.outer, (str(part.archive), part.start, part.size_bytes))
            ):
                logs = logs or part_inside.format is not None
                yield part_inside
        except LimitError:
            raise
        except NoBundleError as problem:
            yield replace(part, reason=str(problem))
        except DamagedArchiveError as problem:
            yield replace(part, reason=str(problem), is_excused=not logs)


def _content(stream: ForwardReader, part: ContentPart, tell: Teller) -> ContentPart:
    """Identity and format of a content, from the smallest sufficient sample."""
    try:
        sample, begin, hole, zeros = b"", b"", 0, 0
        file_format: FileFormat | str = "empty"
        for step in _SAMPLE_STEPS:
            following = read_up_to(stream, step - len(sample))
            while following and not following.strip(b"\x00"):
                # A sparse hole, for example after a power cut: the log begins after it.
                hole += len(following)
                following = read_up_to(stream, step)
            if not sample:
                text = following.lstrip(b"\x00")
                if hole + len(following) - len(text) >= IDENTITY_BYTES:
                    zeros = hole + len(following) - len(text)
                    following = text + read_up_to(stream, step - len(text))
                begin = following[:IDENTITY_BYTES]
            sample += following
            if not sample:
                file_format = BINARY if hole else "empty"
            else:
                file_format = BINARY if sample.startswith(_DATABASE) else tell(sample, is_complete=len(sample) < step)
            if isinstance(file_format, FileFormat) or file_format != NO_HEADER or len(sample) < step:
                break
        problem = stream.problem
        part = replace(part, is_passing=problem is not None and problem.startswith(READ_ERROR))
        if problem and not sample:
            return replace(part, reason=problem)
        if problem and isinstance(file_format, str) and file_format != BINARY:
            # A damaged block of bzip2 is unpacked to scrambled text, whose layout says nothing of the log.
            return replace(part, reason=problem)
        if isinstance(file_format, str):
            return replace(part, reason=reason_of(file_format, sample))
        identity = identity_of(begin, zeros)
        return replace(part, file_id=identity, format=file_format, begins=zlib.crc32(begin[:TELLING_BYTES]), zeros=zeros)
    finally:
        stream.close()
