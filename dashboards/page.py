"""The report: one HTML file that needs no network.

The page holds its data as JSON in a script element that is never run, plotly.js deflated once, one style sheet
and one script. A content security policy lets nothing run but that script and plotly.js, each named by its
hash, and forbids all requests. Equal answers give equal pages: nothing depends on the time of writing.
"""

from __future__ import annotations

import base64
import hashlib
import json
import os
import zlib
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import resources
from typing import TYPE_CHECKING, Any

from conf.causes import Advice, Cause
from conf.causes import cause as cause_entry
from dashboards import story, units
from dashboards.data import Answer, Incident, Line, Rebalance
from dashboards.figures import FAMILY_COLOURS, Chart, charts
from dashboards.text import embed_json, shortened, visible

if TYPE_CHECKING:
    from jinja2 import Environment

EVIDENCE_MAX = 40
"""Lines of evidence kept per rebalance; the rest is counted. Offsets lead to them in the logs."""

EVIDENCE_CHARACTERS = 1200
CSP = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"


def report(answer: Answer, clock: units.Clock, *, title: str, version: str, drawn_max: int) -> str:
    """The page as text."""
    figures = charts(answer, clock, drawn_max)
    script, style, plotly = _asset("report.js"), _asset("report.css"), plotly_source()
    policy = CSP.format(scripts=" ".join((_hash(script), plotly.hash)))
    template = _environment(clock).get_template("report.html.j2")
    return template.render(
        title=title,
        version=version,
        answer=answer,
        clock=clock,
        charts=figures,
        tiles=_tiles(answer),
        incidents=_incident_cards(answer.incidents, clock),
        faults=[visible(text) for text in story.faults(answer)],
        base=common_folder([item.path for item in answer.files]),
        policy=policy,
        style=style,
        script=script,
        plotly=plotly.text if figures else "",
        data=embed_json(_page_data(answer, clock, figures)),
        colours=FAMILY_COLOURS,
    )


class PlotlySource:
    """plotly.js as it stands in the page: deflated and in base64, with the hash that the policy names."""

    def __init__(self, source: bytes) -> None:
        self.text = base64.b64encode(zlib.compress(source, 9)).decode("ascii")
        self.hash = _hash(source.decode("utf-8"))


@cache
def plotly_source() -> PlotlySource:
    return PlotlySource(resources.files("plotly").joinpath("package_data", "plotly.min.js").read_bytes())


@cache
def _asset(name: str) -> str:
    return resources.files("dashboards").joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


@lru_cache(maxsize=8)
def _environment(clock: units.Clock) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("dashboards", "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        shown=lambda text: units.NOTHING if text is None or text == "" else visible(str(text)),
        stamp=clock.stamp,
        seconds=units.duration,
        share=units.share,
        size=units.size,
        words=lambda text: str(text).replace("_", " "),
        names=lambda items: units.listed([visible(item) for item in items], 4),
        nodes=lambda items: units.listed([f"broker {visible(item)}" for item in items], 4),
        below=lambda path, base: units.NOTHING if not path else visible(path.removeprefix(base)),
        cause_title=lambda name, system="kafka": cause_entry(system, name).title,
    )
    return environment


def _tiles(answer: Answer) -> list[dict[str, str]]:
    """The headline numbers."""
    totals = answer.totals
    sure = totals.sure / totals.rebalances if totals.rebalances else None
    tiles = [
        {"label": "need attention", "value": f"{totals.attention:,}", "of": f"of {units.counted(totals.incidents, 'incident')}"},
        {"label": "rebalances", "value": f"{totals.rebalances:,}", "of": f"in {units.counted(totals.groups, 'group')}"},
        {"label": "stood still", "value": units.duration(totals.stopped_seconds), "of": "summed over groups"},
        {"label": "unplanned", "value": f"{totals.unexpected:,}", "of": "not by deploys or scaling"},
        {"label": "causes sure", "value": units.share(sure), "of": f"{totals.sure:,} of {totals.rebalances:,}"},
    ]
    if totals.outages:
        tiles.append({"label": "outages", "value": f"{totals.outages:,}", "of": "partitions without leader"})
    return tiles


