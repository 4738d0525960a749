"""A day of RocketMQ groups of growing size: whether the time that an analysis takes grows like the lines it reads.

`python -m tests.benchmarks.bench_rocketmq [CLIENTS...] [--topics N] [--queues N] [--changes N] [--commit-seconds N] [--hide N]`
writes the files of one broker and of all clients of one group: they start one after the other, then some stop and come back
through the day, and each client writes what it takes and gives up of each topic, as 5.3 does. Commits are written once an hour
instead of each 5 s, lest the disk be what is measured. `--hide` leaves out the files of so many clients.
"""

from __future__ import annotations

import argparse
import random
import resource
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import IO

from parsers.reading.reader import ReadOptions
from pipelines.analysis.in_process import AnalyzeOptions, analyze

START = datetime(2026, 1, 1, tzinfo=UTC)
SERVER_ZONE = timedelta(hours=8)
DAY_SECONDS = 86_400.0
GROUP = "billing"
BROKERS = 4


@dataclass
class Day:
    """Clients of one group over a day, and the files that they write."""

    folder: Path
    topics: int
    queues: int
    live: list[str] = field(default_factory=list)
    held: dict[str, list[range]] = field(default_factory=dict)  # topic -> the same block of queues, as AVG assigns it
    files: dict[str, IO[str]] = field(default_factory=dict)
    lines: int = 0

    def write(self, file: str, at: float, text: str) -> None:
        out = self.files.get(file)
        if out is None:
            path = self.folder / file / ("broker.log" if file == "broker-a" else "rocketmq_client.log")
            path.parent.mkdir(parents=True)
            out = self.files[file] = path.open("a")
        when = START + SERVER_ZONE + timedelta(seconds=at)
        if file == "broker-a":
            out.write(f"{when:%Y-%m-%d %H:%M:%S} INFO HeartbeatThread_1 - {text}\n")
        else:
            stamp = f"{when:%Y-%m-%d %H:%M:%S}.{when.microsecond // 1000:03}"
            out.write(f"{stamp} INFO  [1] [RebalanceService] [o.a.r.c.i.c.RebalanceImpl#?:?] - {text}\n")
        self.lines += 1

    def channel(self, who: str, at: float) -> str:
        number = int(who.rpartition("@")[2].partition("#")[0])
        seen = round((START.timestamp() + at) * 1000)
        return (
            f"ClientChannelInfo [channel=[id: 0x{number:08x}, L:/10.0.0.1:10911 - R:/10.0.{number // 250}.{number % 250}:50000], "
            f"clientId={who}, language=JAVA, version=479, lastUpdateTimestamp={seen}]"
        )

    def start(self, who: str, at: float) -> None:
        self.write(who, at, f"the consumer [{GROUP}] start beginning. messageModel=CLUSTERING, isUnitMode=false")
        config = "ClientConfig [namesrvAddr=10.0.0.2:9876, clientIP=10.0.0.5, instanceName=1]"
        created = f"InstanceIndex:0, ClientID:{who}, ClientConfig:{config}, ClientVersion:V5_3_3, SerializerType:JSON"
        self.write(who, at, f"Created a new client Instance, {created}")
        self.write(who, at + 0.1, f"the consumer [{GROUP}] start OK.")
        for topic in range(self.topics):
            parts = ", ".join(
                f"QueueData [brokerName=broker-{broker}, readQueueNums={self.queues // BROKERS}, "
                f"writeQueueNums={self.queues // BROKERS}, perm=6, topicSysFlag=0]"
                for broker in range(BROKERS)
            )
            route = f"TopicRouteData [orderTopicConf=null, queueDatas=[{parts}], brokerDatas=[], filterServerTable={{}}]"
            self.write(who, at + 0.15, f"the topic[topic-{topic}] route info changed, old[null] ,new[{route}]")
        channel = self.channel(who, at + 0.2)
        self.write("broker-a", at + 0.2, f"new consumer connected, group: {GROUP} CONSUME_PASSIVELY CLUSTERING channel: {channel}")
        self.live = sorted([*self.live, who])
        self.held[who] = []
        self.rebalance(at + 0.3)

    def stop(self, who: str, at: float) -> None:
        self.write(who, at, f"unregister client[Producer: null Consumer: {GROUP}] from broker[broker-a 0 10.0.0.1:10911] success")
        self.write("broker-a", at, f"unregister a consumer[{GROUP}] from consumerGroupInfo {self.channel(who, at)}")
        self.live.remove(who)
        del self.held[who]
        self.rebalance(at + 0.1)

    def rebalance(self, at: float) -> None:
        """Notify all clients; those with a changed block log it for each topic."""
        size, larger = divmod(self.queues, len(self.live))
        for index, who in enumerate(self.live):
            told = f"receive broker's notification[10.0.0.1:10911], the consumer group: {GROUP} changed, rebalance immediately"
            self.write(who, at, told)
            begin = index * size + min(index, larger)
            block = range(begin, begin + size + (index < larger))
            old = self.held[who][0] if self.held[who] else range(0)
            if block != old and (block or old):
                self.held[who] = [block]
                for topic in range(self.topics):
                    self.moved(who, at + 0.05 + topic / 1000, topic, old, block)

    def queue(self, topic: int, number: int) -> str:
        each = self.queues // BROKERS
        return f"MessageQueue [topic=topic-{topic}, brokerName=broker-{number // each}, queueId={number % each}]"

    def moved(self, who: str, at: float, topic: int, old: range, block: range) -> None:
        for number in sorted(set(old) - set(block)):
            self.write(who, at, f"doRebalance, {GROUP}, remove unnecessary mq, {self.queue(topic, number)}")
        for number in sorted(set(block) - set(old)):
            self.write(who, at, f"doRebalance, {GROUP}, add a new mq, {self.queue(topic, number)}")
        share = ", ".join(self.queue(topic, number) for number in block)
        self.write(
            who, at,
            f"client rebalanced result changed. allocateMessageQueueStrategyName=AVG, group={GROUP}, topic=topic-{topic}, clientId={who}, "
            f"mqAllSize={self.queues}, cidAllSize={len(self.live)}, rebalanceResultSize={len(block)}, rebalanceResultSet=[{share}]",
        )  # fmt: skip

    def commit(self, at: float) -> None:
        for who in self.live:
            for block in self.held[who]:
                for topic in range(self.topics):
                    for number in block:
                        said = f"[persistAll] Group: {GROUP} ClientId: {who} updateConsumeOffsetToBroker {self.queue(topic, number)}"
                        self.write(who, at, f"{said} {round(at)}")

    def close(self) -> None:
        for out in self.files.values():
            out.close()


