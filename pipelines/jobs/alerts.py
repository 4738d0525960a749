"""Tells of new incidents, each once: by a POST of JSON to a web hook, or through Apprise where it is installed.

What was told stands in `ops.alerts`. An incident is written down after it was told, so a run that is killed between
the two tells it again, with the same `incident_id`; one that could not be told is told by the next run.
"""

from __future__ import annotations

import json
import logging
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib import import_module
from typing import Any

import pyarrow as pa

from pipelines.arrow_files import table_of
from pipelines.errors import UsageError
from pipelines.schemas import TABLES, json_ready
from pipelines.stores import delta_options, open_table
from pipelines.uris import warehouse_uri
from pipelines.vocabulary import SEVERITIES

_log = logging.getLogger(__name__)
TIMEOUT_SECONDS = 20
SHOWN_COLUMNS = ("incident_id", "cluster", "kind", "severity", "groups", "started_at", "ended_at", "root_cause", "headline")

Send = Callable[[Mapping[str, Any]], None]
"""Tells of one incident, or raises OSError."""


@dataclass(frozen=True, slots=True)
class AlertOptions:
    """Whom to tell, from which severity on, and how long ago an incident may have ended to be news."""

    url: str
    severity: str = "critical"
    news_for: timedelta = timedelta(days=1)

    def severities(self) -> tuple[str, ...]:
        return SEVERITIES[SEVERITIES.index(self.severity) :]


def sender(url: str) -> Send:
    """How to tell a place of an incident. Raises UsageError where nothing here knows the place."""
    if url.startswith(("http://", "https://")):
        return lambda incident: _post(url, incident)
    try:
        apprise = import_module("apprise")
    except ImportError as error:
        scheme = url.partition(":")[0]
        raise UsageError(f"alerts to {scheme}: need Apprise: pip install 'groupscope[alerts]'; http and https work without") from error
    target = apprise.Apprise()
    if not target.add(url):
        raise UsageError(f"Apprise knows no place of the form {url.partition(':')[0]}:")

    def notify(incident: Mapping[str, Any]) -> None:
        if not target.notify(title=f"{incident['severity']}: {', '.join(incident['groups'])}", body=incident["headline"]):
            raise OSError("Apprise could not deliver it")

    return notify


def _post(url: str, incident: Mapping[str, Any]) -> None:
    body = json.dumps({"source": "groupscope", **incident}, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": str(incident["incident_id"])}
    request = urllib.request.Request(url, body, headers)  # noqa: S310 - the scheme was looked at
    with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS):  # noqa: S310
        pass


def tell(place: str, versions: Mapping[str, int], run_id: str, options: AlertOptions, send: Send, now: datetime | None = None) -> int:
    """Tell of the published incidents that nobody was told of; say how many. What can't be told now is logged."""
    from deltalake import write_deltalake

    now = now or datetime.now(UTC)
    uri = warehouse_uri(place)
    told = {row["incident_id"] for row in table_of(open_table(f"{uri}/{TABLES['alerts'].path}"), ["incident_id"]).to_pylist()}
    incidents = open_table(f"{uri}/{TABLES['incidents'].path}", version=versions["incidents"])
    rows = table_of(incidents, filters=[("severity", "in", options.severities())]).to_pylist()
    new = [row for row in rows if row["incident_id"] not in told and _is_news(row, now - options.news_for)]
    sent = list(_sent(new, send))
    if sent:
        records = [
            {"incident_id": row["incident_id"], "cluster": row["cluster"], "severity": row["severity"], "told_at": now, "run_id": run_id}
            for row in sent
        ]
        schema = pa.schema([each.remove_metadata() for each in TABLES["alerts"].arrow_schema()])
        write_deltalake(
            f"{uri}/{TABLES['alerts'].path}",
            pa.Table.from_pylist(records, schema=schema),
            mode="append",
            storage_options=delta_options(uri),
        )
    return len(sent)


def _is_news(row: Mapping[str, Any], since: datetime) -> bool:
    return row["ended_at"] is None or row["ended_at"] >= since


def _sent(rows: Iterable[Mapping[str, Any]], send: Send) -> Iterable[Mapping[str, Any]]:
    for row in sorted(rows, key=lambda row: (row["started_at"] or datetime.min.replace(tzinfo=UTC), row["incident_id"])):
        shown = {name: value for name, value in json_ready("incidents", row).items() if name in SHOWN_COLUMNS}
        try:
            send(shown)
        except OSError as error:
            _log.warning("incident %s could not be told, the next run tries again: %s", row["incident_id"], error)
        else:
            yield row
