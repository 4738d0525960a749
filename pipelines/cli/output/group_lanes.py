"""Group states over time as lanes of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dashboards.view.answer import Lane, StateStretch
from dashboards.wording.escaping import shortened, visible
from dashboards.wording.units import Clock

if TYPE_CHECKING:
    from rich.console import Console

# Marks by priority: if several states fall into one cell, the first one is drawn.
MARKS = {
    "two_owners": ("█", "red"),
    "PreparingRebalance": ("█", "red"),
    "Reconciling": ("█", "red"),
    "CompletingRebalance": ("▓", "yellow"),
    "Assigning": ("▓", "yellow"),
    "Dead": ("×", "magenta"),  # noqa: RUF001 - the sign is meant
    "NotReady": ("░", "magenta"),
    "no_owner": ("░", "magenta"),
    "Empty": ("·", "dim"),
    "Stable": ("━", "green"),
    "owned": ("━", "green"),
    "REBALANCING": ("▒", "yellow"),
    "STABLE": ("─", "green"),
    "UNJOINED": ("·", "dim"),
}
LABEL_MAX = 24
_PLAIN = {"▒": "+", "─": "-", "█": "#", "▓": "+", "×": "x", "░": "?", "·": ".", "━": "="}  # noqa: RUF001


def lanes(console: Console, items: Sequence[Lane], clock: Clock, ends_at: int | None) -> None:
    """Draw a lane for each group and client under one time axis.

    The axis reaches to `ends_at`, the end of the logs, because what is open then still lasts.
    """
    from rich.cells import cell_len
    from rich.text import Text

    known = [time for lane in items for stretch in lane.stretches for time in (stretch.started_at, stretch.ended_at) if time is not None]
    if not known:
        return
    start, end = min(known), max(*known, ends_at or 0)
    labels = [shortened(visible(lane.group if lane.client is None else f"  {lane.client}"), LABEL_MAX) for lane in items]
    margin = max(map(cell_len, labels)) + 1
    width = max(console.width - margin - 1, 10)
    plain = not _can(console)
    for label, lane in zip(labels, items, strict=True):
        line = Text(label + " " * (margin - cell_len(label)))
        for mark, style in _cells(lane.stretches, start, end, width):
            line.append(_PLAIN.get(mark, mark) if plain else mark, style=style)
        console.print(line, no_wrap=True, crop=False, overflow="ignore")
    first, last = clock.stamp(start)[:19], clock.full(end).replace(clock.stamp(end), clock.stamp(end)[:19])
    if len(first) + len(last) >= width:  # a narrow terminal has room for the times of day only
        first, last = first[11:], last[11:]
    gap = max(width - len(first) - len(last), 1)
    console.print(Text(" " * margin + first + " " * gap + last, style="dim"), no_wrap=True, crop=False, overflow="ignore")
    used = {stretch.state for lane in items for stretch in lane.stretches}
    key = [f"{_PLAIN[mark] if plain else mark} {state.replace('_', ' ')}" for state, (mark, _) in MARKS.items() if state in used]
    console.print(Text("  ".join(key), style="dim"))


def _can(console: Console) -> bool:
    return (console.encoding or "").lower().replace("-", "") in ("utf8", "utf16", "gb18030")


def _cells(stretches: Sequence[StateStretch], start: int, end: int, width: int) -> list[tuple[str, str]]:
    """One mark per interval: the state with the highest priority."""
    order = list(MARKS)
    worst: list[int | None] = [None] * width
    span = max(end - start, 1)
    for stretch in stretches:
        if stretch.state not in MARKS:
            continue
        rank = order.index(stretch.state)
        first = min((stretch.started_at - start) * width // span, width - 1)
        until = stretch.ended_at if stretch.ended_at is not None else end
        last = min(max((until - start) * width // span, first), width - 1)
        for cell in range(first, last + 1):
            now = worst[cell]
            worst[cell] = rank if now is None else min(now, rank)
    return [MARKS[order[rank]] if rank is not None else (" ", "") for rank in worst]
