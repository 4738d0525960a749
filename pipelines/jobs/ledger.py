"""Which files a run has to read: those that `bronze.log_files` does not know yet as they are now.

A file is the same when its path, identity, size and reading options are. Content that is known under a path outside of
this input (rotated, compressed, copied) is not read again; where it has grown, it is read under its new path.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from parsers.files import content_length
from parsers.reader import SourceFile


@dataclass(frozen=True, slots=True)
class KnownFile:
    """What an earlier run wrote down of a file that it has read."""

    path: str
    file_id: str
    size_bytes: int
    bytes_read: int
    options_id: str


@dataclass(slots=True)
class Plan:
    """`read` are files to read as a whole. `known` are paths of this input -> paths under which their content is known."""

    read: list[SourceFile] = field(default_factory=list)
    known: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)
    """Paths whose rows go: their content is read under another path."""


def plan(
    known: Iterable[KnownFile],
    found: Iterable[SourceFile],
    options_id: Callable[[SourceFile], str],
    length: Callable[[SourceFile], int] = content_length,
) -> Plan:
    """Say what to read. `length` tells the decompressed length of a file; it is asked only for content that may have moved."""
    by_path = {file.path: file for file in known}
    sources = list(found)
    here = {source.name for source in sources}
    elsewhere = {file.file_id: file for file in by_path.values() if file.path not in here}
    result = Plan()
    for source in sources:
        own = by_path.get(source.name)
        moved = elsewhere.get(source.file_id) if own is None or own.file_id != source.file_id else None
        if own is not None and _unchanged(own, source, options_id(source)):
            result.known[source.name] = own.path
        elif moved is not None and moved.options_id == options_id(source) and length(source) <= moved.bytes_read:
            result.known[source.name] = moved.path
        else:
            result.read.append(source)
            if moved is not None:  # it went on under its new name
                result.gone.add(moved.path)
    return result


def _unchanged(own: KnownFile, source: SourceFile, options_id: str) -> bool:
    return (own.file_id, own.size_bytes, own.options_id) == (source.file_id, source.size_bytes, options_id)
