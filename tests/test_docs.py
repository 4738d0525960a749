"""What the pages say is true."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "data_samples" / "README.md"])
LINK = re.compile(r"\]\((?!https?://|mailto:)([^)#\s]*)(#[^)\s]*)?\)")


def test_the_page_of_tables_is_in_step_with_their_declarations() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "write_tables.py"))["page"]

    assert (ROOT / "docs" / "tables.md").read_text(encoding="utf-8") == page(), "make docs writes it again"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = [match[1] for match in LINK.finditer(page.read_text(encoding="utf-8")) if match[1]]

    assert [target for target in targets if not (page.parent / target).exists()] == []
