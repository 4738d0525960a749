"""Reads JSON documents of logs, also cut from lists or damaged."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import orjson

from parsers.formats.cleaning import with_pairs_joined


def json_document(text: str | bytes) -> dict[str, Any] | None:
    """A JSON object on a line, perhaps an item of a list."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    raw = raw.strip().lstrip(b"[,").lstrip()
    if not raw.startswith(b"{"):
        return None
    if not raw.endswith(b"}"):
        raw = raw.rstrip(b",.;] \t\r\n")
    try:
        document = orjson.loads(raw)
    except orjson.JSONDecodeError:
        decoded = raw.decode("utf-8", "replace")
        document = _lenient(_as_json(decoded) if _INSPECTED.match(decoded) else decoded)
    return document if isinstance(document, dict) else None


_INSPECTED = re.compile(r"\{\s*(?:[A-Za-z_$][\w$]*|'[^'\n]*'):")
"""Beginning of an object printed by Node's `console.log` (`util.inspect`)."""

_INSPECTED_PIECES = re.compile(
    r"""(?P<double>"(?:[^"\\\n]|\\.)*")|(?P<quoted>'(?:[^'\\\n]|\\.)*'|`(?:[^`\\\n]|\\.)*`)|(?P<key>[A-Za-z_$][\w$]*)(?=:)"""
    r"""|(?P<plain>true|false|null)\b|(?P<other>undefined|NaN|-?Infinity|<ref \*\d+>|\[[A-Z][^\]\n]*\])"""
)


def _as_json(text: str) -> str:
    """An object as Node prints it, in JSON's notation.

    Names stand without quotation marks, texts in those of three kinds; what JSON has no notation for is null.
    """
    return _INSPECTED_PIECES.sub(_piece, text)


def _piece(match: re.Match[str]) -> str:
    if match["quoted"]:
        return json.dumps(re.sub(r"\\(['`])", r"\1", match["quoted"][1:-1]))
    if match["key"]:
        return json.dumps(match["key"])
    return "null" if match["other"] else match[0]


_LENIENT = json.JSONDecoder(strict=False)
_HALF_CHARACTER = re.compile(r"\\u[dD][89a-fA-F]")
"""Escape of half a character, which this decoder keeps and orjson refuses."""

_BRACKETS = " \t\r,}]"
"""Text that may follow a copied document on its line.

Lines below it are other output of the program: prints, stack traces.
"""


def _lenient(text: str) -> Any:
    """The document at a text's start, also with raw control characters."""
    try:
        document, end = _LENIENT.raw_decode(text)
        if _HALF_CHARACTER.search(text):
            document = _with_pairs_joined(document)
    except (ValueError, RecursionError):  # a number of thousands of digits is a ValueError, too
        return None
    return document if not text[end:].partition("\n")[0].strip(_BRACKETS) else None


def _with_pairs_joined(value: Any) -> Any:
    """A value whose texts, also names of fields, can be encoded."""
    if isinstance(value, str):
        return with_pairs_joined(value)
    if isinstance(value, list):
        return [_with_pairs_joined(item) for item in value]
    if isinstance(value, dict):
        return {with_pairs_joined(name): _with_pairs_joined(item) for name, item in value.items()}
    return value


_ITEM = re.compile(rb'(?<=[\[,}]) ?(\{"[^"\\\n]{1,60}": ?|\["(?=\d{19}"))')
"""Beginning of an item in a list.

Inside a text its quotes would be escaped.
"""

_MOST_ITEMS = 8


def item_marks(sample: bytes) -> list[bytes]:
    """Beginnings of items in lists, the most frequent first."""
    counts = Counter(mark.rstrip() for mark in _ITEM.findall(sample))
    return [mark for mark, _ in counts.most_common(_MOST_ITEMS)]


def first_value(text: str) -> Any:
    """The JSON value at a text's start, whatever follows; None without."""
    try:
        return _LENIENT.raw_decode(text)[0]
    except (ValueError, RecursionError):
        return None


def field_of(document: Any, path: str) -> Any:
    """A field by its name, or a dotted path into objects."""
    if not isinstance(document, dict):
        return None
    if path in document:
        return document[path]
    head, dot, rest = path.partition(".")
    return field_of(document.get(head), rest) if dot else None


def text_of_key(document: Any, path: str) -> str | None:
    """A text field by its name; journald may write it as bytes."""
    value = field_of(document, path)
    if isinstance(value, list) and value and all(isinstance(byte, int) and 0 <= byte <= 0xFF for byte in value):
        return bytes(value).decode("utf-8", "replace")
    return value if isinstance(value, str) else None


_VALUE_KINDS = ("stringValue", "intValue", "boolValue", "doubleValue", "arrayValue")
"""Names of a value by its kind, as OpenTelemetry writes it."""


def lifted(document: dict[str, Any], roots: Sequence[str]) -> dict[str, Any]:
    """The fields of a document with those of its known inner objects.

    A field of the outer one counts more.
    """
    fields: dict[str, Any] = {}
    for root in roots:
        inner = _object_of(document.get(root))
        if inner is not None:
            fields |= lifted(inner, roots)
    outer = {name: value for name, value in document.items() if name not in roots or _object_of(value) is None}
    if "short_message" in outer:  # GELF marks fields of the program so
        outer = {name.removeprefix("_"): value for name, value in outer.items()}
    return fields | outer


def _object_of(value: Any) -> dict[str, Any] | None:
    """An inner object, also of keys and values in a list.

    Values that stand alone in lists are taken out of them.
    """
    if isinstance(value, dict):
        pairs = value.get("kvlistValue")
        if isinstance(pairs, dict):
            return _object_of(pairs.get("values"))
        return {name: item[0] if isinstance(item, list) and len(item) == 1 else item for name, item in value.items()}
    if isinstance(value, list) and value and all(isinstance(item, dict) and item.keys() >= {"key", "value"} for item in value):
        return {str(item["key"]): _plain_value(item["value"]) for item in value}
    return None


def _plain_value(value: Any) -> Any:
    kind = next((kind for kind in _VALUE_KINDS if isinstance(value, dict) and kind in value), None)
    plain = value if kind is None else value[kind]
    return int(plain) if kind == "intValue" and isinstance(plain, str) and plain.isdecimal() else plain


_OPENS = re.compile(r"^( *|\t*)(?:\"[^\"\n]*\": ?)?\{\r?$", re.MULTILINE)
_MOST_DEPTHS = 8


def object_depths(text: str) -> list[str]:
    """Blanks before the objects of an indented document, innermost first."""
    return sorted({match[1] for match in _OPENS.finditer(text)}, key=len, reverse=True)[-_MOST_DEPTHS:]


def opens_object(line: bytes, blanks: bytes) -> bool:
    """Whether a line at this indentation begins an object."""
    rest = line.removeprefix(blanks) if line.startswith(blanks) else b" "
    return rest.rstrip().endswith(b"{") and not rest[:1].isspace()


def closes_object(line: bytes, blanks: bytes) -> bool:
    """Whether a line at this indentation ends an object."""
    return line.startswith(blanks + b"}") and not line[len(blanks) + 1 :].strip(b", \t\r")
