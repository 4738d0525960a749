"""Texts that the classes of a jar log, read from their byte code.

A text is what is pushed between the logger and the call on it: a constant, the recipe of a concatenation, or a format string. A text
that was kept in a variable before, or that is handed to a method that only logs it (`logInfo`), counts too.
"""

from __future__ import annotations

import re
import struct
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

LEVELS = {name: name.upper() for name in ("trace", "debug", "info", "warn", "error")}
_HELPERS = {f"log{name.capitalize()}": level for name, level in LEVELS.items()}
"""Methods of a class that log the text they are given."""
_STORES = frozenset((0x3A, *range(0x4B, 0x4F)))
"""Instructions that put an object into a variable."""
_LOGGERS = ("Logger;", "Log;")
_OF_A_FORMAT = re.compile(r"%[-#+ 0,(]*\d*(?:\.\d+)?[a-zA-Z]")
_WIDTHS = {
    **dict.fromkeys((0x10, 0x12, 0x15, 0x16, 0x17, 0x18, 0x19, 0x36, 0x37, 0x38, 0x39, 0x3A, 0xBC), 1),
    **dict.fromkeys((0x11, 0x13, 0x14, 0x84, *range(0x99, 0xA9), *range(0xB2, 0xB9), 0xBB, 0xBD, 0xC0, 0xC1, 0xC6, 0xC7), 2),
    **dict.fromkeys((0xC5,), 3),
    **dict.fromkeys((0xB9, 0xBA, 0xC8, 0xC9), 4),
    0xA9: 1,
}
"""Bytes that follow an instruction, where there are any (The Java Virtual Machine Specification, chapter 6)."""


class Logged(NamedTuple):
    """One text that a class logs."""

    logger: str
    level: str
    text: str

    @property
    def loggers(self) -> tuple[str, ...]:
        """Names under which it may be logged: a class inside another one often uses the other's logger."""
        outer = self.logger.partition("$")[0]
        return (self.logger,) if outer == self.logger else (self.logger, outer)


class _Reader:
    """Big-endian numbers, one after the other."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def take(self, form: str) -> Any:
        values = struct.unpack_from(f">{form}", self.data, self.at)
        self.at += struct.calcsize(f">{form}")
        return values[0] if len(values) == 1 else values

    def bytes(self, length: int) -> bytes:
        self.at += length
        return self.data[self.at - length : self.at]


_CONSTANTS = {3: "i", 4: "f", 5: "q", 6: "d", 7: "H", 8: "H", 9: "HH", 10: "HH", 11: "HH", 12: "HH", 15: "BH", 16: "H"} | {
    17: "HH",
    18: "HH",
    19: "H",
    20: "H",
}


@dataclass(slots=True)
class ClassFile:
    """Constants, methods and recipes of one class."""

    constants: dict[int, tuple[int, Any]] = field(default_factory=dict)
    name: str = ""
    codes: list[bytes] = field(default_factory=list)
    recipes: list[str] = field(default_factory=list)

    def text(self, index: int) -> str:
        """A string constant, or the name of a class."""
        kind, value = self.constants[index]
        return str(value) if kind == 1 else self.text(value)

    def member(self, index: int) -> tuple[str, str, str]:
        """Class, name and type of a field or method."""
        owner, described = self.constants[index][1]
        name, kind = self.constants[described][1]
        return self.text(owner), self.text(name), self.text(kind)

    def recipe(self, index: int) -> str | None:
        """What an `invokedynamic` puts together, if it is a text."""
        bootstrap, described = self.constants[index][1]
        name = self.text(self.constants[described][1][0])
        return self.recipes[bootstrap] if name == "makeConcatWithConstants" else None


def read_class(data: bytes) -> ClassFile:
    """Parse a class file."""
    reader, found = _Reader(data), ClassFile()
    reader.take("IHH")
    _read_constants(reader, found)
    reader.take("H")
    found.name = found.text(reader.take("H")).replace("/", ".")
    reader.take("H")
    reader.bytes(2 * reader.take("H"))
    for keeps in (False, True):  # fields, then methods
        for _ in range(reader.take("H")):
            reader.take("HHH")
            _read_attributes(reader, found, keeps)
    _read_attributes(reader, found, keeps=False)
    return found


def _read_constants(reader: _Reader, found: ClassFile) -> None:
    count, index = reader.take("H"), 1
    while index < count:
        kind = reader.take("B")
        if kind == 1:
            found.constants[index] = kind, reader.bytes(reader.take("H")).decode("utf-8", "replace")
        else:
            found.constants[index] = kind, reader.take(_CONSTANTS[kind])
        index += 2 if kind in (5, 6) else 1


def _read_attributes(reader: _Reader, found: ClassFile, keeps: bool) -> None:
    for _ in range(reader.take("H")):
        name, length = found.text(reader.take("H")), reader.take("I")
        body = reader.bytes(length)
        if name == "Code" and keeps:
            found.codes.append(body[8 : 8 + struct.unpack_from(">I", body, 4)[0]])
        elif name == "BootstrapMethods":
            found.recipes = _recipes(_Reader(body), found)


def _recipes(reader: _Reader, found: ClassFile) -> list[str]:
    recipes = []
    for _ in range(reader.take("H")):
        reader.take("H")
        arguments = [reader.take("H") for _ in range(reader.take("H"))]
        texts = [str(found.constants[each][1]) if found.constants[each][0] != 8 else found.text(each) for each in arguments]
        recipe = texts[0] if texts else ""
        for constant in texts[1:]:
            recipe = recipe.replace("\2", constant, 1)
        recipes.append(recipe.replace("\1", "{}"))
    return recipes


def instructions(code: bytes) -> Iterator[tuple[int, int]]:
    """Each instruction with the index of the constant behind it, if it has one."""
    at = 0
    while at < len(code):
        operation = code[at]
        width = _WIDTHS.get(operation, 0)
        index = int.from_bytes(code[at + 1 : at + 1 + min(width, 2)], "big")
        yield operation, index
        if operation in (0xAA, 0xAB):
            at = _after_switch(code, at, operation)
        elif operation == 0xC4:
            at += 6 if code[at + 1] == 0x84 else 4
        else:
            at += 1 + width


def _after_switch(code: bytes, at: int, operation: int) -> int:
    table = at + 4 - at % 4
    low, high = struct.unpack_from(">ii", code, table + 4)
    return table + 12 + 4 * (high - low + 1) if operation == 0xAA else table + 8 + 8 * low


@dataclass(slots=True)
class _Call:
    """What has been pushed since the logger was: texts, and the pieces of a text that a builder puts together."""

    texts: list[str] = field(default_factory=list)
    pieces: list[str] | None = None
    kept: str | None = None
    """The text that was last put into a variable."""

    def push(self, text: str) -> None:
        if self.pieces is None:
            self.texts.append(text)
        else:
            self.pieces.append(text)

    def called(self, owner: str, name: str, kind: str) -> None:
        """Take a call on the way to the logger's own."""
        if owner == "java/lang/StringBuilder" and name == "<init>":
            self.pieces = []
        elif owner == "java/lang/StringBuilder" and name == "append" and self.pieces is not None:
            if kind.startswith("(Ljava/lang/String;)") and self.pieces and self.pieces[-1] != "{}" and not self.pieces[-1].endswith("\0"):
                self.pieces[-1] += "\0"  # a constant that is used up
            else:
                self.pieces.append("{}")
        elif owner == "java/lang/StringBuilder" and name == "toString" and self.pieces is not None:
            self.texts.append("".join(self.pieces).replace("\0", ""))
            self.pieces = None
        elif owner == "java/lang/String" and name in ("format", "formatted"):
            self.texts = [_OF_A_FORMAT.sub("{}", each).replace("%%", "%") for each in self.texts]

    def text(self, kind: str) -> str | None:
        """The text of a call of this type: the last one where nothing is filled in, else the first one."""
        if not self.texts:
            return self.kept
        return self.texts[-1] if kind in ("(Ljava/lang/String;)V", "(Ljava/lang/String;Ljava/lang/Throwable;)V") else self.texts[0]