def common_folder(paths: Sequence[str]) -> str:
    """The beginning that all paths share, up to a slash; nothing where there is one path only."""
    start = os.path.commonprefix(paths) if len(paths) > 1 else ""  # noqa: RUF071 - cut at a slash; the other refuses mixed paths
    return start[: start.rfind("/") + 1]


def _incident_cards(items: Sequence[Incident], clock: units.Clock) -> list[dict[str, Any]]:
    """What stands on the card of each incident. Advice that an earlier card gave is not given again."""
    given: dict[tuple[str, tuple[Advice, ...]], int] = {}
    return [
        {
            "item": item,
            "when": clock.span(item.started_at, item.ended_at) + ("" if item.ended_at is not None else ", still open"),
            "headline": visible(item.headline),
            "certainty": story.incident_certainty(item),
            "settled_by": [visible(text) for text in item.settled_by],
            "like": earlier if (earlier := given.setdefault((item.cause_title, item.advice), item.number)) != item.number else None,
        }
        for item in items
    ]


def _page_data(answer: Answer, clock: units.Clock, figures: Sequence[Chart]) -> dict[str, Any]:
    """What the page's script works with. Paths stand once, and rows name them by position."""
    paths = sorted({line.file for item in answer.rebalances for line in item.evidence})
    positions = {path: position for position, path in enumerate(paths)}
    used = sorted({(item.system, name) for item in answer.rebalances for name in (item.cause, item.root_cause) if name})
    return {
        "zone": clock.zone_name,
        "paths": [visible(path) for path in paths],
        "causes": {f"{system}/{name}": _cause(cause_entry(system, name)) for system, name in used},
        "colours": FAMILY_COLOURS,
        "rebalances": [_row(item, clock, positions) for item in answer.rebalances],
        "charts": {chart.name: json.loads(chart.figure.to_json(validate=False)) for chart in figures},
    }


def _cause(entry: Cause) -> dict[str, Any]:
    advice = [[item.do, [[setting.name, setting.at, setting.since] for setting in item.settings]] for item in entry.advice]
    return {"title": entry.title, "meaning": entry.meaning, "advice": advice}


def _row(item: Rebalance, clock: units.Clock, positions: dict[str, int]) -> dict[str, Any]:
    """One rebalance for the table: what is shown, and beside it what is sorted by."""
    delay = min(item.initial_delay_seconds or 0.0, item.waiting_seconds)
    phases = (delay, item.waiting_seconds - delay, item.assignment_seconds)
    return {
        "id": item.id,
        "cluster": visible(item.cluster),
        "group": visible(item.group),
        "topic": visible(item.topic or ""),
        "generations": item.generations,
        "start": clock.stamp(item.started_at),
        "order": item.started_at or 0,
        "lasted": units.lasted(item.duration_seconds, item.at_least_seconds),
        "seconds": item.lasted_seconds,
        "cause": item.cause,
        "system": item.system,
        "title": item.cause_title,
        "root": item.root_cause or "",
        "rootTitle": item.root_cause_title or "",
        "family": item.family,
        "expected": item.expected,
        "sure": units.share(item.confidence),
        "confidence": item.confidence,
        "who": [visible(person.where) for person in item.offenders],
        "blockers": [visible(person.where) for person in item.blockers],
        "outcome": item.outcome.replace("_", " "),
        "phases": [round(value, 3) for value in phases],
        "phaseTexts": [units.duration(value) for value in phases],
        "story": [visible(sentence) for sentence in story.story(item, clock)],
        "said": visible(story.own_words(item)),
        "alternatives": [[cause_entry(item.system, name).title, units.share(value)] for name, value in item.alternatives],
        "evidence": [_line(line, positions) for line in item.evidence[:EVIDENCE_MAX]],
        "more": max(0, len(item.evidence) - EVIDENCE_MAX),
    }


def _line(line: Line, positions: dict[str, int]) -> list[Any]:
    """[path, line, byte offset, text as shown, inferred, text as it is where that differs]."""
    raw = shortened(line.text, EVIDENCE_CHARACTERS)
    text = "\n".join(visible(part) for part in raw.splitlines())
    row: list[Any] = [positions[line.file], line.line, line.byte_offset, text, int(line.inferred)]
    return row if text == raw else [*row, raw]
