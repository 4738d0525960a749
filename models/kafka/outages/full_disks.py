"""Brokers whose disk is full.

A log directory fails then, and with it what the broker led there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from models.causes import RootCause
from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.incidents.headline_facts import DiskFacts
from models.incidents.incident_rows import incident_row
from models.kafka.cluster.facts import ClusterFacts
from models.rows import KAFKA, Incident

KIND = "disk_full"

LINES_MAX = 4


def full_disk_incidents(facts: ClusterFacts, node_of: Mapping[str, str]) -> Iterator[Incident[DiskFacts]]:
    """One incident for each broker.

    A directory that failed takes no more writes until the broker starts again. `node_of` has the brokers of files, whose lines name none.
    """
    by_node: dict[str, list[Event]] = {}
    for event in facts.full_disks:
        by_node.setdefault(event.node or node_of.get(event.place.file) or "", []).append(event)
    for node, lines in sorted(by_node.items()):
        folders = dict.fromkeys(str(event.fields["folder"]) for event in lines if event.fields.get("folder"))
        yield incident_row(
            cluster=facts.cluster,
            system=KAFKA,
            incident_id=make_id("incident", make_id("full disk", facts.cluster, node)),
            kind=KIND,
            severity="critical",
            started_at=lines[0].time_us,
            ended_at=lines[-1].time_us,
            root_cause=RootCause.LOG_DIR_FAILED.value,
            headline=DiskFacts(node or None, tuple(folders)),
            evidence=evidence(lines[:LINES_MAX]),
        )
