"""Incidents as Markdown, to paste into a ticket."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from conf.causes import RecommendedAction
from dashboards.answer.recurrences import recurrences
from dashboards.view.answer import Answer, Incident, Rebalance
from dashboards.view.evidence import Line
from dashboards.view.recurrence import Recurrence
from dashboards.wording import story, summary
from dashboards.wording.escaping import first_line, shortened, visible
from dashboards.wording.facts import facts, selection
from dashboards.wording.units import Clock, counted

_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&$@])")
LINE_CHARACTERS = 300


def plain(text: str) -> str:
    """Text of a log, in which nothing is markup."""
    return _MARKUP.sub(r"\\\1", " ".join(visible(text).split()))


def code(text: str) -> str:
    """A log line as inline code, whatever backticks it has."""
    shown = shortened(visible(first_line(text)), LINE_CHARACTERS)
    fence = "`" * (max(map(len, re.findall("`+", shown)), default=0) + 1)
    return f"{fence} {shown} {fence}"


def incident_report(answer: Answer, clock: Clock) -> Iterator[str]:
    """Lines of the report: totals, then each problem."""
    totals = answer.totals
    yield f"# {counted(totals.attention, 'incident')} that {'needs' if totals.attention == 1 else 'need'} attention"
    yield ""
    yield plain(f"{summary.what_was_read(answer, clock)}{summary.downtime(answer)}.")
    warnings = [*summary.other_zones(answer.doubts), *summary.faults(answer)]
    for text in warnings if totals.rebalances or totals.outages else [summary.nothing_found(answer), *warnings]:
        yield ""
        yield plain(text)
    by_id = {item.id: item for item in answer.rebalances}
    for recurrence in recurrences(answer.incidents):
        yield ""
        yield from _problem(recurrence, clock)
        places = list(recurrence.worst.evidence) or _lines(
            [by_id[rebalance_id] for rebalance_id in recurrence.worst.rebalance_ids if rebalance_id in by_id], recurrence.worst.trigger
        )
        if places:
            yield ""
            yield from (f"- {plain(line.place)}: {code(line.text)}" for line in places[:_EVIDENCE_LINES])
        yield from _advice(recurrence.worst.advice, answer.remedies.get(recurrence.worst.id, ()))


_EVIDENCE_LINES = 6
"""Log lines of each problem."""


def _lines(rebalances: Sequence[Rebalance], trigger: str | None) -> list[Line]:
    """Lines of the longest rebalance that the trigger set off."""
    triggered = [item for item in rebalances if item.cause == trigger] or rebalances
    longest = max(triggered, key=lambda item: item.stopped_seconds, default=None)
    return list(longest.evidence) if longest is not None else []


def _problem(recurrence: Recurrence, clock: Clock) -> Iterator[str]:
    item = recurrence.worst
    yield f"## {item.severity.upper()}: {plain(recurrence.headline)}"
    yield ""
    still = "" if recurrence.ended_at is not None else ", still open"
    yield f"- when: {plain(clock.span(recurrence.started_at, recurrence.ended_at))}{still}"
    if len(recurrence.incidents) > 1:
        yield f"- the worst: {plain(item.headline)}"
    yield from (f"- {label}: {plain(text)}" for label, text in facts(item))
    yield from (f"- {plain(text)}" for text in (*item.measured, selection(item)) if text)
    yield from _doubt(item)
    yield f"- incident: {code(item.id)}"


def _doubt(item: Incident) -> Iterator[str]:
    if item.rivals:
        yield f"- how sure: {plain(story.incident_certainty(item))}"
    if item.settled_by:
        yield f"- would settle it: {plain('; '.join(item.settled_by))}"


def _advice(advice: Iterable[RecommendedAction], remedies: Sequence[str]) -> Iterator[str]:
    """Advice; `remedies` are settings from a search, with values."""
    items = list(advice)
    if items or remedies:
        yield ""
        yield "What to do:"
        yield ""
    for item in items:
        settings = ", ".join(f"`{setting.name}` ({setting.at}, since {setting.since})" for setting in item.settings)
        yield f"- [ ] {plain(item.do)}" + (f" {settings}" if settings else "")
    yield from (f"- [ ] Set {plain(text)}" for text in remedies)
