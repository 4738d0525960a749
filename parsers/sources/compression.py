"""Decompressed bytes of a file, read forward in blocks of bounded size.

The first bytes show the kind of compression. A compressed file that ends early or is damaged returns all readable
bytes; then `problem` describes the damage, at `position`. Where a checksum or the decoder found that bytes changed,
`damaged_from` is the position from which none is certain: the start of the member, because it has one checksum.
"""

from __future__ import annotations

import bz2
import io
import lzma
import sys
import zlib
from collections.abc import Callable
from typing import BinaryIO, Protocol, cast

from parsers.sources.filesystems import open_file

MAGIC: tuple[tuple[bytes, str], ...] = (
    (b"\x1f\x8b", "gzip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
    # RFC 8878, 3.1.2: frames without content, which begin each block of pzstd and end seekable files.
    *((bytes((number,)) + b"\x2a\x4d\x18", "zstd") for number in range(0x50, 0x60)),
    (b"PK\x03\x04", "zip"),
)
READ_ERROR = "read error"
"""Prefix of a `problem` of the store or the enclosing archive.

The same file may be readable later.
"""
DAMAGED = "damaged "
"""Prefix of a `problem` of changed bytes: `damaged gzip data: …`."""
_READ = 1 << 16
# A few bytes of zstd can expand to 128 KiB, so the input is small.
_READ_ZSTD = 1 << 12
_GIVE = 1 << 20
# A decoder that finds damage loses its current block, so blocks are small.
_DECODE = 1 << 16
# Members up to this size are decoded again up to their damage, in small steps.
_KEPT = 1 << 18
_STEP = 1 << 8


def is_damage(reason: str) -> bool:
    """True if a file cannot be read because its compressed bytes were changed."""
    return reason.startswith(tuple(f"{DAMAGED}{kind} data" for kind in _DECODERS))


def compression_of(head: bytes) -> str | None:
    """Kind of compression (`gzip`, `bzip2`, `xz`, `zstd`) or archive (`zip`, `tar`), by content."""
    for magic, name in MAGIC:
        if head.startswith(magic):
            return name
    if head[257:262] == b"ustar":
        return "tar"
    return None


class ForwardReader(Protocol):
    """A forward reader.

    `position` is the number of bytes returned so far.
    """

    position: int
    problem: str | None
    damaged_from: int | None

    def readinto(self, target: memoryview) -> int:
        """Fill `target` as far as possible; return the count, 0 at the end."""

    def skip(self, count: int) -> bool: ...
    def close(self) -> None:
        """Close the underlying file."""


class _Decoder(Protocol):
    """Common interface of zlib, bz2, lzma and zstd."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    def give(self, data: bytes, bytes_max: int = _DECODE) -> bytes: ...
    def wants_input(self) -> bool: ...


class PlainStream:
    """An uncompressed file, up to byte `end`."""

    def __init__(self, file: io.RawIOBase | BinaryIO, end: int | None = None) -> None:
        self._file = file
        # One read at a time: if a later one failed, the bytes of earlier ones would be lost.
        self._fill: Callable[[memoryview], int | None] = getattr(file, "readinto1", None) or file.readinto  # type: ignore[union-attr]
        self._end = end
        self.position = 0
        self.problem: str | None = None
        self.damaged_from: int | None = None

    def readinto(self, target: memoryview) -> int:
        if self._end is not None:
            target = target[: max(0, self._end - self.position)]
        try:
            byte_count = self._fill(target)
        except OSError as problem:
            self.problem = f"{READ_ERROR} at byte {self.position}: {problem.strerror or problem}"
            return 0
        self.position += byte_count or 0
        return byte_count or 0

    def skip(self, count: int) -> bool:
        """Skip bytes; return False if there are fewer."""
        if not self._file.seekable():
            return read_over(self, count)
        end = self._file.seek(0, io.SEEK_END)
        if self._end is not None:
            end = min(end, self._end)
        wanted = self.position + count
        self.position = self._file.seek(min(wanted, end))
        return end >= wanted

    def head(self, size: int, begin: int = 0) -> bytes:
        """Current bytes from `begin` on, of a seekable file. Raises OSError."""
        self._file.seek(begin)
        try:
            return self._file.read(size if self._end is None else max(0, min(size, self._end - begin))) or b""
        finally:
            self._file.seek(self.position)

    def close(self) -> None:
        self._file.close()


class _Gzip:
    def __init__(self) -> None:
        self._object = zlib.decompressobj(wbits=31)

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def give(self, data: bytes, bytes_max: int = _DECODE) -> bytes:
        return self._object.decompress(self._object.unconsumed_tail + data, bytes_max)

    def wants_input(self) -> bool:
        return not self._object.unconsumed_tail


class _BlockDecoder(Protocol):
    """Common interface of the decompressors of bz2, lzma and zstd."""

    @property
    def eof(self) -> bool: ...
    @property
    def unused_data(self) -> bytes: ...
    @property
    def needs_input(self) -> bool: ...
    def decompress(self, data: bytes, max_length: int = -1) -> bytes: ...


class _Blockwise:
    """A decompressor of bz2, lzma or zstd."""

    def __init__(self, make: Callable[[], _BlockDecoder]) -> None:
        self._object = make()

    @property
    def eof(self) -> bool:
        return self._object.eof

    @property
    def unused_data(self) -> bytes:
        return self._object.unused_data

    def give(self, data: bytes, bytes_max: int = _DECODE) -> bytes:
        return self._object.decompress(data, bytes_max)

    def wants_input(self) -> bool:
        return self._object.needs_input


def _zstd() -> _BlockDecoder:
    """Imported only here, because zstd logs are rare."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        from backports import zstd

    return zstd.ZstdDecompressor(options={zstd.DecompressionParameter.window_log_max: 27})


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": _Gzip,
    "bzip2": lambda: _Blockwise(bz2.BZ2Decompressor),
    "xz": lambda: _Blockwise(lambda: lzma.LZMADecompressor(memlimit=1 << 28)),
    "zstd": lambda: _Blockwise(_zstd),
}


