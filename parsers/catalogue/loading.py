"""Read the catalogue's files.

YAML is for people and slow to read. `messages/compiled.json` holds what matching needs of it, with a
fingerprint of the YAML that it was made from; when they differ the YAML is read. `python -m
parsers.catalogue.loading` writes it anew, and a test holds it in step.
"""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any

import orjson

COMPILED = "compiled.json"
MESSAGES_FOLDER = resources.files("parsers.catalogue") / "messages"
_FOR_PEOPLE = frozenset({"samples", "summary", "source", "library"})
_LISTS = ("prefixes", "reasons", "bodies", "literals", "group_loggers", "group_words", "ignored")
_PARTS = frozenset({*_LISTS, "messages"})


def yaml_files() -> Iterator[Traversable]:
    """YAML files of the catalogue by name, folders last."""
    return _yaml_files(MESSAGES_FOLDER)


def _yaml_files(folder: Traversable) -> Iterator[Traversable]:
    entries = sorted(folder.iterdir(), key=lambda entry: entry.name)
    yield from (entry for entry in entries if entry.is_file() and entry.name.endswith(".yaml"))
    for inner in entries:
        if inner.is_dir():
            yield from _yaml_files(inner)


def fingerprint() -> str:
    """Hash of all YAML files: the catalogue's version."""
    digest = blake2b(digest_size=10)
    for path in yaml_files():
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def read_yaml() -> dict[str, Any]:
    """All files as one document, with samples."""
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    merged: dict[str, Any] = {"version": fingerprint(), "areas": [], **{name: [] for name in _LISTS}}
    for path in yaml_files():
        document = yaml.load(path.read_bytes(), Loader=loader)  # noqa: S506  (a safe loader, written in C where there is one)
        for name in _LISTS:
            merged[name].extend(document.get(name, ()))
        if "messages" in document:
            merged["areas"].append(document)
    return merged


def without_explanations(node: Any) -> Any:
    """Remove the keys that only people and tests read."""
    if isinstance(node, dict):
        return {name: without_explanations(value) for name, value in node.items() if name not in _FOR_PEOPLE}
    if isinstance(node, list):
        return [without_explanations(value) for value in node]
    return node


def deciding_parts(document: Any) -> Any:
    """The parts of a YAML document that affect results.

    Of the catalogue's own, what matching needs, with its keys in order.
    """
    if not isinstance(document, dict) or not document.keys() & _PARTS:
        return document
    return orjson.loads(orjson.dumps(without_explanations(document), option=orjson.OPT_SORT_KEYS))


def compiled_catalogue() -> bytes:
    """The compiled form of the current YAML files."""
    return orjson.dumps(without_explanations(read_yaml()), option=orjson.OPT_SORT_KEYS) + b"\n"


def load() -> dict[str, Any]:
    """Load the catalogue, from the compiled form if it is current."""
    path = MESSAGES_FOLDER / COMPILED
    if path.is_file():
        document: dict[str, Any] = orjson.loads(path.read_bytes())
        if document["version"] == fingerprint():
            return document
    return without_explanations(read_yaml())  # type: ignore[no-any-return]


def main() -> None:
    """Write the compiled form."""
    from pathlib import Path

    Path(str(MESSAGES_FOLDER / COMPILED)).write_bytes(compiled_catalogue())


if __name__ == "__main__":
    main()
