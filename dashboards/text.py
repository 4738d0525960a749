"""Text of logs, made safe to show.

Group, client and member ids and whole log lines are chosen by whoever writes to the logs. Each place
that shows them has one function here: terminals (`visible`), charts (`chart_label`), scripts (`embed_json`).
In HTML the template engine escapes, and scripts of the page set `textContent`.
"""

from __future__ import annotations

import json
import re
import unicodedata

LABEL_LENGTH = 48
_COMBINING_MAX = 3

# Plotly reads labels as pseudo-HTML, decodes entities, and hands $...$ to MathJax where that is present.
_CHART = str.maketrans({"<": "‹", ">": "›", "&": "＆", "$": "＄"})  # noqa: RUF001 - the look-alikes are meant
_SCRIPT = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}
_SCRIPT_UNSAFE = re.compile("[<>&\u2028\u2029]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def visible(text: str) -> str:
    """The text with everything that a terminal or a reader could be misled by written as an escape.

    Control characters (ESC among them) become `\\x1b`, format characters such as bidi marks `\\u202e`, and of
    a pile of combining marks only the first three stay as they are.
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
    """At most `length` characters; what was cut away leaves an ellipsis."""
    return text if len(text) <= length else text[: max(length - 1, 0)] + "…"


def first_line(text: str) -> str:
    """The first line of a record, and how many follow."""
    head, _, rest = text.rstrip("\r\n").partition("\n")
    more = rest.count("\n") + 1 if rest else 0
    return head.rstrip("\r") + (f" (+{more} {'line' if more == 1 else 'lines'})" if more else "")


def chart_label(text: str, length: int = LABEL_LENGTH) -> str:
    """The text as a label of a Plotly figure, where markup would be obeyed. The full text stands in the tables."""
    return shortened(visible(text), length).translate(_CHART)


def embed_json(data: object) -> str:
    """JSON that is safe inside a script element.

    Log text can contain `</script>` or `<!--`, which would end the script early. Lone surrogates are escaped,
    since the page is written as UTF-8.
    """
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False, ensure_ascii=False)
    text = _SCRIPT_UNSAFE.sub(lambda found: _SCRIPT[found.group()], text)
    return text if text.isascii() else _SURROGATE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)
