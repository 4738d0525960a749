"""The charts of an answer."""

from __future__ import annotations

from dashboards.figures.activity import coverage, heat, member_bands
from dashboards.figures.bars import phases, ranking, what_ifs
from dashboards.figures.base import Chart
from dashboards.figures.clients import clients
from dashboards.figures.queues import queues
from dashboards.figures.timeline import timeline
from dashboards.figures.what_if_lanes import what_if_lanes
from dashboards.view.answer import Answer

HEAT_FIRST_MIN = 2_000
"""Rebalances from which counts per hour tell more than lanes do."""


def charts(answer: Answer, drawn_max: int) -> list[Chart]:
    """Draw all charts with data in this answer."""
    first = [timeline(answer, drawn_max), heat(answer)]
    if len(answer.rebalances) >= HEAT_FIRST_MIN:
        first.reverse()
    made = [
        *first,
        member_bands(answer),
        clients(answer),
        queues(answer),
        phases(answer),
        ranking(answer),
        what_ifs(answer),
        coverage(answer),
        what_if_lanes(answer),
    ]
    return [chart for chart in made if chart is not None]
