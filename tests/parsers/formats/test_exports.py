"""Exports of log platforms, each as the platform writes it: all records, in order, with their times."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.parsers.reading.source_files import read_bytes

GROUP = "ledger-sync"
LOGGER = "kafka.coordinator.group.GroupCoordinator"
ISO = ("2026-11-21T09:07:55.040Z", "2026-11-21T09:07:58.103Z", "2026-11-21T09:07:58.110Z")
MILLIS = (1795252075040, 1795252078103, 1795252078110)
NANOS = [f"{each}000000" for each in MILLIS]
SAID = (
    f"[GroupCoordinator 3]: Preparing to rebalance group {GROUP} in state PreparingRebalance with old generation 11 "
    "(__consumer_offsets-7) (reason: Adding new member app-1f0e with group instance id None)",
    f"[GroupCoordinator 3]: Stabilized group {GROUP} generation 12 (__consumer_offsets-7) with 3 members",
    f"[GroupCoordinator 3]: Assignment received from leader app-1f0e for group {GROUP} for generation 12. "
    "The group has 3 members, 0 of which are static.",
)
MESSAGES = ["kafka.group.rebalance_started", "kafka.group.generation_started", "kafka.group.assignment_received"]
LINES = [f"[{at[:10]} {at[11:19]},{at[20:23]}] INFO {said} ({LOGGER})" for at, said in zip(ISO, SAID, strict=True)]
BLANK = [f"{at[:10]} {at[11:23]}" for at in ISO]
KIBANA = [f"Nov 21, 2026 @ {at[11:23]}" for at in ISO]
AZURE = [f"11/21/2026, 9:{at[14:23]} AM" for at in ISO]
EACH = range(len(LINES))


def _lines(rows: Sequence[str], head: str = "") -> str:
    return head + "\n".join(rows) + "\n"


def _documents(rows: Sequence[Any], indent: int | str | None = None) -> str:
    return _lines([json.dumps(row, indent=indent) for row in rows])


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]], delimiter: str = ",") -> str:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows([head, *rows])
    return text.getvalue()


def _hits(fields: Sequence[dict[str, Any]], key: str = "_source") -> dict[str, Any]:
    hits = [{"_index": "kafka-2026.11.21", "_id": f"a{n}", "_score": None, key: each, "sort": [MILLIS[n]]} for n, each in enumerate(fields)]
    return {"took": 4, "timed_out": False, "hits": {"total": {"value": 3, "relation": "eq"}, "max_score": None, "hits": hits}}


def _otlp(bodies: Sequence[str]) -> dict[str, Any]:
    records = [
        {"timeUnixNano": NANOS[n], "severityNumber": 9, "severityText": "INFO", "body": {"stringValue": body}, "attributes": []}
        for n, body in enumerate(bodies)
    ]
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "kafka"}}]}
    return {"resourceLogs": [{"resource": resource, "scopeLogs": [{"scope": {"name": LOGGER}, "logRecords": records}]}]}


def _yaml(number: int) -> str:
    return (
        f"---\ninsertId: x{number}\nlogName: projects/p/logs/stdout\nreceiveTimestamp: '{ISO[number]}'\nresource:\n  type: k8s_container\n"
        f"severity: INFO\ntextPayload: |\n  {LINES[number]}\ntimestamp: '{ISO[number]}'"
    )


PAGE = [{"@timestamp": ISO[n], "message": LINES[n], "host": {"name": "b3"}, "log": {"offset": 100 * n}} for n in EACH]
ECS = [{"@timestamp": ISO[n], "log": {"level": "INFO", "logger": LOGGER}, "message": SAID[n]} for n in EACH]
ENTRY = [{"insertId": f"x{n}", "resource": {"type": "k8s_container"}, "severity": "INFO", "textPayload": LINES[n]} for n in EACH]
PAYLOAD = [{"insertId": f"x{n}", "jsonPayload": {"level": "INFO", "logger": LOGGER, "message": SAID[n]}, "timestamp": ISO[n]} for n in EACH]
GRAFANA = [{"line": LINES[n], "timestamp": NANOS[n], "date": ISO[n], "fields": {"app": "kafka"}} for n in EACH]
STREAMS = {"resultType": "streams", "result": [{"stream": {"app": "kafka"}, "values": [[NANOS[n], LINES[n]] for n in EACH]}]}
CLOUDWATCH = {"events": [{"timestamp": MILLIS[n], "message": LINES[n], "ingestionTime": MILLIS[n] + 900} for n in EACH]}
INSIGHTS = {"results": [[{"field": "@timestamp", "value": BLANK[n]}, {"field": "@message", "value": LINES[n]}] for n in EACH]}
AZURE_TABLE = {"tables": [{"columns": [{"name": "TimeGenerated"}, {"name": "LogMessage"}], "rows": [[ISO[n], LINES[n]] for n in EACH]}]}
JOURNAL = [{"__REALTIME_TIMESTAMP": f"{MILLIS[n]}000", "_HOSTNAME": "h", "MESSAGE": LINES[n], "_PID": "77"} for n in EACH]
SPLUNK = [{"_raw": LINES[n], "_time": ISO[n], "host": "b3"} for n in EACH]
DATADOG = [{"id": "A", "type": "log", "attributes": {"timestamp": ISO[n], "status": "info", "message": LINES[n]}} for n in EACH]

EXPORTS = {
    "Elasticsearch _search": json.dumps(_hits(PAGE)),
    "Elasticsearch _search?pretty": json.dumps(_hits(PAGE), indent=2),
    "Elasticsearch with ECS fields": json.dumps(_hits(ECS), indent=2),
    "Elasticsearch with fields": json.dumps(_hits([{"@timestamp": [ISO[n]], "message": [LINES[n]]} for n in EACH], "fields"), indent=1),
    "Kibana CSV": _table(["@timestamp", "message", "host.name"], [[KIBANA[n], LINES[n], "b3"] for n in EACH]),
    "Kibana CSV with ECS fields": _table(
        ["@timestamp", "log.level", "log.logger", "message"], [[KIBANA[n], "INFO", LOGGER, SAID[n]] for n in EACH]
    ),
    "Grafana Explore text": _lines(
        [f"{BLANK[n]}\t{LINES[n]}" for n in EACH], 'Common labels: {app="kafka"}\nLine limit: "1000 (3 displayed)"\n\n'
    ),
    "Grafana Explore JSON": json.dumps(GRAFANA),
    "Grafana Explore JSON, indented": json.dumps(GRAFANA, indent=2),
    "Grafana Explore CSV": _table(
        ["labels", "Time", "Line", "tsNs", "id"], [['{"app":"kafka"}', MILLIS[n], LINES[n], NANOS[n], NANOS[n] + "_a"] for n in EACH]
    ),
    "Loki's API": json.dumps({"status": "success", "data": STREAMS}),
    "Loki's API, indented": json.dumps({"status": "success", "data": STREAMS}, indent=2),
    "logcli": _lines(
        [f'{ISO[n]} {{pod="kafka-0", app="kafka"}} {LINES[n]}' for n in EACH], '2026/11/21 10:00:00 Common labels: {job="a"}\n'
    ),
    "logcli -o jsonl": _documents([{"labels": {"app": "kafka"}, "line": LINES[n], "timestamp": ISO[n]} for n in EACH]),
    "gcloud logging read": _lines(list(map(_yaml, EACH))),
    "gcloud logging read --format=json": json.dumps([{**ENTRY[n], "timestamp": ISO[n]} for n in EACH], indent=2),
    "gcloud logging read with a payload of fields": json.dumps(PAYLOAD, indent=2),
    "aws logs filter-log-events": json.dumps({**CLOUDWATCH, "searchedLogStreams": []}, indent=4),
    "aws logs filter-log-events --output text": _lines(
        [f"EVENTS\t3{n}\t{MILLIS[n] + 900}\tecs/kafka/01\t{LINES[n]}\t{MILLIS[n]}" for n in EACH]
    ),
    "aws logs tail": _lines([f"{ISO[n][:-1]}000+00:00 ecs/kafka/01 {LINES[n]}" for n in EACH]),
    "aws logs tail --format short": _lines([f"{ISO[n][:19]} {LINES[n]}" for n in EACH]),
    "aws logs get-query-results": json.dumps(INSIGHTS, indent=4),
    "CloudWatch Insights CSV": _table(["@timestamp", "@message"], [[BLANK[n], LINES[n]] for n in EACH]),
    "OTLP JSON": json.dumps(_otlp(SAID)),
    "OTLP JSON, indented": json.dumps(_otlp(SAID), indent=2),
    "OTLP JSON of whole lines": json.dumps(_otlp(LINES), indent=2),
    "OpenTelemetry collector's file exporter": _documents([_otlp(LINES[n : n + 1]) for n in EACH]),
    "Azure Log Analytics CSV": _table(
        ["TenantId", "TimeGenerated [UTC]", "LogMessage", "LogSource"], [["t", AZURE[n], LINES[n], "stdout"] for n in EACH]
    ),
    "Azure Log Analytics's API": json.dumps(AZURE_TABLE),
    "az monitor log-analytics query": json.dumps([{"LogEntry": LINES[n], "TimeGenerated": ISO[n]} for n in EACH], indent=2),
    "logfmt": _lines([f'ts={ISO[n]} level=info logger={LOGGER} msg="{SAID[n]}"' for n in EACH]),
    "docker logs -t": _lines([f"{ISO[n][:-1]}123456Z {LINES[n]}" for n in EACH]),
    "kubectl logs --prefix --timestamps": _lines([f"[pod/kafka-0/kafka] {ISO[n][:-1]}123456Z {LINES[n]}" for n in EACH]),
    "stern -t": _lines([f"kafka-0 kafka {ISO[n][:-1]}123456Z {LINES[n]}" for n in EACH]),
    "stern -o ppextjson": _documents([{"message": LINES[n], "podName": "kafka-0", "containerName": "kafka"} for n in EACH], 2),
    "journalctl -o json": _documents(JOURNAL),
    "journalctl -o json of control characters": _documents([{**JOURNAL[n], "MESSAGE": list(LINES[n].encode())} for n in EACH]),
    "journalctl -o json-pretty": _documents(JOURNAL, "\t"),
    "journalctl -o verbose": _lines(
        [f"Sat 2026-11-21 09:07:5{n}.040000 UTC [s=1;i={n}]\n    PRIORITY=6\n    MESSAGE={LINES[n]}\n    _HOSTNAME=h1" for n in EACH]
    ),
    "Splunk CSV": _table(["_time", "host", "sourcetype", "_raw"], [[ISO[n], "b3", "kafka", LINES[n]] for n in EACH]),
    "Splunk JSON": _documents([{"preview": False, "offset": n, "result": each} for n, each in enumerate(SPLUNK)]),
    "Splunk's API": json.dumps({"preview": False, "fields": [{"name": "_raw"}], "results": SPLUNK}),
    "Datadog CSV": _table(["Date", "Host", "Service", "Message"], [[ISO[n], "b3", "kafka", LINES[n]] for n in EACH]),
    "Datadog's API": json.dumps({"data": DATADOG, "meta": {}}, indent=2),
    "Fluentd file": _lines([f"{ISO[n][:19]}+00:00\tkafka\t" + json.dumps({"log": LINES[n], "stream": "stdout"}) for n in EACH]),
    "Fluent Bit stdout": _lines(
        [f'[{n}] kube.kafka: [[{MILLIS[n] / 1000:.9f}, {{}}], {{"log"=>"{LINES[n]}", "stream"=>"stdout"}}]' for n in EACH]
    ),
    "Vector": _documents([{"file": "/log/server.log", "message": LINES[n], "source_type": "file", "timestamp": ISO[n]} for n in EACH]),
    "Graylog CSV": _table(["timestamp", "source", "message"], [[ISO[n], "b3", LINES[n]] for n in EACH], ";"),
    "strings in an array": json.dumps(LINES),
    "strings in a document": json.dumps({"logs": LINES}, indent=2),
}


@pytest.mark.parametrize("name", EXPORTS)
def test_all_records_of_an_export_are_read(tmp_path: Path, name: str) -> None:
    events = read_bytes(tmp_path, EXPORTS[name].encode()).rows()
    assert [each["message"] for each in events] == MESSAGES
    assert {each["group"] for each in events} == {GROUP}
    assert [f"{each['at']:%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z" for each in events] == list(ISO)
    if EXPORTS[name].count("\n") > 2:
        assert len({each["line"] for each in events}) == len(LINES)
