"""Choose among several readings of a line.

Ids are arbitrary text and may contain the fixed words of a message. Consistency decides; a line with several remaining
readings is ambiguous, and only their common values are reported.
"""

from __future__ import annotations

from collections.abc import Callable

from parsers.catalogue.entries import Match, Reading
from parsers.catalogue.slots import NO, ends_like_member_id
from parsers.catalogue.templates import COLUMNS


def choose(candidates: list[Reading], offsets_partitions: int | None) -> list[Reading]:
    """Return the readings consistent with known rules about ids.

    All of them if none is.
    """
    readings = distinct_readings(candidates)
    rules: tuple[Callable[[Reading], bool], ...] = (
        _is_specific,
        _whole_ids,
        lambda reading: _partition_agrees(reading, offsets_partitions),
    )
    for keep in rules:
        if len(readings) > 1:
            readings = [reading for reading in readings if keep(reading)] or readings
    return readings


def distinct_readings(readings: list[Reading]) -> list[Reading]:
    """Readings that differ in message or values."""
    kept: list[Reading] = []
    for pattern, values in readings:
        if not any(pattern.message.id == other.message.id and values == known for other, known in kept):
            kept.append((pattern, values))
    return kept


def ambiguous(readings: list[Reading]) -> Match:
    """A match without an event, with the values common to all readings."""
    first = readings[0][0].message
    shared = {
        name: value
        for name, value in readings[0][1].items()
        if name in COLUMNS and all(values.get(name, NO) == value for _, values in readings)
    }
    ids = sorted({pattern.message.id for pattern, _ in readings})
    return Match(ids[0], None, first.system, first.witness, shared, {"readings": len(readings), "messages": ids}, is_ambiguous=True)


def _is_specific(reading: Reading) -> bool:
    return not reading[0].is_generic


def _whole_ids(reading: Reading) -> bool:
    """Whether member ids are complete.

    The coordinator ends those of classic groups with a UUID, after client or instance id.
    """
    values = reading[1]
    member = values.get("member_id")
    if not isinstance(member, str):
        return True
    if not ends_like_member_id(member):
        return False
    owners = [owner for owner in (values.get("client_id"), values.get("instance_id")) if owner is not None]
    return not owners or member[:-37] in owners


def _partition_agrees(reading: Reading, offsets_partitions: int | None) -> bool:
    """Whether the group hashes to the offsets partition in the line.

    As in GroupMetadataManager.partitionFor.
    """
    group, partition = reading[1].get("group"), reading[1].get("partition")
    if offsets_partitions is None or group is None or partition is None or reading[0].message.witness != "coordinator":
        return True
    return bool((java_hash(group) & 0x7FFFFFFF) % offsets_partitions == partition)


def java_hash(text: str) -> int:
    """String.hashCode of Java, over UTF-16 code units, as an unsigned 32-bit number."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(encoded), 2):
        value = (31 * value + (encoded[index] << 8 | encoded[index + 1])) & 0xFFFFFFFF
    return value
