"""Resume points: where reading of a growing file can stop and continue later.

Runs of heartbeats end at multiples of a block, and a plain file with dates in its headers can be read from any
position. So everything before the last multiple of a block is settled if a record begins after it, and a later run
starts there. `parsers.sources.content_checkpoints` shows whether a file still begins with what was read.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import BinaryIO

import numpy as np

from parsers.formats.layouts import DOCUMENTS, TORN_HEADER
from parsers.records.context import MAX_RECORD_BYTES
from parsers.records.run_folding import FOLD_BLOCK_BYTES
from parsers.sources.files import SourceFile
from parsers.sources.filesystems import open_file, read_at

_READ = 1 << 18
"""Bytes per read, to fit into the processor's cache.

Counting is then several times faster than `bytes.count`.
"""

_NEWLINE = 10


@dataclass(frozen=True, slots=True)
class Start:
    """Place to continue from.

    `line` is the number of the line with the byte before `offset`.
    """

    offset: int
    line: int


def is_resumable(source: SourceFile) -> bool:
    """Whether reading can start anywhere in the file.

    Required are plain UTF-8 without envelopes, a layout with dates, and records from the oldest to the newest.
    """
    stated_format = source.format
    has_dates = stated_format.layout_name in DOCUMENTS or (stated_format.layout.date is not None and stated_format.layout.date.has_date)
    is_text = source.is_plain and not stated_format.wrappers and not stated_format.shape and stated_format.encoding == "utf-8"
    return is_text and has_dates and not stated_format.newest_first


def settled_end(source: SourceFile, start: Start | None, block_bytes: int = FOLD_BLOCK_BYTES) -> Start | None:
    """The last multiple of a block after `start` where no line is torn.

    Returns None if there is none, or if lines cannot be counted.
    """
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


def is_whole_at(source: SourceFile, end: int) -> bool:
    """Whether no line of a plain file is torn at `end`."""
    try:
        with open_file(source.path) as file:
            return not _is_torn(file, end)
    except OSError:
        return False


def _is_torn(file: BinaryIO, end: int) -> bool:
    """Whether a line across `end` contains a second record after it.

    Such a line is read as a whole.
    """
    data = read_at(file, MAX_RECORD_BYTES + 1, end - 1)
    return not data.startswith(b"\n") and TORN_HEADER.search(data[1:].partition(b"\n")[0].decode("utf-8", "replace")) is not None


def ends_of_lines(path: str, begin: int, end: int) -> int | None:
    """Number of lines between the byte before `begin` and the byte before `end`.

    None if there are zero bytes between them, or if the file is unreadable, which its reader will report.
    """
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
        count += int(np.count_nonzero(np.frombuffer(block, dtype=np.uint8) == _NEWLINE))
        begin += len(block)
    return count


def content_end(source: SourceFile, length: int) -> int:
    """End of a plain file without trailing zero bytes.

    Bytes up to `length` may still be filled in.
    """
    try:
        with open_file(source.path) as file:
            while length:
                begin = max(0, length - _READ)
                kept = read_at(file, length - begin, begin).rstrip(b"\x00")
                if kept:
                    return begin + len(kept)
                length = begin
    except OSError:  # the reader will report it
        pass
    return length
