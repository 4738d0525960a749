"""Many messages at once: the catalogue's quick forms, with values kept by wording until all are columns.

`Catalogue.match` makes an object for each message. Here the pieces of a message stay as they are cut, and are
turned into values column by column when the chunk is done. A message that has no quick form is left over.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from parsers.fast import REQUESTS
from parsers.layouts import LEVELS, TORN_HEADER
from parsers.schema import COMMON_FIELDS
from parsers.slots import NO

if TYPE_CHECKING:
    from parsers.catalogue import Bucket, Catalogue, Pattern
    from parsers.entries import Message
    from parsers.templates import Plan, Template

# What orjson escapes.
_SPECIAL = re.compile(r'["\\\x00-\x1f]')
_COMMON = frozenset(COMMON_FIELDS)


class _Reason(NamedTuple):
    """The wording of the reason that stands in one of a message's slots."""

    slot: int
    id: str
    template: Template


@dataclass(slots=True)
class Wording:
    """Records of one wording in one chunk. The lists run in step."""

    pattern: Pattern
    reason: _Reason | None = None
    rows: list[int] = field(default_factory=list)
    prefixes: list[dict[str, Any]] = field(default_factory=list)
    pieces: list[Sequence[str]] = field(default_factory=list)

    def plan(self) -> Plan:
        """How pieces become values; those of a reason stand after those of the message."""
        plan = self.pattern.template.plan
        if self.reason is None:
            return plan
        slot, _, template = self.reason
        after = len(self.pattern.template.slots)
        own = tuple(step for step in plan if step[0] != slot)
        return (*own, (slot, "reason", None, False), *((after + step[0], *step[1:]) for step in template.plan))

    def constants(self) -> dict[str, Any]:
        """Values that all records of the wording have."""
        return {**self.pattern.constants, **({} if self.reason is None else {"reason_id": self.reason.id})}


@dataclass(slots=True)
class _Opened:
    """A prefix as it was read, and the messages after it by their first word."""

    prefix: dict[str, Any]
    at: int
    bucket: Bucket
    queues: dict[str, list[int]] = field(default_factory=dict)


