"""Small stories of RocketMQ groups, in the wordings of 4.9, and what a person has to be told."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import pytest

from pipelines.analysis.in_process import AnalysisResult, analyze
from tests.behaviour.coordinator_log import START, stamp

QUEUES = [0, 1, 2, 3]
HOST = timedelta(hours=8)
"""Brokers write the time of their host, here that of China; clients' log in UTC."""


def client(number: int) -> str:
    return f"10.20.8.1{number}@10{number}#83722786959667{number}"


def queue(number: int) -> str:
    return f"MessageQueue [topic=T, brokerName=broker-a, queueId={number}]"


@dataclass
class Log:
    """Lines of a client, or of a broker without a number, in any order."""

    number: int | None = None
    lines: list[tuple[float, int, str]] = field(default_factory=list)

    def add(self, at: float, text: str, level: str = "INFO") -> Log:
        printed = stamp(at) if self.number is not None else f"{START + HOST + timedelta(seconds=at):%Y-%m-%d %H:%M:%S}"
        thread = "RocketmqClient" if self.number is not None else "HeartbeatThread_1"
        self.lines.append((at, len(self.lines), f"{printed} {level} {thread} - {text}\n"))
        return self

    def start(self, at: float) -> Log:
        who = client(self.number or 0)
        self.add(at, "the consumer [CG] start beginning. messageModel=CLUSTERING, isUnitMode=false")
        settings = f"ClientConfig [namesrvAddr=10.20.9.100:9876, clientIP={who.partition('@')[0]}, instanceName={who.partition('@')[2]}]"
        self.add(at + 0.1, f"Created a new client Instance, InstanceIndex:0, ClientID:{who}, ClientConfig:{settings}")
        return self.add(at + 0.2, f"the client factory [{who}] start OK").add(at + 0.21, "the consumer [CG] start OK.")

    def share(self, at: float, now: list[int], before: list[int], clients: int) -> Log:
        """A run that changes the client's share."""
        for number in before:
            if number not in now:
                self.add(at - 0.01, f"doRebalance, CG, remove unnecessary mq, {queue(number)}")
        for number in now:
            if number not in before:
                self.add(at - 0.009, f"doRebalance, CG, add a new mq, {queue(number)}")
        head = f"rebalanced result changed. allocateMessageQueueStrategyName=AVG, group=CG, topic=T, clientId={client(self.number or 0)}"
        held = ", ".join(map(queue, now))
        sizes = f"mqAllSize=4, cidAllSize={clients}, rebalanceResultSize={len(now)}"
        return self.add(at, f"{head}, {sizes}, rebalanceResultSet=[{held}]")

    def notified(self, at: float) -> Log:
        return self.add(at, "receive broker's notification[10.20.9.1:10911], the consumer group: CG changed, rebalance immediately")

    def connected(self, at: float, number: int) -> Log:
        """The broker's line about a new client."""
        channel = f"[id: 0x1025f00{number}, L:/10.20.9.1:10911 - R:/10.20.8.1{number}:45014]"
        info = f"ClientChannelInfo [channel={channel}, clientId={client(number)}, language=JAVA, version=407, lastUpdateTimestamp=1774]"
        return self.add(at, f"new consumer connected, group: CG CONSUME_PASSIVELY CLUSTERING channel: {info}")


def pair() -> tuple[Log, Log, Log]:
    """Two clients that share four queues, and their broker."""
    first, second, broker = Log(1).start(-600), Log(2).start(-500), Log()
    first.share(-599, QUEUES, [], 1).notified(-499.5).share(-499.2, [0, 1], QUEUES, 2)
    second.share(-499, [2, 3], [], 2)
    for log in (first, second):
        log.add(900, "[PULL_TPS] [T@CG] Stats In One Minute, SUM: 120 TPS: 2.00 AVGPT: 1.00")
    return first, second, broker.connected(-600, 1).connected(-500, 2)


def told(folder: Path, *logs: Log) -> AnalysisResult:
    for number, log in enumerate(logs):
        path = folder / str(number) / ("broker.log" if log.number is None else "rocketmq_client.log")
        path.parent.mkdir(parents=True)
        path.write_text("".join(line for _, _, line in sorted(log.lines)), encoding="utf-8")
    return analyze([str(folder)])


def last_change(found: AnalysisResult) -> tuple[str, float, list[str | None]]:
    change = max(found.allocation_changes, key=lambda row: row.changed_at)
    return change.cause, change.confidence, [each.client_id for each in change.offenders]


