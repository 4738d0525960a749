"""Clients that reach no broker, as the programs around them tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import analyze

OUT_OF_BROKERS = "kafka: client has run out of available brokers to talk to"
LOGS = {
    "Telegraf": f"2026-05-07T09:44:00Z E! [inputs.kafka_consumer] Error in plugin: consume: {OUT_OF_BROKERS}: dial tcp 10.0.0.1:9092: "
    "connect: connection refused",
    "Filebeat": '{"log.level":"error","@timestamp":"2026-05-07T09:44:00.123Z","log.logger":"input.kafka","message":"Error initializing '
    f'kafka consumer group: error creating consumer group: {OUT_OF_BROKERS}","service.name":"filebeat"}}',
    "Jaeger": f'{{"level":"fatal","ts":1778147040.5,"msg":"Unable to create consumer",'
    f'"error":"{OUT_OF_BROKERS} (Is your cluster reachable?)"}}',
    "librdkafka": "%3|1778147041.123|ERROR|rdkafka#consumer-1| [thrd:kafka-1:9092/bootstrap]: 3/3 brokers are down",
    "confluent-kafka-python": '2026-05-07 09:44:00,123 ERROR app KafkaError{code=_ALL_BROKERS_DOWN,val=-187,str="3/3 brokers are down"}',
}


@pytest.mark.parametrize("log", LOGS.values(), ids=LOGS)
def test_a_client_that_reaches_no_broker_needs_attention(tmp_path: Path, log: str) -> None:
    (tmp_path / "app.log").write_text(log + "\n")
    (incident,) = analyze([str(tmp_path)]).incidents

    assert (incident.kind, incident.severity, incident.groups) == ("no_broker_reached", "warning", [])
    assert incident.evidence[0].line == 1
