"""Send alerts for new incidents, each once, to a web hook or through Apprise.

Sent incidents are in `ops.alerts`. Each is recorded before the next one is sent, and one that could not be sent is left
to the next run, so none is lost. One process at a time sends, as transactions in `ops.alerts` show; another one
waits for it. An incident is sent twice, with the same `incident_id`, if a process is killed or cannot write between the
two steps, or if sending takes longer than its lease. An incident with a new id is matched with its alert by `alert_log`.
"""

from __future__ import annotations

import json
import logging
import os
import random
import time
import urllib.request
from base64 import b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from http.client import HTTPException
from importlib import import_module
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit, urlunsplit

from pipelines.errors import UsageError
from pipelines.jobs.operations.alert_bodies import AlertFormat, body_maker
from pipelines.jobs.operations.alert_log import SentIncidents
from pipelines.jobs.operations.published_incidents import PastIncidents
from pipelines.schema.allowed_values import SEVERITIES
from pipelines.schema.tables import TABLES, json_row
from pipelines.storage.object_stores import open_table
from pipelines.storage.uris import warehouse_uri
from pipelines.warehouse.delta.arrow_files import read_table

if TYPE_CHECKING:
    from deltalake import DeltaTable

_log = logging.getLogger(__name__)
TIMEOUT_SECONDS = 20
FAILURES_MAX = 5
"""Maximum number of consecutive failures; the rest is left to the next run.

An unreachable receiver costs TIMEOUT_SECONDS each time. A receiver that refuses an incident is reachable, and may
accept the next one.
"""

WAIT_SECONDS = 300.0
"""Longest time to wait for another process that sends.

Its lease ends earlier if it was killed.
"""
_LOOK_AGAIN_SECONDS = (0.1, 1.0)
_EARLIEST = datetime.min.replace(tzinfo=UTC)

NEWS_FOR = timedelta(days=1)

SHOWN_COLUMNS = ("incident_id", "cluster", "kind", "severity", "groups", "started_at", "ended_at", "root_cause", "headline")
_KNOWN_BY = ("incident_id", "cluster", "groups", "started_at", "ended_at")

Send = Callable[[Mapping[str, Any]], None]
"""Sends one incident, or raises one of CANNOT_TELL."""

CANNOT_TELL = (OSError, HTTPException, ValueError)
"""Unreachable receiver, invalid answer, or invalid address."""


@dataclass(frozen=True, slots=True)
class AlertOptions:
    """Receiver, minimum severity, and maximum age of an incident.

    The age counts from the end; an open incident is always new.
    """

    url: str
    severity: str = "critical"
    news_for: timedelta = NEWS_FOR

    def severities(self) -> tuple[str, ...]:
        return SEVERITIES[SEVERITIES.index(self.severity) :]


@dataclass(frozen=True, slots=True)
class DeliveryCounts:
    """Number of incidents sent, and of those that could not be sent."""

    sent: int
    failed: int


def sender(url: str, form: AlertFormat = "json") -> Send:
    """Return the function that sends to a URL.

    Raises UsageError if neither HTTP nor Apprise handles it.
    """
    if url.startswith(("http://", "https://")):
        place, credentials = _without_user(url)
        body_of = body_maker(form, os.environ)
        return lambda incident: _post(place, credentials, str(incident["incident_id"]), body_of(incident))
    if form != "json":
        raise UsageError(f"--alert-format {form} is for http and https; Apprise chooses the form of its receivers itself")
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


def _without_user(url: str) -> tuple[str, dict[str, str]]:
    """Split a URL into the address and an authorisation header.

    urllib would treat user and password as part of the host, and show them in errors.
    """
    parts = urlsplit(url)
    user, at, host = parts.netloc.rpartition("@")
    headers = {"Authorization": f"Basic {b64encode(unquote(user).encode()).decode()}"} if at else {}
    return urlunsplit(parts._replace(netloc=host)), headers


def post(url: str, key: str, body: Any) -> None:
    """Post JSON to a web hook; `key` marks repetitions."""
    place, credentials = _without_user(url)
    _post(place, credentials, key, body)