class QuickReader:
    """Finds the wording of messages. One per chunk."""

    def __init__(self, catalogue: Catalogue) -> None:
        self._catalogue = catalogue
        self._wordings: dict[tuple[int, int], Wording] = {}

    def read(self, messages: Sequence[str], loggers: Sequence[str]) -> list[int]:
        """Take all messages that have a quick form; gives the numbers of the others."""
        left: list[int] = []
        for opened in self._opened(messages, left):
            for word, rows in opened.queues.items():
                self._sort(opened, opened.bucket.by_word.get(word, ()), rows, messages, loggers, left)
        return left

    def _opened(self, messages: Sequence[str], left: list[int]) -> list[_Opened]:
        """Queue the messages by prefix and first word; those that need a closer look are left."""
        plain = _Opened({}, 0, self._catalogue.plain)
        every = [plain]
        cache: dict[str, _Opened | None] = {}
        for row, message in enumerate(messages):
            opened: _Opened | None = plain
            if message.startswith("["):
                key = message[: message.find("]") + 2]
                if key in cache:
                    opened = cache[key]
                else:
                    opened, final = self._open(message, plain)
                    if final and key[-1] != "[":
                        cache[key] = opened
                    if opened is not None and opened is not plain:
                        every.append(opened)
            elif message.startswith(REQUESTS):
                opened = None
            if opened is None:
                left.append(row)
                continue
            space = message.find(" ", opened.at)
            word = message[opened.at : space] if space >= 0 else message[opened.at :]
            queue = opened.queues.get(word)
            if queue is None:
                opened.queues[word] = [row]
            else:
                queue.append(row)
        return every

    def _open(self, message: str, plain: _Opened) -> tuple[_Opened | None, bool]:
        """The prefix of a message, as `Catalogue.match` finds it, and whether all messages with the same first bracket have it.

        `plain` where the bracket is no prefix, but of the message itself.
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
        return _Opened(prefix, at, bucket), count == 1 and not bucket.inner and not bucket.open_ended

    def _sort(
        self,
        opened: _Opened,
        patterns: Iterable[Pattern],
        rows: list[int],
        messages: Sequence[str],
        loggers: Sequence[str],
        left: list[int],
    ) -> None:
        """Give messages that begin alike to the first wording that fits each, as `Catalogue.match` does one by one."""
        at = opened.at
        for pattern in patterns:
            template = pattern.template
            mark, tail = template.mark, template.tail
            fits = [row for row in rows if mark in messages[row] and messages[row].endswith(tail)]
            if not fits:
                continue
            allowed = {logger: self._catalogue.allows(pattern.message, logger) for logger in {loggers[row] for row in fits}}
            taken: list[int] = []
            pieces: list[Sequence[str]] = []
            other = set(rows).difference(fits) if len(fits) < len(rows) else set()
            for row, found in zip(fits, _pieces(template, [messages[row] for row in fits], at), strict=True):
                if found is None:
                    if template.could(messages[row], at):
                        left.append(row)
                    else:
                        other.add(row)
                elif not allowed[loggers[row]]:
                    other.add(row)
                elif pattern.message.block is not None:
                    left.append(row)
                else:
                    taken.append(row)
                    pieces.append(found)
            self._take(pattern, opened.prefix, taken, pieces)
            rows = list(other)
            if not rows:
                return
        left += rows

    def _take(self, pattern: Pattern, prefix: dict[str, Any], rows: list[int], pieces: list[Sequence[str]]) -> None:
        slot = next((at for at, each in enumerate(pattern.template.slots) if each.kind == "reason"), None)
        if slot is None:
            wording = self._wordings.setdefault((id(pattern), 0), Wording(pattern))
            wording.rows += rows
            wording.pieces += pieces
            wording.prefixes += [prefix] * len(rows)
            return
        find = self._catalogue.reasons.wording
        for row, piece in zip(rows, pieces, strict=True):
            reason = find(piece[slot])
            if reason is None:
                wording = self._wordings.setdefault((id(pattern), 0), Wording(pattern))
            else:
                reason_id, template, inner = reason
                key = (id(pattern), id(template))
                if key not in self._wordings:
                    self._wordings[key] = Wording(pattern, _Reason(slot, reason_id, template))
                wording = self._wordings[key]
                piece = (*piece, *inner)
            wording.rows.append(row)
            wording.pieces.append(piece)
            wording.prefixes.append(prefix)

    def found(self) -> list[Found]:
        """What was read, by wording. Messages with a value that is not of its type after all are not in it."""
        return [_values(wording) for wording in self._wordings.values() if wording.rows]


@dataclass(slots=True)
class Found:
    """Values of one wording: columns, fields in columns of their own, and fields that differ from record to record."""

    message: Message
    rows: list[int]  # numbers of the messages
    constants: dict[str, Any]
    common: dict[str, list[Any]] = field(default_factory=dict)
    own: dict[str, list[Any]] = field(default_factory=dict)
    several: list[list[dict[str, Any]]] = field(default_factory=list)

    @property
    def count(self) -> int:
        return len(self.rows)

    def json(self) -> list[str]:
        """Canonical JSON of the fields of each record."""
        if self.several:
            return [self._document(row) for row in range(self.count)]
        if not self.own:
            return [_dumps(self.constants)] * self.count
        names = sorted({*self.constants, *self.own})
        # The keys are the catalogue's own words, so only values can need escapes.
        form = "{" + ",".join(f'"{name}":%s' for name in names) + "}"
        columns = [_rendered(self.own[name]) if name in self.own else [_dumps(self.constants[name])] * self.count for name in names]
        return [form % values for values in zip(*columns, strict=True)]

    def _document(self, row: int) -> str:
        fields = dict(self.constants)
        for name, values in self.own.items():
            fields[name] = values[row]
        for items in self.several:
            fields.update({name: value for name, value in items[row].items() if name not in _COMMON})
        return _dumps(fields)


def _dumps(value: Any) -> str:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _rendered(values: list[Any]) -> list[str]:
    """JSON of each value of a column."""
    first = values[0]
    if type(first) is int and set(map(type, values)) == {int}:
        return list(map(str, values))
    if type(first) is str and set(map(type, values)) == {str} and _SPECIAL.search("".join(values)) is None:
        return [f'"{value}"' for value in values]
    return list(map(_dumps, values))


def _values(wording: Wording) -> Found:
    """Turn pieces into values."""
    plan = wording.plan()
    parsed = _parsed(wording, plan)
    bad = {row for values in parsed if values.count(NO) for row, value in enumerate(values) if value is NO}
    bad |= _torn(wording)
    if bad:
        keep = [row for row in range(len(wording.rows)) if row not in bad]
        wording.rows = [wording.rows[row] for row in keep]
        wording.prefixes = [wording.prefixes[row] for row in keep]
        wording.pieces = [wording.pieces[row] for row in keep]
        parsed = [[values[row] for row in keep] for values in parsed]
    result = Found(wording.pattern.message, wording.rows, wording.constants())
    for name in {name for prefix in _distinct(wording.prefixes) for name in prefix}:
        result.common[name] = [prefix.get(name) for prefix in wording.prefixes]
    for (_, name, _, is_column), values in zip(plan, parsed, strict=True):
        if is_column:
            result.common[name] = values
        elif name:
            result.own[name] = values
        else:
            result.several.append(values)
            for column in _COMMON.intersection(set().union(*values)):
                before = result.common.get(column) or [None] * result.count
                result.common[column] = [value.get(column, other) for value, other in zip(values, before, strict=True)]
    return result


def _pieces(template: Template, messages: Sequence[str], at: int) -> Iterable[Sequence[str] | None]:
    expression = template.sole_expression()
    if expression is None:
        return [template.pieces(message, at) for message in messages]
    match = expression.match
    return [None if found is None else found.groups() for found in [match(message, at) for message in messages]]


def _torn(wording: Wording) -> set[int]:
    """Records with a slot that may hold spaces and has swallowed the header of another record."""
    spaced = wording.pattern.template.spaced
    if spaced < 0:
        return set()
    joined = "\n".join(pieces[spaced] for pieces in wording.pieces)
    # Looking for a few words is many times faster than the expression.
    if not any(level in joined for level in LEVELS) or TORN_HEADER.search(joined) is None:
        return set()
    return {row for row, pieces in enumerate(wording.pieces) if TORN_HEADER.search(pieces[spaced])}


def _parsed(wording: Wording, plan: Sequence[Any]) -> list[list[Any]]:
    if not wording.pieces:
        return [[] for _ in plan]
    cut = list(zip(*wording.pieces, strict=True))
    return [list(cut[index]) if parse is None else list(map(parse, cut[index])) for index, _, parse, _ in plan]


def _distinct(prefixes: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    return iter({id(prefix): prefix for prefix in prefixes}.values())
