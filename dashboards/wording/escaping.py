"""Escaping of texts from logs, by place of display.

Group, client and member ids and whole log lines are controlled by whoever writes to the logs. Each place of display has
one function: terminals (`visible`), charts (`chart_label`), scripts (`packed`). In HTML the template engine escapes,
and the page's scripts set `textContent`.
"""

from __future__ import annotations

import base64
import json
import os
import re
import unicodedata
import zlib
from collections.abc import Sequence

LABEL_LENGTH = 48
_COMBINING_MAX = 3

# Plotly reads labels as pseudo-HTML, decodes entities, and passes $...$ to MathJax if that is loaded.
_CHART = str.maketrans({"<": "‹", ">": "›", "&": "＆", "$": "＄"})  # noqa: RUF001 - the look-alikes are meant
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """Return the text with misleading characters replaced by escapes.

    Control characters (such as ESC) become `\\x1b`, format characters such as bidi marks `\\u202e`. Of a sequence of
    combining marks the first three stay unchanged.
    """
    if text.isascii() and text.isprintable():
        return text
    shown: list[str] = []
    combining = 0
    for character in text:
        combining = combining + 1 if unicodedata.category(character) in ("Mn", "Me") else 0
        shown.append(character if character.isprintable() and combining <= _COMBINING_MAX else _escaped(character))
    return "".join(shown)


def _escaped(character: str) -> str:
    code = ord(character)
    named = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(character)
    if named:
        return named
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shortened(text: str, length: int) -> str:
    """Cut the text to `length` characters, with an ellipsis at the end."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def first_line(text: str) -> str:
    """Return the first line of a record and the number of further lines."""
    head, _, rest = text.rstrip("\r\n").partition("\n")
    hidden_count = rest.count("\n") + 1 if rest else 0
    return head.rstrip("\r") + (f" (+{hidden_count} {'line' if hidden_count == 1 else 'lines'})" if hidden_count else "")


def chart_label(text: str, length: int = LABEL_LENGTH) -> str:
    """Return the text as a label of a Plotly figure, without markup.

    The full text is in the tables.
    """
    return shortened(visible(text), length).translate(_CHART)


def packed(data: object) -> str:
    """Pack data for the page's script: JSON, deflated, in base64.

    No character of the result has a meaning in HTML.
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    if not text.isascii():  # lone surrogates cannot be encoded as UTF-8
        text = _SURROGATE.sub(lambda match: f"\\u{ord(match.group()):04x}", text)
    return base64.b64encode(zlib.compress(text.encode("utf-8"), 9)).decode("ascii")


def common_folder(paths: Sequence[str]) -> str:
    """Longest common prefix of paths that ends in a slash.

    Empty for a single path.
    """
    start = os.path.commonprefix(paths) if len(paths) > 1 else ""  # noqa: RUF071 - cut at a slash below; `commonpath` refuses mixed paths
    return start[: start.rfind("/") + 1]
