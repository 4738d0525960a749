"""The cells of each notebook run in order, and show something."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))


def run_cells(path: Path) -> list[Any]:
    """Run the cells in one namespace; return the values of their last expressions."""
    names: dict[str, Any] = {}
    shown = []
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
        exec(compile(tree, path.name, "exec"), names)  # noqa: S102 - our own notebook
        shown.append(None if last is None else eval(compile(ast.Expression(last.value), path.name, "eval"), names))  # type: ignore[attr-defined]  # noqa: S307
    return shown


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    analysis, _, incidents, by_cause, counted, whole = run_cells(path)

    assert "shipping-e" in analysis._repr_html_()
    assert "poll_timeout" in capsys.readouterr().out
    assert incidents[0][0] == "warning"
    assert list(by_cause["count"]) == [times for _, times in counted]
    assert whole


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_holds_no_results(path: Path) -> None:
    """They would go stale, and hold paths and names of whoever ran it."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]

    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
