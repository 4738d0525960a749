"""Where the reading of a growing file may stop, and go on later as if it had not.

Runs of heartbeats end at multiples of a block, and a plain file with dates in its headers can be read from any place on.
So what lies before the last multiple of a block is settled once a record begins behind it; a later reading begins
there. Whether a file still begins with what was read is told by checkpoints: hashes of the bytes before places in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import BinaryIO

from parsers.files import IDENTITY_BYTES, SourceFile, head_of
from parsers.folding import FOLD_BLOCK_BYTES
from parsers.kernel import MAX_RECORD_BYTES
from parsers.layouts import TORN_HEADER
from parsers.places import open_file, read_at
from parsers.streams import read_up_to

Checkpoint = tuple[int, str]
"""A place in the decompressed content, and the hash of up to 4 KiB before it."""

_READ = 1 << 20


@dataclass(frozen=True, slots=True)
class Start:
    """Where to go on. `line` is the number of the line that holds the byte before `offset`."""

    offset: int
    line: int


def is_resumable(source: SourceFile) -> bool:
    """Whether the records of a file can be told from any place on: plain UTF-8 without envelopes, in a layout with dates."""
    told = source.format
    dated = told.layout_name == "json" or (told.layout.date is not None and told.layout.date.dated)
    return source.plain and not told.wrappers and told.encoding == "utf-8" and dated


def settled_end(source: SourceFile, start: Start | None, block_bytes: int = FOLD_BLOCK_BYTES) -> Start | None:
    """The last multiple of a block behind `start` where no line is torn, with its line; None where there is none, or where lines can't be
    counted."""
    begin = start or Start(0, 1)
    if not is_resumable(source):
        return None
    try:
        with open_file(source.path) as file:
            ends = range(source.size_bytes // block_bytes * block_bytes, begin.offset, -block_bytes)
            end = next((end for end in ends if not _is_torn(file, end)), None)
    except OSError:
        return None
    lines = None if end is None else ends_of_lines(source.path, begin.offset, end)
    return None if end is None or lines is None else Start(end, begin.line + lines)


def _is_torn(file: BinaryIO, end: int) -> bool:
    """Whether a second record begins at or behind `end` in a line that began before: such a line is read as a whole."""
    data = read_at(file, MAX_RECORD_BYTES + 1, end - 1)
    return not data.startswith(b"\n") and TORN_HEADER.search(data[1:].partition(b"\n")[0].decode("utf-8", "replace")) is not None


def ends_of_lines(path: str, begin: int, end: int) -> int | None:
    """How many lines the byte before `end` is behind the one before `begin`; None where zero bytes lie between, or the file can't be read
    any more, which its reader will say."""
    try:
        with open_file(path) as file:
            return _ends(file, max(0, begin - 1), end - 1)
    except OSError:
        return None


def _ends(file: BinaryIO, begin: int, end: int) -> int | None:
    count = 0
    while begin < end:
        block = read_at(file, min(_READ, end - begin), begin)
        if not block or b"\x00" in block:
            return None
        count += block.count(b"\n")
        begin += len(block)
    return count


def content_end(source: SourceFile, length: int) -> int:
    """Where the last byte of a plain file is that is not zero: what is behind it up to `length` may still be filled in."""
    try:
        with open_file(source.path) as file:
            while length:
                begin = max(0, length - _READ)
                kept = read_at(file, length - begin, begin).rstrip(b"\x00")
                if kept:
                    return begin + len(kept)
                length = begin
    except OSError:  # its reader will say
        pass
    return length


def checkpoints(source: SourceFile, length: int, known: Sequence[Checkpoint] = ()) -> list[Checkpoint]:
    """Checkpoints of a plain file at powers of two and at `length`; of other files none, since they don't grow."""
    places = _checkpoint_places(source, length)
    if not places:
        return []
    told = dict(known)
    try:
        with open_file(source.path) as file:
            # The file that was read may have another name by now.
            if _hash(_before(file, IDENTITY_BYTES)) == source.file_id:
                return [(at, told[at] if at in told and at != length else _hash(_before(file, at))) for at in places]
    except OSError:
        pass
    return list(known)


def checkpoint_parts(source: SourceFile, length: int) -> list[tuple[int, int]]:
    """What of a file its checkpoints are made of, as [begin, end)."""
    return [(max(0, at - IDENTITY_BYTES), at) for at in _checkpoint_places(source, length)]


def _checkpoint_places(source: SourceFile, length: int) -> list[int]:
    if not source.plain or length < IDENTITY_BYTES:
        return []
    places = []
    place = IDENTITY_BYTES
    while place < length:
        places.append(place)
        place *= 2
    return [*places, length]


def begins_as(source: SourceFile, length: int, known: Sequence[Checkpoint]) -> bool:
    """Whether the content, `length` bytes long, agrees with the last checkpoint that it reaches."""
    reached = [(at, digest) for at, digest in known if at <= length]
    if not reached:
        return True
    at, digest = max(reached)
    if source.plain:
        with open_file(source.path) as file:
            return _hash(_before(file, at)) == digest
    return _hash(_read_before(source, at)) == digest


def head_hashes(source: SourceFile, lengths: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Identity that the content would have if it ended after each of `lengths`, which are shorter than an identity's bytes."""
    head = head_of(source)
    for length in lengths:
        if length <= len(head):
            yield length, _hash(head[:length])


def _before(file: BinaryIO, at: int) -> bytes:
    begin = max(0, at - IDENTITY_BYTES)
    return read_at(file, at - begin, begin)


def _read_before(source: SourceFile, at: int) -> bytes:
    stream = source.open()
    try:
        begin = max(0, at - IDENTITY_BYTES)
        while stream.position < begin and read_up_to(stream, min(_READ, begin - stream.position)):
            pass
        return read_up_to(stream, at - begin)
    finally:
        stream.close()


def _hash(content: bytes) -> str:
    """As the identity of files is made."""
    return hashlib.sha256(content).hexdigest()[:32]