def _post(url: str, credentials: Mapping[str, str], key: str, body: Any) -> None:
    data = json.dumps(body, ensure_ascii=False).encode()
    headers = {"Content-Type": "application/json", "Idempotency-Key": key, **credentials}
    request = urllib.request.Request(url, data, headers)  # noqa: S310 - the scheme was checked
    with urllib.request.build_opener(_NoRedirect).open(request, timeout=TIMEOUT_SECONDS):
        pass


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirects.

    urllib would repeat the request as a GET without a body, and the answer would mean nothing.
    """

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> None:
        raise HTTPError(req.full_url, code, f"{msg} to {newurl}, where alerts would get lost; name that address", headers, fp)


RULE = "rule"
"""Kind of an alert about a broken rule, which is no incident."""


def send_new(
    place: str,
    versions: Mapping[str, int],
    run_id: str,
    options: AlertOptions,
    send: Send,
    now: datetime | None = None,
    broken_rules: Sequence[Mapping[str, Any]] = (),
    wait_seconds: float = WAIT_SECONDS,
) -> DeliveryCounts:
    """Send the published incidents that are new; return their number.

    `broken_rules` have the columns of incidents and are sent whatever their severity. Failures are logged.
    """
    now = now or datetime.now(UTC)
    uri = warehouse_uri(place)
    alerts = SentIncidents(f"{uri}/{TABLES['alerts'].path}", now, run_id)
    incidents = open_table(f"{uri}/{TABLES['incidents'].path}", version=versions["incidents"])
    rows = read_table(incidents, list(SHOWN_COLUMNS), [("severity", "in", options.severities())]).to_pylist()
    new, rules = ([row for row in listed if _is_news(row, now - options.news_for)] for listed in (rows, broken_rules))
    if not (unsent := _unsent([*new, *rules], alerts)):
        return DeliveryCounts(0, 0)
    if not _claimed(alerts, wait_seconds):
        _log.warning("%s incidents are left to the next run: another process has been sending alerts for long", len(unsent))
        return DeliveryCounts(0, len(unsent))
    try:
        unsent = _not_renamed(_unsent(new, alerts), incidents, alerts, lambda: PastIncidents(uri, versions["incidents"]))
        unsent += _unsent(rules, alerts)
        return _send_each(sorted(unsent, key=lambda row: (row["started_at"] or _EARLIEST, row["incident_id"])), alerts, send)
    finally:
        alerts.release()


def _unsent(rows: Iterable[Mapping[str, Any]], alerts: SentIncidents) -> list[Mapping[str, Any]]:
    return [row for row in rows if row["incident_id"] not in alerts.rows]


def _claimed(alerts: SentIncidents, wait_seconds: float) -> bool:
    """Wait until this process alone may send; return False on timeout."""
    end = time.monotonic() + wait_seconds
    while not alerts.claim():
        if time.monotonic() >= end:
            return False
        time.sleep(random.uniform(*_LOOK_AGAIN_SECONDS))  # noqa: S311 - spreads retries, no security involved
    return True


def _send_each(left: Sequence[Mapping[str, Any]], alerts: SentIncidents, send: Send) -> DeliveryCounts:
    """Send incidents and record each, until nobody takes any."""
    sent = failed = in_a_row = 0
    for row in left:
        if in_a_row == FAILURES_MAX:
            _log.warning("%s incidents more are left to the next run: nobody takes any", len(left) - sent - failed)
            return DeliveryCounts(sent, len(left) - sent)
        trouble = _send_incident(row, send)
        if trouble is None:
            # An incident without a known start is never matched with one of another id.
            alerts.record_sent([{**row, "started_at": None} if row["kind"] == RULE else row])
            sent, in_a_row = sent + 1, 0
        else:
            failed, in_a_row = failed + 1, 0 if isinstance(trouble, HTTPError) else in_a_row + 1
    return DeliveryCounts(sent, failed)


def _not_renamed(
    new: list[Mapping[str, Any]], incidents: DeltaTable, alerts: SentIncidents, past: Callable[[], PastIncidents]
) -> list[Mapping[str, Any]]:
    """Remove incidents that were sent under another id.

    They are recorded under their new id.
    """
    if not new or not alerts.rows:
        return new
    incident_table = read_table(incidents, ["incident_id", "cluster"])
    former = alerts.renamed(new, dict(zip(*(incident_table[name].to_pylist() for name in ("incident_id", "cluster")), strict=True)), past)
    if former:
        alerts.record_sent([row for row in new if row["incident_id"] in former], former)
    return [row for row in new if row["incident_id"] not in former]


def superseded(place: str, version: int, before: datetime, now: datetime | None = None) -> set[str]:
    """Return alerted incidents from before a time that are no longer needed.

    They are missing in this version of the table, and no existing incident that may still be sent could be one of them
    under another id.
    """
    now = now or datetime.now(UTC)
    uri = warehouse_uri(place)
    alerts = SentIncidents(f"{uri}/{TABLES['alerts'].path}", now, "")
    old = {name for name, row in alerts.rows.items() if row["sent_at"] < before}
    if not old:
        return set()
    rows = read_table(open_table(f"{uri}/{TABLES['incidents'].path}", version), list(_KNOWN_BY)).to_pylist()
    clusters = {row["incident_id"]: row["cluster"] for row in rows}
    unsent = [row for row in rows if row["incident_id"] not in alerts.rows and _is_news(row, now - NEWS_FOR)]
    may_be = alerts.renamed(unsent, clusters, lambda: PastIncidents(uri, version))
    return old - clusters.keys() - {former["incident_id"] for former in may_be.values()}


def _is_news(row: Mapping[str, Any], since: datetime) -> bool:
    return row["ended_at"] is None or row["ended_at"] >= since


def _send_incident(row: Mapping[str, Any], send: Send) -> Exception | None:
    """Send one incident; return the error if it failed."""
    shown = {name: value for name, value in json_row("incidents", row).items() if name in SHOWN_COLUMNS}
    try:
        send(shown)
    except CANNOT_TELL as error:
        _log.warning("incident %s could not be told, the next run tries again: %s", row["incident_id"], error)
        return error
    return None
