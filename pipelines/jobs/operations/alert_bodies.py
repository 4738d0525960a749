"""Forms of an alert's body: our own, and those that receivers expect.

In each form the incident's id is the key for repetitions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from pipelines.errors import UsageError

AlertFormat = Literal["json", "slack", "pagerduty", "alertmanager"]
KEY_VARIABLE = "GROUPSCOPE_ALERT_KEY"
SLACK_TEXT_MAX, PAGERDUTY_SUMMARY_MAX = 3_000, 1_024
"""Lengths that the receivers' references state."""

_SIGNS = {"critical": ":red_circle:", "warning": ":large_orange_circle:", "info": ":information_source:"}
_SLACK_MARKUP = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})

IncidentFields = Mapping[str, Any]


def body_maker(form: AlertFormat, environment: Mapping[str, str]) -> Callable[[IncidentFields], Any]:
    """Return the function that makes a body.

    Raises UsageError if PagerDuty's routing key is not in the environment.
    """
    if form != "pagerduty":
        return {"json": own_body, "slack": slack_body, "alertmanager": alertmanager_body}[form]
    key = environment.get(KEY_VARIABLE)
    if not key:
        raise UsageError(f"--alert-format pagerduty needs the routing key of its service in {KEY_VARIABLE}")
    return lambda incident: pagerduty_body(incident, key)


def own_body(incident: IncidentFields) -> dict[str, Any]:
    """The incident as stored in the tables."""
    return {"source": "groupscope", **incident}


def slack_body(incident: IncidentFields) -> dict[str, Any]:
    """A message for an incoming web hook of Slack."""
    title = f"{_SIGNS.get(incident['severity'], '')} *{_marked(_title(incident))}*"
    facts = f"{_marked(incident['cluster'])}, {incident['started_at']} to {incident['ended_at'] or 'now'}, `{incident['incident_id']}`"
    text = f"{title}\n{_marked(incident['headline'])}"[:SLACK_TEXT_MAX]
    return {
        "text": f"{_title(incident)}: {incident['headline']}"[:SLACK_TEXT_MAX],
        "blocks": [
            {"type": "section", "text": {"type": "mrkdwn", "text": text}},
            {"type": "context", "elements": [{"type": "mrkdwn", "text": facts[:SLACK_TEXT_MAX]}]},
        ],
    }


def pagerduty_body(incident: IncidentFields, key: str) -> dict[str, Any]:
    """An event of PagerDuty's Events API 2."""
    return {
        "routing_key": key,
        "event_action": "trigger",
        "dedup_key": incident["incident_id"],
        "payload": {
            "summary": f"{_title(incident)}: {incident['headline']}"[:PAGERDUTY_SUMMARY_MAX],
            "source": incident["cluster"] or "unknown cluster",
            "severity": incident["severity"],
            **({"timestamp": incident["started_at"]} if incident["started_at"] else {}),
            "component": ", ".join(incident["groups"]),
            "class": incident["kind"],
            "custom_details": dict(incident),
        },
    }


def alertmanager_body(incident: IncidentFields) -> list[dict[str, Any]]:
    """Alerts for Alertmanager's API 2.

    They have no end, because an ended alert notifies nobody.
    """
    labels = {
        "alertname": "GroupscopeIncident",
        "incident_id": incident["incident_id"],
        "severity": incident["severity"],
        "cluster": incident["cluster"],
        "kind": incident["kind"],
        "groups": ",".join(incident["groups"]),
    }
    alert = {
        "labels": {name: value for name, value in labels.items() if value},
        "annotations": {"summary": incident["headline"], "root_cause": incident["root_cause"] or "unknown"},
    }
    return [alert | ({"startsAt": incident["started_at"]} if incident["started_at"] else {})]


def _title(incident: IncidentFields) -> str:
    return f"{incident['severity'].upper()} {', '.join(incident['groups']) or incident['cluster'] or 'cluster'}"


def _marked(text: str | None) -> str:
    return (text or "unknown").translate(_SLACK_MARKUP)
