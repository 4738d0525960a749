"""Match many messages at once, with the catalogue's quick forms.

`Catalogue.match` makes an object for each message. Here the parts of messages stay strings, grouped by wording, and are
converted column by column at the end of the chunk. A message without a quick form is left over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from parsers.catalogue.slots import NO
from parsers.catalogue.templates import COLUMNS
from parsers.formats.layouts import LEVELS, TORN_HEADER
from parsers.records.vector_headers import REQUEST_BEGINNINGS

if TYPE_CHECKING:
    from parsers.catalogue.catalogue import Bucket, Catalogue, Pattern
    from parsers.catalogue.entries import Message
    from parsers.catalogue.templates import ConversionPlan, Template

_HEAD = 48
"""Length of a message's beginning, which usually holds its prefix and first word."""
_MAX_HEADS = 4096


class _Reason(NamedTuple):
    """Wording of the reason in one of a message's slots."""

    slot: int
    id: str
    template: Template


@dataclass(slots=True)
class WordingRecords:
    """Records of one wording in one chunk, as parallel lists."""

    pattern: Pattern
    reason: _Reason | None = None
    rows: list[int] = field(default_factory=list)
    prefixes: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[Sequence[str]] = field(default_factory=list)

    def add(self, rows: Sequence[int], prefix: dict[str, Any], pieces: Sequence[Sequence[str]]) -> None:
        """Add records with a common prefix."""
        self.rows += rows
        self.prefixes += [prefix] * len(rows)
        self.pieces += pieces

    def plan(self) -> ConversionPlan:
        """Conversion of parts to values; those of a reason follow those of the message."""
        plan = self.pattern.template.plan
        if self.reason is None:
            return plan
        slot, _, template = self.reason
        after = len(self.pattern.template.slots)
        other_steps = tuple(step for step in plan if step[0] != slot)
        return (*other_steps, (slot, "reason", None, False), *((after + step[0], *step[1:]) for step in template.plan))

    def constants(self) -> dict[str, Any]:
        """Values common to all records of the wording."""
        return {**self.pattern.constants, **({} if self.reason is None else {"reason_id": self.reason.id})}


@dataclass(slots=True)
class _OpenedPrefix:
    """A parsed prefix, and the messages after it by their first word."""

    prefix: dict[str, Any]
    at: int
    bucket: Bucket
    queues: dict[str, list[int]] = field(default_factory=dict)


