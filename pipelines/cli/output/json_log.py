"""Log of a run as JSON lines on standard error (`--log-json`).

Own messages are written as events. Output of libraries, the JVM and Spark's workers is captured line by line: they
write to the descriptor of standard error, which is replaced by a pipe.
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
    """State of the JSON log in this process."""

    active = False
    """True if messages to standard error are written as events."""
    redaction: Redaction | None = None
    """Redaction of names in events, because logs are kept and shipped."""

    @classmethod
    def shown(cls, text: str) -> str:
        """A text as it appears in events."""
        return text if cls.redaction is None else cls.redaction.text(text, {}, strict=True)


class _Out:
    """Target of events: the original standard error, or `sys.stderr`."""

    descriptor: int | None = None
    lock = threading.Lock()


def write(event: str, **values: object) -> None:
    """Write one event; write errors are ignored."""
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
    """Turn all output to standard error into JSON lines."""
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
    """Handler that writes log records as events."""

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        fields = {} if error is None else {"traceback": "".join(traced(error))}
        write("log", level=record.levelname.lower(), logger=record.name, text=LogEvents.shown(record.getMessage()), **fields)


def traced(error: BaseException) -> list[str]:
    """Traceback of an error.

    Its message is left out with redaction, because it may contain names.
    """
    return traceback.format_exception(error) if LogEvents.redaction is None else traceback.format_tb(error.__traceback__)


@contextmanager
def _wrapped() -> Iterator[None]:
    """Pass lines that others write to standard error through `write`."""
    try:
        taken = sys.stderr.fileno() == 2
    except (AttributeError, OSError, ValueError):  # it is closed, or replaced by another stream
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
    """Write lines of the pipe as events.

    Continues after the command's end, because a JVM still writes to it.
    """
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
