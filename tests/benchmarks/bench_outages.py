"""One broker of many is lost: how long the analysis of a large cluster's state changes takes, and what memory it needs.

`python -m tests.benchmarks.bench_outages [PARTITIONS] [BROKERS]` writes the controller's files of a cluster (each
partition is created with three replicas, every seventh with one), loses broker 1 and gets it back, then analyses them.

`python -m tests.benchmarks.bench_outages --hours HOURS [PARTITIONS]` replays a cluster that loses one of three brokers each two
hours: from the beginning, and from the state that a run would have kept a quarter of an hour before the end of the logs.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from models.units import US_PER_SECOND
from pipelines.analysis import in_process as local
from pipelines.analysis.in_process import AnalyzeOptions, analyze
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.analysis.spill import EventStore
from pipelines.transforms.outage_replay import OutageReplay
from pipelines.transforms.replay_checkpoints import CLUSTER_SNAPSHOTS, STATE, CheckpointBoundary
from tests.pipelines import losses

START = datetime(2026, 1, 1, tzinfo=UTC)
LONE_EVERY = 7
LOST = 1


def replicas_of(partition: int, brokers: int) -> list[int]:
    first = partition % brokers + 1
    count = 1 if partition % LONE_EVERY == 0 else 3
    return [(first - 1 + step * 7) % brokers + 1 for step in range(count)]


def name_of(partition: int) -> str:
    return f"topic{partition // 100:05}-{partition % 100}"


def state_changes(partitions: int, brokers: int) -> Iterator[str]:
    """state-change.log of a 2.8 controller."""
    head = "[Controller id=2 epoch=1]"
    at = START

    def line(text: str) -> str:
        stamp = at.strftime("%Y-%m-%d %H:%M:%S,%f")[:-3]
        return f"[{stamp}] INFO {head} {text} (state.change.logger)\n"

    for partition in range(partitions):
        name, replicas = name_of(partition), replicas_of(partition, brokers)
        at += timedelta(milliseconds=1)
        held = ",".join(map(str, replicas))
        yield line(f"Changed partition {name} state from NonExistentPartition to NewPartition with assigned replicas {held}")
        isr = ", ".join(map(str, replicas))
        yield line(
            f"Changed partition {name} from NewPartition to OnlinePartition with state "
            f"LeaderAndIsr(leader={replicas[0]}, leaderEpoch=0, isr=List({isr}), zkVersion=0)"
        )
    at = START + timedelta(hours=1)
    for partition in range(partitions):
        name, replicas = name_of(partition), replicas_of(partition, brokers)
        if LOST not in replicas:
            continue
        left = [node for node in replicas if node != LOST]
        leader = -1 if not left else left[0] if replicas[0] == LOST else replicas[0]
        yield line(
            f"Partition {name} state changed to (Leader:{leader},ISR:{','.join(map(str, left or replicas))},LeaderEpoch:1,ZkVersion:1,"
            f"ControllerEpoch:1) after removing replica {LOST} from the ISR as part of transition to OfflineReplica"
        )
    at = START + timedelta(hours=1, minutes=5)
    for partition in range(partitions):
        if replicas_of(partition, brokers) == [LOST]:
            yield line(
                f"Changed partition {name_of(partition)} from OfflinePartition to OnlinePartition with state "
                f"LeaderAndIsr(leader={LOST}, leaderEpoch=2, isr=List({LOST}), zkVersion=2)"
            )


def controller(brokers: int) -> Iterator[str]:
    """controller.log beside it."""
    others = ",".join(str(node) for node in range(1, brokers + 1) if node != LOST)
    gone = f"Newly added brokers: , deleted brokers: {LOST}, bounced brokers: , all live brokers: {others}"
    back = f"Newly added brokers: {LOST}, deleted brokers: , bounced brokers: , all live brokers: {LOST},{others}"
    for minutes, text in ((60, gone), (65, back)):
        stamp = (START + timedelta(minutes=minutes)).strftime("%Y-%m-%d %H:%M:%S,000")
        yield f"[{stamp}] INFO [Controller id=2] {text} (kafka.controller.KafkaController)\n"


def main(partitions: int, brokers: int) -> None:
    """Write the files, analyse them, print the results."""
    with tempfile.TemporaryDirectory() as folder:
        node = Path(folder) / "broker-2"
        node.mkdir()
        for name, lines in (("state-change.log", state_changes(partitions, brokers)), ("controller.log", controller(brokers))):
            with (node / name).open("w", encoding="utf-8") as log:
                log.writelines(lines)
        size = sum(path.stat().st_size for path in node.iterdir())
        before, wall = time.process_time(), time.perf_counter()
        found = analyze([folder])
        spent, wall = time.process_time() - before, time.perf_counter() - wall
    lines = found.totals["lines"]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"{partitions:,} partitions, {brokers} brokers: {lines:,} lines, {size / 1e6:.0f} MB; {spent:.1f} s of CPU ({wall:.1f} s), "
        f"{1e6 * spent / lines:.1f} us a line, {peak:.0f} MB at most; {len(found.outages):,} outages, "
        f"{len(found.leader_moves):,} moves, {len(found.broker_outages)} broker outages\n"
    )


def history(hours: int, partitions: int) -> None:
    """Replay a whole history, and only its end from a checkpoint; print both."""
    with tempfile.TemporaryDirectory() as folder:
        losses.write(Path(folder), hours, partitions)
        batches = events_of(folder)
    last = losses.START + timedelta(hours=hours - 1)
    end = int(last.timestamp()) * US_PER_SECOND + 10 * 60 * US_PER_SECOND
    boundary = CheckpointBoundary(end - 15 * 60 * US_PER_SECOND, 0, "", "", "")
    replay = OutageReplay({}, {}, {}, boundaries={"c": [boundary]})
    events = sum(batch.num_rows for batch in batches)
    whole = time.perf_counter()
    found = list(replay("c", iter(batches)))
    whole = time.perf_counter() - whole
    [state] = (row.state for rows in found for row in rows.get(CLUSTER_SNAPSHOTS, ()))
    later = [batch.filter(pc.field("file_time_max_at") > pa.scalar(boundary.upto, pa.timestamp("us", "UTC"))) for batch in batches]
    resumed = time.perf_counter()
    again = list(OutageReplay({}, {}, {})("c", iter([state_row(later[-1], state), *(batch for batch in later if batch.num_rows)])))
    resumed = time.perf_counter() - resumed
    rows, made = (sum(len(own) for each in told for own in each.values()) for told in (found, again))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    sys.stdout.write(
        f"{events:,} events, {rows:,} rows, {peak:.0f} MB at most: replayed in {whole:.1f} s, {1e6 * whole / events:.0f} us an event; "
        f"{sum(batch.num_rows for batch in later):,} events, {made:,} rows from a state of {len(state) / 1e6:.1f} MB in {resumed:.2f} s, "
        f"{whole / resumed:.0f} times as fast\n"
    )


def events_of(folder: str) -> list[pa.RecordBatch]:
    """Events about partitions in these logs, in order of time."""
    with EventStore() as store, EventStore(1 << 40) as partitions, RocketStore() as rocket:
        local.ReadingPass(AnalyzeOptions(), store, partitions, rocket, local.AnalysisResult(), local.Workers(1)).read([folder], None)
        found = [batch for _, own in partitions.groups() for batch in own]
    return [batch.append_column(STATE, pa.nulls(len(batch), pa.string())) for batch in found]


def state_row(like: pa.RecordBatch, state: str) -> pa.RecordBatch:
    """A checkpoint as a row before the events."""
    columns = [pa.array([state]) if each.name == STATE else pa.nulls(1, each.type) for each in like.schema]
    return pa.RecordBatch.from_arrays(columns, schema=like.schema)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--hours"]:
        history(int(sys.argv[2]), int((sys.argv[3:] or ["1000"])[0]))
        raise SystemExit
    main(*(int(each) for each in (sys.argv[1:] + ["200000", "100"][len(sys.argv) - 1 :])))