def logged(found: ClassFile) -> Iterator[Logged]:
    """Every text that a class logs, put into the frame of the method that logs it if the class has just one."""
    texts = list(_logged(found))
    for each, is_handed in texts:
        frames = {other.text for other, handed in texts if not handed and other.level == each.level and other.text.startswith("{} ")}
        frame = frames.pop() if len(frames) == 1 else "{}{}"  # the method may add to it
        yield each._replace(text=frame.replace("{}", each.text, 1)) if is_handed else each


def _logged(found: ClassFile) -> Iterator[tuple[Logged, bool]]:
    """Texts, and whether each is handed to a method that logs it."""
    for code in found.codes:
        call = _Call()
        for operation, index in instructions(code):
            if operation in (0x12, 0x13):
                if found.constants[index][0] == 8:
                    call.push(found.text(index))
            elif operation in _STORES:
                call = _Call(kept=call.texts[-1] if call.texts else call.kept)
            elif operation in (0xB2, 0xB4):
                if found.member(index)[2].endswith(_LOGGERS):
                    call = _Call(kept=call.kept)
            elif operation == 0xBA:
                recipe = found.recipe(index)
                if recipe is not None:
                    call.push(recipe)
            elif operation in (0xB6, 0xB7, 0xB8, 0xB9):
                owner, name, kind = found.member(index)
                if owner.endswith(("Logger", "/Log")) and name in LEVELS and kind.startswith("(Ljava/lang/String;"):
                    text = call.text(kind)
                    if text:
                        yield Logged(found.name, LEVELS[name], text), False
                elif kind.endswith(_LOGGERS):
                    call = _Call(kept=call.kept)
                elif name in _HELPERS and kind.startswith("(Ljava/lang/String;"):
                    text = call.texts[-1] if call.texts else call.kept
                    if text:
                        yield Logged(found.name, _HELPERS[name], text), True
                    call = _Call()
                else:
                    call.called(owner, name, kind)


def texts_of(path: Path) -> list[Logged]:
    """Every text that the classes of a jar log, each once."""
    texts: dict[Logged, None] = {}
    with zipfile.ZipFile(path) as jar:
        for name in sorted(jar.namelist()):
            if name.endswith(".class") and not name.endswith("module-info.class"):
                texts |= dict.fromkeys(logged(read_class(jar.read(name))))
    return list(texts)
