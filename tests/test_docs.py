"""What the pages say is true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest
import yaml

from pipelines.schema.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "data_samples" / "README.md"])
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


def test_the_page_of_tables_is_in_step_with_their_declarations() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "write_tables.py"))["page"]

    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == page(), "make docs writes it again"


def test_sources_for_dbt_are_in_step_with_the_tables() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "write_dbt.py"))["page"]
    kept = (ROOT / "docs" / "examples" / "dbt_sources.yml").read_text(encoding="utf-8")
    [source] = yaml.safe_load(kept)["sources"]

    assert kept == page(), "make docs writes it again"
    assert {table["name"]: [column["name"] for column in table["columns"]] for table in source["tables"]} == {
        name: table.column_names for name, table in TABLES.items()
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = [match[1] for match in LINK.finditer(page.read_text(encoding="utf-8")) if match[1]]

    assert [target for target in targets if not (page.parent / target).exists()] == []