def split(*, heals: bool) -> tuple[Log, Log, Log]:
    """The second client does not reach its broker any more, which takes it off its list; it keeps its queues."""
    first, second, broker = pair()
    broker.add(120, "SCAN: remove expired channel from ConsumerManager consumerTable. channel=10.20.8.12:45014, consumerGroup=CG", "WARN")
    first.notified(120.1).share(120.4, QUEUES, [0, 1], 1)
    for at in range(0, 300, 30):
        second.add(at, "send heart beat to broker[broker-a 0 10.20.9.1:10911] failed", "WARN")
    if heals:
        first.notified(310.1).share(310.4, [0, 1], QUEUES, 2)
        broker.connected(310, 2)
    return first, second, broker


def test_a_client_that_its_broker_does_not_hear_shares_its_queues(tmp_path: Path) -> None:
    found = told(tmp_path, *split(heals=True))
    twice = {row.queue: row for row in found.ownership if row.kind == "two_owners"}
    assert sorted(twice) == ["broker-a:2", "broker-a:3"]
    assert all(pytest.approx((row.ended_at - row.started_at) / 1e6, abs=1) == 190 for row in twice.values())
    (incident,) = (each for each in found.incidents if each.severity == "critical")
    assert f"had two owners for 3 min 10 s; {client(2)} fell silent" in incident.headline


def test_without_the_broker_nobody_is_told_to_have_started_who_went(tmp_path: Path) -> None:
    first, second, _ = split(heals=False)
    cause, confidence, offenders = last_change(told(tmp_path, first, second))
    assert cause != "consumer_start"
    assert (confidence < 0.7, offenders) == (True, [])


def test_a_restart_is_a_stop_and_a_start(tmp_path: Path) -> None:
    first, second, _ = pair()
    second.add(-0.1, "unregister client[Producer: null Consumer: CG] from broker[broker-a 0 10.20.9.1:10911] success")
    second.add(0, "the consumer [CG] shutdown OK").start(20).share(21, [2, 3], [], 2)
    first.notified(0.05).share(0.3, QUEUES, [0, 1], 1).notified(20.5).share(20.8, [0, 1], QUEUES, 2)
    found = told(tmp_path, first, second)
    causes = [row.cause for row in sorted(found.rebalances, key=lambda row: row.began)]
    assert causes[-2:] == ["consumer_stop", "consumer_start"]
    assert {each.severity for each in found.incidents} == {"info"}


def filters(*expressions: str, apart: float = 30) -> Log:
    """A broker's lines about the filter of a topic, one after the other."""
    broker = Log().connected(-600, 1).connected(-500, 2)
    form = (
        "SubscriptionData [classFilterMode=false, topic=T, subString={0}, tagsSet=[{0}], codeSet=[6], subVersion={1}, expressionType=TAG]"
    )
    for number, (before, after) in enumerate(pairwise(expressions)):
        old, new = form.format(before, 1774000 + number), form.format(after, 1774001 + number)
        broker.add(apart * number, f"subscription changed, group: CG OLD: {old} NEW: {new}")
    return broker


@pytest.mark.parametrize(
    ("expressions", "apart", "is_fault"),
    [
        ("ABABAB", 30, True),
        ("AB", 30, False),
        ("ABA", 30, False),
        ("AAAA", 30, False),
        ("ABA", 1, True),
        ("ABA", 29, True),
        ("AB", 1, False),
        ("AAA", 1, False),
    ],
    ids=str,
)
def test_filters_that_replace_each_other_are_of_clients_that_differ(tmp_path: Path, expressions: str, apart: float, is_fault: bool) -> None:
    """What is taken back after a heartbeat interval or later may be a deployment; sooner, it is another client's heartbeat."""
    conditions = list(told(tmp_path, filters(*expressions, apart=apart)).conditions)
    assert [each.kind for each in conditions] == (["subscription_mismatch"] if is_fault else [])
    assert all("heartbeats set the filter of T to A and B in turn" in each.detail for each in conditions)


@pytest.mark.parametrize("is_known", [True, False], ids=["connected in the log", "connected before it"])
def test_a_channel_that_expires_is_a_consumer_that_fell_silent(tmp_path: Path, is_known: bool) -> None:
    broker = Log().connected(-600, 1) if is_known else Log()
    expired = "SCAN: remove expired channel from ConsumerManager consumerTable"
    broker.add(0, f"{expired}. channel=10.20.8.11:45014, consumerGroup=CG", "WARN").add(
        0, f"{expired}, all clear, consumerGroup=CG", "WARN"
    )
    last = max(told(tmp_path, broker).rebalances, key=lambda row: row.began)
    assert (last.group, last.cause) == ("CG", "channel_expired")
    assert [each.client_id for each in last.offenders] == [client(1) if is_known else "10.20.8.11:45014"]
