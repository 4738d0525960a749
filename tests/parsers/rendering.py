"""Real records, rewritten in each form that logs have in practice."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from tests.conftest import ROOT

SAMPLES = ROOT / "data_samples" / "kafka" / "2.8.2"
_HEADER = re.compile(r"\[(\S+ \S+),(\d{3})\] (\w+) (.*) \(([\w.$]+)\)")


@dataclass(frozen=True)
class Record:
    """A log record without its form.

    `more` are the lines of a stack trace.
    """

    at: datetime
    level: str
    logger: str
    thread: str
    message: str
    more: tuple[str, ...] = ()

    @property
    def words(self) -> dict[str, Any]:
        """Values for patterns of layouts.

        `east` is the same time in a zone two hours ahead.
        """
        east = self.at + timedelta(hours=2)
        return {
            "day": f"{self.at:%Y-%m-%d}",
            "time": f"{self.at:%H:%M:%S}",
            "ms": f"{self.at.microsecond // 1000:03d}",
            "east": f"{east:%Y-%m-%dT%H:%M:%S}",
            "slashes": f"{self.at:%Y/%m/%d}",
            "short_day": f"{self.at:%y/%m/%d}",
            "worded_day": f"{self.at:%d %b %Y}",
            "millis": int(self.at.timestamp() * 1000),
            "level": self.level,
            "logger": self.logger,
            "segment": self.logger.rpartition(".")[2],
            "thread": self.thread,
            "message": self.message,
        }


@dataclass(frozen=True)
class Document:
    """A file: its bytes, and the starts of records as (line, byte offset)."""

    data: bytes
    places: list[tuple[int, int]]


Render = Callable[[Sequence[Record]], Document]


def read_records(text: str) -> list[Record]:
    """Records of a file in Kafka's own layout."""
    records: list[Record] = []
    for line in text.splitlines():
        found = _HEADER.fullmatch(line)
        if found is not None:
            at = datetime.fromisoformat(found[1]).replace(tzinfo=UTC, microsecond=int(found[2]) * 1000)
            records.append(Record(at, found[3], found[5], "main", found[4]))
        elif records:
            records[-1] = replace(records[-1], more=(*records[-1].more, line))
    return records


def sample_records() -> list[Record]:
    """Lines of brokers and clients during rebalances, in order of time.

    A few records of each message, with stack traces.
    """
    chosen: list[Record] = []
    for name in ("coordinator-failover/broker-1/server.log", "rolling-restart/broker-1/server.log", "rolling-restart/clients/main.log"):
        seen: Counter[str] = Counter()
        for record in read_records((SAMPLES / name).read_text()):
            seen[kind := re.sub(r"\S*\d\S*|=\S+", "", record.message)[:60]] += 1
            # A message of one word is recognised by the full name of its logger, which some layouts shorten.
            if seen[kind] <= 2 and " " in record.message and len(record.message) < 600 and len(record.more) < 15:
                chosen.append(record)
    return sorted(dict.fromkeys(chosen), key=lambda record: record.at)


def document(pieces: Sequence[bytes], before: bytes = b"") -> Document:
    """A file of records with complete lines."""
    places, line, offset = [], 1 + before.count(b"\n"), len(before)
    for piece in pieces:
        places.append((line, offset))
        line += piece.count(b"\n")
        offset += len(piece)
    return Document(before + b"".join(pieces), places)


def layout(pattern: str) -> Render:
    """Records in a pattern, followed by their stack traces."""

    def render(records: Sequence[Record]) -> Document:
        return document(["".join(f"{line}\n" for line in (pattern.format(**each.words), *each.more)).encode() for each in records])

    return render


def plain_lines(record: Record) -> list[str]:
    """The lines of a record in Kafka's own layout."""
    return ["[{day} {time},{ms}] {level} {message} ({logger})".format(**record.words), *record.more]


def whole(record: Record) -> str:
    """All lines of a record as one text."""
    return "\n".join(plain_lines(record))


def each_line(envelope: str | Callable[[str, Record], str]) -> Render:
    """Kafka's own layout with an envelope around every line.

    The envelope is a pattern with `line`, `number` and times, or a function.
    """

    def wrapped(line: str, record: Record, number: int) -> str:
        if callable(envelope):
            return envelope(line, record)
        times = {"stamp": stamp(record), "exact": stamp(record, "microseconds"), "unix": f"{record.at.timestamp():.6f}", "at": record.at}
        return envelope.format(line=line, number=number, mark=":" if line.startswith("[") else "-", **times)

    def render(records: Sequence[Record]) -> Document:
        number, pieces = 0, []
        for record in records:
            lines = plain_lines(record)
            pieces.append("".join(f"{wrapped(line, record, number + at)}\n" for at, line in enumerate(lines, 1)).encode())
            number += len(lines)
        return document(pieces)

    return render


def encoded(encoding: str, newline: str = "\n", bom: bytes = b"") -> Render:
    """Kafka's own layout in another encoding."""

    def render(records: Sequence[Record]) -> Document:
        places, line, data = [], 1, bom
        for record in records:
            places.append((line, len(data)))
            lines = plain_lines(record)
            data += "".join(text + newline for text in lines).encode(encoding)
            line += len(lines)
        return Document(data, places)

    return render


def json_lines(shape: Callable[[Record], dict[str, Any]]) -> Render:
    """One JSON document per record."""

    def render(records: Sequence[Record]) -> Document:
        return document([json.dumps(shape(each), ensure_ascii=False).encode() + b"\n" for each in records])

    return render


def csv_rows(header: str, shape: Callable[[Record], Sequence[Any]], delimiter: str = ",") -> Render:
    """A table with one record per row.

    Stack traces stay in their field, over several lines of the file.
    """

    def render(records: Sequence[Record]) -> Document:
        pieces = []
        for record in records:
            row = io.StringIO()
            csv.writer(row, delimiter=delimiter, lineterminator="\n").writerow(shape(record))
            pieces.append(row.getvalue().encode())
        return document(pieces, f"{header}\n".encode())

    return render


def stamp(record: Record, timespec: str = "milliseconds") -> str:
    return record.at.isoformat(timespec=timespec).replace("+00:00", "Z")
