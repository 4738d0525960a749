"""Data for the page's script.

Columns of all rebalances, figures and tables are loaded at once, stories and evidence in chunks. To open quickly with
50,000 rebalances, the page stores repeated texts once and refers to them by position, and it unpacks a chunk of details
only if a rebalance in it is opened.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from conf.causes import CauseText
from conf.causes import cause as cause_entry
from dashboards.figures.base import FAMILY_TITLES, Chart
from dashboards.figures.palette import FAMILY_COLOURS, STEP_COLOURS
from dashboards.page.tables import Grid
from dashboards.view.answer import SHOWN_AS_SURE, Answer, Lane, Person, Rebalance
from dashboards.view.charts import MemberPart
from dashboards.view.evidence import Line
from dashboards.wording import story, units
from dashboards.wording.escaping import packed, shortened, visible
from dashboards.wording.highlights import highlight_positions

CHUNK = 250
"""Rebalances per chunk of details."""

EVIDENCE_MAX = 40
"""Lines of evidence kept per rebalance.

The rest is counted; byte offsets lead to it in the logs.
"""

EVIDENCE_CHARACTERS = 1200
MARKED = units.MarkedClock()


class TextPool:
    """Distinct texts, referred to by position."""

    def __init__(self) -> None:
        self.places: dict[str, int] = {}

    def __call__(self, text: str) -> int:
        return self.places.setdefault(text, len(self.places))


def index(answer: Answer, zone: str, charts: Sequence[Chart], tables: Mapping[str, Grid]) -> str:
    """Pack everything but the details."""
    pool = TextPool()
    used = sorted({(item.system, name) for item in answer.rebalances for name in (item.cause, item.root_cause) if name})
    position = {item.id: place for place, item in enumerate(answer.rebalances)}
    content = {
        "zone": zone,
        "span": _span(answer, charts),
        "chunk": CHUNK,
        "causes": {f"{system}/{name}": _cause(cause_entry(system, name)) for system, name in used},
        "families": {name: [FAMILY_TITLES[name], colour] for name, colour in FAMILY_COLOURS.items()},
        "stepColours": STEP_COLOURS,
        "incidents": {
            item.number: [position[rebalance_id] for rebalance_id in item.rebalance_ids if rebalance_id in position]
            for item in answer.incidents
            if item.rebalance_ids
        },
        "attention": [item.number for item in answer.incidents if item.severity != "info"],
        "sure": SHOWN_AS_SURE,
        "rows": _columns(answer.rebalances, pool),
        "charts": {chart.name: _chart(chart, pool) for chart in charts},
        "tables": {table.name: _table(table) for table in tables.values()},
        "states": [_states(lane, pool) for lane in answer.lanes],
        "words": [*pool.places],
    }
    return packed(content)


def details(
    rebalances: Sequence[Rebalance], parts: Mapping[str, Sequence[MemberPart]], proofs: Mapping[str, Sequence[tuple[str, str]]]
) -> Iterator[str]:
    """Pack stories and evidence into chunks, in the order of rows."""
    for start in range(0, len(rebalances), CHUNK):
        paths = TextPool()
        shown = rebalances[start : start + CHUNK]
        rows = [[*_detail(item, parts.get(item.id, ()), paths), *_proof(proofs.get(item.id, ()))] for item in shown]
        yield packed({"rows": rows, "paths": [*paths.places]})


def _span(answer: Answer, charts: Sequence[Chart]) -> list[float] | None:
    """First and last time of all data, in milliseconds.

    This is the default range of pictures.
    """
    starts = [item.started_at for item in answer.rebalances]
    ends = [item.ended_at for item in answer.rebalances]
    outages = [time for item in answer.outages for time in (item.offline_at, item.online_at)]
    brokers = [time for item in answer.broker_outages for time in (item.down_at, item.up_at)]
    queues = [time for lane in answer.queue_lanes for stretch in lane.stretches for time in (stretch.started_at, stretch.ended_at)]
    moves = [time for item in answer.moves for time in (item.left_at, item.loaded_at)]
    known = [time for time in (*starts, *ends, *outages, *brokers, *queues, *moves) if time is not None]
    if not known or min(known) == max(known):
        return None
    margin = (max(known) - min(known)) * 0.03
    edges = [(first, first + width * count) for chart in charts if chart.bins for first, width, count in (chart.bins,)]
    starts_at = min([round((min(known) - margin) / 1000), *(start for start, _ in edges)])
    return [starts_at, max([round((max(known) + margin) / 1000), *(end for _, end in edges)])]


def _cause(entry: CauseText) -> dict[str, Any]:
    advice = [[item.do, [[setting.name, setting.at, setting.since] for setting in item.settings]] for item in entry.advice]
    return {"id": entry.id, "title": entry.title, "family": entry.family, "meaning": entry.meaning, "advice": advice}


def _columns(items: Sequence[Rebalance], pool: TextPool) -> dict[str, list[Any]]:
    """A list for each column.

    Times are differences from the row above, because small numbers compress better.
    """
    return {
        "id": [item.id for item in items],
        "cluster": [pool(visible(item.cluster)) for item in items],
        "group": [pool(visible(item.group)) for item in items],
        "topic": [pool(visible(item.topic or "")) for item in items],
        "generations": [pool(item.generations) for item in items],
        "at": _differences([item.started_at for item in items]),
        "seconds": [_lasted(item) for item in items],
        "stopped": [round(item.stopped_seconds, 3) for item in items],
        "least": [int(item.duration_seconds is None) for item in items],
        "cause": [pool(f"{item.system}/{item.cause}") for item in items],
        "root": [pool(f"{item.system}/{item.root_cause}") if item.root_cause else -1 for item in items],
        "expected": [int(item.expected) for item in items],
        "confidence": [round(item.confidence, 4) for item in items],
        "who": [[pool(visible(person.where)) for person in item.offenders] for item in items],
        "blockers": [[pool(visible(person.where)) for person in item.blockers] for item in items],
        "outcome": [pool(item.outcome.replace("_", " ")) for item in items],
    }


def _differences(times: Sequence[int | None]) -> list[int | None]:
    differences: list[int | None] = []
    last = 0
    for time in times:
        differences.append(None if time is None else time - last)
        last = last if time is None else time
    return differences


def _lasted(item: Rebalance) -> float | None:
    return None if item.duration_seconds is None and item.at_least_seconds is None else round(item.lasted_seconds, 3)


def _chart(chart: Chart, pool: TextPool) -> dict[str, Any]:
    drawn = json.loads(json.dumps(chart.figure))
    lanes = [[label, [pool(visible(key[0])), pool(visible(key[1]))] if key else None] for label, key in chart.lanes]
    return {
        "data": drawn["data"],
        "layout": drawn["layout"],
        "lanes": lanes,
        "lanesMax": chart.lanes_max,
        "laneHeight": chart.lane_height,
        "room": chart.room,
        "bins": chart.bins,
    }


def _states(lane: Lane, pool: TextPool) -> list[Any]:
    """States of one group as columns.

    [cluster, group, times, states, generations, members, inferred]; times are differences from the one before.
    """
    shown = lane.stretches
    return [
        pool(visible(lane.cluster)),
        pool(visible(lane.group)),
        _differences([stretch.started_at for stretch in shown]),
        [pool(visible(stretch.state)) for stretch in shown],
        [stretch.generation for stretch in shown],
        [stretch.member_count for stretch in shown],
        [int(stretch.inferred) for stretch in shown],
    ]


def _table(table: Grid) -> dict[str, Any]:
    return {"columns": [[column.title, column.kind] for column in table.columns], "rows": table.rows, "group": table.group_column}


def _detail(item: Rebalance, parts: Sequence[MemberPart], paths: TextPool) -> list[Any]:
    """Details of one rebalance as a list.

    [story, coordinator's reason, alternatives, lines, number of omitted lines, phases in seconds, members].
    """
    delay = min(item.initial_delay_seconds or 0.0, item.waiting_seconds)
    return [
        story.story(_cleaned(item), MARKED),
        visible(story.own_words(item)),
        [[cause_entry(item.system, name).title, round(value, 4)] for name, value in item.alternatives],
        [_line(line, item, paths) for line in item.evidence[:EVIDENCE_MAX]],
        max(0, len(item.evidence) - EVIDENCE_MAX),
        [round(value, 3) for value in (delay, item.waiting_seconds - delay, item.assignment_seconds)],
        [[visible(part.name), part.role, int(part.stays), part.join_delay_seconds] for part in parts],
    ]


def _proof(parts: Sequence[tuple[str, str]]) -> list[Any]:
    """The proof as the last detail, if there is one."""
    return [[[kind, visible(text)] for kind, text in parts]] if parts else []


def _cleaned(item: Rebalance) -> Rebalance:
    """Make all texts from logs visible, so that none can imitate markup."""
    return replace(
        item,
        group=visible(item.group),
        topic=visible(item.topic) if item.topic else None,
        coordinator=visible(item.coordinator) if item.coordinator else None,
        settled_by=visible(item.settled_by) if item.settled_by else None,
        offenders=tuple(map(_clean_person, item.offenders)),
        blockers=tuple(map(_clean_person, item.blockers)),
    )


def _clean_person(person: Person) -> Person:
    return replace(person, name=visible(person.name), host=visible(person.host) if person.host else None, reason=visible(person.reason))


def _line(line: Line, item: Rebalance, paths: TextPool) -> list[Any]:
    """One line of evidence as a list.

    [path, line, byte offset, text as shown, inferred, marked words], followed by the raw text if it differs.
    """
    raw = shortened(line.text, EVIDENCE_CHARACTERS)
    text = "\n".join(visible(part) for part in raw.splitlines())
    row: list[Any] = [paths(visible(line.file)), line.line, line.byte_offset, text, int(line.inferred), highlight_positions(text, item)]
    return row if text == raw else [*row, raw]
