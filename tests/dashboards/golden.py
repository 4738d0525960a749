"""Texts compared with stored ones.

`--rewrite` stores the current output; review the difference then.
"""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parent.parent / "golden"


def check(name: str, text: str, *, rewrite: bool) -> None:
    path = FOLDER / name
    if rewrite:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    assert path.exists(), f"{path} is not written down yet; --rewrite does so"
    assert text == path.read_text(encoding="utf-8")
