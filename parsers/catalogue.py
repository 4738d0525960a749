"""The catalogue of messages: what each log line of each version looks like, and what it means.

Entries are data (`messages/*.yaml`). An entry's text is what the product prints, with typed slots; the same
text reads lines and writes them. A line is looked up by its prefix (`[GroupCoordinator 1]: `) and the first
word after it, so only the few texts that begin alike are tried.

Ids are arbitrary text. Where one line can be read in several ways, what must agree decides (a number is a
number, a member id ends with a UUID, the offsets partition is the hash of the group); what is left open then
is a match marked `ambiguous`, without event, and with only those columns that all readings share.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from parsers.blocks import HEADED, SETTING, Block
from parsers.catalogue_source import load
from parsers.request_text import Bodies
from parsers.requests import Requests
from parsers.schema import COMMON_FIELDS
from parsers.slots import NO, TYPES, SlotType, ends_like_member_id
from parsers.templates import Template, TooManyReadings, compile_template

COLUMNS = frozenset(COMMON_FIELDS)
MAX_PREFIXES_CACHED = 16_384
MAX_OPENINGS = 16
"""Closing brackets at which a prefix may end before the search stops; an id with more of them is ambiguous."""

_MASKS = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<*>"),
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`"), "<*>"),
    (re.compile(r"\[[^\[\]\n]*\]|\{[^{}\n]*\}"), "<*>"),
    (re.compile(r"(?<![A-Za-z])[A-Za-z0-9_.-]*\d[\w.:-]*"), "<*>"),
    (re.compile(r"((?:group(?:Id)?|member|client(?:Id)?|topic|instance id|partition)[ =:]+)(?!<\*>)[^\s,;)\]]+", re.IGNORECASE), r"\1<*>"),
)


@dataclass(frozen=True, slots=True)
class Match:
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
    constants: Mapping[str, Any]
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
    """What stands before the texts of an area, in its forms; `inside` names the prefix before it."""

    name: str
    inside: str
    texts: tuple[Template, ...]


@dataclass(slots=True)
class Bucket:
    """The texts and the inner prefixes that may follow one prefix."""

    name: str
    by_word: dict[str, list[Pattern]] = field(default_factory=dict)
    inner: list[Prefix] = field(default_factory=list)

    def patterns(self, text: str, at: int) -> Iterator[Pattern]:
        space = text.find(" ", at)
        yield from self.by_word.get(text[at:] if space < 0 else text[at:space], ())
        yield from self.by_word.get("", ())


@dataclass(frozen=True, slots=True)
class Opening:
    """A prefix as read from a line: which texts may follow, what it says, and where it ends."""

    bucket: Bucket
    columns: Mapping[str, Any]
    at: int


Reading = tuple[Pattern, dict[str, Any]]


class Catalogue:
    """All messages, ready to match and to render."""

    def __init__(self, source: Mapping[str, Any]) -> None:
        self.version: str = source["version"]
        self._reasons = Reasons(source["reasons"])
        self._requests = Requests(Bodies(source["bodies"]))
        self._types: dict[str, SlotType] = {**TYPES, "reason": self._reasons.slot_type(), **self._requests.slot_types()}
        self.prefixes: dict[str, Prefix] = {}
        for each in source["prefixes"]:
            texts = tuple(compile_template(text, self._types) for text in each["texts"])
            self.prefixes[each["name"]] = Prefix(each["name"], each.get("inside", ""), texts)
        self.messages: dict[str, Message] = {}
        self.patterns: list[Pattern] = []
        self._coordinator_loggers: set[str] = set()
        self._logger_names: set[str] = set()
        for area in source["areas"]:
            self._add_area(area)
        self._buckets: dict[str, Bucket] = {}
        self._plain = self._build("")
        self._cache: dict[str, tuple[Opening, ...]] = {}
        self._segments: dict[str, str] = {}
        self.literals: list[bytes] = [literal.encode() for literal in source["literals"]]

    def _add_area(self, area: Mapping[str, Any]) -> None:
        loggers = frozenset(map(last_segment, area["loggers"]))
        self._logger_names |= loggers
        if area.get("coordinator"):
            self._coordinator_loggers |= loggers
        for entry in area["messages"]:
            own = frozenset(map(last_segment, entry["loggers"])) if "loggers" in entry else loggers
            self._logger_names |= own
            message = Message(
                entry["id"],
                entry["emits"],
                entry.get("witness", area["witness"]),
                own,
                entry.get("needs_logger", False),
                area["system"],
                _block(entry),
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
            patterns.sort(key=lambda each: (each.generic, -each.template.fixed_length))
        bucket.inner = [prefix for prefix in self.prefixes.values() if prefix.inside == name]
        self._buckets[name] = bucket
        for prefix in bucket.inner:
            self._build(prefix.name)
        return bucket

    # -- reading -------------------------------------------------------------------------------------------

    def match(
        self,
        logger: str | None,
        level: str | None,  # noqa: ARG002  (part of what a record says; no wording needs it so far)
        message: str,
        offsets_partitions: int | None = None,
    ) -> Match | None:
        """What a record means, or None where the catalogue doesn't know it.

        `logger` may be shortened or absent. `offsets_partitions` is the partition count of `__consumer_offsets`
        where it is known; it decides between readings.
        """
        end = message.find("\n")
        head = message if end < 0 else message[:end].rstrip()
        if not head:
            return None
        if head[0] in "CP" and head.startswith(("Completed request:", "Processor ")):
            return self._request(head)
        segment = self._segment(logger) if logger else ""
        found = self._quick(head, segment)
        if found is None:
            return self._thorough(head, segment, message, offsets_partitions)
        pattern, values = found
        return self._result(pattern, values, message)

    def _quick(self, head: str, segment: str) -> Reading | None:
        """The reading of an ordinary line: one prefix fits, and no id holds a space."""
        bucket, at, columns = self._plain, 0, None
        if head[0] == "[":
            while head.startswith("[", at):
                openings = self._openings(bucket, head, at)
                if len(openings) != 1:
                    if openings:
                        return None
                    break
                opening = openings[0]
                if columns is not None and opening.columns:
                    columns = {**columns, **opening.columns}
                elif columns is None:
                    columns = opening.columns
                bucket, at = opening.bucket, opening.at
            if bucket.name.startswith("client") and head.find("] ", at) >= 0:
                return None
        space = head.find(" ", at)
        for pattern in bucket.by_word.get(head[at:] if space < 0 else head[at:space], ()):
            if not head.endswith(pattern.template.tail):
                continue
            values = pattern.template.quick(head, at)
            if values is not None and self._allows(pattern.message, segment):
                return pattern, {**columns, **values} if columns else values
        return None

    def _openings(self, bucket: Bucket, head: str, at: int) -> tuple[Opening, ...]:
        """Prefixes that end at the first closing bracket, with their end; cached by their text."""
        close = head.find("]", at)
        while close >= 0 and head.startswith("[", close + 1):
            close = head.find("]", close + 1)
        if close < 0:
            return ()
        stop = close + 3 if head.startswith(": ", close + 1) else close + 2
        key = head[:stop]
        found = self._cache.get(key)
        if found is None:
            found = tuple(self._read_prefixes(bucket, head, at, stop))
            if len(self._cache) >= MAX_PREFIXES_CACHED:
                self._cache.clear()
            self._cache[key] = found
        return found

    def _read_prefixes(self, bucket: Bucket, head: str, at: int, stop: int) -> Iterator[Opening]:
        piece = head[at:stop]
        for prefix in bucket.inner:
            for template in prefix.texts:
                for values in template.readings(piece, 0):
                    yield Opening(self._buckets[prefix.name], values, stop)

    def _all_openings(self, bucket: Bucket, head: str, at: int) -> Iterator[Opening]:
        """Prefixes of any length: an id in them may hold a closing bracket."""
        yield Opening(bucket, {}, at)
        if not head.startswith("[", at):
            return
        close, seen = head.find("]", at), 0
        while close >= 0:
            stop = close + 3 if head.startswith(": ", close + 1) else close + 2
            for opening in self._read_prefixes(bucket, head, at, stop):
                seen += 1
                if seen > MAX_OPENINGS:
                    raise TooManyReadings
                for inner in self._all_openings(opening.bucket, head, opening.at):
                    yield Opening(inner.bucket, {**opening.columns, **inner.columns}, inner.at)
            close = head.find("]", close + 1)

    def _thorough(self, head: str, segment: str, message: str, offsets_partitions: int | None) -> Match | None:
        found: list[Reading] = []
        try:
            for opening in self._all_openings(self._plain, head, 0):
                for pattern in opening.bucket.patterns(head, opening.at):
                    if head.endswith(pattern.template.tail) and self._allows(pattern.message, segment):
                        for values in pattern.template.readings(head, opening.at):
                            found.append((pattern, {**opening.columns, **values}))
        except TooManyReadings:
            return self._ambiguous(found) if found else None
        readings = distinct(found)
        for keep in (self._specific, self._whole_ids, lambda each: self._home_agrees(each, offsets_partitions)):
            if len(readings) > 1:
                readings = [each for each in readings if keep(each)] or readings
        if len(readings) == 1:
            return self._result(*readings[0], message)
        return self._ambiguous(readings) if readings else None

    @staticmethod
    def _specific(reading: Reading) -> bool:
        return not reading[0].generic

    @staticmethod
    def _whole_ids(reading: Reading) -> bool:
        """Whether member ids are whole: the coordinator ends those of classic groups with a UUID, after client or instance id."""
        values = reading[1]
        member = values.get("member_id")
        if not isinstance(member, str):
            return True
        if not ends_like_member_id(member):
            return False
        owners = [owner for owner in (values.get("client_id"), values.get("instance_id")) if owner]
        return not owners or member[:-37] in owners

    @staticmethod
    def _home_agrees(reading: Reading, offsets_partitions: int | None) -> bool:
        """Whether the group hashes to the offsets partition that the line names (GroupMetadataManager.partitionFor)."""
        group, partition = reading[1].get("group"), reading[1].get("partition")
        if offsets_partitions is None or group is None or partition is None or reading[0].message.witness != "coordinator":
            return True
        return bool((java_hash(group) & 0x7FFFFFFF) % offsets_partitions == partition)

    def _allows(self, message: Message, segment: str) -> bool:
        """Whether a record of this logger may be this message; a logger that no entry names says nothing."""
        if segment in message.loggers:
            return True
        if message.needs_logger:
            return False
        return segment not in self._logger_names

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
            for name, value in entry.block.read(message).items():
                (columns if name in COLUMNS else fields)[name] = value
        return Match(entry.id, entry.emits, entry.system, entry.witness, columns, fields)

    @staticmethod
    def _ambiguous(readings: list[Reading]) -> Match:
        first = readings[0][0].message
        shared = {
            name: value
            for name, value in readings[0][1].items()
            if name in COLUMNS and all(values.get(name, NO) == value for _, values in readings)
        }
        ids = sorted({pattern.message.id for pattern, _ in readings})
        return Match(ids[0], None, first.system, first.witness, shared, {"readings": len(readings), "messages": ids}, ambiguous=True)

    def _request(self, head: str) -> Match | None:
        found = self._requests.read(head)
        if found is None:
            return None
        message_id, values = found
        columns = {name: values.pop(name) for name in COMMON_FIELDS if name in values}
        message = self.messages[message_id]
        return Match(message.id, message.emits, message.system, message.witness, columns, values)

    # -- loggers -------------------------------------------------------------------------------------------

    def _segment(self, logger: str) -> str:
        segment = self._segments.get(logger)
        if segment is None:
            if len(self._segments) >= MAX_PREFIXES_CACHED:
                self._segments.clear()
            segment = self._segments[logger] = last_segment(logger)
        return segment

    def is_coordinator_logger(self, logger: str | None) -> bool:
        """Whether lines of this logger that nothing matches must be shown as unknown."""
        return bool(logger) and self._segment(logger or "") in self._coordinator_loggers

    @staticmethod
    def mask(message: str) -> str:
        """The message's first line with ids, numbers, UUIDs and quoted text as `<*>`: a template to count unknown lines by."""
        text = message.split("\n", 1)[0][:2000]
        for pattern, by in _MASKS:
            text = pattern.sub(by, text)
        return text

    # -- writing -------------------------------------------------------------------------------------------

    def wordings(self, message_id: str, version: str) -> list[Pattern]:
        """The wordings of a message in a version."""
        wanted = version_key(version)
        return [
            pattern
            for pattern in self.patterns
            if pattern.message.id == message_id and version_key(pattern.seen_in[0]) <= wanted <= version_key(pattern.seen_in[-1] + ".999")
        ]

    def render(self, message_id: str, version: str, fields: Mapping[str, Any]) -> str:
        """The line that a version prints for a message: the wording that says most of `fields`.

        Raises KeyError where the version has no wording of the message for which all fields are given.
        """
        given = frozenset(fields)
        fitting = [each for each in self.wordings(message_id, version) if self._needs(each, given) <= given and self._fits(each, fields)]
        if not fitting:
            raise KeyError(f"{message_id} has no wording in {version} for these fields: {', '.join(sorted(fields))}")
        return self.write(max(fitting, key=lambda each: len(self._needs(each, given))), fields)

    def write(self, pattern: Pattern, fields: Mapping[str, Any]) -> str:
        """The line of one wording."""
        parts = [pattern.template.render(fields)]
        parts.extend(template.render(fields) for template in self._before(pattern, frozenset(fields)))
        return "".join(reversed(parts))

    def _before(self, pattern: Pattern, given: frozenset[str]) -> Iterator[Template]:
        """The prefixes of a pattern, innermost first, each in the form that says most of what is given."""
        name = pattern.prefix
        while name:
            prefix = self.prefixes[name]
            forms = [template for template in prefix.texts if template.needs() <= given] or list(prefix.texts)
            yield max(forms, key=lambda template: len(template.needs()))
            name = prefix.inside

    def _needs(self, pattern: Pattern, given: frozenset[str]) -> frozenset[str]:
        return pattern.template.needs().union(*(template.needs() for template in self._before(pattern, given)))

    @staticmethod
    def _fits(pattern: Pattern, fields: Mapping[str, Any]) -> bool:
        return all(fields.get(name, value) == value for name, value in pattern.constants.items())


