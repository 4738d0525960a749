"""Excerpts of RocketMQ in which no queue is shared out, though queues have no reader.

Wordings of RebalanceImpl.java (4.0 to 5.5), RouteInfoManager.java (4.0 to 4.9) and ControllerManager.java (5.0 to 5.5).
"""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze

QUEUE = "MessageQueue [topic=ore, brokerName=broker-c, queueId=2]"
ADDRESS = "10.30.1.4:10911"
LOST = f"the broker's channel destroyed, {ADDRESS}, clean it's data structure at once"
GONE = "remove brokerName[broker-c] from brokerAddrTable, because channel destroyed"
ELECTED = "Elect a new master in broker-set: broker-c done, result: x"


def told(folder: Path, name: str, *lines: tuple[int, str]) -> AnalysisResult:
    path = folder / name
    path.write_text("".join(f"2029-04-02 10:{at // 60:02d}:{at % 60:02d} WARN Thread_1 - {text}\n" for at, text in lines), encoding="utf-8")
    return analyze([str(path)])


LOCK_FAILED = f"the message queue locked Failed, Group: miners {QUEUE}"
CLIENTS: dict[str, tuple[list[tuple[int, str]], str | None]] = {
    "a lock that was lost": ([(7, LOCK_FAILED), (8, f"the message queue not locked, so consume later, {QUEUE}")], "lock_missing"),
    "a lock that another still has, in passing": ([(7, f"the message queue lock Failed, miners {QUEUE}")], None),
    "no list of clients": ([(at, "doRebalance, miners ore, get consumer id list failed") for at in (10, 30, 50)], "allocation_failed"),
    "no list before the first heartbeat": ([(10, "doRebalance, miners ore, get consumer id list failed")], None),
}


@pytest.mark.parametrize(("lines", "kind"), CLIENTS.values(), ids=CLIENTS)
def test_queues_that_nobody_reads_are_told_without_a_rebalance(tmp_path: Path, lines: list[tuple[int, str]], kind: str | None) -> None:
    found = told(tmp_path, "rocketmq_client.log", *lines)
    assert list(found.rebalances) == []
    assert [(incident.kind, incident.groups, incident.severity) for incident in found.incidents] == (
        [] if kind is None else [(kind, ["miners"], "warning")]
    )


SERVERS: dict[str, tuple[str, list[tuple[int, str]], str, str]] = {
    "gone": ("namesrv.log", [(7, LOST), (7, GONE)], "broker_unregistered", "broker-c, not seen back"),
    "back": (
        "namesrv.log",
        [(7, LOST), (7, GONE), (67, f"new broker registered, {ADDRESS} HAServer: 10.30.1.4:10912")],
        "broker_unregistered",
        "broker-c, back after 60 s",
    ),
    "a new master": ("controller.log", [(7, ELECTED)], "master_changed", "broker-c changed its master"),
    "no master": (
        "controller.log",
        [(7, "Failed to elect a new master for broker broker-c"), (27, "Failed to elect a new master for broker broker-c")],
        "master_changed",
        "broker-c had no master for 20 s",
    ),
}


@pytest.mark.parametrize(("name", "lines", "kind", "words"), SERVERS.values(), ids=SERVERS)
def test_servers_alone_tell_of_brokers(tmp_path: Path, name: str, lines: list[tuple[int, str]], kind: str, words: str) -> None:
    found = told(tmp_path, name, *lines)
    assert list(found.rebalances) == []
    (incident,) = found.incidents
    assert (incident.kind, incident.groups) == (kind, [])
    assert words in incident.headline
