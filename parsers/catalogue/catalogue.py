"""What each log line of each version looks like, and what it means.

Entries are data (`messages/*.yaml`). An entry's text is what the product prints, with typed slots; the same
text reads lines and writes them. A line is looked up by its prefix (`[GroupCoordinator 1]: `) and the first
word after it, so only the few texts that begin alike are tried.

Ids are arbitrary text. Where one line can be read in several ways, what must agree decides (a number is a
number, a member id ends with a UUID, the offsets partition is the hash of the group); what is left open then
is a match marked `ambiguous`, without event, and with only those columns that all readings share.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cached_property, lru_cache
from typing import Any

import ahocorasick_rs

from parsers.catalogue import partition_slots, queue_slots
from parsers.catalogue.ambiguity import ambiguous, choose
from parsers.catalogue.entries import Bucket, EntryLoggers, Match, Message, Opening, Pattern, Prefix, Reading, last_segment, marked_prefix
from parsers.catalogue.group_loggers import GroupLoggers
from parsers.catalogue.key_value_blocks import block_of
from parsers.catalogue.loading import load
from parsers.catalogue.rebalance_reasons import Reasons
from parsers.catalogue.request_bodies import Bodies
from parsers.catalogue.request_log import Requests
from parsers.catalogue.slots import TYPES, SlotType
from parsers.catalogue.templates import COLUMNS, LARGE_NUMBER, TooManyReadings, compile_template, fill
from parsers.catalogue.wordings import Wordings
from parsers.schema import COMMON_FIELDS

__all__ = ["Bucket", "Catalogue", "Match", "Message", "Pattern", "catalogue", "last_segment"]

_CLOSED = frozenset(TYPES[kind].tight for kind in ("digits", "int", "int32", "count"))
_CLOSING = re.compile(r"\](?:: | )")
_SEPARATING = 4
"""Characters of fixed words that names hardly hold, more than these."""
MAX_PREFIXES_CACHED = 16_384
MAX_WHOLE_LINES = 64
"""Lines of a message that are read as one."""
MAX_OPENINGS = 32
"""Closing brackets at which a prefix may end.

