"""Advice with numbers, as JSON: of `groupscope advise`, and of `groupscope analyze`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from pipelines.cli.answers.settings_search import cost, options, settings

if TYPE_CHECKING:
    from models.whatif.advice import Advice, RatedChange
    from models.whatif.outlook import WhatIfResult


def effects(outlook: WhatIfResult) -> dict[str, Any]:
    """Rebalances and downtime that another configuration would change."""
    return {
        "count": len(outlook.changes),
        "avoided": outlook.count("avoided"),
        "perhaps_avoided": outlook.perhaps,
        "added": outlook.added,
        "stopped_seconds": outlook.stopped_seconds,
        "saved_seconds": outlook.saved_seconds,
        "saved_least_seconds": outlook.saved_range[0],
        "saved_most_seconds": outlook.saved_range[1],
        "member_seconds_stopped": outlook.member_seconds_stopped,
        "saved_member_seconds": outlook.saved_member_seconds,
    }


def advice_rows(advices: Iterable[Advice]) -> Iterator[dict[str, Any]]:
    """Groups as described by `groupscope schema advise`."""
    for advice in advices:
        yield {
            "cluster": advice.cluster,
            "group": advice.group,
            "count": advice.count,
            "stopped_seconds": advice.stopped_seconds,
            "advice": [finding_row(advice, finding, helps=True) for finding in advice.helpful],
            "useless": [finding_row(advice, finding, helps=False) for finding in advice.useless],
            "incidents": [
                {"incident_id": scope, "advice": [finding_row(advice, finding, helps=True) for finding in findings]}
                for scope, findings in advice.scopes.items()
            ],
            "assumptions": list(advice.assumed),
        }


def finding_rows(advices: Iterable[Advice]) -> Iterator[dict[str, Any]]:
    """Rows of the changes that were tried."""
    for advice in advices:
        yield from (finding_row(advice, finding, helps=True) for finding in advice.helpful)
        yield from (finding_row(advice, finding, helps=False) for finding in advice.useless)


def finding_row(advice: Advice, finding: RatedChange, *, helps: bool) -> dict[str, Any]:
    """A change with its values, its effects, and what it costs."""
    later_ms = finding.candidate.values_ms.get("later")
    return {
        "cluster": advice.cluster,
        "group": advice.group,
        "advice": finding.candidate.id,
        "helps": helps,
        "settings": settings(finding),
        "options": options(finding),
        **effects(finding.outlook),
        "found_later_seconds": later_ms / 1000 if later_ms is not None else None,
        "costs": cost(finding),
    }
