"""The stages of replay as both runners call them: cluster facts from events, histories from batches.

The in-process run and the Spark job share these, so that they cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from models.cluster import ClusterFacts, learn
from models.events import Event
from models.incidents import Limits, find_incidents
from models.kafka.outages import Outages, outages_of
from models.kafka.partitions_replay import PartitionStage
from models.replay import GroupHistory, GroupStage
from models.rows import Incident
from parsers.files import Skipped, SourceFile
from parsers.reader import FileReport, ReadOptions
from pipelines.clusters import ClusterHint, ClusterNames, name_clusters
from pipelines.rows import events_of
from pipelines.schemas import TABLES
from pipelines.versions import catalogue_version, fingerprint_of

HISTORY_TABLES = (
    "rebalances",
    "rebalance_members",
    "group_transitions",
    "member_sessions",
    "coordinator_moves",
    "offset_expirations",
    "divergences",
)
"""Tables that the group stage fills; attributes of `GroupHistory` have the same names."""

OUTAGE_TABLES = ("partition_outages", "leader_moves", "broker_outages")
"""Tables that the partition stage fills; attributes of `Outages` have the same names."""

_COUNTS = ("lines", "records", "recognised", "unknown", "rejected")
NOT_A_LOG = "not_a_log"


def options_id(source: SourceFile, options: ReadOptions) -> str:
    """Fingerprint of all that the records of a file depend on beside its bytes."""
    zone = options.zone_of(source.relative)
    return fingerprint_of([catalogue_version(), zone, options.version_of(source.relative), options.max_record_bytes])


def log_file_row(report: FileReport, source: SourceFile, options: ReadOptions) -> dict[str, Any]:
    """A report on a file as a row of `log_files`, but for the name of its cluster, which its neighbours may tell."""
    counts = report.counts
    return {
        "cluster": None,
        "system": "kafka" if counts.recognised else None,
        "path": report.path,
        "file_id": report.file_id,
        "size_bytes": report.size_bytes,
        "bytes_read": report.bytes_read,
        "kind": report.kind,
        "layout": report.layout,
        "node": report.node,
        "version": ", ".join(report.versions) or None,
        "time_zone": report.time_zone,
        "skew_seconds": None,
        "skew_uncertainty_seconds": None,
        "first_at": report.first_at,
        "last_at": report.last_at,
        "lines": counts.lines,
        "records": counts.records,
        "recognised": counts.recognised,
        "unknown": counts.unknown,
        "rejected": counts.rejected,
        "status": report.status,
        "reason": report.reason,
        "cluster_named": options.cluster_of(source.relative),
        "cluster_ids": list(report.cluster_ids),
        "options_id": options_id(source, options),
    }


def refused_row(skipped: Skipped) -> dict[str, Any]:
    """A row of `log_files` for a file that is no log, or could not be opened."""
    empty = dict.fromkeys(name for name in TABLES["log_files"].column_names if name != "run_id")
    status = "empty" if skipped.reason == "empty" else "rejected" if skipped.named else "skipped"
    return empty | dict.fromkeys(_COUNTS, 0) | {
        "path": skipped.name,
        "size_bytes": skipped.size_bytes,
        "kind": NOT_A_LOG,
        "cluster_ids": [],
        "reason": skipped.reason,
        "status": status,
    }  # fmt: skip


def name_files(rows: Iterable[dict[str, Any]]) -> ClusterNames:
    """Name the clusters of files that are analysed together, and write the names into their rows."""
    files = list(rows)
    names = name_clusters(ClusterHint(row["path"], row["cluster_named"], tuple(row["cluster_ids"] or ())) for row in files)
    for row in files:
        row["cluster"] = names.of(row["path"])
    return names


def logs_end_of(log_files: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Last time (microseconds) that brokers' files reach, by cluster: what is open then is open."""
    ends: dict[str, int] = {}
    for row in log_files:
        last = row["last_at"]
        if row["kind"] != "client" and last is not None:
            ends[row["cluster"]] = max(ends.get(row["cluster"], last), last)
    return ends


def cluster_facts(
    events: Iterable[Event], cluster_of: Callable[[str], str], logs_end: Mapping[str, int], assume: Mapping[str, int]
) -> dict[str, ClusterFacts]:
    """The cluster stage for every cluster among the events (those of `models.cluster.CLUSTER_EVENTS`).

    `cluster_of` names the cluster of a file by its path. `assume` overrides what was learned, by field name.
    """
    by_cluster: dict[str, list[Event]] = {cluster: [] for cluster in logs_end}
    for event in events:
        by_cluster.setdefault(cluster_of(event.place.file), []).append(event)
    facts = {cluster: learn(group, cluster) for cluster, group in by_cluster.items()}
    for cluster, learned in facts.items():
        learned.logs_end = logs_end.get(cluster)
        for name, value in assume.items():
            setattr(learned, name, value)
    return facts


def group_histories(
    group: str,
    batches: Iterator[pa.RecordBatch],
    node_of: Mapping[str, str],
    cluster_of: Callable[[str], str],
    facts: Mapping[str, ClusterFacts],
) -> list[GroupHistory]:
    """Replay one group name, once for each cluster that has it. Batches hold its events in order."""
    stages: dict[str, GroupStage] = {}
    for batch in batches:
        for event in events_of(batch, node_of):
            cluster = cluster_of(event.place.file)
            stage = stages.get(cluster)
            if stage is None:
                stage = stages[cluster] = GroupStage(cluster, group, facts.get(cluster) or ClusterFacts(cluster))
            stage.feed(event)
    return [stages[cluster].finish() for cluster in sorted(stages)]


def cluster_outages(batches: Iterable[pa.RecordBatch], node_of: Mapping[str, str], cluster_of: Callable[[str], str]) -> dict[str, Outages]:
    """The partition stage for every cluster among the events of PARTITION_EVENTS. Batches hold them in order of time, file and place."""
    stages: dict[str, PartitionStage] = {}
    for batch in batches:
        for event in events_of(batch, node_of):
            cluster = cluster_of(event.place.file)
            stage = stages.get(cluster)
            if stage is None:
                stage = stages[cluster] = PartitionStage(node_of)
            stage.feed(event)
    return {cluster: outages_of(cluster, stages[cluster]) for cluster in sorted(stages)}


def incidents_of(history: GroupHistory, limits: Limits) -> list[Incident]:
    """The incident stage for one group."""
    return find_incidents(history.rebalances, limits)