def write_day(folder: Path, clients: int, topics: int, queues: int, changes: int, commit_seconds: float) -> int:
    """Write the files of a day; return the number of lines."""
    day = Day(folder, topics, queues)
    draw = random.Random(clients)  # noqa: S311 - not a secret
    names = [f"10.1.{number // 250}.{number % 250}@{number}#{number * 7919}" for number in range(clients)]
    draw.shuffle(names)
    moments = [(number * 3600.0 / clients, "start", who) for number, who in enumerate(names)]
    for number in range(changes):
        who = draw.choice(names)
        at = 4000.0 + number * (DAY_SECONDS - 5000.0) / changes
        moments += [(at, "stop", who), (at + 60.0, "start", who)]
    moments += [(at, "commit", "") for at in _every(commit_seconds)]
    for at, deed, who in sorted(moments):
        if deed == "commit":
            day.commit(at)
        else:
            getattr(day, deed)(who, at)
    day.close()
    return day.lines


def _every(seconds: float) -> Iterable[float]:
    return (number * seconds for number in range(1, int(DAY_SECONDS / seconds)))


def measure(clients: int, options: argparse.Namespace) -> None:
    """One line of results."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        written = write_day(folder, clients, options.topics, options.queues, options.changes, options.commit_seconds)
        for hidden in sorted(folder.glob("10.*"))[: options.hide]:
            for path in hidden.iterdir():
                path.unlink()
        size = sum(path.stat().st_size for path in folder.rglob("*.log"))
        began, used = time.monotonic(), time.process_time()
        found = analyze([name], AnalyzeOptions(read=ReadOptions()))
        seconds, used = time.monotonic() - began, time.process_time() - used
    lines = found.totals["lines"]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    rows = f"{len(found.allocation_changes):,} changes, {len(found.ownership):,} stretches, {len(found.rebalances):,} rebalances"
    print(f"{clients:>6,} clients  {lines:>10,} lines ({written:,} written)  {size / 1e6:>8,.1f} MB  {seconds:>7.1f} s  "
          f"{used / lines * 1e6:>6.1f} us of processor time a line  {memory:>7,.0f} MiB at most  {rows}", flush=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clients", nargs="*", type=int, default=[10, 30, 100, 300, 1000])
    parser.add_argument("--topics", type=int, default=100)
    parser.add_argument("--queues", type=int, default=64)
    parser.add_argument("--changes", type=int, default=48, help="stops of a client, each with a start a minute later")
    parser.add_argument("--commit-seconds", type=float, default=3600.0)
    parser.add_argument("--hide", type=int, default=0, help="how many clients' files to leave out")
    options = parser.parse_args()
    for clients in options.clients:
        measure(clients, options)


if __name__ == "__main__":
    main()
