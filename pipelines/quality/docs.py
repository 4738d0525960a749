"""Pages of the gates' results: Great Expectations' Data Docs, one per table.

The library's pages load styles, scripts and a picture from several hosts; these need no network. Pages of earlier runs
are removed with their index, because they may contain expired rows or names to be hidden.
"""

from __future__ import annotations

import html
import os
import re
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any

from pipelines.errors import CannotWrite
from pipelines.quality.gate import Validation

_SCRIPT = re.compile(r"<script\b.*?</script>", re.DOTALL | re.IGNORECASE)
_FETCHED = re.compile(r"<(?:link|img|iframe)\b[^>]*>|<a\b[^>]*\bhref=\"https?:[^>]*>", re.IGNORECASE)
_HEAD_END = "</head>"
_NAME = re.compile(r"(?:silver|gold)-[a-z_]+\.html")
_MADE_BY = '<meta name="generator" content="groupscope">'
_STYLE = """<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem; color-scheme: light dark; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; }
td, th { border: 1px solid #8886; padding: .25rem .6rem; text-align: left; vertical-align: top; overflow-wrap: anywhere; }
.modal, .navbar, nav, button, .cooltip .top { display: none; }
</style>"""
_PAGE_MARKS = (_MADE_BY.encode(), _STYLE.encode())
"""Marks of our pages; pages of older versions contain only the second."""


def write_docs(folder: Path, seen: Sequence[Validation]) -> None:
    """Write the pages of tables with rows.

    Each page is replaced as a whole, then the index; unlisted pages are removed last. Raises CannotWrite.
    """
    checked = [validation for validation in seen if validation.result is not None]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for validation in checked:
            _write(folder / _name(validation), _page(validation))
        _write(folder / "index.html", _index(checked))
        _remove_others(folder, set(map(_name, checked)))
    except OSError as error:
        raise CannotWrite(f"{folder}: the pages of the quality gates can't be written: {error.strerror or error}") from error


def _name(validation: Validation) -> str:
    return f"{validation.gate}-{validation.table}.html"


def _remove_others(folder: Path, named: Collection[str]) -> None:
    """Remove pages of earlier runs.

    Files with such a name and other content stay.
    """
    for path in folder.iterdir():
        other = _NAME.fullmatch(path.name) and path.name not in named and path.is_file() and not path.is_symlink()
        if other and any(mark in path.read_bytes() for mark in _PAGE_MARKS):
            path.unlink(missing_ok=True)


def _write(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def _page(validation: Validation) -> str:
    from great_expectations.render.renderer.page_renderer import ValidationResultsPageRenderer
    from great_expectations.render.view.view import DefaultJinjaPageView

    view: Any = DefaultJinjaPageView()
    text: str = view.render(ValidationResultsPageRenderer(run_info_at_end=True).render(validation.result))
    text = _FETCHED.sub("", _SCRIPT.sub("", text))
    for column, rule in validation.rules.items():
        text = text.replace(column, html.escape(rule))
    return text.replace(_HEAD_END, _MADE_BY + _STYLE + _HEAD_END, 1)


def _index(seen: Sequence[Validation]) -> str:
    rows = []
    for validation in seen:
        failed = [answer.expectation_config.meta["name"] for answer in validation.result.results if not answer.success]
        verdict = html.escape("; ".join(failed)) if failed else "all met"
        link = f'<a href="{html.escape(_name(validation))}">{html.escape(validation.table)}</a>'
        rows.append(
            f"<tr><td>{html.escape(validation.gate)}</td><td>{link}</td><td>{len(validation.result.results)}</td><td>{verdict}</td></tr>"
        )
    head = "<tr><th>gate</th><th>table</th><th>expectations</th><th>not met</th></tr>"
    return (
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>Quality of the tables</title>{_MADE_BY}{_STYLE}</head>'
        f"<body><h1>Quality of the tables</h1><table>{head}{''.join(rows)}</table></body></html>\n"
    )
