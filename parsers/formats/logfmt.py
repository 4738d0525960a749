"""Records of keys and values: logfmt, and logrus' form for terminals.

`time="…" level=info msg="…" key=value`, or `INFO[0042] message   key=value`, whose number counts seconds since the program
started, unless its time stands there. Either becomes a document with the message and the values beside it.
"""

from __future__ import annotations

import re
from typing import Any

import orjson

_PAIR = re.compile(r"""([A-Za-z_@][\w.@-]{0,63})=("(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'|[^\s"']\S*|)(?=\s|$)""", re.ASCII)
_BEGINS = re.compile(r"(?:time|timestamp|ts|t|level|lvl|msg|event|logger|caller)=", re.ASCII)
_TERMINAL = re.compile(
    r"(?P<level>TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[(?:\d{1,9}|(?P<time>\d{4}-\d\d-\d\dT[\d:.]{8,18}(?:Z|[+-]\d\d:\d\d)))\]\s{1,4}",
    re.ASCII,
)
_MESSAGE_KEYS = ("msg", "message", "event")
_LEVELS = {"TRAC": "TRACE", "DEBU": "DEBUG", "ERRO": "ERROR", "FATA": "FATAL", "PANI": "FATAL"}
_FIRST_KEY = re.compile(r"\s+(?=[A-Za-z_][\w.-]{0,63}=)", re.ASCII)
HEAD = re.compile(rf"(?:{_BEGINS.pattern}|(?:TRAC|DEBU|INFO|WARN|ERRO|FATA|PANI)\[\d)", re.ASCII)


def logfmt_document(text: str) -> dict[str, Any] | None:
    """The values of a line by key, None if it has another form."""
    line = text.partition("\n")[0].strip()
    head = _TERMINAL.match(line)
    if head is not None:
        return _of_terminal(line, head)
    if _BEGINS.match(line) is None:
        return None
    pairs = _pairs(line, 0)
    return pairs if pairs and not pairs.keys().isdisjoint(_MESSAGE_KEYS) else None


def split_pairs(line: str) -> tuple[str, dict[str, Any] | None]:
    """A message and the pairs behind it, None if there are none."""
    key = _FIRST_KEY.search(line)
    pairs = _pairs(line, key.end()) if key is not None else None
    if key is None or pairs is None:
        return line, None
    return line[: key.start()], {name: None if value == _NULL else value for name, value in pairs.items()}


_NULL = "null"
"""A nil pointer, as zerolog prints it."""


def _of_terminal(line: str, head: re.Match[str]) -> dict[str, Any] | None:
    key = _FIRST_KEY.search(line, head.end())
    message = line[head.end() : key.start() if key is not None else len(line)].rstrip()
    pairs = _pairs(line, key.end()) if key is not None else {}
    if pairs is None or not message:
        return None
    timed = {"time": head["time"]} if head["time"] else {}
    return {**pairs, **timed, "level": _LEVELS.get(head["level"], head["level"]), "msg": message}


def _pairs(line: str, at: int) -> dict[str, Any] | None:
    """All pairs of a line, None if anything else stands between them."""
    pairs: dict[str, Any] = {}
    while at < len(line):
        pair = _PAIR.match(line, at)
        if pair is None:
            return None
        pairs.setdefault(pair[1], plain_value(pair[2]))
        at = pair.end()
        while at < len(line) and line[at].isspace():
            at += 1
    return pairs


def plain_value(text: str) -> str:
    """A value without its quotes, which are mostly like JSON's."""
    if text.startswith("'"):  # as Python's repr writes it
        return re.sub(r"\\(['\\])", r"\1", text[1:-1])
    if not text.startswith('"'):
        return text
    try:
        return str(orjson.loads(text))
    except orjson.JSONDecodeError:
        return text[1:-1].replace('\\"', '"')
