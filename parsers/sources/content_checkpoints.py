"""Checkpoints of content: hashes at positions, to recognise known content.

They identify content that has grown, or was renamed, compressed or copied. Plain files are hashed at these positions;
compressed ones and files in archives while they are read.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from itertools import takewhile

from parsers.sources.compression import ForwardReader, read_over
from parsers.sources.files import BLOCK_BYTES, IDENTITY_BYTES, SourceFile, head_of, identity_of
from parsers.sources.filesystems import open_file, read_at

Checkpoint = tuple[int, str]
"""A position in decompressed content; hash of up to 4 KiB before it."""

_ENOUGH = 1 << 20
"""A match up to here suffices if the file looks unchanged."""


def _places() -> Iterator[int]:
    """Positions of checkpoints besides the end.

    At most a third of the content lies after the last one.
    """
    place = IDENTITY_BYTES
    while True:
        yield place
        yield place * 3 // 2
        place *= 2


class MarkedStream:
    """A stream from the start of content, with its identity and hashes at `places`."""

    def __init__(self, stream: ForwardReader, zeros: int, places: Iterable[int] | None = None) -> None:
        self._stream, self._zeros = stream, zeros
        self._places = iter(_places() if places is None else sorted(places))
        self._next = next(self._places, None)
        self._head, self._tail = b"", b""
        self._fingerprints: dict[int, str] = {}
        self.position = stream.position
        self.problem, self.damaged_from = stream.problem, stream.damaged_from

    @property
    def is_identified(self) -> bool:
        """True if enough was read to know the identity."""
        return self.problem is None or len(self._head) == IDENTITY_BYTES

    @property
    def identity(self) -> str:
        """Identity of the content read so far."""
        return identity_of(self._head, self._zeros)

    def checkpoints(self) -> dict[int, str]:
        """Hashes by position, including the end.

        Empty if the identity covers the whole content.
        """
        return self._fingerprints | {self.position: _hash(self._tail)} if self.position >= IDENTITY_BYTES else {}

    def readinto(self, target: memoryview) -> int:
        """Read as `ForwardReader` does."""
        begin = self.position
        byte_count = self._stream.readinto(target)
        self.position, self.problem, self.damaged_from = self._stream.position, self._stream.problem, self._stream.damaged_from
        data = target[:byte_count]
        if len(self._head) < IDENTITY_BYTES:
            self._head += bytes(data[max(0, self._zeros - begin) :][: IDENTITY_BYTES - len(self._head)])
        while self._next is not None and self._next <= begin + byte_count:
            at = self._next - begin
            self._fingerprints[self._next] = _hash((self._tail + bytes(data[max(0, at - IDENTITY_BYTES) : at]))[-IDENTITY_BYTES:])
            self._next = next(self._places, None)
        self._tail = (self._tail + bytes(data[-IDENTITY_BYTES:]))[-IDENTITY_BYTES:]
        return byte_count

    def skip(self, count: int) -> bool:
        """Skip bytes; return False if there are fewer."""
        return read_over(self, count)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def checkpoints(source: SourceFile, length: int, known: Sequence[Checkpoint] = ()) -> list[Checkpoint]:
    """Checkpoints of a plain file, the last one at `length`.

    `known` ones are not read again.
    """
    if length < IDENTITY_BYTES:
        return []
    prints = dict(known)
    try:
        # The file that was read may have been renamed since.
        if identity_of(head_of(source), source.zeros) == source.file_id:
            with open_file(source.path) as file:
                ends = _ends(length)
                return [(at, prints[at] if at in prints and at != length else _hash(read_at(file, *_before(at)))) for at in ends]
    except OSError:
        pass
    return list(known)


def checkpoint_parts(source: SourceFile, length: int) -> list[tuple[int, int]]:
    """Ranges, [begin, end), that checkpoints of a file are made from."""
    return [(at - IDENTITY_BYTES, at) for at in _ends(length)] if source.is_plain and length >= IDENTITY_BYTES else []


def _ends(length: int) -> list[int]:
    return [*takewhile(lambda place: place < length, _places()), length]


def length_if_begins_as(source: SourceFile, known: Sequence[Checkpoint], *, are_alike: bool = False) -> int | None:
    """Length of content that agrees with its last known checkpoint, else None.

    Only checkpoints within the content count. Of compressed content that looks unchanged (`are_alike`) only the beginning
    is read, and the position of that checkpoint is returned. Raises OSError.
    """
    if source.is_plain:
        reached = [(at, digest) for at, digest in known if at <= source.size_bytes]
        if not reached:
            return source.size_bytes
        at, digest = max(reached)
        with open_file(source.path) as file:
            return source.size_bytes if _hash(read_at(file, *_before(at))) == digest else None
    wanted = dict(known)
    upto = max((at for at in wanted if at <= _ENOUGH), default=0) if are_alike else None
    stream = MarkedStream(source.open(), source.zeros, wanted)
    try:
        scratch = memoryview(bytearray(BLOCK_BYTES))
        while upto is None or stream.position < upto:
            if not stream.readinto(scratch[: None if upto is None else upto - stream.position]):
                break
    finally:
        stream.close()
    agreed = [fingerprint == wanted[at] for at, fingerprint in sorted(stream.checkpoints().items()) if at in wanted]
    return stream.position if not agreed or agreed[-1] else None


def head_hashes(source: SourceFile, lengths: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Identities that the content would have if it ended after each of `lengths`.

    The lengths are shorter than the bytes of an identity, and count from the start of the content. Raises OSError.
    """
    head = head_of(source)
    for length in lengths:
        if length <= len(head):
            yield length, identity_of(head[:length], source.zeros)


def _before(at: int) -> tuple[int, int]:
    """Length and start of the bytes that a checkpoint is made from."""
    begin = max(0, at - IDENTITY_BYTES)
    return at - begin, begin


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:32]
