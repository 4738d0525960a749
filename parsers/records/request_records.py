"""Requests among records whose headers were read as columns.

A request log is long and nearly all of it is about groups; its messages are read one by one, but not its headers.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from parsers.arrow_arrays import numbers
from parsers.formats.layouts import Header
from parsers.records.context import RecordSpan, failure_reason
from parsers.records.record_matching import PADDING
from parsers.records.vector_headers import REQUEST_BEGINNINGS, HeaderColumns

if TYPE_CHECKING:
    from parsers.formats.lines import Ints, Lines
    from parsers.records.scalar_reader import RecordReader
    from parsers.records.vector_headers import Candidates

_DAY = slice(1, 11)
"""Place of the date in a record."""


class RequestRecords:
    """Ordinary records with requests, by their numbers.

    `rows` are those of the candidates, `first` the first lines of all records, `loggers` their names by code.
    """

    def __init__(self, candidates: Candidates, rows: Iterable[int], lines: Lines, first: Ints, loggers: Sequence[str | None]) -> None:
        messages = candidates.messages
        chosen = [row for row in rows if messages[row].startswith(REQUEST_BEGINNINGS) and PADDING not in messages[row]]
        picked = np.array(sorted(chosen), dtype=np.int64)
        line = first[candidates.unit[picked]]
        offset, stop = lines.offset[line], lines.stop[line]
        shared = np.maximum(np.where(line > 0, lines.stop[line - 1], 0) - offset, 0)
        self._levels, self._loggers = HeaderColumns.levels(), loggers
        self._texts = candidates.text.take(numbers(picked))
        columns = (lines.number[line], offset, stop - offset, shared, candidates.at[picked], candidates.odd[picked])
        codes = (candidates.level[picked], candidates.tail[picked])
        values = zip(picked.tolist(), *(column.tolist() for column in (*columns, *codes)), strict=True)
        self._values = dict(zip(candidates.unit[picked].tolist(), enumerate(values), strict=True))
        self._messages = messages

    def __contains__(self, unit: int) -> bool:
        return unit in self._values

    def keep(self, unit: int, records: RecordReader) -> bool:
        """Keep the event of a request.

        False if the message is none, or the record may be torn. A record with a value that raises is rejected.
        """
        at, (row, line, offset, length, shared, time, is_odd, level, logger) = self._values[unit]
        text, message = self._texts[at].as_py(), self._messages[row]
        if text[_DAY] in message:
            return False
        header = Header(None, self._levels[level], self._loggers[logger], None, message, True, None)
        place = RecordSpan(line, offset, length, shared=shared)
        try:
            match = records.catalogue.request(message)
            if match is None:
                return False
            records.recognise(place, header, text, (time, is_odd), match)
        except Exception as problem:  # whatever a log contains, the other records must be read
            records.reject(place, failure_reason(problem), text)
        return True
