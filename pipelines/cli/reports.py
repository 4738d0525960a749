"""A folder of pages: one per incident and an index, kept current by runs.

Each page is written beside its place and moved there, the index after the pages that it names, and pages that it names
no more go last: whoever reads finds whole pages, and each link leads somewhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.errors import CannotWrite
from pipelines.versions import fingerprint_of

if TYPE_CHECKING:
    from conf.settings import Settings

INDEX, KNOWN = "index.html", "index.json"
INCIDENTS_MAX = 200
"""Pages in a folder: the latest incidents that are more than information."""

_MARGIN = int(timedelta(minutes=5).total_seconds() * 1_000_000)
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #8886;vertical-align:top}"
    ".critical{font-weight:bold}td.time{white-space:nowrap}"
)


def publish_reports(place: str, folder: Path, settings: Settings) -> int:
    """Bring the folder up to date with the published tables; say how many pages were written."""
    from pipelines.cli.warehouse import Warehouse

    warehouse = Warehouse(place)
    wanted = _wanted(warehouse.incidents)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"{folder} can't be made: {error.strerror or error}") from error
    known = _known(folder)
    now = {incident.incident_id: fingerprint_of(repr(incident)) for incident in wanted}
    changed = [each for each in wanted if known.get(each.incident_id) != now[each.incident_id] or not _page(folder, each).is_file()]
    for incident in changed:
        _write_page(warehouse, incident, _page(folder, incident), settings)
    if changed or known != now or not (folder / INDEX).is_file():
        _write_index(folder, wanted, now)
    for path in folder.glob("incident-*.html"):
        if path.stem.removeprefix("incident-") not in now:
            path.unlink(missing_ok=True)
    return len(changed)


def _wanted(incidents: Iterable[Any]) -> list[Any]:
    telling = [incident for incident in incidents if incident.severity != "info"]
    return sorted(telling, key=lambda each: (-(each.started_at or 0), each.incident_id))[:INCIDENTS_MAX]


def _page(folder: Path, incident: Any) -> Path:
    """Ids are hashes, so a name holds nothing that a log has said."""
    return folder / f"incident-{incident.incident_id}.html"


def _known(folder: Path) -> dict[str, str]:
    try:
        found = json.loads((folder / KNOWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _write_page(warehouse: Any, incident: Any, path: Path, settings: Settings) -> None:
    from importlib.metadata import version

    from dashboards.build import build_answer
    from dashboards.page import report
    from dashboards.units import Clock
    from pipelines.cli.files import write_text
    from pipelines.cli.selection import Selected

    since = None if incident.started_at is None else incident.started_at - _MARGIN
    until = None if incident.ended_at is None else incident.ended_at + _MARGIN
    answer = build_answer(Selected(warehouse, incident.groups, since, until), for_page=True)
    clock, drawn = Clock(settings.display.time_zone), settings.report.drawn_rebalances_max
    write_text(path, report(answer, clock, title=incident.headline, version=version("groupscope"), drawn_max=drawn))


def _write_index(folder: Path, incidents: Iterable[Any], known: Mapping[str, str]) -> None:
    from pipelines.cli.files import write_text

    write_text(folder / INDEX, index_page(incidents))
    write_text(folder / KNOWN, json.dumps(known, sort_keys=True))


def index_page(incidents: Iterable[Any]) -> str:
    """The list of incidents, the latest first, as HTML that needs no network and runs no script."""
    from markupsafe import escape

    from dashboards.text import visible
    from pipelines.schemas import instant_text

    rows = [
        f'<tr class="{escape(each.severity)}"><td class="time">{escape(instant_text(each.started_at) or "?")}</td>'
        f"<td>{escape(each.severity)}</td><td>{escape(visible(each.cluster))}</td>"
        f'<td><a href="incident-{escape(each.incident_id)}.html">{escape(visible(each.headline))}</a></td></tr>'
        for each in incidents
    ]
    body = "\n".join(rows) or '<tr><td colspan="4">No incident needs attention.</td></tr>'
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Incidents</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_STYLE}</style></head><body><main><h1>Incidents</h1><table>"
        "<thead><tr><th>Began (UTC)</th><th>Severity</th><th>Cluster</th><th>What happened</th></tr></thead>"
        f"<tbody>\n{body}\n</tbody></table></main></body></html>\n"
    )
