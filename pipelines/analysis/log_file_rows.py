"""Rows of `log_files`: results of reading each file, and the options used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypedDict, cast

from parsers.reading.file_reports import report_row, skipped_report
from parsers.reading.reader import FileOptions
from parsers.sources.files import SkippedFile
from pipelines.schema.tables import TABLES
from pipelines.versions import catalogue_version, fingerprint_of


class LogFileRow(TypedDict):
    """A row of `log_files`, with times in microseconds."""

    cluster: str
    """Empty until all files are known, from which it may follow."""
    system: str | None
    path: str
    file_id: str | None
    size_bytes: int | None
    bytes_read: int
    bytes_parsed: int
    bytes_ignored: int
    bytes_rejected: int
    kind: str | None
    layout: str | None
    encoding: str | None
    node: str | None
    version: str | None
    version_range: str | None
    time_zone: str | None
    skew_seconds: float | None
    skew_uncertainty_seconds: float | None
    first_at: int | None
    last_at: int | None
    lines: int
    records: int
    recognised: int
    unknown: int
    rejected: int
    status: str
    reason: str | None
    cluster_option: str | None
    cluster_ids: list[str] | None
    options_id: str | None


def options_id(options: FileOptions) -> str:
    """Fingerprint of what determines a file's records."""
    return fingerprint_of([catalogue_version(), *options.reading])


def log_file_row(report: Mapping[str, Any], options: FileOptions) -> LogFileRow:
    """Convert a report on a file (`merge_reports`) to a row of `log_files`.

    The cluster is missing, because it may follow from neighbouring files.
    """
    return _row_of(report) | {"cluster_option": options.cluster, "options_id": options_id(options)}


def refused_row(skipped: SkippedFile) -> LogFileRow:
    """A row of `log_files` for a file that could not be read."""
    return _row_of(report_row(skipped_report(skipped)))


def _row_of(report: Mapping[str, Any]) -> LogFileRow:
    row = cast(LogFileRow, {name: report.get(name) for name in TABLES["log_files"].column_names if name != "run_id"})
    row["cluster"] = ""
    return row
