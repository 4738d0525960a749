"""Texts that clients log whose sources are written in Go, C++, C#, Python, Rust or TypeScript.

A text is the first constant argument of a call on a logger, put together from its pieces; what is filled in stands as `{}`. Values by
name beside a text, as Go's logrus has them, follow it as in the catalogue: `text; name: {}`; what a macro adds at the end is there, too.
Loggers are the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from tests.jars import Logged

_LEVELS = {
    **dict.fromkeys(("debug", "trace"), "DEBUG"),
    **dict.fromkeys(("info", "information"), "INFO"),
    **dict.fromkeys(("warn", "warning"), "WARN"),
    **dict.fromkeys(("error", "critical", "fatal", "exception"), "ERROR"),
}
_LEVEL = f"(?P<level>{'|'.join(sorted(_LEVELS, key=len, reverse=True))})"
_PRINTF = re.compile(r"%(?:%|[-#+ 0,(]*\d*(?:\.\d+)?(?:l{1,2}|z|h)?[a-zA-Z])")
_BRACES = re.compile(r"\{[^{}]*\}")
_ESCAPES = {r"\n": "\n", r"\t": "\t", r"\"": '"', r"\\": "\\", r"\'": "'", r"\`": "`"}
_ESCAPE = re.compile(r"\\(?:\r?\n\s*|.)", re.DOTALL)
_OPEN, _CLOSE = frozenset("([{"), frozenset(")]}")
_NAMED = re.compile(r'(?:"(\w+)"|(?:\w+\.)?(\w+))\s*:(?!=)')
_CONSTANT = re.compile(r'^\s*(\w+)\s*=\s*"([^"]*)"', re.MULTILINE)
_FIELDS = re.compile(r"map\[string\]interface\{\}\{")


class _Language(NamedTuple):
    call: re.Pattern[str]
    string: re.Pattern[str]
    """The beginning of a string: its prefix and its quotes."""
    fills: re.Pattern[str] | None
    """What stands for a value in a plain string."""
    opens: str = ""
    """What begins a value in a string with values in it."""
    ends: Mapping[str, str] = {}
    """What a macro adds, by its name."""

    def interpolates(self, prefix: str, quote: str) -> bool:
        """Whether a string of this prefix has values in it."""
        return bool(self.opens) and (quote == "`" or any(letter in prefix for letter in "f$"))


def _call(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern.replace("LEVEL", _LEVEL), re.IGNORECASE)


_PLAIN = re.compile(r'()(")')
_ON_A_LOGGER = r"\b(?:[\w.]*logger|[\w.]*log|rlog)(?:\(\))?\s*\.\s*(?:Log)?LEVEL(?:f|w|ln)?\s*\("
_GO = _Language(_call(_ON_A_LOGGER), re.compile('()(["`])'), _PRINTF)
_CPP = _Language(_call(r"\b((?:SPD)?LOG_)LEVEL\s*\("), _PLAIN, re.compile(f"{_PRINTF.pattern}|{_BRACES.pattern}"), ends={"LOG_": "[{}:{}]"})
LANGUAGES: dict[str, _Language] = {
    ".go": _GO,
    ".cpp": _CPP,
    ".h": _CPP,
    ".cs": _Language(_call(_ON_A_LOGGER), re.compile(r'([$@]{0,2})(")'), _BRACES, "{"),
    ".py": _Language(_call(_ON_A_LOGGER), re.compile(r"\b([rRfFbBuU]{0,2})(\"\"\"|'''|\"|')|()(\"\"\"|'''|\"|')"), _PRINTF, "{"),
    ".rs": _Language(_call(r"\bLEVEL!\s*\("), re.compile(r'(r?)(")'), _BRACES),
    ".ts": _Language(_call(_ON_A_LOGGER), re.compile("()([\"'`])"), _PRINTF, "${"),
}
"""Languages by the ends of their files' names."""
_TESTS = re.compile(r"(?:^|[/_.])(?:tests?|examples?|samples|benchmark|mock\w*)(?:[/_.]|$)", re.IGNORECASE)


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _ESCAPES.get(found[0], ""), text)


