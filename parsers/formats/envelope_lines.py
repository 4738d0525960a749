"""Lines of a chunk without their envelopes, with their positions in the file."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from parsers.formats.envelopes import CsvWrapper, JsonWrapper, ObjectWrapper, RegexWrapper, wrapper_named
from parsers.formats.json_documents import closes_object, opens_object
from parsers.formats.lines import Lines
from parsers.formats.pages import Unwrapped, Wrapper


class _Taker:
    """Collects the inner lines of a chunk, with their positions in the file."""

    def __init__(self, outer: Lines) -> None:
        self._outer = outer
        self._texts: list[bytes] = []
        self._first: list[int] = []  # outer lines
        self._last: list[int] = []
        self._stamps: list[bytes | None] = []

    def take(self, first: int, last: int, text: bytes, stamp: bytes | None, *, is_spread: bool) -> None:
        """Add the text of one envelope.

        With `is_spread` its lines are separate lines of the file.
        """
        parts = text.split(b"\n")
        for at, part in enumerate(parts):
            begin = min(first + at, last) if is_spread else first
            self._first.append(begin)
            self._last.append(begin if is_spread and at < len(parts) - 1 else last)
            self._texts.append(part.removesuffix(b"\r"))
            self._stamps.append(stamp)

    def take_run(self, first: int, texts: Sequence[bytes], stamps: Sequence[bytes | None]) -> None:
        """Add the texts of lines of one envelope each."""
        lines = range(first, first + len(texts))
        self._first += lines
        self._last += lines
        self._texts += texts
        self._stamps += stamps

    def lines(self, used: int) -> Lines:
        outer = self._outer
        lengths = np.fromiter(map(len, self._texts), dtype=np.int64, count=len(self._texts)) + 1
        stops = np.cumsum(lengths)
        first, last = np.array(self._first, dtype=np.int64), np.array(self._last, dtype=np.int64)
        return Lines(
            data=b"\n".join([*self._texts, b""]),
            start=stops - lengths,
            end=stops - 1,
            offset=outer.offset[first],
            stop=outer.stop[last],
            number=outer.number[first],
            next_number=outer.next_number if used == len(outer) else int(outer.number[used]),
            open_end=outer.open_end and used == len(outer),
            stamps=self._stamps,
        )


def without_envelopes(outer: Lines, names: Sequence[str], limit: int, *, is_final: bool) -> Lines:
    """Remove the envelopes.

    An envelope longer than `limit` stays, because it may be incomplete. Without `is_final`, lines at the end that may
    continue in the next chunk are omitted.
    """
    wrappers = [wrapper_named(name) for name in names]
    taker = _Taker(outer)
    rows = _rows(wrappers[0], outer, limit)
    ordinary = ordinary_lines(wrappers, outer, limit)
    used = line = 0
    while line < len(outer):
        if ordinary is not None and (stop := ordinary.stop(line)) > line:
            taker.take_run(line, ordinary.texts[line:stop], ordinary.stamps[line:stop])
            line = used = stop
            continue
        last = rows.end(line) if rows is not None else line
        if last is None:
            if not is_final and int(outer.stop[-1] - outer.offset[line]) <= limit:
                break
            last = line
        text = bytes(outer.data[outer.start[line] : outer.end[last]])
        peeled = _peel(text, wrappers, limit)
        pieces = [peeled.line]
        stamp = peeled.stamp
        while peeled.is_partial and last + 1 < len(outer) and sum(map(len, pieces)) <= limit:
            last += 1
            peeled = _peel(outer.text(last), wrappers, limit)
            pieces.append(peeled.line)
        if peeled.is_partial and not is_final and sum(map(len, pieces)) <= limit:
            break
        taker.take(line, last, b"".join(pieces), stamp, is_spread=isinstance(rows, _Rows))
        line = used = last + 1
    return taker.lines(used)


class OrdinaryLines:
    """Lines each in an envelope of the common form, read by one expression.

    `texts` and `stamps` have a place for each outer line; those of other lines are empty.
    """

    def __init__(self, outer: Lines, form: re.Pattern[bytes], partial_mark: bytes, limit: int) -> None:
        self.texts: list[bytes] = []
        self.stamps: list[bytes | None] = []
        self._others: list[int] = []
        line_group, stamp_group, partial_group = (form.groupindex.get(name, 0) for name in ("line", "stamp", "partial"))
        for line, (start, end) in enumerate(zip(outer.start.tolist(), outer.end.tolist(), strict=True)):
            match = form.fullmatch(outer.data, start, end) if end - start <= limit else None
            text, stamp, partial = match.group(line_group, stamp_group, partial_group) if match is not None else (b"", None, None)
            if match is None or partial == partial_mark or text.endswith(b"\r"):
                self._others.append(line)
                text, stamp = b"", None
            self.texts.append(text)
            self.stamps.append(stamp if stamp_group else None)
        self._others.append(len(outer))
        self._next = 0

    def stop(self, line: int) -> int:
        """The next line from this one on that is not ordinary.

        Callers ask in ascending order.
        """
        while self._others[self._next] < line:
            self._next += 1
        return self._others[self._next]


def ordinary_lines(wrappers: Sequence[Wrapper], outer: Lines, limit: int) -> OrdinaryLines | None:
    """Lines of the common form, None if the wrappers have none."""
    wrapper = wrappers[0]
    form = wrapper.form if isinstance(wrapper, RegexWrapper | JsonWrapper) and len(wrappers) == 1 else None
    if form is None:
        return None
    return OrdinaryLines(outer, form, wrapper.partial_mark if isinstance(wrapper, RegexWrapper) else b"", limit)


def _rows(wrapper: Wrapper, lines: Lines, limit: int) -> _Rows | _Objects | None:
    """Key of the lines that belong to one envelope."""
    if isinstance(wrapper, CsvWrapper):
        return _Rows(lines, limit)
    return _Objects(lines, limit, wrapper.blanks) if isinstance(wrapper, ObjectWrapper) else None


def _peel(text: bytes, wrappers: Sequence[Wrapper], limit: int) -> Unwrapped:
    stamp: bytes | None = None
    partial = False
    for wrapper in wrappers:
        if len(text) > limit and isinstance(wrapper, JsonWrapper | CsvWrapper | ObjectWrapper):
            break
        peeled = wrapper.peel(text)
        if peeled is None:
            continue
        text, stamp, partial = peeled.line, peeled.stamp or stamp, partial or peeled.is_partial
    return Unwrapped(text, stamp, partial)


class _Rows:
    """Ends of table rows.

    Quotes come in pairs, so a row ends with the first line that makes their number even.
    """

    def __init__(self, lines: Lines, limit: int) -> None:
        self._lines, self._limit = lines, limit
        counts = np.array([lines.text(line).count(b'"') for line in range(len(lines))], dtype=np.int64)
        self._odd = np.cumsum(counts) % 2
        self._where = (np.flatnonzero(self._odd == 0), np.flatnonzero(self._odd == 1))

    def end(self, line: int) -> int | None:
        before = int(self._odd[line - 1]) if line else 0
        where = self._where[before]
        at = int(np.searchsorted(where, line))
        if at == len(where):
            return None
        last = int(where[at])
        return last if self._lines.stop[last] - self._lines.offset[line] <= self._limit else line


class _Objects:
    """Ends of the objects of an indented document."""

    def __init__(self, lines: Lines, limit: int, blanks: bytes) -> None:
        self._lines, self._limit, self._blanks = lines, limit, blanks

    def end(self, line: int) -> int | None:
        """The last line of the object that begins here, or this line."""
        lines = self._lines
        if not opens_object(lines.text(line), self._blanks):
            return line
        for last in range(line + 1, len(lines)):
            if lines.stop[last] - lines.offset[line] > self._limit:
                return line
            if closes_object(lines.text(last), self._blanks):
                return last
        return None
