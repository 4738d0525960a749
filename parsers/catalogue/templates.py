"""Message texts with slots: compile them, match lines, and write lines.

A text is fixed words with slots between them: `Stabilized group {group} generation {generation:int}`. A slot matches
the text up to the next fixed words. Ids are arbitrary text and may contain the fixed words, so a line can match in
several ways; `readings` returns all of them and leaves the choice to the caller.

Cost: `quick` is one anchored regular expression without backtracking between slots: no slot contains a space and the
fixed words between slots contain one, except for at most one slot. Texts with more such slots use `readings`, which
finds the fixed words from the left and from the right. Only if these positions differ are the readings between them
enumerated, up to a limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from parsers.catalogue.slots import NARROWER, NO, TYPES, SlotType
from parsers.schema import COMMON_FIELDS

MAX_READINGS = 64
"""Maximum number of readings of one line with one text; more count as ambiguous."""

MAX_STEPS = 2048
"""Maximum number of searches in one enumeration.

It keeps the time linear for hostile ids.
"""

LARGE_NUMBER = re.compile(r"\d{10}")
"""Numbers with fewer digits fit every type."""

COLUMNS = frozenset(COMMON_FIELDS)
_NEVER_EMPTY = frozenset({"text", "word"})
_SLOT = re.compile(r"\{(\w+)(?::(\w+))?\}")


ConversionPlan = tuple[tuple[int, str, Any, bool], ...]
"""Conversion of reported slots.

For each its index, name (empty if it gives several fields), parser, and True for a column.
"""


LinePart = str | tuple[Callable[[Any], str], str]
"""Words of a line, or how a field is written, with its name.

The name is empty where all fields are needed.
"""


def write(parts: Iterable[LinePart], fields: Mapping[str, Any]) -> str:
    """The line of these parts with values of fields."""
    return "".join(
        [part if part.__class__ is str else part[0](fields[part[1]] if part[1] else fields) for part in parts]  # type: ignore[operator]
    )


class TooManyReadings(Exception):
    """An id repeats the fixed words too often to enumerate all readings."""


class BadTemplate(ValueError):
    """A catalogue text that cannot be compiled."""


@dataclass(frozen=True, slots=True)
class Slot:
    """A slot with a name.

    A name with a leading underscore is matched but not reported.
    """

    name: str
    kind: str
    type: SlotType

    @property
    def is_reported(self) -> bool:
        """True if the slot's text is reported."""
        return not self.name.startswith("_")