class CompressedStream:
    """A compressed file of one or more members, up to its byte `end`."""

    def __init__(self, file: BinaryIO, compression: str, end: int | None = None) -> None:
        self._file = file
        self._left = end
        self._make = _DECODERS[compression]
        self._read_size = _READ_ZSTD if compression == "zstd" else _READ
        self._compression = compression
        self._decoder: _Decoder | None = self._make()
        self._members = 0
        self._started = False
        self._ahead = b""
        self._given = memoryview(b"")
        # The member: its start in the content, the bytes decoded of it, and its input while that is small.
        self._begin, self._decoded, self._fed = 0, 0, bytearray()
        self.position = 0
        self.problem: str | None = None
        self.damaged_from: int | None = None

    def readinto(self, target: memoryview) -> int:
        total = 0
        while total < len(target):
            if not self._given and not self._refill():
                break
            part = self._given[: len(target) - total]
            target[total : total + len(part)] = part
            self._given = self._given[len(part) :]
            total += len(part)
        self.position += total
        return total

    def skip(self, count: int) -> bool:
        """Skip bytes; return False if there are fewer."""
        return read_over(self, count)

    def _refill(self) -> bool:
        """Decompress more; return False at the end."""
        while self._decoder is not None:
            if self._decoder.eof:
                self._next_member(self._decoder.unused_data)
                continue
            data = b""
            if self._decoder.wants_input():
                data = self._ahead or self._read()
                self._ahead = b""
                if not data:
                    self._end_of_input()
                    return False
                self._started = True
                if len(self._fed) <= _KEPT:
                    self._fed += data
            try:
                given = self._decoder.give(data)
            except Exception as problem:  # each library raises its own exceptions for damaged data
                given = self._before_damage()
                self.damaged_from = self._begin
                self._stop(f"{DAMAGED}{self._compression} data: {problem}")
            if given:
                self._decoded += len(given)
                self._given = memoryview(given)
                return True
        return False

    def _before_damage(self) -> bytes:
        """Remaining content of a small member before its damage."""
        if len(self._fed) > _KEPT:
            return b""
        decoder, output, left = self._make(), bytearray(), bytes(self._fed)
        try:
            while not decoder.eof:
                data, left = (left[:_STEP], left[_STEP:]) if decoder.wants_input() else (b"", left)
                given = decoder.give(data, _STEP)
                if not (given or data or left):
                    break
                output += given
        except Exception:  # noqa: S110 - the damage that the first pass met
            pass
        return bytes(output[self._decoded :])

    def _read(self) -> bytes:
        try:
            block = self._file.read(self._read_size if self._left is None else min(self._read_size, self._left))
        except OSError as problem:
            self._stop(f"{READ_ERROR}: {problem.strerror or problem}")
            return b""
        if self._left is not None:
            self._left -= len(block)
        return block

    def _next_member(self, rest: bytes) -> None:
        self._members += 1
        self._ahead = rest or self._read()
        stripped = self._ahead.lstrip(b"\x00")
        if not stripped:
            # Zeros after a member are padding of tapes and block devices.
            while self._ahead and not stripped:
                self._ahead = self._read()
                stripped = self._ahead.lstrip(b"\x00")
            if not stripped:
                self._decoder = None
                return
        if len(stripped) < 8:
            stripped += self._read()
        if compression_of(stripped) != self._compression:
            self._stop(f"other data after the {self._compression} stream")
            return
        self._ahead = stripped
        self._begin, self._decoded, self._fed = self._begin + self._decoded, 0, bytearray()
        self._started = False
        self._decoder = self._make()

    def _end_of_input(self) -> None:
        if self.problem is None and (self._started or not self._members):
            self.problem = f"{self._compression} stream ends early"
        self._decoder = None

    def _stop(self, problem: str) -> None:
        self.problem = problem
        self._decoder = None

    def close(self) -> None:
        self._file.close()


