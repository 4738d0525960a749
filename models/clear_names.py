"""Plaintext of pseudonyms, for rules that depend on the name itself.

Models see pseudonyms in redacted logs and treat them like names. Only rules about Java's order or hash of a name need
the plaintext. Nothing else uses this module, so no redacted name gets into a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PSEUDONYM = re.compile("name-[a-z2-7]{12}")
PLAINTEXTS: dict[str, str] = {}


def learn_names(names: Mapping[str, str]) -> None:
    """Add plaintexts by pseudonym.

    A pseudonym always stands for one name, so entries are never removed or changed.
    """
    PLAINTEXTS.update(names)


def clear(text: str) -> str:
    """Replace pseudonyms in a text by their plaintext."""
    if not PLAINTEXTS:
        return text
    return PLAINTEXTS.get(text) or _PSEUDONYM.sub(lambda match: PLAINTEXTS.get(match[0], match[0]), text)
