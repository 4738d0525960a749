"""News of rebalances between two looks at the logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dashboards.view.row_access import column
from models.downtime import PROTOCOLS_WITHOUT_STOP
from models.units import US_PER_SECOND


class NewsKind(StrEnum):
    """What is new about a rebalance, in the order in which it comes."""

    BEGAN = "rebalance_began"
    FINISHED = "rebalance_finished"
    CHANGED = "verdict_changed"
    LASTS = "rebalance_lasts"
    """For people only: the schema of events names no such kind."""


REMEMBERED_MAX = 100_000
"""Rebalances whose news are remembered, the latest ones."""

_BEGINNING = ("system", "group", "topic", "generation_before", "started_at")
_VERDICT = ("cause", "root_cause", "outcome")


@dataclass(frozen=True, slots=True)
class News:
    """Something new about a rebalance; `row` is its present row."""

    kind: NewsKind
    row: Any
    lasted_seconds: float = 0.0
    """So long by now, if it lasts."""


@dataclass(slots=True)
class Newsroom:
    """Remembers all news, so that none is repeated."""

    _verdicts: dict[str, tuple[Any, ...] | None] = field(default_factory=dict)
    """Verdicts by rebalance, None while it is open."""
    _keys: dict[tuple[Any, ...], str] = field(default_factory=dict)
    """Ids by group and beginning.

    An id changes once a later line names the cluster."""
    _open: dict[str, Any] = field(default_factory=dict)
    """Rebalances that are open and not yet told to last."""

    def changes(self, rows: Iterable[Any]) -> Iterator[News]:
        """News in the rows compared with earlier ones, by time."""
        for row in rebalances_by_time(rows):
            key = self._key(row)
            verdict = None if is_open(row) else tuple(column(row, name) for name in _VERDICT)
            if key not in self._verdicts:
                yield News(NewsKind.BEGAN, row)
                if verdict is not None:
                    yield News(NewsKind.FINISHED, row)
            elif verdict != self._verdicts[key]:
                # What was finished and is open again was only believed to be finished.
                finished = self._verdicts[key] is None and verdict is not None
                yield News(NewsKind.FINISHED if finished else NewsKind.CHANGED, row)
            self._note(key, verdict, row)

    def lasting(self, now: int | None, stuck_seconds: float) -> Iterator[News]:
        """Rebalances that stop their group for long, each once."""
        for key, row in list(self._open.items()):
            begun = column(row, "started_at")
            lasted = 0.0 if now is None or begun is None else (now - begun) / US_PER_SECOND
            if lasted >= stuck_seconds:
                del self._open[key]
                yield News(NewsKind.LASTS, row, lasted)

    def _key(self, row: Any) -> str:
        """The first id of a rebalance."""
        rebalance_id: str = column(row, "rebalance_id")
        if rebalance_id in self._verdicts:
            return rebalance_id
        return self._keys.setdefault(tuple(column(row, name) for name in _BEGINNING), rebalance_id)

    def _note(self, key: str, verdict: tuple[Any, ...] | None, row: Any) -> None:
        is_first = key not in self._verdicts
        if verdict is not None or column(row, "protocol", None) in PROTOCOLS_WITHOUT_STOP:  # whose ends no line tells
            self._open.pop(key, None)
        elif is_first or key in self._open:
            self._open[key] = row
        self._verdicts.pop(key, None)
        self._verdicts[key] = verdict
        if len(self._verdicts) > REMEMBERED_MAX:
            del self._verdicts[next(iter(self._verdicts))]
        if len(self._keys) > REMEMBERED_MAX:
            del self._keys[next(iter(self._keys))]


def rebalances_by_time(rows: Iterable[Any]) -> list[Any]:
    """Rebalances by time."""
    return sorted(rows, key=lambda row: (_moment(row), column(row, "group"), column(row, "rebalance_id")))


def is_open(row: Any) -> bool:
    """Whether a rebalance has no end yet."""
    return bool(column(row, "outcome") == "open")


def _moment(row: Any) -> int:
    known = (column(row, name) for name in ("started_at", "joined_at", "ended_at"))
    return next((at for at in known if at is not None), 0)