class QuickReader:
    """Finds the wording of messages, within one chunk."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._wordings: dict[tuple[int, int], WordingRecords] = {}

    def read(self, messages: Sequence[str], loggers: Sequence[str]) -> list[int]:
        """Match all messages with a quick form; return the indexes of the others."""
        left: list[int] = []
        for opened in self._opened(messages, left):
            for word, rows in opened.queues.items():
                self._sort(opened, opened.bucket.by_word.get(word, ()), rows, messages, loggers, left)
        return left

    def _opened(self, messages: Sequence[str], left: list[int]) -> list[_OpenedPrefix]:
        """Queue the messages by prefix and first word.

        Unclear ones are added to `left`.
        """
        every = [_OpenedPrefix({}, 0, self._catalogue.plain)]
        prefixes: dict[str, _OpenedPrefix | None] = {}
        # Most messages begin like earlier ones, so their queue is found without parsing.
        queues: dict[str, list[int]] = {}
        for row, message in enumerate(messages):
            head = message[:_HEAD]
            queue = queues.get(head)
            if queue is None:
                queue, message_rows = self._queue(message, every, prefixes, left)
                if message_rows <= len(head) and len(queues) < _MAX_HEADS:
                    queues[head] = queue
            queue.append(row)
        return every

    def _queue(
        self, message: str, every: list[_OpenedPrefix], prefixes: dict[str, _OpenedPrefix | None], left: list[int]
    ) -> tuple[list[int], int]:
        """The queue of a message, and the length of the beginning that determines it."""
        opened = plain = every[0]
        sure = True
        if message.startswith("["):
            key = message[: message.find("]") + 2]
            if key in prefixes:
                prefix = prefixes[key]
            else:
                prefix, final = self._open(message, plain)
                sure = final and key[-1] != "["
                if sure:
                    prefixes[key] = prefix
                if prefix is not None and prefix is not plain:
                    every.append(prefix)
            if prefix is None:
                return left, len(key) if sure else len(message) + 1
            opened = prefix
        elif message.startswith(REQUEST_BEGINNINGS):
            return left, 0
        space = message.find(" ", opened.at)
        end = space if space >= 0 else len(message)
        return opened.queues.setdefault(message[opened.at : end], []), end + 1 if sure else len(message) + 1

    def _open(self, message: str, plain: _OpenedPrefix) -> tuple[_OpenedPrefix | None, bool]:
        """Parse the prefix of a message as `Catalogue.match` does.

        The second value is True if all messages with the same first bracket have it. Returns `plain` if the bracket is
        part of the message.
        """
        bucket, at, count = self._catalogue.plain, 0, 0
        prefix: dict[str, Any] = {}
        while message.startswith("[", at):
            openings = self._catalogue.openings(bucket, message, at)
            if len(openings) > 1:
                return None, False
            if not openings:
                break
            bucket, read, at = openings[0]
            prefix = {**prefix, **read}
            count += 1
        if not count:
            return plain, True
        if bucket.open_ended and message.find("] ", at) >= 0:
            return None, False
        return _OpenedPrefix(prefix, at, bucket), count == 1 and not bucket.inner and not bucket.open_ended

    def _sort(
        self,
        opened: _OpenedPrefix,
        patterns: Iterable[Pattern],
        rows: list[int],
        messages: Sequence[str],
        loggers: Sequence[str],
        left: list[int],
    ) -> None:
        """Match messages with a common beginning, in the order used by `Catalogue.match`."""
        texts = [messages[row][opened.at :] for row in rows]
        segments = {loggers[row] for row in rows}
        for pattern in patterns:
            template = pattern.template
            head, mark, tail = template.literals[0], template.mark, template.tail
            fits = [n for n, text in enumerate(texts) if text.startswith(head) and text.endswith(tail) and mark in text]
            if not fits:
                continue
            every = len(fits) == len(rows)
            pieces = template.pieces_of(texts if every else [texts[n] for n in fits])
            refused = {segment for segment in segments if not self._catalogue.allows(pattern.message, segment)}
            gone = set(fits)
            if refused or pattern.message.block is not None or None in pieces:
                unread = {n for n, piece in zip(fits, pieces, strict=True) if piece is None}
                closer = {n for n in unread if template.could(texts[n], 0)}
                others = {n for n in fits if loggers[rows[n]] in refused} | unread
                closer |= set(fits) - others if pattern.message.block is not None else set()
                left += [rows[n] for n in closer]
                gone -= others - closer
                taken = [(n, piece) for n, piece in zip(fits, pieces, strict=True) if n not in others and n not in closer]
                fits, pieces = [n for n, _ in taken], [piece for _, piece in taken]
            self._take(pattern, opened.prefix, rows if len(fits) == len(rows) else [rows[n] for n in fits], pieces)
            if len(gone) == len(rows):
                return
            keep = [n for n in range(len(rows)) if n not in gone]
            rows, texts = [rows[n] for n in keep], [texts[n] for n in keep]
        left += rows

    def _take(self, pattern: Pattern, prefix: dict[str, Any], rows: Sequence[int], pieces: Sequence[Any]) -> None:
        slot = next((at for at, slot in enumerate(pattern.template.slots) if slot.kind == "reason"), None)
        if slot is None:
            self._wording(pattern, None).add(rows, prefix, pieces)
            return
        for same_texts in self._catalogue.reasons.alike([piece[slot] for piece in pieces]):
            reason = None if same_texts.id is None or same_texts.template is None else _Reason(slot, same_texts.id, same_texts.template)
            pieces_of_texts = [(*pieces[at], *inner) for at, inner in zip(same_texts.texts, same_texts.pieces, strict=True)]
            self._wording(pattern, reason).add([rows[at] for at in same_texts.texts], prefix, pieces_of_texts)

    def _wording(self, pattern: Pattern, reason: _Reason | None) -> WordingRecords:
        key = (id(pattern), 0 if reason is None else id(reason.template))
        if key not in self._wordings:
            self._wordings[key] = WordingRecords(pattern, reason)
        return self._wordings[key]

    def values_by_wording(self) -> list[MessageValues]:
        """The results by wording.

        Messages with a value of the wrong type are omitted.
        """
        return [_values(wording) for wording in self._wordings.values() if wording.rows]


@dataclass(slots=True)
class MessageValues:
    """Values of one wording: columns, common fields, and fields per record."""

    message: Message
    rows: list[int]  # indexes of the messages
    constants: dict[str, Any]
    common: dict[str, list[Any]] = field(default_factory=dict)
    per_record: dict[str, list[Any]] = field(default_factory=dict)
    several: list[list[dict[str, Any]]] = field(default_factory=list)

    @property
    def count(self) -> int:
        """Number of records with this wording."""
        return len(self.rows)

    def json(self) -> list[str]:
        """Canonical JSON of the fields of each record."""
        if self.several:
            return [self._document(row) for row in range(self.count)]
        if not self.per_record:
            return [_dumps(self.constants)] * self.count
        names = sorted({*self.constants, *self.per_record})
        # keys come from the catalogue, so only values may need escapes
        form = "{" + ",".join(f'"{name}":%s' for name in names) + "}"
        columns = [
            _rendered(self.per_record[name]) if name in self.per_record else [_dumps(self.constants[name])] * self.count for name in names
        ]
        return [form % values for values in zip(*columns, strict=True)]

    def _document(self, row: int) -> str:
        fields = dict(self.constants)
        for name, values in self.per_record.items():
            fields[name] = values[row]
        for items in self.several:
            fields.update({name: value for name, value in items[row].items() if name not in COLUMNS})
        return _dumps(fields)


def _dumps(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _rendered(values: list[Any]) -> list[str]:
    """JSON of each value of a column."""
    first = values[0]
    if type(first) is int and set(map(type, values)) == {int}:
        return list(map(str, values))
    if type(first) is str and set(map(type, values)) == {str}:
        joined = "".join(values)
        if len(orjson.dumps(joined)) == len(joined) + 2:  # ASCII, with nothing to escape
            return [f'"{value}"' for value in values]
    return list(map(_dumps, values))


def _values(wording: WordingRecords) -> MessageValues:
    """Convert parts to values."""
    plan = wording.plan()
    cut = list(zip(*wording.pieces, strict=True))
    parsed = [list(cut[index]) if parse is None else list(map(parse, cut[index])) for index, _, parse, _ in plan]
    bad = {row for values in parsed if values.count(NO) for row, value in enumerate(values) if value is NO}
    bad |= _torn(cut[wording.pattern.template.spaced]) if wording.pattern.template.spaced >= 0 else set()
    if bad:
        keep = [row for row in range(len(wording.rows)) if row not in bad]
        wording.rows = [wording.rows[row] for row in keep]
        wording.prefixes = [wording.prefixes[row] for row in keep]
        parsed = [[values[row] for row in keep] for values in parsed]
    result = MessageValues(wording.pattern.message, wording.rows, wording.constants())
    distinct = _distinct(wording.prefixes)
    for name in {name for prefix in distinct for name in prefix}:
        is_constant = len(distinct) == 1
        result.common[name] = [distinct[0][name]] * result.count if is_constant else [prefix.get(name) for prefix in wording.prefixes]
    for (_, name, _, is_column), values in zip(plan, parsed, strict=True):
        if is_column:
            result.common[name] = values
        elif name:
            result.per_record[name] = values
        else:
            result.several.append(values)
            for column in COLUMNS.intersection(set().union(*values)):
                before = result.common.get(column) or [None] * result.count
                result.common[column] = [value.get(column, other) for value, other in zip(values, before, strict=True)]
    return result


def _torn(texts: Sequence[str]) -> set[int]:
    """Indexes of texts that contain the header of another record.

    Only texts that may contain spaces are checked.
    """
    joined = "\n".join(texts)
    # Searching for a few words is much faster than the regular expression.
    if not any(level in joined for level in LEVELS) or TORN_HEADER.search(joined) is None:
        return set()
    return {row for row, text in enumerate(texts) if TORN_HEADER.search(text)}


def _distinct(prefixes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    first = prefixes[:1]
    is_one_prefix = not first or prefixes.count(first[0]) == len(prefixes)
    return first if is_one_prefix else list({id(prefix): prefix for prefix in prefixes}.values())
