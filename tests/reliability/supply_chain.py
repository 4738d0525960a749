"""The packages of the lock file: hashes, licences, and a bill of materials in CycloneDX's form."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import parse

from groupscope import __version__
from tests.conftest import ROOT

LOCK = ROOT / "requirements.lock"
JARS = ROOT / "docs" / "examples" / "jars.xml"
PAGE = ROOT / "docs" / "reliability.md"

ALLOWED = ("Apache", "MIT", "BSD", "ISC", "PSF", "MPL", "0BSD", "Zlib", "Unlicense", "CC0")
"""Licences that let us pass the packages on, by how their names begin; MPL-2.0 asks only for changes of its own files."""

UNSAID = {
    "axe-playwright-python": "MIT",
    "colorama": "BSD-3-Clause",
}
"""Licences of packages whose metadata name none, or that only other systems need, from their repositories."""

_PINNED = re.compile(r"^([A-Za-z0-9_.\-]+)(?:\[[^\]]*\])?==([^\s;\\]+)([^\n]*\n(?:    --hash=[^\n]+\n?)*)", re.MULTILINE)
_HASH = re.compile(r"--hash=sha256:([0-9a-f]{64})")
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9.\-]*")
_OF_EXPRESSIONS = frozenset({"AND", "OR", "WITH", "License", "Software", "clause", "Clause", "Version", "2.0", "3", "2", "LLVM-exception"})
_POM = "{http://maven.apache.org/POM/4.0.0}"


@dataclass(frozen=True, slots=True)
class Package:
    """A pinned package."""

    name: str
    version: str
    hashes: tuple[str, ...]

    @property
    def licence(self) -> str:
        """What its metadata name, else what its repository does; empty if nobody says."""
        return UNSAID.get(self.name) or _licence(self.name)


def packages() -> Iterator[Package]:
    """All packages of the lock file; a name may have a version for each Python."""
    for name, version, rest in _PINNED.findall(LOCK.read_text(encoding="utf-8")):
        yield Package(name, version, tuple(_HASH.findall(rest)))


def _licence(name: str) -> str:
    try:
        told = metadata.metadata(name)
    except metadata.PackageNotFoundError:
        return ""
    classified = [each.rpartition(" :: ")[2] for each in told.get_all("Classifier", []) if each.startswith("License ::")]
    stated = (told.get("License") or "").strip()
    return told.get("License-Expression") or " AND ".join(classified) or (stated if "\n" not in stated else "")


def is_allowed(licence: str) -> bool:
    """Return True if one choice of an expression holds licences of the list only."""
    choices = [choice.strip("() ") for choice in re.split(r"\bOR\b", licence)]
    return any(choice and all(_known(part) for part in re.split(r"\bAND\b", choice)) for choice in choices)


def _known(licence: str) -> bool:
    text = licence.strip("() ").removeprefix("The ").removeprefix("3-Clause ")
    return text.startswith((*ALLOWED, "Mozilla Public License", "CNRI", "LLVM"))


def direct() -> list[str]:
    """Packages that the project, its build and its extras name, without those for its development."""
    told = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    project = told["project"]
    extras = [each for extra, named in project["optional-dependencies"].items() if extra != "dev" for each in named]
    found = {str(_WORD.match(each)[0]) for each in [*project["dependencies"], *told["build-system"]["requires"], *extras]}  # type: ignore[index]
    return sorted(found - {project["name"]})


def reasons() -> dict[str, str]:
    """The reason for each dependency, from the table of the page on reliability."""
    text = PAGE.read_text(encoding="utf-8")
    return dict(re.findall(r"^\| `([a-z0-9_.\-]+)` \| ([^|]+) \|", text.partition("## Supply chain")[2], re.MULTILINE))


def jars() -> Iterator[tuple[str, str, str]]:
    """Group, name and version of each jar that Spark needs beside its own."""
    for each in parse(JARS).getroot().iter(f"{_POM}dependency"):  # noqa: S314 - our own file
        group, name, version = (str(each.findtext(f"{_POM}{part}")) for part in ("groupId", "artifactId", "version"))
        yield group, name, version


def bill() -> dict[str, Any]:
    """The bill of materials, CycloneDX 1.6."""
    components = [
        {
            "type": "library",
            "name": each.name,
            "version": each.version,
            "purl": f"pkg:pypi/{each.name}@{each.version}",
            "licenses": [{"license": {"name": each.licence}}] if each.licence else [],
            "properties": [{"name": "groupscope:sha256-of-a-file", "value": digest} for digest in each.hashes],
        }
        for each in packages()
    ]
    components += [
        {"type": "library", "group": group, "name": name, "version": version, "purl": f"pkg:maven/{group}/{name}@{version}"}
        for group, name, version in jars()
    ]
    product = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["name"]
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {"component": {"type": "application", "name": product, "version": __version__}},
        "components": sorted(components, key=lambda each: (each["purl"].partition("@")[0], each["version"])),
    }


def write(path: Path) -> None:
    """Write the bill of materials."""
    path.write_text(json.dumps(bill(), indent=1, sort_keys=True) + "\n", encoding="utf-8")
