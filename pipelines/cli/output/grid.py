"""Tables that fit the terminal.

Less important columns are left out first; names are folded, numbers never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from dashboards.wording.escaping import visible

if TYPE_CHECKING:
    from rich.console import RenderableType

GAP = 2


@dataclass(frozen=True, slots=True)
class GridColumn:
    """A table column.

    With `least` it may be narrowed to that width and is folded; the column with the highest `rank` is left out first.
    """

    title: str
    values: Sequence[str]
    rank: int = 0
    least: int | None = None
    is_right_aligned: bool = False
    styles: Sequence[str] = ()

    @property
    def justify(self) -> Literal["left", "right"]:
        return "right" if self.is_right_aligned else "left"


def grid(columns: Sequence[GridColumn], width: int, *, indent: int = 0, is_heading: bool = True) -> RenderableType:
    """A table of the columns that fit, at most `width` wide."""
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    shown = [column for column in columns if any(column.values)] or list(columns[:1])
    shown = [GridColumn(c.title, [visible(value) for value in c.values], c.rank, c.least, c.is_right_aligned, c.styles) for c in shown]
    shown, widths = _fitted(shown, width - indent, is_heading)
    table = Table(box=None, show_header=is_heading, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", collapse_padding=True)
    for column, size in zip(shown, widths, strict=True):
        table.add_column(Text(column.title), width=size, justify=column.justify, overflow="fold", no_wrap=column.least is None)
    for position in range(len(shown[0].values)):
        cells = [Text(c.values[position], style=c.styles[position] if c.styles else "", justify=c.justify) for c in shown]
        table.add_row(*cells)
    return Padding(table, (0, 0, 0, indent), expand=False) if indent else table


def _fitted(columns: list[GridColumn], width: int, is_heading: bool) -> tuple[list[GridColumn], list[int]]:
    """Columns that fit, and their widths."""
    from rich.cells import cell_len

    titles = [cell_len(column.title) if is_heading else 0 for column in columns]
    natural = [max([title, *map(cell_len, column.values)], default=1) for column, title in zip(columns, titles, strict=True)]
    least = [
        size if column.least is None else min(size, max(column.least, title))
        for column, size, title in zip(columns, natural, titles, strict=True)
    ]
    shown = list(range(len(columns)))
    while len(shown) > 1 and sum(least[i] for i in shown) + GAP * (len(shown) - 1) > width and max(columns[i].rank for i in shown) > 0:
        shown.remove(max(shown, key=lambda i: (columns[i].rank, i)))
    sizes = {i: natural[i] for i in shown}
    excess = sum(sizes.values()) + GAP * (len(shown) - 1) - width
    while excess > 0 and (narrowable := [i for i in shown if sizes[i] > least[i]]):
        # The widest column that may be narrowed loses one cell at a time.
        sizes[max(narrowable, key=lambda i: sizes[i])] -= 1
        excess -= 1
    return [columns[i] for i in shown], list(sizes.values())
