"""Elements of the catalogue: messages, wordings, prefixes and matches."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from parsers.catalogue.key_value_blocks import Block
from parsers.catalogue.templates import Template

MAX_LOGGERS_CACHED = 16_384


class Match(NamedTuple):
    """A recognised record.

    `columns` are fields with a column of their own, `fields` all others. `is_ambiguous`: ids contain the fixed words of
    the message; then `event` is None, and `columns` holds the values common to all readings.
    """

    message_id: str
    event: str | None
    system: str
    witness: str
    columns: dict[str, Any]
    fields: dict[str, Any]
    is_ambiguous: bool = False


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the catalogue."""

    id: str
    emits: str
    witness: str
    loggers: frozenset[str]
    needs_logger: bool
    system: str
    block: Block | None


def last_segment(logger: str) -> str:
    """`GroupMetadata` of `kafka.coordinator.group.GroupMetadata$`: what shortened logger names keep.

    Kafka's special loggers (`kafka.request.logger`, `state.change.logger`) differ in the word before the last.
    """
    rest, _, last = logger.rstrip("$").rpartition(".")
    return f"{rest.rpartition('.')[2]}.logger" if last == "logger" else last.rpartition("$")[2]


@dataclass(slots=True)
class EntryLoggers:
    """The loggers that write entries, by what shortened names keep."""

    named: set[str] = field(default_factory=set)
    """Loggers with entries for all of their useful lines."""
    _searched: set[str] = field(default_factory=set)
    """Loggers that write few useful lines, so that another entry may be theirs."""
    _packages: set[str] = field(default_factory=set)
    _segments: dict[str, str] = field(default_factory=dict)

    def add(self, loggers: Sequence[str], *, is_searched: bool) -> frozenset[str]:
        """Add the loggers of an entry or area; return their last segments."""
        segments = frozenset(map(last_segment, loggers))
        (self._searched if is_searched else self.named).update(segments)
        self._packages |= {package for logger in loggers if (package := logger.rpartition(".")[0])}
        return segments

    def segment(self, logger: str) -> str:
        """The last part of a logger's name."""
        segment = self._segments.get(logger)
        if segment is None:
            if len(self._segments) >= MAX_LOGGERS_CACHED:
                self._segments.clear()
            segment = self._segments[logger] = last_segment(logger)
        return segment

    def names(self, logger: str) -> bool:
        """Whether all useful lines of this logger are entries."""
        return self.segment(logger) in self.named

    def is_of_product(self, logger: str) -> bool:
        """Return True for these loggers and others of their packages."""
        return self.segment(logger) in self.named | self._searched or logger.rpartition(".")[0] in self._packages


@dataclass(frozen=True, slots=True)
class Pattern:
    """One wording of a message under one prefix."""

    message: Message
    prefix: str
    template: Template
    constants: dict[str, Any]
    seen_in: tuple[str, ...]
    level: str
    is_generic: bool

    @property
    def key(self) -> str:
        """First word if it is fixed, else empty."""
        head = self.template.literals[0]
        if " " in head:
            return head[: head.index(" ")]
        return "" if self.template.slots else head


@dataclass(frozen=True, slots=True)
class Prefix:
    """A prefix of the texts in an area, in its forms.

    `inside` names the prefix before it, `instead_of` a shorter one with a slot that would match the fixed words of this
    one. What `stands_before_all` is followed by any message with its own prefixes. A prefix that does not begin with a
    bracket is found by its `mark`, and `over` skips what may follow it.
    """

    name: str
    inside: str
    instead_of: str
    texts: tuple[Template, ...]
    mark: str = ""
    over: re.Pattern[str] | None = None
    ends: tuple[tuple[Template, re.Pattern[str]], ...] = ()
    """Each form with the pattern from its mark to its end."""
    marks: tuple[str, ...] = ()
    """The mark, and those of forms that have another: their first words."""
    stands_before_all: bool = False

    def openings(self, head: str) -> Iterator[tuple[dict[str, Any], int]]:
        """All readings of a marked prefix: its values and the start of the message."""
        for template, end in self.ends:
            for match in end.finditer(head):
                for values in template.readings(head[: match.end()], 0):
                    passed = self.over.match(head, match.end()) if self.over is not None else None
                    yield values, match.end() if passed is None else passed.end()


def marked_prefix(name: str, texts: tuple[Template, ...], mark: str, over: str) -> Prefix:
    """Make a prefix that is recognised by words in its middle."""
    ends, marks = [], [mark]
    for template in texts:
        first, template_mark = next(
            ((at, mark) for at, literal in enumerate(template.literals) if mark in literal), (0, template.literals[0])
        )
        marks.append(template_mark)
        literal = template.literals[first]
        parts = [re.escape(literal[literal.index(template_mark) :])]
        for slot, after in zip(template.slots[first:], template.literals[first + 1 :], strict=True):
            parts.append(f"{slot.type.tight}{re.escape(after)}")
        ends.append((template, re.compile("".join(parts), re.ASCII)))
    return Prefix(name, "", "", texts, mark, re.compile(over, re.ASCII), tuple(ends), tuple(dict.fromkeys(marks)))


@dataclass(slots=True)
class Bucket:
    """The texts and the inner prefixes that may follow one prefix."""

    name: str
    by_word: dict[str, list[Pattern]] = field(default_factory=dict)
    inner: list[Prefix] = field(default_factory=list)
    open_ended: bool = False

    def patterns(self, text: str, at: int) -> Iterator[Pattern]:
        """Wordings that may begin at `at`, by first word."""
        space = text.find(" ", at)
        yield from self.by_word.get(text[at:] if space < 0 else text[at:space], ())
        yield from self.by_word.get("", ())


class Opening(NamedTuple):
    """A prefix read from a line: possible texts, values, and end."""

    bucket: Bucket
    columns: Mapping[str, Any]
    at: int


Reading = tuple[Pattern, dict[str, Any]]
"""One reading of a line: its wording, and values of slots and prefixes."""
