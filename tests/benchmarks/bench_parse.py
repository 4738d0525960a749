"""How fast logs are parsed, beside DuckDB in the same run: `python -m tests.benchmarks.bench_parse [--megabytes 1024]`.

Makes its own input: a mixed server.log of which 5% of the lines concern groups and leaders, and one of which all do. Each is
parsed to events with line numbers and byte offsets in this process on one core, and searched by DuckDB with one
thread, warm: the mixed one for coordinator lines and their groups, the other one for its header fields. Both take turns, round
by round. Prints seconds of processor time, the best of the rounds, and how often DuckDB's time ours is, by the best and in the
median round. Targets: mixed 1.7, all relevant 1.7. Then the mixed log in a layout that is not known, beside the same in a known
one other than Kafka's own: at most 3 times. Last, the megabytes a second of other forms: the same lines as JSON and in envelopes of
containers, beside the plain lines, at least half as many; and simulated request logs, beside the log of which all lines concern groups,
at least 0.7 times as many.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import statistics
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import duckdb

from parsers.catalogue.catalogue import catalogue
from parsers.reading.reader import ReadOptions, find_files, read_file

BLOCK_LINES = 20_000
RELEVANT_SHARE = 0.05
SOURCE = "read_csv('{path}', delim='\\x01', quote='', escape='', header=false, columns={{'line':'VARCHAR'}}, auto_detect=false)"
MIXED_QUERY = (
    "select count(*), max(regexp_extract(line, 'group (.*) in state', 1)) from " + SOURCE + " where contains(line, 'GroupCoordinator')"
)
RELEVANT_QUERY = (
    "select count(*), max(found.at), max(found.level), max(found.message), max(found.logger) from (select regexp_extract(line, "
    "'^\\[([^\\]]*)\\] (\\w+) +(.*) \\(([^ ()]+)\\)$', ['at', 'level', 'message', 'logger']) as found from " + SOURCE + ")"
)

# Lines of busy brokers 2.8 to 4.1 that concern neither groups nor leaders, each with its frequency.
_DIR = "/var/lib/kafka/data"
_SEGMENT = "LogSegment(baseOffset={n}, size=1073741802, lastModifiedTime=1795252075040, largestRecordTimestamp=Some(1795252075040))"
OTHER = (
    (20, "[UnifiedLog partition={topic}-{p}, dir=" + _DIR + "] Rolled new log segment at offset {n} in {ms} ms.", "kafka.log.UnifiedLog"),
    (
        14,
        "[ProducerStateManager partition={topic}-{p}] Wrote producer snapshot at offset {n} with 0 producer ids in {ms} ms.",
        "kafka.log.ProducerStateManager",
    ),
    (14, "[LocalLog partition={topic}-{p}, dir=" + _DIR + "] Deleting segment files " + _SEGMENT, "kafka.log.LocalLog$"),
    (10, "Deleted log " + _DIR + "/{topic}-{p}/000000000000{n}.log.deleted.", "kafka.log.LogSegment"),
    (10, "Deleted offset index " + _DIR + "/{topic}-{p}/000000000000{n}.index.deleted.", "kafka.log.LogSegment"),
    (
        6,
        "[ReplicaFetcher replicaId=1, leaderId=2, fetcherId=0] Truncating partition {topic}-{p} to local high watermark {n}",
        "kafka.server.ReplicaFetcherThread",
    ),
    (
        6,
        "Cleaner 0: Cleaning " + _SEGMENT + " in log {topic}-{p} into {n} with deletion horizon {n}, retaining deletes.",
        "kafka.log.LogCleaner",
    ),
    (
        5,
        "[Admin Manager on Broker 1]: Updating topic {topic} with new configuration : cleanup.policy -> compact",
        "kafka.server.ZkAdminManager",
    ),
    (4, "[SocketServer listenerType=BROKER, nodeId=1] Failed authentication with /10.0.3.{ms}", "org.apache.kafka.common.network.Selector"),
    (
        4,
        "[TransactionCoordinator id=1] Initialized transactionalId {topic}-{n} with producerId {n} and producer epoch {p} "
        "on partition __transaction_state-{p}",
        "kafka.coordinator.transaction.TransactionCoordinator",
    ),
    (3, "[NodeToControllerChannelManager id=1 name=forwarding] Node {p} disconnected.", "org.apache.kafka.clients.NetworkClient"),
)
_PREPARING = (
    "Preparing to rebalance group {group} in state PreparingRebalance with old generation {before} (__consumer_offsets-{p}) (reason: "
)
_STABLE = (
    "Stabilized group {group} generation {after} (__consumer_offsets-{p}) with {size} members",
    "Assignment received from leader {leader} for group {group} for generation {after}. "
    "The group has {size} members, 0 of which are static.",
)
# A member leaves and rejoins repeatedly; each line has the index of its generation in the round.
ROUND = (
    (
        0,
        "Dynamic member with unknown member id joins group {group} in Stable state. Created a new member id {member} "
        "and request the member to rejoin with this id.",
    ),
    (0, _PREPARING + "Adding new member {member} with group instance id None; client reason: not provided)"),
    *((0, text) for text in _STABLE),
    (1, "Member {member} in group {group} has failed, removing it from the group"),
    (1, _PREPARING + "removing member {member} on heartbeat expiration)"),
    *((1, text) for text in _STABLE),
)
HEADER = re.compile(rb"^\[(\d{4})-(\d\d)-(\d\d) (\d\d:\d\d:\d\d),(\d{3})\] (\w+) (.*) \(([\w.$]+)\)$", re.MULTILINE)
KNOWN = rb"\1-\2-\3 \4,\5 \6 [main] \8 - \7"
UNKNOWN = rb"<\6> on \3/\2/\1 at \4.\5 <<\7>> ~~"
COORDINATOR = "kafka.coordinator.group.GroupCoordinator"
FETCHERS = "[ReplicaFetcherManager on broker 1] Removed fetcher for partitions Set({topic}-{p}) (kafka.server.ReplicaFetcherManager)\n"
FETCHERS_SHARE = 0.1  # of the lines about groups
RESTLESS_ONE_IN = 10
SPELL_MS = 600_000
FORM_BYTES = 50_000_000
BODIES = 50_000
START = datetime(2026, 11, 1)  # logs have no zone


NAMES = ("orders", "billing", "email-sender", "fraud-score")


class Maker:
    """Writes log lines in order of time, each drawn at random.

    One group in ten is restless at a time, for ten minutes or until it is stable; with `restless` all are, all the
    time.
    """

    def __init__(self, relevant_share: float, *, restless: bool = False, groups: int = 240) -> None:
        self._chance = random.Random(20261121)  # noqa: S311 - the same input each time
        self._share = relevant_share
        self._bodies = [self._other() for _ in range(BODIES if relevant_share < 1 else 0)]
        names = [f"{NAMES[number % len(NAMES)]}-{number // len(NAMES)}" for number in range(groups)]
        self._groups = [self._rounds(name, self._member(name)) for name in names]
        self._to_say: list[list[str]] = [[] for _ in names]
        self._at_once = len(names) if restless else len(names) // RESTLESS_ONE_IN
        self._spell, self._restless = -1, list[int]()
        self._ms = 0

    def _member(self, group: str) -> str:
        return f"{group}-worker-{self._chance.randrange(9)}-{uuid.UUID(int=self._chance.getrandbits(128))}"

    def _other(self) -> str:
        chance = self._chance
        _, text, logger = chance.choices(OTHER, [each[0] for each in OTHER])[0]
        topic, partition = f"topic-{chance.randrange(300)}", chance.randrange(50)
        return f"{text.format(topic=topic, p=partition, n=chance.randrange(10**8), ms=chance.randrange(1, 250))} ({logger})\n"

    def _rounds(self, group: str, leader: str) -> Iterator[list[str]]:
        """Lines of the coordinator about one group, between two stable states."""
        partition, generation = self._chance.randrange(50), 1
        while True:
            member, said = self._member(group), []
            for turn, text in ROUND:
                before = generation + turn
                values = {"group": group, "member": member, "leader": leader, "p": partition, "size": 4 - turn}
                said.append(f"[GroupCoordinator 1]: {text.format(before=before, after=before + 1, **values)} ({COORDINATOR})\n")
            yield said[::-1]
            generation += 2

    def _fetchers(self) -> str:
        """Lines of a follower after changes of leaders."""
        return FETCHERS.format(topic=f"topic-{self._chance.randrange(300)}", p=self._chance.randrange(50))

    def _relevant(self, chance: float) -> str:
        """The next line of a restless group, or of a follower."""
        speaking = self._speaking()
        place = int(chance * len(speaking) * (1 + FETCHERS_SHARE))
        if place >= len(speaking):
            return self._fetchers()
        group = speaking[place]
        if not self._to_say[group]:
            self._to_say[group] = next(self._groups[group])
        return self._to_say[group].pop()

    def _speaking(self) -> list[int]:
        spell = self._ms // SPELL_MS
        if spell != self._spell:
            first = spell * self._at_once % len(self._groups)
            settling = [group for group, said in enumerate(self._to_say) if said]
            self._spell, self._restless = spell, sorted({*settling, *range(first, first + self._at_once)})
        elif len(self._restless) > self._at_once:
            first = spell * self._at_once % len(self._groups)
            self._restless = [group for group in self._restless if self._to_say[group] or first <= group < first + self._at_once]
        return self._restless

    def blocks(self, size: int) -> Iterator[bytes]:
        """Lines up to about `size` bytes."""
        draw, relevant, bodies, share = self._chance.random, self._relevant, self._bodies, self._share
        made = 0
        while made < size:
            lines = []
            while len(lines) < BLOCK_LINES:
                second = f"[{START + timedelta(seconds=self._ms // 1000):%Y-%m-%d %H:%M:%S},"
                for ms in range(0, 1000, 4):
                    body = relevant(draw()) if draw() < share else bodies[int(draw() * len(bodies))]
                    lines.append(f"{second}{ms:03d}] INFO {body}")
                self._ms += 1000
            block = "".join(lines).encode()
            made += len(block)
            yield block


def make(path: Path, size: int, relevant_share: float) -> None:
    """Write a log of about `size` bytes."""
    with path.open("wb") as file:
        for block in Maker(relevant_share).blocks(size):
            file.write(block)


class Timed(NamedTuple):
    """One round of one side: seconds, and the result."""

    busy: float
    wall: float
    result: int


def timed(work: Callable[[], int]) -> Timed:
    """Processor and wall time of one round."""
    wall, busy = time.perf_counter(), time.process_time()
    result = work()
    return Timed(time.process_time() - busy, time.perf_counter() - wall, result)


def parse(path: Path) -> int:
    """Events of a file."""
    (source,) = find_files([str(path)]).files
    return sum(chunk.events.num_rows for chunk in read_file(source, ReadOptions(fold_runs=True)))


def search(query: str, path: Path) -> int:
    """Rows found by DuckDB with one thread."""
    with duckdb.connect(config={"threads": 1}) as database:
        row = database.execute(query.format(path=path)).fetchone()
    return int(row[0]) if row else 0


def compare(name: str, path: Path, query: str, rounds: int, target: float) -> None:
    """Print one comparison."""
    search(query, path)  # after this the file is in the page cache
    # Alternating, so that a slow period of the machine affects both.
    pairs = [(timed(lambda: search(query, path)), timed(lambda: parse(path))) for _ in range(rounds)]
    theirs, ours = (min(side) for side in zip(*pairs, strict=True))
    middle = statistics.median(mine.busy / other.busy for other, mine in pairs)
    size = path.stat().st_size / 1e6
    print(
        f"{name}: {size:.0f} MB, {ours.result} events in {ours.busy:.2f} s ({size / ours.busy:.0f} MB/s); "
        f"DuckDB {theirs.result} rows in {theirs.busy:.2f} s: {ours.busy / theirs.busy:.2f} times (target {target}), "
        f"{middle:.2f} times in the median of {rounds} rounds; wall {ours.wall:.2f} s and {theirs.wall:.2f} s"
    )


def relay(source: Path, target: Path, layout: bytes) -> None:
    """Write a log in another layout."""
    with source.open("rb") as read, target.open("wb") as write:
        write.writelines(HEADER.sub(layout, line) for line in read)


def compare_layouts(path: Path, rounds: int) -> None:
    """Print how much longer a log in an unknown layout takes than in a known one."""
    known, unknown = path.with_name("known.log"), path.with_name("unknown.log")
    relay(path, known, KNOWN)
    relay(path, unknown, UNKNOWN)
    pairs = [(timed(lambda: parse(known)), timed(lambda: parse(unknown))) for _ in range(rounds)]
    one, other = (min(side) for side in zip(*pairs, strict=True))
    middle = statistics.median(second.busy / first.busy for first, second in pairs)
    print(
        f"unknown layout: {other.result} events in {other.busy:.2f} s; known layout: {one.result} events in {one.busy:.2f} s: "
        f"{other.busy / one.busy:.2f} times (target 3), {middle:.2f} times in the median of {rounds} rounds"
    )


def as_json(stamp: str, line: bytes, parts: re.Match[bytes]) -> bytes:
    """A record as Logback's JSON encoder writes it."""
    level, message, logger = (parts[group].decode() for group in (6, 7, 8))
    record = {"@timestamp": f"{stamp}Z", "level": level, "logger_name": logger, "thread_name": "main", "message": message}
    return json.dumps(record, separators=(",", ":")).encode()


