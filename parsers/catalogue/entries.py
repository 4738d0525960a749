"""What the catalogue is made of: messages, their wordings, what stands before them, and what a match says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from parsers.catalogue.key_value_blocks import Block
from parsers.catalogue.templates import Template


class Match(NamedTuple):
    """A recognised record. `columns` are fields with a column of their own, `fields` all others.

    `ambiguous` tells that ids hold the fixed words of the message: `event` is null then, and `columns` holds
    what all readings agree on.
    """

    message_id: str
    event: str | None
    system: str
    witness: str
    columns: dict[str, Any]
    fields: dict[str, Any]
    ambiguous: bool = False


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


@dataclass(frozen=True, slots=True)
class Pattern:
    """One wording of a message under one prefix."""

    message: Message
    prefix: str
    template: Template
    constants: dict[str, Any]
    seen_in: tuple[str, ...]
    level: str
    generic: bool

    @property
    def key(self) -> str:
        """First word, where it is fixed."""
        head = self.template.literals[0]
        if " " in head:
            return head[: head.index(" ")]
        return "" if self.template.slots else head


@dataclass(frozen=True, slots=True)
class Prefix:
    """What stands before the texts of an area, in its forms.

    `inside` names the prefix before it, `instead_of` a shorter one whose slot would swallow this one's fixed words.
    A prefix that does not begin with a bracket is told by its `mark`, and `over` passes over what may follow it.
    """

    name: str
    inside: str
    instead_of: str
    texts: tuple[Template, ...]
    mark: str = ""
    over: re.Pattern[str] | None = None
    ends: tuple[tuple[Template, re.Pattern[str]], ...] = ()
    """Each form, and what it looks like from its mark to its end."""

    def openings(self, head: str) -> Iterator[tuple[dict[str, Any], int]]:
        """All ways in which a marked prefix may stand in a line: what it says, and where the message begins."""
        for template, end in self.ends:
            for found in end.finditer(head):
                for values in template.readings(head[: found.end()], 0):
                    passed = self.over.match(head, found.end()) if self.over is not None else None
                    yield values, found.end() if passed is None else passed.end()


def marked_prefix(name: str, texts: tuple[Template, ...], mark: str, over: str) -> Prefix:
    """A prefix that is told by words in its middle."""
    ends = []
    for template in texts:
        first = next(at for at, literal in enumerate(template.literals) if mark in literal)
        literal = template.literals[first]
        parts = [re.escape(literal[literal.index(mark) :])]
        for slot, after in zip(template.slots[first:], template.literals[first + 1 :], strict=True):
            parts.append(f"{slot.type.tight}{re.escape(after)}")
        ends.append((template, re.compile("".join(parts), re.ASCII)))
    return Prefix(name, "", "", texts, mark, re.compile(over, re.ASCII), tuple(ends))


@dataclass(slots=True)
class Bucket:
    """The texts and the inner prefixes that may follow one prefix."""

    name: str
    by_word: dict[str, list[Pattern]] = field(default_factory=dict)
    inner: list[Prefix] = field(default_factory=list)
    open_ended: bool = False

    def patterns(self, text: str, at: int) -> Iterator[Pattern]:
        """Wordings that may stand in `text` from `at` on, by its first word."""
        space = text.find(" ", at)
        yield from self.by_word.get(text[at:] if space < 0 else text[at:space], ())
        yield from self.by_word.get("", ())


class Opening(NamedTuple):
    """A prefix as read from a line: which texts may follow, what it says, and where it ends."""

    bucket: Bucket
    columns: Mapping[str, Any]
    at: int


Reading = tuple[Pattern, dict[str, Any]]
"""One way to read a line: the wording, and the values of its slots and of its prefixes."""
