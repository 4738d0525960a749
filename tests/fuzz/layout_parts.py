"""Parts of layouts that people have: headers with times, wrappings of lines, cuts and damage."""

from __future__ import annotations

import json
import random
import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

BEGAN = datetime(2029, 2, 18, 18, 41, 58, 862_000, UTC)
"""Time of a composition's first record; the next ones follow each 137 ms."""
STEP = timedelta(milliseconds=137)


@dataclass(frozen=True, slots=True)
class Line:
    """A line as written, and its parts."""

    text: str
    level: str
    logger: str | None
    thread: str
    message: str


def of_class(line: Line) -> bool:
    """Whether its logger is a class of the JVM, so that any of its layouts may hold it."""
    return line.logger is not None and re.fullmatch(r"(?:[a-z]\w*\.)+[A-Z][\w$.]*", line.logger) is not None


def bare_line(line: Line, _: int) -> str:
    """The line as written."""
    return line.text


def _at(number: int) -> datetime:
    return BEGAN + number * STEP


TIMES: dict[str, Callable[[datetime], str]] = {
    "comma": lambda at: f"{at:%Y-%m-%d %H:%M:%S},{at.microsecond // 1000:03d}",
    "dot": lambda at: f"{at:%Y-%m-%d %H:%M:%S}.{at.microsecond // 1000:03d}",
    "iso": lambda at: f"{at:%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}Z",
    "offset": lambda at: f"{at + timedelta(hours=8):%Y-%m-%dT%H:%M:%S}.{at.microsecond // 1000:03d}+0800",
    "slashes": lambda at: f"{at:%Y/%m/%d %H:%M:%S}.{at.microsecond // 1000:03d}",
    "seconds": lambda at: f"{at:%Y-%m-%d %H:%M:%S}",
    "day first": lambda at: f"{at:%d.%m.%Y %H:%M:%S}.{at.microsecond // 1000:03d}",
    "month": lambda at: f"{at:%d %b %Y %H:%M:%S},{at.microsecond // 1000:03d}",
    "american": lambda at: f"{at:%b %d, %Y %I:%M:%S %p}",
    "clock": lambda at: f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}",
    "millis": lambda at: f"{int(at.timestamp() * 1000)}",
}
_FORMS = {
    "kafka": "[{when}] {level} {message} ({logger})",
    "connect": "[{when}] {level} {message} ({logger}:540)",
    "strimzi": "{when} {level} {message} ({logger}) [{thread}]",
    "logback": "{when} [{thread}] {level:5} {logger} - {message}",
    "boxes": "[{when}] [{level:5}] [{thread}] {logger} - {message}",
    "boot": "{when}  {level:5} 4711 --- [{thread:>15.15}] {logger} : {message}",
    "quarkus": "{when} {level:5} [{logger}] ({thread}) {message}",
    "dashes": "{when} - {level} - {logger} - {message}",
    "level first": "{level}: {when} {logger}: {message}",
    "logger last": "{when} | {level} | {message} | {logger}",
    "named": 'time="{when}" level={lower} logger={logger} msg="{quoted}"',
}


def _header(form: str, when: Callable[[datetime], str]) -> Callable[[Line, int], str]:
    def render(line: Line, number: int) -> str:
        quoted = line.message.replace("\\", "\\\\").replace('"', '\\"')
        parts = {"level": line.level, "lower": line.level.lower(), "logger": line.logger, "thread": line.thread, "message": line.message}
        return form.format(when=when(_at(number)), quoted=quoted, **parts)

    return render


def _document(*, stamp: str, message: str) -> Callable[[Line, int], str]:
    def render(line: Line, number: int) -> str:
        return json.dumps(
            {stamp: _at(number).isoformat().replace("+00:00", "Z"), "level": line.level, "logger": line.logger, message: line.message}
        )

    return render


