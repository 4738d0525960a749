"""Where words go: answers to standard output, talk to standard error.

Rich is asked only for colour, width and wrapping: markup, emoji and highlighting are off, and every text of a log
goes through `visible` before it gets here.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from typing import IO, TYPE_CHECKING, Any

from pipelines.cli.output import json_log
from pipelines.cli.output.json_log import LogEvents
from pipelines.errors import CannotWrite

if TYPE_CHECKING:
    from rich.console import Console

PIPE_WIDTH = 120
"""Columns where standard output is no terminal and COLUMNS does not say."""


class ReaderGone(Exception):
    """The other end of standard output was closed."""


class Output:
    """Standard output; what goes wrong with it has a name."""

    def write(self, text: str) -> int:
        with _named():
            return sys.stdout.write(text)

    def write_bytes(self, data: bytes) -> None:
        with _named():
            sys.stdout.flush()
            buffer = getattr(sys.stdout, "buffer", None)
            if buffer is None:
                sys.stdout.write(data.decode("utf-8"))
            else:
                buffer.write(data)

    def flush(self) -> None:
        with _named():
            sys.stdout.flush()

    def isatty(self) -> bool:
        return sys.stdout.isatty()

    def fileno(self) -> int:
        return sys.stdout.fileno()

    @property
    def encoding(self) -> str:
        return sys.stdout.encoding or "utf-8"


@contextlib.contextmanager
def _named() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise output_error(error) from error


def output_error(error: OSError) -> ReaderGone | CannotWrite:
    """The name of what went wrong with standard output, which takes nothing more from here on."""
    _drop(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return ReaderGone()
    return CannotWrite(f"standard output can't be written: {error.strerror or error}")


def say(text: str) -> None:
    """Write lines to standard error. Nobody at the other end is no trouble of the command's."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop(stream: IO[str]) -> None:
    """Let a stream that can't be written take what else comes: Python flushes it once more when it ends, and would complain then."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def screen() -> Console:
    """The console of answers for people."""
    out: Any = Output()
    return _console(out)


def _console(file: IO[str]) -> Console:
    from rich.console import Console

    width = None
    if not file.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width = PIPE_WIDTH
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)


class Talk:
    """Words beside the answer: warnings, progress. `verbose` is asked where an error is shown."""

    verbose = False
    alone = False
    """The process does nothing but this one command."""

    def __init__(self, *, quiet: bool = False, verbose: bool = False) -> None:
        self.quiet = quiet
        self.verbose = verbose

    def warn(self, text: str) -> None:
        from dashboards.wording.escaping import visible

        if self.quiet:
            return
        if LogEvents.active:
            json_log.write("warning", text=LogEvents.shown(text))
        else:
            say(f"warning: {visible(text)}")

    def note(self, text: str) -> None:
        from dashboards.wording.escaping import visible

        if not self.quiet:
            say(visible(text))

    def fail(self, text: str) -> None:
        """Tell of an error, which is never left out. Text of several lines is shown in as many."""
        from dashboards.wording.escaping import visible

        say("error: " + "\n".join(map(visible, text.splitlines())))

    @contextlib.contextmanager
    def progress(self, what: str) -> Iterator[Callable[[str, int, int], None] | None]:
        """A bar for long work: yields what is to be told (name, bytes done, bytes in all), None where no bar may be."""
        if self.quiet or LogEvents.active or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        from dashboards.wording.escaping import shortened, visible

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(binary_units=True), TimeRemainingColumn())
        talk = Console(stderr=True, markup=False, emoji=False, highlight=False)
        with Progress(*columns, console=talk, transient=True) as bar:
            task = bar.add_task(what, total=None)

            def tell(name: str, done: int, total: int) -> None:
                label = f"{what} {shortened(visible(os.path.basename(name)), 30)}"
                bar.update(task, completed=min(done, total) if total else done, total=total or None, description=label)

            yield tell
