"""What a look into a file on disk tells: which contents stand in it, how each is to be read, or why it can't be.

A look can be written down. As long as size and time of change of the file are the same, the next run need not look again.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, BinaryIO

from parsers.formats.detection import FileFormat, tell_format
from parsers.sources import filesystems as places
from parsers.sources.archives import (
    Budget,
    DamagedArchiveError,
    Entry,
    LimitError,
    NoBundleError,
    Opener,
    Step,
    archive_of,
    entries,
    spooled,
    tar_entries,
    zip_entries,
)
from parsers.sources.compression import READ_ERROR, BegunStream, Stream, compression_of, open_stream, read_up_to, stream_of
from parsers.sources.files import IDENTITY_BYTES, identity_of, printable

TELLING_BYTES = 64
"""What begins a log tells it from most others."""
_HEAD_BYTES = 512
# How much of a file is looked at, step by step, until it shows what it is.
_SAMPLE_STEPS = (1 << 16, 1 << 20, 1 << 24)
# Clocks of files tick by up to two seconds, and what changes within one tick has the same time.
_TICK_NS = 3 * 10**9


@dataclass(slots=True)
class Measures:
    """Of a content with which others may begin: its length, and fingerprints of its beginnings by their lengths, empty where it is
    shorter. `asked` are those that were asked for this time."""

    length: int | None = None
    beginnings: dict[int, str] = field(default_factory=dict)
    passing: bool = False
    """The store failed meanwhile, so another time may tell more."""
    asked: set[int] = field(default_factory=set, compare=False)

    def keep_asked(self) -> None:
        """Forget what nobody asks for any more."""
        self.beginnings = {upto: told for upto, told in self.beginnings.items() if upto in self.asked}


@dataclass(frozen=True, slots=True)
class Part:
    """A content: that of the file itself, which has no `name`, or a file of an archive, the `number`-th of this name.

    It has an identity and a form, or a `reason` why it can't be read, which `excused` says is nobody's fault. `begins` is the
    same for contents that begin alike, behind `zeros` bytes of zero.
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
    excused: bool = False
    outer: tuple[Step, ...] = ()
    """The archives that its archive stands in, the outermost first."""
    passing: bool = False
    """The store failed, so another look may tell more."""
    measures: Measures = field(default_factory=Measures)


@dataclass(frozen=True, slots=True)
class Look:
    """What stood in a file of this size, last changed at `modified` (nanoseconds since 1970; 0: nobody knows)."""

    modified: int
    size_bytes: int
    parts: tuple[Part, ...]

    def holds(self, now: int) -> bool:
        """Whether a later run may rely on it, which is taken at `now` (nanoseconds since 1970): what changes then shows."""
        return 0 < self.modified < now - _TICK_NS and not any(part.passing or part.measures.passing for part in self.parts)

    @property
    def has_names(self) -> bool:
        """Whether it tells more names than that of the file itself."""
        return any(part.name for part in self.parts)

    def told(self) -> list[dict[str, Any]]:
        """The parts as JSON."""
        return [_told(part) for part in self.parts]

    @staticmethod
    def of(modified: int, size_bytes: int, told: Iterable[Mapping[str, Any]]) -> Look:
        """The look of which `told` gave the parts."""
        return Look(modified, size_bytes, tuple(map(_part, told)))


_PLAIN = Part(0)


def _told(part: Part) -> dict[str, Any]:
    told = {each.name: getattr(part, each.name) for each in fields(Part)}
    told = {name: value for name, value in told.items() if name == "size_bytes" or value != getattr(_PLAIN, name)}
    if part.format is not None:
        told["format"] = asdict(part.format) | {"wrappers": list(part.format.wrappers)}
    if "measures" in told:
        told["measures"] = {"length": part.measures.length, "beginnings": sorted(map(list, part.measures.beginnings.items()))}
    return told


def _part(told: Mapping[str, Any]) -> Part:
    values = dict(told)
    if "format" in values:
        values["format"] = FileFormat(**values["format"] | {"wrappers": tuple(values["format"]["wrappers"])})
    values["outer"] = tuple(map(tuple, values.get("outer", ())))
    measured = values.pop("measures", {})
    return Part(**values, measures=Measures(measured.get("length"), dict(measured.get("beginnings", ()))))


