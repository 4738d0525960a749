"""The stages of a replay, for both runners: cluster facts, groups, outages, RocketMQ.

The in-process run and the Spark job share them, so their results cannot differ.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from models.events import Event, Witness
from models.incidents.incidents import Limits
from models.kafka.cluster.facts import CLUSTER_EVENTS, ClusterFacts
from models.kafka.cluster.log_ends import LogEnds
from models.kafka.groups.group_memory import GroupMemory
from models.kafka.groups.group_stage import GroupStage
from models.kafka.observations.attribution import ClientSighting, Sightings
from models.kafka.observations.unattributed_troubles import UnattributedLines
from models.kafka.outages.affected_groups import READER_EVENTS, Readers
from models.kafka.outages.outage_stage import Outages, OutageStage
from models.kafka.partitions.broker_clocks import CLOCK_EVENTS, clocks_of
from models.kafka.verdicts.history import GroupHistory
from models.rocketmq.event_partitions import ROCKET_EVENTS, Parts
from models.rocketmq.rocketmq_history import RocketHistory, histories_of
from models.rows import ROCKETMQ, Divergence, Incident
from parsers.arrow_arrays import strings
from pipelines.analysis.cluster_naming import ClusterHint, ClusterNames, name_clusters
from pipelines.analysis.log_file_rows import LogFileRow
from pipelines.analysis.replay_failures import NOT_OF_CONTENT, failure, guarded, learn_facts
from pipelines.analysis.rocketmq_spill import RocketStore
from pipelines.headlines.headlines import with_headlines
from pipelines.headlines.standing_faults import conditions_in_words
from pipelines.schema.row_conversion import events_of

HISTORY_TABLES = (
    "rebalances",
    "rebalance_members",
    "group_transitions",
    "group_states",
    "member_sessions",
    "client_states",
    "coordinator_moves",
    "offset_expirations",
    "divergences",
    "incidents",
)
"""Tables filled by the group stage, also attributes of `GroupHistory`."""

LAYOUT_TABLES = ("partition_placements", "brokers")
"""Tables with the state of a cluster at the end of its logs.

An analysis holds it as `Layout`.
"""

OUTAGE_TABLES = (
    "partition_outages",
    "under_replicated_spans",
    "leader_moves",
    "broker_outages",
    "incidents",
    "divergences",
    *LAYOUT_TABLES,
)
"""Tables filled by the partition stage, also attributes of `Outages`."""

CLOCK_EVENT_NAMES = strings(sorted(CLOCK_EVENTS))

READER_TABLES = ("partition_outages", "broker_outages")
"""Outage tables that determine whether groups' subscriptions matter.

Without rows in them no row names groups: only outages do, and incidents made from outages.
"""

ROCKET_TABLES = ("rebalances", "allocation_changes", "queue_ownership", "conditions", "incidents", "divergences")
"""Tables filled by RocketMQ's stage, also attributes of `RocketHistory`."""

CLUSTER_EVENT_NAMES = strings(sorted(CLUSTER_EVENTS))
"""Names of events that concern a whole cluster, to filter batches with."""

INCIDENTS = "incidents"
"""The table with headlines, for which models give facts."""

CONDITIONS = "conditions"
"""The table with details of standing faults, for which models give facts."""


def unattributed_rows(lines: UnattributedLines, limits: Limits) -> list[Incident[str]]:
    """Incidents of clients whose group no line names."""
    return with_headlines(lines.incidents(limits.episode_gap_seconds))


def rows_by_table(history: GroupHistory | Outages | RocketHistory, tables: Sequence[str]) -> dict[str, Sequence[Any]]:
    """Rows of a stage's result by table, with facts in words."""
    return {table: _in_words(history, table) for table in tables}


def _in_words(history: GroupHistory | Outages | RocketHistory, table: str) -> Sequence[Any]:
    if table == INCIDENTS:
        return with_headlines(history.incidents)
    if table == CONDITIONS and isinstance(history, RocketHistory):
        return conditions_in_words(history.conditions)
    rows: Sequence[Any] = getattr(history, table)
    return rows


def name_files(rows: Iterable[LogFileRow]) -> ClusterNames:
    """Name the clusters of files analysed together, and set the column in their rows."""
    files = list(rows)
    names = name_clusters(ClusterHint(row["path"], row["cluster_option"], tuple(row["cluster_ids"] or ())) for row in files)
    for row in files:
        row["cluster"] = names.cluster_of(row["path"])
    return names


