"""What the catalogue is made of: messages, their wordings, what stands before them, and what a match says."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from parsers.blocks import Block
from parsers.templates import Template


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
    """

    name: str
    inside: str
    instead_of: str
    texts: tuple[Template, ...]


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
