"""Stable ids: hashes of natural keys, never of log text."""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

ID_HEX_LENGTH = 20
_DIGEST_BYTES = ID_HEX_LENGTH // 2


def make_id(kind: str, *parts: object) -> str:
    """Return a stable id of `kind` for the natural key `parts`.

    None and "" give different ids.
    """
    key = bytearray()
    for part in parts:
        text = "" if part is None else f"{part.__class__.__name__}:{part}"
        key += len(text).to_bytes(4, "big")
        try:
            key += text.encode()
        except UnicodeEncodeError:  # half of a surrogate pair, out of a JSON document
            key += text.encode("utf-8", "surrogatepass")
    return blake2b(key, digest_size=_DIGEST_BYTES, person=_person(kind), usedforsecurity=False).hexdigest()


@cache
def _person(kind: str) -> bytes:
    return kind.encode()[:16]