HEADERS: dict[str, Callable[[Line, int], str]] = {
    "as written": bare_line,
    **{f"{name} with {time}": _header(form, when) for name, form in _FORMS.items() for time, when in TIMES.items()},
    "kafka without time": _header("{level} {message} ({logger})", TIMES["comma"]),
    "json": _document(stamp="@timestamp", message="message"),
    "json with msg": _document(stamp="time", message="msg"),
}

WRAPPINGS: dict[str, Callable[[str, int], str]] = {
    "cri": lambda line, n: f"{_at(n):%Y-%m-%dT%H:%M:%S.%f}123Z stdout F {line}",
    "compose": lambda line, _: f"kafka-1  | {line}",
    "kubectl": lambda line, _: f"[pod/kafka-0/kafka] {line}",
    "timestamps": lambda line, n: f"{_at(n):%Y-%m-%dT%H:%M:%S.%f}123Z {line}",
    "syslog": lambda line, n: f"{_at(n):%b %d %H:%M:%S} host1 kafka[77]: {line}",
    "rfc5424": lambda line, n: f"<134>1 {_at(n):%Y-%m-%dT%H:%M:%S.%f}Z host1 kafka 77 - - {line}",
    "journal": lambda line, n: f"{_at(n):%a %Y-%m-%d %H:%M:%S} UTC host1 kafka[77]: {line}",
    "grep": lambda line, n: f"logs/broker-1/server.log:{n + 17}:{line}",
    "numbered": lambda line, n: f"{n + 1:6}\t{line}",
    "docker json": lambda line, n: json.dumps({"log": line + "\n", "stream": "stdout", "time": f"{_at(n):%Y-%m-%dT%H:%M:%S.%f}Z"}),
    "cloud": lambda line, n: json.dumps({"timestamp": f"{_at(n):%Y-%m-%dT%H:%M:%S.%f}Z", "severity": "INFO", "textPayload": line}),
    "array item": lambda line, _: f"    {json.dumps(line)},",
    "comment": lambda line, _: f"# {line}",
    "slashes": lambda line, _: f"// {line}",
    "mail": lambda line, _: f"> {line}",
    "list": lambda line, _: f"- {line}",
    "code": lambda line, _: f"    {line}",
    "backticks": lambda line, _: f"`{line}`",
    "table": lambda line, n: f"| {n + 1} | {line} |",
    "quotes": lambda line, _: f'"{line}"',
    "page": lambda line, _: f"<p>{line}</p>",
    "chat": lambda line, n: f"[{_at(n):%H:%M}] ops-anna: {line}",
    "host": lambda line, _: f"broker-3.example {line}",
}


def _folded(width: int) -> Callable[[str], list[str]]:
    return lambda line: [line[at : at + width] for at in range(0, len(line), width)] or [line]


def _at_words(width: int, indent: str) -> Callable[[str], list[str]]:
    def wrap(line: str) -> list[str]:
        return textwrap.wrap(line, width, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False) or [line]

    return wrap


WRAPS: dict[str, Callable[[str], list[str]]] = {
    "at 80": _folded(80),
    "at 120": _folded(120),
    "at 200": _folded(200),
    "at words": _at_words(110, ""),
    "at words, indented": _at_words(100, "    "),
}

DAMAGES: dict[str, Callable[[str, random.Random], str]] = {
    "first character lost": lambda line, _: line[1:],
    "blank behind": lambda line, _: f"{line}  ",
    "carriage return": lambda line, _: f"{line}\r",
    "dots behind": lambda line, _: f"{line}…",
    "colours": lambda line, _: f"\x1b[32m{line[:11]}\x1b[0;39m{line[11:]}\x1b[m",
    "caret colours": lambda line, _: re.sub(r"\b(INFO|WARN|ERROR)\b", r"^[[32m\1^[[m", line, count=1),
    "wide blanks": lambda line, _: line.replace(" ", "\u00a0", 3),
    "tabs": lambda line, _: line.replace(" ", "\t", 1),
    "doubled blank": lambda line, _: line.replace(" ", "  ", 2),
    "blank line": lambda line, dice: f"{line}\n" if dice.random() < 0.3 else line,
}
