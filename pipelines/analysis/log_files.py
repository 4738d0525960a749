"""Rows of `log_files`: what was read of each file, and what that depends on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parsers.reading.file_reports import report_row, skipped_report
from parsers.reading.reader import ReadOptions
from parsers.sources.files import Skipped, SourceFile
from pipelines.schema.tables import TABLES
from pipelines.versions import catalogue_version, fingerprint_of


def options_id(source: SourceFile, options: ReadOptions) -> str:
    """Fingerprint of all that the records of a file depend on beside its bytes."""
    zone = options.zone_of(source.relative)
    rests_on = [catalogue_version(), zone, options.version_of(source.relative), options.max_record_bytes]
    return fingerprint_of(rests_on if options.redaction is None else [*rests_on, options.redaction.facts])


def log_file_row(report: Mapping[str, Any], source: SourceFile, options: ReadOptions) -> dict[str, Any]:
    """A report on a file (`merge_reports`) as a row of `log_files`, but for its cluster, which its neighbours may tell."""
    return _row_of(report) | {"cluster_named": options.cluster_of(source.relative), "options_id": options_id(source, options)}


def refused_row(skipped: Skipped) -> dict[str, Any]:
    """A row of `log_files` for a file that is no log, or could not be opened."""
    return _row_of(report_row(skipped_report(skipped)))


def _row_of(report: Mapping[str, Any]) -> dict[str, Any]:
    return {name: report.get(name) for name in TABLES["log_files"].column_names if name != "run_id"}
