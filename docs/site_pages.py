"""Site pages kept elsewhere or generated: README, changelog, JSON Schemas.

MkDocs calls the functions below.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parent.parent
KEPT_AT_THE_TOP = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
}
_LINK = re.compile(r'(\]\(|src="|srcset=")(?!https?:|mailto:|#)([^)#"\s]*)')
_PICTURE = re.compile(r"<picture>.*?(<img[^>]*>).*?</picture>", re.DOTALL)


def on_files(files: Files, config: Any) -> Files:
    """Add the pages at the top of the repository and the schemas."""
    for source, target in KEPT_AT_THE_TOP.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, target, content=_LINK.sub(_led, _PICTURE.sub(r"\1", text))))
    for path, content in schemas().items():
        files.append(File.generated(config, path, content=content))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Put an empty line before each list outside of code.

    Python's Markdown wants it.
    """
    parts = markdown.split("```")
    return "```".join(_spaced(part) if at % 2 == 0 else part for at, part in enumerate(parts))


def _spaced(text: str) -> str:
    lines: list[str] = []
    for line in text.split("\n"):
        if line.startswith("- ") and lines and lines[-1] and not lines[-1].startswith(("- ", "  ")):
            lines.append("")
        lines.append(line)
    return "\n".join(lines)


def _led(found: re.Match[str]) -> str:
    """Point a link of a top page to its place on the site."""
    target = found[2]
    return found[1] + KEPT_AT_THE_TOP.get(target, target.removeprefix("docs/"))


def schemas() -> dict[str, str]:
    """The JSON Schema of each command by path, and the page that lists them."""
    from pipelines.cli.json_schema.schema import DOCUMENTED_COMMANDS, command_schema

    made = {f"schemas/{command.replace('/', '-')}.json": command_schema(command) for command in DOCUMENTED_COMMANDS}
    rows = [
        f"| `groupscope schema {command}` | [{made[path]['$id']}]({path}) |"
        for command, path in zip(DOCUMENTED_COMMANDS, made, strict=True)
    ]
    about = "Each command with `--json` or `--jsonl` has a schema (draft 2020-12). What breaks a reader gets another `$id`."
    page = "\n".join(["# JSON Schemas", "", about, "", "| command | `$id` |", "| --- | --- |", *rows, ""])
    return {"schemas.md": page, **{path: json.dumps(schema, indent=2) for path, schema in made.items()}}
