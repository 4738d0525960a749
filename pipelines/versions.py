"""What results depend on beside the input: the product's version, and fingerprints of catalogue, models and options.

Fingerprints are of the code and data themselves, so that nobody has to remember to raise a number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from importlib import metadata, resources
from importlib.resources.abc import Traversable

SCHEMA_VERSION = 1
"""Version of the tables and the JSON contract; stored with each table, raised when a column changes its meaning or goes away."""

_SUFFIXES = (".py", ".yaml", ".toml")
_SHOWN = (*_SUFFIXES, ".j2", ".css", ".js")
_DIGEST_BYTES = 10

# What turns events into rows beside the models themselves.
_STAGES = ("clusters.py", "rows.py", "stages.py", "declarations.py", "declarations_gold.py", "columns.py")


def product_version() -> str:
    """Version of the installed product."""
    try:
        return metadata.version("groupscope")
    except metadata.PackageNotFoundError:
        return "not installed"


@cache
def catalogue_version() -> str:
    """Fingerprint of all that turns bytes into events."""
    return _fingerprint(_files(resources.files("parsers")))


@cache
def model_version() -> str:
    """Fingerprint of all that turns events into rows."""
    stages = resources.files("pipelines")
    return _fingerprint([*_files(resources.files("models")), *((name, stages.joinpath(name)) for name in _STAGES)])


@cache
def pages_version() -> str:
    """Fingerprint of all that turns rows into pages."""
    folders = ("dashboards", "conf")
    return _fingerprint((f"{name}/{path}", file) for name in folders for path, file in _files(resources.files(name), suffixes=_SHOWN))


def fingerprint_of(value: object) -> str:
    """Fingerprint of options: equal where their JSON is."""
    return blake2b(json.dumps(value, sort_keys=True, default=str).encode(), digest_size=_DIGEST_BYTES).hexdigest()


def _files(folder: Traversable, prefix: str = "", suffixes: tuple[str, ...] = _SUFFIXES) -> Iterable[tuple[str, Traversable]]:
    for entry in sorted(folder.iterdir(), key=lambda each: each.name):
        name = f"{prefix}{entry.name}"
        if entry.is_dir():
            yield from _files(entry, f"{name}/", suffixes)
        elif entry.name.endswith(suffixes):
            yield name, entry


def _fingerprint(files: Iterable[tuple[str, Traversable]]) -> str:
    digest = blake2b(digest_size=_DIGEST_BYTES)
    for name, file in files:
        content = file.read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()
