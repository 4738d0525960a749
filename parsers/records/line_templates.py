"""Templates of lines that nothing recognises, by which they are counted."""

from __future__ import annotations

import re

_MASKS = (
    (re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<*>"),
    (re.compile(r"'[^'\n]*'|\"[^\"\n]*\"|`[^`\n]*`"), "<*>"),
    (re.compile(r"\[[^\[\]\n]*\]|\{[^{}\n]*\}"), "<*>"),
    (re.compile(r"(?<![A-Za-z0-9_.-])[A-Za-z0-9_.-]*\d(?:[.:-]*\w)*"), "<*>"),
    (re.compile(r"((?:group(?:Id)?|member|client(?:Id)?|topic|instance id|partition)[ =:]+)(?!<\*>)[^\s,;)\]]+", re.IGNORECASE), r"\1<*>"),
    (re.compile(r"(?<![\w.:/-])[\w.:/-]*<\*>(?:[.:/-]*(?:\w|<\*>))*"), "<*>"),
)


def template_of(message: str) -> str:
    """Template of a line, by which unknown lines are counted.

    The message's first line with ids, numbers, UUIDs and quoted text as `<*>`.
    """
    text = message.split("\n", 1)[0][:2000]
    for pattern, by in _MASKS:
        text = pattern.sub(by, text)
    return text
