"""The report as one HTML file that needs no network.

The page holds its data and plotly.js, deflated and in base64, in script elements of a type that browsers never run,
plus one style sheet and one script. A content security policy allows only that script and plotly.js, each by its hash,
and forbids all requests. Equal answers give equal pages: nothing depends on the time of writing.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from conf.causes import RecommendedAction
from dashboards.answer.recurrences import recurrences
from dashboards.figures.base import FAMILY_TITLES
from dashboards.figures.charts import charts
from dashboards.figures.palette import FAMILY_COLOURS
from dashboards.page import payload
from dashboards.page.tables import tables
from dashboards.view.answer import Answer
from dashboards.view.recurrence import Recurrence
from dashboards.wording import story, summary, units
from dashboards.wording.durations import NO_VALUE, duration
from dashboards.wording.escaping import common_folder, visible
from dashboards.wording.facts import facts

if TYPE_CHECKING:
    from jinja2 import Environment

CSP = "default-src 'none'; script-src {scripts}; style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
SCRIPTS = ("time.js", "data.js", "view.js", "rows.js", "details.js", "grids.js", "charts.js", "moment.js", "main.js")
"""Parts of the page's script, concatenated in this order to one module."""

_DASHBOARDS = __name__.rsplit(".", 2)[0]

DEFLATED_PLOTLY = "plotly.min.js.zlib"
"""Name of Plotly's script as a wheel holds it, which is as pages do."""
KEPT_PLOTLY = Path(__file__).parents[2] / "build" / DEFLATED_PLOTLY
"""Plotly's script in a checkout that was installed without `dev`.

`hatch_build.py` writes it.
"""

CARDS_MAX = 60
"""Maximum number of incidents with a card; the others go into a table."""

CARDS_OPEN = 3
FACTS = {"trigger": "Trigger", "what it is": "What it is", "held up by": "Held up by", "root": "Root cause"}
"""Headings of the facts of an incident."""
ROWS_WRITTEN = 50
"""Rows of each table written into the HTML for readers without scripts."""


class MissingScript(Exception):
    """Plotly's script is nowhere."""

    exit_code = 2


def report(answer: Answer, clock: units.Clock, *, title: str, version: str, drawn_max: int) -> str:
    """Return the page as text."""
    figures = charts(answer, drawn_max)
    repeated = recurrences(answer.incidents)
    shown = tables(answer, [item for recurrence in repeated[CARDS_MAX:] for item in recurrence.incidents])
    script, style, plotly = _script(), _asset("report.css"), plotly_source()
    policy = CSP.format(scripts=" ".join((_hash(script), plotly.hash)))
    used = {item.family for item in answer.rebalances}
    template = _environment(clock).get_template("report.html.j2")
    return template.render(
        title=title,
        version=version,
        answer=answer,
        clock=clock,
        charts=figures,
        tables=shown,
        tiles=_tiles(answer),
        cards=_incident_cards(repeated[:CARDS_MAX], answer.remedies),
        zones=[visible(text) for text in summary.other_zones(answer.doubts)],
        faults=[visible(text) for text in summary.faults(answer)],
        calm_summary=_calm_summary(repeated[:CARDS_MAX]),
        nothing=visible(summary.nothing_found(answer)),
        families=[(FAMILY_TITLES[name], colour) for name, colour in FAMILY_COLOURS.items() if name in used],
        base=common_folder([item.path for item in answer.files]),
        cards_open=CARDS_OPEN,
        rows_written=ROWS_WRITTEN,
        policy=policy,
        style=style,
        script=script,
        plotly=plotly.text if figures else "",
        index=payload.index(answer, clock.zone_name, figures, shown),
        chunks=payload.details(answer.rebalances, answer.parts, answer.proofs),
    )


class PlotlySource:
    """plotly.js, deflated and in base64, with its hash for the policy."""

    def __init__(self, deflated: bytes) -> None:
        self.text = base64.b64encode(deflated).decode("ascii")
        self.hash = _hash(zlib.decompress(deflated).decode("utf-8"))


