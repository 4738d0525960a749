"""By what content that has grown, or was renamed, compressed or copied, is known again: hashes of the bytes before places in it.

Those of plain files are read at their places; those of compressed ones, and of files in archives, are taken as their content
passes by.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from parsers.sources.compression import Stream, read_over
from parsers.sources.files import BLOCK_BYTES, IDENTITY_BYTES, SourceFile, head_of, identity_of
from parsers.sources.filesystems import open_file, read_at

Checkpoint = tuple[int, str]
"""A place in the decompressed content, and the hash of up to 4 KiB before it."""

_ENOUGH = 1 << 20
"""What looks as it did, and agrees so far, is the same."""


def _places() -> Iterator[int]:
    """Where content has checkpoints beside its end: at most a third of it lies behind the last of them."""
    place = IDENTITY_BYTES
    while True:
        yield place
        yield place * 3 // 2
        place *= 2


class MarkedStream:
    """A stream that is read from its beginning, and what is known of the content that has passed: its identity, and hashes at `places`."""

    def __init__(self, stream: Stream, zeros: int, places: Iterable[int] | None = None) -> None:
        self._stream, self._zeros = stream, zeros
        self._places = iter(_places() if places is None else sorted(places))
        self._next = next(self._places, None)
        self._head, self._tail = b"", b""
        self._found: dict[int, str] = {}
        self.position = stream.position
        self.problem = stream.problem

    @property
    def tells(self) -> bool:
        """Whether enough has passed to know the identity by."""
        return self.problem is None or len(self._head) == IDENTITY_BYTES

    @property
    def identity(self) -> str:
        """That of what has passed."""
        return identity_of(self._head, self._zeros)

    def checkpoints(self) -> dict[int, str]:
        """Hashes by place, and that at the end; none of content that its identity tells of as a whole."""
        return self._found | {self.position: _hash(self._tail)} if self.position >= IDENTITY_BYTES else {}

    def readinto(self, target: memoryview) -> int:
        """As `Stream` says."""
        begin = self.position
        got = self._stream.readinto(target)
        self.position, self.problem = self._stream.position, self._stream.problem
        data = target[:got]
        if len(self._head) < IDENTITY_BYTES:
            self._head += bytes(data[max(0, self._zeros - begin) :][: IDENTITY_BYTES - len(self._head)])
        while self._next is not None and self._next <= begin + got:
            at = self._next - begin
            self._found[self._next] = _hash((self._tail + bytes(data[max(0, at - IDENTITY_BYTES) : at]))[-IDENTITY_BYTES:])
            self._next = next(self._places, None)
        self._tail = (self._tail + bytes(data[-IDENTITY_BYTES:]))[-IDENTITY_BYTES:]
        return got

    def skip(self, count: int) -> bool:
        """Pass over bytes; false when there are fewer."""
        return read_over(self, count)

    def close(self) -> None:
        """Let go of the stream."""
        self._stream.close()


def checkpoints(source: SourceFile, length: int, known: Sequence[Checkpoint] = ()) -> list[Checkpoint]:
    """Checkpoints of a plain file, of which the last one is at `length`; `known` ones are not read again."""
    if length < IDENTITY_BYTES:
        return []
    told = dict(known)
    try:
        # The file that was read may have another name by now.
        if identity_of(head_of(source), source.zeros) == source.file_id:
            with open_file(source.path) as file:
                ends = _ends(length)
                return [(at, told[at] if at in told and at != length else _hash(read_at(file, *_before(at)))) for at in ends]
    except OSError:
        pass
    return list(known)


def checkpoint_parts(source: SourceFile, length: int) -> list[tuple[int, int]]:
    """What of a file its checkpoints are made of, as [begin, end)."""
    return [(at - IDENTITY_BYTES, at) for at in _ends(length)] if source.plain and length >= IDENTITY_BYTES else []


def _ends(length: int) -> list[int]:
    return [*takewhile(lambda place: place < length, _places()), length]


def length_if_begins_as(source: SourceFile, known: Sequence[Checkpoint], *, alike: bool = False) -> int | None:
    """How long the content is, if it agrees with the last known checkpoint that it reaches, else None. Of compressed content that looks
    `alike` only the beginning is read, and what is given is that place. Raises OSError."""
    if source.plain:
        reached = [(at, digest) for at, digest in known if at <= source.size_bytes]
        if not reached:
            return source.size_bytes
        at, digest = max(reached)
        with open_file(source.path) as file:
            return source.size_bytes if _hash(read_at(file, *_before(at))) == digest else None
    wanted = dict(known)
    upto = max((at for at in wanted if at <= _ENOUGH), default=0) if alike else None
    stream = MarkedStream(source.open(), source.zeros, wanted)
    try:
        scratch = memoryview(bytearray(BLOCK_BYTES))
        while upto is None or stream.position < upto:
            if not stream.readinto(scratch[: None if upto is None else upto - stream.position]):
                break
    finally:
        stream.close()
    agreed = [told == wanted[at] for at, told in sorted(stream.checkpoints().items()) if at in wanted]
    return stream.position if not agreed or agreed[-1] else None


def head_hashes(source: SourceFile, lengths: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Identity that the content would have if it ended after each of `lengths`, which are shorter than an identity's bytes and are
    counted from where it begins. Raises OSError."""
    head = head_of(source)
    for length in lengths:
        if length <= len(head):
            yield length, identity_of(head[:length], source.zeros)


def _before(at: int) -> tuple[int, int]:
    """How many bytes a checkpoint is made of, and from where on."""
    begin = max(0, at - IDENTITY_BYTES)
    return at - begin, begin


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
