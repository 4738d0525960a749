"""Incidents that recur, as JSON."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboards.view.answer import Incident
    from dashboards.view.recurrence import Recurrence


def recurrence_rows(incidents: Iterable[Incident]) -> Iterator[dict[str, Any]]:
    """Rows as described by `groupscope schema analyze`."""
    from dashboards.answer.recurrences import recurrences
    from pipelines.schema.tables import instant_text

    for recurrence in recurrences(incidents):
        worst = recurrence.worst
        yield {
            "cluster": worst.cluster,
            "system": worst.system,
            "groups": list(worst.groups),
            "severity": worst.severity,
            "headline": recurrence.headline,
            "kind": worst.kind,
            "trigger": worst.trigger,
            "root_cause": worst.root_cause,
            "member": recurrence.member or None,
            "held_up": _waits(recurrence),
            "incident_ids": [item.id for item in recurrence.incidents],
            "rebalance_count": recurrence.rebalance_count,
            "stopped_seconds": round(recurrence.stopped_seconds, 6),
            "started_at": instant_text(recurrence.started_at),
            "ended_at": instant_text(recurrence.ended_at),
        }


def _waits(recurrence: Recurrence) -> list[dict[str, Any]]:
    counts: Counter[str] = Counter()
    seconds: defaultdict[str, float] = defaultdict(float)
    for wait in (wait for item in recurrence.incidents for wait in item.held_up):
        counts[wait.name] += wait.count
        seconds[wait.name] += wait.seconds
    names = sorted(counts, key=lambda name: (-seconds[name], name))
    return [{"name": name, "count": counts[name], "seconds": round(seconds[name], 6)} for name in names]