def in_docker(stamp: str, line: bytes, parts: re.Match[bytes]) -> bytes:
    """A line in Docker's json-file."""
    return json.dumps({"log": f"{line.decode()}\n", "stream": "stdout", "time": f"{stamp}000000Z"}, separators=(",", ":")).encode()


def in_runtime(stamp: str, line: bytes, parts: re.Match[bytes]) -> bytes:
    """A line in a log of Kubernetes."""
    return f"{stamp}000000Z stdout F ".encode() + line


FORMS = {"JSON": as_json, "Docker": in_docker, "Kubernetes": in_runtime}


def compare_forms(name: str, path: Path, rounds: int) -> None:
    """Print the speed of other forms beside that of the same lines in Kafka's own."""
    plain = path.with_name("plain.log")
    with path.open("rb") as read:
        plain.write_bytes(read.read(FORM_BYTES).rpartition(b"\n")[0] + b"\n")
    for form, write in FORMS.items():
        other = path.with_name("form.log")
        with plain.open("rb") as read, other.open("wb") as written:
            for line in map(bytes.rstrip, read):
                parts = HEADER.fullmatch(line)
                if parts is None:
                    continue
                day = b"-".join(parts.group(1, 2, 3)).decode()
                written.write(write(f"{day}T{parts[4].decode()}.{parts[5].decode()}", line, parts) + b"\n")
        print_speeds(f"{name} as {form}", other, plain, rounds, 0.5)


