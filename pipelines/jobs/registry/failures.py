"""What becomes of a run that fails: its entry is closed, and the disk's errors have a name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pipelines.errors import CannotWrite, JobError
from pipelines.jobs.registry.entries import FAILED, Run
from pipelines.warehouse.damage import damage_behind

if TYPE_CHECKING:
    from parsers.redaction.pseudonyms import Redaction
    from pipelines.jobs.registry.runs import Runs

OUR_BUG, INTERRUPTED = 70, 130
ERROR_MAX = 4000
"""Characters of an error that an entry keeps."""

_DISK = {
    "No space left on device": "no space left",
    "Disk quota exceeded": "its quota is exceeded",
    "File too large": "a file has reached the limit of its size (ulimit -f)",
    "Read-only file system": "it is read-only",
    "Permission denied": "permission denied",
}
"""What the system says when it can't write -> what we say."""

_log = logging.getLogger(__name__)


@contextmanager
def closed_on_error(
    register: Runs,
    entry: Run,
    place: str,
    shown: Callable[[BaseException], str] = str,
    counts: Mapping[str, int] | None = None,
    timings: Mapping[str, float] | None = None,
) -> Iterator[None]:
    """Close the entry of a run that fails, with what is `shown` of its error, and give the disk's errors their name.

    The error of the run goes before that of an entry that can't be closed: the next run finds out by itself that nobody works on it.
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
    """Give the disk's errors their name before there is an entry to close."""
    try:
        yield
    except BaseException as error:  # what panics in Rust is no Exception
        failure = _named(error, place)
        if failure is error:
            raise
        raise failure from error


def shown(error: BaseException, redaction: Redaction | None) -> str:
    """What an error says, to be written down."""
    return str(error) if redaction is None else redaction.text(str(error), {}, strict=True)


def _named(error: BaseException, place: str) -> BaseException:
    """Errors of the disk, and of what is broken on it, by their name, whatever they come wrapped in."""
    said = None if isinstance(error, JobError) else next((named for words, named in _DISK.items() if words in str(error)), None)
    if said is None:
        return damage_behind(error, place) or error
    return CannotWrite(f"{place}, or the folder of Spark's temporary files, can't be written: {said}; mend that and run again")