class Reasons:
    """The grammar inside `(reason: …)` of "Preparing to rebalance"."""

    def __init__(self, entries: Iterable[Mapping[str, Any]]) -> None:
        self._by_word: dict[str, list[tuple[str, Template]]] = {}
        self.templates: list[tuple[str, Template]] = []
        for entry in entries:
            for pattern in entry["patterns"]:
                template = compile_template(pattern["text"])
                self.templates.append((entry["id"], template))
                self._by_word.setdefault(template.literals[0].split(" ")[0], []).append((entry["id"], template))
        for known in self._by_word.values():
            known.sort(key=lambda each: -each[1].fixed_length)

    def slot_type(self) -> SlotType:
        names = frozenset({"reason", "reason_id"}).union(*(template.names() for _, template in self.templates))
        return SlotType(r".*", self.parse, str, spaced=True, several=tuple(sorted(names)), needs=("reason",))

    def parse(self, text: str) -> dict[str, Any]:
        """The reason's id and what it names. Where it can be read in several ways only what they share is given."""
        known = self._by_word.get(text.split(" ", 1)[0], ())
        for reason_id, template in known:
            values = template.quick(text, 0)
            if values is not None:
                return {"reason": text, "reason_id": reason_id, **values}
        found: list[dict[str, Any]] = []
        try:
            for reason_id, template in known:
                found.extend({"reason_id": reason_id, **values} for values in template.readings(text, 0))
        except TooManyReadings:
            found = []
        whole = [each for each in found if ends_like_member_id(each.get("reason_member_id") or "")] or found
        if not whole:
            return {"reason": text, "reason_id": None}
        return {"reason": text, **{name: value for name, value in whole[0].items() if all(other.get(name, NO) == value for other in whole)}}


