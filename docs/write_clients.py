"""Writes the list of understood clients in README.md from the catalogue: `make docs`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from parsers.catalogue.loading import read_yaml
from parsers.catalogue.wordings import version_key

README = Path(__file__).resolve().parent.parent / "README.md"
BEGIN, END = "<!-- Written by docs/write_clients.py from the catalogue. -->", "<!-- End of the list. -->"
_LIST = re.compile(f"{re.escape(BEGIN)}.*?{re.escape(END)}", re.DOTALL)


def page(text: str) -> str:
    """README with its list as the catalogue has it now."""
    return _LIST.sub(lambda _: "\n".join([BEGIN, "", *rows(), "", END]), text)


def rows() -> Iterator[str]:
    """Rows of libraries: versions, known wordings, programs that contain them."""
    yield "| library | versions seen | wordings | also in; what its logs lack |"
    yield "| --- | --- | --- | --- |"
    named = [area for area in read_yaml()["areas"] if "library" in area]
    for area in sorted(named, key=lambda area: area["library"]["name"].lower()):
        patterns = [pattern for entry in area["messages"] for pattern in entry.get("patterns", ())]
        library = area["library"]
        versions = library.get("versions") or _versions(patterns)
        yield f"| {library['name']} | {versions} | {len(patterns)} | {library['inside']} |"


def _versions(patterns: list[dict[str, Any]]) -> str:
    seen = sorted({version for pattern in patterns for version in pattern["seen_in"]}, key=version_key)
    return seen[0] if len(seen) == 1 else f"{seen[0]} to {seen[-1]}"


def main() -> None:
    """Write README.md."""
    README.write_text(page(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
