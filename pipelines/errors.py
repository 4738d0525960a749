"""Errors that a user can fix.

Each has an exit code, and says in one line what is wrong and what to do.
"""

from __future__ import annotations

from pipelines import exit_codes as codes


class JobError(Exception):
    """Base class of errors in jobs."""

    exit_code = codes.OUR_BUG


class UsageError(JobError):
    """An invalid option."""

    exit_code = codes.USAGE


class NeedsRebuild(UsageError):
    """The tables were made with another catalogue, other models or other options."""


class NothingReadable(JobError):
    """No readable input."""

    exit_code = codes.NOTHING_READABLE


class GateFailed(JobError):
    """A quality gate stopped the run."""

    exit_code = codes.QUALITY_GATE_FAILED


class TableMismatch(JobError):
    """A table in the warehouse has columns of another version."""

    exit_code = codes.QUALITY_GATE_FAILED


class WarehouseBusy(JobError):
    """Another run holds the warehouse."""

    exit_code = codes.WAREHOUSE_BUSY


class ConcurrentWrite(WarehouseBusy):
    """Another writer changed rows during a run.

    The run is not published; it may start again.
    """


class CannotWrite(JobError):
    """A failed write of an output."""

    exit_code = codes.CANNOT_WRITE


class DamagedWarehouse(JobError):
    """A missing or broken file of a table."""

    exit_code = codes.CANNOT_WRITE
