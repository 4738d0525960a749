"""News of rebalances between two looks at the logs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dashboards.view.row_access import column


class NewsKind(StrEnum):
    """What is new about a rebalance, in the order in which it comes."""

    BEGAN = "rebalance_began"
    FINISHED = "rebalance_finished"
    CHANGED = "verdict_changed"


REMEMBERED_MAX = 100_000
"""Rebalances whose news are remembered, the latest ones."""

_BEGINNING = ("system", "group", "topic", "generation_before", "started_at")
_VERDICT = ("cause", "root_cause", "outcome")


@dataclass(frozen=True, slots=True)
class News:
    """Something new about a rebalance; `row` is its present row."""

    kind: NewsKind
    row: Any


@dataclass(slots=True)
class Newsroom:
    """Remembers all news, so that none is repeated."""

    _verdicts: dict[str, tuple[Any, ...] | None] = field(default_factory=dict)
    """Verdicts by rebalance, None while it is open."""
    _keys: dict[tuple[Any, ...], str] = field(default_factory=dict)
    """Ids by group and beginning.

    An id changes once a later line names the cluster."""

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
            self._note(key, verdict)

    def _key(self, row: Any) -> str:
        """The first id of a rebalance."""
        rebalance_id: str = column(row, "rebalance_id")
        if rebalance_id in self._verdicts:
            return rebalance_id
        return self._keys.setdefault(tuple(column(row, name) for name in _BEGINNING), rebalance_id)

    def _note(self, key: str, verdict: tuple[Any, ...] | None) -> None:
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
    """Return True if a rebalance has no end yet."""
    return bool(column(row, "outcome") == "open")


def _moment(row: Any) -> int:
    known = (column(row, name) for name in ("started_at", "joined_at", "ended_at"))
    return next((at for at in known if at is not None), 0)
