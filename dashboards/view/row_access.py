"""Access to columns of rows: dataclasses of an analysis or dicts of a table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, TypeAlias

from dashboards.view.evidence import Line
from models.downtime import NAMELESS

AnyRow: TypeAlias = Any


def column(row: AnyRow, name: str, default: Any = None) -> Any:
    """Return a column of a dataclass or of a table's row."""
    return row.get(name, default) if isinstance(row, dict) else getattr(row, name, default)


class Columns:
    """Access to several columns of a row at once, None for what it lacks."""

    __slots__ = ("_getter", "_names")

    def __init__(self, *names: str) -> None:
        self._names = names
        self._getter = attrgetter(*names)

    def __call__(self, row: AnyRow) -> Sequence[Any]:
        """Values in the order of the names."""
        if isinstance(row, dict):
            return [row.get(name) for name in self._names]
        try:
            return self._getter(row)
        except AttributeError:
            return [getattr(row, name, None) for name in self._names]


_LINE = Columns("file", "line", "byte_offset", "text", "inferred")


def evidence_lines(row: AnyRow) -> tuple[Line, ...]:
    """Lines of evidence of a row."""
    return lines_of(column(row, "evidence") or ())


def lines_of(evidence: Iterable[AnyRow]) -> tuple[Line, ...]:
    """Lines of evidence."""
    lines = []
    for item in evidence:
        file, line, byte_offset, text, inferred = _LINE(item)
        lines.append(Line(file, line, byte_offset, text or "", bool(inferred)))
    return tuple(lines)


def member_name(row: AnyRow) -> str:
    """The best known name of a member.

    Client id, else instance id, else member id.
    """
    return column(row, "client_id") or column(row, "instance_id") or column(row, "member_id") or NAMELESS
