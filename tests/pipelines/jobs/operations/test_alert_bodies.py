"""Alerts in the forms of receivers: valid by their schemas, keyed by the incident, safe from markup."""

from __future__ import annotations

import json
from typing import Any, get_args

import jsonschema
import pytest

from pipelines.errors import UsageError
from pipelines.jobs.operations import alerts
from pipelines.jobs.operations.alert_bodies import KEY_VARIABLE, AlertFormat, body_maker

INCIDENT: dict[str, Any] = {
    "incident_id": "5ab0",
    "cluster": "prod",
    "kind": "rebalances",
    "severity": "critical",
    "groups": ["orders", "<!channel>"],
    "started_at": "2026-11-21T09:08:32.114000Z",
    "ended_at": None,
    "root_cause": "rolling_restart",
    "headline": "orders: 4 rebalances <https://evil.example|click> & more",
}
TEXT = {"type": "string", "minLength": 1}
# As the references of the receivers state them: Slack's Block Kit, PagerDuty's Events API 2, Alertmanager's API 2.
SCHEMAS: dict[str, Any] = {
    "json": {"type": "object", "required": [*INCIDENT, "source"]},
    "slack": {
        "type": "object",
        "required": ["text", "blocks"],
        "properties": {"text": {**TEXT, "maxLength": 3000}, "blocks": {"type": "array", "maxItems": 50}},
        "additionalProperties": False,
    },
    "pagerduty": {
        "type": "object",
        "required": ["routing_key", "event_action", "dedup_key", "payload"],
        "properties": {
            "routing_key": {"const": "secret"},
            "event_action": {"enum": ["trigger", "acknowledge", "resolve"]},
            "dedup_key": {**TEXT, "maxLength": 255},
            "payload": {
                "type": "object",
                "required": ["summary", "source", "severity"],
                "properties": {
                    "summary": {**TEXT, "maxLength": 1024},
                    "source": TEXT,
                    "severity": {"enum": ["critical", "error", "warning", "info"]},
                    "timestamp": {"type": "string", "format": "date-time"},
                },
            },
        },
    },
    "alertmanager": {
        "type": "array",
        "minItems": 1,
        "items": {
            "type": "object",
            "required": ["labels"],
            "properties": {
                "labels": {
                    "type": "object",
                    "propertyNames": {"pattern": "^[a-zA-Z_][a-zA-Z0-9_]*$"},
                    "additionalProperties": TEXT,
                    "required": ["alertname", "incident_id"],
                },
                "annotations": {"type": "object", "additionalProperties": {"type": "string"}},
                "startsAt": {"type": "string", "format": "date-time"},
            },
            "additionalProperties": False,
        },
    },
}
ENVIRONMENT = {KEY_VARIABLE: "secret"}
MADE = {
    "as it is": {},
    "long": {"headline": "x" * 5_000},
    "of no group": {"groups": [], "cluster": ""},
    "of an unknown time": {"started_at": None, "root_cause": None},
}


@pytest.mark.parametrize("change", MADE)
@pytest.mark.parametrize("form", get_args(AlertFormat))
def test_a_body_has_the_form_of_its_receiver(form: Any, change: str) -> None:
    body = body_maker(form, ENVIRONMENT)(INCIDENT | MADE[change])

    jsonschema.Draft202012Validator(SCHEMAS[form]).validate(json.loads(json.dumps(body)))


@pytest.mark.parametrize("form", get_args(AlertFormat))
def test_the_key_is_the_incident(form: Any) -> None:
    assert "5ab0" in json.dumps(body_maker(form, ENVIRONMENT)(INCIDENT))


def test_text_of_logs_is_no_markup_for_slack() -> None:
    shown = json.dumps(body_maker("slack", {})(INCIDENT)["blocks"])

    assert not {"<!channel>", "<https"} & set(shown.split())
    assert "&lt;!channel&gt;" in shown


def test_pagerduty_needs_a_key_that_no_command_line_shows() -> None:
    with pytest.raises(UsageError, match=KEY_VARIABLE):
        body_maker("pagerduty", {})


def test_a_form_is_for_web_hooks_only() -> None:
    with pytest.raises(UsageError, match="http and https"):
        alerts.sender("mailto://somebody@example.com", "slack")
