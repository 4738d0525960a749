"""Handle failed runs: close the entry and translate disk errors."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.errors import CannotWrite, JobError
from pipelines.exit_codes import INTERRUPTED, OUR_BUG
from pipelines.jobs.registry.entries import FAILED, RunEntry
from pipelines.warehouse.opening.damage import damage_behind

if TYPE_CHECKING:
    from parsers.redaction.pseudonyms import Redaction
    from pipelines.jobs.registry.runs import Runs

ERROR_MAX = 4000
"""Maximum number of characters of an error in an entry."""

_DISK = {
    "No space left on device": "no space left",
    "Disk quota exceeded": "its quota is exceeded",
    "File too large": "a file has reached the limit of its size (ulimit -f)",
    "Read-only file system": "it is read-only",
    "Permission denied": "permission denied",
}
"""The system's message for a failed write -> our message."""

_log = logging.getLogger(__name__)


@contextmanager
def closed_on_error(
    register: Runs,
    entry: RunEntry,
    place: str,
    shown: Callable[[BaseException], str] = str,
    counts: Mapping[str, int] | None = None,
    timings: Mapping[str, float] | None = None,
) -> Iterator[None]:
    """Close the entry of a failed run and translate errors of the disk.

    The entry gets what `shown` makes of the error. The run's error takes precedence over an error from closing the
    entry, because the next run detects an open entry by itself.
    """
    try:
        yield
    except BaseException as error:
        failure = _named(error, place)
        code = getattr(failure, "exit_code", INTERRUPTED if isinstance(error, KeyboardInterrupt) else OUR_BUG)
        try:
            register.finish(entry, FAILED, code, counts=counts, timings=timings, error=shown(failure)[:ERROR_MAX])
        except Exception as trouble:
            _log.error("the entry of run %s could not be closed: %s", entry.run_id, shown(trouble))
        if failure is error:
            raise
        raise failure from error


@contextmanager
def disk_named(place: str) -> Iterator[None]:
    """Translate errors of the disk before there is an entry to close."""
    try:
        yield
    except BaseException as error:  # panics in Rust are not subclasses of Exception
        failure = _named(error, place)
        if failure is error:
            raise
        raise failure from error


def shown(error: BaseException, redaction: Redaction | None) -> str:
    """Message of an error for storing, redacted if necessary."""
    return str(error) if redaction is None else redaction.text(str(error), {}, strict=True)


def _named(error: BaseException, place: str) -> BaseException:
    """Translate errors about the disk or damaged files, including wrapped ones."""
    disk_problem = None if isinstance(error, JobError) else next((named for words, named in _DISK.items() if words in str(error)), None)
    if disk_problem is None:
        return damage_behind(error, place) or error
    return CannotWrite(f"{place}, or the folder of Spark's temporary files, can't be written: {disk_problem}; mend that and run again")
