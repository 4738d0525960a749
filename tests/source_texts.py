"""Texts that sources log: Java and Scala files below a folder.

A text is the constant first argument of a call on a logger, put together from its pieces; what is filled in stands as `{}`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from tests.jars import LEVELS, Logged

_LEVEL = "(trace|debug|info|warn|error)"
_CALL = re.compile(rf"\b(?:log|logger|LOG|LOGGER|underlying)(?:\(\))?\s*\.\s*{_LEVEL}\s*\(|(?<![\w.]){_LEVEL}\s*\(")
_PACKAGE = re.compile(r"^package\s+([\w.]+)", re.MULTILINE)
_PIECE = re.compile(r'([sf]?)"""(.*?)"""|([sf]?)"((?:[^"\\\n]|\\.)*)"|(,)|(\()|(\))|(\+)|([^\s"(),+]+)', re.DOTALL)
_INSIDE = re.compile(r"(?:\$\{[^{}]*\}|\$\w+)(?:%[-\d.]*[a-z])?")
_FORMAT = re.compile(r"%[-#+ 0,(]*\d*(?:\.\d+)?[a-zA-Z]")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\", r"\'": "'"}
_ESCAPE = re.compile(r"\\.")


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[0], found[0]), text)


def first_argument(source: str, at: int) -> str | None:
    """Text of a call's first argument from behind its parenthesis, None without a constant in it."""
    pieces: list[str] = []
    depth, open_gap, constant = 0, False, False
    for piece in _PIECE.finditer(source, at):
        text = piece[2] if piece[2] is not None else piece[4]
        if text is not None and not (depth and constant):
            if depth and not constant:  # the name of a call around the text is no part of it
                pieces.clear()
            words = _unescaped(text) if piece[4] is not None else text
            pieces.append(_INSIDE.sub("{}", words) if piece[1] or piece[3] else words)
            constant, open_gap = True, False
        elif piece[5] and not depth:
            break
        elif piece[7]:
            depth -= 1
            if depth < 0:
                break
        elif piece[6]:
            depth += 1
        elif piece[8]:
            open_gap = False
        elif piece[9] and not depth and not open_gap and not piece[9].startswith("."):
            pieces.append("{}")
            open_gap = True
    return _FORMAT.sub("{}", "".join(pieces)).strip() if constant else None


def texts_in(source: str, name: str) -> Iterator[Logged]:
    """Every text that one file logs."""
    package = _PACKAGE.search(source)
    logger = f"{package[1]}.{name}" if package is not None else name
    for call in _CALL.finditer(source):
        text = first_argument(source, call.end())
        if text:
            yield Logged(logger, LEVELS[call[1] or call[2]], text)


def texts_below(folder: Path) -> list[Logged]:
    """Every text that the sources below a folder log, each once."""
    texts: dict[Logged, None] = {}
    for path in sorted((*folder.rglob("*.java"), *folder.rglob("*.scala"))):
        if "test" not in path.parts:
            texts |= dict.fromkeys(texts_in(path.read_text(encoding="utf-8", errors="replace"), path.stem))
    return list(texts)
