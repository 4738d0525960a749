"""Find files with the same content, so that each is read once.

Contents with the same beginning are compared by fingerprints. Measurements of unchanged files come from an earlier
run's inspection, without reading.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, suppress

from parsers.sources.compression import READ_ERROR, read_up_to
from parsers.sources.files import BLOCK_BYTES, IDENTITY_BYTES, SourceFile
from parsers.sources.inspection import ContentPart, Measures

# A few compressed bytes may expand to more.
_PACKING_BYTES = 1024


def copies_among(sources: Sequence[SourceFile], parts: Mapping[str, ContentPart]) -> dict[str, str]:
    """Names of files that are copies or beginnings of others, with the others' names.

    `parts` holds the known facts about each content, by name, and receives new measurements.
    """
    measures = {source.name: parts[source.name].measures for source in sources}
    by_identity: dict[str, list[SourceFile]] = {}
    for source in sources:
        by_identity.setdefault(source.file_id, []).append(source)
    copies: dict[str, str] = {}
    for same_content in by_identity.values():
        if len(same_content) > 1:
            copies |= _repeated(same_content, measures)
    by_begin: dict[int, list[SourceFile]] = {}
    for source in sources:
        if source.name not in copies:
            by_begin.setdefault(parts[source.name].begins, []).append(source)
    for same_content in by_begin.values():
        if len(same_content) > 1:
            copies |= _short(same_content, measures)
    for measure in measures.values():
        measure.keep_asked()
    return copies


def _repeated(sources: Sequence[SourceFile], measures: Mapping[str, Measures]) -> dict[str, str]:
    """Copies among contents with the same beginning."""
    lengths: dict[str, int] = {}
    for source in sources:
        with suppress(OSError):  # the file may be gone, which its reader will report
            lengths[source.name] = _length(source, measures[source.name])
    kept = sorted((source for source in sources if source.name in lengths), key=lambda source: -lengths[source.name])
    # The whole of the longest content is never needed.
    wanted = {upto for source in kept[1:] for upto in (min(lengths[source.name], BLOCK_BYTES), lengths[source.name])}
    copies: dict[str, str] = {}
    for place, source in enumerate(kept):
        length = lengths[source.name]
        for other in kept[:place]:
            if other.name not in copies and _begins_with(other, source, length, measures, wanted):
                copies[source.name] = other.name
                break
    return copies


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
        measures.is_passing |= (stream.problem or "").startswith(READ_ERROR)
        stream.close()


def _begins_with(longer: SourceFile, shorter: SourceFile, length: int, measures: Mapping[str, Measures], wanted: Collection[int]) -> bool:
    """Whether a content begins with all `length` bytes of another.

    One block is compared first.
    """
    for upto in sorted({min(length, BLOCK_BYTES), length}):
        same_kind = [length for length in wanted if (length > BLOCK_BYTES) == (upto > BLOCK_BYTES)]
        beginnings = [_beginning(source, upto, measures[source.name], same_kind) for source in (longer, shorter)]
        if None in beginnings or beginnings[0] != beginnings[1]:
            return False
    return True


def _beginning(source: SourceFile, upto: int, measures: Measures, wanted: Iterable[int]) -> str | None:
    """Fingerprint of the first `upto` bytes, None if there are fewer by now.

    All lengths in `wanted` are measured in one pass.
    """
    if upto not in measures.beginnings:
        with suppress(OSError), closing(_blocks(source, measures)) as blocks:
            measures.beginnings |= _fingerprints(blocks, sorted({*wanted} - measures.beginnings.keys()))
    measures.needed_lengths.add(upto)
    return measures.beginnings.get(upto) or None


def _fingerprints(blocks: Iterator[bytes], lengths: Sequence[int]) -> dict[int, str]:
    """Fingerprints of beginnings by length, empty if the content is shorter."""
    fingerprints = dict.fromkeys(lengths, "")
    digest, at, block = hashlib.sha256(), 0, b""
    for length in lengths:
        while at + len(block) < length:
            digest.update(block)
            at += len(block)
            block = next(blocks, b"")
            if not block:
                return fingerprints
        digest.update(block[: length - at])
        at, block = length, block[length - at :]
        fingerprints[length] = digest.hexdigest()[:32]
    return fingerprints


def _short(sources: Sequence[SourceFile], measures: Mapping[str, Measures]) -> dict[str, str]:
    """Files shorter than an identity that are the beginning of a longer one.

    By name, with the longer one's name. Equal files were found before.
    """
    lengths: dict[str, int] = {}
    for source in sources:
        if source.size_bytes <= IDENTITY_BYTES + _PACKING_BYTES:
            with suppress(OSError):
                lengths[source.name] = _length(source, measures[source.name])
    wanted = {length for length in lengths.values() if length < IDENTITY_BYTES}
    fingerprints: dict[str, str] = {}
    for length in sorted(wanted):
        begun: dict[str, list[SourceFile]] = {}
        for source in sources:
            beginning = _beginning(source, length, measures[source.name], wanted)
            if beginning is not None:
                begun.setdefault(beginning, []).append(source)
        for same in begun.values():
            shorter = next((source.name for source in same if lengths.get(source.name) == length), None)
            longer = min(
                (source for source in same if source.name != shorter), key=lambda source: (-source.size_bytes, source.name), default=None
            )
            if shorter is not None and longer is not None:
                fingerprints[shorter] = longer.name
    return {name: _last(fingerprints, name) for name in fingerprints}


def _last(originals: Mapping[str, str], name: str) -> str:
    """Follow a chain of copies to the file that is read."""
    while name in originals:
        name = originals[name]
    return name