@dataclass(slots=True)
class Template:
    """A compiled text: `literals[0] slots[0] literals[1] ... literals[-1]`."""

    text: str
    literals: tuple[str, ...]
    slots: tuple[Slot, ...]
    fixed_length: int
    tail: str
    mark: str
    """The longest inner fixed words, used to reject other lines quickly."""
    longest: str
    """The longest fixed words without blanks around them; a line without them cannot match."""
    _tight: re.Pattern[str] | None = field(default=None, repr=False)
    _tight_lines: re.Pattern[str] | None = field(default=None, repr=False)
    _marks: tuple[str, ...] | None = ()
    """Words around the slot that may contain spaces.

    If a line has each of them once, the slot's bounds are unique. None if the words cannot show that.
    """
    spaced: int = -1
    is_regular: bool = True
    plan: ConversionPlan = ()
    _needs: frozenset[str] | None = field(default=None, repr=False)

    # -- reading -------------------------------------------------------------------------------------------

    def quick(self, text: str, start: int) -> dict[str, Any] | None:
        """The only reading of an ordinary line, None if not found quickly."""
        pieces = self.pieces(text, start)
        values: dict[str, Any] = {}
        return values if pieces is not None and fill(self.plan, pieces, values, values) else None

    def pieces(self, text: str, start: int) -> Sequence[str] | None:
        """Unparsed slots of an ordinary line, None if not found quickly."""
        if not self.is_regular:
            return self._sole(text, start)
        match = self.expression().match(text, start)
        if match is None or (self.spaced >= 0 and not self._is_alone(text, match, self.spaced)):
            return None
        return match.groups()

    def could(self, text: str, start: int) -> bool:
        """Whether the fixed words occur in the line in their order."""
        head = self.literals[0]
        if not text.startswith(head, start) or not text.endswith(self.tail):
            return False
        return self._leftmost(text, self.literals[1:-1], start + len(head), len(text) - len(self.tail)) is not None

    def refuses_number(self, text: str, start: int) -> bool:
        """Whether only a number out of range prevents a match."""
        head, tail = self.literals[0], self.literals[-1]
        begin, end = start + len(head), len(text) - len(tail)
        if not self.slots or not text.startswith(head, start) or not text.endswith(tail) or begin > end:
            return False
        middles = self.literals[1:-1]
        first = self._leftmost(text, middles, begin, end)
        if first is None:
            return False
        pieces = (text[low:high] for low, high in self._spans(middles, first, begin, end))
        return any(
            slot.type.parse is not None and LARGE_NUMBER.search(piece) is not None and slot.type.parse(piece) is NO
            for slot, piece in zip(self.slots, pieces, strict=True)
        )

    def _sole(self, text: str, start: int) -> list[str] | None:
        """Slots of a line with only one position for the fixed words, else None."""
        head, tail = self.literals[0], self.literals[-1]
        begin, end = start + len(head), len(text) - len(tail)
        if self.mark not in text or not text.startswith(head, start) or not text.endswith(tail) or begin > end:
            return None
        middles = self.literals[1:-1]
        first = self._leftmost(text, middles, begin, end)
        if first is None or self._rightmost(text, middles, begin, end) != first:
            return None
        pieces = [text[low:high] for low, high in self._spans(middles, first, begin, end)]
        for slot, piece in zip(self.slots, pieces, strict=True):
            if (not piece and slot.kind in _NEVER_EMPTY) or (slot.type.parse is not None and slot.type.parse(piece) is NO):
                return None
        return pieces

    def _is_alone(self, text: str, match: re.Match[str], spaced: int) -> bool:
        """Whether the bounds of the slot that may contain spaces are unique."""
        begin, end = match.span(spaced + 1)
        before, after = self.literals[spaced], self.literals[spaced + 1]
        if spaced and text.find(before, begin - len(before) + 1) >= 0:
            return False
        return spaced == len(self.slots) - 1 or text.find(after, begin) == end

    def pieces_of(self, texts: Sequence[str]) -> Sequence[Sequence[str] | None]:
        """Results of `pieces` for several texts.

        One search suffices if all are ordinary.
        """
        joined = "\n".join(texts)
        if len(texts) > 1 and self.is_regular and self._marks is not None and joined.count("\n") == len(texts) - 1:
            matches: list[Any] = self._lines_expression().findall(joined)
            # Matches begin at starts of lines and do not overlap, so with as many matches as lines each line has one.
            if len(matches) == len(texts) and all(joined.count(mark) == len(texts) for mark in self._marks):
                return matches if len(self.slots) > 1 else [(piece,) if self.slots else () for piece in matches]
        return [self.pieces(text, 0) for text in texts]

    def expression(self) -> re.Pattern[str]:
        """The regular expression of the text's common form."""
        if self._tight is None:
            self._tight = re.compile(self._form() + r"\Z")
        return self._tight

    def _lines_expression(self) -> re.Pattern[str]:
        if self._tight_lines is None:
            self._tight_lines = re.compile(f"^{self._form()}$", re.MULTILINE)
        return self._tight_lines

    def _form(self) -> str:
        parts = [re.escape(self.literals[0])]
        for slot, literal in zip(self.slots, self.literals[1:], strict=True):
            parts.append(f"({slot.type.tight}){re.escape(literal)}")
        return "".join(parts)

    def readings(self, text: str, start: int) -> Iterator[dict[str, Any]]:
        """All readings of the line from `start` on, as values by slot name.

        Raises TooManyReadings.
        """
        for spans in self._embeddings(text, start):
            values = self._values(text, spans)
            if values is not None:
                yield values

    def _values(self, text: str, spans: list[tuple[int, int]]) -> dict[str, Any] | None:
        values: dict[str, Any] = {}
        for slot, (begin, end) in zip(self.slots, spans, strict=True):
            piece = text[begin:end]
            if not piece and slot.kind in _NEVER_EMPTY:
                return None
            value: Any = piece if slot.type.parse is None else slot.type.parse(piece)
            if value is NO:
                return None
            if slot.type.several:
                values.update(value)
            elif slot.is_reported:
                values[slot.name] = value
        return values

    def _embeddings(self, text: str, start: int) -> Iterator[list[tuple[int, int]]]:
        """Spans of the slots for each placement of the fixed words."""
        head, tail = self.literals[0], self.literals[-1]
        if not self.slots:
            if text.startswith(head, start) and len(text) == start + len(head):
                yield []
            return
        begin, end = start + len(head), len(text) - len(tail)
        if not text.startswith(head, start) or not text.endswith(tail) or begin > end:
            return
        middles = self.literals[1:-1]
        first = self._leftmost(text, middles, begin, end)
        if first is None:
            return
        last = self._rightmost(text, middles, begin, end)
        if first == last:
            yield self._spans(middles, first, begin, end)
            return
        yield from self._between(text, middles, first, last, begin, end)

    @staticmethod
    def _leftmost(text: str, middles: tuple[str, ...], begin: int, end: int) -> list[int] | None:
        places: list[int] = []
        for literal in middles:
            place = text.find(literal, begin, end)
            if place < 0:
                return None
            places.append(place)
            begin = place + len(literal)
        return places

    @staticmethod
    def _rightmost(text: str, middles: tuple[str, ...], begin: int, end: int) -> list[int]:
        places: list[int] = []
        for literal in reversed(middles):
            end = text.rfind(literal, begin, end)
            places.append(end)
        return places[::-1]

    @staticmethod
    def _spans(middles: tuple[str, ...], places: list[int], begin: int, end: int) -> list[tuple[int, int]]:
        spans: list[tuple[int, int]] = []
        for literal, place in zip(middles, places, strict=True):
            spans.append((begin, place))
            begin = place + len(literal)
        spans.append((begin, end))
        return spans

    def _between(
        self, text: str, middles: tuple[str, ...], first: list[int], last: list[int], begin: int, end: int
    ) -> Iterator[list[tuple[int, int]]]:
        """Enumerate placements depth first.

        Each of the fixed words is between its leftmost and its rightmost position.
        """
        steps = placement_count = 0
        stack: list[tuple[int, list[int], int]] = [(0, [], begin)]
        while stack:
            depth, places, at = stack.pop()
            if depth == len(middles):
                placement_count += 1
                if placement_count > MAX_READINGS:
                    raise TooManyReadings
                yield self._spans(middles, places, begin, end)
                continue
            literal = middles[depth]
            slot = self.slots[depth]
            place = text.find(literal, max(at, first[depth]), last[depth] + len(literal))
            while place >= 0:
                steps += 1
                if steps > MAX_STEPS:
                    raise TooManyReadings
                if slot.type.parse is None or slot.type.parse(text[at:place]) is not NO:
                    stack.append((depth + 1, [*places, place], place + len(literal)))
                place = text.find(literal, place + 1, last[depth] + len(literal))

    # -- writing -------------------------------------------------------------------------------------------

    def render(self, fields: Mapping[str, Any]) -> str:
        """Write the line with these values."""
        return write(self.parts(fields.keys()), fields)

    def parts(self, given: Collection[str]) -> list[LinePart]:
        """The line in parts, where these fields are given.

        Unreported slots without a value get a filler.
        """
        parts: list[LinePart] = [self.literals[0]]
        for slot, literal in zip(self.slots, self.literals[1:], strict=True):
            if slot.type.several:
                parts.append((slot.type.render, ""))
            elif slot.is_reported or slot.name in given:
                parts.append((slot.type.render, slot.name))
            else:
                parts.append(slot.type.filler)
            parts.append(literal)
        return parts

    def names(self) -> frozenset[str]:
        """Fields in a match."""
        kept = {slot.name for slot in self.slots if slot.is_reported and not slot.type.several}
        return frozenset(kept.union(*(slot.type.several for slot in self.slots)))

    def needs(self) -> frozenset[str]:
        """Fields required for writing the line."""
        if self._needs is None:
            kept = {slot.name for slot in self.slots if slot.is_reported and not slot.type.several}
            self._needs = frozenset(kept.union(*(slot.type.needs for slot in self.slots)))
        return self._needs