class BegunStream:
    """A stream with its first bytes already read, from the beginning.

    `counted` receives the number of further bytes read.
    """

    def __init__(self, head: bytes, stream: ForwardReader, counted: Callable[[int], None] = lambda _: None) -> None:
        self._ahead = memoryview(head)
        self._stream = stream
        self._counted = counted
        self.position = 0
        self.problem = None if head else stream.problem
        self.damaged_from = stream.damaged_from

    def readinto(self, target: memoryview) -> int:
        """Read as `ForwardReader` does."""
        if self._ahead:
            byte_count = min(len(target), len(self._ahead))
            target[:byte_count] = self._ahead[:byte_count]
            self._ahead = self._ahead[byte_count:]
        else:
            byte_count = self._stream.readinto(target)
            self._counted(byte_count)
            self.problem, self.damaged_from = self._stream.problem, self._stream.damaged_from
        self.position += byte_count
        return byte_count

    def skip(self, count: int) -> bool:
        """Skip bytes; return False if there are fewer."""
        return read_over(self, count)

    def close(self) -> None:
        """Close the stream."""
        self._stream.close()


def open_stream(path: str, compression: str | None, end: int | None = None) -> ForwardReader:
    """Open a file for reading forward, up to byte `end`. Raises OSError."""
    return stream_of(open_file(path, buffering=-1 if compression else 0), compression, end)


def stream_of(file: io.RawIOBase | BinaryIO, compression: str | None, end: int | None = None) -> ForwardReader:
    """An open file as a stream, which closes it."""
    return PlainStream(file, end) if compression is None else CompressedStream(cast("BinaryIO", file), compression, end)


def read_up_to(stream: ForwardReader, size: int) -> bytes:
    """Read up to `size` bytes, fewer only at the end."""
    target = bytearray(size)
    view = memoryview(target)
    byte_count = 0
    while byte_count < size:
        count = stream.readinto(view[byte_count:])
        if not count:
            break
        byte_count += count
    view.release()
    return bytes(target[:byte_count])


def read_over(stream: ForwardReader, count: int) -> bool:
    """Skip bytes by reading them; return False if there are fewer."""
    scratch = memoryview(bytearray(min(count, _GIVE)))
    while count > 0:
        byte_count = stream.readinto(scratch[:count])
        if not byte_count:
            return False
        count -= byte_count
    return True
