"""Numbers that a wording lets through and Python or a column does not: such a record is rejected, and the others are read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from parsers.catalogue.catalogue import Catalogue
from parsers.catalogue.loading import load
from parsers.catalogue.slots import NARROWER, NO, TYPES, SlotType
from parsers.formats.detection import FileFormat
from parsers.formats.layouts import json_layout
from parsers.formats.time_zones import ZoneConverter
from parsers.formats.timestamps import date_format, read_iso
from parsers.records.chunks import ParsedChunk, parse_chunk
from parsers.records.context import ChunkContext
from tests.parsers.reading.source_files import read_bytes

STAMP = "[2026-11-21 09:17:11,165]"
HEARTBEAT = (
    f"{STAMP} DEBUG Completed request:RequestHeader(apiKey=HEARTBEAT, apiVersion=1, clientId=c, correlationId=16) -- "
    "{group_id=g,generation_id=2,member_id=m},response:{throttle_time_ms=0,error_code=0} from connection 127.0.0.1:19501-127.0.0.1:52884-5;"
    "totalTime:%s,requestQueueTime:0.5,localTime:9.99,remoteTime:0.0,throttleTime:0.1,responseQueueTime:0.1,sendTime:0.1,"
    "securityProtocol:PLAINTEXT,principal:User:ANONYMOUS,listener:PLAINTEXT (kafka.request.logger)\n"
)
CREATION = f"{STAMP} INFO Topic creation Map(orders-0 -> ArrayBuffer(%s)) (kafka.zk.AdminZkClient)\n"
FETCHERS = (
    f"{STAMP} INFO [ReplicaFetcherManager on broker 1] Removed fetcher for partitions Set(orders-%s) (kafka.server.ReplicaFetcherManager)\n"
)
STABLE = (
    f"{STAMP} INFO [GroupCoordinator 1]: Stabilized group g generation %s (__consumer_offsets-3)"
    " (kafka.coordinator.group.GroupCoordinator)\n"
)
GOOD = STABLE % 7


@pytest.mark.parametrize("number", ["0.3.7", "..", "1" * 400, "1.", "1e999"])
def test_times_of_a_request(tmp_path: Path, number: str) -> None:
    reading = read_bytes(tmp_path, (HEARTBEAT % number + HEARTBEAT % "1.5").encode())
    assert [row["reason"] for row in reading.rejected.to_pylist()] == ["request not understood"]
    assert len(reading.events) == 1


@pytest.mark.parametrize(("line", "good"), [(CREATION, "1"), (FETCHERS, "0")])
@pytest.mark.parametrize("number", ["123456789012345", "9" * 5_000])
def test_partitions_and_nodes(tmp_path: Path, line: str, good: str, number: str) -> None:
    reading = read_bytes(tmp_path, (line % number + line % good + GOOD).encode())
    assert [row["reason"] for row in reading.rejected.to_pylist()] == ["number too large"]
    assert len(reading.events) == 2


@pytest.mark.parametrize("number", ["2147483648", "9" * 19, "9" * 5_000])
def test_a_coordinators_line_stays_in_sight(tmp_path: Path, number: str) -> None:
    reading = read_bytes(tmp_path, (GOOD + STABLE % number).encode())
    assert len(reading.events) == len(reading.unknown) == 1


@pytest.mark.parametrize(
    ("kind", "last"),
    [("int32", 2**31 - 1), ("count", 2**31 - 1), ("millis", 253_402_300_799_999), ("span_ms", 10**12 - 1), ("int", 2**63 - 1)],
)
def test_bounds_of_types(kind: str, last: int) -> None:
    parse = TYPES[kind].parse
    assert parse is not None
    assert parse(str(last)) == last
    assert parse(str(last + 1)) is NO
    assert parse("9" * 5_000) is NO


def test_fields_are_narrowed_wherever_they_stand() -> None:
    kinds = {(slot.name, slot.kind) for pattern in Catalogue(load()).patterns for slot in pattern.template.slots}
    assert {kind for name, kind in kinds if name in NARROWER} & {"int"} == set()


@pytest.mark.parametrize("stamp", ["²" * 13, "9" * 5_000, "9" * 18])
def test_epoch_stamps_that_are_none(stamp: str) -> None:
    local = date_format("UNIX_MILLIS").read(stamp).local_us
    assert local is None or local > 0
    assert read_iso(f"2026-11-21 09:17:11 +{stamp}").offset_us is None or stamp.isascii()


@pytest.mark.parametrize("stamp", ["9" * 5_000, "1e999", "-1", '{"epochSecond": ' + "9" * 30 + "}"])
def test_stamps_of_json_records(stamp: str) -> None:
    header = json_layout().read(f'{{"level":"INFO","loggerName":"x","message":"m","timestamp":{stamp},"instant":{stamp}}}')
    assert header is None or header.date is None or header.stamp is None or header.date.read(header.stamp).local_us is None


@pytest.mark.parametrize("year", ["0000", "0001", "9999"])
def test_times_that_no_library_shows(tmp_path: Path, year: str) -> None:
    line = GOOD.replace("2026-11-21", f"{year}-{'01-01' if year != '9999' else '12-31'}")
    reading = read_bytes(tmp_path, (GOOD + line).encode(), log_tz=[(None, "-12:00")])
    assert [row["reason"] for row in reading.rejected.to_pylist()] == ["bad timestamp"]
    assert len(reading.rows()) == 1


# -- what raises all the same ----------------------------------------------------------------------------------------


def planted(value: Any) -> Catalogue:
    """The catalogue with a slot that raises at a generation of 666, or gives a value that no column takes."""

    def parse(text: str) -> Any:
        if text != "666":
            return int(text)
        if isinstance(value, Exception):
            raise value
        return value

    return Catalogue(load(), {**TYPES, "int32": SlotType(r"-?\d{1,9}", parse, str, quick=parse)})


def parsed(text: str, catalogue: Catalogue, layout: str = "kafka", shape: str = "") -> ParsedChunk:
    return parse_chunk(
        text.encode(), ChunkContext("f", "f", FileFormat(layout, shape=shape), ZoneConverter("UTC"), is_final=True), catalogue
    )


@pytest.mark.parametrize(("layout", "shape"), [("kafka", ""), ("json", ""), ("kafka", r"\["), ("messages", r"\[")])
@pytest.mark.parametrize(
    ("value", "name"), [(ZeroDivisionError("g"), "ZeroDivisionError"), (RecursionError(), "RecursionError"), (object(), "TypeError")]
)
def test_a_record_that_raises_is_rejected_and_the_others_are_read(layout: str, shape: str, value: Any, name: str) -> None:
    lines = [STABLE % 1, STABLE % 666, STABLE % 3]
    chunk = parsed("".join(lines), planted(value), layout, shape)

    assert chunk.events["generation"].to_pylist() == [1, 3]
    (row,) = chunk.rejected.to_pylist()
    assert (row["reason"], row["line"], row["byte_offset"]) == (f"could not be read: {name}", 2, len(lines[0]))
    assert row["text"] == lines[1].rstrip("\n")
    counts = chunk.counts
    assert (counts.recognised, counts.rejected, counts.records) == (2, 1, 3)
    assert counts.bytes == sum(map(len, lines))


def test_memory_that_is_short_is_no_fault_of_a_record() -> None:
    with pytest.raises(MemoryError):
        parsed(STABLE % 666, planted(MemoryError()))


def test_a_wording_without_slots_that_is_there_twice_is_no_number() -> None:
    line = f"{STAMP} INFO [Consumer clientId=c, groupId=g] (Re-)joining group x (Re-)joining group (org.apache.kafka.clients.consumer.X)\n"
    assert not Catalogue(load(), TYPES).refuses_number(None, "(Re-)joining group x (Re-)joining group")
    assert "could not be read" not in str(parsed(line, Catalogue(load(), TYPES)).rejected.to_pylist())
