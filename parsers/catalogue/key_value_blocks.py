"""Records with a header line and one line per value.

`name = value` in configuration blocks, `Name:   value` in assignments printed by clients, `Class: text` of exceptions. Only
values named by the catalogue are kept; all others, which may be secrets, are discarded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from parsers.catalogue.slots import NO, parse_int32, parse_list
from parsers.catalogue.templates import COLUMNS

SETTING = re.compile(r"^[ \t]*([a-z][a-zA-Z0-9._-]*) = ([^\n]*)$", re.MULTILINE)
HEADED = re.compile(r"^\t([A-Z][A-Za-z ()-]*:) +([^\n]*)$", re.MULTILINE)
THROWN = re.compile(r"^(?:Caused by: )?[a-z][\w.]*\.([A-Z]\w*): ([^\n]*)$", re.MULTILINE)


class Block:
    """Values kept from one kind of block.

    Name in the block -> field and type, and the form of a line.
    """

    def __init__(self, settings: Mapping[str, str], line: re.Pattern[str]) -> None:
        self._line = line
        self._settings = {name: tuple(target.split(":")) for name, target in settings.items()}

    @property
    def is_of_exceptions(self) -> bool:
        """True for exceptions, which no layout counts as part of messages."""
        return self._line is THROWN

    @property
    def fields(self) -> frozenset[str]:
        """Names of the kept fields."""
        return frozenset(target[0] for target in self._settings.values())

    def read(self, message: str) -> dict[str, Any]:
        """Return the fields for the settings in the record."""
        values: dict[str, Any] = {}
        for name, text in self._line.findall(message):
            target = self._settings.get(name)
            if target is None:
                continue
            value = _value(text.strip(), target[1] if len(target) > 1 else "text")
            if value is not NO:
                values[target[0]] = value
        return values

    def add(self, message: str, columns: dict[str, Any], fields: dict[str, Any]) -> None:
        """Add the fields in the record to those of its first line."""
        for name, value in self.read(message).items():
            (columns if name in COLUMNS else fields)[name] = value


def block_of(entry: Mapping[str, Any]) -> Block | None:
    """The block that an entry of the catalogue declares, if any."""
    if "block" in entry:
        return Block(entry["block"], SETTING)
    if "thrown" in entry:
        return Block(entry["thrown"], THROWN)
    return Block(entry["lines"], HEADED) if "lines" in entry else None


def _value(text: str, kind: str) -> Any:
    if text == "null":
        return None
    if kind == "int":
        return parse_int32(text)
    if kind == "digits":
        return text if text.isdecimal() and parse_int32(text) is not NO else NO  # `node.id = -1` means no node
    if kind == "flag":
        return {"true": True, "false": False}.get(text, NO)
    if kind == "behind_colon":
        return text.rpartition(": ")[2] or NO
    if kind == "list":
        return [item.removeprefix("class ") for item in parse_list(text)]
    return text or None
