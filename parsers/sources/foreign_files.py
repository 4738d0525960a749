"""Files that are no logs, and what to do (`foreign_files.yaml`)."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import Any

from parsers.formats.detection import NO_HEADER
from parsers.formats.json_documents import json_document
from parsers.formats.layouts import load_yaml

BINARY = "binary"
_NO_LOG = "not a log: no line is in a known layout"
_LEAST_BYTES = 61
"""Size of the header of a record batch, without which there is no segment."""


@lru_cache(maxsize=1)
def _data() -> dict[str, Any]:
    loaded: dict[str, Any] = load_yaml(files("parsers.sources").joinpath("foreign_files.yaml").read_text(encoding="utf-8"))
    return loaded


def office_document() -> str:
    """Reason for skipping a zip that is a program or a document."""
    return str(_data()["office"])


@lru_cache(maxsize=1)
def advised_reasons() -> frozenset[str]:
    """Reasons of this module, which contain nothing from files."""
    kinds = {f"{BINARY}, {entry['what']}: {entry['advice']}" for entry in _data()["files"]}
    return frozenset({*kinds, office_document(), f"{_NO_LOG}; {_data()['document']}"})


def foreign_kind(sample: bytes) -> str | None:
    """Kind of a foreign file by its first bytes, with advice."""
    for entry in _data()["files"]:
        magic, at = bytes.fromhex(entry["magic"]), int(entry.get("at", 0))
        begins = sample.startswith(bytes.fromhex(entry.get("after", "")))
        if begins and sample.startswith(magic, at) and (at <= 8 or len(sample) >= _LEAST_BYTES):
            return f"{entry['what']}: {entry['advice']}"
    return None


def reason_of(file_format: str, sample: bytes) -> str:
    """Reason for skipping a content, with advice."""
    if file_format not in {BINARY, NO_HEADER}:
        return file_format
    known = foreign_kind(sample)
    if file_format == BINARY or known is not None:
        return BINARY if known is None else f"{BINARY}, {known}"
    return f"{_NO_LOG}; {_data()['document']}" if sample.lstrip()[:1] in (b"{", b"[") and _is_document(sample) else _NO_LOG


def _is_document(sample: bytes) -> bool:
    """Return True for a single JSON document instead of one per line."""
    first, _, rest = sample.lstrip().partition(b"\n")
    if rest.strip() and json_document(first) is not None:
        return False
    return b'":' in sample or sample.lstrip()[1:].lstrip()[:1] in (b"{", b'"')
