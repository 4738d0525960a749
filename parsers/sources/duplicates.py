"""Files with a content that another one repeats as a whole: such are read once.

Contents that begin alike are compared by fingerprints of their beginnings. What was measured of a file that has not changed
is known from the look that an earlier run took, so that it is not read again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress

from parsers.sources.compression import READ_ERROR, read_up_to
from parsers.sources.files import BLOCK_BYTES, IDENTITY_BYTES, SourceFile
from parsers.sources.inspection import Measures, Part

# Compressed, few bytes may become more.
_PACKING_BYTES = 1024


def copies_among(sources: Sequence[SourceFile], parts: Mapping[str, Part]) -> dict[str, str]:
    """Names of files that another one repeats, or begins with, each with that one's name. `parts` says by name what is known of each
    content, and is told what is measured here."""
    measures = {source.name: parts[source.name].measures for source in sources}
    by_identity: dict[str, list[SourceFile]] = {}
    for source in sources:
        by_identity.setdefault(source.file_id, []).append(source)
    found: dict[str, str] = {}
    for alike in by_identity.values():
        if len(alike) > 1:
            found |= _repeated(alike, measures)
    by_begin: dict[int, list[SourceFile]] = {}
    for source in sources:
        if source.name not in found:
            by_begin.setdefault(parts[source.name].begins, []).append(source)
    for alike in by_begin.values():
        if len(alike) > 1:
            found |= _short(alike, measures)
    for each in measures.values():
        each.keep_asked()
    return found


def _repeated(alike: Sequence[SourceFile], measures: Mapping[str, Measures]) -> dict[str, str]:
    """Copies among contents that begin alike."""
    lengths: dict[str, int] = {}
    for source in alike:
        with suppress(OSError):  # it may be gone by now, which its reader will say
            lengths[source.name] = _length(source, measures[source.name])
    kept = sorted((source for source in alike if source.name in lengths), key=lambda source: -lengths[source.name])
    # Nobody asks for the whole of the longest.
    wanted = {upto for source in kept[1:] for upto in (min(lengths[source.name], BLOCK_BYTES), lengths[source.name])}
    found: dict[str, str] = {}
    for place, source in enumerate(kept):
        length = lengths[source.name]
        for other in kept[:place]:
            if other.name not in found and _begins_with(other, source, length, measures, wanted):
                found[source.name] = other.name
                break
    return found


def _length(source: SourceFile, measures: Measures) -> int:
    """Bytes after decompression."""
    if source.compression is None:
        return source.size_bytes
    if measures.length is None:
        with closing(_blocks(source, measures)) as blocks:
            measures.length = sum(map(len, blocks))
    return measures.length


def _blocks(source: SourceFile, measures: Measures) -> Generator[bytes]:
    stream = source.open()
    try:
        while block := read_up_to(stream, BLOCK_BYTES):
            yield block
    finally:
        measures.passing |= (stream.problem or "").startswith(READ_ERROR)
        stream.close()


def _begins_with(longer: SourceFile, shorter: SourceFile, length: int, measures: Mapping[str, Measures], wanted: Collection[int]) -> bool:
    """Whether one content has all `length` bytes of the other at its beginning, of which a block tells first."""
    for upto in sorted({min(length, BLOCK_BYTES), length}):
        some = [each for each in wanted if (each > BLOCK_BYTES) == (upto > BLOCK_BYTES)]
        told = [_beginning(source, upto, measures[source.name], some) for source in (longer, shorter)]
        if None in told or told[0] != told[1]:
            return False
    return True


def _beginning(source: SourceFile, upto: int, measures: Measures, wanted: Iterable[int]) -> str | None:
    """Fingerprint of the first `upto` bytes; None where there are fewer by now. All that is `wanted` is measured in one pass."""
    if upto not in measures.beginnings:
        with suppress(OSError), closing(_blocks(source, measures)) as blocks:
            measures.beginnings |= _fingerprints(blocks, sorted({*wanted} - measures.beginnings.keys()))
    measures.asked.add(upto)
    return measures.beginnings.get(upto) or None


def _fingerprints(blocks: Iterator[bytes], lengths: Sequence[int]) -> dict[int, str]:
    """Fingerprints of beginnings of these lengths, of which the content may end before the last; those are empty."""
    found = dict.fromkeys(lengths, "")
    digest, at, block = hashlib.sha256(), 0, b""
    for length in lengths:
        while at + len(block) < length:
            digest.update(block)
            at += len(block)
            block = next(blocks, b"")
            if not block:
                return found
        digest.update(block[: length - at])
        at, block = length, block[length - at :]
        found[length] = digest.hexdigest()[:32]
    return found


def _short(alike: Sequence[SourceFile], measures: Mapping[str, Measures]) -> dict[str, str]:
    """Files shorter than an identity's bytes with which a longer one begins: by name, with the longer one's name. Equal ones were told
    apart before."""
    lengths: dict[str, int] = {}
    for source in alike:
        if source.size_bytes <= IDENTITY_BYTES + _PACKING_BYTES:
            with suppress(OSError):
                lengths[source.name] = _length(source, measures[source.name])
    wanted = {length for length in lengths.values() if length < IDENTITY_BYTES}
    found: dict[str, str] = {}
    for length in sorted(wanted):
        begun: dict[str, list[SourceFile]] = {}
        for source in alike:
            told = _beginning(source, length, measures[source.name], wanted)
            if told is not None:
                begun.setdefault(told, []).append(source)
        for same in begun.values():
            shorter = next((source.name for source in same if lengths.get(source.name) == length), None)
            longer = min(
                (source for source in same if source.name != shorter), key=lambda each: (-each.size_bytes, each.name), default=None
            )
            if shorter is not None and longer is not None:
                found[shorter] = longer.name
    return {name: _last(found, name) for name in found}


def _last(found: Mapping[str, str], name: str) -> str:
    """What is read at the end of a row of copies, each longer than the one before."""
    while name in found:
        name = found[name]
    return name
