"""Access to columns of rows: dataclasses of an analysis or dicts of a table."""

from __future__ import annotations

from typing import Any, TypeAlias

from dashboards.view.evidence import Line
from models.downtime import NAMELESS

AnyRow: TypeAlias = Any


def column(row: AnyRow, name: str, default: Any = None) -> Any:
    """Return a column of a dataclass or of a table's row."""
    return row.get(name, default) if isinstance(row, dict) else getattr(row, name, default)


def evidence_lines(row: AnyRow) -> tuple[Line, ...]:
    """Lines of evidence of a row."""
    return tuple(
        Line(
            column(item, "file"),
            column(item, "line"),
            column(item, "byte_offset"),
            column(item, "text") or "",
            bool(column(item, "inferred")),
        )
        for item in column(row, "evidence") or ()
    )


def member_name(row: AnyRow) -> str:
    """The best known name of a member.

    Client id, else instance id, else member id.
    """
    return column(row, "client_id") or column(row, "instance_id") or column(row, "member_id") or NAMELESS
