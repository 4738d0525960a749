"""Rows of `log_files` have a type, which must follow the table."""

from __future__ import annotations

from parsers.sources.files import SkippedFile
from pipelines.analysis.log_file_rows import LogFileRow, refused_row
from pipelines.schema.tables import without_run


def test_the_type_of_rows_has_the_tables_columns() -> None:
    assert list(LogFileRow.__annotations__) == without_run("log_files").names


def test_a_row_has_all_columns_of_its_type() -> None:
    assert refused_row(SkippedFile("notes.txt", 3, "no log")).keys() == LogFileRow.__annotations__.keys()