def logs_end_of(log_files: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Last time (microseconds) in brokers' files, by cluster.

    Anything open then stays open.
    """
    ends: dict[str, int] = {}
    for row in log_files:
        last = row["last_at"]
        if row["kind"] != "client" and last is not None:
            ends[row["cluster"]] = max(ends.get(row["cluster"], last), last)
    return ends


def log_ends_of(log_files: Iterable[Mapping[str, Any]]) -> dict[str, LogEnds]:
    """Last times in brokers' files and in each client's, by cluster."""
    rows = [row for row in log_files if row["last_at"] is not None]
    ends = {cluster: LogEnds(last) for cluster, last in logs_end_of(rows).items()}
    for row in rows:
        if row["kind"] == "client":
            ends.setdefault(row["cluster"], LogEnds()).clients[row["path"]] = row["last_at"]
    return ends


def cluster_facts(
    events: Iterable[Event],
    cluster_of: Callable[[str], str],
    log_ends: Mapping[str, LogEnds],
    assume: Mapping[str, int],
    events_without_group: Sequence[Event] = (),
    sightings: Callable[[], Iterable[ClientSighting]] = tuple,
    failures: list[str] | None = None,
    unattributed: UnattributedLines | None = None,
) -> dict[str, ClusterFacts]:
    """Run the cluster stage for each cluster among the events.

    Events are those of `models.kafka.cluster.facts.CLUSTER_EVENTS`. `cluster_of` returns the cluster of a file by path.
    `assume` overrides learned facts, by field name. `events_without_group` are clients' lines without a group; `sightings` is called
    only if there are any. If a cluster's events raise, its facts stay empty and `failures` gets a message. `unattributed`
    gets the lines whose group nobody names.
    """
    by_cluster: dict[str, list[Event]] = {cluster: [] for cluster in log_ends}
    for event in events:
        by_cluster.setdefault(cluster_of(event.place.file), []).append(event)
    facts = {cluster: learn_facts(cluster, group, failures) for cluster, group in by_cluster.items()}
    for cluster, known in facts.items():
        ends = log_ends.get(cluster, LogEnds())
        known.logs_end, known.client_ends = ends.brokers, ends.clients
        for name, value in assume.items():
            setattr(known, name, value)
    home_groups = _attributed(events_without_group, sightings, cluster_of, unattributed or UnattributedLines())
    for cluster, by_group in home_groups.items():
        facts.setdefault(cluster, ClusterFacts(cluster)).attributed_events = by_group
    return facts


def _attributed(
    events_without_group: Sequence[Event],
    sightings: Callable[[], Iterable[ClientSighting]],
    cluster_of: Callable[[str], str],
    unattributed: UnattributedLines,
) -> dict[str, dict[str, list[Event]]]:
    """Attribute clients' lines without a group, by cluster and group.

    The rest goes to `unattributed`.
    """
    seen: dict[str, Sightings] = {}
    for sighting in sightings() if events_without_group else ():
        seen.setdefault(cluster_of(sighting.file), Sightings()).note(sighting)
    by_cluster: dict[str, list[Event]] = {}
    for event in events_without_group:
        by_cluster.setdefault(cluster_of(event.place.file), []).append(event)
    homes = {cluster: seen[cluster].attribute(events) for cluster, events in by_cluster.items() if cluster in seen}
    at_home = {event.place for by_group in homes.values() for events in by_group.values() for event in events}
    unattributed.logs_with_groups.update(*(known.logs_with_groups() for known in seen.values()))
    for cluster, events in by_cluster.items():
        unattributed.by_cluster[cluster] = [event for event in events if event.place not in at_home]
    return homes


class GuardedStage:
    """A group's stage that ignores further events after an exception."""

    def __init__(self, cluster: str, group: str, stage: GroupStage) -> None:
        self.failure: Divergence | None = None
        self._cluster, self._group, self.stage = cluster, group, stage
        self._last: Event | None = None

    def feed(self, event: Event, feed: Callable[[Event], None]) -> None:
        """Pass the next event to the stage, by `feed`."""
        if self.failure is not None:
            return
        self._last = event
        try:
            feed(event)
        except NOT_OF_CONTENT:
            raise
        except Exception as problem:
            self._fail(problem)

    def drain_final(self) -> Iterator[GroupHistory]:
        """Rows that became final."""
        return guarded(iter(() if self.failure is not None else self.stage.drain_final()), self._failed)

    def close(self) -> GroupHistory:
        """The remaining rows, or the row for a failed replay."""
        if self.failure is None:
            try:
                return self.stage.close()
            except NOT_OF_CONTENT:
                raise
            except Exception as problem:
                self._fail(problem)
        return GroupHistory(divergences=[] if self.failure is None else [self.failure])

    def _fail(self, problem: Exception) -> None:
        self.failure = failure(self._cluster, self._group, problem, self._last)

    def _failed(self, problem: Exception) -> GroupHistory:
        self._fail(problem)
        return GroupHistory()


MakeStage = Callable[[GroupMemory], GroupStage]
"""Makes the stage of a group from its memory, which is empty."""


def group_histories(
    group: str,
    batches: Iterator[pa.RecordBatch],
    node_of: Mapping[str, str],
    cluster_of: Callable[[str], str],
    facts: Mapping[str, ClusterFacts],
    limits: Limits,
    readers: dict[str, Readers] | None = None,
    make_stage: MakeStage | None = None,
) -> Iterator[GroupHistory]:
    """Replay one group name in each cluster that has it; yield final rows.

    Batches hold its events in order. `readers` collects, by cluster, which partitions the groups read. If a stage
    raises, one row reports it in place of the group's remaining rows.
    """

    def noted(cluster: str, history: GroupHistory) -> GroupHistory:
        if readers is not None:
            readers.setdefault(cluster, Readers()).note_rebalances(history.rebalances)
        return history

    stages: dict[str, GuardedStage] = {}
    for batch in batches:
        for event in events_of(batch, node_of):
            if event.name in ROCKET_EVENTS:
                continue
            cluster = cluster_of(event.place.file)
            if readers is not None:
                note_reader(readers, cluster, event)
            stage = stages.get(cluster)
            if stage is None:
                made = (make_stage or GroupStage)(GroupMemory(cluster, group, facts.get(cluster) or ClusterFacts(cluster), limits))
                stage = stages[cluster] = GuardedStage(cluster, group, made)
            stage.feed(event, stage.stage.feed)
        for cluster, stage in stages.items():
            yield from (noted(cluster, history) for history in stage.drain_final())
    for cluster in sorted(stages):
        yield noted(cluster, stages[cluster].close())


def note_reader(readers: dict[str, Readers], cluster: str, event: Event) -> None:
    """Note what an event says about the partitions that its group depends on."""
    if event.group is None:
        return
    if event.name in READER_EVENTS:
        readers.setdefault(cluster, Readers()).note(event.group, event.fields, event.order_us)
    if event.partition is not None and event.witness is Witness.COORDINATOR:
        readers.setdefault(cluster, Readers()).note_home(event.group, event.partition, event.order_us)


def cluster_outages(
    batches: Callable[[], Iterable[pa.RecordBatch]],
    node_of: Mapping[str, str],
    cluster_of: Callable[[str], str],
    facts: Mapping[str, ClusterFacts],
    readers: Mapping[str, Readers],
    gap_seconds: float,
) -> Iterator[Outages]:
    """Run the outage stage for each cluster among the events; yield final rows.

    Clusters follow one after the other. `batches` returns the events of PARTITION_EVENTS in order of time, file and
    position; it is called twice, because clocks are compared first. The last result of a cluster holds its state at the
    end.
    """
    files = {file for batch in batches() for file in batch["file"].unique().to_pylist()}
    for cluster in sorted({cluster_of(file) for file in files}):
        cluster_files = strings(sorted(file for file in files if cluster_of(file) == cluster))
        events = partial(events_in, partial(_of_files, batches, cluster_files), node_of)
        known = facts.get(cluster) or ClusterFacts(cluster), node_of, readers.get(cluster) or Readers(), gap_seconds
        yield from guarded(_outages_of(cluster, events, *known), partial(failed_outages, cluster))


def _outages_of(
    cluster: str,
    events: Callable[..., Iterator[Event]],
    facts: ClusterFacts,
    node_of: Mapping[str, str],
    readers: Readers,
    gap_seconds: float,
) -> Iterator[Outages]:
    skews = clocks_of(events(CLOCK_EVENT_NAMES), node_of).skews()
    stage = OutageStage(cluster, facts, node_of, readers, gap_seconds, skews)
    for event in stage.in_order(events()):
        stage.feed(event)
        yield from stage.drain_final()
    yield stage.close()


def failed_outages(cluster: str, problem: Exception) -> Outages:
    """Rows of a cluster with a failed outage stage."""
    return Outages(divergences=[failure(cluster, None, problem)])


def _of_files(batches: Callable[[], Iterable[pa.RecordBatch]], files: pa.Array) -> Iterator[pa.RecordBatch]:
    return (batch.filter(pc.is_in(batch["file"], value_set=files)) for batch in batches())


def events_in(
    batches: Callable[[], Iterable[pa.RecordBatch]], node_of: Mapping[str, str], names: pa.Array | None = None
) -> Iterator[Event]:
    """Convert batches to events, only those in `names` if given."""
    for batch in batches():
        yield from events_of(batch if names is None else batch.filter(pc.is_in(batch["event"], value_set=names)), node_of)


def rocket_ends_of(log_files: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """Last time (microseconds) in RocketMQ's files, by cluster.

    Anything open then stays open.
    """
    return logs_end_of(row for row in log_files if row["system"] == "rocketmq")


def rocket_histories(
    store: RocketStore, cluster_of: Callable[[str], str], logs_end: Mapping[str, int], limits: Limits
) -> Iterator[RocketHistory]:
    """Run RocketMQ's stage for each cluster among the events, topic by topic."""
    for cluster, parts in store.clusters(cluster_of):
        yield from guarded(_rocket_groups(cluster, parts, logs_end.get(cluster, 0), limits), partial(_failed_rocket, cluster, None))


def _rocket_groups(cluster: str, parts: Parts, until: int, limits: Limits) -> Iterator[RocketHistory]:
    for group, rows in histories_of(cluster, parts, until, limits):
        yield from guarded(rows, partial(_failed_rocket, cluster, group))


def _failed_rocket(cluster: str, group: str | None, problem: Exception) -> RocketHistory:
    return RocketHistory(divergences=[failure(cluster, group, problem, system=ROCKETMQ)])
