"""Lines that a verdict is founded on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Line:
    """A line of evidence."""

    file: str
    line: int
    byte_offset: int
    text: str
    inferred: bool

    @property
    def place(self) -> str:
        """Where it stands: FILE:LINE."""
        return f"{self.file}:{self.line}"
