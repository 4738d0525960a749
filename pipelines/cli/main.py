"""Entry point `groupscope`: runs one command and handles its errors.

Packages of this product that `pipelines.import_guard` has yet to check are imported inside functions.
"""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Sequence
from typing import Any

import typer

from pipelines import exit_codes as codes
from pipelines.cli.output.json_log import LogEvents, traced, write
from pipelines.cli.output.standard_streams import Messenger, Output, ReaderGone, output_error, say
from pipelines.errors import UsageError
from pipelines.gc_tuning import gc_throttled, spare_last_collections
from pipelines.import_guard import check_packages

_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    with gc_throttled():
        if "--log-json" not in given:
            return _command(given)
        from pipelines.cli.output.json_log import json_lines

        with json_lines():
            return _command(given)


def _command(arguments: Sequence[str]) -> int:
    try:
        check_packages()
    except UsageError as error:
        say(f"error: {error}")  # `_say` prints by packages that may be the intruder's, `say` by the standard library
        return codes.USAGE
    from pipelines.cli.registry import command_line

    Messenger.verbose, LogEvents.redaction = False, None
    try:
        result = command_line(next(iter(arguments), ""))(args=list(arguments), prog_name="groupscope", standalone_mode=False)
        with contextlib.suppress(ReaderGone):  # the verdict is known, whoever reads it
            Output().flush()
    except (KeyboardInterrupt, typer.Abort):
        result = codes.INTERRUPTED
    except (ReaderGone, SystemExit):
        # Typer exits if the reader of its help closes the pipe.
        result = codes.GOOD
    except typer.TyperException as error:
        return _say(_usage_text(error), error.exit_code or codes.USAGE)
    except Exception as error:
        return _failed(_cause_of(error))
    if result == codes.INTERRUPTED:
        return _say("interrupted", codes.INTERRUPTED)
    return result if isinstance(result, int) else codes.GOOD


def _cause_of(error: Exception) -> BaseException:
    """Unwrap an error, or name the output that it concerns."""
    from pipelines.cli.registry import CommandFailure
    from pipelines.extras import missing_package

    if isinstance(error, CommandFailure):
        return error.error
    if (missing := missing_package(error)) is not None:
        return missing
    # Help is written without `Output`.
    if isinstance(error, OSError) and error.filename is None and error.errno in _OF_OUTPUT:
        return output_error(error)
    return error


def _usage_text(error: Any) -> str:
    """Usage error in one sentence, with a reference to --help."""
    text = error.format_message().replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text}; see {context.command_path} --help" if context is not None else text


def _failed(error: BaseException) -> int:
    """Report an error.

    One with an exit code of its own can be fixed by the user; any other is a bug.
    """
    if isinstance(error, ReaderGone):
        return codes.GOOD
    code = getattr(error, "exit_code", None)
    if isinstance(code, int) and code != codes.OUR_BUG:
        return _say(str(error), code)
    message = " ".join(str(error).split())
    hint = (
        "this is a bug of groupscope"
        + ("" if Messenger.verbose else "; run again with -v for the traceback")
        + ", and report it with that and the version"
    )
    return _say(f"{type(error).__name__}: {message}\n{hint}", codes.OUR_BUG, error if Messenger.verbose else None)


def _say(text: str, code: int, error: BaseException | None = None) -> int:
    """Write an escaped message to standard error, with the traceback of `error`."""
    trace = "" if error is None else "".join(traced(error))
    if LogEvents.active:
        fields = {"traceback": trace} if trace else {}
        write("interrupted" if code == codes.INTERRUPTED else "error", exit_code=code, error=LogEvents.shown(text), **fields)
        return code
    from dashboards.wording.escaping import visible

    lines = [visible(line) for line in text.strip().splitlines()] or ["failed"]
    prefix = "" if code == codes.INTERRUPTED else "error: "
    say(trace + "\n".join([f"{prefix}{lines[0]}", *lines[1:]]))
    return code


def run() -> None:
    """Run as the console script."""
    Messenger.alone = True
    for stream in (sys.stdout, sys.stderr):
        # Characters that the terminal can't encode are shown as escapes instead of ending the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = main()
    spare_last_collections()
    sys.exit(code)
