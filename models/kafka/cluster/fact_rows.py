"""Rows of what was learned about a cluster."""

from __future__ import annotations

from models.events import Event
from models.evidence import evidence
from models.ids import make_id
from models.kafka.cluster.facts import ClusterFacts
from models.rows import LearnedFact


def fact_rows(facts: ClusterFacts, system: str = "kafka") -> list[LearnedFact]:
    """Rows of the learned facts, with their lines.

    These are loads, timeouts in force, versions, outages of brokers and damaged files.
    """

    def row(kind: str, subject: str, value: str, at: int | None, events: list[Event]) -> LearnedFact:
        key = make_id("fact", facts.cluster, kind, subject, value, at)
        return LearnedFact(facts.cluster, system, key, kind, subject, value, evidence(events))

    rows = [
        row(
            "load",
            f"__consumer_offsets-{load.partition}",
            f"{'loaded' if load.is_loaded else 'unloaded'} by {load.node}",
            load.at,
            [load.event],
        )
        for load in facts.loads
    ]
    rows += [
        row("timeout", node, f"{name}={value}", None, [])
        for node, settings in sorted(facts.broker_settings.items())
        for name, value in sorted(settings.items())
    ]
    rows += [
        row("timeout", group or "broker", f"{setting}={event.fields.get('effective')}", event.time_us, [event])
        for (group, setting), event in sorted(facts.capped.items(), key=lambda item: item[0])
    ]
    rows += [row("version", file, version, None, []) for file, version in sorted(facts.versions.items())]
    rows += [row("outage", change.node or "?", change.kind, change.at, [change.event]) for change in facts.node_changes]
    rows += [row("gap", damage.file, damage.event.text, damage.at, [damage.event]) for damage in facts.damaged]
    unique = {row.learned_fact_id: row for row in rows}
    return list(unique.values())
