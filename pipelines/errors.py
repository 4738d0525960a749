"""Errors that a user can fix.

Each has an exit code, and says in one line what is wrong and what to do.
"""

from __future__ import annotations


class JobError(Exception):
    """Base class of errors in jobs."""

    exit_code = 70


class UsageError(JobError):
    """An invalid option."""

    exit_code = 2


class NeedsRebuild(UsageError):
    """The tables were made with another catalogue, other models or other options."""


class NothingReadable(JobError):
    """No readable input."""

    exit_code = 3


class GateFailed(JobError):
    """A quality gate stopped the run."""

    exit_code = 5


class TableMismatch(JobError):
    """A table in the warehouse has columns of another version."""

    exit_code = 5


class WarehouseBusy(JobError):
    """Another run holds the warehouse."""

    exit_code = 6


class ConcurrentWrite(WarehouseBusy):
    """Another writer changed rows during a run.

    The run is not published; it may start again.
    """


class CannotWrite(JobError):
    """A failed write of an output."""

    exit_code = 74


class DamagedWarehouse(JobError):
    """A missing or broken file of a table."""

    exit_code = 74
