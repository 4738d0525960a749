"""`groupscope`: one command, and what becomes of its errors.

Packages of ours that `pipelines.import_guard` has yet to look at are imported inside functions.
"""

from __future__ import annotations

import errno
import sys
from collections.abc import Sequence
from typing import Any

import typer

from pipelines.cli import exit_codes as codes
from pipelines.cli.output.console import Output, ReaderGone, Talk, output_error, say
from pipelines.cli.output.json_log import LogEvents, traced, write
from pipelines.errors import UsageError
from pipelines.gc_tuning import rarely_collected
from pipelines.import_guard import check_packages

_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = sys.argv[1:] if arguments is None else list(arguments)
    with rarely_collected():
        if "--log-json" not in given:
            return _command(given)
        from pipelines.cli.output.json_log import json_lines

        with json_lines():
            return _command(given)


def _command(arguments: Sequence[str]) -> int:
    try:
        check_packages()
    except UsageError as error:
        say(f"error: {error}")  # what `_say` needs may be the intruder's
        return codes.USAGE
    from pipelines.cli.registry import Broken, app

    Talk.verbose, LogEvents.redaction = False, None
    try:
        result = app(args=arguments, prog_name="groupscope", standalone_mode=False)
        Output().flush()
    except ReaderGone:
        return codes.GOOD
    except KeyboardInterrupt:
        return _say("interrupted", codes.INTERRUPTED)
    except typer.Abort:
        return _say("interrupted", codes.INTERRUPTED)
    except typer.TyperException as error:
        return _say(_told(error), error.exit_code or codes.USAGE)
    except Broken as broken:
        return _failed(broken.error)
    except SystemExit:
        # How Typer ends where nobody reads its help.
        return codes.GOOD
    except OSError as error:
        # Help is written without `Output`.
        return _failed(output_error(error) if error.filename is None and error.errno in _OF_OUTPUT else error)
    except Exception as error:
        return _failed(error)
    if result == codes.INTERRUPTED:
        return _say("interrupted", codes.INTERRUPTED)
    return result if isinstance(result, int) else codes.GOOD


def _told(error: Any) -> str:
    """A usage error in one sentence, and where the right usage is written."""
    text = error.format_message().replace("Value error, ", "").rstrip(".")
    context = getattr(error, "ctx", None)
    return f"{text}; see {context.command_path} --help" if context is not None else text


def _failed(error: BaseException) -> int:
    """An error that knows its exit code is one the user can mend; any other is ours."""
    if isinstance(error, ReaderGone):
        return codes.GOOD
    code = getattr(error, "exit_code", None)
    if isinstance(code, int) and code != codes.OUR_BUG:
        return _say(str(error), code)
    told = " ".join(str(error).split())
    hint = (
        "this is a bug of groupscope"
        + ("" if Talk.verbose else "; run again with -v for the traceback")
        + ", and report it with that and the version"
    )
    return _say(f"{type(error).__name__}: {told}\n{hint}", codes.OUR_BUG, error if Talk.verbose else None)


def _say(text: str, code: int, error: BaseException | None = None) -> int:
    """One line to standard error, with nothing in it that a terminal would obey; where an error is given, its traceback, too."""
    trace = "" if error is None else "".join(traced(error))
    if LogEvents.active:
        told = {"traceback": trace} if trace else {}
        write("interrupted" if code == codes.INTERRUPTED else "error", exit_code=code, error=LogEvents.shown(text), **told)
        return code
    from dashboards.wording.escaping import visible

    lines = [visible(line) for line in text.strip().splitlines()] or ["failed"]
    prefix = "" if code == codes.INTERRUPTED else "error: "
    say(trace + "\n".join([f"{prefix}{lines[0]}", *lines[1:]]))
    return code


def run() -> None:
    """The console script."""
    Talk.alone = True
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown as an escape instead of ending the program.
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    sys.exit(main())