def look_into(path: str, size: int) -> Iterator[Part]:
    """Everything that stands in a file of `size` bytes. Raises OSError, and DamagedArchiveError where the rest can't be told."""
    with places.open_file(path) as file:
        head = file.read(_HEAD_BYTES)
    if not head:
        yield Part(size, reason="empty")
        return
    compression = compression_of(head)
    archive = archive_of(path, compression)
    if archive is None:
        yield _content(open_stream(path, compression, size), Part(size, compression=compression))
        return
    try:
        yield from _Bundle(Budget()).parts(entries(path, archive), archive)
    except NoBundleError as problem:
        yield Part(size, reason=str(problem), excused=True)


@dataclass(slots=True)
class _Bundle:
    """A file on disk that is an archive: how much more of it is looked at, and how often each name was met."""

    budget: Budget
    named: Counter[str] = field(default_factory=Counter)

    def parts(self, found: Iterator[tuple[Entry, Opener]], archive: str, prefix: str = "", outer: tuple[Step, ...] = ()) -> Iterator[Part]:
        """What stands in an archive, which may stand in others."""
        for entry, opener in found:
            self.budget.take_entry()
            name = prefix + printable(entry.name.removeprefix("./").lstrip("/"))
            self.named[name] += 1
            told = Part(entry.size, name, self.named[name], archive=archive, start=entry.start, excused=True, outer=outer)
            try:
                with opener() as file:
                    yield from self._entry(file, told)
            except OSError as problem:
                # What is wrong with the archive itself stays so; the system's errors have numbers.
                yield replace(told, reason=str(problem), passing=problem.errno is not None)

    def _entry(self, file: BinaryIO, part: Part) -> Iterator[Part]:
        compression = compression_of(file.peek(_HEAD_BYTES)[:_HEAD_BYTES])  # type: ignore[attr-defined]
        if compression == "zip":
            yield from self._nested(part, "zip", lambda: zip_entries(spooled(file, self.budget)))
            return
        packing = None if compression == "tar" else compression
        stream = stream_of(file, packing)
        head = read_up_to(stream, _HEAD_BYTES)
        if compression_of(head) == "tar":
            begun = BegunStream(head, stream, self.budget.take_bytes)
            yield from self._nested(part, f"tar+{packing}" if packing else "tar", lambda: tar_entries(begun))
        else:
            yield _content(BegunStream(head, stream), replace(part, compression=compression))

    def _nested(self, part: Part, archive: str, found: Callable[[], Iterator[tuple[Entry, Opener]]]) -> Iterator[Part]:
        """What stands in an archive that is a part of one."""
        if len(part.outer) >= self.budget.depth - 1:
            yield replace(part, reason=f"an archive in {self.budget.depth} others is not read: unpack the outer one first")
            return
        logs = False
        try:
            for each in self.parts(found(), archive, f"{part.name}/", (*part.outer, (str(part.archive), part.start, part.size_bytes))):
                logs = logs or each.format is not None
                yield each
        except LimitError:
            raise
        except NoBundleError as problem:
            yield replace(part, reason=str(problem))
        except DamagedArchiveError as problem:
            yield replace(part, reason=str(problem), excused=not logs)


def _content(stream: Stream, part: Part) -> Part:
    """Identity and form of a content, from as little of it as is enough."""
    try:
        sample, begin, hole, zeros = b"", b"", 0, 0
        told: FileFormat | str = "empty"
        for step in _SAMPLE_STEPS:
            more = read_up_to(stream, step - len(sample))
            while more and not more.strip(b"\x00"):
                # A sparse hole, as a power cut leaves it: the log begins after it.
                hole += len(more)
                more = read_up_to(stream, step)
            if not sample:
                text = more.lstrip(b"\x00")
                if hole + len(more) - len(text) >= IDENTITY_BYTES:
                    zeros = hole + len(more) - len(text)
                    more = text + read_up_to(stream, step - len(text))
                begin = more[:IDENTITY_BYTES]
            sample += more
            told = tell_format(sample, complete=len(sample) < step) if sample else "binary" if hole else "empty"
            if isinstance(told, FileFormat) or told != "no header" or len(sample) < step:
                break
        problem = stream.problem
        part = replace(part, passing=problem is not None and problem.startswith(READ_ERROR))
        if problem and not sample:
            return replace(part, reason=problem)
        if isinstance(told, str):
            return replace(part, reason={"no header": "not a log: no line is in a known layout"}.get(told, told))
        identity = identity_of(begin, zeros)
        return replace(part, file_id=identity, format=told, begins=zlib.crc32(begin[:TELLING_BYTES]), zeros=zeros)
    finally:
        stream.close()
