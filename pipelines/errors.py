"""Errors that a user can mend. Each knows its exit code and says in one line what is wrong and what to do."""

from __future__ import annotations


class JobError(Exception):
    """Base of the errors of jobs."""

    exit_code = 70


class UsageError(JobError):
    """An option that can't be used."""

    exit_code = 2


class NeedsRebuild(UsageError):
    """The tables were made with another catalogue, other models or other options than this run has."""


class NothingReadable(JobError):
    """No input could be read."""

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


class Overtaken(WarehouseBusy):
    """Somebody else has changed rows while a run was at work. What it has done is not published; it may begin anew."""


class CannotWrite(JobError):
    """An output can't be written."""

    exit_code = 74


class DamagedWarehouse(JobError):
    """A file of a table is missing or broken."""

    exit_code = 74
