"""Rows of `log_files`: results of reading each file, and the options used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsers.reading.file_reports import report_row, skipped_report
from parsers.reading.reader import FileOptions
from parsers.sources.files import SkippedFile
from pipelines.schema.tables import TABLES
from pipelines.versions import catalogue_version, fingerprint_of


def options_id(options: FileOptions) -> str:
    """Fingerprint of what determines a file's records."""
    return fingerprint_of([catalogue_version(), *options.reading])


def log_file_row(report: Mapping[str, Any], options: FileOptions) -> dict[str, Any]:
    """Convert a report on a file (`merge_reports`) to a row of `log_files`.

    The cluster is missing, because it may follow from neighbouring files.
    """
    return _row_of(report) | {"cluster_option": options.cluster, "options_id": options_id(options)}


def refused_row(skipped: SkippedFile) -> dict[str, Any]:
    """A row of `log_files` for a file that could not be read."""
    return _row_of(report_row(skipped_report(skipped)))


def _row_of(report: Mapping[str, Any]) -> dict[str, Any]:
    return {name: report.get(name) for name in TABLES["log_files"].column_names if name != "run_id"}
