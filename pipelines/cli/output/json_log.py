"""With `--log-json`: all that a run says on standard error, as one JSON object a line.

What we say is written as events. What libraries, the JVM that is started here and Spark's workers print is taken line by line: they
write to the descriptor of standard error, which is a pipe meanwhile.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parsers.redaction.pseudonyms import Redaction

_DRAIN_SECONDS = 2.0
_END = b"\0the command has ended\n"


class LogEvents:
    """How this process writes its events."""

    active = False
    """Words on standard error are written as events."""
    redaction: Redaction | None = None
    """What hides names in events of the log, which is kept and shipped."""

    @classmethod
    def shown(cls, text: str) -> str:
        """A text as events of the log have it."""
        return text if cls.redaction is None else cls.redaction.text(text, {}, strict=True)


class _Out:
    """Where lines go: to what standard error was before it became a pipe, else to `sys.stderr`."""

    descriptor: int | None = None
    lock = threading.Lock()


def write(event: str, **values: object) -> None:
    """Write one event. Nobody at the other end is no trouble of the run's."""
    line = {"at": datetime.now(UTC).isoformat(timespec="milliseconds"), "event": event, **values}
    text = json.dumps(line, ensure_ascii=True, default=str) + "\n"
    with _Out.lock, suppress(OSError):
        if _Out.descriptor is None:
            print(text, end="", file=sys.stderr, flush=True)
        else:
            _write_all(_Out.descriptor, text.encode())


def _write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


@contextmanager
def json_lines() -> Iterator[None]:
    """Let all that is said on standard error meanwhile, by whomever, be JSON."""
    handler = _Events(logging.WARNING)
    logging.getLogger().addHandler(handler)
    LogEvents.active = True
    try:
        with _wrapped():
            yield
    finally:
        LogEvents.active = False
        logging.getLogger().removeHandler(handler)


class _Events(logging.Handler):
    """What is logged, as events."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        told = {} if error is None else {"traceback": "".join(traced(error))}
        write("log", level=record.levelname.lower(), logger=record.name, text=LogEvents.shown(record.getMessage()), **told)


def traced(error: BaseException) -> list[str]:
    """Where an error came from; what it says only where no names are to be hidden, since it may hold some."""
    return traceback.format_exception(error) if LogEvents.redaction is None else traceback.format_tb(error.__traceback__)


@contextmanager
def _wrapped() -> Iterator[None]:
    """Let lines that others write to standard error pass through `write`."""
    try:
        taken = sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):  # closed, or another stream stands for it
        taken = False
    if not taken:
        yield
        return
    sys.stderr.flush()
    _Out.descriptor = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    drained = threading.Event()
    threading.Thread(target=_pass_on, args=(reading, drained), daemon=True).start()
    try:
        yield
    finally:
        sys.stderr.flush()
        os.write(2, _END)
        drained.wait(_DRAIN_SECONDS)
        os.dup2(_Out.descriptor, 2)
        _Out.descriptor = None


def _pass_on(reading: int, drained: threading.Event) -> None:
    """Lines of the pipe as events, also after the command has ended: a JVM goes on writing to it."""
    with open(reading, "rb", buffering=0) as pipe:
        rest = b""
        while data := pipe.read(1 << 16):
            *lines, rest = (rest + data).split(b"\n")
            for line in lines:
                ended = line.endswith(_END[:-1])
                text = (line.removesuffix(_END[:-1]) if ended else line).decode("utf-8", "backslashreplace").strip("\r")
                if text:
                    write("said", text=text)
                if ended:
                    drained.set()
