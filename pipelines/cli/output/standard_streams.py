"""Output streams: answers to standard output, messages to standard error.

Rich is used for colour, width and wrapping only: markup, emoji and highlighting are off, and all text from logs is
passed through `visible` first.
"""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import IO, TYPE_CHECKING, Any

from pipelines.cli.output import json_log
from pipelines.cli.output.json_log import LogEvents
from pipelines.errors import CannotWrite

if TYPE_CHECKING:
    from rich.console import Console

REFRESH_SECONDS = 0.1
"""Least time between two pictures of a progress bar."""
PIPE_WIDTH = 120
"""Width if standard output is no terminal and COLUMNS is unset."""


class ReaderGone(Exception):
    """The other end of standard output was closed."""


class Output:
    """Standard output with typed errors."""

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
    """Typed error of standard output, which discards all further output."""
    _drop(sys.stdout)
    if isinstance(error, BrokenPipeError):
        return ReaderGone()
    return CannotWrite(f"standard output can't be written: {error.strerror or error}")


def say(text: str) -> None:
    """Write lines to standard error; write errors are ignored."""
    try:
        print(text, file=sys.stderr, flush=True)
    except OSError:
        _drop(sys.stderr)


def _drop(stream: IO[str]) -> None:
    """Redirect a broken stream to the null device.

    Python flushes it once more at exit and would report an error.
    """
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def screen() -> Console:
    """Console for answers to people."""
    out: Any = Output()
    return _console(out)


def _console(file: IO[str]) -> Console:
    from rich.console import Console

    width = None
    if not file.isatty() and not os.environ.get("COLUMNS", "").isdigit():
        width = PIPE_WIDTH
    return Console(file=file, width=width, markup=False, emoji=False, highlight=False, soft_wrap=False)


class Messenger:
    """Messages beside the answer: warnings and progress.

    `verbose` is read where an error is shown.
    """

    verbose = False
    alone = False
    """True if the process runs only this command."""

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
        """Report an error, even with --quiet.

        Text of several lines is shown on several lines.
        """
        from dashboards.wording.escaping import visible

        say("error: " + "\n".join(map(visible, text.splitlines())))

    @contextlib.contextmanager
    def stages(self, words: Mapping[str, str]) -> Iterator[Callable[[str], None]]:
        """Show the current stage; yields the function that names it."""
        if self._is_silent():
            yield lambda _: None
            return
        from rich.console import Console

        began = time.monotonic()
        with Console(stderr=True, markup=False, emoji=False, highlight=False).status("") as line:

            def tell(stage: str) -> None:
                line.update(f"{words.get(stage, stage)} ({time.monotonic() - began:.0f} s)")

            yield tell

    def _is_silent(self) -> bool:
        return self.quiet or LogEvents.active or not sys.stderr.isatty() or os.environ.get("TERM") == "dumb"

    @contextlib.contextmanager
    def progress(self, activity: str) -> Iterator[Callable[[str, int, int], None] | None]:
        """Show a progress bar; yields its update function, None without a bar.

        Arguments of the function: name, bytes done, bytes in all.
        """
        if self._is_silent():
            yield None
            return
        from rich.console import Console
        from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeRemainingColumn

        from dashboards.wording.escaping import shortened, visible

        columns = (TextColumn("{task.description}", markup=False), BarColumn(), DownloadColumn(binary_units=True), TimeRemainingColumn())
        talk = Console(stderr=True, markup=False, emoji=False, highlight=False)
        # Without a thread of its own, beside which this process could not be forked (`parallel.processes`).
        with Progress(*columns, console=talk, transient=True, auto_refresh=False) as bar:
            task = bar.add_task(activity, total=None)
            shown_at = 0.0

            def tell(name: str, done: int, total: int) -> None:
                nonlocal shown_at
                label = f"{activity} {shortened(visible(os.path.basename(name)), 30)}"
                bar.update(task, completed=min(done, total) if total else done, total=total or None, description=label)
                if (now := time.monotonic()) - shown_at >= REFRESH_SECONDS:
                    shown_at = now
                    bar.refresh()

            yield tell
