"""One record: its header, its message, and what the catalogue makes of it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from parsers.batches import EventRows, RejectedRows, UnknownRows
from parsers.folding import Folder
from parsers.layouts import BROKEN_STAMP, Header, Layout, layouts

if TYPE_CHECKING:
    from parsers.catalogue import Catalogue
    from parsers.kernel import ChunkContext, Counts

# A stack trace after the message: not part of it.
_STACK = re.compile(r"\n(?:\s+at |\s*\.{3} \d+ |Caused by: |\s*Suppressed: |[\w.$]+(?:Exception|Error)\b)")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a record stands and how long it is in the file."""

    line: int
    offset: int
    length: int
    cut: bool = False


@dataclass(slots=True)
class RecordReader:
    """Reads the records of one chunk and keeps what came of them."""

    context: ChunkContext
    catalogue: Catalogue
    counts: Counts
    events: EventRows = field(default_factory=EventRows)
    unknown: UnknownRows = field(default_factory=UnknownRows)
    rejected: RejectedRows = field(default_factory=RejectedRows)
    folder: Folder | None = field(init=False)
    layout: Layout = field(init=False)

    def __post_init__(self) -> None:
        self.folder = Folder() if self.context.fold_runs else None
        self.layout = self.context.format.layout

    def decode(self, raw: bytes) -> str:
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            self.counts.invalid_utf8 += 1
            return str(raw, "utf-8", "replace")

    def read(self, raw: bytes, place: Place) -> None:
        """Read a record whose bytes look as if the catalogue may know it."""
        text = self.decode(whole_characters(raw) if place.cut else raw.rstrip(b"\r\n")).replace("\r\n", "\n")
        first_end = text.find("\n")
        header = self.layout.read(text, first_end if first_end >= 0 else len(text))
        found = self._match(text, header)
        if found is None and (header is None or not header.whole):
            header, found = self._in_another_layout(text, first_end, header)
        if header is None:
            self.reject(place, "bad timestamp" if BROKEN_STAMP.match(text) else "header not understood", text)
            return
        at, odd = self._time(header)
        if header.stamp is not None and at is None:
            self.reject(place, "bad timestamp", text)
        elif found is not None:
            self.recognise(place, header.level, header.logger, header.thread, text, at, odd, found)
        else:
            self._unmatched(place, header, text, at)

    def _match(self, text: str, header: Header | None) -> Any:
        if header is None:
            return None
        message = text[header.start : header.end]
        if "\n" not in message:
            return self.catalogue.match(header.logger, header.level, message)
        stack = _STACK.search(message)
        found = self.catalogue.match(header.logger, header.level, message[: stack.start()] if stack else message)
        return found or self.catalogue.match(header.logger, header.level, message[: message.index("\n")].rstrip())

    def _in_another_layout(self, text: str, first_end: int, header: Header | None) -> tuple[Header | None, Any]:
        for layout in layouts():
            if layout is self.layout or layout.date is None:
                continue
            other = layout.read(text, first_end if first_end >= 0 else len(text))
            found = self._match(text, other)
            if found is not None:
                return other, found
            header = header or other
        return header, None

    def _time(self, header: Header) -> tuple[int | None, bool]:
        if header.stamp is None or header.date is None:
            return None, False
        local, offset = header.date.read(header.stamp)
        if local is None:
            return None, False
        if offset is not None and not self.context.forced_zone:
            return local - offset, False
        return self.context.clock.utc(local)

    def _unmatched(self, place: Place, header: Header, text: str, at: int | None) -> None:
        if header.logger is not None and self.catalogue.is_coordinator_logger(header.logger):
            message = text[header.start : header.end]
            self.note_unknown(place, header.level, header.logger, message, text, at)
        elif place.cut:
            self.reject(place, f"longer than {self.context.max_record_bytes} bytes", text)

    def recognise(
        self, place: Place, level: str | None, logger: str | None, thread: str | None, text: str, at: int | None, odd: bool, found: Any
    ) -> None:
        self.counts.recognised += 1
        self.counts.bytes_recognised += place.length
        rows = self.events
        if self.folder is not None and self.folder.swallow(len(rows.line), at, place.offset, found.event, found.columns, found.fields):
            self.counts.folded += 1
            return
        rows.line.append(place.line)
        rows.offset.append(place.offset)
        rows.length.append(place.length)
        rows.at.append(at)
        rows.odd_time.append(odd)
        rows.level.append(level)
        rows.logger.append(logger)
        rows.thread.append(thread)
        rows.match.append(found)
        rows.text.append(text)
        rows.cut.append(place.cut)

    def break_runs(self) -> None:
        """A record longer than the limit ends all runs, since where it stands decides how the file is cut."""
        if self.folder is not None:
            self.folder.end_all()

    def note_unknown(self, place: Place, level: str | None, logger: str | None, message: str, text: str, at: int | None) -> None:
        self.counts.unknown += 1
        self.counts.bytes_unknown += place.length
        rows = self.unknown
        rows.line.append(place.line)
        rows.offset.append(place.offset)
        rows.at.append(at)
        rows.template.append(self.catalogue.mask(message))
        rows.logger.append(logger)
        rows.level.append(level)
        rows.text.append(text)

    def reject(self, place: Place, reason: str, text: str) -> None:
        self.counts.rejected += 1
        self.counts.bytes_rejected += place.length
        self.rejected.add(place.line, place.offset, place.length, reason, text)


def whole_characters(raw: bytes) -> bytes:
    """Without the first bytes of a character at the end, where a limit has cut it."""
    for back in range(1, min(4, len(raw)) + 1):
        byte = raw[-back]
        if byte >= 0xC0:
            length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
            return raw if length <= back else raw[:-back]
        if byte < 0x80:
            break
    return raw.rstrip(b"\r\n")
