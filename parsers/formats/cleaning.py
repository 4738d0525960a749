"""Text without what pages, terminals and editors have added."""

from __future__ import annotations

import html
import re

_COLOURS = re.compile(r"(?:\x1b|\^\[|\\x1b|\\u001b|\\033)\[[0-?]*[ -/]*[@-~]")
_CARETS = re.compile(r"\^M$|\^I", re.MULTILINE)
_TAGS = re.compile(
    r"</?(?:a|b|body|br|code|div|em|font|h[1-6]|html|i|li|ol|p|pre|s|samp|small|span|strong|sub|sup|table|tbody|td|th|thead|tr|tt|u|ul)"
    r"\b[^<>\n]{0,300}>",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"\{(?:noformat|code|quote)(?::[^{}\n]{0,80})?\}")
"""Marks of blocks in trackers."""
_BREAKS = re.compile(r"<(?:br|/p|/div|/li|/tr)\b[^<>\n]{0,50}>", re.IGNORECASE)
_ENTITIES = re.compile(r"&(?:#\d{1,6}|#x[0-9a-fA-F]{1,5}|[a-z]{2,6});")
_PAGE_ESCAPE = re.compile(r"\\[|_\[*]")
_PAGE_ESCAPED = re.compile(r"\\([\[\]_*|#<>(){}~`+!.-])")
"""Marks that Markdown shows as such."""
_WIDE_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2002\u2003\u2007\u2009\u202f\u3000\t\x0b\x0c"), " ")
_NO_WIDTH = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\x00\r\x08"))
_FULL_WIDTH = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3010: "[", 0x3011: "]"}
"""Punctuation, letters and digits as East Asian input methods write them."""
_TRANSLATION = {**_WIDE_BLANKS, **_NO_WIDTH}
_EMPHASIS = re.compile(r"(?<!\S)(?P<mark>\*{1,3})(?=[\w\[(])(?P<words>[^*\n]{1,200})(?<=[\w\])])(?P=mark)(?![^\s,.;:])")
"""Words that a page shows bold.

The stars of a topic pattern have other signs beside them.
"""
_ESCAPED_BREAKS = re.compile(r"(?:\\+r)?\\+n(?=[\"'\[(]?(?:\d{4}[-/.]\d|\d{1,2}[-/.:]\d\d|[A-Z][a-z]{2} +\d))")
_ESCAPES = re.compile(r"\\+(?:u[0-9a-fA-F]{4}|[\"'/ntr\\])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_ESCAPED = {"n": "\n", "t": " ", "r": ""}
# What a writer, a table or a list puts before a line.
_MARKS = re.compile(r"[ \t]*(?:(?:#+|//+|--|;+|REM|rem|\|+|[│┃║]+|>+|\*+|\$|[-+•])(?=[ \t]|$)[ \t]*)+")
_BRACKETS = {"}": "{", "]": "[", ")": "(", ">": "<"}
_CLOSING = " \t\"'`,;|│┃║\\*_~…\u201d\u2019"


def clean_line(line: str) -> str:
    """A line without colours, tags, entities and invisible characters.

    A line break of a page becomes one.
    """
    if line.isascii() and line.isprintable() and not _is_marked(line):
        return line
    if "\r" in line:
        line = line.rstrip("\r").replace("\r", "\n")
    if "[" in line:
        line = _COLOURS.sub("", line)
    if "^" in line:
        line = _CARETS.sub(" ", line)
    if "<" in line and _TAGS.search(line):
        line = _TAGS.sub("", _BREAKS.sub("\n", line))
    if "{" in line:
        line = _MARKUP.sub("", line)
    if "\\" in line and _PAGE_ESCAPE.search(line):
        line = _PAGE_ESCAPED.sub(r"\1", line)
    if "*" in line:
        line = _EMPHASIS.sub(lambda match: match["words"], line)
    if "&" in line:
        line = _ENTITIES.sub(lambda match: html.unescape(match[0]), line)
    return line if line.isascii() and line.isprintable() else _plain_signs(line.translate(_TRANSLATION))


def _plain_signs(line: str) -> str:
    """A line in ASCII, if only the width of its signs differs.

    Text and names in other scripts keep their own punctuation.
    """
    plain = line if line.isascii() else line.translate(_FULL_WIDTH)
    return plain if plain.isascii() else line


def _is_marked(line: str) -> bool:
    return (
        "<" in line
        or "&" in line
        or "^" in line
        or "\\" in line
        or "*" in line
        or ("{" in line and ("{noformat" in line or "{code" in line or "{quote" in line))
    )


def unescape_json(text: str) -> str:
    """The text of a JSON string, also if escaped twice."""
    if "\\" not in text:
        return text
    return with_pairs_joined(_ESCAPES.sub(_character, text))


def with_pairs_joined(text: str) -> str:
    """Text whose surrogates are joined to characters; lone ones are replaced."""
    return text if _SURROGATE.search(text) is None else text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def _character(match: re.Match[str]) -> str:
    code = match[0].lstrip("\\")
    if not code:
        return "\\"
    return chr(int(code[1:], 16)) if len(code) > 1 else _ESCAPED.get(code, code)


def split_escaped(text: str) -> list[str]:
    """Split a text into lines, also at escaped breaks before a time."""
    return (_ESCAPED_BREAKS.sub("\n", text) if "\\" in text else text).split("\n")


def mark_of(line: str) -> str:
    """Comment marks, borders and list marks at the beginning of a line."""
    match = _MARKS.match(line)
    return match[0] if match is not None else ""


def bare_end(text: str) -> str:
    """Text without quotes, borders and separators at its end."""
    return text.rstrip(_CLOSING)


_MARKS_BEHIND = "> *`_~"
_TAG_MAX = 12
"""Most characters of a tag behind a line."""


def before_markup(text: str, start: int, end: int) -> int:
    """End of a line without a page's markup behind it, such as `<br>`."""
    while end > start and text[end - 1] in _MARKS_BEHIND:
        opened = text.rfind("<", max(start, end - _TAG_MAX), end) if text[end - 1] == ">" else end - 1
        if opened < 0:
            break
        end = opened
    return end


def unclosed_end(text: str) -> str:
    """Remove unmatched closing brackets from the end of a text."""
    while text[-1:] in _BRACKETS and text.count(text[-1]) > text.count(_BRACKETS[text[-1]]):
        text = text[:-1].rstrip()
    return text
