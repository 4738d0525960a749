"""Stable ids: hashes of natural keys, never of log text."""

from __future__ import annotations

from hashlib import blake2b

ID_HEX_LENGTH = 20


def make_id(kind: str, *parts: object) -> str:
    """Return a stable id of `kind` for the natural key `parts`.

    None and "" give different ids.
    """
    key = b""
    for part in parts:
        text = "" if part is None else f"{part.__class__.__name__}:{part}"
        key += len(text).to_bytes(4, "big") + text.encode("utf-8", "surrogatepass")
    return blake2b(key, digest_size=ID_HEX_LENGTH // 2, person=kind.encode()[:16], usedforsecurity=False).hexdigest()
