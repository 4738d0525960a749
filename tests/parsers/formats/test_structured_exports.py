"""Records of structured loggers, as platforms and shippers export them: the program's own document counts."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.parsers.reading.source_files import read_bytes

ISO = ("2026-11-21T09:07:55.040Z", "2026-11-21T09:07:58.103Z")
MILLIS = (1795252075040, 1795252078103)
BLANK = [f"{at[:10]} {at[11:23]}" for at in ISO]
GROUP = "ledger-sync"

Fields = dict[str, Any]
KAFKAJS = [
    {"level": "INFO", "message": "[Consumer] Starting", "groupId": GROUP},
    {"level": "WARN", "message": "[Runner] The group is rebalancing, re-joining", "groupId": GROUP, "memberId": "m-1", "error": "it is"},
]
FRANZ_GO = [
    {"level": "INFO", "msg": "joining group", "group": GROUP},
    {
        "level": "INFO",
        "msg": "heartbeat errored",
        "group": GROUP,
        "err": "REBALANCE_IN_PROGRESS: The group is rebalancing, so a rejoin is needed.",
    },
]
JAVA = [
    {
        "level": level,
        "logger_name": "org.apache.kafka.clients.consumer.internals.ConsumerCoordinator",
        "message": f"[Consumer clientId=app-1, groupId={GROUP}] {message}",
    }
    for level, message in (("INFO", "(Re-)joining group"), ("WARN", "Attempt to heartbeat failed since group is rebalancing"))
]
LIBRARIES = {"kafkajs": KAFKAJS, "franz-go": FRANZ_GO, "Java": JAVA}
EXPECTED = {
    "kafkajs": ["kafka.kafkajs.started", "kafka.kafkajs.heartbeat_rebalancing"],
    "franz-go": ["kafka.franz_go.joining", "kafka.franz_go.heartbeat_rebalancing"],
    "Java": ["kafka.client.joining", "kafka.client.heartbeat_rebalancing"],
}

Export = Callable[[Sequence[Fields]], str]


def _timed(records: Sequence[Fields]) -> list[Fields]:
    return [{"timestamp": at, **record} for at, record in zip(ISO, records, strict=True)]


def _documents(make: Callable[[int, Fields], Any]) -> Export:
    return lambda records: "".join(json.dumps(make(number, record)) + "\n" for number, record in enumerate(records))


def _lines(make: Callable[[int, str], str]) -> Export:
    return lambda records: "".join(make(number, json.dumps(record)) + "\n" for number, record in enumerate(_timed(records)))


def _list(make: Callable[[int, Fields], Any], around: Callable[[list[Any]], Any] = list, indent: int | None = None) -> Export:
    return lambda records: json.dumps(around([make(number, record) for number, record in enumerate(records)]), indent=indent)


def _message(record: Fields) -> str:
    return str(record.get("message", record.get("msg")))


def _others(record: Fields) -> Fields:
    return {name: value for name, value in record.items() if name not in ("message", "msg")}


def _text(number: int, record: Fields) -> str:
    return json.dumps({"timestamp": ISO[number], **record})


def _hits(hits: list[Any]) -> Fields:
    return {"took": 4, "hits": {"total": {"value": len(hits)}, "hits": hits}}


def _otlp(number: int, record: Fields) -> Fields:
    attributes = [{"key": name, "value": {"stringValue": value}} for name, value in _others(record).items()]
    return {"timeUnixNano": f"{MILLIS[number]}000000", "body": {"stringValue": _message(record)}, "attributes": attributes}


def _otlp_map(number: int, record: Fields) -> Fields:
    values = [{"key": name, "value": {"stringValue": value}} for name, value in record.items()]
    return {"timeUnixNano": f"{MILLIS[number]}000000", "body": {"kvlistValue": {"values": values}}}


def _resource(records: list[Any]) -> Fields:
    return {"resourceLogs": [{"resource": {"attributes": []}, "scopeLogs": [{"scope": {}, "logRecords": records}]}]}


def _table(records: Sequence[Fields]) -> str:
    columns = ["@timestamp", *dict.fromkeys(name for record in records for name in record)]
    rows = [[at, *(record.get(name, "") for name in columns[1:])] for at, record in zip(ISO, records, strict=True)]
    text = io.StringIO()
    csv.writer(text).writerows([columns, *rows])
    return text.getvalue()


def _table_of_lines(head: Sequence[str], first: Sequence[Any]) -> Export:
    def make(records: Sequence[Fields]) -> str:
        text = io.StringIO()
        csv.writer(text).writerows([head, *([first[number], _text(number, record)] for number, record in enumerate(records))])
        return text.getvalue()

    return make


def _arrows(record: Fields) -> str:
    return ", ".join(f'"{name}"=>{json.dumps(value)}' for name, value in record.items())


EXPORTS: dict[str, Export] = {
    "Elasticsearch": _list(lambda n, r: {"_index": "i", "_source": {**r, "@timestamp": ISO[n]}}, _hits),
    "Elasticsearch, indented": _list(lambda n, r: {"_index": "i", "_source": {**r, "@timestamp": ISO[n]}}, _hits, 2),
    "Elasticsearch with fields": _list(
        lambda n, r: {"_index": "i", "fields": {"@timestamp": [ISO[n]], **{name: [value] for name, value in r.items()}}}, _hits, 2
    ),
    "Google Cloud": _documents(lambda n, r: {"insertId": "x", "jsonPayload": r, "severity": "INFO", "timestamp": ISO[n]}),
    "Google Cloud's console": _list(lambda n, r: {"insertId": "x", "jsonPayload": r, "severity": "INFO", "timestamp": ISO[n]}),
    "Google Cloud, indented": _list(lambda n, r: {"insertId": "x", "jsonPayload": r, "timestamp": ISO[n]}, indent=2),
    "Datadog": _documents(lambda n, r: {"id": "A", "attributes": {"timestamp": ISO[n], "message": _message(r), "attributes": _others(r)}}),
    "Datadog's archive": _documents(lambda n, r: {"_id": "A", "date": ISO[n], "message": _message(r), "attributes": _others(r)}),
    "Splunk HEC": _documents(lambda n, r: {"time": MILLIS[n] / 1000, "host": "h", "event": r}),
    "CloudWatch": _list(lambda n, r: {"timestamp": MILLIS[n], "message": _text(n, r)}, lambda rows: {"events": rows}),
    "CloudWatch, indented": _list(lambda n, r: {"timestamp": MILLIS[n], "message": _text(n, r)}, lambda rows: {"events": rows}, 4),
    "CloudWatch Insights": _list(lambda n, r: {"@timestamp": BLANK[n], "@message": _text(n, r), "@ptr": "x"}),
    "CloudWatch Insights with parsed messages": _list(lambda n, r: {"@timestamp": BLANK[n], "@message": r}, indent=2),
    "CloudWatch Insights' columns": _table,
    "Azure Log Analytics": _table_of_lines(
        ["TimeGenerated [UTC]", "LogEntry"], ["11/21/2026, 9:07:55.040 AM", "11/21/2026, 9:07:58.103 AM"]
    ),
    "Azure's blobs": _documents(lambda n, r: {"time": ISO[n], "category": "kube", "properties": {"log": _text(n, r), "stream": "stdout"}}),
    "az containerapp logs": _documents(lambda n, r: {"TimeStamp": ISO[n], "Log": _text(n, r)}),
    "OpenTelemetry": _list(_otlp, _resource),
    "OpenTelemetry with a body of fields": _list(_otlp_map, _resource),
    "OpenTelemetry collector's file exporter": _documents(lambda n, r: _resource([_otlp(n, r)])),
    "Loki": _list(lambda n, r: [f"{MILLIS[n]}000000", _text(n, r)], lambda rows: {"streams": [{"stream": {"a": "b"}, "values": rows}]}),
    "logcli": _lines(lambda n, text: f'{ISO[n]} {{app="kafka", pod="kafka-0"}} {text}'),
    "promtail --dry-run": _lines(lambda n, text: f'{ISO[n][:-1]}+0000\t{{__path__="/l"}}\t{text}'),
    "Grafana": _list(lambda n, r: {"line": _text(n, r), "timestamp": f"{MILLIS[n]}000000", "fields": {}}, indent=2),
    "GELF": _documents(
        lambda n, r: {
            "version": "1.1",
            "short_message": _message(r),
            "timestamp": MILLIS[n] / 1000,
            **{f"_{name}": value for name, value in _others(r).items()},
        }
    ),
    "GELF of lines": _documents(lambda n, r: {"version": "1.1", "short_message": _text(n, r), "timestamp": MILLIS[n] / 1000}),
    "OpenShift": _documents(lambda n, r: {"@timestamp": ISO[n], "structured": r, "kubernetes": {"pod_name": "p"}}),
    "Fluent Bit": _documents(lambda n, r: {"date": MILLIS[n] / 1000, "stream": "stdout", "log": _text(n, r), "kubernetes": {"host": "n"}}),
    "Fluent Bit with merged logs": _documents(lambda n, r: {"date": MILLIS[n] / 1000, "log_processed": r, "log": _text(n, r)}),
    "Fluent Bit's stdout": _lines(lambda n, text: f'[{n}] kube.app: [[{MILLIS[n] / 1000:.3f}000000, {{}}], {{"log"=>{json.dumps(text)}}}]'),
    "Fluent Bit's stdout of fields": lambda records: "".join(
        f"[{n}] app: [{MILLIS[n] / 1000:.3f}000000, {{{_arrows(record)}}}]\n" for n, record in enumerate(records)
    ),
    "Fluentd's file": _lines(lambda n, text: f"{ISO[n][:19]}+00:00\tkube.app\t{json.dumps({'log': text})}"),
    "Fluentd's stdout": _lines(lambda n, text: f"{BLANK[n]}000000 +0000 kube.app: {json.dumps({'log': text})}"),
    "New Relic": _list(lambda n, r: {"timestamp": MILLIS[n], **r}),
    "Alibaba Cloud": _documents(lambda n, r: {"__time__": str(MILLIS[n]), "content": _text(n, r)}),
    "Tencent Cloud": _documents(lambda n, r: {"__TIMESTAMP__": MILLIS[n], "__CONTENT__": _text(n, r)}),
    "Mezmo": _documents(lambda n, r: {"_ts": MILLIS[n], "_line": _text(n, r)}),
    "Papertrail": _lines(lambda n, text: f"77\t{ISO[n][:19]}\t{ISO[n][:19]}\t5\thost1\t10.0.0.1\tUser\tInfo\tapp\t{text}"),
    "pm2": _lines(lambda n, text: f"0|consumer  | {text}"),  # noqa: ARG005 - it prints no time
}


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", EXPORTS)
def test_structured_records_of_an_export_are_read(tmp_path: Path, name: str, library: str) -> None:
    events = read_bytes(tmp_path, EXPORTS[name](LIBRARIES[library]).encode()).rows()

    assert [row["message"] for row in events] == EXPECTED[library]
    assert {row["group"] for row in events} == {GROUP}
    assert [f"{row['at']:%Y-%m-%dT%H:%M:%S.%f}"[:23] + "Z" for row in events] == list(ISO)
    assert [row["level"] for row in events] == [record["level"] for record in LIBRARIES[library]]