def _block(entry: Mapping[str, Any]) -> Block | None:
    if "block" in entry:
        return Block(entry["block"], SETTING)
    return Block(entry["lines"], HEADED) if "lines" in entry else None


def distinct(readings: list[Reading]) -> list[Reading]:
    """Readings that differ in message or values."""
    kept: list[Reading] = []
    for pattern, values in readings:
        if not any(pattern.message.id == other.message.id and values == known for other, known in kept):
            kept.append((pattern, values))
    return kept


def java_hash(text: str) -> int:
    """String.hashCode of Java, over UTF-16 code units, as an unsigned 32-bit number."""
    value = 0
    encoded = text.encode("utf-16-be", "surrogatepass")
    for index in range(0, len(encoded), 2):
        value = (31 * value + (encoded[index] << 8 | encoded[index + 1])) & 0xFFFFFFFF
    return value


def last_segment(logger: str) -> str:
    """`GroupMetadata` of `kafka.coordinator.group.GroupMetadata$`: what shortened logger names keep."""
    return logger.rstrip("$").rpartition(".")[2].rpartition("$")[2]


def version_key(version: str) -> tuple[int, ...]:
    """A version as numbers; `4.x` counts as the last of 4."""
    return tuple(int(part) if part.isdecimal() else 999 for part in version.split("."))


@lru_cache(maxsize=1)
def catalogue() -> Catalogue:
    """The catalogue that ships with the product."""
    return Catalogue(load())
