"""Data from all events of the changed clusters, even if few groups are replayed.

It is queried from the stored table, a few rows or columns each time, and mostly without Spark if the table is on a
local disk.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping

from models.events import Event, Witness
from models.kafka.cluster.facts import CLUSTER_EVENTS, EXPIRY_EVENTS, ClusterFacts
from models.kafka.observations.attribution import EVENTS_WITHOUT_GROUP, ClientSighting
from models.kafka.observations.unattributed_troubles import UnattributedLines
from models.kafka.outages.affected_groups import READER_EVENTS, Readers
from models.kafka.partitions.event_fields import DEPENDENT_EVENTS, PARTITION_EVENTS
from pipelines.analysis.client_sightings import EventsPerFileLimit, sightings_in
from pipelines.analysis.joint_expiries import EXPIRY_COLUMNS, joint
from pipelines.analysis.log_file_rows import LogFileRow
from pipelines.analysis.stages import cluster_facts, log_ends_of
from pipelines.headlines.unattributed_troubles import trouble_notes
from pipelines.schema.row_conversion import events_of
from pipelines.transforms.consumed_topics import EVENT_COLUMNS, READ_TOPICS
from pipelines.transforms.sightings import sightings_of_all
from pipelines.warehouse.rows.predicates import RowScope, among, equals, is_null
from pipelines.warehouse.warehouse import Warehouse

_log = logging.getLogger(__name__)

_TIMES = ("file_time_max_at", "at")
"""Columns that `Event.order_us` is taken from."""

_PLACE = [("file", "ascending"), ("byte_offset", "ascending")]


def facts_of(
    warehouse: Warehouse,
    clusters: Iterable[str],
    files: list[LogFileRow],
    assume: Mapping[str, int],
    failures: list[str],
    unattributed: UnattributedLines,
) -> dict[str, ClusterFacts]:
    """Run the cluster stage.

    Few lines concern a whole cluster, and few lines about a group do not name it.
    """
    of_clusters = among("cluster", clusters)
    cluster_of = {row["path"]: row["cluster"] for row in files}
    concerning = [*_in_order(warehouse, of_clusters & among("event", CLUSTER_EVENTS)), *_joint_expiries(warehouse, of_clusters)]
    room = EventsPerFileLimit()
    events_without_group = _in_order(warehouse, of_clusters & among("event", EVENTS_WITHOUT_GROUP) & is_null("group"), room)
    for warning in room.warnings():
        _log.warning(warning)

    def sightings() -> Iterator[ClientSighting]:
        rows = warehouse.rows.if_local("events", of_clusters)
        if rows is None:
            return sightings_of_all(warehouse.tables.frame("events").where(of_clusters.column))
        return sightings_in(rows.combine_chunks().to_batches())

    ends = log_ends_of(files)
    known = cluster_facts(concerning, cluster_of.__getitem__, ends, assume, events_without_group, sightings, failures, unattributed)
    for note in trouble_notes(unattributed.notes()):
        _log.warning(note)
    return known


def _joint_expiries(warehouse: Warehouse, scope: RowScope) -> Iterator[Event]:
    """Expiries that several groups had at once.

    Whole rows are fetched only if there are any, and most logs have none.
    """
    expired = scope & among("event", EXPIRY_EVENTS)
    keys = warehouse.rows.as_arrow("events", expired, EXPIRY_COLUMNS)
    files = keys.filter(joint(keys))["file"].unique().to_pylist()
    if files:
        rows = warehouse.rows.as_arrow("events", expired & among("file", files)).sort_by(_PLACE)
        yield from events_of(rows.filter(joint(rows)))


def _in_order(warehouse: Warehouse, scope: RowScope, room: EventsPerFileLimit | None = None) -> list[Event]:
    rows = warehouse.rows.as_arrow("events", scope).sort_by(_PLACE)
    return list(events_of(rows if room is None else room.within_limit(rows)))


def readers_of(warehouse: Warehouse, clusters: Iterable[str]) -> dict[str, Readers]:
    """Topics and coordinators of groups, by cluster, since when."""
    readers: dict[str, Readers] = {}
    grouped = among("cluster", clusters) & ~is_null("group")
    reader_rows = grouped & among("event", READER_EVENTS)
    for cluster, group, topic, at in warehouse.rows.first_seen("events", reader_rows, EVENT_COLUMNS, _TIMES, READ_TOPICS):
        readers.setdefault(cluster, Readers()).note_topic(group, topic, at)
    homes = grouped & equals("witness", Witness.COORDINATOR.value) & ~is_null("event") & ~is_null("partition")
    for cluster, group, partition, at in warehouse.rows.first_seen("events", homes, ("cluster", "group", "partition"), _TIMES):
        readers.setdefault(cluster, Readers()).note_home(group, partition, at)
    return readers


def with_partitions(warehouse: Warehouse, clusters: Iterable[str]) -> set[str]:
    """Clusters with events about partitions or brokers; others have no outages."""
    of_partitions = among("cluster", clusters) & among("event", PARTITION_EVENTS - DEPENDENT_EVENTS)
    return {cluster for (cluster,) in warehouse.rows.distinct("events", of_partitions, ("cluster",))}
