"""What names were before they were redacted, where it matters.

Models see pseudonyms in place of names and treat them alike, but for the few rules that look into a name itself: Java's
order and hashes of it. Those ask here. Nobody else does, so no redacted name gets into a row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

_PSEUDONYM = re.compile("name-[a-z2-7]{12}")
_known: dict[str, str] = {}


def learn(names: Mapping[str, str]) -> None:
    """Take names by their pseudonyms. A pseudonym stands for one name for ever, so nothing is ever forgotten or changed."""
    _known.update(names)


def clear(text: str) -> str:
    """A name, or a text with names in it, as it was before it was redacted."""
    if not _known:
        return text
    return _known.get(text) or _PSEUDONYM.sub(lambda found: _known.get(found[0], found[0]), text)