def _end_of_value(source: str, at: int) -> int:
    """Where a value inside a string ends."""
    depth = 0
    for place in range(at, len(source)):
        if source[place] in _OPEN:
            depth += 1
        elif source[place] in _CLOSE:
            depth -= 1
            if depth < 0:
                return place + 1
    return len(source)


def _string(language: _Language, source: str, found: re.Match[str]) -> tuple[str, int]:
    """A string's text with its values as `{}`, and its end."""
    prefix, quote = next((pair for pair in (found.groups()[:2], found.groups()[2:]) if pair and pair[1]), ("", '"'))
    at, pieces, begun = found.end(), [], found.end()
    has_values = language.interpolates(prefix or "", quote or "")
    while at < len(source) and not source.startswith(quote or "", at):
        if source[at] == "\\" or (has_values and source.startswith(language.opens * 2, at)):
            at += 2
        elif has_values and source.startswith(language.opens, at):
            pieces += [source[begun:at], "{}"]
            at = begun = _end_of_value(source, at + len(language.opens))
        else:
            at += 1
    pieces.append(source[begun:at])
    text = _unescaped("".join(pieces))
    if language.fills is not None and not has_values:
        text = language.fills.sub(lambda each: "%" if each[0] == "%%" else "{}", text)
    return text, at + len(quote or "")


def _first_constant(language: _Language, source: str, at: int) -> tuple[str, int] | None:
    """The first argument with a constant in it from behind a call's parenthesis, and its end."""
    pieces: list[str] = []
    depth, constant = 0, False
    while at < len(source):
        found = language.string.match(source, at)
        if found is not None:
            text, at = _string(language, source, found)
            if not depth:
                pieces.append(text)
                constant = True
            continue
        letter = source[at]
        if letter in _CLOSE:
            depth -= 1
            if depth < 0:
                break
        elif letter in _OPEN:
            depth += 1
        elif letter in ",%" and not depth:
            if constant:
                break
            pieces.clear()
        elif not depth and (letter.isalnum() or letter == "_") and pieces[-1:] != ["{}"]:
            pieces.append("{}")
        at += 1
    return ("".join(pieces).strip(), at) if constant else None


def _names(source: str, at: int, constants: Mapping[str, str]) -> list[str]:
    """Names of the values beside a text."""
    found = _FIELDS.search(source, at)
    if found is None or source[at : found.start()].strip(", \t\n"):
        return []
    inside = source[found.end() : _end_of_value(source, found.end()) - 1]
    return [each[1] or constants.get(each[2], each[2]) for each in _NAMED.finditer(inside)]


def texts_of_language(source: str, name: str, language: _Language, constants: Mapping[str, str]) -> Iterator[Logged]:
    """Every text that one file logs."""
    for call in language.call.finditer(source):
        found = _first_constant(language, source, call.end())
        if found is None or not found[0].strip("{} "):
            continue
        names = ", ".join(f"{each}: {{}}" for each in _names(source, found[1], constants))
        text = f"{found[0]}; {names}" if names else found[0]
        yield Logged(name, _LEVELS[call["level"].lower()], text + language.ends.get(call[1], ""))


def texts_of_languages(folder: Path) -> Iterator[Logged]:
    """Every text that sources below a folder log in these languages, apart from those of tests and examples."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in LANGUAGES and path.is_file()]
    sources = {
        path: path.read_text(encoding="utf-8", errors="replace") for path in paths if not _TESTS.search(path.relative_to(folder).as_posix())
    }
    constants = {each[1]: each[2] for path, source in sources.items() if path.suffix == ".go" for each in _CONSTANT.finditer(source)}
    for path, source in sources.items():
        yield from texts_of_language(source, path.relative_to(folder).as_posix(), LANGUAGES[path.suffix], constants)


def is_of_language(logged: Logged) -> bool:
    """Whether a text stands in one of these languages."""
    return Path(logged.logger).suffix in LANGUAGES