def compile_template(text: str, types: Mapping[str, SlotType] = TYPES, columns: frozenset[str] = COLUMNS) -> Template:
    """Compile a text with slots. Raises BadTemplate."""
    literals: list[str] = []
    slots: list[Slot] = []
    at = 0
    for match in _SLOT.finditer(text):
        literals.append(text[at : match.start()])
        kind = match[2] or "text"
        if kind not in types:
            raise BadTemplate(f"unknown slot type {kind!r} in {text!r}")
        kind = NARROWER.get(match[1], kind) if kind == "int" else kind
        slots.append(Slot(match[1], kind, types[kind]))
        at = match.end()
    literals.append(text[at:])
    if any(not literal for literal in literals[1:-1]):
        raise BadTemplate(f"two slots without words between them in {text!r}")
    template = Template(
        text,
        tuple(literals),
        tuple(slots),
        sum(map(len, literals)),
        literals[-1],
        max(literals[1:-1], key=len, default=literals[0]),
        max(literals, key=len).strip(),
    )
    spaced = [index for index, slot in enumerate(slots) if slot.type.is_spaced]
    template.spaced = spaced[0] if spaced else -1
    template.is_regular = len(spaced) <= 1 and all(" " in literal for literal in literals[1:-1])
    template._marks = _marks(literals, template.spaced)
    template.plan = tuple(
        (index, "" if slot.type.several else slot.name, _quick_parser(slot.type), slot.name in columns)
        for index, slot in enumerate(slots)
        if slot.is_reported or slot.type.several
    )
    return template


