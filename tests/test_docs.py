"""What the pages say is true."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pipelines.cli.json_schema.schema import DOCUMENTED_COMMANDS, command_schema
from pipelines.schema.tables import TABLES

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md"), ROOT / "data_samples" / "README.md"])
LOADED = re.compile(r"""(?:\bsrc=|<link[^>]*\bhref=|url\()["']?https?:""")
"""What a browser would fetch from elsewhere."""
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


@pytest.mark.parametrize(("name", "made"), [("commands.md", "page"), ("groupscope.1", "manual")])
def test_the_reference_is_in_step_with_the_help_of_the_commands(name: str, made: str) -> None:
    text = runpy.run_path(str(ROOT / "docs" / "write_commands.py"))[made]()

    assert (ROOT / "docs" / name).read_text(encoding="utf-8") == text, "make docs writes it again"


@pytest.mark.skipif(shutil.which("groff") is None, reason="groff is not installed")
def test_the_manual_page_is_sound() -> None:
    done = subprocess.run(["groff", "-man", "-Tascii", "-ww", "docs/groupscope.1"], cwd=ROOT, capture_output=True, text=True, check=False)

    assert (done.returncode, done.stderr) == (0, "")
    assert "--fail-on" in re.sub(".\b", "", done.stdout)


def test_each_schema_has_a_name_of_its_own() -> None:
    schemas = [command_schema(command) for command in DOCUMENTED_COMMANDS]

    assert len({schema["$id"] for schema in schemas}) == len(schemas)
    assert all(schema["$id"].startswith("urn:groupscope:schema:") for schema in schemas)


@pytest.mark.skipif(importlib.util.find_spec("mkdocs") is None, reason="MkDocs is not installed")
def test_the_site_is_built_and_asks_nobody_for_anything(tmp_path: Path) -> None:
    """Warnings, such as links that lead nowhere, end the build."""
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT), "https_proxy": "http://127.0.0.1:9"}
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(tmp_path / "site")]
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    pages = {page.name: page.read_text(encoding="utf-8") for page in (tmp_path / "site").glob("*.html")}

    assert (done.returncode, done.stdout + done.stderr) == (0, "")
    assert {"index.html", "commands.html", "tables.html", "schemas.html", "changelog.html"} <= pages.keys()
    assert json.loads((tmp_path / "site" / "schemas" / "gate.json").read_text(encoding="utf-8"))["$id"] == "urn:groupscope:schema:gate:1"
    assert [name for name, text in pages.items() if LOADED.search(text)] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    targets = [match[1] for match in LINK.finditer(page.read_text(encoding="utf-8")) if match[1]]

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_files_that_answer_a_question_exist() -> None:
    """Each row of the index in CONTRIBUTING.md begins with a path; further names are inside its folder."""
    index = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("## Where to look")[2].partition("\n## ")[0]
    rows = [line.split("|")[2] for line in index.splitlines() if line.startswith("| ") and "`" in line]
    assert rows
    for row in rows:
        folder = ROOT
        for name in re.findall(r"`([a-z][\w./]+)`", row):
            whole = ROOT / name
            assert any(place.exists() for place in (whole, folder / name)), f"{name} in: {row}"
            if whole.exists():
                folder = whole if whole.is_dir() else whole.parent
