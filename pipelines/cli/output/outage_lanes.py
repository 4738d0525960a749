"""Partitions without a leader over time, grouped by the lost broker."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from dashboards.wording.escaping import shortened, visible
from dashboards.wording.units import Clock

if TYPE_CHECKING:
    from rich.console import Console

    from dashboards.view.answer import Outage

_NO_LEADER, _LED = ("█", "red"), ("━", "green")
_LABEL_MAX = 28
_PLAIN = {"█": "#", "━": "="}


def outage_lanes(console: Console, items: Sequence[Outage], clock: Clock, ends_at: int | None) -> None:
    """Draw a lane for each partition under one time axis.

    The axis reaches to `ends_at`, the end of the logs, and so do open outages.
    """
    from rich.cells import cell_len
    from rich.text import Text

    known = [time for item in items for time in (item.offline_at, item.online_at) if time is not None]
    if not known:
        return
    start, end = min(known), max(*known, ends_at or 0, min(known) + 1)
    groups = _by_broker(items)
    labels = {name: shortened(visible(name), _LABEL_MAX) for lanes in groups.values() for name in lanes}
    margin = max(map(cell_len, labels.values())) + 3
    width = max(console.width - margin - 1, 10)
    plain = (console.encoding or "").lower().replace("-", "") not in ("utf8", "utf16", "gb18030")
    for broker, lanes in groups.items():
        console.print(Text(visible(f"broker {broker}") if broker else "no broker known", style="bold"))
        for name, outages in lanes.items():
            line = Text(f"  {labels[name]}" + " " * (margin - 2 - cell_len(labels[name])))
            for mark, style in _cells(outages, start, end, width):
                line.append(_PLAIN[mark] if plain else mark, style=style)
            console.print(line, no_wrap=True, crop=False, overflow="ignore")
    first, last = clock.stamp(start)[:19], clock.full(end).replace(clock.stamp(end), clock.stamp(end)[:19])
    gap = max(width - len(first) - len(last), 1)
    console.print(Text(" " * margin + first + " " * gap + last, style="dim"), no_wrap=True, crop=False, overflow="ignore")
    console.print(Text("  ".join(f"{_PLAIN[mark] if plain else mark} {meaning}" for (mark, _), meaning in _KEY), style="dim"))


_KEY = ((_NO_LEADER, "no leader"), (_LED, "led"))


def _by_broker(items: Sequence[Outage]) -> dict[str, dict[str, list[Outage]]]:
    """Outages by lost brokers, then by partition.

    Several brokers lost together form one group.
    """
    groups: dict[str, dict[str, list[Outage]]] = {}
    for item in items:
        broker = " and ".join(sorted(item.lost_brokers, key=lambda node: (len(node), node)))
        groups.setdefault(broker, {}).setdefault(f"{item.topic}-{item.partition}", []).append(item)
    ordered = sorted(groups, key=lambda broker: (not broker, len(broker), broker))
    return {broker: dict(sorted(groups[broker].items())) for broker in ordered}


def _cells(outages: Iterable[Outage], start: int, end: int, width: int) -> list[tuple[str, str]]:
    """One mark per cell; a shorter outage still fills one cell."""
    cells = [_LED] * width
    scale = width / (end - start)
    for item in outages:
        begin = start if item.offline_at is None else item.offline_at
        over = end if item.online_at is None else item.online_at
        low = min(int((begin - start) * scale), width - 1)
        high = min(max(int((over - start) * scale), low), width - 1)
        cells[low : high + 1] = [_NO_LEADER] * (high - low + 1)
    return cells
