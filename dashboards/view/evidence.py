"""Log lines that support a verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    pass


@dataclass(frozen=True, slots=True)
class Line:
    """One line of evidence."""

    file: str
    line: int
    byte_offset: int
    text: str
    inferred: bool

    @property
    def place(self) -> str:
        """Position of the line: FILE:LINE."""
        return f"{self.file}:{self.line}"