@cache
def plotly_source() -> PlotlySource:
    """Return plotly.js as embedded in pages."""
    file = _plotly_file()
    content = file.read_bytes()
    return PlotlySource(content if file.name == DEFLATED_PLOTLY else zlib.compress(content, 9))


def _plotly_file() -> Traversable:
    """Plotly's script: of our wheel, of Plotly's package, or kept."""
    below = _DASHBOARDS.rpartition(".")[0]
    if below:
        return resources.files(below) / DEFLATED_PLOTLY
    try:
        return resources.files("plotly") / "package_data" / "plotly.min.js"
    except ModuleNotFoundError:
        if not KEPT_PLOTLY.is_file():
            raise MissingScript(f"the charts of a report need Plotly's script, and {KEPT_PLOTLY} is gone: pip install plotly") from None
    return KEPT_PLOTLY


@cache
def _script() -> str:
    return "".join(_asset(name) for name in SCRIPTS)


@cache
def _asset(name: str) -> str:
    return resources.files(_DASHBOARDS).joinpath("assets", name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii") + "'"


@lru_cache(maxsize=8)
def _environment(clock: units.Clock) -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(_DASHBOARDS, "templates"), autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        shown=lambda text: NO_VALUE if text is None or text == "" else visible(str(text)),
        stamp=clock.stamp,
        span=lambda item: clock.span(item.started_at, item.ended_at),
    )
    return environment


def _tiles(answer: Answer) -> list[dict[str, str]]:
    """Headline numbers."""
    totals = answer.totals
    sure = totals.sure / totals.rebalances if totals.rebalances else None
    tiles = [
        {
            "label": "need attention",
            "name": "attention",
            "value": f"{totals.attention:,}",
            "of": f"of {units.counted(totals.incidents, 'incident')}",
        },
        {
            "label": "rebalances",
            "name": "rebalances",
            "value": f"{totals.rebalances:,}",
            "of": f"in {units.counted(totals.groups, 'group')}",
        },
        {
            "label": "stood still",
            "name": "stopped",
            "value": duration(totals.stopped_seconds),
            "of": f"unknown in {units.counted(totals.untimed, 'rebalance')}" if totals.untimed else "summed over groups",
        },
        {"label": "unplanned", "name": "unplanned", "value": f"{totals.unexpected:,}", "of": "not by deploys or scaling"},
        {"label": "causes sure", "name": "sure", "value": units.share(sure), "of": f"{totals.sure:,} of {totals.rebalances:,}"},
    ]
    if totals.outages:
        tiles.append({"label": "outages", "name": "outages", "value": f"{totals.outages:,}", "of": "partitions without leader"})
    return tiles


def _calm_summary(repeated: Sequence[Recurrence]) -> str:
    """Heading of the incidents without need for attention."""
    items = [item for recurrence in repeated if recurrence.worst.severity == "info" for item in recurrence.incidents]
    return f"{len(items):,} {summary.calm(len(items), summary.guesses_among(items))}"


def _incident_cards(repeated: Sequence[Recurrence], remedies: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Contents of each card: an incident, with those that are like it.

    Advice from an earlier card is not repeated.
    """
    given: dict[tuple[str, tuple[RecommendedAction, ...]], int] = {}
    return [
        {
            "item": item,
            "one": recurrence,
            "headline": visible(recurrence.headline),
            "facts": [(FACTS.get(label, label.capitalize()), visible(text)) for label, text in facts(item)],
            "numbers": " ".join(str(incident.number) for incident in recurrence.incidents),
            "further": [(incident, visible(incident.headline)) for incident in recurrence.incidents],
            "certainty": story.incident_certainty(item),
            "settled_by": [visible(text) for text in item.settled_by],
            "remedies": [visible(text) for text in remedies.get(item.id, ())],
            "like": earlier if (earlier := given.setdefault((item.cause_title, item.advice), item.number)) != item.number else None,
        }
        for recurrence in repeated
        for item in (recurrence.worst,)
    ]