def _marks(literals: Sequence[str], spaced: int) -> tuple[str, ...] | None:
    """Words before and after a slot.

    None if they can overlap themselves, because counting would then be wrong.
    """
    if spaced < 0:
        return ()
    around = (literals[spaced] if spaced else None, literals[spaced + 1] if spaced < len(literals) - 2 else None)
    marks = tuple(words.strip() for words in around if words is not None)
    overlap = any(mark.startswith(mark[-length:]) for mark in marks for length in range(1, len(mark)))
    return None if overlap or not all(marks) else marks


def _quick_parser(slot_type: SlotType) -> Any:
    """Parser for text matched by the tight form, None if it needs none."""
    parse = slot_type.quick or slot_type.parse
    return None if parse is str else parse


def fill(plan: ConversionPlan, pieces: Sequence[str], columns: dict[str, Any], fields: dict[str, Any]) -> bool:
    """Parse slots into columns and fields.

    Returns False if a value does not fit its type.
    """
    for index, name, parse, is_column in plan:
        if parse is None:
            value: Any = pieces[index]
        else:
            value = parse(pieces[index])
            if value is NO:
                return False
        if is_column:
            columns[name] = value
        elif name:
            fields[name] = value
        else:
            for key in value:
                (columns if key in COLUMNS else fields)[key] = value[key]
    return True
