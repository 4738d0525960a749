"""Messages whose values stand beside them in a JSON document.

Libraries that log keys and values print them after the message where the logger writes text. A structured logger keeps them as fields of
their own, in any order, and leaves out what is empty. Here they are put behind the message again, in the order of the library.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from parsers.formats import logfmt
from parsers.formats.json_documents import json_document

ABSENT = "<nil>"
"""Text for an absent key that a library always prints (Go's nil)."""

UNPRINTED = "(not printed)"
"""Text for an error that a logger prints as an empty object."""

_CONTAINERS = ("extra", "fields", "context", "meta", "payload", "log", "attributes")
"""Objects in which loggers keep the fields of a message."""

_NAMED = re.compile(r"\{([\w.]+)\}")


@dataclass(frozen=True, slots=True)
class Structure:
    """Composition of one library's messages from keys and values.

    `messages` holds the keys of each message that is known word by word, `begins` the beginnings of all others with `keys` for them.
    `before` stands before a message where the document holds all fields that it names.
    """

    messages: Mapping[str, tuple[str, ...]]
    begins: re.Pattern[str] | None
    keys: tuple[str, ...]
    before: str
    named: tuple[str, ...] = ()
    """Fields that `before` names."""

    @staticmethod
    def from_entry(data: Mapping[str, Any]) -> Structure:
        """Read one entry of `json_records.yaml`."""
        messages = {text: tuple(keys) for text, keys in data.get("messages", {}).items()}
        begins, before = data.get("begins"), data.get("before", "")
        names = tuple(_NAMED.findall(before))
        return Structure(messages, re.compile(begins, re.ASCII) if begins else None, tuple(data.get("keys", ())), before, names)

    def text(self, message: str, document: Mapping[str, Any], containers: Sequence[Mapping[str, Any]]) -> str | None:
        """The message with its keys as printed, None for other messages.

        `containers` are the objects of the document that may hold its fields.
        """
        keys = self.messages.get(message)
        if keys is not None:
            values = _grouped(document, keys)
            inner = containers if values is document else _containers(values)
            return _joined(message, ((key, _printed_of(key, _value(values, key, inner))) for key in keys))
        if self.before:
            head = self._head(document, containers)
            if head is None:
                return None
            message = message if message.startswith(head) else head + message
        if self.begins is None or not self.begins.match(message):
            return None
        values_by_key = ((key, _value(document, key, containers)) for key in self.keys)
        return _joined(message, ((key, _printed(value)) for key, value in values_by_key if isinstance(value, str | int | float)))

    def may_fit(self, document: Mapping[str, Any], containers: Sequence[Mapping[str, Any]]) -> bool:
        """Whether the message may be of this library.

        For messages that are not known word by word.
        """
        if not self.before:
            return self.begins is not None
        return bool(containers) or all(name.partition(".")[0] in document for name in self.named)

    def _head(self, document: Mapping[str, Any], containers: Sequence[Mapping[str, Any]]) -> str | None:
        values: dict[str, str | int] = {}
        for name in self.named:
            value = _value(document, name, containers)
            if not isinstance(value, str | int):
                return None
            values[name] = value
        return _NAMED.sub(lambda match: str(values[match[1]]), self.before)


def with_keys(structures: Sequence[Structure], message: str, document: Mapping[str, Any]) -> str | None:
    """The message with keys as its library prints it, else None."""
    bare, containers = message.rstrip("\n"), _containers(document)
    for structure in structures:
        if bare in structure.messages or structure.may_fit(document, containers):
            text = structure.text(bare, document, containers)
            if text is not None:
                return text
    return None


def with_text_keys(structures: Sequence[Structure], text: str) -> str | None:
    """The message with keys that a text form has behind it, else None.

    zap's console encoder has a JSON document behind a tab; zerolog's console writer and slog's handlers have pairs, bunyan's command
    line has them in brackets.
    """
    line = text.partition("\n")[0].rstrip()
    head, mark, rest = line.partition("\t{")
    if mark:
        message, document = head.rpartition("\t")[2], json_document(f"{{{rest}")
    else:
        message, document = logfmt.split_pairs(_CALLER.sub("", line))
    behind = _IN_BRACKETS.fullmatch(line)
    if behind is not None:
        pairs = (pair.partition("=") for pair in _SEPARATED.split(behind["pairs"]))
        return with_keys(structures, behind["message"], {key: logfmt.plain_value(value) for key, _, value in pairs})
    known = document is not None and any(message in structure.messages for structure in structures)
    return with_keys(structures, message, document) if known and document is not None else None


def with_keys_below(structures: Sequence[Structure], text: str) -> str | None:
    """The message with keys that stand on lines below it, else None.

    pino-pretty writes each field so, objects over several lines that are indented further.
    """
    message, *lines = text.split("\n", LINES_BELOW_MAX)
    document: dict[str, Any] = {}
    for line in lines[:LINES_BELOW_MAX]:
        pair = _PAIR_BELOW.fullmatch(line.rstrip())
        if pair is None and not document:
            return None
        if pair is not None:
            value = pair["value"]
            document[pair["key"]] = json_document(f'{{"value": {value}}}') if value.startswith('"') else {"value": value}
    known = {key: value["value"] for key, value in document.items() if value is not None}
    return with_keys(structures, message.rstrip(), known) if known else None


LINES_BELOW_MAX = 200
"""Lines below a message that are searched for its keys."""

_PAIR_BELOW = re.compile(r" {4}(?P<key>[\w.]{1,60}): (?P<value>\S.*)", re.ASCII)

_IN_BRACKETS = re.compile(r"(?P<message>\[\w+\] [^=\n]*?) \((?P<pairs>[A-Za-z_]\w*=[^\n]*)\)", re.ASCII)
_SEPARATED = re.compile(r", (?=[A-Za-z_]\w*=)", re.ASCII)

_CALLER = re.compile(r"^\S+:\d+ > ", re.ASCII)
"""Place in the source, as zerolog's console writer has it before a message."""


def _grouped(document: Mapping[str, Any], keys: Sequence[str]) -> Mapping[str, Any]:
    """Where the keys of a message are: beside it, or in one object.

    slog's WithGroup, zap's Namespace.
    """
    if not keys or any(_value(document, key, _containers(document)) is not None for key in keys):
        return document
    prefix = next((name.removesuffix(keys[0]) for name in document if name.endswith(f".{keys[0]}")), None)
    if prefix is not None:  # slog's groups, as text
        return {name.removeprefix(prefix): value for name, value in document.items() if name.startswith(prefix)}
    return next((inner for inner in document.values() if isinstance(inner, dict) and keys[0] in inner), document)


def _containers(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [container for name in _CONTAINERS if isinstance(container := document.get(name), dict)]


def _value(document: Mapping[str, Any], path: str, containers: Sequence[Mapping[str, Any]]) -> Any:
    """A field beside the message, in nested objects or in a container."""
    if path in document:
        return document[path]
    if "." in path:
        head, _, rest = path.partition(".")
        inner = document.get(head)
        if isinstance(inner, dict):
            return _value(inner, rest, _containers(inner))
    for container in containers:
        if path in container:
            return container[path]
    return None


def _printed_of(key: str, value: Any) -> str:
    """A value by its key; an error that is not printed is not absent."""
    if isinstance(value, dict) and value.keys() == {"Key", "Value"}:  # slog's Attr, by a logger that knows none
        value = value["Value"]
    return UNPRINTED if key == "err" and value == {} else _printed(value)


def _printed(value: Any) -> str:
    """A value as Go's %v prints it, collections as JSON."""
    if value is None or value == {}:
        return ABSENT
    if isinstance(value, bool):
        return "true" if value else "false"
    return orjson.dumps(value).decode("utf-8", "replace") if isinstance(value, dict | list) else str(value)


def _joined(message: str, pairs: Iterator[tuple[str, str]]) -> str:
    pairs_text = ", ".join(f"{key}: {value}" for key, value in pairs)
    return f"{message}; {pairs_text}" if pairs_text else message