def compare_requests(path: Path, rounds: int) -> None:
    """Print the speed of request logs beside that of a log that is all about groups."""
    program = str(Path(sys.executable).with_name("groupscope"))
    for name, version in (("requests as JSON", "3.9.1"), ("requests as text", "1.1.1")):
        with tempfile.TemporaryDirectory(dir=path.parent) as folder:
            made = Path(folder) / "made"
            command = [program, "simulate", "busy_day", "--kafka-version", version, "--request-log", "--duration", "3h", "--out", str(made)]
            subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
            print_speeds(name, max(made.rglob("kafka-request.log"), key=lambda log: log.stat().st_size), path, rounds, 0.7)


def print_speeds(name: str, other: Path, plain: Path, rounds: int, target: float) -> None:
    """Print megabytes a second of two files, read in turn, and their ratio."""
    pairs = [(timed(lambda: parse(plain)), timed(lambda: parse(other))) for _ in range(rounds)]
    ours, theirs = other.stat().st_size / 1e6, plain.stat().st_size / 1e6
    ratio = statistics.median((ours / second.busy) / (theirs / first.busy) for first, second in pairs)
    speed = statistics.median(ours / second.busy for _, second in pairs)
    print(f"{name}: {ours:.0f} MB, {speed:.0f} MB/s, {ratio:.2f} of the plain log's in the median of {rounds} rounds (target {target})")


def main() -> None:
    """Make the files, compare, remove them."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    options.add_argument("--megabytes", type=int, default=1024)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--folder", help="where to write the input (default: the system's temporary folder)")
    given = options.parse_args()
    catalogue()  # loaded once per process
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        path = Path(folder) / "server.log"
        make(path, given.megabytes << 20, RELEVANT_SHARE)
        compare("mixed", path, MIXED_QUERY, given.rounds, 1.7)
        compare_layouts(path, given.rounds)
        compare_forms("mixed", path, given.rounds)
        make(path, given.megabytes << 20, 1.0)
        compare("all relevant", path, RELEVANT_QUERY, given.rounds, 1.7)
        compare_forms("all relevant", path, given.rounds)
        compare_requests(path.with_name("plain.log"), given.rounds)


if __name__ == "__main__":
    main()
