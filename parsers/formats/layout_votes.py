"""Election of a file's layout by its first lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from parsers.formats.layouts import ANY_PRODUCT, DOCUMENTS, HEADER_BYTES, AnyLayout, Header, Layout, json_layout, layouts, logfmt_layout

_UNDATED_SHARE = 0.2
# What a header counts in a layout without loggers, against 1 for one that lacks its end: so the few whole
# lines decide on a log of wrapped or cut ones, and a message that happens to end like a logger does not decide on others.
_ANY_SCORE = 1.2
_JAVA_NAME = re.compile(r"(?:[\w$]+\.)+[\w$/]+|[A-Z][\w$]*", re.ASCII)


class Vote(NamedTuple):
    """Score of a layout for the first lines of a file."""

    layout: AnyLayout | None
    headers: int
    score: float

    @property
    def is_sure(self) -> bool:
        """True if the layout reads all parts of most headers."""
        return self.layout is not None and self.layout.product != ANY_PRODUCT and 2 * self.score > self.headers * self.layout.fields


def vote(lines: Iterable[str]) -> Vote:
    """The layout that explains most of these lines.

    Ties go to the one listed first.
    """
    sample = _Sample([line for line in lines if line])
    every: tuple[AnyLayout, ...] = (*layouts(), json_layout(), logfmt_layout())
    likely = _last_best[0] if _last_best else 0
    best, place = _better(every[likely], sample, Vote(None, 0, 0)) or Vote(None, 0, 0), likely
    for number, layout in enumerate(every):
        if number != likely and (better := _better(layout, sample, best, wins_ties=number < place)) is not None:
            best, place = better, number
    if best.layout is not None:
        _last_best[:] = [place]
    return best


_last_best: list[int] = []
"""Place of the layout that was best the last time.

Files of one folder have the same, and others give up sooner once it has its score.
"""


class _Sample:
    """The lines of a vote, with those that have the beginning of a layout."""

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines
        self._begun: dict[str, Sequence[str]] = {"": lines}

    def begun(self, layout: AnyLayout) -> Sequence[str]:
        """Lines that the layout may read: others lack its first field."""
        beginning = layout.beginning if isinstance(layout, Layout) else ""
        if beginning not in self._begun:
            match = re.compile(beginning, re.ASCII).match
            self._begun[beginning] = [line for line in self.lines if match(line, 0, HEADER_BYTES) is not None]
        return self._begun[beginning]


def _better(layout: AnyLayout, sample: _Sample, best: Vote, *, wins_ties: bool = False) -> Vote | None:
    """Score of a layout, if it is better than the best.

    Gives up where the lines that are left can't make it better.
    """
    wins_ties = wins_ties and best.layout is not None
    fields_score = _ANY_SCORE if layout.product == ANY_PRODUCT else layout.fields
    headers, score = 0, 0.0
    if fields_score * len(sample.lines) < best.score:
        return None
    lines = sample.begun(layout)
    for left, line in zip(range(len(lines), 0, -1), lines, strict=True):
        most = score + fields_score * left
        if most < best.score or (most == best.score and not wins_ties):
            return None
        header = layout.read(line)
        if header is not None:
            headers += 1
            score += _worth(header, layout)
    # A level at the start of a line is not enough to call a text a log.
    is_undated = layout.date is None and layout.name not in DOCUMENTS and headers < _UNDATED_SHARE * len(sample.lines)
    is_better = score > best.score or (wins_ties and score == best.score)
    return Vote(layout, headers, score) if is_better and not is_undated else None


def _worth(header: Header, layout: AnyLayout) -> float:
    if layout.product == ANY_PRODUCT:
        return _ANY_SCORE
    plausible = header.logger is None or _JAVA_NAME.fullmatch(header.logger) is not None
    if isinstance(layout, Layout) and layout.threads is not None:
        plausible = plausible and layout.threads.fullmatch(header.thread or "") is not None
    elif isinstance(layout, Layout) and layout.loggers is not None:
        plausible = layout.loggers.fullmatch(header.logger or "") is not None
    return layout.fields if header.is_whole and plausible else 1