With more of them a line is ambiguous.
"""


class Catalogue:
    """All messages, ready to match and to render."""

    def __init__(self, source: Mapping[str, Any], types: Mapping[str, SlotType] = TYPES) -> None:
        self.version: str = source["version"]
        self.reasons = Reasons(source["reasons"])
        self._requests = Requests(Bodies(source["bodies"]))
        slot_types = {**self._requests.slot_types(), **partition_slots.slot_types(), **queue_slots.slot_types()}
        self._types: dict[str, SlotType] = {**types, "reason": self.reasons.slot_type(), **slot_types}
        self.prefixes: dict[str, Prefix] = {}
        for entry in source["prefixes"]:
            texts = tuple(compile_template(text, self._types) for text in entry["texts"])
            if "mark" in entry:
                self.prefixes[entry["name"]] = marked_prefix(entry["name"], texts, entry["mark"], entry["over"])
            else:
                self.prefixes[entry["name"]] = Prefix(
                    entry["name"],
                    entry.get("inside", ""),
                    entry.get("instead_of", ""),
                    texts,
                    stands_before_all=entry.get("stands_before_all", False),
                )
        self._marked = tuple(prefix for prefix in self.prefixes.values() if prefix.mark)
        self._marks = tuple(mark for prefix in self._marked for mark in prefix.marks)
        self.messages: dict[str, Message] = {}
        self.patterns: list[Pattern] = []
        self.loggers = EntryLoggers()
        self.group_loggers = GroupLoggers(source, self.loggers)
        self._whole: tuple[str, ...] = ()
        """How messages begin that are told by more than their first line."""
        for area in source["areas"]:
            self._add_area(area)
        self.wordings = Wordings(self.patterns, self.prefixes)
        self._buckets: dict[str, Bucket] = {}
        self.plain = self._build("")
        self._cache: dict[str, tuple[Opening, ...]] = {}
        self._inner_words: dict[str, tuple[str, ...]] = {}
        self.literals: list[bytes] = [literal.encode() for literal in source["literals"]]

    def _add_area(self, area: Mapping[str, Any]) -> None:
        searched = area.get("searched", False)  # few lines of these loggers are useful: only those with a literal are read
        loggers = self.loggers.add(area["loggers"], is_searched=searched)
        self._whole += tuple(area.get("whole", ()))
        if area.get("coordinator"):
            self.group_loggers.add(loggers)
        for entry in area["messages"]:
            entry_loggers = self.loggers.add(entry["loggers"], is_searched=searched) if "loggers" in entry else loggers
            message = Message(
                entry["id"],
                entry["emits"],
                entry.get("witness", area["witness"]),
                entry_loggers,
                entry.get("needs_logger", False),
                area["system"],
                block_of(entry),
            )
            self.messages[message.id] = message
            for pattern in entry.get("patterns", ()):
                self._add_pattern(message, pattern, entry)

    def _add_pattern(self, message: Message, pattern: Mapping[str, Any], entry: Mapping[str, Any]) -> None:
        template = compile_template(pattern["text"], self._types)
        constants = {**entry.get("set", {}), **pattern.get("set", {})}
        prefixes = pattern.get("prefix", "")
        for prefix in [prefixes] if isinstance(prefixes, str) else prefixes:
            level = pattern.get("level", entry.get("level", "INFO"))
            seen_in, generic = tuple(pattern["seen_in"]), pattern.get("generic", False)
            self.patterns.append(Pattern(message, prefix, template, constants, seen_in, level, generic))

    def _build(self, name: str) -> Bucket:
        bucket = Bucket(name)
        for pattern in self.patterns:
            if pattern.prefix == name:
                bucket.by_word.setdefault(pattern.key, []).append(pattern)
        for patterns in bucket.by_word.values():
            patterns.sort(key=lambda wording: (wording.is_generic, -wording.template.fixed_length))
        bucket.inner = [prefix for prefix in self.prefixes.values() if prefix.inside == name and not prefix.mark]
        opening_prefix = self.prefixes.get(name)
        bucket.open_ended = opening_prefix is not None and any(
            slot.type.tight not in _CLOSED for form in opening_prefix.texts for slot in form.slots
        )
        self._buckets[name] = bucket
        for prefix in [*bucket.inner, *(self._marked if not name else ())]:
            if prefix.stands_before_all:
                self._buckets[prefix.name] = bucket
            else:
                self._build(prefix.name)
        return bucket

    # -- reading -------------------------------------------------------------------------------------------

    def match(self, logger: str | None, message: str, offsets_partitions: int | None = None) -> Match | None:
        """Return the meaning of a record, None if it is unknown.

        `logger` may be shortened or absent. `offsets_partitions` is the partition count of `__consumer_offsets`
        where it is known; it decides between readings.
        """
        end = message.find("\n")
        head = message if end < 0 else message[:end].rstrip()
        if not head:
            return None
        if head[0] in "CP" and head.startswith(("Completed request:", "Processor ")):
            return self.request(head)
        segment = self.loggers.segment(logger) if logger else ""
        match = self._read(head, segment, message, offsets_partitions)
        if match is None and end >= 0 and head.startswith(self._whole):
            return self._read(_one_line(message), segment, message, offsets_partitions)
        return match

    def _read(self, head: str, segment: str, message: str, offsets_partitions: int | None) -> Match | None:
        try:
            match = self._quick(head, segment, message)
        except TooManyReadings:
            return None
        return self._thorough(head, segment, message, offsets_partitions) if match is None else match

    def _quick(self, head: str, segment: str, message: str) -> Match | None:
        """The reading of an ordinary line.

        One prefix fits, and the fixed words stand in one way only.
        """
        bucket, at = self.plain, 0
        columns: dict[str, Any] = {}
        prefix_fields: dict[str, Any] = {}
        marked = self.marked(head)
        if marked:
            if len(marked) > 1:
                return None
            bucket, read, at = marked[0]
            for name, value in read.items():
                (columns if name in COLUMNS else prefix_fields)[name] = value
        while not marked and head.startswith("[", at):
            openings = self.openings(bucket, head, at)
            if len(openings) != 1:
                if openings:
                    return None
                break
            bucket, read, at = openings[0]
            columns.update(read)
        if bucket.open_ended and head.find("] ", at) >= 0:
            return None
        space = head.find(" ", at)
        for pattern in bucket.by_word.get(head[at:] if space < 0 else head[at:space], ()):
            template = pattern.template
            if not head.endswith(template.tail):
                continue
            pieces = template.pieces(head, at)
            if pieces is None:
                if template.could(head, at):
                    return None
                continue
            if not self.allows(pattern.message, segment):
                continue
            fields = {**pattern.constants, **prefix_fields}
            if fill(template.plan, pieces, columns, fields):
                entry = pattern.message
                if entry.block is not None:
                    entry.block.add(message, columns, fields)
                return Match(entry.id, entry.emits, entry.system, entry.witness, columns, fields)
            return None
        return None

    def openings(self, bucket: Bucket, head: str, at: int) -> tuple[Opening, ...]:
        """Prefixes that end at the first closing bracket, with their end.

        Cached by their text.
        """
        close = head.find("]", at)
        if close < 0:
            return ()
        while head.startswith("[", close + 1):
            close = head.find("]", close + 1)
            if close < 0:
                return ()
        key = head[: close + 2]
        openings = self._cache.get(key)
        if openings is None:
            stop = close + 3 if head.startswith(": ", close + 1) else close + 2
            openings = tuple(self._read_prefixes(bucket, head, at, stop))
            if len(self._cache) >= MAX_PREFIXES_CACHED:
                self._cache.clear()
            self._cache[key] = openings
        return openings

    def _read_prefixes(self, bucket: Bucket, head: str, at: int, stop: int) -> Iterator[Opening]:
        piece = head[at:stop]
        by_prefix = {
            prefix.name: [values for template in prefix.texts for values in template.readings(piece, 0)] for prefix in bucket.inner
        }
        for prefix in bucket.inner:
            if by_prefix[prefix.name]:
                by_prefix.pop(prefix.instead_of, None)
        for name, readings in by_prefix.items():
            for values in readings:
                yield Opening(self._buckets[name], values, stop)

    def marked(self, head: str) -> list[Opening]:
        """Openings of the prefixes known by words in their middle.

        Raises TooManyReadings.
        """
        openings: list[Opening] = []
        if not [mark for mark in self._marks if mark in head]:  # nearly always, and a generator would take twice as long
            return openings
        for prefix in self._marked:
            if any(mark in head for mark in prefix.marks):
                for values, at in prefix.openings(head):
                    if len(openings) >= MAX_OPENINGS:
                        raise TooManyReadings
                    openings.append(Opening(self._buckets[prefix.name], values, at))
        return openings

    def all_openings(self, bucket: Bucket, head: str, at: int) -> Iterator[Opening]:
        """Prefixes of any length, because an id may contain a closing bracket."""
        yield Opening(bucket, {}, at)
        if not at:
            yield from self.marked(head)
        begun = [prefix for prefix in bucket.inner if any(head.startswith(form.literals[0], at) for form in prefix.texts)]
        if not begun:
            return
        open_ended = any(self._buckets[prefix.name].open_ended for prefix in begun)
        for number, close in enumerate(_CLOSING.finditer(head, at)):
            if number >= MAX_OPENINGS:
                raise TooManyReadings
            for opening in self._read_prefixes(bucket, head, at, close.end()):
                for inner in self.all_openings(opening.bucket, head, opening.at):
                    yield Opening(inner.bucket, {**opening.columns, **inner.columns}, inner.at)
            if not open_ended:
                return

    def _thorough(self, head: str, segment: str, message: str, offsets_partitions: int | None) -> Match | None:
        words = self.words_in(head)
        if not words:
            return None
        candidates: list[Reading] = []
        try:
            for opening in self.all_openings(self.plain, head, 0):
                for pattern in opening.bucket.patterns(head, opening.at):
                    if pattern.template.longest in words and head.endswith(pattern.template.tail) and self.allows(pattern.message, segment):
                        for values in pattern.template.readings(head, opening.at):
                            candidates.append((pattern, {**opening.columns, **values}))
        except TooManyReadings:
            return ambiguous(candidates) if candidates else None
        readings = choose(candidates, offsets_partitions)
        if len(readings) == 1:
            return self._result(*readings[0], message)
        return ambiguous(readings) if readings else None

    @cached_property
    def _words(self) -> ahocorasick_rs.AhoCorasick:
        return ahocorasick_rs.AhoCorasick(sorted({pattern.template.longest for pattern in self.patterns}))

    def has_words(self, text: str) -> bool:
        """Whether a text contains the longest fixed words of a pattern."""
        return bool(self._words.find_matches_as_indexes(text))

    def words_in(self, text: str) -> frozenset[str]:
        """The longest fixed words of patterns that a text contains."""
        return frozenset(self._words.find_matches_as_strings(text, overlapping=True))

    def allows(self, message: Message, segment: str) -> bool:
        """Whether this logger may write the message.

        A logger that no entry names says nothing.
        """
        if segment in message.loggers:
            return True
        if message.needs_logger:
            return False
        return segment not in self.loggers.named

    def _result(self, pattern: Pattern, values: dict[str, Any], message: str) -> Match:
        entry = pattern.message
        columns: dict[str, Any] = {}
        fields: dict[str, Any] = dict(pattern.constants)
        for name, value in values.items():
            if name in COLUMNS:
                columns[name] = value
            elif name[0] != "_":
                fields[name] = value
        if entry.block is not None:
            entry.block.add(message, columns, fields)
        return Match(entry.id, entry.emits, entry.system, entry.witness, columns, fields)

    def swallows(self, match: Match) -> bool:
        """Whether a name contains fixed words of the message.

        Then a cut text was read in a shorter wording.
        """
        if match.message_id not in self._inner_words:
            patterns = (pattern for pattern in self.patterns if pattern.message.id == match.message_id)
            words = {literal for pattern in patterns for literal in pattern.template.literals[1:-1] if len(literal) > _SEPARATING}
            self._inner_words[match.message_id] = tuple(sorted(words))
        names = [value for value in match.columns.values() if isinstance(value, str)]
        return any(words in name for words in self._inner_words[match.message_id] for name in names)

    def with_exception(self, match: Match, stack: str) -> Match:
        """Add what an entry takes from the stack trace."""
        block = self.messages[match.message_id].block if stack else None
        if block is not None and block.is_of_exceptions:
            match = match._replace(columns={**match.columns}, fields={**match.fields})
            block.add(stack, match.columns, match.fields)
        return match

    def request(self, head: str) -> Match | None:
        """The meaning of a line of the request log.

        None if it is not read.
        """
        request = self._requests.read(head)
        if request is None:
            return None
        message_id, values = request
        columns = {name: values.pop(name) for name in COMMON_FIELDS if name in values}
        message = self.messages[message_id]
        return Match(message.id, message.emits, message.system, message.witness, columns, values)

    def unread_request(self, message: str) -> bool:
        """Return True for a request about groups that can't be read."""
        return self._requests.is_unread(message)

    def refuses_number(self, logger: str | None, message: str) -> bool:
        """Whether only a number out of range prevents a match.

        `match` makes nothing of such a message.
        """
        head = message.partition("\n")[0].rstrip()
        if logger is None or LARGE_NUMBER.search(head) is None:
            return False
        segment = self.loggers.segment(logger)
        try:
            return any(
                self.allows(pattern.message, segment) and pattern.template.refuses_number(head, opening.at)
                for opening in self.all_openings(self.plain, head, 0)
                for pattern in opening.bucket.patterns(head, opening.at)
            )
        except TooManyReadings:
            return False


def _one_line(message: str) -> str:
    """The lines of a message as one."""
    return " ".join(line.strip() for line in message.split("\n", MAX_WHOLE_LINES)[:MAX_WHOLE_LINES])


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """The catalogue that ships with the product."""
    return Catalogue(load())
