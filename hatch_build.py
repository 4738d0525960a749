"""Build the wheel with the five packages below `groupscope`.

In the repository `parsers`, `models`, `pipelines`, `dashboards` and `conf` lie at the top. In site-packages these names
would take the place of a project's own. So a wheel holds `groupscope/_packages/parsers` and so on, and each import and
each dotted name of a module in a string is rewritten; nothing else of the source changes. Tests build such a wheel and
compare its answers with those of the checkout.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

PUBLIC = "groupscope"
PACKAGES = ("parsers", "models", "pipelines", "dashboards", "conf")
BELOW = "groupscope._packages."
AS_IN_CHECKOUT = ("pipelines/versions.py",)
"""Files whose strings name modules of the checkout, also in a wheel: fingerprints are the same in both."""
DEFLATED_PLOTLY = "plotly.min.js.zlib"
KEPT_PLOTLY = f"build/{DEFLATED_PLOTLY}"
NAMED_HOME = "PROJECT_URL"
"""Variable that names the project's address where no clone does."""
_HOME = re.compile(r"(?:https://(?:[^@/]*@)?|git@)(?P<host>[\w.-]+\.\w+)[/:](?P<path>[\w./-]+?)(?:\.git)?/?")
_PLACES = {
    "Homepage": "",
    "Documentation": "/tree/main/docs",
    "Changelog": "/blob/main/CHANGELOG.md",
    "Issues": "/issues",
    "Source": "",
}
_NAMED = re.compile(r"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+(?::[\w.]+)?")
_LEFT_OUT = ("__pycache__", ".pyc", ".forms.json")

Edit = tuple[int, int, str]
"""Line (from 1), column in bytes, text to insert there."""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds all packages to a wheel; an editable install uses the checkout."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if self.target_name != "wheel":
            return
        if version == "editable":
            keep_plotly(Path(self.root))
            return
        self._folder = tempfile.TemporaryDirectory()
        for source, target in written(Path(self.root), Path(self._folder.name)):
            build_data["force_include"][str(source)] = target


class CustomMetadataHook(MetadataHookInterface):
    """Adds the project's addresses."""

    def update(self, metadata: dict[str, Any]) -> None:
        metadata["urls"] = project_urls(os.environ.get(NAMED_HOME) or origin(Path(self.root)))


def project_urls(home: str) -> dict[str, str]:
    """Addresses by their well-known labels.

    None if the home is no address that anybody can open. Credentials in it are left out.
    """
    found = _HOME.fullmatch(home.strip())
    if found is None:
        return {}
    home = f"https://{found['host']}/{found['path']}"
    return {label: home + place for label, place in _PLACES.items()}


def origin(root: Path) -> str:
    """The repository that the sources were cloned from, if any."""
    command = ["git", "-C", str(root), "config", "--get", "remote.origin.url"]
    try:
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout  # noqa: S603 - constant words
    except OSError:
        return ""


def written(root: Path, folder: Path) -> Iterator[tuple[Path, str]]:
    """Files of the wheel with their places; rewritten ones are in `folder`."""
    modules = set(module_names(root))
    for package in (PUBLIC, *PACKAGES):
        for file in sorted((root / package).rglob("*")):
            inside = file.relative_to(root).as_posix()
            if not file.is_file() or any(part in inside for part in _LEFT_OUT):
                continue
            target = inside if package == PUBLIC else f"{BELOW.replace('.', '/')}{inside}"
            if file.suffix == ".py":
                made = folder / inside
                made.parent.mkdir(parents=True, exist_ok=True)
                made.write_bytes(rewritten(file.read_bytes(), set() if inside in AS_IN_CHECKOUT else modules))
                file = made
            yield file, target
    script = folder / DEFLATED_PLOTLY
    script.write_bytes(plotly_js())
    yield script, f"{BELOW.replace('.', '/')}{DEFLATED_PLOTLY}"
    package_file = folder / "_packages.py"
    package_file.write_text('"""Packages of groupscope, which may change between releases."""\n', encoding="utf-8")
    yield package_file, f"{BELOW.replace('.', '/')}__init__.py"


def plotly_js() -> bytes:
    """Plotly's script, deflated as pages hold it.

    A wheel has it instead of the package around it, which is forty times as large.
    """
    import plotly

    return zlib.compress((Path(plotly.__file__).parent / "package_data" / "plotly.min.js").read_bytes(), 9)


def keep_plotly(root: Path) -> None:
    """Keep Plotly's script beside the checkout for an editable install.

    Plotly itself is installed for development only.
    """
    kept = root / KEPT_PLOTLY
    kept.parent.mkdir(exist_ok=True)
    kept.write_bytes(plotly_js())


def module_names(root: Path) -> Iterator[str]:
    """Dotted names of all modules and packages that move."""
    for package in PACKAGES:
        for file in (root / package).rglob("*.py"):
            parts = file.relative_to(root).with_suffix("").parts
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def rewritten(source: bytes, modules: set[str]) -> bytes:
    """The source with the new names of modules."""
    lines = source.splitlines(keepends=True)
    for line, column, text in sorted(set(_edits(ast.parse(source), lines, modules)), reverse=True):
        held = lines[line - 1]
        lines[line - 1] = held[:column] + text.encode() + held[column:]
    return b"".join(lines)


def _edits(tree: ast.AST, lines: list[bytes], modules: set[str]) -> Iterator[Edit]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and not node.level and _moves(node.module):
            yield node.lineno, lines[node.lineno - 1].index(b"from ", node.col_offset) + len("from "), BELOW
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if _moves(alias.name):
                    if alias.asname is None:
                        raise ValueError(f"line {node.lineno}: import {alias.name} needs a name of its own (as …)")
                    yield alias.lineno, alias.col_offset, BELOW
        elif isinstance(node, ast.Call) and modules and (name := _named_package(node)) is not None:
            yield name.lineno, name.col_offset + 1, BELOW
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and _names_module(node.value, modules):
            quote = lines[node.lineno - 1][node.col_offset : node.col_offset + 1]
            if quote not in (b'"', b"'"):
                raise ValueError(f"line {node.lineno}: {node.value!r} is part of a longer text and can't be rewritten")
            yield node.lineno, node.col_offset + 1, BELOW


def _moves(module: str | None) -> bool:
    return (module or "").split(".")[0] in PACKAGES


def _named_package(call: ast.Call) -> ast.Constant | None:
    """The package that `files("conf")` or `import_module("conf")` names; elsewhere its name is a mere word."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    first = call.args[0] if call.args and function in ("files", "import_module") else None
    return first if isinstance(first, ast.Constant) and first.value in PACKAGES else None


def _names_module(text: str, modules: set[str]) -> bool:
    return bool(_NAMED.fullmatch(text)) and text.partition(":")[0] in modules
