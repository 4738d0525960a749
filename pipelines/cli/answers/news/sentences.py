"""News of rebalances: one line for people, one JSON object for programs."""

from __future__ import annotations

from typing import Any

from dashboards.answer.rebalance_items import rebalance
from dashboards.view.answer import Rebalance
from dashboards.wording import story
from dashboards.wording.durations import duration
from dashboards.wording.escaping import first_line, shortened, visible
from dashboards.wording.units import Clock, counted, lasted, listed, share
from models.units import US_PER_SECOND
from pipelines.cli.answers.news.changes import NewsKind
from pipelines.cli.json_schema.rebalance_event import OF_ROW, SCHEMA_ID

_EVIDENCE_CHARACTERS = 500


def news_object(kind: NewsKind, row: Any) -> dict[str, Any]:
    """The event as described by `groupscope schema events/rebalances`."""
    from pipelines.schema.tables import TABLES, json_row

    item, document = rebalance(row), json_row(TABLES["rebalances"], row)
    return {
        "schema": SCHEMA_ID,
        "event": kind.value,
        **{name: document[name] for name in OF_ROW},
        "stopped_seconds": round(item.stopped_seconds, 6),
        "held_up_seconds": round(item.held_up_seconds, 6),
        "text": news_sentence(kind, item),
        "evidence": [
            {"file": line.file, "line": line.line, "text": shortened(first_line(line.text), _EVIDENCE_CHARACTERS)} for line in item.evidence
        ],
    }


def news_line(kind: NewsKind, row: Any, clock: Clock, lasted_seconds: float = 0.0) -> str:
    """One line with the time of the log."""
    item = rebalance(row)
    if kind is NewsKind.LASTS:
        reached = None if item.started_at is None else item.started_at + round(lasted_seconds * US_PER_SECOND)
        return visible(
            f"{clock.stamp(reached)} {_name(item)}: not over after {duration(lasted_seconds)}; {story.act(item)} ({share(item.confidence)})"
        )
    at = item.started_at if kind is NewsKind.BEGAN or item.ended_at is None else item.ended_at
    return visible(f"{clock.stamp(at)} {news_sentence(kind, item)}")


def news_sentence(kind: NewsKind, item: Rebalance) -> str:
    """The news in one sentence, without the time."""
    name = _name(item)
    sure = share(item.confidence)
    if kind is NewsKind.BEGAN:
        return f"{name}: a rebalance begins; {story.act(item)} ({sure})"
    waited = f"; waited for {listed([person.name for person in item.blockers])}" if item.blockers else ""
    members = "" if item.members_after is None else f", {counted(item.members_after, 'member')}"
    stopped = f", {duration(item.stopped_seconds)} stopped" if item.stopped_seconds else ""
    begun = "now taken for" if kind is NewsKind.CHANGED else "took"
    length = item.cause_title.lower() if kind is NewsKind.CHANGED else lasted(item.duration_seconds, item.at_least_seconds)
    return f"{name}: {begun} {length}{stopped}, {story.outcome(item)}{members}; {story.act(item)} ({sure}){waited}"


def _name(item: Rebalance) -> str:
    return f"{item.group}{f' {item.topic}' if item.topic else ''}{f' {item.generations}' if item.generations else ''}"
