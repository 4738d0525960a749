"""Folder of incident pages with an index, kept current by runs.

Each page is written atomically, the index after its pages, and obsolete pages are removed last. Readers therefore find
complete pages and working links.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pipelines.errors import CannotWrite
from pipelines.versions import fingerprint_of, pages_version, product_version

if TYPE_CHECKING:
    from dashboards.wording.units import Clock
    from pipelines.warehouse.warehouse_reader import WarehouseReader

INDEX, KNOWN = "index.html", "index.json"
INCIDENTS_MAX = 200
"""Maximum number of pages: the latest incidents above severity info."""

_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color-scheme:light dark}"
    "table{border-collapse:collapse;width:100%}th,td{text-align:left;padding:.4rem .6rem;border-bottom:1px solid #8886;vertical-align:top}"
    ".critical{font-weight:bold}td.time{white-space:nowrap}"
)


def publish_reports(place: str, folder: Path, zone: str, drawn_max: int) -> int:
    """Update the folder to the published tables; returns pages written.

    Times are shown in the `zone`, and at most `drawn_max` rebalances are drawn.
    A page is written if anything on it has changed: rows of any table, their presentation, or the code of pages. If neither
    tables nor what is shown of them have changed since the last time, nothing is compared.
    """
    from pipelines.warehouse.warehouse_reader import WarehouseReader

    warehouse = WarehouseReader(place)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CannotWrite(f"{folder} can't be made: {error.strerror or error}") from error
    known, made_of = _known(folder), _made_of(warehouse, zone, drawn_max)
    pages: Mapping[str, str] = known.get("pages", {})
    written = 0
    if known.get("made_of") != made_of or not (folder / INDEX).is_file() or not all(_page(folder, page).is_file() for page in pages):
        same = known.get("made_of", {}).get("shown") == made_of["shown"]
        pages, written = _brought_up_to_date(warehouse, folder, zone, drawn_max, pages if same else {}, made_of)
    for path in folder.glob("incident-*.html"):
        if path.stem.removeprefix("incident-") not in pages:
            path.unlink(missing_ok=True)
    return written


def _made_of(warehouse: Any, zone: str, drawn_max: int) -> dict[str, Any]:
    """Versions of everything that pages depend on: tables and presentation."""
    from pipelines.cli.page_inputs import MADE_OF

    tables = {name: warehouse.versions.get(name) for name in sorted(MADE_OF)}
    shown = [product_version(), pages_version(), zone, drawn_max]
    return {"warehouse": warehouse.identity, "tables": tables, "shown": [*shown, fingerprint_of(warehouse.options.get("redact"))]}


def _brought_up_to_date(
    warehouse: Any, folder: Path, zone: str, drawn_max: int, known: Mapping[str, str], made_of: Mapping[str, Any]
) -> tuple[dict[str, str], int]:
    """Write changed pages and the index.

    Returns the fingerprints of all pages and the number written.
    """
    from dashboards.wording.units import Clock
    from pipelines.cli.page_inputs import excerpt_of, fingerprints

    wanted = _wanted(warehouse)
    prints = fingerprints(warehouse, list(map(excerpt_of, wanted)))
    now = {incident.incident_id: digest for incident, digest in zip(wanted, prints, strict=True)}
    stay = {key for key, digest in now.items() if known.get(key) == digest and _page(folder, key).is_file()}
    changed = [incident for incident in wanted if incident.incident_id not in stay]
    clock = Clock(zone)
    for incident in changed:
        _write_page(warehouse, incident, _page(folder, incident.incident_id), clock, drawn_max)
    _write_index(folder, wanted, {"made_of": made_of, "pages": now})
    return now, len(changed)


def _wanted(warehouse: WarehouseReader) -> list[Any]:
    """The latest incidents above severity info.

    Only these become objects, because tables may have years of incidents.
    """
    from pipelines.warehouse.warehouse_reader import as_dataclasses

    latest = f"started_at desc nulls last, incident_id limit {INCIDENTS_MAX}"
    return [row for batch in warehouse.batches("incidents", "severity <> 'info'", latest) for row in as_dataclasses("incidents", batch)]


def _page(folder: Path, incident_id: str) -> Path:
    """Path of a page; ids are hashes without log text."""
    return folder / f"incident-{incident_id}.html"


def _known(folder: Path) -> dict[str, Any]:
    """Record of the existing pages; empty if unreadable or outdated."""
    try:
        stored = json.loads((folder / KNOWN).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    whole = isinstance(stored, dict) and all(isinstance(stored.get(name), dict) for name in ("made_of", "pages"))
    return stored if whole else {}


def _write_page(warehouse: Any, incident: Any, path: Path, clock: Clock, drawn_max: int) -> None:
    from dashboards.answer.build import build_answer
    from dashboards.page.page import report
    from pipelines.cli.output.atomic_write import write_text
    from pipelines.cli.page_inputs import excerpt_of

    answer = build_answer(excerpt_of(incident).rows_within(warehouse), for_page=True)
    write_text(path, report(answer, clock, title=incident.headline, version=product_version(), drawn_max=drawn_max))


def _write_index(folder: Path, incidents: Iterable[Any], known: Mapping[str, Any]) -> None:
    from pipelines.cli.output.atomic_write import write_text

    write_text(folder / INDEX, index_page(incidents))
    write_text(folder / KNOWN, json.dumps(known, sort_keys=True))


def index_page(incidents: Iterable[Any]) -> str:
    """HTML list of incidents, latest first, without network or scripts."""
    from markupsafe import escape

    from dashboards.wording.escaping import visible
    from pipelines.schema.tables import instant_text

    rows = [
        f'<tr class="{escape(incident.severity)}"><td class="time">{escape(instant_text(incident.started_at) or "?")}</td>'
        f"<td>{escape(incident.severity)}</td><td>{escape(visible(incident.cluster))}</td>"
        f'<td><a href="incident-{escape(incident.incident_id)}.html">{escape(visible(incident.headline))}</a></td></tr>'
        for incident in incidents
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
